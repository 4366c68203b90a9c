"""Data to try the models on: the papers' synthetic sets, and named real ones.

The generators draw the sets on which the papers show their methods, with noise and outliers
labelled −1; the same seed gives the same points on every machine, and nothing global is seeded.
`load` reads a real set by name from a folder of CSV files, from scikit-learn's own copies or from
OpenML, whichever is there first. Called by the examples, the benchmarks and the papers' reruns.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import fetch_openml, load_iris, load_wine
from sklearn.utils import Bunch

__all__ = [
    "data_folder",
    "load",
    "make_dense_regions",
    "make_gaussian_outliers",
    "make_ring_outliers",
    "make_six_clusters",
    "make_two_groups_outliers",
    "names",
]

Points = NDArray[np.float64]
Labels = NDArray[np.int64]
FOLDER_VARIABLE = "SOFTKERN_DATA"


# The papers' synthetic sets


def make_dense_regions(
    *,
    n_rectangle: int = 100,
    n_ring: int = 300,
    n_noise: int = 1000,
    random_state: Any = None,
) -> tuple[Points, Labels]:
    """Two rectangles and a ring, dense, in a square of uniform noise: the set of 2007 [1]_.

    The square is 10 × 10. Each rectangle covers 1.24 % of it and the ring 7.79 %; the noise covers
    all of it, the dense regions too, so that some points labelled −1 lie inside a region.

    Parameters
    ----------
    n_rectangle : int, default=100
        Points in each rectangle; labels 0 and 1.
    n_ring : int, default=300
        Points in the ring; label 2.
    n_noise : int, default=1000
        Points of noise; label −1.
    random_state : int, Generator, RandomState or None, default=None
        An int gives the same points every time.

    Returns
    -------
    X : array of shape (2 n_rectangle + n_ring + n_noise, 2)
    y : array of shape (2 n_rectangle + n_ring + n_noise,)

    References
    ----------
    .. [1] M. Filippone, F. Masulli, S. Rovetta, "Possibilistic clustering in feature space",
       WILF 2007. :doi:`10.1007/978-3-540-73400-0_27`

    Examples
    --------
    >>> X, y = make_dense_regions(random_state=0)
    >>> X.shape, [int((y == label).sum()) for label in (0, 1, 2, -1)]
    ((1500, 2), [100, 100, 300, 1000])
    """
    _check_sizes(n_rectangle=n_rectangle, n_ring=n_ring, n_noise=n_noise)
    rng = _generator(random_state)
    left = rng.uniform([1.0, 6.5], [2.24, 7.5], (n_rectangle, 2))
    right = rng.uniform([6.0, 7.5], [7.24, 8.5], (n_rectangle, 2))
    inner = 1.5
    outer_squared = inner**2 + 7.79 / np.pi
    radius = np.sqrt(rng.uniform(inner**2, outer_squared, n_ring))  # uniform over the ring's area
    ring = _around([6.5, 3.5], radius, rng.uniform(0, 2 * np.pi, n_ring))
    return _labelled([left, right, ring], rng.uniform(0, 10, (n_noise, 2)))


def make_six_clusters(
    *,
    n_ball: int = 30,
    n_banana: int = 60,
    n_ring: int = 80,
    n_outliers: int = 30,
    random_state: Any = None,
) -> tuple[Points, Labels]:
    """Four balls, a banana and a ring with a few outliers: the set of 2010's Fig. 1 [1]_.

    The paper gives the numbers of points and a picture; places and widths are read from it.

    Parameters
    ----------
    n_ball : int, default=30
        Points in each of the four balls; labels 0 to 3.
    n_banana : int, default=60
        Points in the banana; label 4.
    n_ring : int, default=80
        Points in the ring; label 5.
    n_outliers : int, default=30
        Points spread over the square [−8, 8]²; label −1.
    random_state : int, Generator, RandomState or None, default=None
        An int gives the same points every time.

    Returns
    -------
    X : array of shape (n, 2)
    y : array of shape (n,)

    References
    ----------
    .. [1] M. Filippone, F. Masulli, S. Rovetta, "Applying the possibilistic c-means algorithm in
       kernel-induced spaces", IEEE Trans. Fuzzy Systems 18(3), 2010.
       :doi:`10.1109/TFUZZ.2010.2043440`

    Examples
    --------
    >>> X, y = make_six_clusters(random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((290, 2), [-1, 0, 1, 2, 3, 4, 5])
    """
    _check_sizes(n_ball=n_ball, n_banana=n_banana, n_ring=n_ring, n_outliers=n_outliers)
    rng = _generator(random_state)
    centres = [(-6.0, 6.0), (-2.0, 6.0), (-6.0, 1.5), (-2.0, 1.5)]
    clusters = [0.4 * rng.normal(size=(n_ball, 2)) + centre for centre in centres]
    angle = rng.uniform(0, np.pi, n_banana)
    clusters.append(_around([-4.0, -5.5], 2.5 + 0.2 * rng.normal(size=n_banana), angle))
    angle = rng.uniform(0, 2 * np.pi, n_ring)
    clusters.append(_around([4.5, -2.0], 2.5 + 0.2 * rng.normal(size=n_ring), angle))
    return _labelled(clusters, rng.uniform(-8, 8, (n_outliers, 2)))


def make_gaussian_outliers(
    *,
    n_inliers: int = 400,
    n_right: int = 20,
    n_left: int = 10,
    random_state: Any = None,
) -> tuple[Points, Labels]:
    """One Gaussian with more outliers on its right than on its left: 2010's Fig. 2 [1]_.

    Parameters
    ----------
    n_inliers : int, default=400
        Points of the Gaussian at the origin, of unit variance; label 0.
    n_right : int, default=20
        Outliers uniform in [3, 10] × [−10, 10]; label −1.
    n_left : int, default=10
        Outliers uniform in [−10, −3] × [−10, 10]; label −1.
    random_state : int, Generator, RandomState or None, default=None
        An int gives the same points every time.

    Returns
    -------
    X : array of shape (n, 2)
    y : array of shape (n,)

    References
    ----------
    .. [1] M. Filippone, F. Masulli, S. Rovetta, "Applying the possibilistic c-means algorithm in
       kernel-induced spaces", IEEE Trans. Fuzzy Systems 18(3), 2010.
       :doi:`10.1109/TFUZZ.2010.2043440`

    Examples
    --------
    >>> X, y = make_gaussian_outliers(random_state=0)
    >>> X.shape, int((y == -1).sum())
    ((430, 2), 30)
    """
    _check_sizes(n_inliers=n_inliers, n_right=n_right, n_left=n_left)
    rng = _generator(random_state)
    inliers = rng.normal(size=(n_inliers, 2))
    right = rng.uniform([3, -10], [10, 10], (n_right, 2))
    left = rng.uniform([-10, -10], [-3, 10], (n_left, 2))
    return _labelled([inliers], np.concatenate([right, left]))


def make_two_groups_outliers(
    *, n_group: int = 60, n_outliers: int = 4, random_state: Any = None
) -> tuple[Points, Labels]:
    """Two groups that a line tells apart, and a few outliers: 2004's Fig. 2 [1]_.

    The paper gives a picture only; places and widths are chosen to look like it.

    Parameters
    ----------
    n_group : int, default=60
        Points in each group, Gaussian around (−2.5, 0) and (2.5, 0) with standard deviation 0.7;
        labels 0 and 1.
    n_outliers : int, default=4
        Points on the circle of radius 7 around the origin, evenly spread from a random angle on;
        label −1.
    random_state : int, Generator, RandomState or None, default=None
        An int gives the same points every time.

    Returns
    -------
    X : array of shape (2 n_group + n_outliers, 2)
    y : array of shape (2 n_group + n_outliers,)

    References
    ----------
    .. [1] H.-B. Shen, S.-T. Wang, X.-J. Wu, "Fuzzy kernel clustering with outliers", Journal of
       Software 15(7), 2004. http://www.jos.org.cn/1000-9825/15/1021.htm

    Examples
    --------
    >>> X, y = make_two_groups_outliers(random_state=0)
    >>> X.shape, int((y == -1).sum())
    ((124, 2), 4)
    """
    _check_sizes(n_group=n_group, n_outliers=n_outliers)
    rng = _generator(random_state)
    groups = [0.7 * rng.normal(size=(n_group, 2)) + centre for centre in ((-2.5, 0), (2.5, 0))]
    angle = rng.uniform(0, 2 * np.pi) + 2 * np.pi * np.arange(n_outliers) / max(n_outliers, 1)
    return _labelled(groups, _around([0.0, 0.0], np.full(n_outliers, 7.0), angle))


def make_ring_outliers(
    *, n_group: int = 60, n_ring: int = 100, random_state: Any = None
) -> tuple[Points, Labels]:
    """A group within a ring, and three outliers: 2004's Fig. 6 [1]_.

    No line tells group and ring apart, a Gaussian kernel does. The paper gives a picture only.

    Parameters
    ----------
    n_group : int, default=60
        Points of the Gaussian at the origin, of standard deviation 0.5; label 0.
    n_ring : int, default=100
        Points at equal angles on the ring of radius 4 ± 0.2; label 1. The outliers, label −1, are
        at (6, 6), (−6.5, 5.5) and (6, −6).
    random_state : int, Generator, RandomState or None, default=None
        An int gives the same points every time.

    Returns
    -------
    X : array of shape (n_group + n_ring + 3, 2)
    y : array of shape (n_group + n_ring + 3,)

    References
    ----------
    .. [1] H.-B. Shen, S.-T. Wang, X.-J. Wu, "Fuzzy kernel clustering with outliers", Journal of
       Software 15(7), 2004. http://www.jos.org.cn/1000-9825/15/1021.htm

    Examples
    --------
    >>> X, y = make_ring_outliers(random_state=0)
    >>> X.shape, X[-1].tolist()
    ((163, 2), [6.0, -6.0])
    """
    _check_sizes(n_group=n_group, n_ring=n_ring)
    rng = _generator(random_state)
    radius = 4 + 0.2 * rng.normal(size=n_ring)
    ring = _around([0.0, 0.0], radius, 2 * np.pi * np.arange(n_ring) / max(n_ring, 1))
    group = 0.5 * rng.normal(size=(n_group, 2))
    return _labelled([group, ring], np.array([[6.0, 6.0], [-6.5, 5.5], [6.0, -6.0]]))


def _generator(random_state: Any) -> np.random.Generator:
    """A generator of our own; a RandomState gives it a seed, as scikit-learn's users expect."""
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31 - 1))
    return np.random.default_rng(random_state)


