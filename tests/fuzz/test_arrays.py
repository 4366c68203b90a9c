"""No array breaks a fit: it returns numbers, or raises an error about the data."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from softkern import FuzzyCMeans, OneClassPCM, WeightedSVDD
from softkern.exceptions import DataError
from softkern.kernels import Gaussian, Linear, Polynomial
from softkern.operators.fourier import FourierOperator
from softkern.operators.work import ProblemSize
from softkern.rows import check_weights
from softkern.solvers.steps import Steps
from tests.fuzz.arrays import ESTIMATORS, Case, draw, outcome
from tests.fuzz.outcomes import PASSED

CORPUS = Path(__file__).with_name("arrays.jsonl")  # cases that failed once; never remove any
FRESH = range(100_000, 100_240)


def corpus():
    return [Case(**json.loads(line)) for line in CORPUS.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", corpus(), ids=lambda case: f"{case.estimator}-{case.seed}")
def test_corpus_of_earlier_failures(case):
    word, detail = outcome(case)
    assert word in PASSED, detail


@pytest.mark.parametrize("seed", FRESH)
def test_random_case(seed):
    case = draw(seed)
    word, detail = outcome(case)
    assert word in PASSED, (case, detail)


def test_random_cases_cover_every_model_and_some_are_fitted():
    cases = [draw(seed) for seed in FRESH]
    assert {case.estimator for case in cases} == set(ESTIMATORS)
    assert sum(outcome(case)[0] == "fitted" for case in cases[:60]) >= 15


@pytest.mark.parametrize("unit", [1e-300, 5e-324, 1e300])
@pytest.mark.parametrize("model", [FuzzyCMeans(), OneClassPCM(), WeightedSVDD()])
def test_weights_may_have_any_common_factor(model, unit):
    X = np.random.default_rng(0).normal(size=(30, 2))
    weight = np.full(30, unit)
    np.testing.assert_allclose(
        model.fit(X, sample_weight=weight).memberships_, model.fit(X).memberships_, rtol=1e-10
    )


def test_ordinary_weights_are_unchanged():
    weight = np.array([0.0, 1e-5, 0.5, 3.0, 2.0**40])
    np.testing.assert_array_equal(check_weights(weight, 5), weight)
    np.testing.assert_array_equal(check_weights([1e-30, 1.0], 2), [0, 1])


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_columns_with_extreme_values_are_named(wrap, dtype):
    numbers = np.finfo(dtype)
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(dtype)
    X[7, 1] = -numbers.max / 2
    with pytest.raises(DataError, match=r"column 1 holds -\d.* in row 7, too large"):
        FuzzyCMeans().fit(wrap(X))
    X[:, 1] = np.arange(20) * numbers.tiny
    with pytest.raises(DataError, match="values of column 1 differ by .* Multiply the column"):
        FuzzyCMeans().fit(wrap(X))


@pytest.mark.parametrize("kernel", [Linear(), Polynomial()])
@pytest.mark.parametrize("model", [FuzzyCMeans, OneClassPCM, WeightedSVDD])
def test_products_that_overflow_name_the_row(kernel, model):
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[4] = 1e147
    with pytest.raises(DataError, match="row 4 is too large for"):
        model(kernel=kernel).fit(X)


def test_fourier_rejects_a_grid_larger_than_the_pairs_of_rows():
    kernel = Gaussian(1.0)
    wide = ProblemSize(n=20, d=2, kernel=kernel, extent=(5000.0, 5000.0))
    assert "for 20 rows" in FourierOperator.unsupported_reason(wide)
    many = ProblemSize(n=20_000, d=2, kernel=kernel, extent=(5000.0, 5000.0))
    assert FourierOperator.unsupported_reason(many) is None
    X = np.random.default_rng(0).normal(size=(20, 1))
    X[3] = 1e6
    with pytest.raises(ValueError, match="engine='fourier' cannot be used here"):
        OneClassPCM(engine="fourier", bandwidth=1.0).fit(X)


def test_loop_stops_at_nan():
    run = Steps(None, None, None, np.ones(3), tol=1e-4, max_iter=9)
    run.step = lambda: SimpleNamespace(objective=float("nan"))
    with pytest.raises(DataError, match="no number in step 1: .* Scale the data"):
        run.turn()
