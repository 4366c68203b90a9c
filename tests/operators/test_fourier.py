import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp

from softkern.kernels import Gaussian, Linear
from softkern.operators.fourier import FourierOperator
from softkern.operators.tiled import TiledOperator
from tests.operators.contract import GaussianContract


class TestFourier(GaussianContract):
    dims = (1, 2, 3)
    far = 500.0  # must be inside the grid

    def make(self, kernel, X):
        return FourierOperator(kernel, X)

    def allowed(self, operator, A):
        # tighter than the common bound: relative to the largest entry of K |A|
        exact = np.exp(-0.5 * _squared_distances(operator.X / 0.8)) @ np.abs(A)
        return operator.tolerance * exact.max(axis=0) + 1e-5 * (operator.dtype == np.float32)

    def cross_allowed(self, operator, A):
        return self.allowed(operator, A)


def _squared_distances(X):
    X = X.astype(float)
    return np.square(X[:, None] - X[None]).sum(axis=2)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("bandwidth", [0.05, 0.5, 50.0])
@pytest.mark.parametrize("d", [1, 2])
def test_stated_tolerance_holds(tolerance, bandwidth, d):
    X = np.random.default_rng(0).normal(size=(1500, d))
    a = np.random.default_rng(1).uniform(size=1500)
    exact = TiledOperator(Gaussian(bandwidth), X) @ a
    error = np.abs(FourierOperator(Gaussian(bandwidth), X, tolerance) @ a - exact).max()
    assert error <= tolerance * exact.max()


def test_columns_in_pairs_equal_single_columns():
    X = np.random.default_rng(0).normal(size=(300, 2))
    A = np.random.default_rng(1).normal(size=(300, 5))
    operator = FourierOperator(Gaussian(0.3), X)
    for c in range(5):
        assert operator @ A[:, c] == pytest.approx((operator @ A)[:, c], abs=1e-7)


def test_new_points_around_the_box():
    X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    new = np.array([[1.0, 1.0], [1.5, -1.5], [-2.0, 0.0], [2.6, 0.0], [0.0, -30.0]])
    exact = Gaussian(0.25).block(new, X).sum(axis=1)
    operator = FourierOperator(Gaussian(0.25), X)
    assert operator.cross(new) @ np.ones(500) == pytest.approx(exact, abs=1e-7)


def test_ranks_of_the_tail_are_exact():
    generator = np.random.default_rng(0)
    X = np.vstack([generator.normal(size=(3000, 2)), generator.uniform(-60, 60, size=(200, 2))])
    a = np.full(3200, 1 / 3200)
    a[-200:] = 0  # no weight: their sums consist of far points only
    fourier = FourierOperator(Gaussian(1.0), X, 1e-6).log_product(a)
    exact = TiledOperator(Gaussian(1.0), X).log_product(a)
    assert fourier == pytest.approx(exact, abs=2e-2)
    assert np.array_equal(np.argsort(fourier[-200:])[:50], np.argsort(exact[-200:])[:50])


def test_tail_of_weights_with_zeros():
    X = np.arange(10.0)[:, None] * 100
    a = np.zeros(10)
    a[0] = 1.0
    logs = FourierOperator(Gaussian(1.0), X).log_product(a)
    assert logs == pytest.approx(-0.5 * X[:, 0] ** 2, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("kernel", "X", "message"),
    [
        (Gaussian(1.0), np.ones((9, 4)), "at most 3 columns, not 4"),
        (Linear(), np.ones((9, 2)), "needs the Gaussian kernel, not Linear"),
        (Gaussian(1.0), sp.csr_matrix(np.ones((9, 2))), "dense array"),
        (Gaussian(1e-9), np.arange(18.0).reshape(9, 2), r"Fourier modes.*use engine='tiled'"),
    ],
)
def test_unsupported_input_is_rejected(kernel, X, message):
    with pytest.raises(ValueError, match=message):
        FourierOperator(kernel, X)