def _check_sizes(**sizes: Any) -> None:
    for name, size in sizes.items():
        if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 0:
            raise ValueError(f"{name} must be a whole number of at least 0, got {size!r}.")


def _around(centre: ArrayLike, radius: Points, angle: Points) -> Points:
    """Points (n, 2) given by their polar coordinates around a centre."""
    return np.asarray(centre) + np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _labelled(clusters: list[Points], noise: Points) -> tuple[Points, Labels]:
    """Clusters one after the other, labelled 0, 1, ..., and the noise last, labelled −1."""
    labels = [np.full(len(points), label) for label, points in enumerate(clusters)]
    labels.append(np.full(len(noise), -1))
    return np.concatenate([*clusters, noise]), np.concatenate(labels).astype(np.int64)


# Real sets by name


@dataclass(frozen=True)
class _Source:
    """Where a set is found beside the folder, and what makes that copy equal to the folder's."""

    columns: tuple[str, ...]
    openml: int | None = None  # OpenML's data id
    bundled: Callable[[], Bunch] | None = None  # scikit-learn's own copy
    labels: dict[str, Any] | None = None  # the other copies' labels in the folder's words
    last_columns: int | None = None  # the folder keeps these of OpenML's columns only

    @classmethod
    def of(cls, columns: str, **kwargs: Any) -> _Source:
        return cls(tuple(columns.split()), **kwargs)


