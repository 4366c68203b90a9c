"""Generate the synthetic data sets of the papers. Noise and outliers have the label −1.

The same seed gives the same points on every machine, and no global generator is seeded. The papers
are those of Filippone, Masulli and Rovetta (2007, 2010), Shen, Wang and Wu (2004), and Mall,
Langone and Suykens (2015).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softkern._utils.random import child_seed

__all__ = [
    "make_dense_regions",
    "make_gaussian_outliers",
    "make_ring_outliers",
    "make_six_clusters",
    "make_three_gaussians",
    "make_two_groups_outliers",
]

Points = NDArray[np.float64]
Labels = NDArray[np.int64]


def make_dense_regions(
    *, n_rectangle: int = 100, n_ring: int = 300, n_noise: int = 1000, random_state: Any = None
) -> tuple[Points, Labels]:
    """Generate two dense rectangles and a dense ring in uniform noise (2007's data).

    The square of :doi:`10.1007/978-3-540-73400-0_27` is 10 × 10. Each rectangle covers 1.24 % of it
    and the ring 7.79 %. The noise covers the whole square, so some points with label −1 lie inside
    a dense region.

    Parameters
    ----------
    n_rectangle : int, default=100
        Number of points per rectangle (labels 0 and 1).
    n_ring : int, default=300
        Number of points in the ring (label 2).
    n_noise : int, default=1000
        Number of noise points (label −1).
    random_state : int, Generator, RandomState or None, default=None
        Random seed.

    Returns
    -------
    X, y : arrays of shape (n, 2) and (n,), n = 2 n_rectangle + n_ring + n_noise
        The points and their labels.

    Examples
    --------
    >>> X, y = make_dense_regions(random_state=0)
    >>> X.shape, [int((y == label).sum()) for label in (0, 1, 2, -1)]
    ((1500, 2), [100, 100, 300, 1000])
    """
    rng = _generator(random_state, n_rectangle=n_rectangle, n_ring=n_ring, n_noise=n_noise)
    left = rng.uniform([1.0, 6.5], [2.24, 7.5], (n_rectangle, 2))
    right = rng.uniform([6.0, 7.5], [7.24, 8.5], (n_rectangle, 2))
    inner = 1.5
    outer_squared = inner**2 + 7.79 / np.pi
    radius = np.sqrt(rng.uniform(inner**2, outer_squared, n_ring))  # uniform over the ring's area
    ring = _around([6.5, 3.5], radius, rng.uniform(0, 2 * np.pi, n_ring))
    return _labeled([left, right, ring], rng.uniform(0, 10, (n_noise, 2)))


def make_six_clusters(
    *,
    n_ball: int = 30,
    n_banana: int = 60,
    n_ring: int = 80,
    n_outliers: int = 30,
    random_state: Any = None,
) -> tuple[Points, Labels]:
    """Generate four balls, a banana, a ring and a few outliers (2010's Fig. 1).

    :doi:`10.1109/TFUZZ.2010.2043440` gives numbers of points and a figure. Positions and widths
    were measured in the figure.

    Parameters
    ----------
    n_ball : int, default=30
        Number of points per ball (labels 0 to 3).
    n_banana : int, default=60
        Number of points in the banana (label 4).
    n_ring : int, default=80
        Number of points in the ring (label 5).
    n_outliers : int, default=30
        Number of points uniform in the square [−8, 8]² (label −1).
    random_state : int, Generator, RandomState or None, default=None
        Random seed.

    Returns
    -------
    X, y : arrays of shape (n, 2) and (n,)
        The points and their labels.

    Examples
    --------
    >>> X, y = make_six_clusters(random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((290, 2), [-1, 0, 1, 2, 3, 4, 5])
    """
    rng = _generator(
        random_state, n_ball=n_ball, n_banana=n_banana, n_ring=n_ring, n_outliers=n_outliers
    )
    centers = [(-6.0, 6.0), (-2.0, 6.0), (-6.0, 1.5), (-2.0, 1.5)]
    clusters = [0.4 * rng.normal(size=(n_ball, 2)) + center for center in centers]
    angle = rng.uniform(0, np.pi, n_banana)
    clusters.append(_around([-4.0, -5.5], 2.5 + 0.2 * rng.normal(size=n_banana), angle))
    angle = rng.uniform(0, 2 * np.pi, n_ring)
    clusters.append(_around([4.5, -2.0], 2.5 + 0.2 * rng.normal(size=n_ring), angle))
    return _labeled(clusters, rng.uniform(-8, 8, (n_outliers, 2)))


def make_gaussian_outliers(
    *, n_inliers: int = 400, n_right: int = 20, n_left: int = 10, random_state: Any = None
) -> tuple[Points, Labels]:
    """Generate a Gaussian with more outliers on its right than on its left (2010's Fig. 2).

    The paper is :doi:`10.1109/TFUZZ.2010.2043440`.

    Parameters
    ----------
    n_inliers : int, default=400
        Number of points of the standard Gaussian (label 0).
    n_right : int, default=20
        Number of outliers uniform in [3, 10] × [−10, 10] (label −1).
    n_left : int, default=10
        Number of outliers uniform in [−10, −3] × [−10, 10] (label −1).
    random_state : int, Generator, RandomState or None, default=None
        Random seed.

    Returns
    -------
    X, y : arrays of shape (n, 2) and (n,)
        The points and their labels.

    Examples
    --------
    >>> X, y = make_gaussian_outliers(random_state=0)
    >>> X.shape, int((y == -1).sum())
    ((430, 2), 30)
    """
    rng = _generator(random_state, n_inliers=n_inliers, n_right=n_right, n_left=n_left)
    inliers = rng.normal(size=(n_inliers, 2))
    right = rng.uniform([3, -10], [10, 10], (n_right, 2))
    left = rng.uniform([-10, -10], [-3, 10], (n_left, 2))
    return _labeled([inliers], np.concatenate([right, left]))


def make_two_groups_outliers(
    *, n_group: int = 60, n_outliers: int = 4, random_state: Any = None
) -> tuple[Points, Labels]:
    """Generate two linearly separable clusters and a few outliers (2004's Fig. 2).

    The paper, http://www.jos.org.cn/1000-9825/15/1021.htm, gives only a figure. Positions and
    widths were chosen to look like it.

    Parameters
    ----------
    n_group : int, default=60
        Number of points per cluster, Gaussian around (−2.5, 0) and (2.5, 0) with standard
        deviation 0.7 (labels 0 and 1).
    n_outliers : int, default=4
        Number of points on the circle of radius 7 around the origin, at equal angles (label −1).
    random_state : int, Generator, RandomState or None, default=None
        Random seed.

    Returns
    -------
    X, y : arrays of shape (2 n_group + n_outliers, 2) and (2 n_group + n_outliers,)
        The points and their labels.

    Examples
    --------
    >>> X, y = make_two_groups_outliers(random_state=0)
    >>> X.shape, int((y == -1).sum())
    ((124, 2), 4)
    """
    rng = _generator(random_state, n_group=n_group, n_outliers=n_outliers)
    groups = [0.7 * rng.normal(size=(n_group, 2)) + center for center in ((-2.5, 0), (2.5, 0))]
    angle = rng.uniform(0, 2 * np.pi) + 2 * np.pi * np.arange(n_outliers) / max(n_outliers, 1)
    return _labeled(groups, _around([0.0, 0.0], np.full(n_outliers, 7.0), angle))


def make_ring_outliers(
    *, n_group: int = 60, n_ring: int = 100, random_state: Any = None
) -> tuple[Points, Labels]:
    """Generate a cluster inside a ring, and three outliers (2004's Fig. 6).

    The two are not linearly separable, but a Gaussian kernel separates them. The paper,
    http://www.jos.org.cn/1000-9825/15/1021.htm, gives only a figure.

    Parameters
    ----------
    n_group : int, default=60
        Number of points of the Gaussian at the origin with standard deviation 0.5 (label 0).
    n_ring : int, default=100
        Number of points at equal angles on the ring of radius 4 ± 0.2 (label 1). The outliers
        (label −1) are at (6, 6), (−6.5, 5.5) and (6, −6).
    random_state : int, Generator, RandomState or None, default=None
        Random seed.

    Returns
    -------
    X, y : arrays of shape (n_group + n_ring + 3, 2) and (n_group + n_ring + 3,)
        The points and their labels.

    Examples
    --------
    >>> X, y = make_ring_outliers(random_state=0)
    >>> X.shape, X[-1].tolist()
    ((163, 2), [6.0, -6.0])
    """
    rng = _generator(random_state, n_group=n_group, n_ring=n_ring)
    radius = 4 + 0.2 * rng.normal(size=n_ring)
    ring = _around([0.0, 0.0], radius, 2 * np.pi * np.arange(n_ring) / max(n_ring, 1))
    group = 0.5 * rng.normal(size=(n_group, 2))
    return _labeled([group, ring], np.array([[6.0, 6.0], [-6.5, 5.5], [6.0, -6.0]]))


def make_three_gaussians(
    *, n_group: int = 500, distance: float = 4.0, random_state: Any = None
) -> tuple[Points, Labels]:
    """Generate three overlapping Gaussians at the corners of a triangle (2015's Fig. 1).

    The paper gives a figure and a size of 1,500. Positions and widths were chosen to look like it.

    Parameters
    ----------
    n_group : int, default=500
        Number of points per cluster, with standard deviation 1 (labels 0, 1 and 2).
    distance : float, default=4.0
        Distance between any two centers.
    random_state : int, Generator, RandomState or None, default=None
        Random seed.

    Returns
    -------
    X, y : arrays of shape (3 n_group, 2) and (3 n_group,)
        The points and their labels.

    Examples
    --------
    >>> X, y = make_three_gaussians(random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((1500, 2), [0, 1, 2])
    """
    rng = _generator(random_state, n_group=n_group)
    corners = distance * np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    groups = [rng.normal(size=(n_group, 2)) + corner for corner in corners]
    return _labeled(groups, np.empty((0, 2)))


def _generator(random_state: Any, **sizes: Any) -> np.random.Generator:
    """Return a new generator, seeded by a RandomState if one is given, and check sizes."""
    for name, size in sizes.items():
        if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 0:
            raise ValueError(f"{name} must be an integer ≥ 0, got {size!r}.")
    if isinstance(random_state, np.random.RandomState):
        random_state = child_seed(random_state)
    return np.random.default_rng(random_state)


def _around(center: ArrayLike, radius: Points, angle: Points) -> Points:
    """Return points (n, 2) from polar coordinates around a center."""
    return np.asarray(center) + np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _labeled(clusters: list[Points], noise: Points) -> tuple[Points, Labels]:
    """Stack clusters (labels 0, 1, …) and noise (label −1)."""
    labels = [np.full(len(points), label) for label, points in enumerate(clusters)]
    labels.append(np.full(len(noise), -1))
    return np.concatenate([*clusters, noise]), np.concatenate(labels).astype(np.int64)
