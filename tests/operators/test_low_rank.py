import numpy as np
import pytest
import scipy.sparse as sp

from softkern.kernels import Gaussian, Linear, Polynomial
from softkern.kernels.dot import Sigmoid
from softkern.kernels.wrapped import CallableKernel, PairwiseKernel, Precomputed
from softkern.operators.dense import DenseOperator
from softkern.operators.low_rank import NystroemOperator
from tests.operators.contract import GaussianContract


class TestNystroem(GaussianContract):
    dims = (1, 2, 3)

    def make(self, kernel, X):
        return NystroemOperator(kernel, X, rank=400)

    def cross_allowed(self, operator, A):
        # new points may lie a little outside the landmarks
        return 10 * operator.error * np.abs(A).sum(axis=0)

    def distance_slack(self, operator):
        return 40 * operator.error


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(600, 3))


@pytest.mark.parametrize("landmarks", ["rpcholesky", "uniform", np.arange(0, 600, 6)])
def test_residual_bounds_every_entry(landmarks, X):
    operator = NystroemOperator(Gaussian(1.0), X, rank=100, landmarks=landmarks)
    difference = DenseOperator(Gaussian(1.0), X).gram - operator @ np.eye(600)
    assert operator.rank <= 100
    assert operator.residual == pytest.approx(difference.diagonal(), abs=1e-9)
    bound = np.sqrt(np.outer(operator.residual, operator.residual))
    assert np.all(np.abs(difference) <= bound + 1e-9)
    assert operator.trace_error == pytest.approx(np.trace(difference) / 600, abs=1e-9)
    assert np.linalg.eigvalsh(difference)[0] > -1e-9


def test_landmark_columns_are_exact(X):
    operator = NystroemOperator(Gaussian(1.0), X, rank=50)
    K = DenseOperator(Gaussian(1.0), X).gram
    assert (operator @ np.eye(600))[:, operator.landmarks] == pytest.approx(
        K[:, operator.landmarks], abs=1e-9
    )


def test_error_is_near_the_best_of_that_rank(X):
    eigenvalues = np.linalg.eigvalsh(DenseOperator(Gaussian(1.0), X).gram)[::-1]
    errors = [
        NystroemOperator(Gaussian(1.0), X, rank=60, random_state=seed).trace_error * 600
        for seed in range(10)
    ]
    # the error is near the best error of two thirds of the rank
    assert np.mean(errors) < 1.5 * eigenvalues[40:].sum()


def test_landmarks_cover_a_small_distant_cluster_better_than_uniform_ones():
    generator = np.random.default_rng(0)
    X = np.vstack([generator.normal(size=(5000, 2)) * 0.1, generator.normal(size=(20, 2)) + 50])
    chosen = NystroemOperator(Gaussian(1.0), X, rank=40)
    uniform = NystroemOperator(Gaussian(1.0), X, rank=40, landmarks="uniform")
    assert (chosen.landmarks >= 5000).sum() >= 5
    assert chosen.trace_error < 0.2 * uniform.trace_error


def test_rank_adapts_to_the_tolerance(X):
    loose = NystroemOperator(Gaussian(2.0), X, rank=None, trace_tolerance=1e-2)
    tight = NystroemOperator(Gaussian(2.0), X, rank=None, trace_tolerance=1e-5)
    assert loose.trace_error <= 1e-2
    assert tight.trace_error <= 1e-5
    assert loose.rank < tight.rank < 600


def test_linear_kernel_has_the_rank_of_the_data(X):
    operator = NystroemOperator(Linear(), X)
    assert operator.rank == 3
    assert operator @ np.ones(600) == pytest.approx(X @ X.sum(axis=0))


def test_weights_are_repeated_rows(X):
    counts = np.random.default_rng(1).integers(1, 4, 600)
    repeated = np.repeat(X, counts, axis=0)
    one = NystroemOperator(Gaussian(1.0), X, rank=50, sample_weight=counts)
    two = NystroemOperator(Gaussian(1.0), repeated, rank=50)
    assert np.array_equal(X[one.landmarks], repeated[two.landmarks])
    assert one.trace_error == pytest.approx(two.trace_error)


