"""Benchmark against other libraries: statistics, time limits and the generated page."""

import importlib
import runpy
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, friedmanchisquare, wilcoxon

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
STATISTICS = runpy.run_path(str(BENCHMARKS / "rank_statistics.py"))
ranks, holm, friedman = (STATISTICS[name] for name in ("ranks", "holm", "friedman"))
critical_difference, cliques, paired = (
    STATISTICS[name] for name in ("critical_difference", "cliques", "paired")
)

# Demšar 2006, table 6: AUC of C4.5 and three variants on 14 data sets. The paper ranks the first of
# the two values 0.975 higher.
DEMSAR = pd.DataFrame(
    {
        "C4.5": [763, 599, 954, 628, 882, 936, 661, 583, 775, 1000, 940, 619, 972, 957],
        "+m": [768, 591, 971, 661, 888, 931, 668, 583, 838, 1000, 962, 666, 981, 978],
        "+cf": [771, 590, 968, 654, 886, 916, 609, 563, 866, 1000, 965, 614, 975.1, 946],
        "+m+cf": [798, 569, 967, 657, 898, 931, 685, 625, 875, 1000, 962, 669, 975, 970],
    }
).div(1000)


class TestRanks:
    def test_values_of_the_paper(self):
        means = ranks(DEMSAR).mean().round(3)
        assert means.tolist() == pytest.approx([3.143, 2.0, 2.893, 1.964], abs=5e-4)

    def test_ties_and_failures_share_ranks(self):
        table = pd.DataFrame([[0.9, 0.5, 0.9, np.nan, np.nan], [0.1, -0.2, np.nan, 0.3, 0.0]])
        assert ranks(table).to_numpy().tolist() == [[1.5, 3, 1.5, 4.5, 4.5], [2, 4, 5, 1, 3]]

    def test_a_failure_ranks_below_any_value(self):
        table = pd.DataFrame({"worst": [-1e300, -1.0], "failed": [np.nan, np.nan]})
        assert ranks(table)["failed"].tolist() == [2, 2]

    def test_sum_of_ranks(self):
        values = np.random.default_rng(0).integers(0, 4, size=(30, 7)).astype(float)
        values[values == 0] = np.nan
        assert (ranks(pd.DataFrame(values)).sum(axis=1) == 7 * 8 / 2).all()


class TestFriedman:
    def test_formula_without_ties(self):
        table = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 5)) + 0.2 * np.arange(5))
        squares = (ranks(table).mean() ** 2).sum()
        statistic = 12 * 20 / (5 * 6) * (squares - 5 * 6**2 / 4)
        assert friedman(table) == pytest.approx(chi2.sf(statistic, 4))

    def test_does_not_depend_on_the_scale(self):
        assert friedman(DEMSAR) == pytest.approx(friedman(np.log(DEMSAR)))
        assert friedman(DEMSAR) == pytest.approx(friedmanchisquare(*DEMSAR.to_numpy().T).pvalue)

    def test_all_equal(self):
        assert friedman(pd.DataFrame(np.ones((5, 4)))) == 1

    def test_failures_count_as_last(self):
        table = pd.DataFrame({"a": [0.3] * 8, "b": [0.2] * 8, "failed": [np.nan] * 8})
        assert friedman(table) == pytest.approx(friedman(table.fillna(0.0)))
        assert friedman(table) < 0.001


class TestCriticalDifference:
    # Demšar 2006, table 5: q for two to ten methods
    @pytest.mark.parametrize(
        ("methods", "q"),
        [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (7, 2.949), (10, 3.164)],
    )
    def test_values_of_the_paper(self, methods, q):
        expected = q * np.sqrt(methods * (methods + 1) / (6 * 30))
        assert critical_difference(methods, 30) == pytest.approx(expected, rel=5e-4)

    def test_named_values(self):
        assert critical_difference(5, 30) == pytest.approx(1.114, abs=5e-4)
        assert critical_difference(4, 14) == pytest.approx(1.25, abs=5e-3)
        assert critical_difference(4, 14, level=0.1) == pytest.approx(1.12, abs=5e-3)

    def test_more_data_sets_reduce_it(self):
        values = [critical_difference(8, sets) for sets in (10, 40, 160)]
        assert np.divide(*values[:2]) == pytest.approx(2)
        assert np.divide(*values[1:]) == pytest.approx(2)


