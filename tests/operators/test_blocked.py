import numpy as np
import pytest
import scipy.sparse as sp

from softkern.kernels import Gaussian, Laplacian, Linear, Polynomial
from softkern.kernels.dot import Sigmoid
from softkern.kernels.wrapped import CallableKernel, PairwiseKernel, Precomputed
from softkern.operators.blocked import BlockedOperator
from tests.operators.contract import GaussianContract, OperatorContract


class TestBlocked(GaussianContract):
    def make(self, kernel, X):
        return BlockedOperator(kernel, X)


class TestBlockedLaplacian(OperatorContract):
    kernel = Laplacian(0.8)

    def make(self, kernel, X):
        return BlockedOperator(kernel, X)

    def test_bad_data(self):
        with pytest.raises(ValueError, match="2 values, one per column, but X has 1"):
            BlockedOperator(Laplacian([1.0, 2.0]), np.ones((3, 1)))


KERNELS = [
    Laplacian(0.7),
    Linear(),
    Polynomial(2),
    Sigmoid(0.2),
    PairwiseKernel("cosine"),
    PairwiseKernel("chi2"),
    CallableKernel(lambda X, Y: np.minimum(X[:, None], Y[None]).sum(axis=2)),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_any_kernel(kernel, monkeypatch):
    monkeypatch.setattr("softkern.operators.base.BLOCK_BYTES", 256 * 8 * 50)  # many blocks
    X, new = (np.random.default_rng(s).uniform(size=(n, 3)) for s, n in ((0, 400), (1, 30)))
    A = np.random.default_rng(2).normal(size=(400, 3))
    operator = BlockedOperator(kernel, X)
    assert operator @ A == pytest.approx(kernel.block(X, X) @ A, rel=1e-9, abs=1e-9)
    assert operator.cross(new) @ A == pytest.approx(kernel.block(new, X) @ A, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Linear(), PairwiseKernel("cosine")], ids=repr)
def test_sparse(kernel):
    X = np.random.default_rng(0).uniform(size=(200, 30))
    X[X < 0.9] = 0
    A = np.ones((200, 2))
    sparse = BlockedOperator(kernel, sp.csr_matrix(X))
    assert sparse @ A == pytest.approx(BlockedOperator(kernel, X) @ A, rel=1e-9)
    assert sparse.cross(sp.csr_matrix(X[:9])) @ A == pytest.approx((sparse @ A)[:9], rel=1e-9)


def test_logarithms_of_the_laplacian_follow_the_distance():
    X = np.random.default_rng(0).normal(size=(30, 2))
    far = np.array([[1e3, 0], [1e100, 0], [1e153, 0], [1.3e154, 0]])
    logs = BlockedOperator(Laplacian(1.0), X).cross(far).log_product(np.ones(30))
    assert logs == pytest.approx(-far[:, 0], rel=1e-2)


def test_precomputed_matrices_are_rejected():
    with pytest.raises(ValueError, match="use engine='precomputed'"):
        BlockedOperator(Precomputed(), np.eye(4))
