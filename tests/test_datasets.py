"""Synthetic data sets: sizes, positions, seeds, and equality with stored reference files."""

import numpy as np
import pandas as pd
import pytest

from reproduce.datasets import data_folder
from softkern import datasets

MAKERS = [
    datasets.make_dense_regions,
    datasets.make_six_clusters,
    datasets.make_gaussian_outliers,
    datasets.make_two_groups_outliers,
    datasets.make_ring_outliers,
    datasets.make_three_gaussians,
]
ids = [maker.__name__ for maker in MAKERS]


@pytest.fixture
def folder():
    path = data_folder()
    if path is None:
        pytest.skip("no data folder: set SOFTKERN_DATA")
    return path


def within(X, low, high):
    return ((low <= X) & (X <= high)).all(axis=1)


@pytest.mark.parametrize("maker", MAKERS, ids=ids)
def test_same_seed_gives_the_same_points_and_leaves_the_global_generator(maker):
    state = np.random.get_state()[1].copy()  # noqa: NPY002 (the global state must not change)
    X, y = maker(random_state=3)
    again, labels = maker(random_state=3)
    assert np.array_equal(X, again)
    assert np.array_equal(y, labels)
    assert not np.array_equal(X, maker(random_state=4)[0])
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("maker", MAKERS, ids=ids)
def test_random_state_may_be_a_generator(maker):
    from_int = maker(random_state=3)[0]
    assert np.array_equal(from_int, maker(random_state=np.random.default_rng(3))[0])
    generator = np.random.default_rng(3)
    maker(random_state=generator)
    assert not np.array_equal(from_int, maker(random_state=generator)[0])
    one, two = (maker(random_state=np.random.RandomState(0))[0] for _ in range(2))
    assert np.array_equal(one, two)
    assert not np.array_equal(maker()[0], maker()[0])


@pytest.mark.parametrize(
    ("maker", "sizes"),
    [
        (datasets.make_dense_regions, {-1: 1000, 0: 100, 1: 100, 2: 300}),
        (datasets.make_six_clusters, {-1: 30, 0: 30, 1: 30, 2: 30, 3: 30, 4: 60, 5: 80}),
        (datasets.make_gaussian_outliers, {-1: 30, 0: 400}),
        (datasets.make_two_groups_outliers, {-1: 4, 0: 60, 1: 60}),
        (datasets.make_ring_outliers, {-1: 3, 0: 60, 1: 100}),
        (datasets.make_three_gaussians, {0: 500, 1: 500, 2: 500}),
    ],
    ids=ids,
)
def test_default_sizes_of_the_papers(maker, sizes):
    X, y = maker(random_state=0)
    assert X.shape == (sum(sizes.values()), 2)
    assert {label: int((y == label).sum()) for label in set(y.tolist())} == sizes


def test_custom_sizes():
    _, y = datasets.make_dense_regions(n_rectangle=5, n_ring=7, n_noise=0)
    assert np.unique(y, return_counts=True)[1].tolist() == [5, 5, 7]
    assert len(datasets.make_six_clusters(n_ball=0, n_banana=1, n_ring=1, n_outliers=1)[0]) == 3
    assert len(datasets.make_gaussian_outliers(n_inliers=2, n_right=0, n_left=0)[0]) == 2


@pytest.mark.parametrize("size", [-1, 2.5, True, "3"])
def test_bad_sizes(size):
    with pytest.raises(ValueError, match="n_ring must be an integer ≥ 0"):
        datasets.make_dense_regions(n_ring=size)