def test_bad_tolerance():
    with pytest.raises(ValueError, match="tolerance must lie between"):
        FourierOperator(Gaussian(1.0), np.ones((9, 2)), tolerance=2.0)


def test_a_large_column_does_not_reduce_accuracy_of_a_small_one():
    X = np.random.default_rng(0).normal(size=(400, 2))
    A = np.random.default_rng(1).uniform(size=(400, 2)) * [1e9, 1e-9]
    exact = TiledOperator(Gaussian(0.5), X) @ A
    assert FourierOperator(Gaussian(0.5), X) @ A == pytest.approx(exact, rel=1e-6)


def test_an_offset_does_not_reduce_accuracy():
    X = np.random.default_rng(0).normal(size=(500, 2))
    X = X + 1e8 - 1e8  # digits that remain after the move
    a = np.full(500, 1 / 500)
    exact = Gaussian(0.5).block(X, X) @ a
    moved = FourierOperator(Gaussian(0.5), X + 1e8, 1e-12)
    assert np.abs(moved @ a - exact).max() < 1e-12
    assert np.abs(moved.cross(X[:200] + 1e8) @ a - exact[:200]).max() < 1e-12


def test_repeated_predictions_reuse_the_modes(monkeypatch):
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    new = np.random.default_rng(1).normal(size=(3000, 2))
    A = np.random.default_rng(2).uniform(size=(20_000, 3))
    operator = FourierOperator(Gaussian(1.0), X)
    first = operator.cross(new) @ A
    made = []
    original = FourierOperator._modes
    monkeypatch.setattr(FourierOperator, "_modes", lambda *a: made.append(1) or original(*a))
    assert np.array_equal(operator.cross(new) @ A, first)
    assert not made
    A[5] += 1e3  # a change in place must be noticed
    changed = operator.cross(new) @ A
    assert made
    exact = TiledOperator(Gaussian(1.0), X).cross(new) @ A
    assert changed == pytest.approx(exact, abs=1e-9 * exact.max())
    assert first == pytest.approx(exact - Gaussian(1.0).block(new, X[5:6]) * 1e3, abs=1e-5)


def test_few_new_points_are_exact():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    a = np.ones(2000)
    operator = FourierOperator(Gaussian(0.02), X, 1e-3)  # a large grid, a coarse tolerance
    exact = Gaussian(0.02).block(X[:1], X).sum(axis=1)
    assert operator.cross(X[:1]) @ a == pytest.approx(exact, rel=1e-12)


def test_scores_of_far_points_do_not_depend_on_the_batch():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 2))
    far = np.column_stack([rng.uniform(8.5, 9.5, 400), rng.uniform(-1, 1, 400)])
    operator = FourierOperator(Gaussian(0.5), X)
    A = np.full((5000, 1), 1 / 5000)
    alone = operator.cross(far).log_product(A)
    beside = operator.cross(np.vstack([X[:2000], far])).log_product(A)[2000:]
    np.testing.assert_allclose(alone, beside, rtol=1e-6)
    np.testing.assert_allclose(
        alone[:, 0], logsumexp(Gaussian(0.5).log_block(far, X), axis=1, b=1 / 5000), rtol=1e-5
    )


FORKED = """
import multiprocessing
import numpy as np
from softkern.kernels import Gaussian
from softkern.operators.fourier import FourierOperator

X = np.random.default_rng(0).normal(size=(7000, 2))
def product():
    return FourierOperator(Gaussian(0.1), X) @ np.ones(7000)
def differ(answer):
    answer.put(np.abs(product() - here).max())
here = product()
context = multiprocessing.get_context("fork")
answer = context.Queue()
child = context.Process(target=differ, args=(answer,), daemon=True)
child.start()
assert answer.get(timeout=60) <= 1e-9 * here.max()
child.join()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks are only safe on Linux")
def test_a_fork_gives_the_results_of_its_parent():
    """A fork has no OpenMP threads of its parent and must not wait for them."""
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    command = [sys.executable, "-c", FORKED]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