class TestHolm:
    def test_equals_an_example_computed_by_hand(self):
        p = pd.Series({"a": 0.03, "b": 0.005, "c": 0.02, "d": 0.8})
        assert holm(p).to_dict() == pytest.approx({"a": 0.06, "b": 0.02, "c": 0.06, "d": 0.8})

    def test_monotone_in_p_and_at_most_one(self):
        p = pd.Series(np.random.default_rng(0).uniform(size=20))
        adjusted = holm(p)[p.sort_values().index].to_numpy()
        assert (np.diff(adjusted) >= 0).all()
        assert (adjusted >= p.sort_values()).all()
        assert adjusted.max() <= 1

    def test_single_test_is_unchanged(self):
        assert holm(pd.Series({"a": 0.2}))["a"] == pytest.approx(0.2)

    def test_family_wise_error_rate(self):
        """The probability of any false positive among twelve tests stays below the level."""
        rng = np.random.default_rng(1)
        rejected = [(holm(pd.Series(rng.uniform(size=12))) < 0.05).any() for _ in range(2000)]
        assert 0.03 < np.mean(rejected) < 0.065


class TestPaired:
    TABLE = pd.DataFrame(
        {"ours": [0.9, 0.8, 0.7, 0.6], "same": [0.9, 0.8, 0.7, 0.6], "worse": [0.8, 0.7, 0.7, 0.7]}
    )

    @pytest.mark.filterwarnings("ignore:Sample size too small")  # in older versions of SciPy
    def test_counts(self):
        result = paired(self.TABLE, "ours")
        counts = result[["wins", "ties", "losses"]]
        assert counts.loc["same"].tolist() == [0, 4, 0]
        assert counts.loc["worse"].tolist() == [2, 1, 1]
        assert result.loc["worse", "mean difference"] == pytest.approx(0.025)
        assert result.loc["same", "p"] == 1

    def test_equals_wilcoxon(self):
        rng = np.random.default_rng(0)
        ours = rng.uniform(size=30)
        table = pd.DataFrame({"ours": ours, "theirs": ours + 0.05 * rng.normal(0.4, 1, 30)})
        p = paired(table, "ours").loc["theirs", "p"]
        assert p == pytest.approx(wilcoxon(table["ours"], table["theirs"]).pvalue)

    def test_symmetric(self):
        one = paired(DEMSAR[["C4.5", "+m+cf"]], "C4.5")
        two = paired(DEMSAR[["C4.5", "+m+cf"]], "+m+cf")
        assert one["p"].iloc[0] == pytest.approx(two["p"].iloc[0])
        assert one["losses"].iloc[0] == two["wins"].iloc[0]


class TestCliques:
    def test_only_maximal_runs(self):
        means = pd.Series({"a": 1.0, "b": 2.0, "c": 2.5, "d": 5.0, "e": 5.5, "f": 9.0})
        assert cliques(means, 1.5) == [("a", "c"), ("d", "e")]
        assert cliques(means, 1.0) == [("a", "b"), ("b", "c"), ("d", "e")]
        assert cliques(means, 0.1) == []
        assert cliques(means, 10) == [("a", "f")]

    def test_methods_share_a_clique_if_and_only_if_they_do_not_differ(self):
        rng = np.random.default_rng(0)
        means = pd.Series(rng.uniform(1, 12, 12), index=list("abcdefghijkl"))
        difference = 2.0
        members = [
            set(means[means.between(means[a], means[b])].index) for a, b in cliques(means, 2.0)
        ]
        for one in means.index:
            for two in means.index.difference([one]):
                together = abs(means[one] - means[two]) <= difference
                assert together == any({one, two} <= clique for clique in members)
        assert all(not one <= two for one, two in pairwise(members))


