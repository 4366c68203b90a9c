import numpy as np
import pytest
from scipy.linalg import cholesky, solve_triangular

from softkern.splitting import mixture
from softkern.splitting.curvature import is_curved
from softkern.splitting.mixture import fit_whitening


def table(n, d, seed=0):
    """Draw correlated columns of different spreads, one constant, and memberships in 3 clusters."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 5)) @ generator.normal(size=(5, d)) + generator.normal(
        size=(n, d)
    )
    X *= generator.lognormal(size=d)
    X[:, 2] = 1.0
    X -= X.mean(axis=0)
    shares = generator.dirichlet(np.full(3, 0.2), n)
    return X, shares


def inverse_covariance(X, shares):
    """Evaluate the printed formulas with d × d arrays."""
    n, d = X.shape
    covariance = np.zeros((d, d))
    for share in shares.T:
        off = X - share @ X / share.sum()
        covariance += (off.T * share) @ off / n
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
    correlation = covariance / np.outer(spread, spread)
    pairs = ~np.eye(d, dtype=bool)
    squares = correlation[pairs] ** 2
    amount = np.clip(np.sum((1 - squares) ** 2) / (n - 1) / np.sum(squares), 1e-3, 1.0)
    shrunk = np.where(pairs, (1 - amount) * correlation, 1.0) * np.outer(spread, spread)
    factor = cholesky(shrunk + 1e-9 * np.eye(d), lower=True)
    inverse = solve_triangular(factor, np.eye(d), lower=True)
    return inverse.T @ inverse


@pytest.mark.parametrize(("n", "d"), [(50, 6), (50, 50), (49, 50), (30, 90), (9, 300)])
def test_inverse_covariance_equals_the_formulas(n, d):
    X, shares = table(n, d)
    found = fit_whitening(X, shares)
    expected = inverse_covariance(X, shares)
    root = np.sqrt(np.diag(expected))
    product = (np.eye(d) @ found) @ (np.eye(d) @ found).T
    assert product / np.outer(root, root) == pytest.approx(
        expected / np.outer(root, root), abs=1e-6
    )


@pytest.mark.parametrize("d", [4, 80])
def test_rows_and_columns_use_the_same_matrix(d):
    X, shares = table(40, d)
    found = fit_whitening(X, shares)
    axes = np.random.default_rng(1).normal(size=(d, 3))
    assert (X @ found) @ axes == pytest.approx(X @ (found @ axes))


def test_blocks_do_not_matter(monkeypatch):
    X, shares = table(20, 70)
    whole = X @ fit_whitening(X, shares)
    monkeypatch.setattr(mixture, "COLUMNS", 16)
    assert X @ fit_whitening(X, shares) == pytest.approx(whole, abs=1e-9)


def test_curvature_does_not_depend_on_columns_of_zeros():
    """Not even if they make more columns than rows."""
    generator = np.random.default_rng(0)
    angle = generator.uniform(0, 2 * np.pi, 120)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) * 2 + 0.1 * generator.normal(
        size=(120, 2)
    )
    groups = generator.normal(size=(120, 2)) + np.where(angle > np.pi, 2, -2)[:, None] * [1, 0]
    for points, expected in ((ring, True), (groups, False)):
        is_above = points[:, 0] > 0
        way = points[is_above].mean(axis=0) - points[~is_above].mean(axis=0)
        wide = np.column_stack([points, np.zeros((120, 150))])
        assert is_curved(points, way, is_above) == expected
        assert is_curved(wide, np.append(way, np.zeros(150)), is_above) == expected
