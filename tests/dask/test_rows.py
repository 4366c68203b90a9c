"""Checked rows, subsamples and quantiles do not depend on the chunks."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from softkern.dask.chunks import map_rows
from softkern.dask.rows import ChunkedRows, row_chunks
from softkern.dask.self_exclusion import quantile
from softkern.exceptions import DataError
from softkern.rows import lower_quantile

N = 3000


def table(chunk=700, dtype=float):
    X = np.random.default_rng(0).normal(size=(N, 3)).astype(dtype)
    return X, da.from_array(X, chunks=(chunk, 2))


@pytest.mark.parametrize("chunk", [5000, 1000, 311])
def test_subsample_is_independent_of_chunks(chunk):
    weight = np.random.default_rng(1).uniform(size=N)
    weight[:50] = 0
    X, whole = table(N)
    one = ChunkedRows.of(whole, weight, size=200).subsample
    other = ChunkedRows.of(table(chunk)[1], weight, size=200).subsample
    assert np.array_equal(one.rows, other.rows)
    assert np.array_equal(one.X, X[one.rows])
    assert np.array_equal(one.weight, other.weight)
    assert one.rows.min() >= 50
    another = ChunkedRows.of(whole, weight, size=200, seed=1).subsample
    assert not np.array_equal(one.rows, another.rows)


def test_subsample_represents_all_rows():
    X, chunked = table()
    weight = np.where(X[:, 0] > 2, 50.0, 1.0)
    sample = ChunkedRows.of(chunked, weight, size=500).subsample
    share = sample.weight[sample.X[:, 0] > 2].sum() / sample.weight.sum()
    expected = weight[X[:, 0] > 2].sum() / weight.sum()
    assert share == pytest.approx(expected, rel=0.05)
    assert sample.weight.min() == 1


def test_complete_subsample_equals_the_data():
    X, chunked = table()
    weight = np.arange(N) % 3.0
    sample = ChunkedRows.of(chunked, weight, size=N).subsample
    assert sample.is_complete
    assert np.array_equal(sample.X, X[weight > 0])
    assert np.array_equal(sample.weight, weight[weight > 0])


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, "nan in chunk 2, row 17 of it .row 1417 of all., column 1"), (1e307, "too large")],
)
def test_invalid_values_are_located(value, message):
    X, _ = table()
    X[1417, 1] = value
    with pytest.raises(DataError, match=message):
        ChunkedRows.of(da.from_array(X, chunks=(700, 3)))


def test_invalid_weights():
    _, chunked = table()
    weight = np.ones(N)
    weight[800] = -1
    with pytest.raises(DataError, match="-1.0 in chunk 1, row 100 of it"):
        ChunkedRows.of(chunked, weight)
    with pytest.raises(DataError, match=r"shape \(7,\), but X has 3000 rows"):
        ChunkedRows.of(chunked, np.ones(7))
    with pytest.raises(DataError, match="zero for every row"):
        ChunkedRows.of(chunked, np.zeros(N))


def test_weights_in_other_chunks_and_of_any_magnitude():
    _, chunked = table()
    weight = da.from_array(np.arange(1.0, N + 1), chunks=450)
    rows = ChunkedRows.of(chunked, weight)
    assert rows.weight.chunks == (rows.X.chunks[0],)
    large = ChunkedRows.of(chunked, weight * 1e300)
    assert large.weight.compute() == pytest.approx(rows.weight.compute() / N)
    assert np.array_equal(large.subsample.rows, rows.subsample.rows)


def test_unknown_chunk_sizes_are_computed():
    X, chunked = table()
    some = chunked.rechunk({1: -1})
    some = some[some[:, 0] > 0]
    assert np.isnan(some.shape[0])
    assert ChunkedRows.of(some).X.shape == (int((X[:, 0] > 0).sum()), 3)


def test_dataframes():
    X, _ = table(dtype=np.float32)
    frame = pd.DataFrame(X, columns=list("abc"))
    chunked = dd.from_pandas(frame, npartitions=4)
    rows = ChunkedRows.of(chunked[chunked["a"] > -9], chunked["b"].abs())
    assert rows.X.dtype == np.float32
    assert np.array_equal(rows.X.compute(), X)
    assert rows.weight.compute() == pytest.approx(np.abs(X[:, 1]))
    frame["d"] = "text"
    with pytest.raises(DataError, match="column d is not numeric"):
        row_chunks(dd.from_pandas(frame, npartitions=2))


@pytest.mark.parametrize("X", [da.ones(5, chunks=2), da.ones((0, 2), chunks=2)])
def test_invalid_shapes(X):
    with pytest.raises(DataError, match="2D|at least one row"):
        row_chunks(X)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.999, 1.0])
def test_quantiles_equal_those_in_memory(share, monkeypatch):
    monkeypatch.setattr("softkern.dask.self_exclusion.GATHERED", 3)
    rng = np.random.default_rng(2)
    values, weight = rng.normal(size=N).round(2), rng.integers(0, 3, N).astype(float)
    chunked = (da.from_array(part, chunks=700) for part in (values, weight))
    is_used = weight > 0
    assert quantile(*chunked, share) == lower_quantile(values[is_used], weight[is_used], share)


def test_quantiles_of_infinite_and_constant_values():
    ones = da.ones(10, chunks=4)
    assert quantile(ones * 3, ones, 0.5) == 3
    values = np.array([-np.inf, -np.inf, 1, 2, 3, 4, 5, 6, np.inf, np.inf])
    quantiles = [quantile(da.from_array(values, chunks=4), ones, q) for q in (0.1, 0.5, 0.95)]
    assert quantiles == [-np.inf, 3, np.inf]


def test_map_rows_locates_invalid_values():
    X, _ = table()
    X[1417, 1] = np.nan
    sums = map_rows(
        np.sum, row_chunks(da.from_array(X, chunks=(700, 3))), name="sums", like=np.empty(0), axis=1
    )
    assert sums[:700].compute() == pytest.approx(X[:700].sum(axis=1))
    with pytest.raises(DataError, match="chunk 2, row 17 of it"):
        sums.compute()