_IRIS = "sepal_length sepal_width petal_length petal_width"
_SPECIES = ("setosa", "versicolor", "virginica")
# scikit-learn's iris is Fisher's; OpenML's is UCI's, which has two wrong rows, so the two have two
# names. scikit-learn's breast cancer set is another one (569 × 30), so it is no source of `wbc`.
_SOURCES: dict[str, _Source] = {
    "iris": _Source.of(
        _IRIS, bundled=load_iris, labels={str(i): name for i, name in enumerate(_SPECIES)}
    ),
    "iris_uci": _Source.of(_IRIS, openml=61, labels={f"Iris-{name}": name for name in _SPECIES}),
    "wine": _Source.of(
        "alcohol malic_acid ash alcalinity_of_ash magnesium total_phenols flavanoids "
        "nonflavanoid_phenols proanthocyanins color_intensity hue od280_od315 proline",
        bundled=load_wine,
        labels={"0": 1, "1": 2, "2": 3},
    ),
    "wbc": _Source.of(
        "clump_thickness cell_size_uniformity cell_shape_uniformity marginal_adhesion "
        "epithelial_cell_size bare_nuclei bland_chromatin normal_nucleoli mitoses",
        openml=15,
    ),
    "ionosphere": _Source.of(" ".join(f"a{i:02d}" for i in range(1, 35)), openml=59),
    "pima": _Source.of(
        "npreg glu bp skin insulin bmi ped age",
        openml=37,
        labels={"tested_negative": 0, "tested_positive": 1},
    ),
    "seeds": _Source.of(
        "area perimeter compactness kernel_length kernel_width asymmetry groove_length",
        openml=1499,
        labels={"1": "Kama", "2": "Rosa", "3": "Canadian"},
    ),
    "biomed": _Source.of("m1 m2 m3 m4", openml=481, last_columns=4),
}
_IN_FOLDER_ONLY = ("pima_tr", "pima_te")
_SHAPES = (
    "a1 aggregation d31 europe flame graves_ring graves_ring_outliers hdbscan jain mopsi_finland "
    "mopsi_joensuu r15 s1 s2 s3 s4 spiral"
)
_ADBENCH = (
    "breastw cardio glass Hepatitis letter mammography Pima satellite Stamps thyroid vowels "
    "Waveform WBC"
)


