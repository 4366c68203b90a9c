"""Laws that hold for every model: a fixed sample of the cases of `make fuzz KIND=laws`."""

import json
from pathlib import Path

import numpy as np
import pytest

import softkern
from tests.fuzz import laws
from tests.fuzz.laws import LAWS, Case, draw, outcome
from tests.fuzz.outcomes import PASSED

CORPUS = Path(__file__).with_name("laws.jsonl")  # cases that failed once; never remove any
FRESH = range(100_000, 100_030)


def corpus():
    return [Case(**json.loads(line)) for line in CORPUS.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", corpus(), ids=lambda case: f"{case.law}-{case.estimator}")
def test_corpus_of_earlier_failures(case):
    word, detail = outcome(case)
    assert word in PASSED, detail


@pytest.mark.parametrize("seed", FRESH)
def test_random_law_holds(seed):
    case = draw(seed)
    word, detail = outcome(case)
    assert word in PASSED, (case, detail)


def test_random_cases_cover_every_law_and_most_hold():
    cases = [draw(seed) for seed in range(400)]
    assert {case.law for case in cases} == set(LAWS)
    assert sum(outcome(case)[0] == "holds" for case in cases[:20]) >= 12


@pytest.mark.parametrize("law", ["weights", "order", "unit", "shift"])
def test_broken_law_is_detected(law, monkeypatch):
    """A model that depends on the order, number or place of its rows is detected."""

    class Odd(softkern.FuzzyCMeans):
        def memberships(self, X):
            state = self.sample_weight_.size + abs(self._support[0].sum())
            return super().memberships(X) + 1e-3 * np.sin(state)

    monkeypatch.setattr(softkern, "FuzzyCMeans", Odd)
    case = Case(law, "FuzzyCMeans", "rbf", "auto", 60, 2, 2, 7)
    assert laws.outcome(case)[0] == "broken"
