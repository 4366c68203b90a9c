import re

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import make_blobs

from softkern.kernels.bandwidths import RULES, robust_spread, select_bandwidth

rules = pytest.mark.parametrize("rule", sorted(RULES))


@pytest.fixture(scope="module")
def X():
    return make_blobs(400, 3, centers=3, random_state=0)[0]


def compute_auto(X):
    """The mean distance to the √n-th neighbor, capped at its 90 % quantile, over √(d + 2)."""
    low, high = np.quantile(X, [0.1, 0.9], axis=0, method="inverted_cdf")
    spread = (high - low) / 2.5631031310892007
    distances = np.sort(squareform(pdist(X / spread)), axis=1)[:, round(np.sqrt(len(X)))]
    cut = np.quantile(distances, 0.9, method="inverted_cdf")
    return np.minimum(distances, cut).mean() / np.sqrt(X.shape[1] + 2) * spread


def test_auto_equals_its_formula(X):
    assert select_bandwidth(X) == pytest.approx(compute_auto(X), rel=1e-6)


def test_auto_of_a_sample_is_near_that_of_all_rows(monkeypatch):
    X = np.random.default_rng(0).normal(size=(6000, 2))
    whole = compute_auto(X)
    monkeypatch.setattr("softkern.kernels.bandwidths.REFERENCE_SAMPLE", 1500)
    assert select_bandwidth(X) == pytest.approx(whole, rel=0.1)


def test_global_is_the_median_distance_in_scaled_columns(X):
    low, high = np.quantile(X, [0.1, 0.9], axis=0, method="inverted_cdf")
    spread = (high - low) / 2.5631031310892007
    expected = np.median(pdist(X / spread)) * spread
    assert select_bandwidth(X, "global") == pytest.approx(expected, rel=1e-4)


def test_knn_is_the_median_tenth_neighbor(X):
    distances = np.sort(squareform(pdist(X)), axis=1)[:, 10]
    assert select_bandwidth(X, "knn") == pytest.approx(np.sort(distances)[199], rel=1e-9)


def test_median_is_the_median_distance(X):
    assert select_bandwidth(X, "median") == pytest.approx(np.median(pdist(X)), rel=1e-4)


def test_scott(X):
    assert select_bandwidth(X, "scott") == pytest.approx(X.std(axis=0) * 400 ** (-1 / 7), rel=1e-9)


def test_loo_maximizes_the_leave_one_out_likelihood(X):
    squared = squareform(pdist(X, "sqeuclidean"))
    np.fill_diagonal(squared, np.inf)

    def likelihood(bandwidth):
        density = np.exp(-squared / (2 * bandwidth**2)).mean(axis=1) / bandwidth**3
        return np.log(density).mean()

    best = select_bandwidth(X, "loo")
    assert likelihood(best) > max(likelihood(best * 1.01), likelihood(best / 1.01))


def test_loo_of_a_sample_is_near_that_of_all_rows(monkeypatch):
    X = np.random.default_rng(0).normal(size=(1500, 2))
    monkeypatch.setattr("softkern.kernels.bandwidths.PAIR_SAMPLE", 500)
    sampled = [select_bandwidth(X, "loo", random_state=seed) for seed in range(3)]
    monkeypatch.setattr("softkern.kernels.bandwidths.PAIR_SAMPLE", 1500)
    assert np.median(sampled) == pytest.approx(select_bandwidth(X, "loo"), rel=0.2)


@rules
def test_weights_are_repeated_rows(rule, X):
    counts = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = select_bandwidth(X, rule, sample_weight=counts)
    repeated = select_bandwidth(np.repeat(X, counts, axis=0), rule)
    assert weighted == pytest.approx(repeated, rel=1e-6)


@rules
@pytest.mark.parametrize("n", [400, 5000])
def test_order_of_rows_does_not_matter(rule, n):
    X = make_blobs(n, 3, centers=3, random_state=0)[0]
    assert select_bandwidth(X[::-1], rule) == pytest.approx(select_bandwidth(X, rule), rel=1e-6)


