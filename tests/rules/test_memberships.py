"""Membership functions: laws, and equal values in every array library."""

import numpy as np
import pytest

from softkern.rules.memberships import (
    fuzzy,
    hard,
    log_fuzzy,
    log_total,
    outlier_weights,
    runner_up,
)

RNG = np.random.default_rng(0)
D = RNG.exponential(size=(40, 3))
D[3] = [0.0, 1.0, 2.0]  # on a center
D[4] = [0.0, 0.0, 2.0]  # on two centers
W = RNG.uniform(0.5, 2, size=40)
FUNCTIONS = {
    "fuzzy, m = 2": (lambda a: fuzzy(a(D), 2.0)),
    "fuzzy, m = 1.5": (lambda a: fuzzy(a(D), 1.5)),
    "fuzzy, no center is met": (lambda a: fuzzy(a(D[5:]), 3.0)),
    "log_fuzzy": (lambda a: log_fuzzy(a(D), 1.3)),
    "outlier_weights": (lambda a: outlier_weights(a(D[:, 0]), 1.0, 40.0, a(W))[0]),
    "outlier_weights, q = 5": (lambda a: outlier_weights(a(D[:, 0]), 5.0, 40.0, a(W))[0]),
    "log_total": (lambda a: log_total(a(-D))),
    "hard": (lambda a: hard(a(-D))),
    "runner_up": (lambda a: runner_up(a(D))[1]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_equal_in_every_array_library(name, library):
    to_array, to_numpy = library
    found = FUNCTIONS[name](to_array)
    assert type(found) is type(to_array(D))
    np.testing.assert_allclose(to_numpy(found), FUNCTIONS[name](np.asarray), rtol=1e-12, atol=1e-14)


def test_hard_memberships_choose_the_first_of_equally_near_centers():
    np.testing.assert_array_equal(hard(np.array([[-1.0, -3.0], [-2.0, -2.0]])), [[1, 0], [1, 0]])


def test_fuzzy_memberships_equal_the_formula():
    for m in (1.2, 2.0, 3.5):
        inside = D[5:]
        power = inside ** (-1 / (m - 1))
        np.testing.assert_allclose(fuzzy(inside, m), power / power.sum(axis=1, keepdims=True))
        np.testing.assert_allclose(np.exp(log_fuzzy(D, m)), fuzzy(D, m), atol=1e-15)


def test_points_on_centers_belong_only_to_these_centers():
    np.testing.assert_array_equal(fuzzy(D, 2.5)[3:5], [[1, 0, 0], [0.5, 0.5, 0]])


def test_logarithms_do_not_underflow():
    logs = log_fuzzy(np.array([[1.0, 10.0]]), 1.0001)
    assert logs[0, 1] == pytest.approx(-1e4 * np.log(10))
    assert log_total(np.array([[-1e5, -2e5]])) == -1e5


def test_outlier_weights_have_the_required_sum_and_minimum():
    spread = np.array([0.0, 1e-30, 1.0, 4.0])
    weight = np.array([1.0, 2.0, 1.0, 1.0])
    w, unit, least = outlier_weights(spread, 1.0, 5.0, weight)
    assert weight @ w == pytest.approx(5.0)
    assert w.min() == least
    np.testing.assert_allclose(w[2:], unit * np.sqrt(spread[2:]))


@pytest.mark.parametrize("columns", [0, 1, 2, 5])
def test_runner_up(columns):
    values = RNG.normal(size=(10, columns))
    ordered = np.sort(np.column_stack([np.full((10, 2), -np.inf), values]), axis=1)
    first, second = runner_up(values)
    np.testing.assert_array_equal(first, ordered[:, -1])
    np.testing.assert_array_equal(second, ordered[:, -2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_outlier_weights_stay_finite_for_small_q(dtype):
    spread = np.array([0.0, 1.0, 2.0], dtype=dtype)
    w, _, least = outlier_weights(spread, 0.01, 3.0, np.ones(3, dtype=dtype))
    assert least > 0
    assert np.isfinite(spread / w**0.01).all()
