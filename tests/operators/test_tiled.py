import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

from softkern.kernels import Gaussian, Laplacian
from softkern.kernels.wrapped import Precomputed
from softkern.operators._gaussian_tiles import _exp2_f32, _exp2_f64
from softkern.operators.tiled import TiledOperator, _rounds
from tests.operators.contract import GaussianContract


@pytest.fixture(autouse=True)
def _use_tiles(monkeypatch):
    """Use tiles for small problems too."""
    monkeypatch.setattr("softkern.operators.tiled.DENSE_PAIRS", 0)


def test_small_products_are_dense(monkeypatch):
    monkeypatch.setattr("softkern.operators.tiled.DENSE_PAIRS", 40_000)
    X = np.random.default_rng(0).normal(size=(100, 2))
    operator, values = TiledOperator(Gaussian(0.5), X), Gaussian(0.5).block(X, X)
    assert operator @ np.ones(100) == pytest.approx(values.sum(axis=1), rel=1e-14)
    assert operator.cross(X[:9]) @ np.ones(100) == pytest.approx(values[:9].sum(axis=1), rel=1e-14)
    assert "_tiles" not in vars(operator)
    operator.cross(np.repeat(X, 5, axis=0)) @ np.ones(100)
    assert "_tiles" in vars(operator)


class TestTiled(GaussianContract):
    def make(self, kernel, X):
        return TiledOperator(kernel, X)


def test_compiled_exponentials_are_accurate():
    x = -np.linspace(0, 120, 20_001)
    single = np.array([_exp2_f32(v) for v in x.astype(np.float32)])
    assert single == pytest.approx(np.exp2(x.astype(np.float32).astype(float)), rel=2.5e-7)
    x = -np.linspace(0, 1000, 20_001)
    assert np.array([_exp2_f64(v) for v in x]) == pytest.approx(np.exp2(x), rel=1e-15)


@pytest.mark.parametrize("n", [3, 511, 512, 513, 1500])
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5, 65])
def test_row_counts_at_the_edges_of_tiles(n, columns):
    X = np.random.default_rng(0).normal(size=(n, 3))
    A = np.random.default_rng(1).normal(size=(n, columns))
    assert TiledOperator(Gaussian(0.5), X) @ A == pytest.approx(
        Gaussian(0.5).block(X, X) @ A, rel=1e-10, abs=1e-10
    )


