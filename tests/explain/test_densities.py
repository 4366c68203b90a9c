"""What leaving out a column takes off −log density, against slow and literal sums."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from softkern.explain.densities import Ellipsoids, KernelDensity
from softkern.kernels import Gaussian, Laplacian


def literal_parts(kernel, rows, weight, x):
    """Densities of whole tables and of tables without a column, one row after the other."""

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
def test_kernel_parts_are_those_of_tables_without_the_column(kernel):
    rng = np.random.default_rng(0)
    rows, weight = rng.normal(size=(40, 4)), rng.uniform(0.5, 2, 40)
    density = KernelDensity(kernel([0.5, 1.0, 0.7, 2.0]), rows, weight)
    points = np.concatenate([rng.normal(size=(3, 4)), rows[:2]])  # copies are left out
    expected = [literal_parts(density.kernel, rows, weight, x) for x in points]
    np.testing.assert_allclose(density.parts(points), expected, rtol=1e-9)


def test_kernel_parts_do_not_underflow():
    rows = np.zeros((5, 2)) + np.arange(5)[:, None] / 10
    parts = KernelDensity(Gaussian([1.0, 1.0]), rows, np.ones(5)).parts(np.array([[1e4, 0.2]]))
    assert parts[0, 0] == pytest.approx(0.5e8, rel=1e-3)
    assert abs(parts[0, 1]) < 10


def test_rows_that_are_all_alike_say_nothing():
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
    covariance = np.linalg.inv(ellipsoids.precisions[0]) * np.outer(unit, unit)
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


def test_a_column_that_is_constant_in_a_cluster_is_no_division_by_zero():
    X = np.column_stack([np.arange(50.0), np.ones(50)])
    parts = Ellipsoids.fit(X, np.ones(50), np.zeros(50, int)).parts(np.array([[25.0, 2.0]]))
    assert np.isfinite(parts).all()
    assert parts[0, 1] > parts[0, 0]
