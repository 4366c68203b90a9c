"""The eigenproblem: equality with the printed equations, and laws."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris, make_blobs

from softkern.kernels import Gaussian, Linear
from softkern.kernels.wrapped import PairwiseKernel, Precomputed
from softkern.operators.dense import DenseOperator
from softkern.operators.fourier import FourierOperator
from softkern.operators.low_rank import NystroemOperator
from softkern.operators.precomputed import PrecomputedOperator
from softkern.operators.tiled import TiledOperator
from softkern.solvers import eigen

IRIS = load_iris().data


def gram(X, sigma):
    return np.exp(-cdist(X, X, "sqeuclidean") / (2 * sigma**2))


def solve_reference(K, count):
    """Solve the printed dual D⁻¹ M_D Ω α = λ α with ‖α‖ = 1. Return λ, α, b and e."""
    n = len(K)
    D_inverse = np.diag(1 / K.sum(axis=1))
    ones = np.ones((n, 1))
    M = np.eye(n) - ones @ ones.T @ D_inverse / (ones.T @ D_inverse @ ones)
    values, vectors = np.linalg.eig(D_inverse @ M @ K)
    order = np.argsort(-values.real)[:count]
    alpha = vectors[:, order].real
    alpha /= np.linalg.norm(alpha, axis=0)
    b = -(ones.T @ D_inverse @ K @ alpha / (ones.T @ D_inverse @ ones)).ravel()
    return values[order].real, alpha, b, K @ alpha + b


def align_signs(one, two):
    return one * np.sign((one * two).sum(axis=0))


def draw_clusters(n_groups, gap, n, seed=0):
    rng = np.random.default_rng(seed)
    return np.c_[gap * rng.integers(0, n_groups, n), np.zeros(n)] + rng.normal(size=(n, 2))


# The eigenproblem


@pytest.mark.parametrize("count", [1, 2, 5])
def test_agrees_with_the_printed_dual(count):
    X = np.random.default_rng(0).normal(size=(60, 3))
    values, alpha, b, e = solve_reference(gram(X, 0.8), count)
    solved = eigen.solve(DenseOperator(Gaussian(0.8), X), count, np.ones(60))
    assert solved.eigenvalues == pytest.approx(values, rel=1e-10)
    assert align_signs(solved.coefficients, alpha) == pytest.approx(alpha, abs=1e-9)
    sign = np.sign((solved.coefficients * alpha).sum(axis=0))
    assert solved.bias * sign == pytest.approx(b, abs=1e-9)
    assert solved.projections * sign == pytest.approx(e, abs=1e-9)


def test_acceptance_iris():
    solved = eigen.solve(DenseOperator(Gaussian(1.0), IRIS), 2, np.ones(150))
    assert solved.eigenvalues == pytest.approx([0.97757107, 0.55498439], abs=5e-9)


def test_projections_are_eigenvectors_times_degrees_and_eigenvalues():
    solved = eigen.solve(DenseOperator(Gaussian(1.0), IRIS), 3, np.ones(150))
    assert solved.projections == pytest.approx(
        solved.eigenvalues * solved.degree[:, None] * solved.coefficients, abs=1e-10
    )
    # the mean weighted by 1/d is zero, so that every column has both signs
    assert (solved.projections / solved.degree[:, None]).sum(axis=0) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("engine", [DenseOperator, TiledOperator])
def test_weights_are_repeated_rows(engine):
    X = np.random.default_rng(1).normal(size=(40, 2))
    counts = np.random.default_rng(2).integers(0, 4, 40)
    weighted = eigen.solve(engine(Gaussian(0.7), X), 3, counts)
    repeated = eigen.solve(
        engine(Gaussian(0.7), np.repeat(X, counts, axis=0)), 3, np.ones(counts.sum())
    )
    assert weighted.eigenvalues == pytest.approx(repeated.eigenvalues, rel=1e-10)
    assert weighted.bias == pytest.approx(repeated.bias, abs=1e-9)
    present = counts > 0
    assert np.repeat(weighted.projections, counts, axis=0) == pytest.approx(
        repeated.projections, abs=1e-9
    )
    assert not weighted.coefficients[~present].any()
    assert (
        (weighted.coefficients[present] ** 2 / counts[present, None]).sum(axis=0)
    ) == pytest.approx(1)


@pytest.mark.parametrize("sigma", [0.4, 1.0, 3.0])
def test_blocks_give_the_solution_of_the_full_problem(sigma, monkeypatch):
    X = draw_clusters(4, 6.0, 300)
    operator = DenseOperator(Gaussian(sigma), X)
    exact = eigen.solve(operator, 6, np.ones(300))
    monkeypatch.setattr(eigen, "DENSE_ROWS", 0)
    blocks = eigen.solve(operator, 6, np.ones(300))
    assert blocks.converged
    assert blocks.eigenvalues == pytest.approx(exact.eigenvalues, abs=1e-12)
    assert blocks.projections == pytest.approx(exact.projections, abs=1e-5)
    assert blocks.history["change"][-1] < 1e-8
    assert np.all(np.diff(blocks.history["objective"]) <= 1e-9)  # Ritz values never decrease


def test_repeated_eigenvalues_are_all_found():
    X = draw_clusters(12, 60.0, 1200)  # twelve separate parts: eleven eigenvalues are one
    solved = eigen.solve(DenseOperator(Gaussian(2.0), X), 11, np.ones(1200))
    assert solved.eigenvalues == pytest.approx(np.ones(11), abs=1e-12)
    assert solved.is_unique
    assert not solved.leading(5).is_unique
    assert solved.leading(5).eigenvalues.shape == (5,)


@pytest.mark.parametrize("engine", [TiledOperator, FourierOperator, NystroemOperator])
def test_engines_agree(engine):
    X = draw_clusters(3, 8.0, 200)
    exact = eigen.solve(DenseOperator(Gaussian(1.0), X), 2, np.ones(200))
    other = eigen.solve(engine(Gaussian(1.0), X), 2, np.ones(200))
    assert other.converged
    assert other.eigenvalues == pytest.approx(exact.eigenvalues, abs=1e-4)
    assert other.projections == pytest.approx(exact.projections, abs=1e-2)


def test_float32_converges():
    X = draw_clusters(3, 8.0, 900).astype(np.float32)
    solved = eigen.solve(TiledOperator(Gaussian(1.0), X), 2, np.ones(900), tol=1e-8, max_iter=60)
    assert solved.converged


def test_a_point_of_degree_zero_is_left_out_and_projected_to_the_bias():
    X = np.abs(np.random.default_rng(0).normal(size=(30, 4)))
    X[7] = 0.0
    solved = eigen.solve(DenseOperator(PairwiseKernel("cosine"), X), 2, np.ones(30))
    rest = eigen.solve(DenseOperator(PairwiseKernel("cosine"), np.delete(X, 7, 0)), 2, np.ones(29))
    assert solved.degree[7] == 0
    assert np.flatnonzero(~solved.takes_part).tolist() == [7]
    assert solved.projections[7] == pytest.approx(solved.bias)
    assert np.delete(solved.projections, 7, 0) == pytest.approx(rest.projections, abs=1e-9)


def test_too_many_vectors_are_rejected():
    X = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(ValueError, match="with a nonzero eigenvalue.*smaller bandwidth"):
        eigen.solve(DenseOperator(Gaussian(1e7), X), 5, np.ones(50))
    with pytest.raises(ValueError, match="4 clusters need at least 4 different points"):
        eigen.solve(DenseOperator(Gaussian(1.0), X[:3]), 3, np.ones(3))
    with pytest.raises(ValueError, match="degree .*not negative"):
        eigen.solve(DenseOperator(Linear(), X), 2, np.ones(50))
    fewer = eigen.solve(DenseOperator(Gaussian(1e7), X), 5, np.ones(50), strict=False)
    assert fewer.eigenvalues.size < 5


def test_a_kernel_without_neighbors_is_rejected():
    X = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(ValueError, match="similar to others, and there are 0 of 50.*larger band"):
        eigen.solve(DenseOperator(Gaussian(1e-6), X), 2, np.ones(50))


@pytest.mark.parametrize("engine", [DenseOperator, TiledOperator])
@pytest.mark.parametrize("rows", [0, 800])  # solved in blocks, or at once
def test_isolated_points_are_left_out(engine, rows, monkeypatch):
    monkeypatch.setattr(eigen, "DENSE_ROWS", rows)
    X = draw_clusters(3, 8.0, 200)
    far = np.vstack([X, [[100.0, 0], [0, 100], [-100, 0], [0, -100]]])
    alone = eigen.solve(engine(Gaussian(1.0), X), 2, np.ones(200))
    solved = eigen.solve(engine(Gaussian(1.0), far), 2, np.ones(204))
    assert solved.eigenvalues == pytest.approx(alone.eigenvalues, abs=1e-5)
    assert solved.projections[:200] == pytest.approx(alone.projections, abs=1e-3)
    assert np.array_equal(solved.takes_part, np.arange(204) < 200)
    assert not solved.coefficients[200:].any()
    assert solved.projections[200:] == pytest.approx(np.tile(solved.bias, (4, 1)), abs=1e-3)
    assert solved.degree[200:] == pytest.approx(1, abs=1e-4)  # the degree includes the point itself


def test_duplicates_and_represented_rows_are_not_isolated():
    X = np.vstack([draw_clusters(3, 8.0, 60), [[100.0, 0], [0, 100], [-100, 0], [-100, 0]]])
    weight = np.r_[np.ones(60), 3.0, 0.5, 1, 1]
    part = eigen.solve(DenseOperator(Gaussian(1.0), X), 2, weight).takes_part
    assert part[60:].tolist() == [True, False, True, True]  # duplicates are similar to each other
    own = np.r_[np.ones(60), 3.0, 0.5, 1, 1]  # the first row represents two rows that were left out
    part = eigen.solve(DenseOperator(Gaussian(1.0), X), 2, weight, own=own).takes_part
    assert part[60:].tolist() == [False, False, True, True]


def test_a_precomputed_matrix_is_the_same_problem():
    X = make_blobs(40, random_state=0)[0]
    direct = eigen.solve(DenseOperator(Gaussian(2.0), X), 2, np.ones(40))
    given = eigen.solve(PrecomputedOperator(Precomputed(), gram(X, 2.0)), 2, np.ones(40))
    assert given.projections == pytest.approx(direct.projections, abs=1e-9)


def test_one_cluster_needs_no_vectors():
    solved = eigen.solve(DenseOperator(Gaussian(1.0), IRIS), 0, np.ones(150))
    assert solved.projections.shape == (150, 0)
    assert solved.converged


@pytest.mark.parametrize("wanted", [1, 4, 11])
def test_leading_vectors_of_equal_values_are_orthogonal(wanted):
    blocks = np.kron(np.eye(12), np.full((20, 20), 1 / 20))  # the eigenvalue one twelve times
    values, vectors = eigen._leading(blocks, wanted)
    assert values == pytest.approx(np.ones(wanted))
    assert vectors.T @ vectors == pytest.approx(np.eye(wanted), abs=1e-9)
    assert blocks @ vectors == pytest.approx(vectors, abs=1e-9)


def test_all_vectors_are_computed_if_the_driver_fails(monkeypatch):
    def return_no_vectors(matrix, **options):
        return np.empty(0), np.empty((len(matrix), 0))

    matrix = np.diag([3.0, 1.0, 2.0])
    monkeypatch.setattr(eigen, "eigh", return_no_vectors)
    values, vectors = eigen._leading(matrix, 2)
    assert values.tolist() == [3, 2]
    assert np.abs(vectors) == pytest.approx(np.eye(3)[:, [0, 2]])
