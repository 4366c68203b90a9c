import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from softkern import rows
from softkern.rows import (
    Rows,
    check_weights,
    key_uniforms,
    lower_quantile,
    lowest_numbers,
    order_by_mass,
    reduce_weights,
    row_uniforms,
    scale_weights,
)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(3000, 3))


def as_set(X, index, weight):
    return {tuple(row): w for row, w in zip(X[index], weight, strict=True)}


@given(st.lists(st.integers(0, 3), min_size=2, max_size=30), st.integers(0, 10))
@settings(max_examples=30, deadline=None)
def test_weights_are_repeated_rows(counts, size):
    rows = np.random.default_rng(1).normal(size=(len(counts), 2))
    if not any(counts):
        counts[0] = 1
    repeated = np.repeat(rows, counts, axis=0)
    one = Rows(rows, np.array(counts, dtype=float)).sample(size + 1)
    two = Rows(repeated).sample(size + 1)
    assert as_set(rows, *one) == as_set(repeated, *two)


def test_order_of_rows_does_not_matter(X):
    shuffle = np.random.default_rng(2).permutation(len(X))
    one, two = Rows(X).sample(100), Rows(X[shuffle]).sample(100)
    assert as_set(X, *one) == as_set(X[shuffle], *two)


def test_unit_of_a_column_does_not_matter(X):
    one, _ = Rows(X).sample(100)
    two, _ = Rows(X * [1, 1000, 0.3]).sample(100)
    assert set(one) == set(two)


def test_seed_matters(X):
    assert set(Rows(X).sample(100)[0]) != set(Rows(X).sample(100, 1)[0])


def test_sparse_and_dense_rows_have_equal_keys(X):
    X[np.abs(X) < 0.5] = 0
    X[5] = 0
    dense, sparse = Rows(X).distinct, Rows(sp.csr_matrix(X)).distinct
    assert np.array_equal(dense[0], sparse[0])


def test_uniforms_are_uniform(X):
    u = np.sort(row_uniforms(X))
    assert np.abs(u - np.linspace(0, 1, len(u))).max() < 0.05


def test_sums_are_estimated_without_bias(X):
    weight = np.random.default_rng(3).exponential(size=len(X))
    truth = weight[X[:, 0] > 1].sum()
    estimates = []
    for seed in range(200):
        index, sampled = Rows(X, weight).sample(200, seed)
        estimates.append(sampled[X[index, 0] > 1].sum())
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - truth) < 4 * error


def test_rows_are_distinct_despite_a_far_value_or_offset():
    X = np.random.default_rng(4).normal(size=(500, 1))
    for table in (np.r_[X, [[-1e8]]], X + 1.7e9):
        assert np.unique(row_uniforms(table)).size > 0.99 * len(table)


def test_rows_of_weight_zero_are_left_out():
    index, weight = Rows(np.arange(4.0)[:, None], np.array([0, 1, 0, 2.0])).distinct
    assert dict(zip(index.tolist(), weight.tolist(), strict=True)) == {1: 1.0, 3: 2.0}


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, 2.0], "shape"),
        ([1.0, -1.0, 1.0], r"sample_weight\[1\] is -1.0"),
        ([1.0, np.nan, 1.0], "finite"),
        ([0.0, 0.0, 0.0], "zero for every row"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        check_weights(weight, 3)


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        ([3.0, 3.0, 3.0], [1, 1, 1]),
        ([2.0, 4.0, 0.0, 6.0], [1, 2, 0, 3]),
        ([2.5, 5.0, 7.5], [1, 2, 3]),
        ([2.0, 3.0], [2, 3]),
        ([2.5, 3.1], [2.5, 3.1]),
        ([0.5, 0.5], [0.5, 0.5]),  # two halves, not two whole observations
        ([0.0, 0.0], [0, 0]),
    ],
)
def test_a_common_factor_is_removed(weight, expected):
    assert reduce_weights(weight) == pytest.approx(expected)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(1, 9))
@settings(max_examples=50, deadline=None)
def test_repeating_the_whole_table_changes_nothing(counts, times):
    weight = np.array(counts, dtype=float)
    once = reduce_weights(weight)
    assert np.array_equal(reduce_weights(times * weight), once)
    assert np.array_equal(reduce_weights(once), once)


@given(
    st.lists(st.integers(-5, 5), min_size=1, max_size=40),
    st.lists(st.floats(0, 1), min_size=1, max_size=4),
    st.sampled_from([1.0, 0.1, 3e-7]),
)
@settings(max_examples=100, deadline=None)
def test_quantiles_of_equal_weights_equal_those_of_any_weights(values, shares, weight):
    values, equal = np.array(values, dtype=float), np.full(len(values), weight)
    # with one more row of weight zero, the weights are no longer equal
    longer = lower_quantile(np.append(values, 9.0), np.append(equal, 0.0), shares)
    assert lower_quantile(values, equal, shares) == pytest.approx(longer)