def names() -> list[str]:
    """The names that `load` knows.

    Examples
    --------
    >>> {"iris", "wbc", "shapes/r15", "adbench/cardio"} <= set(names())
    True
    """
    shapes = [f"shapes/{name}" for name in _SHAPES.split()]
    adbench = [f"adbench/{name}" for name in _ADBENCH.split()]
    return [*_SOURCES, *_IN_FOLDER_ONLY, *shapes, *adbench]


def data_folder() -> Path | None:
    """The folder of CSV files that `load` reads, or None where there is none.

    It is the one named by the environment variable ``SOFTKERN_DATA``, or ``../shared/data`` beside
    a checkout of the repository.
    """
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        if not Path(named).is_dir():
            raise NotADirectoryError(f"{FOLDER_VARIABLE} is {named!r}, which is not a folder.")
        return Path(named)
    checkout = Path(__file__).resolve().parents[2]
    beside = checkout.parent / "shared" / "data"
    return beside if (checkout / "pyproject.toml").is_file() and beside.is_dir() else None


def load(name: str) -> Bunch:
    """A real data set by name, with the same rows, columns and labels wherever it is found.

    The folder of `data_folder` is looked at first, then scikit-learn's own copy, then OpenML
    (which needs a network and keeps what it fetched in scikit-learn's data home). Rows with a
    missing value are left out; nothing is scaled.

    Parameters
    ----------
    name : str
        One of `names`.

    Returns
    -------
    data : Bunch
        ``data`` (DataFrame of numbers), ``target`` (array of labels, or None where the set has
        none), ``feature_names`` (list), ``name``, and ``source`` (where it was found).

    Examples
    --------
    >>> iris = load("iris")
    >>> iris.data.shape, sorted(set(iris.target.tolist()))
    ((150, 4), ['setosa', 'versicolor', 'virginica'])
    """
    if name not in names():
        raise ValueError(f"there is no data set {name!r}; the names are {', '.join(names())}.")
    folder = data_folder()
    for suffix in (".csv", ".csv.gz"):
        if folder is not None and (folder / f"{name}{suffix}").is_file():
            return _read(name, folder / f"{name}{suffix}")
    source = _SOURCES.get(name)
    if source is not None and source.bundled is not None:
        copy = source.bundled()
        return _bunch(name, copy.data, copy.target, source, "scikit-learn")
    if source is not None and source.openml is not None:
        return _fetch(name, source)
    raise FileNotFoundError(f"{name!r} is not on OpenML. {_remedy(name)}")


def _read(name: str, file: Path) -> Bunch:
    import pandas as pd

    table = pd.read_csv(file)
    target = table.pop("label").to_numpy() if "label" in table else None
    return Bunch(
        name=name, data=table, target=target, feature_names=list(table.columns), source=str(file)
    )


def _fetch(name: str, source: _Source) -> Bunch:
    try:
        with warnings.catch_warnings():  # of retries; the error says it all
            warnings.simplefilter("ignore", (UserWarning, RuntimeWarning))
            copy = fetch_openml(data_id=source.openml, as_frame=True, parser="auto")
    except (OSError, ValueError) as error:  # no network, a proxy's page, a set withdrawn
        raise ConnectionError(
            f"{name!r} could not be fetched from OpenML (data id {source.openml}): {error}. "
            f"{_remedy(name)}"
        ) from error
    data = copy.data if source.last_columns is None else copy.data.iloc[:, -source.last_columns :]
    complete = data.notna().all(axis=1).to_numpy()
    place = f"OpenML, data id {source.openml}"
    return _bunch(name, data[complete], np.asarray(copy.target)[complete], source, place)


def _bunch(name: str, data: Any, target: Any, source: _Source, place: str) -> Bunch:
    """Another copy in the folder's columns and words."""
    import pandas as pd

    columns = list(source.columns)
    values = np.asarray(data, dtype=np.float64)
    words = [str(label) for label in target]
    if source.labels is not None:
        words = [source.labels[word] for word in words]
    return Bunch(
        name=name,
        data=pd.DataFrame(values, columns=pd.Index(columns)),
        target=np.asarray(words),
        feature_names=columns,
        source=place,
    )


def _remedy(name: str) -> str:
    return (
        f"Put it as {name}.csv (a header, numbers, the last column 'label') into a folder and set "
        f"the environment variable {FOLDER_VARIABLE} to that folder."
    )
