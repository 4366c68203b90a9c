import numpy as np
import pytest

from softkern.splitting.coordinates import fit_coordinates


def draw_two_blobs(d, n=600, distance=6.0, seed=0):
    generator = np.random.default_rng(seed)
    way = generator.normal(size=d)
    way *= distance / np.linalg.norm(way)
    labels = np.arange(n) % 2
    return generator.normal(size=(n, d)) + labels[:, None] * way, labels, way


@pytest.mark.parametrize("d", [4, 10, 50])
def test_the_midpoint_is_mapped_midway_in_any_number_of_columns(d):
    X, labels, way = draw_two_blobs(d)
    found, mixture = fit_coordinates(X, labels)
    low, middle, high = found.forward(np.stack([0 * way, way / 2, way]))[:, 0]
    assert abs(high - low) == pytest.approx(6, rel=0.3)
    assert abs(middle - (low + high) / 2) < 0.1 * abs(high - low)
    assert (mixture.labels == labels).mean() > 0.98 or (mixture.labels != labels).mean() > 0.98


@pytest.mark.parametrize("count", [2, 3, 5])
def test_there_is_one_direction_fewer_than_clusters(count):
    generator = np.random.default_rng(0)
    labels = np.arange(1000) % count
    X = generator.normal(size=(1000, 8)) + 8 * np.eye(8)[labels]
    found, _ = fit_coordinates(X, labels)
    assert found.forward(X).shape == (1000, count - 1)


def test_mapped_clusters_have_unit_spread():
    X, labels, _ = draw_two_blobs(10, n=3000)
    places = fit_coordinates(X, labels)[0].forward(X)[:, 0]
    for group in (0, 1):
        assert places[labels == group].std() == pytest.approx(1, abs=0.15)


def test_new_points_are_mapped_like_fitted_ones():
    X, labels, _ = draw_two_blobs(6)
    found, _ = fit_coordinates(X, labels)
    whole = found.forward(X)
    assert np.vstack([found.forward(X[k : k + 1]) for k in range(30)]) == pytest.approx(whole[:30])
    assert found.forward(X.astype(np.float32)).dtype == np.float32
    assert found.forward(X.astype(np.float32)) == pytest.approx(whole, abs=1e-4)


def test_unit_of_a_column_does_not_matter():
    X, labels, _ = draw_two_blobs(5)
    units = np.array([1000, 1e-3, 1, 7, 1e5])
    one, two = (fit_coordinates(A, labels)[0] for A in (X, X * units))
    assert two.forward(X * units) == pytest.approx(one.forward(X), abs=1e-3)


def test_a_constant_column_is_ignored():
    X, labels, _ = draw_two_blobs(5)
    found, _ = fit_coordinates(np.column_stack([X, np.full(len(X), 7.0)]), labels)
    plain, _ = fit_coordinates(X, labels)
    for value in (7.0, 0.0, 1e6):
        table = np.column_stack([X, np.full(len(X), value)])
        assert found.forward(table) == pytest.approx(plain.forward(X), abs=1e-3)


def test_maps_of_columns_increase_and_are_linear_beyond_the_fitted_values():
    generator = np.random.default_rng(0)
    X = generator.lognormal(size=(500, 2))
    found, _ = fit_coordinates(X, (X[:, 0] > 1).astype(int))
    line = np.linspace(-3 * X.max(), 4 * X.max(), 400)
    image = found.straight(np.column_stack([line, line]))
    assert (np.diff(image, axis=0) >= 0).all()
    beyond = line > X.max()
    assert np.diff(image[beyond], 2, axis=0) == pytest.approx(0, abs=1e-9)
    assert (np.diff(image[beyond], axis=0) > 0).all()


def test_straightened_columns_have_zero_mean_and_unit_spread():
    X = np.random.default_rng(0).lognormal(size=(500, 2))
    found, _ = fit_coordinates(X, (X[:, 0] > 1).astype(int))
    image = found.straight(X)
    assert np.abs(image.mean(axis=0)).max() < 0.1
    assert image.std(axis=0) == pytest.approx(np.ones(2), abs=0.1)


def test_one_cluster_has_no_directions():
    assert fit_coordinates(np.random.default_rng(0).normal(size=(50, 4)), np.zeros(50, int)) is None
