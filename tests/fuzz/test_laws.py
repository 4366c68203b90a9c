"""Laws that hold for every model: a seeded sample of what `make fuzz KIND=laws` draws."""

import json
from pathlib import Path

import numpy as np
import pytest

import softkern
from tests.fuzz import laws
from tests.fuzz.laws import LAWS, Case, draw, outcome
from tests.fuzz.outcomes import WELL

CORPUS = Path(__file__).with_name("laws.jsonl")  # of cases that once failed; never shortened
FRESH = range(100_000, 100_030)


def corpus():
    return [Case(**json.loads(line)) for line in CORPUS.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", corpus(), ids=lambda case: f"{case.law}-{case.estimator}")
def test_what_once_failed_holds(case):
    word, detail = outcome(case)
    assert word in WELL, detail


@pytest.mark.parametrize("seed", FRESH)
def test_a_drawn_law_holds(seed):
    case = draw(seed)
    word, detail = outcome(case)
    assert word in WELL, (case, detail)


def test_every_law_is_drawn_and_most_fits_are_asked():
    cases = [draw(seed) for seed in range(400)]
    assert {case.law for case in cases} == set(LAWS)
    assert sum(outcome(case)[0] == "holds" for case in cases[:20]) >= 12


@pytest.mark.parametrize("law", ["weights", "order", "unit", "shift"])
def test_a_law_that_is_broken_is_noticed(law, monkeypatch):
    """A model that knows the order of its rows, their number or their place is found out."""

    class Odd(softkern.FuzzyCMeans):
        def memberships(self, X):
            known = self.sample_weight_.size + abs(self._support[0].sum())
            return super().memberships(X) + 1e-3 * np.sin(known)

    monkeypatch.setattr(softkern, "FuzzyCMeans", Odd)
    case = Case(law, "FuzzyCMeans", "rbf", "auto", 60, 2, 2, 7)
    assert laws.outcome(case)[0] == "broken"
