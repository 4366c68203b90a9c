"""The eigenproblem, assignments and scores against literal references, and laws."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris, make_blobs

from softkern.kernels import Gaussian, Linear, PairwiseKernel, Precomputed
from softkern.metrics import strength
from softkern.operators import DenseOperator, FourierOperator, NystroemOperator, TiledOperator
from softkern.solvers import eigen

IRIS = load_iris().data


def gram(X, sigma):
    return np.exp(-cdist(X, X, "sqeuclidean") / (2 * sigma**2))


def literal(K, count):
    """The dual as it is printed: D⁻¹ M_D Ω α = λ α, b and e; ‖α‖ = 1."""
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


def aligned(one, two):
    return one * np.sign((one * two).sum(axis=0))


def groups(n_groups, gap, n, seed=0):
    rng = np.random.default_rng(seed)
    return np.c_[gap * rng.integers(0, n_groups, n), np.zeros(n)] + rng.normal(size=(n, 2))


# The eigenproblem


@pytest.mark.parametrize("count", [1, 2, 5])
def test_agrees_with_the_printed_dual(count):
    X = np.random.default_rng(0).normal(size=(60, 3))
    values, alpha, b, e = literal(gram(X, 0.8), count)
    solved = eigen.solve(DenseOperator(Gaussian(0.8), X), count, np.ones(60))
    assert solved.eigenvalues == pytest.approx(values, rel=1e-10)
    assert aligned(solved.coefficients, alpha) == pytest.approx(alpha, abs=1e-9)
    sign = np.sign((solved.coefficients * alpha).sum(axis=0))
    assert solved.bias * sign == pytest.approx(b, abs=1e-9)
    assert solved.projections * sign == pytest.approx(e, abs=1e-9)


def test_acceptance_iris():
    solved = eigen.solve(DenseOperator(Gaussian(1.0), IRIS), 2, np.ones(150))
    assert solved.eigenvalues == pytest.approx([0.97757107, 0.55498439], abs=5e-9)


def test_projections_are_the_eigenvectors_times_degrees():
    solved = eigen.solve(DenseOperator(Gaussian(1.0), IRIS), 3, np.ones(150))
    assert solved.projections == pytest.approx(
        solved.eigenvalues * solved.degree[:, None] * solved.coefficients, abs=1e-10
    )
    # their mean, weighted by 1/d, is zero: every column has both signs
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
def test_blocks_find_what_all_at_once_finds(sigma, monkeypatch):
    X = groups(4, 6.0, 300)
    operator = DenseOperator(Gaussian(sigma), X)
    exact = eigen.solve(operator, 6, np.ones(300))
    monkeypatch.setattr(eigen, "DENSE_ROWS", 0)
    blocks = eigen.solve(operator, 6, np.ones(300))
    assert blocks.converged
    assert blocks.eigenvalues == pytest.approx(exact.eigenvalues, abs=1e-12)
    assert blocks.projections == pytest.approx(exact.projections, abs=1e-5)
    assert blocks.history["change"][-1] < 1e-8
    assert np.all(np.diff(blocks.history["objective"]) <= 1e-9)  # Ritz values only rise


def test_repeated_eigenvalues_are_all_found():
    X = groups(12, 60.0, 1200)  # twelve parts that do not see each other: eleven ones
    solved = eigen.solve(DenseOperator(Gaussian(2.0), X), 11, np.ones(1200))
    assert solved.eigenvalues == pytest.approx(np.ones(11), abs=1e-12)
    assert solved.is_unique
    assert not solved.leading(5).is_unique
    assert solved.leading(5).eigenvalues.shape == (5,)


@pytest.mark.parametrize("engine", [TiledOperator, FourierOperator, NystroemOperator])
def test_engines_agree(engine):
    X = groups(3, 8.0, 200)
    exact = eigen.solve(DenseOperator(Gaussian(1.0), X), 2, np.ones(200))
    other = eigen.solve(engine(Gaussian(1.0), X), 2, np.ones(200))
    assert other.converged
    assert other.eigenvalues == pytest.approx(exact.eigenvalues, abs=1e-4)
    assert other.projections == pytest.approx(exact.projections, abs=1e-2)


def test_float32_converges():
    X = groups(3, 8.0, 900).astype(np.float32)
    solved = eigen.solve(TiledOperator(Gaussian(1.0), X), 2, np.ones(900), tol=1e-8, max_iter=60)
    assert solved.converged


def test_a_point_of_no_degree_takes_no_part_and_lies_at_the_bias():
    X = np.abs(np.random.default_rng(0).normal(size=(30, 4)))
    X[7] = 0.0
    solved = eigen.solve(DenseOperator(PairwiseKernel("cosine"), X), 2, np.ones(30))
    rest = eigen.solve(DenseOperator(PairwiseKernel("cosine"), np.delete(X, 7, 0)), 2, np.ones(29))
    assert solved.degree[7] == 0
    assert np.flatnonzero(~solved.takes_part).tolist() == [7]
    assert solved.projections[7] == pytest.approx(solved.bias)
    assert np.delete(solved.projections, 7, 0) == pytest.approx(rest.projections, abs=1e-9)


def test_too_many_vectors_are_refused():
    X = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(ValueError, match="whose eigenvalue is not zero.*smaller bandwidth"):
        eigen.solve(DenseOperator(Gaussian(1e7), X), 5, np.ones(50))
    with pytest.raises(ValueError, match="4 clusters need at least 4 different points"):
        eigen.solve(DenseOperator(Gaussian(1.0), X[:3]), 3, np.ones(3))
    with pytest.raises(ValueError, match="degree .*not negative"):
        eigen.solve(DenseOperator(Linear(), X), 2, np.ones(50))
    fewer = eigen.solve(DenseOperator(Gaussian(1e7), X), 5, np.ones(50), strict=False)
    assert fewer.eigenvalues.size < 5


def test_a_kernel_that_sees_nobody_is_refused():
    X = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(ValueError, match="similar to others, and there are 0 of 50.*larger band"):
        eigen.solve(DenseOperator(Gaussian(1e-6), X), 2, np.ones(50))


@pytest.mark.parametrize("engine", [DenseOperator, TiledOperator])
@pytest.mark.parametrize("rows", [0, 800])  # solved in blocks, and all at once
def test_isolated_points_take_no_part(engine, rows, monkeypatch):
    monkeypatch.setattr(eigen, "DENSE_ROWS", rows)
    X = groups(3, 8.0, 200)
    far = np.vstack([X, [[100.0, 0], [0, 100], [-100, 0], [0, -100]]])
    alone = eigen.solve(engine(Gaussian(1.0), X), 2, np.ones(200))
    solved = eigen.solve(engine(Gaussian(1.0), far), 2, np.ones(204))
    assert solved.eigenvalues == pytest.approx(alone.eigenvalues, abs=1e-5)
    assert solved.projections[:200] == pytest.approx(alone.projections, abs=1e-3)
    assert np.array_equal(solved.takes_part, np.arange(204) < 200)
    assert not solved.coefficients[200:].any()
    assert solved.projections[200:] == pytest.approx(np.tile(solved.bias, (4, 1)), abs=1e-3)
    assert solved.degree[200:] == pytest.approx(1, abs=1e-4)  # a degree counts the point itself


def test_copies_and_shared_weight_decide_who_is_isolated():
    X = np.vstack([groups(3, 8.0, 60), [[100.0, 0], [0, 100], [-100, 0], [-100, 0]]])
    weight = np.r_[np.ones(60), 3.0, 0.5, 1, 1]
    part = eigen.solve(DenseOperator(Gaussian(1.0), X), 2, weight).takes_part
    assert part[60:].tolist() == [True, False, True, True]  # copies are similar to each other
    own = np.r_[np.ones(60), 3.0, 0.5, 1, 1]  # a row that stands for two others left out
    part = eigen.solve(DenseOperator(Gaussian(1.0), X), 2, weight, own=own).takes_part
    assert part[60:].tolist() == [False, False, True, True]


# Assignments and memberships


def test_codebook_is_the_frequent_signs():
    E = np.array([[1, 1], [1, 1], [1, 1], [-1, 1], [-1, 1], [-1, -1], [1, -1.0]]) * 0.3
    words = eigen.codebook(E, np.ones(7), 2)
    assert words.tolist() == [[1, 1], [-1, 1]]
    assert eigen.codebook_labels(E, words).tolist() == [0, 0, 0, 1, 1, 1, 0]
    heavy = eigen.codebook(E, np.array([1, 1, 1, 1, 1, 9, 1.0]), 1)
    assert heavy.tolist() == [[-1, -1]]
    with pytest.raises(ValueError, match="4 sign patterns, fewer than n_clusters=5"):
        eigen.codebook(E, np.ones(7), 5)


def test_directions_do_not_see_length_or_sign_of_columns():
    rng = np.random.default_rng(0)
    unit = np.repeat(np.eye(3), 20, axis=0) + 0.05 * rng.normal(size=(60, 3))
    E = unit * rng.uniform(0.1, 10, size=(60, 1))
    weight = np.ones(60)
    labels = eigen.direction_labels(E, eigen.direction_centres(E, weight, 3))
    assert sorted(np.bincount(labels)) == [20, 20, 20]
    flipped = E * [1, -1, 1]
    again = eigen.direction_labels(flipped, eigen.direction_centres(flipped, weight, 3))
    assert np.array_equal(labels, again)
    with pytest.raises(ValueError, match="1 directions, fewer than n_clusters=2"):
        eigen.direction_centres(np.ones((5, 2)), np.ones(5), 2)


def test_memberships_are_equation_three():
    rng = np.random.default_rng(0)
    E, S = rng.normal(size=(30, 3)), rng.normal(size=(4, 3))
    found = eigen.soft_memberships(eigen.prototype_distances(E, S))
    for i, e in enumerate(E):
        d = [1 - e @ s / (np.linalg.norm(e) * np.linalg.norm(s)) for s in S]
        products = [np.prod([d[j] for j in range(4) if j != p]) for p in range(4)]
        assert found[i] == pytest.approx(np.array(products) / sum(products), rel=1e-9)


def test_memberships_of_two_clusters_use_the_distance():
    E, S = np.array([[-1.0], [0.0], [3.0], [1.0]]), np.array([[-1.0], [3.0]])
    found = eigen.soft_memberships(eigen.prototype_distances(E, S))
    assert found == pytest.approx(np.array([[1, 0], [0.75, 0.25], [0, 1], [0.5, 0.5]]))


def test_no_length_no_preference():
    S = np.random.default_rng(0).normal(size=(4, 3))
    E = np.array([[0.0, 0.0, 0.0], [1e-17, 0, 0]])
    assert eigen.soft_memberships(eigen.prototype_distances(E, S)) == pytest.approx(0.25)


def test_a_point_at_a_prototype_belongs_to_it():
    S = np.eye(3)
    found = eigen.soft_memberships(eigen.prototype_distances(2 * S, S))
    assert np.array_equal(found, np.eye(3))


def test_one_cluster():
    solved = eigen.solve(DenseOperator(Gaussian(1.0), IRIS), 0, np.ones(150))
    assert solved.projections.shape == (150, 0)
    distances = eigen.prototype_distances(solved.projections, np.empty((1, 0)))
    assert np.array_equal(eigen.soft_memberships(distances), np.ones((150, 1)))


# Scores


def random_soft(n=50, k=4, seed=0):
    rng = np.random.default_rng(seed)
    E, S = rng.normal(size=(n, k - 1)), rng.normal(size=(k, k - 1))
    U = eigen.soft_memberships(eigen.prototype_distances(E, S))
    return rng, E, S, U


def test_membership_strength_is_the_mean_of_means():
    rng, _, _, U = random_soft()
    labels = U.argmax(axis=1)
    covered = rng.random(50) < 0.7
    means = [U[labels == p, p].mean() for p in range(4)]
    assert strength.membership_strength(U) == pytest.approx(np.mean(means))
    means = [(U[labels == p, p] * covered[labels == p]).mean() for p in range(4)]
    assert strength.membership_strength(U, covered=covered) == pytest.approx(np.mean(means))
    counts = rng.integers(0, 3, 50)
    repeated = strength.membership_strength(np.repeat(U, counts, axis=0))
    assert strength.membership_strength(U, counts) == pytest.approx(repeated)
    # a cluster without members has no strength
    assert strength.membership_strength(np.array([[1.0, 0.0]])) == 0.5


def test_line_fit_of_lines_and_clouds():
    t = np.linspace(0.1, 1, 30)[:, None]
    lines = np.vstack([t * [1, 0, 0], t * [0, 1, 0], t * [0, 0, 1], t * [-1, -1, -1]])
    labels = np.repeat(np.arange(4), 30)
    assert strength.line_fit(lines, labels, 4) == pytest.approx(1)
    cloud = np.random.default_rng(0).normal(size=(40_000, 3))
    parts = np.random.default_rng(1).integers(0, 4, 40_000)
    assert strength.line_fit(cloud, parts, 4, balance=0) == pytest.approx(0, abs=0.02)
    assert strength.line_fit(lines[:90], labels[:90], 4, balance=1) == 0
    fit = strength.line_fit(lines[10:], labels[10:], 4, balance=1)
    assert fit == pytest.approx(20 / 30)
    with pytest.raises(ValueError, match="give similarity as well"):
        strength.line_fit(cloud[:, :1], parts % 2, 2)
    two = np.r_[t, -t]
    value = strength.line_fit(two, np.repeat([0, 1], 30), 2, np.abs(two[:, 0]))
    assert value == pytest.approx(1)
    with pytest.raises(ValueError, match="one cluster has no projections"):
        strength.line_fit(np.empty((9, 0)), np.zeros(9), 1)
    with pytest.raises(ValueError, match="balance must be a share"):
        strength.line_fit(cloud, parts, 4, balance=2)


def test_local_maxima():
    surface = np.array([[1, 0, 3, 0], [0, 0, 0, np.nan], [5, 0, 2, 1.0]])
    assert np.argwhere(strength.local_maxima(surface)).tolist() == [
        [0, 0],
        [0, 2],
        [2, 0],
        [2, 2],
    ]


def test_outliers_are_tested_first():
    U = np.array([[0.9, 0.1, 0.0], [0.4, 0.3, 0.3], [0.4, 0.3, 0.3], [0.9, 0.1, 0.0]])
    similarity = np.array([0.2, 0.2, 1e-5, 1e-5])
    outlier, overlap = strength.detect(U, similarity)
    assert outlier.tolist() == [False, False, True, True]
    assert overlap.tolist() == [False, True, False, False]
    outlier, overlap = strength.detect(U, similarity, outliers_first=False)
    assert outlier.tolist() == [False, False, False, True]
    assert overlap.tolist() == [False, True, True, False]


def test_overlap_score_is_equation_four(monkeypatch):
    rng, E, S, U = random_soft()
    labels, degree = U.argmax(axis=1), rng.uniform(1, 5, 50)
    monkeypatch.setattr(strength, "BLOCK", 20)
    found = strength.overlap_score(E, U, S, degree, E, labels)
    for i in range(50):
        near = sum(np.linalg.norm(E[i] - S[p]) * U[i, p] for p in range(4))
        weighted = 0.0
        for p in range(4):
            distances = sorted(np.linalg.norm(E[i] - e) for e in E[labels == p])
            n_p = len(distances)
            falling = range(n_p, 0, -1)
            value = (
                2 * sum(d * w for d, w in zip(distances, falling, strict=True)) / (n_p * (n_p + 1))
            )
            weighted += value * U[i, p]
        assert found[i] == pytest.approx(near * weighted / degree[i], rel=1e-9)


def test_overlap_score_counts_weights_as_repeated_rows():
    rng, E, S, U = random_soft()
    labels, counts = U.argmax(axis=1), rng.integers(0, 4, 50)
    degree = rng.uniform(1, 5, 50)
    weighted = strength.overlap_score(E, U, S, degree, E, labels, counts)
    many = np.repeat(np.arange(50), counts)
    repeated = strength.overlap_score(E, U, S, degree, E[many], labels[many])
    assert weighted == pytest.approx(repeated, rel=1e-12)


def test_overlap_score_of_a_point_without_similarity_is_the_largest_number():
    _, E, S, U = random_soft()
    labels = U.argmax(axis=1)
    degree = np.where(np.arange(50) == 3, 0.0, 1.0)
    found = strength.overlap_score(100 * E, U, 100 * S, degree, 100 * E, labels)
    assert np.isfinite(found).all()
    assert found.argmax() == 3


def test_outlier_score_is_equation_five():
    _, E, S, U = random_soft()
    b = np.array([0.3, -0.2, 0.1])
    found = strength.outlier_score(E, U, S, b, corrected=False)
    for i in range(50):
        total = sum(
            (np.linalg.norm(E[i] - S[p]) - np.linalg.norm(b - S[p])) * U[i, p] for p in range(4)
        )
        assert found[i] == pytest.approx(1 - total)
    assert strength.outlier_score(E, U, S, b) == pytest.approx(2 - found)
    at_bias = strength.outlier_score(b[None], U[:1], S, b)
    assert at_bias == pytest.approx(1)


def test_ranks():
    E = np.array([[0.0], [1.0], [5.0]])
    assert strength.distance_rank(E, E).tolist() == [2, 1, 3]
    assert strength.similarity_rank([0.1, 3.0, 2.0]).tolist() == [3, 1, 2]
    assert strength.rank_correlation([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(2 / 3)


def test_precomputed_is_the_same_problem():
    X = make_blobs(40, random_state=0)[0]
    direct = eigen.solve(DenseOperator(Gaussian(2.0), X), 2, np.ones(40))
    given = eigen.solve(DenseOperator(Precomputed(), gram(X, 2.0)), 2, np.ones(40))
    assert given.projections == pytest.approx(direct.projections, abs=1e-9)
