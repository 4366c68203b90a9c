"""Decrease of −log density without a column, compared with literal sums."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from softkern.kernels import Gaussian, Laplacian
from softkern.tables.explain.densities import LEAST_WIDTH, Ellipsoids, KernelDensity, Precision


def literal_parts(kernel, rows, weight, x):
    """Return the decrease of −log density without each column, by a loop over the rows."""

    def log_density(columns):
        narrower = kernel.with_bandwidth(np.asarray(kernel.bandwidth)[columns])
        total = 0.0
        for row, w in zip(rows, weight, strict=True):
            if (row != x).any():
                total += w * float(narrower.block(x[None, columns], row[None, columns])[0, 0])
        return np.log(total)

    every = list(range(rows.shape[1]))
    return [log_density([k for k in every if k != j]) - log_density(every) for j in every]


@pytest.mark.parametrize("kernel", [Gaussian, Laplacian])
def test_kernel_parts_equal_densities_without_the_column(kernel):
    rng = np.random.default_rng(0)
    rows, weight = rng.normal(size=(40, 4)), rng.uniform(0.5, 2, 40)
    density = KernelDensity(kernel([0.5, 1.0, 0.7, 2.0]), rows, weight)
    points = np.concatenate([rng.normal(size=(3, 4)), rows[:2]])  # duplicates are left out
    expected = [literal_parts(density.kernel, rows, weight, x) for x in points]
    np.testing.assert_allclose(density.parts(points), expected, rtol=1e-9)


def test_kernel_parts_do_not_underflow():
    rows = np.zeros((5, 2)) + np.arange(5)[:, None] / 10
    parts = KernelDensity(Gaussian([1.0, 1.0]), rows, np.ones(5)).parts(np.array([[1e4, 0.2]]))
    assert parts[0, 0] == pytest.approx(0.5e8, rel=1e-3)
    assert abs(parts[0, 1]) < 10


def test_identical_rows_have_no_parts():
    density = KernelDensity(Gaussian([1.0, 1.0]), np.ones((5, 2)), np.ones(5))
    assert (density.parts(np.ones((1, 2))) == 0).all()


def test_ellipsoid_parts_are_conditional_surprisals():
    rng = np.random.default_rng(1)
    mixing = rng.normal(size=(3, 3))
    ellipsoids = Ellipsoids.fit(
        rng.normal(size=(500, 3)) @ mixing, np.ones(500), np.zeros(500, int)
    )
    unit = ellipsoids.spread
    mean = ellipsoids.means[0] * unit
    covariance = np.linalg.inv(ellipsoids.precisions[0].times(np.eye(3))) * np.outer(unit, unit)
    x = mean + np.array([1.0, -2.0, 0.5])

    def surprisal(j):
        rest = [k for k in range(3) if k != j]
        whole = multivariate_normal(mean, covariance)
        part = multivariate_normal(mean[rest], covariance[np.ix_(rest, rest)])
        at_x = part.logpdf(x[rest]) - whole.logpdf(x)
        return at_x - (part.logpdf(mean[rest]) - whole.logpdf(mean))

    np.testing.assert_allclose(
        ellipsoids.parts(x[None])[0], [surprisal(j) for j in range(3)], rtol=1e-6
    )


def test_constant_columns_do_not_divide_by_zero():
    X = np.column_stack([np.arange(50.0), np.ones(50)])
    parts = Ellipsoids.fit(X, np.ones(50), np.zeros(50, int)).parts(np.array([[25.0, 2.0]]))
    assert np.isfinite(parts).all()
    assert parts[0, 1] > parts[0, 0]


@pytest.mark.parametrize("kernel", [Gaussian, Laplacian])
def test_excluded_columns_of_the_kernel_density(kernel):
    rng = np.random.default_rng(0)
    rows, weight, points = (
        rng.normal(size=(40, 5)),
        rng.uniform(0.5, 2, 40),
        rng.normal(size=(3, 5)),
    )
    bandwidth = np.array([0.5, 1.0, 0.7, 2.0, 1.5])
    density = KernelDensity(kernel(bandwidth), rows, weight)
    excluded = np.array([[1, 4], [0, 1], [3, 2]])
    parts = density.parts(points, excluded)
    for x, gone, found in zip(points, excluded, parts, strict=True):
        kept = [j for j in range(5) if j not in gone]
        expected = literal_parts(kernel(bandwidth[kept]), rows[:, kept], weight, x[kept])
        np.testing.assert_allclose(found[kept], expected, rtol=1e-9)


def covariance_of(ellipsoids, k=0):
    d = len(ellipsoids.spread)
    unit = np.outer(ellipsoids.spread, ellipsoids.spread)
    return np.linalg.inv(ellipsoids.precisions[k].times(np.eye(d))) * unit


@pytest.mark.parametrize(("n", "d"), [(400, 6), (5, 40)])
def test_excluded_columns_of_the_ellipsoids(n, d):
    rng = np.random.default_rng(2)
    ellipsoids = Ellipsoids.fit(
        rng.normal(size=(n, d)) @ rng.normal(size=(d, d)), np.ones(n), np.zeros(n, int)
    )
    points = rng.normal(size=(2, d)) * 3
    excluded = np.array([[0, 3], [5, 2]])
    parts = ellipsoids.parts(points, excluded)
    covariance, mean = covariance_of(ellipsoids), ellipsoids.means[0] * ellipsoids.spread
    for x, gone, found in zip(points, excluded, parts, strict=True):
        kept = [j for j in range(d) if j not in gone]
        precision = np.linalg.inv(covariance[np.ix_(kept, kept)])
        pull = precision @ (x - mean)[kept]
        np.testing.assert_allclose(found[kept], 0.5 * pull**2 / np.diag(precision), rtol=1e-5)
        assert (found[gone] == 0).all()


def test_precision_of_few_rows_is_an_inverse():
    rng = np.random.default_rng(0)
    parts = ((0.3 / 7, rng.normal(size=(7, 30))), (0.7 / 12, rng.normal(size=(12, 30))))
    precision = Precision.of(parts, 0.2)
    whole = sum(w * Z.T @ Z for w, Z in parts)
    covariance = 0.8 * whole + 0.2 * np.diag(np.diag(whole)) + LEAST_WIDTH**2 * np.eye(30)
    inverse = np.linalg.inv(covariance)
    np.testing.assert_allclose(precision.times(np.eye(30)), inverse, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(precision.diagonal, np.diag(inverse), rtol=1e-8)
    index = np.array([[3, 3], [0, 29]])
    np.testing.assert_allclose(precision.rows(index), inverse[index], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("make", ["kernel", "normal"])
def test_parts_without_other_columns(make):
    rng = np.random.default_rng(3)
    rows, points = rng.normal(size=(60, 4)), rng.normal(size=(3, 4)) * 2
    density = (
        KernelDensity(Gaussian(np.full(4, 0.8)), rows, np.ones(60))
        if make == "kernel"
        else Ellipsoids.fit(rows, np.ones(60), np.zeros(60, int))
    )
    first, others = np.array([0, 2, 3]), np.array([[1, 2], [3, 0], [0, 1]])
    left, whole = density.beside(points, first, others)
    np.testing.assert_allclose(whole, density.parts(points)[np.arange(3), first])
    for k in range(2):
        expected = density.parts(points, others[:, [k]])[np.arange(3), first]
        np.testing.assert_allclose(left[:, k], expected)
