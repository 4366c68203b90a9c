"""K @ A of Dask arrays equals the dense product, for any chunks."""

from functools import partial

import dask.array as da
import numpy as np
import pytest

from softkern import plan
from softkern.dask.operator import DistributedOperator
from softkern.dask.plan import build, plan_chunks
from softkern.dask.rows import ChunkedRows
from softkern.kernels import Gaussian, Laplacian, Linear
from softkern.operators.blocked import BlockedOperator
from softkern.operators.features import FeatureOperator
from softkern.operators.tiled import TiledOperator

N = 700
LOCAL = {Gaussian: TiledOperator, Laplacian: BlockedOperator, Linear: FeatureOperator}
CHUNKS = [N, 300, 97]


def data(d=3, dtype=float, n=N):
    return (np.random.default_rng(0).normal(size=(n, d)) + 5).astype(dtype)


def make_exact(kernel, X, chunk):
    local = partial(LOCAL[type(kernel)], kernel)
    rows = ChunkedRows.of(da.from_array(X, chunks=(chunk, -1)))
    return DistributedOperator(kernel, rows, local, local(rows.subsample.X))


def make_nystroem(kernel, X, chunk, rank=150, size=400):
    rows = ChunkedRows.of(da.from_array(X, chunks=(chunk, -1)), size=size)
    params = {"rank": rank}
    chosen = plan_chunks(rows, kernel=kernel, engine="nystroem", engine_params=params)
    return build(chosen, rows)


@pytest.mark.parametrize(
    ("kernel", "chunk", "dtype"),
    [
        (Gaussian(0.8), N, "float64"),
        (Gaussian(0.8), 300, "float32"),
        (Gaussian(0.8), 97, "float64"),
        (Laplacian(1.0), 300, "float64"),
        (Linear(), 300, "float32"),
    ],
    ids=repr,
)
def test_equals_the_dense_product(kernel, chunk, dtype):
    X = data(dtype=dtype)
    K = kernel.block(X.astype(float), X.astype(float))
    A = np.random.default_rng(1).uniform(size=(N, 4)).astype(dtype)
    operator = make_exact(kernel, X, chunk)
    product = (operator @ da.from_array(A)).compute()
    assert product.dtype == dtype
    allowed = operator.error * A.sum(axis=0)
    assert np.all(np.abs(product - K @ A) <= allowed)
    lazy = da.from_array(A, chunks=(50, 2))
    assert np.array_equal((operator @ lazy).compute(), product)
    assert (operator @ lazy[:, 1]).compute() == pytest.approx(
        product[:, 1], abs=float(2 * allowed[1])
    )
    new = data(dtype=dtype, n=9) + 1
    assert np.all(np.abs(operator.cross(new) @ lazy - kernel.block(new, X) @ A) <= allowed)
    assert operator.diag().compute() == pytest.approx(K.diagonal(), rel=1e-6)


@pytest.mark.parametrize("make", [make_exact, make_nystroem])
def test_geometry_equals_the_dense_geometry(make):
    kernel, X = Gaussian(2.0), data()
    K = kernel.block(X, X)
    A = np.random.default_rng(2).uniform(size=(N, 3))
    A /= A.sum(axis=0)
    expected = K.diagonal()[:, None] - 2 * K @ A + (A * (K @ A)).sum(axis=0)
    operator = make(kernel, X, 97)
    slack = 4 * operator.error
    for chunks in ((N, 3), (97, 3)):
        lazy = da.from_array(A, chunks=chunks)
        geometry = operator.geometry(lazy)
        assert np.asarray(geometry.distances) == pytest.approx(expected, abs=slack)
        assert np.asarray(geometry.product) == pytest.approx(K @ A, abs=slack)
        assert geometry.norms == pytest.approx((A * (K @ A)).sum(axis=0), abs=slack)
    index, points, weights = operator.compressed(lazy)
    assert np.array_equal(points, X[index])
    assert kernel.block(X, points) @ weights == pytest.approx(K @ A, abs=slack)
    positive, _, weights = operator.compressed(lazy, nonnegative=True)
    assert weights.min() >= 0
    assert kernel.block(X, X[positive]) @ weights == pytest.approx(K @ A, abs=10 * slack + 1e-3)


def test_landmarks_are_independent_of_chunks():
    kernel, X = Gaussian(1.5), data(d=4)
    A = np.random.default_rng(2).uniform(size=(N, 2)) / N
    operators = [make_nystroem(kernel, X, chunk, rank=60) for chunk in CHUNKS]
    lazy = da.from_array(A)
    first = (operators[0] @ lazy).compute()
    for operator in operators[1:]:
        assert np.array_equal(operator.landmarks, operators[0].landmarks)
        assert (operator @ lazy).compute() == pytest.approx(first, abs=1e-10)
    operator = operators[0]
    assert 0 < operator.approximation_error < 0.2
    assert operator.error == pytest.approx(operator.sample.residual.max(), rel=1e-6)
    error = np.abs(kernel.block(X, X) @ A - first)
    assert np.all(error <= operator.error * A.sum(axis=0) + 0.02)


def test_geometry_of_centers_over_another_support():
    kernel, X = Gaussian(2.0), data()
    other = BlockedOperator(kernel, X[:40])
    A = np.full((40, 2), 1 / 40)
    geometry = make_exact(kernel, X, 300).geometry_from(other, A)
    assert geometry.distances.compute() == pytest.approx(
        other.cross(X).squared_distances(A), abs=1e-12
    )


def test_plan():
    X = da.from_array(np.random.default_rng(0).normal(size=(4000, 3)), chunks=(1000, 3))
    wide = plan(X, bandwidth=3.0)
    assert (wide.engine, wide.options["rank"]) == ("distributed", 500)
    assert "through 500 landmarks" in str(wide)
    assert plan(X, bandwidth=0.01).options["rank"] is None
    assert plan(X, bandwidth=3.0, engine="tiled").options == {"rank": None, "local": "tiled"}
    with pytest.raises(ValueError, match="needs X as a Dask array"):
        plan(np.ones((5, 2)), engine="distributed")
    with pytest.raises(ValueError, match="Unknown option 'ranks'"):
        plan(X, engine="distributed", engine_params={"ranks": 3})
    with pytest.raises(ValueError, match="a precomputed kernel has none"):
        plan(X, kernel="precomputed")
    narrow = plan(X, bandwidth=0.01, memory_limit=1000)
    with pytest.raises(MemoryError, match="distributed"):
        build(narrow, ChunkedRows.of(X))