@rules
def test_bandwidth_scales_with_the_data(rule, X):
    assert select_bandwidth(1000 * X, rule) == pytest.approx(
        1000 * select_bandwidth(X, rule), rel=1e-4
    )


@pytest.mark.parametrize("rule", ["auto", "scott"])
@pytest.mark.parametrize("n", [400, 30_000])
def test_bandwidth_scales_with_the_unit_of_a_column(rule, n):
    X = make_blobs(n, 3, centers=3, random_state=0)[0]
    units = np.array([1, 1000, 1e-3])
    assert select_bandwidth(X * units, rule) == pytest.approx(
        units * select_bandwidth(X, rule), rel=1e-6
    )


@rules
def test_offset_does_not_matter(rule, X):
    assert select_bandwidth(X + 1e7, rule) == pytest.approx(select_bandwidth(X, rule), rel=1e-4)


def test_one_far_point_hardly_changes_the_bandwidth(X):
    far = np.vstack([X, np.full((1, 3), 1e8)])
    assert select_bandwidth(far) == pytest.approx(select_bandwidth(X), rel=0.05)


@rules
def test_bandwidth_is_positive_with_many_duplicates(rule, X):
    many = np.vstack([X, np.repeat(X[:1], 5000, axis=0)])
    assert np.all(np.asarray(select_bandwidth(many, rule)) > 0)
    grid = np.random.default_rng(0).integers(0, 3, size=(5000, 2)).astype(float)
    assert np.all(np.asarray(select_bandwidth(grid, rule)) > 0)


@rules
def test_sparse_and_dense_data_have_the_same_bandwidth(rule, X):
    X = np.where(np.abs(X) > 2, X, 0)
    assert select_bandwidth(sp.csr_matrix(X), rule) == pytest.approx(
        select_bandwidth(X, rule), rel=1e-6
    )


def test_spread_of_a_column_that_is_mostly_one_value():
    column = np.zeros((1000, 1))
    column[:50] = np.random.default_rng(0).normal(5, 1, (50, 1))
    assert robust_spread(column)[0] == pytest.approx(column.std(), rel=0.2)
    rare = np.zeros((1000, 1))
    rare[:3] = 1.0
    assert robust_spread(rare)[0] == pytest.approx(rare.std())


def test_rounding_errors_are_not_spread():
    generator = np.random.default_rng(0)
    column = 0.3 + generator.normal(size=(1000, 1)) * 1e-17
    assert robust_spread(column)[0] == 1.0
    column[:4] = 5.0
    assert robust_spread(column)[0] == pytest.approx(column.std())


def test_spread_of_a_normal_column_is_its_standard_deviation():
    X = np.random.default_rng(0).normal(size=(20_000, 2)) * [1, 7]
    assert robust_spread(X) == pytest.approx([1, 7], rel=0.03)


def test_constant_columns_are_ignored(X):
    constant = np.hstack([X, np.full((len(X), 1), 3.0)])
    assert select_bandwidth(constant)[:3] == pytest.approx(select_bandwidth(X), rel=1e-9)


@rules
@pytest.mark.parametrize("X", [np.ones((1, 2)), np.full((50, 2), 7.0)])
def test_one_distinct_point(rule, X):
    with pytest.raises(ValueError, match=r"at least two different points.*give bandwidth"):
        select_bandwidth(X, rule)


def test_unknown_rule(X):
    with pytest.raises(ValueError, match=r"'silverman' is no rule; give a number or one of"):
        select_bandwidth(X, "silverman")


def test_nan(X):
    with pytest.raises(ValueError, match="NaN"):
        select_bandwidth(np.where(X > 3, np.nan, X))