def compute_all(rows, coefficients):
    return [
        *rows.distinct,
        *rows.canonical,
        *rows.sample(20, 3),
        *rows.duplicates,
        rows.share_among_duplicates(coefficients),
    ]


def assert_same(one, two):
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


@pytest.fixture
def table():
    return np.random.default_rng(0).integers(0, 4, size=(200, 3)).astype(float)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_reweighted_rows_equal_new_rows(table, convert):
    random, X = np.random.default_rng(1), convert(table)
    weight, A = random.integers(0, 3, 200).astype(float), random.uniform(size=(200, 1))
    shared = Rows(X)
    for weights in (None, weight, 2 * weight + 1):
        assert_same(compute_all(shared.reweighted(weights), A), compute_all(Rows(X, weights), A))


def test_equal_rows_are_searched_once(table, monkeypatch):
    calls, keys = [], rows._row_keys
    monkeypatch.setattr(rows, "_row_keys", lambda X: calls.append(1) or keys(X))
    shared = Rows(table)
    for seed in range(5):
        shared.reweighted(np.ones(200)).sample(10, seed)
        shared.scaled(np.array([1000.0, 0.3, 7.0])).sample(10, seed)
        shared.distinct_rows.sample(10, seed)
    assert len(calls) == 2  # for the rows, and for the distinct rows without units


def test_units_do_not_change_a_sample(X):
    scaled = Rows(X).scaled(np.array([1000.0, 0.3, 7.0]))
    assert_same(scaled.sample(40, 1), Rows(X).sample(40, 1))
    assert set(Rows(scaled.X).sample(40, 1)[0]) == set(scaled.sample(40, 1)[0])


def test_distinct_rows_equal_rows_of_their_own_table(table):
    distinct = Rows(table).distinct_rows
    assert_same(
        compute_all(distinct, np.ones((64, 1))),
        compute_all(Rows(distinct.X, distinct.weight), np.ones((64, 1))),
    )


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_different_rows_with_equal_keys_are_distinct(table, convert, monkeypatch):
    expected = compute_all(Rows(table), np.arange(200.0)[:, None])
    keys = rows._row_keys
    monkeypatch.setattr(rows, "_row_keys", lambda X: keys(X) & np.uint64(7))
    colliding = Rows(convert(table))
    assert colliding.distinct[0].size == len(np.unique(table, axis=0))
    first, group = colliding.groups
    assert (table[first[group]] == table).all()
    found = compute_all(colliding, np.arange(200.0)[:, None])
    assert_same(found[-4:], expected[-4:])  # do not depend on the order of the keys


def test_scaled_rows_of_weight_zero_are_left_out(X):
    scale, present = np.array([1000.0, 0.3, 7.0]), np.arange(len(X)) % 3 > 0
    X = X.astype(np.float32)
    index, weight = Rows(X, present.astype(float)).scaled(scale).sample(200, 1)
    alone, expected = Rows(X[present]).scaled(scale).sample(200, 1)
    assert as_set(X, index, weight) == as_set(X[present], alone, expected)


def test_weights_are_scaled_to_sums_that_do_not_overflow():
    assert scale_weights([1e300, 5e299, 1.0]).tolist() == [1.0, 0.5, 0.0]


def test_clusters_of_equal_mass_are_ordered_by_the_tie():
    order = order_by_mass(np.array([1.0, 5.0, 5.0]), tie=np.array([9.0, 2.0, 3.0]))
    assert order.tolist() == [2, 1, 0]


def test_duplicates_share_what_is_left_out():
    rows = Rows(np.array([[0.0], [1.0], [0.0], [2.0]]))
    first, left_out, max_share = rows.duplicates
    assert first.tolist() == [0, 1, 0, 3]
    assert left_out.tolist() == [0.5, 1.0, 0.5, 1.0]
    assert max_share == 0.25


def test_coefficients_are_shared_among_duplicates():
    rows = Rows(np.array([[0.0], [1.0], [0.0]]))
    shared = rows.share_among_duplicates(np.array([[0.5], [0.5], [0.0]]))
    assert shared.ravel().tolist() == [0.25, 0.5, 0.25]


def test_drawn_numbers_do_not_depend_on_chunks(monkeypatch):
    drawn = lowest_numbers(1000, 5)
    monkeypatch.setattr(rows, "NUMBERS_AT_ONCE", 70)
    assert lowest_numbers(1000, 5).tolist() == drawn.tolist()
    assert lowest_numbers(3, 5).tolist() == [0, 1, 2]
    assert key_uniforms([7, 8])[1] == key_uniforms([8])[0]


def test_selected_rows_equal_rows_of_the_selection():
    generator = np.random.default_rng(0)
    X, weight = generator.integers(0, 4, (60, 2)).astype(float), generator.uniform(1, 2, 60)
    index = np.arange(5, 55, 2)
    part, direct = Rows(X, weight).take(index), Rows(X[index], weight[index])
    assert np.array_equal(part.X, direct.X)
    for one, two in zip(part.groups + part.distinct, direct.groups + direct.distinct, strict=True):
        assert np.array_equal(one, two)
