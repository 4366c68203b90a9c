"""Verdicts follow from entries, and every check of every paper is complete."""

import pytest
from joblib import parallel_config

from reproduce.checks import VERDICTS, Entry, Setting, by_parts, throughout, within_reach
from reproduce.registry import PAPERS, checks_of, select
from reproduce.verified import SETS, Unavailable, load

ALL = [(paper, check) for paper in PAPERS for check in checks_of(paper)]
# checks that take less than two seconds; `make reproduce-quick` runs all of them
FAST = ("2007-T2", "2009-T1m", "2009-C2", "2010-X", "2004-C1a", "2015-T2a")


def entries(*holds):
    return [Entry(str(i), "", "", holds=hold) for i, hold in enumerate(holds)]


@pytest.mark.parametrize(
    ("holds", "parts", "always", "reach"),
    [
        ((True, True, None), "reproduces", "reproduces", "reproduces"),
        ((True, False), "partly", "contradicts", "cannot be tested"),
        ((False,), "contradicts", "contradicts", "cannot be tested"),
        ((None, None), "cannot be tested", "cannot be tested", "cannot be tested"),
    ],
)
def test_verdicts_follow_from_entries(holds, parts, always, reach):
    found = entries(*holds)
    assert (by_parts(found), throughout(found), within_reach(found)) == (parts, always, reach)


@pytest.mark.parametrize(("paper", "check"), ALL, ids=[check.id for _, check in ALL])
def test_checks_are_complete(paper, check):
    assert check.id.startswith(paper[-4:])
    assert check.expected in VERDICTS
    assert check.claim
    assert check.acceptance
    assert not check.claim.endswith((".", "?"))  # the page adds the full stop
    assert set(check.sets) <= set(SETS)


def test_ids_are_unique():
    ids = [check.id.casefold() for _, check in ALL]
    assert len(set(ids)) == len(ids) > 30


@pytest.mark.filterwarnings("ignore")  # some checks provoke collapses and cycles
@pytest.mark.parametrize("id", FAST)
def test_quick_checks_have_the_expected_verdict(id):
    [[check]] = select(list(PAPERS), [id]).values()
    try:
        measured = check.run(Setting(quick=True))
    except Unavailable as error:
        pytest.skip(str(error))
    verdict = check.judge(measured.entries)
    assert verdict == check.expected
    assert measured.why
    if verdict == "contradicts":
        assert measured.experiments


def test_ids_match_by_prefix_and_typos_get_a_suggestion():
    assert [c.id for c in select(["filippone2010"], ["2010-f4"])["filippone2010"]] == [
        "2010-F4a",
        "2010-F4b",
    ]
    assert set(select(list(PAPERS), ["2007-T2", "2009-C2"])) == {"filippone2007", "bicego2009"}
    with pytest.raises(ValueError, match="Did you mean 2007-F1"):
        select(["filippone2007"], ["2007-F1x"])


def test_parallel_draws_equal_sequential_ones():
    cases = [(seed, 3) for seed in range(4)]
    with parallel_config(backend="threading"):  # processes take seconds to start
        one, two = (Setting(n_jobs=jobs).each(divmod, cases, "draws") for jobs in (1, 2))
    assert one == two == [divmod(*case) for case in cases]


def test_shared_results_are_computed_once_and_their_data_are_recorded():
    shared, calls = {}, []

    def compute(setting):
        calls.append(setting)
        return setting.data("iris").data.shape

    for _ in range(2):
        setting = Setting(shared=shared)
        assert setting.once("shape", lambda setting=setting: compute(setting)) == (150, 4)
        assert setting.used["iris"].classes == "50, 50, 50"
    assert len(calls) == 1


def test_another_data_set_of_the_same_name_is_rejected(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTKERN_DATA", str(tmp_path))
    (tmp_path / "wbc.csv").write_text("a,b,label\n1,2,benign\n")
    with pytest.raises(Unavailable, match="wbc has 1 rows and 2 columns here, but 683"):
        load("wbc")
    rows = "".join(f"{i}{',1' * 8},{'benign' if i else 'malignant'}\n" for i in range(683))
    names = ",".join(f"c{i}" for i in range(9))
    (tmp_path / "wbc.csv").write_text(f"{names},label\n{rows}")
    with pytest.raises(Unavailable, match="classes of"):
        load("wbc")
    with pytest.raises(Unavailable, match="nips"):
        load("nips")