def test_a_tolerance_of_zero_stops_at_rounding_errors(X):
    operator = NystroemOperator(Polynomial(2), X, rank=None, trace_tolerance=0.0)
    assert 10 <= operator.rank <= 20  # 10 monomials of degree at most 2 in 3 variables
    assert operator @ np.ones(600) == pytest.approx(Polynomial(2).block(X, X).sum(axis=1))


def test_indefinite_callables_are_rejected(X):
    for function in (lambda X, Y: -X @ Y.T, lambda X, Y: np.tanh(X @ Y.T - 1)):
        with pytest.raises(ValueError, match="not positive semidefinite"):
            NystroemOperator(CallableKernel(function), X)


def test_one_far_point_does_not_reduce_accuracy():
    X = np.random.default_rng(0).normal(size=(2000, 2)).astype(np.float32)
    X[0] = 1e5
    operator = NystroemOperator(Gaussian(0.5), X)
    exact = Gaussian(0.5).block(X.astype(float), X.astype(float)).sum(axis=1)
    assert np.abs(operator @ np.ones(2000) - exact).max() <= operator.error * 2000


def test_kernel_matrix_of_zeros():
    operator = NystroemOperator(Linear(), np.zeros((5, 2)))
    assert not (operator @ np.ones(5)).any()
    assert not (operator.cross(np.ones((2, 2))) @ np.ones(5)).any()


@pytest.mark.parametrize("kernel", [Gaussian(2.0), PairwiseKernel("cosine")], ids=repr)
def test_sparse(kernel):
    X = np.random.default_rng(0).uniform(size=(200, 10))
    X[X < 0.5] = 0
    dense, sparse = NystroemOperator(kernel, X), NystroemOperator(kernel, sp.csr_matrix(X))
    a = np.ones(200)
    assert sparse @ a == pytest.approx(dense @ a, rel=1e-4)
    assert sparse.cross(sp.csr_matrix(X[:5])) @ a == pytest.approx((dense @ a)[:5], rel=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 0}, "rank must be at least 1"),
        ({"trace_tolerance": -1}, "trace_tolerance must lie in"),
        ({"landmarks": "best"}, "'best' is unknown"),
        ({"landmarks": [600]}, "between 0 and 599"),
        ({"landmarks": []}, "between 0 and 599"),
        ({"sample_weight": np.zeros(600)}, "zero for every row"),
    ],
)
def test_bad_options(options, message, X):
    with pytest.raises(ValueError, match=message):
        NystroemOperator(Gaussian(1.0), X, **options)


def test_unsupported_kernels_are_rejected():
    with pytest.raises(ValueError, match="positive semidefinite kernel"):
        NystroemOperator(Sigmoid(), np.ones((4, 2)))
    with pytest.raises(ValueError, match="use engine='precomputed'"):
        NystroemOperator(Precomputed(), np.eye(4))


def test_the_approximation_error_is_reported(X):
    coarse = NystroemOperator(Gaussian(1.0), X, rank=20)
    assert coarse.approximation_error == coarse.trace_error > 0.1
    assert coarse.attainable_error < 1e-10 < coarse.error
    assert not NystroemOperator.is_exact_support
    assert not NystroemOperator.error_is_known


def test_row_tolerance_bounds_the_error_of_every_row():
    X = np.random.default_rng(0).normal(size=(2000, 3))
    X[:3] += 40 * np.eye(3)
    loose = NystroemOperator(Gaussian(4.0), X, rank=400, trace_tolerance=1e-3)
    strict = NystroemOperator(Gaussian(4.0), X, rank=400, trace_tolerance=1e-3, row_tolerance=1e-4)
    assert strict.residual.max() <= 1e-4 < loose.residual.max()
    assert strict.rank > loose.rank
    assert {0, 1, 2} <= set(strict.landmarks.tolist())
    with pytest.raises(ValueError, match="row_tolerance"):
        NystroemOperator(Gaussian(4.0), X, row_tolerance=-1.0)
