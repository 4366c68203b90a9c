import numpy as np
import pytest

from softkern.kernels import Gaussian, Kernel, Linear
from softkern.kernels.dot import Sigmoid
from softkern.kernels.wrapped import CallableKernel, PairwiseKernel, Precomputed
from softkern.operators.dense import DenseOperator
from tests.operators.contract import GaussianContract


class TestDense(GaussianContract):
    def make(self, kernel, X):
        return DenseOperator(kernel, X)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(300, 4))


def test_gram_is_exactly_symmetric(X, monkeypatch):
    monkeypatch.setattr("softkern.operators.dense.SQUARE", 70)  # several blocks
    gram = DenseOperator(Gaussian(1.0), X).gram
    assert np.array_equal(gram, gram.T)
    assert np.all(gram.diagonal() == 1)
    assert gram == pytest.approx(Gaussian(1.0).block(X, X), rel=1e-12)


def test_gram_is_not_built_for_new_points(X, monkeypatch):
    operator = DenseOperator(Gaussian(1.0), X)
    a = np.full(300, 1 / 300)
    new = X[:9] + 0.1
    expected = operator.squared_norms(a)
    fresh = DenseOperator(Gaussian(1.0), X)
    monkeypatch.setattr(DenseOperator, "gram", property(lambda self: pytest.fail("was built")))
    cross = fresh.cross(new)
    assert cross.geometry(a, norms=expected).distances[:, 0] == pytest.approx(
        1 - 2 * Gaussian(1.0).block(new, X).mean(axis=1) + expected
    )
    assert cross.log_product(a).shape == (9,)


def test_gram_does_not_depend_on_the_number_of_threads(X, monkeypatch):
    monkeypatch.setattr("softkern.operators.dense.SQUARE", 40)
    grams = []
    for threads in (1, 4):
        monkeypatch.setattr("softkern.operators.dense.available_threads", lambda t=threads: t)
        grams.append(DenseOperator(Gaussian(1.0), X).gram)
    assert np.array_equal(*grams)


def test_an_offset_does_not_reduce_accuracy():
    X = np.random.default_rng(0).normal(size=(300, 3)).round(6)
    X = X + 1e8 - 1e8  # digits that remain after the move
    moved = DenseOperator(Gaussian(0.7), X + 1e8).gram
    assert np.abs(moved - DenseOperator(Gaussian(0.7), X).gram).max() < 1e-14


class Fivefold(Kernel):
    """5 · Gaussian, defined like a kernel of a user."""

    bound = 5.0

    def block(self, X, Y):
        return 5 * Gaussian(1.0).block(X, Y)


def test_errors_grow_with_the_kernel(X):
    plain = DenseOperator(Gaussian(1.0), X).error
    assert DenseOperator(Fivefold(), X).error / plain == pytest.approx(5)
    # without a declared bound, the diagonal bounds a semidefinite kernel
    traits = {"bound": None, "is_positive_semidefinite": True}
    semidefinite = type("Semidefinite", (Fivefold,), traits)()
    assert DenseOperator(semidefinite, X).error / plain == pytest.approx(5)
    # otherwise the largest value of some rows, with a margin
    unknown = type("Unknown", (Fivefold,), {"bound": None})()
    assert 5 <= DenseOperator(unknown, X).error / plain <= 25


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Sigmoid(0.1), PairwiseKernel("cosine"), CallableKernel(lambda X, Y: X @ Y.T)],
)
def test_other_kernels(kernel, X):
    operator = DenseOperator(kernel, X)
    A = np.random.default_rng(1).normal(size=(300, 2))
    assert operator @ A == pytest.approx(kernel.block(X, X) @ A, rel=1e-9, abs=1e-9)


def test_asymmetric_callables_are_rejected(X):
    with pytest.raises(ValueError, match="not symmetric"):
        DenseOperator(CallableKernel(lambda X, Y: X @ Y.T + X[:, :1]), X)


def test_linear_distances_are_euclidean(X):
    operator = DenseOperator(Linear(), X)
    distances = operator.squared_distances(np.full(300, 1 / 300))
    assert distances == pytest.approx(((X - X.mean(axis=0)) ** 2).sum(axis=1))


def test_precomputed_matrices_are_rejected():
    with pytest.raises(ValueError, match="use engine='precomputed'"):
        DenseOperator(Precomputed(), np.eye(4))
