import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from softkern import rows
from softkern.rows import (
    check_weights,
    distinct_rows,
    lower_quantiles,
    priority_sample,
    reduce_weights,
    row_uniforms,
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
    one = priority_sample(rows, size + 1, np.array(counts, dtype=float))
    two = priority_sample(repeated, size + 1)
    assert as_set(rows, *one) == as_set(repeated, *two)


def test_order_of_rows_does_not_matter(X):
    shuffle = np.random.default_rng(2).permutation(len(X))
    one, two = priority_sample(X, 100), priority_sample(X[shuffle], 100)
    assert as_set(X, *one) == as_set(X[shuffle], *two)


def test_unit_of_a_column_does_not_matter(X):
    one, _ = priority_sample(X, 100)
    two, _ = priority_sample(X * [1, 1000, 0.3], 100)
    assert set(one) == set(two)


def test_seed_matters(X):
    assert set(priority_sample(X, 100)[0]) != set(priority_sample(X, 100, random_state=1)[0])


def test_sparse_and_dense_rows_have_equal_keys(X):
    X[np.abs(X) < 0.5] = 0
    X[5] = 0
    dense, sparse = distinct_rows(X), distinct_rows(sp.csr_matrix(X))
    assert np.array_equal(dense[0], sparse[0])


def test_uniforms_are_uniform(X):
    u = np.sort(row_uniforms(X))
    assert np.abs(u - np.linspace(0, 1, len(u))).max() < 0.05


def test_sums_are_estimated_without_bias(X):
    weight = np.random.default_rng(3).exponential(size=len(X))
    truth = weight[X[:, 0] > 1].sum()
    estimates = []
    for seed in range(200):
        index, sampled = priority_sample(X, 200, weight, seed)
        estimates.append(sampled[X[index, 0] > 1].sum())
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - truth) < 4 * error


def test_far_value_and_offset_keep_rows_apart():
    X = np.random.default_rng(4).normal(size=(500, 1))
    for table in (np.r_[X, [[-1e8]]], X + 1.7e9):
        assert np.unique(row_uniforms(table)).size > 0.99 * len(table)


def test_rows_of_weight_zero_are_not_there():
    index, weight = distinct_rows(np.arange(4.0)[:, None], np.array([0, 1, 0, 2.0]))
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
        ([0.5, 0.5], [0.5, 0.5]),  # half an observation each: not one
        ([0.0, 0.0], [0, 0]),
    ],
)
def test_a_common_factor_says_nothing(weight, expected):
    assert reduce_weights(weight) == pytest.approx(expected)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(1, 9))
@settings(max_examples=50, deadline=None)
def test_a_table_many_times_is_the_table(counts, times):
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
def test_quantiles_of_equal_weights_are_those_of_any(values, shares, weight):
    values, equal = np.array(values, dtype=float), np.full(len(values), weight)
    # one more row of no weight: the weights are no longer equal
    longer = lower_quantiles(np.append(values, 9.0), np.append(equal, 0.0), shares)
    assert lower_quantiles(values, equal, shares) == pytest.approx(longer)


def test_remembered_rows_are_those_that_are_found_anew():
    random = np.random.default_rng(0)
    X = random.integers(0, 4, size=(200, 3)).astype(float)
    weight = random.integers(0, 3, 200).astype(float)

    def all_of(X):
        return [
            *rows.distinct_rows(X),
            *rows.distinct_rows(X, weight),
            *rows.canonical_rows(X),
            *rows.priority_sample(X, 20),
            *rows.priority_sample(X, 20, weight, 3),
            *rows.duplicate_groups(X, weight),
            rows.share_among_copies(X, random.uniform(size=(200, 1)) * 0 + 0.5, weight),
        ]

    fresh = all_of(X)
    with rows.remembered(X):
        twice = all_of(X), all_of(X[:])
        other = all_of(X[::-1].copy())
    for kept in twice:
        assert all(np.array_equal(one, two) for one, two in zip(fresh, kept, strict=True))
    expected = all_of(X[::-1].copy())
    assert all(np.array_equal(one, two) for one, two in zip(expected, other, strict=True))


def test_remembered_rows_are_found_once(monkeypatch):
    X, calls = np.random.default_rng(0).normal(size=(50, 2)), []
    keys = rows._row_keys
    monkeypatch.setattr(rows, "_row_keys", lambda X: calls.append(1) or keys(X))
    with rows.remembered(X):
        for seed in range(5):
            rows.priority_sample(X, 10, random_state=seed)
    assert len(calls) == 2
    rows.distinct_rows(X)
    assert len(calls) == 3


def test_rows_in_other_units_are_remembered_rows():
    X = np.random.default_rng(0).normal(size=(300, 2))
    other = X * [1000.0, 0.3]
    expected = rows.priority_sample(X, 40, random_state=1)
    with rows.remembered(X), rows.remembered(other, like=X):
        found = rows.priority_sample(other, 40, random_state=1)
    assert all(np.array_equal(one, two) for one, two in zip(expected, found, strict=True))


def test_distinct_rows_are_remembered_rows():
    X = np.random.default_rng(0).integers(0, 9, size=(300, 2)).astype(float)
    distinct = X[rows.distinct_rows(X)[0]]
    expected = rows.priority_sample(distinct, 40, random_state=1), rows.distinct_rows(distinct)
    with rows.remembered(X), rows.remembered(distinct, distinct_of=X):
        found = rows.priority_sample(distinct, 40, random_state=1), rows.distinct_rows(distinct)
    for one, two in zip(expected, found, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
