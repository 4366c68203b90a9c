import numpy as np
import pytest
from scipy.stats import skew, spearmanr

from softkern.rows import Rows
from softkern.splitting.gap_test import excess_mass
from softkern.splitting.observations import make_continuous, observation_rows, straighten


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(300, 4))


def test_weights_are_repeated_rows(X):
    counts = np.random.default_rng(1).choice(4, len(X), p=[0.2, 0.7, 0.06, 0.04])
    weighted = X[observation_rows(Rows(X, counts.astype(float)), 10_000)]
    rows = np.repeat(X, counts, axis=0)
    assert np.array_equal(weighted, rows[observation_rows(Rows(rows), 10_000)])
    assert np.array_equal(np.sort(weighted, axis=0), np.sort(rows, axis=0))


def test_a_repeated_table_counts_once(X):
    """Even if a few rows occur only once, or more often than the others."""
    counts = np.full(len(X), 3.0)
    counts[:20], counts[20:25] = 1, 6
    found = observation_rows(Rows(X, counts), 10_000)
    assert np.array_equal(np.bincount(found), np.where(counts == 6, 2, 1))


def test_order_of_rows_does_not_matter(X):
    order = np.random.default_rng(2).permutation(len(X))
    for most in (100, 10_000):
        one, two = (A[observation_rows(Rows(A), most)] for A in (X, X[order]))
        assert np.array_equal(one, two)


def test_units_do_not_change_the_order(X):
    weight = np.ones(len(X))
    for most in (100, 10_000):
        wide = observation_rows(Rows(X * [1000, 1e-3, 1, 7], weight), most)
        assert np.array_equal(observation_rows(Rows(X, weight), most), wide)


def test_a_small_distant_cluster_stays_apart():
    """A column that is skewed by its clusters is not straightened, which would join them."""
    values = np.sort(np.random.default_rng(0).normal(size=500))
    values[-50:] += 8
    z = straighten(values, np.ones(500))
    assert np.corrcoef(z, values)[0, 1] > 1 - 1e-9
    z = straighten(np.exp(values[:-50]), np.ones(450))
    assert abs(skew(z)) < 0.3


def test_rows_without_weight_are_left_out(X):
    weight = (np.arange(len(X)) % 3 > 0).astype(float)
    assert (weight[observation_rows(Rows(X, weight), 10_000)] > 0).all()


@pytest.mark.parametrize("factor", [1, 7, 40])
def test_the_number_of_rows_is_limited_up_to_rounding(X, factor):
    rows = observation_rows(Rows(X, np.full(len(X), float(factor))), 450)
    assert len(X) <= len(rows) <= 600


def test_rows_with_a_weight_below_one_are_included(X):
    assert sorted(observation_rows(Rows(X, np.full(len(X), 0.2)), 1000)) == list(range(len(X)))


def test_columns_have_about_unit_spread(X):
    Z = make_continuous(X * [1e-6, 1, 1e6, 3] + [0, 5, 0, 1e3])
    assert Z.shape == X.shape
    assert Z.std(axis=0) == pytest.approx(np.ones(4), rel=0.2)


def test_unit_of_a_column_does_not_matter(X):
    X = np.exp(X)
    assert make_continuous(X * [1000, 1e-3, 7, 1]) == pytest.approx(make_continuous(X), abs=1e-4)


def test_constant_columns_are_left_out(X):
    table = np.insert(X, [0, 2], 3.0, axis=1)
    assert make_continuous(table).shape == X.shape
    assert make_continuous(np.ones((10, 3))).shape == (10, 0)


@pytest.mark.parametrize("values", [2, 3, 7])
def test_a_column_of_few_values_has_one_mode(values):
    column = np.random.default_rng(0).integers(0, values, 600).astype(float)
    dip = 0.5 * excess_mass(make_continuous(column[:, None])[:, 0]) * np.sqrt(600)
    assert excess_mass(column) > 0.1 or values > 3
    assert dip < 0.4


def test_many_zeros_make_no_gap():
    generator = np.random.default_rng(0)
    column = np.where(generator.uniform(size=600) < 0.6, 0, generator.lognormal(3, 1, 600))
    dip = 0.5 * excess_mass(make_continuous(column[:, None])[:, 0]) * np.sqrt(600)
    assert dip < 0.4


def test_rounded_values_are_spread_over_their_rounding_interval():
    column = np.random.default_rng(0).normal(size=2000).round(1)
    Z = make_continuous(column[:, None])[:, 0]
    assert len(np.unique(Z)) == len(Z)
    assert 0.5 * excess_mass(Z) * np.sqrt(len(Z)) < 0.6


@pytest.mark.parametrize(
    "column",
    [
        np.random.default_rng(0).normal(size=400),
        np.random.default_rng(0).lognormal(size=400).round(2),
        np.random.default_rng(0).integers(0, 5, 400),
        np.random.default_rng(0).standard_t(2, 400),
    ],
    ids=["normal", "rounded", "few", "tails"],
)
def test_order_of_values_is_preserved(column):
    Z = make_continuous(np.asarray(column, dtype=float)[:, None])[:, 0]
    values, place = np.unique(column, return_inverse=True)
    low = np.full(len(values), np.inf)
    high = np.full(len(values), -np.inf)
    np.minimum.at(low, place, Z)
    np.maximum.at(high, place, Z)
    assert (low[1:] >= high[:-1]).all()


@pytest.mark.parametrize(
    "column",
    [np.random.default_rng(0).lognormal(size=500), np.random.default_rng(0).integers(0, 9, 500)],
    ids=["skewed", "few"],
)
def test_straightened_values_increase_and_are_the_means_of_continuous_ones(column):
    values, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    images = straighten(values.astype(float), counts)
    assert (np.diff(images) > 0).all()
    Z = make_continuous(np.asarray(column, dtype=float)[:, None])[:, 0]
    assert spearmanr(images[place], Z).statistic > 0.97
    means = np.bincount(place, weights=Z) / counts
    assert np.average(np.abs(images - means), weights=counts) < 0.05


def test_a_long_tail_is_shortened():
    column = np.random.default_rng(0).lognormal(0, 1.5, 1000)
    assert abs(skew(make_continuous(column[:, None])[:, 0])) < 0.5 < 5 < skew(column)