JOBS = """
import os, sys
sys.path.insert(0, {folder!r})
from time_limit import LimitedWorker

def prepare():
    pass

def work(job):
    while job == "endless":
        pass
    if job == "crash":
        os._exit(7)
    return job, os.getpid()

if __name__ == "__main__":
    worker = LimitedWorker(prepare, work, 1.0)
    for job in ("one", "two", "endless", "three", "crash", "four"):
        print(worker(job))
    worker.close()
"""


def test_a_timeout_or_crash_does_not_affect_the_next_job(tmp_path):
    script = tmp_path / "jobs.py"
    script.write_text(JOBS.format(folder=str(BENCHMARKS)), encoding="utf-8")
    command = [sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    results = [eval(line) for line in done.stdout.splitlines()]
    assert [result[0][0] if result[0] else result[1] for result in results] == [
        "one", "two", "over 1 s", "three", "exit code 7", "four",
    ]  # fmt: skip
    first, second, third, fourth = (result[0][1] for result in results if result[0])
    assert first == second
    assert len({first, third, fourth}) == 3


class TestPage:
    @pytest.fixture
    def page(self, monkeypatch):
        monkeypatch.syspath_prepend(BENCHMARKS)
        return importlib.import_module("comparison_page")

    def results(self, page):
        values = {"softkern.cluster": (0.9, 0.6), "OneClassPCM": (0.8, 0.5), "LOF": (None, 0.3)}
        records = [
            {
                "set": name, "group": group, "method": method, "seed": 0, "n": 10, "rows": 10,
                "d": 2, "outliers": 0.2, "seconds": 1.0,
                **({"error": "over 120 s"} if pair[i] is None else {"AUROC": pair[i], "AP": 0.7}),
            }
            for i, (name, group) in enumerate([("a", page.HELD_OUT), ("b", "ADBench")])
            for method, pair in values.items()
        ]  # fmt: skip
        return page.Results.of(page.PARTS["outliers"], records)

    def test_a_failure_ranks_last_and_gets_the_score_of_a_trivial_result(self, page):
        results = self.results(page)
        assert results.table("AUROC")["LOF"].isna().tolist() == [True, False]
        assert results.filled("AUROC")["LOF"].tolist() == [0.5, 0.3]
        assert results.filled("AP")["LOF"].tolist() == pytest.approx([0.2, 0.7])
        table = page.ranking_table(results, {})
        assert table.loc["LOF", "failed"] == "1"
        assert table.loc["LOF", "mean AUROC"] == ".400"
        assert table.index[0] == "**softkern.cluster**"
        assert "LOF on a: over 120 s" in page.failures(results)

    def test_seeds_are_averaged_and_failures_are_listed(self, page):
        line = {"set": "a", "group": "ADBench", "n": 9, "rows": 9, "d": 2, "outliers": 0.1}
        records = [
            {**line, "method": "INNE", "seed": 0, "AUROC": 0.6, "AP": 0.2, "seconds": 1.0},
            {**line, "method": "INNE", "seed": 1, "AUROC": 0.8, "AP": 0.4, "seconds": 2.0},
            {**line, "method": "INNE", "seed": 2, "error": "ValueError: no", "seconds": 0.0},
        ]
        results = page.Results.of(page.PARTS["outliers"], records)
        assert results.table("AUROC")["INNE"].tolist() == pytest.approx([0.7])
        assert "ValueError: no" in page.failures(results)

    def test_blocks_are_replaced_and_the_text_around_them_stays(self, page):
        text = "before\n<!-- x -->\nold\n<!-- end of x -->\nafter"
        once = page.replace_block(text, "x", "new")
        assert page.replace_block(once, "x", "new") == once
        assert once.startswith("before\n")
        assert once.endswith("\nafter")
        assert "old" not in once
        with pytest.raises(ValueError, match="has no <!-- y -->"):
            page.replace_block(text, "y", "new")
