"""Geometry and distances for every kind of array: results stay in the library of the arrays."""

import array_api_strict
import numpy as np
import pytest

from softkern._utils.arrays import moved, take_last
from softkern.operators.geometry import (
    FeaturePoints,
    Geometry,
    center_norms,
    feature_sums,
    squared_distances,
)


def numpy_arrays():
    return np.asarray, np.asarray, np.ndarray


def torch_arrays():
    torch = pytest.importorskip("torch")
    return torch.asarray, lambda values: values.numpy(), torch.Tensor


def dask_arrays():
    dask = pytest.importorskip("dask.array")
    return (
        lambda values: dask.from_array(values, chunks=(50, *values.shape[1:])),
        lambda values: values.compute(),
        dask.Array,
    )


def strict_arrays():
    return array_api_strict.asarray, np.asarray, type(array_api_strict.asarray(0))


def device_arrays():
    """Arrays on a device that NumPy cannot read: an implicit conversion raises an error."""
    device = array_api_strict.Device("device1")
    home = array_api_strict.Device("CPU_DEVICE")

    def away(values):
        return array_api_strict.asarray(values, device=device)

    return away, lambda values: np.asarray(values.to_device(home)), type(away(0))


@pytest.fixture(params=[numpy_arrays, torch_arrays, dask_arrays, strict_arrays, device_arrays])
def kind(request):
    return request.param()


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return request.param


def problem(dtype, n=130, d=3, c=4):
    generator = np.random.default_rng(0)
    X = (generator.normal(size=(n, d)) + 30).astype(dtype)
    A = generator.uniform(size=(n, c)) ** 3
    return X, (A / A.sum(axis=0)).astype(dtype)


def exact_gaps(X, A):
    centers = A.astype(float).T @ (X.astype(float) - X.mean(axis=0, dtype=float))
    return np.square(centers[:, None] - centers[None]).sum(axis=2)


def test_distances_of_features(kind, dtype):
    away, home, array = kind
    X, A = problem(dtype)
    points = FeaturePoints.of(away(X))
    centers = points.centers(away(A))
    distances = points.distances(centers)
    assert isinstance(distances, array)
    means = A.astype(float).T @ X
    expected = np.square(X[:, None] - means[None]).sum(axis=2)
    slack = 1e-3 if dtype == "float32" else 1e-11
    assert home(distances).dtype == dtype
    assert home(distances) == pytest.approx(expected, abs=slack)
    assert home(points.distances(centers, away(X[:5]))) == pytest.approx(expected[:5], abs=slack)
    assert home(feature_sums(away(X), away(A))) == pytest.approx(X.T @ A, rel=1e-5)


def test_distances_of_products(kind, dtype):
    away, home, array = kind
    X, A = problem(dtype)
    K = (X @ X.T).astype(dtype)
    product, diag = away(K @ A), away(K.diagonal().copy())
    norms = center_norms(away(A), product)
    distances = squared_distances(diag, product, norms, True)
    assert isinstance(norms, array)
    assert isinstance(distances, array)
    assert home(norms).dtype == home(distances).dtype == dtype
    assert home(norms) == pytest.approx((A * (K @ A)).sum(axis=0), rel=1e-5)
    assert home(distances).min() >= 0
    raw = squared_distances(diag, product, norms + 1e6, False)
    assert home(raw) == pytest.approx(home(distances) + 1e6, rel=1e-5)


def test_gaps_and_order(kind, dtype, monkeypatch):
    monkeypatch.setattr("softkern.operators.geometry.GAP_ROWS", 60)
    away, home, array = kind
    X, A = problem(dtype)
    points = FeaturePoints.of(away(X))
    distances = points.distances(points.centers(away(A)))
    product = away((X @ (X.T @ A)).astype(dtype))
    geometry = Geometry(product, center_norms(away(A), product), distances)
    gaps = geometry.gaps(away(A))
    assert isinstance(gaps, array)
    assert home(gaps) == pytest.approx(exact_gaps(X, A), abs=1e-4 if dtype == "float32" else 1e-11)
    order = np.array([2, 0])
    selected = moved(geometry, take_last, order)
    assert isinstance(selected.distances, array)
    assert np.array_equal(home(selected.product), home(product)[:, order])
    assert np.array_equal(home(selected.norms), home(geometry.norms)[order])
    assert np.array_equal(home(selected.distances), home(distances)[:, order])


def test_distances_of_numpy_arrays_are_computed_in_place():
    distances = -np.ones((3, 2))
    points = FeaturePoints(np.zeros((3, 1)), np.zeros(1), distances[:, 0].copy())
    assert np.array_equal(points.distances(np.zeros((1, 2))), np.zeros((3, 2)))
