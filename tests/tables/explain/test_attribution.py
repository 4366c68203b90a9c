"""Selection of the columns that explain an outlier."""

import numpy as np
import pytest

import softkern
from softkern.kernels import Gaussian
from softkern.tables.explain import explain_points
from softkern.tables.explain.attribution import Attribution, CalibratedDensity
from softkern.tables.explain.densities import Ellipsoids, KernelDensity


def fit_attribution(X, bandwidth=0.7):
    """Fit an attribution to typical rows. A single value counts as extreme beyond 4."""
    weight = np.ones(len(X))
    densities = (
        KernelDensity(Gaussian(np.full(X.shape[1], bandwidth)), X, weight),
        Ellipsoids.fit(X, weight, np.zeros(len(X), int)),
    )
    parts = [CalibratedDensity(density, X[:100]) for density in densities]
    return Attribution(*parts, lambda x, column, cluster: abs(x) > 4)


def find_causes(X, row, most=3):
    return fit_attribution(X).find(np.asarray(row, dtype=float)[None], np.zeros(1, int), most)[0]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(400, 5))


def test_a_single_extreme_column_is_found(X):
    found = find_causes(X, [0, 9, 0.3, -0.4, 0.1])
    assert found.columns == [1]
    assert found.partner is None


def test_columns_that_mask_each_other_are_found():
    """Two correlated columns have the same extreme value: each predicts the other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=400)
    found = find_causes(X, [9, 9, 0.3, -0.4, 0.1])
    assert sorted(found.columns[:2]) == [0, 1]


def test_extreme_columns_are_found_up_to_the_limit(X):
    row = [8, -8, 0.2, 8, 0]
    assert sorted(find_causes(X, row).columns) == [0, 1, 3]
    assert len(find_causes(X, row, most=2).columns) == 2
    assert len(find_causes(X, row, most=1).columns) == 1


def test_an_unusual_combination_has_a_partner():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30))
    X[:, 7] = X[:, 3] + 0.1 * rng.normal(size=400)
    row = rng.normal(size=30) * 0.5
    row[[3, 7]] = 2.0, -2.0
    found = find_causes(X, row)
    assert {found.columns[0], found.partner} == {3, 7}
    assert found.partner in found.against


def test_a_typical_row_has_no_large_part(X):
    found = find_causes(X, np.zeros(5))
    assert len(found.columns) == 1
    assert found.parts[found.columns[0]] < 1


def test_a_table_with_one_column():
    X = np.random.default_rng(0).normal(size=(100, 1))
    found = find_causes(X, [9.0])
    assert (found.columns, found.partner) == ([0], None)


def test_similar_outliers_do_not_mask_a_combination():
    """Some nearest neighbors of a row that breaks a correlation break it too."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 40)) * 3
    X[:, 1] = X[:, 0] + 0.2 * rng.normal(size=1000)
    X[:10, 0] = 6 * np.where(np.arange(10) % 2, 1, -1)
    X[:10, 1] = -X[:10, 0]
    table = explain_points(softkern.OneClassPCM().fit(X), np.arange(10), X=X)
    names = table[["column_1", "column_2"]].to_numpy()
    is_pair = np.array([set(row) == {"x1", "x2"} for row in names])
    assert is_pair.sum() >= 9  # one has a value of 3.8 standard deviations elsewhere
    assert table["why"][is_pair].str.contains("unusual combination").all()