@pytest.mark.parametrize("d", [1, 2, 3, 4, 6, 8, 12, 30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_tiles_are_skipped_without_loss_of_accuracy(d, dtype):
    generator = np.random.default_rng(0)
    centers = generator.uniform(-300, 300, size=(12, d))
    X = (centers[generator.integers(0, 12, 6000)] + generator.normal(size=(6000, d))).astype(dtype)
    operator = TiledOperator(Gaussian(0.4), X)
    assert not np.array_equal(operator._tiles.order, np.arange(6000))
    A = generator.uniform(size=(6000, 2)).astype(dtype)
    rows = generator.integers(0, 6000, 200)
    exact = np.exp(-cdist(X[rows].astype(float), X, "sqeuclidean") / (2 * 0.4**2)) @ A
    accuracy = 1e-9 if dtype == np.float64 else 3e-3  # single precision of 300 / 0.4
    assert (operator @ A)[rows] == pytest.approx(exact, rel=accuracy)
    assert operator.cross(X[rows]) @ A == pytest.approx(exact, rel=accuracy)


def test_far_tiles_are_not_computed():
    X = np.random.default_rng(0).uniform(-1000, 1000, size=(20_000, 2))
    operator = TiledOperator(Gaussian(1.0), X)
    operator._tiles.support[:] = np.nan  # computing a tile would give NaN
    operator._tiles.low[:] = 1e9  # every tile is far away
    operator._tiles.high[:] = 1e9
    assert not (operator.cross(X) @ np.ones(20_000)).any()
    other = TiledOperator(Gaussian(1.0), X)
    other._tiles.low[:], other._tiles.high[:] = 1e9, 1e9
    assert not (other @ np.ones(20_000)).any()


def test_far_tiles_of_many_columns_are_not_computed():
    X, y = make_blobs(8000, 20, centers=4, random_state=0)
    kernel = Gaussian(1.0)
    operator = TiledOperator(kernel, X)
    tiles = operator._tiles
    clusters = [np.unique(y[tiles.order[part]]) for part in tiles.parts]
    assert all(len(found) == 1 for found in clusters)  # no tile has rows of two clusters
    tiles.support[[found[0] != 0 for found in clusters]] = np.nan  # to detect computation
    rows = np.flatnonzero(y == 0)[:200]
    A = np.random.default_rng(0).uniform(size=(8000, 3))
    assert operator.cross(X[rows]) @ A == pytest.approx(kernel.block(X[rows], X) @ A, rel=1e-12)


def test_one_cluster_in_many_columns_is_not_reordered():
    X = np.random.default_rng(0).normal(size=(3000, 12))
    assert TiledOperator(Gaussian(1.0), X)._tiles.order.tolist() == list(range(3000))


def test_results_do_not_depend_on_the_number_of_threads():
    X = np.random.default_rng(0).normal(size=(5000, 2))
    A = np.random.default_rng(1).normal(size=(5000, 3))
    one, many = (TiledOperator(Gaussian(0.1), X, threads=t) @ A for t in (1, 5))
    assert np.array_equal(one, many)


def test_an_offset_does_not_reduce_accuracy():
    X = np.random.default_rng(0).normal(size=(1000, 20))
    moved = TiledOperator(Gaussian(3.0), X + 1e8) @ np.ones(1000)
    assert moved == pytest.approx(Gaussian(3.0).block(X, X).sum(axis=1), rel=1e-6)


def test_one_point_far_away():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    far = np.vstack([X, [[1e8, -1e8]]])
    degree = TiledOperator(Gaussian(0.3), far).degree()
    assert degree[-1] == pytest.approx(1)
    assert degree[:-1] == pytest.approx(Gaussian(0.3).block(X, X).sum(axis=1), rel=1e-6)


@pytest.mark.parametrize("bandwidth", [1e-12, 1e12])
def test_extreme_bandwidths(bandwidth):
    X = np.random.default_rng(0).normal(size=(600, 2))
    degree = TiledOperator(Gaussian(bandwidth), X).degree()
    assert degree == pytest.approx(np.full(600, 1 if bandwidth < 1 else 600), rel=1e-9)


@pytest.mark.parametrize(
    ("kernel", "X", "message"),
    [
        (Laplacian(1.0), np.ones((4, 2)), "needs the Gaussian kernel, not Laplacian"),
        (Gaussian(1.0), sp.eye_array(4, format="csr"), "needs a dense array"),
        (Precomputed(), np.eye(4), "needs the Gaussian kernel, not Precomputed"),
    ],
)
def test_unsupported_input_is_rejected(kernel, X, message):
    with pytest.raises(ValueError, match=message):
        TiledOperator(kernel, X)


def test_bad_threads():
    with pytest.raises(ValueError, match="threads must be at least 1, got 0"):
        TiledOperator(Gaussian(1.0), np.ones((2, 2)), threads=0)


@pytest.mark.parametrize("far", [1e8, 3e8, 1e9, 1e10, 1e20])
def test_logarithms_of_very_far_points(far):
    X = np.random.default_rng(0).normal(size=(100, 2))
    operator = TiledOperator(Gaussian(1.0), X)
    logs = operator.cross([[far, 0.0], [2 * far, 0.0]]).log_product(np.ones(100))
    assert logs == pytest.approx([-0.5 * far**2, -2 * far**2], rel=1e-6)


def test_logarithms_are_minus_infinity_beyond_the_floating_point_range():
    X = np.random.default_rng(0).normal(size=(30, 2))
    far = np.array([[1e3, 0], [1e100, 0], [1e153, 0], [1.3e154, 0], [1e160, 0], [1e300, 1e300]])
    logs = TiledOperator(Gaussian(1.0), X).cross(far).log_product(np.ones(30))
    assert np.all(np.diff(logs[:4]) < 0)
    # half the squared distance exceeds the floating-point range
    assert logs[:3] == pytest.approx(-0.5 * far[:3, 0] ** 2, rel=1e-2)
    assert np.array_equal(logs[4:], [-np.inf, -np.inf])


@pytest.mark.parametrize(
    ("n", "d", "bandwidth", "dtype", "tolerance"),
    [
        (1300, 2, 0.3, np.float64, 1e-12),
        (3000, 5, 0.05, np.float64, 1e-12),  # most tiles are skipped
        (2600, 20, 2.0, np.float64, 1e-12),
        (1111, 3, 0.5, np.float32, 1e-5),
    ],
)
def test_symmetric_products_equal_products_of_rows(n, d, bandwidth, dtype, tolerance):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(dtype)
    X[: n // 3] += 6
    a = rng.uniform(size=(n, 1)).astype(dtype)
    a[::7] = 0
    operator = TiledOperator(Gaussian(bandwidth), X)
    np.testing.assert_allclose(operator @ a, operator.cross(X) @ a, rtol=tolerance)
    one, many = (TiledOperator(Gaussian(bandwidth), X, threads=t) @ a for t in (1, 5))
    assert np.array_equal(one, many)


@pytest.mark.parametrize("count", [1, 2, 3, 8, 9])
def test_rounds_contain_every_pair_once_and_no_tile_twice(count):
    rounds = _rounds(count)
    all_pairs = sorted(pair for pairs in rounds for pair in pairs)
    assert all_pairs == [(i, j) for i in range(count) for j in range(i, count)]
    for pairs in rounds[1:]:
        assert len({group for pair in pairs for group in pair}) == 2 * len(pairs)
