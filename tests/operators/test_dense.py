import numpy as np
import pytest
import scipy.sparse as sp

from softkern.kernels import CallableKernel, Gaussian, Linear, PairwiseKernel, Precomputed, Sigmoid
from softkern.operators import DenseOperator
from tests.operators.contract import GaussianContract


class TestDense(GaussianContract):
    def make(self, kernel, X):
        return DenseOperator(kernel, X)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(300, 4))


def test_gram_is_symmetric_to_the_last_bit(X, monkeypatch):
    monkeypatch.setattr("softkern.operators.dense.SQUARE", 70)  # several blocks
    gram = DenseOperator(Gaussian(1.0), X).gram
    assert np.array_equal(gram, gram.T)
    assert np.all(gram.diagonal() == 1)
    assert gram == pytest.approx(Gaussian(1.0).block(X, X), rel=1e-12)


def test_precomputed_is_the_kernel_itself(X):
    kernel = Gaussian(1.0)
    gram = kernel.block(X, X)
    given, built = DenseOperator(Precomputed(), gram), DenseOperator(kernel, X)
    new = X[:7] + 0.1
    values = kernel.block(new, X)
    a = np.full(300, 1 / 300)
    assert given @ a == pytest.approx(built @ a, rel=1e-12)
    assert given.cross(values).squared_distances(a) == pytest.approx(
        built.cross(new).squared_distances(a), rel=1e-9
    )
    assert given.cross(values).log_product(a) == pytest.approx(
        built.cross(new).log_product(a), rel=1e-9
    )
    assert given.columns([2]) == pytest.approx(gram[:, [2]])


def test_precomputed_needs_the_new_points_own_values(X):
    operator = DenseOperator(Precomputed(), X @ X.T)
    values, own = X[:5] @ X.T, (X[:5] ** 2).sum(axis=1)
    a = np.full(300, 1 / 300)
    with pytest.raises(ValueError, match=r"Give cross\(X_new, diag=...\)"):
        operator.cross(values).squared_distances(a)
    assert operator.cross(values, own).squared_distances(a) == pytest.approx(
        ((X[:5] - X.mean(axis=0)) ** 2).sum(axis=1)
    )
    with pytest.raises(ValueError, match=r"diag has shape \(2,\)"):
        operator.cross(values, own[:2])


@pytest.mark.parametrize(
    ("gram", "message"),
    [
        (np.ones((3, 4)), "must be square"),
        (np.array([[1.0, 0.5], [0.2, 1.0]]), r"not symmetric.*Give \(K \+ K.T\) / 2"),
        (sp.eye_array(3, format="csr"), "dense array"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "NaN"),
    ],
)
def test_bad_precomputed(gram, message):
    with pytest.raises(ValueError, match=message):
        DenseOperator(Precomputed(), gram)


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Sigmoid(0.1), PairwiseKernel("cosine"), CallableKernel(lambda X, Y: X @ Y.T)],
)
def test_other_kernels(kernel, X):
    operator = DenseOperator(kernel, X)
    A = np.random.default_rng(1).normal(size=(300, 2))
    assert operator @ A == pytest.approx(kernel.block(X, X) @ A, rel=1e-9, abs=1e-9)


def test_asymmetric_callable_is_refused(X):
    with pytest.raises(ValueError, match="not symmetric"):
        DenseOperator(CallableKernel(lambda X, Y: X @ Y.T + X[:, :1]), X)


def test_linear_distances_are_euclidean(X):
    operator = DenseOperator(Linear(), X)
    distances = operator.squared_distances(np.full(300, 1 / 300))
    assert distances == pytest.approx(((X - X.mean(axis=0)) ** 2).sum(axis=1))