def test_values_that_are_close_compared_to_their_offset():
    X = np.random.default_rng(0).normal(size=(100, 2)) * 1e-6
    X[50:] += 1e3
    near = np.sort(squareform(pdist(X)), axis=1)[:, 10]
    assert select_bandwidth(X, "knn") == pytest.approx(np.median(near), rel=0.05)


@rules
def test_values_too_large_to_square(rule, X):
    for far in (1e200, -1e300):
        one = X.copy()
        one[7, 1] = far
        message = re.escape(f"column 1 holds a value of size {abs(far):g}")
        with pytest.raises(ValueError, match=message):
            select_bandwidth(one, rule)
    narrow = X * 1e-100
    narrow[7, 1] = 1e100  # its square is finite, but not in units of the column
    with pytest.raises(ValueError, match=r"column 1 holds a value of size 1e\+100"):
        select_bandwidth(narrow, "auto")


@rules
def test_large_float32_values(rule, X):
    large = select_bandwidth((X * 1e30).astype(np.float32), rule)
    assert large == pytest.approx(1e30 * select_bandwidth(X, rule), rel=1e-4)


def test_one_far_value_does_not_change_the_spread(X):
    spread = robust_spread(X)
    for far in (1e8, 1e16, 1e200):
        one = X.copy()
        one[7, 1] = far
        assert robust_spread(one) == pytest.approx(spread, rel=0.05)


@rules
def test_two_points(rule):
    assert np.all(np.asarray(select_bandwidth(np.array([[0.0], [1.0]]), rule)) > 0)


@rules
def test_a_large_table_is_sampled(rule):
    # all 4e10 distances would not fit into memory
    X = np.random.default_rng(0).normal(size=(200_000, 2))
    assert np.all(np.asarray(select_bandwidth(X, rule)) > 0)


@pytest.mark.parametrize("rule", ["auto", "tree"])
def test_bandwidth_is_not_below_the_steps_of_a_column(rule):
    X = np.random.default_rng(0).normal(size=(2000, 2))
    rounded = np.column_stack([X[:, 0], np.round(X[:, 1], 0) * 3])
    steps = select_bandwidth(rounded, rule)
    assert steps[1] >= 3
    assert steps[0] < 1
    categories = np.column_stack([X[:, 0], 3 * (X[:, 1] > 0)])  # the step is not a gap
    assert select_bandwidth(categories, rule)[1] >= 3
    assert select_bandwidth(categories, rule)[0] < 1


@pytest.mark.parametrize("share", [0.5, 0.1, 0.003])
def test_spread_of_a_column_of_few_values_is_at_least_their_distance(share):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=2000), 5.0 * (rng.uniform(size=2000) < share)])
    assert robust_spread(X)[1] == 5
    assert robust_spread(np.column_stack([X[:, 0], rng.integers(3, size=2000)]))[1] >= 1


@pytest.mark.parametrize("share", [0.005, 0.02, 0.08])
def test_far_values_do_not_widen_the_others(share):
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    x[: int(share * 2000)] = -999
    assert robust_spread(x[:, None])[0] == pytest.approx(1, rel=0.35)


def test_within_measures_columns_by_the_spread_inside_clusters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X[100:200, 0] += 12
    X[200:, 0] += 24
    whole, within = (select_bandwidth(X, rule) for rule in ("global", "within"))
    assert whole[0] > 5 * whole[1]
    assert within[0] == pytest.approx(within[1], rel=0.4)


def test_within_of_one_cluster_is_near_to_global():
    X = np.random.default_rng(0).normal(size=(400, 5)) * [1, 10, 100, 1000, 1]
    ratio = select_bandwidth(X, "within") / select_bandwidth(X, "global")
    assert (np.abs(np.log(ratio)) < np.log(1.3)).all()


def test_within_does_not_narrow_columns_of_few_values():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(300, 2)), rng.integers(0, 2, 300)])
    X[150:, 0] += 10
    share = select_bandwidth(X, "within") / robust_spread(X)
    assert share[2] == pytest.approx(share.max())