def test_areas_of_the_dense_regions():
    X, y = datasets.make_dense_regions(n_rectangle=20_000, n_ring=20_000, n_noise=400_000)
    noise = X[y == -1]
    assert within(X, 0, 10).all()
    for label in (0, 1):
        box = X[y == label].min(axis=0), X[y == label].max(axis=0)
        assert np.prod(box[1] - box[0]) == pytest.approx(1.24, rel=0.01)
        assert within(noise, *box).mean() == pytest.approx(0.0124, rel=0.06)
    ring = X[y == 2]
    center = (ring.min(axis=0) + ring.max(axis=0)) / 2
    radius = np.linalg.norm(ring - center, axis=1)
    inside = np.linalg.norm(noise - center, axis=1)
    share = ((radius.min() < inside) & (inside < radius.max())).mean()
    assert share == pytest.approx(0.0779, rel=0.03)
    # uniform over the area: the squared radius is uniform
    assert np.mean(radius**2) == pytest.approx(
        (radius.min() ** 2 + radius.max() ** 2) / 2, rel=0.01
    )


def test_dense_regions_do_not_touch():
    X, y = datasets.make_dense_regions(n_rectangle=2000, n_ring=2000, n_noise=0)
    for one, two in ((0, 1), (0, 2), (1, 2)):
        gaps = np.linalg.norm(X[y == one][:, None] - X[y == two], axis=2)
        assert gaps.min() > 1


def test_positions_of_the_outliers_of_the_gaussian():
    X, y = datasets.make_gaussian_outliers(n_inliers=20_000, n_right=500, n_left=200)
    inliers, outliers = X[y == 0], X[y == -1]
    assert np.abs(inliers.mean(axis=0)).max() < 0.05
    assert np.abs(np.cov(inliers.T) - np.eye(2)).max() < 0.06
    assert within(outliers, [3, -10], [10, 10]).sum() == 500
    assert within(outliers, [-10, -10], [-3, 10]).sum() == 200


def test_two_clusters_are_separable_and_outliers_are_far():
    X, y = datasets.make_two_groups_outliers(n_group=200, n_outliers=7, random_state=1)
    assert X[y == 0, 0].max() < X[y == 1, 0].min()
    groups, outliers = X[y >= 0], X[y == -1]
    gaps = np.linalg.norm(outliers[:, None] - groups, axis=2).min(axis=1)
    assert gaps.min() > 1.5


def test_ring_encloses_the_cluster():
    X, y = datasets.make_ring_outliers(n_group=500, n_ring=500, random_state=1)
    radius = np.linalg.norm(X, axis=1)
    assert radius[y == 0].max() < radius[y == 1].min()
    assert radius[y == 1].max() < radius[y == -1].min()
    angle = np.sort(np.arctan2(*X[y == 1].T))
    assert np.diff(angle).max() < 0.05


@pytest.mark.parametrize(
    ("maker", "file", "seed"),
    [
        (datasets.make_dense_regions, "dense_regions_0.csv", 0),
        (datasets.make_six_clusters, "six_clusters_2.csv", 2),
        (datasets.make_gaussian_outliers, "gaussian_outliers_0.csv", 0),
        (datasets.make_ring_outliers, "ring_blob_0.csv", 0),
        (datasets.make_three_gaussians, "three_gaussians_0.csv", 0),
    ],
    ids=[maker.__name__ for maker in MAKERS if maker is not datasets.make_two_groups_outliers],
)
def test_equal_to_the_reference_files(maker, file, seed, folder):
    reference = folder.parent / "reference" / file
    if not reference.is_file():
        pytest.skip(f"no {reference}")
    table = pd.read_csv(reference)
    X, y = maker(random_state=seed)
    assert np.allclose(X, table[["x", "y"]], rtol=0, atol=1e-12)
    assert np.array_equal(y, table["label"])


def test_three_gaussians_are_at_the_corners_of_a_triangle():
    X, y = datasets.make_three_gaussians(n_group=4000, distance=6.0, random_state=0)
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    sides = np.linalg.norm(means - np.roll(means, 1, axis=0), axis=1)
    assert sides == pytest.approx(6, abs=0.1)
    assert all(X[y == k].std(axis=0) == pytest.approx(1, abs=0.05) for k in range(3))
