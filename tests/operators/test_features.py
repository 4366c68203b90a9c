"""Distances of a finite feature map: accuracy far from the origin, and any coefficients."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from softkern._utils.arrays import moved, take_last
from softkern.kernels import Gaussian, Linear
from softkern.kernels.wrapped import PairwiseKernel
from softkern.operators.dense import DenseOperator
from softkern.operators.features import FeatureOperator
from softkern.operators.low_rank import NystroemOperator
from tests.operators.contract import OperatorContract

OPERATORS = [FeatureOperator, DenseOperator]


class TestFeatures(OperatorContract):
    kernel = Linear()

    def make(self, kernel, X):
        return FeatureOperator(kernel, X)

    def test_bad_data(self):
        with pytest.raises(ValueError, match="needs a finite feature map, and Gaussian has none"):
            FeatureOperator(Gaussian(1.0), np.ones((3, 2)))


def problem(offset, dtype, n=400, c=3):
    generator = np.random.default_rng(0)
    X = (generator.normal(size=(n, 2)) + np.array([offset, -offset])).astype(dtype)
    new = (generator.normal(size=(9, 2)) + np.array([offset, -offset])).astype(dtype)
    A = generator.uniform(size=(n, c)) ** 4
    return X, new, (A / A.sum(axis=0)).astype(dtype)


def mean_distances(rows, X, A):
    """Compute ‖x − Σ a x_r‖² in float64, relative to the mean of the data."""
    middle, A = X.mean(axis=0, dtype=np.float64), A.astype(np.float64)
    centers = (A / A.sum(axis=0)).T @ (X - middle)
    return cdist(rows - middle, centers, "sqeuclidean")


@pytest.mark.parametrize("cls", OPERATORS)
@pytest.mark.parametrize(
    ("offset", "dtype", "abs_tol"),
    [(0.0, "f8", 1e-13), (1e8, "f8", 1e-13), (2e3, "f4", 1e-4), (1e5, "f4", 1e-4)],
)
def test_distances_do_not_depend_on_the_origin(cls, offset, dtype, abs_tol):
    X, new, A = problem(offset, dtype)
    operator = cls(Linear(), X)
    assert operator.geometry(A).distances == pytest.approx(mean_distances(X, X, A), abs=abs_tol)
    assert operator.squared_distances(A[:, 0]) == pytest.approx(
        mean_distances(X, X, A)[:, 0], abs=abs_tol
    )
    across = operator.cross(new)
    assert across.squared_distances(A) == pytest.approx(mean_distances(new, X, A), abs=abs_tol)
    assert across.geometry(A, norms=operator.squared_norms(A)).distances.dtype == X.dtype


@pytest.mark.parametrize("cls", OPERATORS)
@pytest.mark.parametrize("kernel", [Linear(), PairwiseKernel("cosine"), PairwiseKernel("linear")])
def test_products_and_norms_equal_those_of_the_kernel(cls, kernel):
    X, new, A = problem(3.0, "f8")
    A = A * np.array([1.0, -2.5, 0.0])  # no weighted means, and a center at the origin
    operator = cls(kernel, X)
    K, cross = kernel.block(X, X), kernel.block(new, X)
    geometry = operator.geometry(A)
    norms = np.einsum("ij,ij->j", A, K @ A)
    assert geometry.product == pytest.approx(K @ A, rel=1e-10)
    assert geometry.norms == pytest.approx(norms, rel=1e-10)
    expected = K.diagonal()[:, None] - 2 * K @ A + norms
    assert geometry.distances == pytest.approx(expected, rel=1e-9)
    found = operator.cross(new).geometry(A, norms=norms)
    assert found.product == pytest.approx(cross @ A, rel=1e-10)
    own = kernel.diag(new)[:, None]
    assert found.distances == pytest.approx(own - 2 * cross @ A + norms, rel=1e-9)


def test_sparse_data_stay_sparse():
    X, new, A = problem(2.0, "f8")
    operator = FeatureOperator(Linear(), sp.csr_matrix(X))
    assert operator.features is None
    assert operator.squared_distances(A) == pytest.approx(mean_distances(X, X, A), abs=1e-10)
    assert operator.cross(new).squared_distances(A) == pytest.approx(
        mean_distances(new, X, A), abs=1e-10
    )


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0)])
@pytest.mark.parametrize("cls", [*OPERATORS, NystroemOperator])
def test_gaps_and_order_of_centers(cls, kernel):
    if cls is FeatureOperator and kernel != Linear():
        pytest.skip("no feature map")
    X, _, A = problem(1.0, "f8")
    geometry = cls(kernel, X).geometry(A)
    inner = A.T @ kernel.block(X, X) @ A
    expected = inner.diagonal()[:, None] + inner.diagonal() - 2 * inner
    assert geometry.gaps(A) == pytest.approx(
        expected, abs=1e-5 if cls is NystroemOperator else 1e-12
    )
    order = np.array([2, 0, 1])
    assert moved(geometry, take_last, order).gaps(A[:, order]) == pytest.approx(
        geometry.gaps(A)[np.ix_(order, order)], abs=1e-12
    )
    assert np.array_equal(moved(geometry, take_last, order).norms, geometry.norms[order])
    assert np.array_equal(moved(geometry, take_last, order).product, geometry.product[:, order])


def test_gaps_far_from_the_origin():
    X, _, A = problem(1e7, "f8")
    middle = X.mean(axis=0)
    centers = A.T @ (X - middle)
    gaps = FeatureOperator(Linear(), X).geometry(A).gaps(A)
    assert gaps == pytest.approx(cdist(centers, centers, "sqeuclidean"), abs=1e-8)


@pytest.mark.parametrize("kernel", [Linear(), PairwiseKernel("cosine")], ids=repr)
def test_sparse_products(kernel):
    X = np.random.default_rng(0).uniform(size=(200, 30))
    X[X < 0.9] = 0
    A = np.ones((200, 2))
    sparse = FeatureOperator(kernel, sp.csr_matrix(X))
    assert sparse @ A == pytest.approx(FeatureOperator(kernel, X) @ A, rel=1e-9)
    assert sparse.cross(sp.csr_matrix(X[:9])) @ A == pytest.approx((sparse @ A)[:9], rel=1e-9)
    index = np.array([3, 80])
    assert sparse.partial_product(index, A[:2]) == pytest.approx(
        kernel.block(X, X[index]) @ A[:2], rel=1e-9
    )
