import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils import check_array

from softkern.kernels import Gaussian
from softkern.kernels.wrapped import Precomputed
from softkern.operators.dense import DenseOperator
from softkern.operators.precomputed import PrecomputedOperator
from tests.operators.contract import OperatorContract


class MatrixOfKernel(PrecomputedOperator):
    """The matrix of a known kernel. New points are given as points."""

    def cross(self, X_new, diag=None):
        X_new = check_array(X_new, dtype=self.points.dtype)
        return super().cross(self.hidden.block(X_new, self.points), diag)


class TestPrecomputed(OperatorContract):
    def make(self, kernel, X):
        X = check_array(X, dtype=[np.float64, np.float32])
        operator = MatrixOfKernel(Precomputed(), kernel.block(X, X))
        operator.hidden, operator.points = kernel, X
        return operator

    def uniform(self, engine, X):
        given = replace(engine, operator=MatrixOfKernel)
        return given.build(Precomputed(), self.kernel.block(X, X), random_state=1)

    def test_pickles(self, dtype):
        operator = PrecomputedOperator(Precomputed(), np.eye(5, dtype=dtype))
        assert np.array_equal(pickle.loads(pickle.dumps(operator)) @ np.ones(5), np.ones(5))

    def test_bad_data(self):
        with pytest.raises(TypeError, match="softkern.kernels.Kernel"):
            PrecomputedOperator("precomputed", np.eye(3))
        with pytest.raises(ValueError, match="X_new has 2 columns, but the support has 3"):
            PrecomputedOperator(Precomputed(), np.eye(3)).cross(np.ones((4, 2)))


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(300, 4))


def test_a_precomputed_matrix_equals_its_kernel(X):
    kernel = Gaussian(1.0)
    gram = kernel.block(X, X)
    given, built = PrecomputedOperator(Precomputed(), gram), DenseOperator(kernel, X)
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


def test_distances_of_new_points_need_their_diagonal(X):
    operator = PrecomputedOperator(Precomputed(), X @ X.T)
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
def test_bad_matrices(gram, message):
    with pytest.raises(ValueError, match=message):
        PrecomputedOperator(Precomputed(), gram)


def test_leave_one_out_sums_come_from_the_matrix(X):
    X[0] = 30  # isolated: its diagonal value exceeds all others
    kernel, a = Gaussian(1.0), np.full(300, 1 / 300)
    given = PrecomputedOperator(Precomputed(), kernel.block(X, X))
    logs = given.log_product_of_others(a, a)
    exact = DenseOperator(kernel, X).log_product_of_others(a, a)
    assert logs[1:] == pytest.approx(exact[1:], rel=1e-6)
    assert logs[0] == pytest.approx(-np.inf)  # all other values of the row are zero


def test_negative_values_have_no_logarithm():
    with pytest.raises(ValueError, match="negative values"):
        PrecomputedOperator(Precomputed(), -np.eye(3)).log_product(np.ones(3))


def test_points_are_rejected(X):
    with pytest.raises(ValueError, match="it takes a Gram matrix, with kernel='precomputed'"):
        PrecomputedOperator(Gaussian(1.0), X)
