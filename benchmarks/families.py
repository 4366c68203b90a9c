"""Data with known clusters: synthetic shapes and blobs, single clusters, published and real data.

Every draw is a function of a generator, a number of rows and, where possible, a number of columns.
`defaults.py` measures the defaults on them, and `calibrate.py` tunes constants on draws of the same
families with other seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import real_data
from sklearn.datasets import load_breast_cancer, load_digits, make_moons

SHAPES = ["hdbscan", "aggregation", "r15", "d31", "jain", "flame", "spiral", "graves_ring"]
SHAPES += ["s1", "s2", "s3", "s4", "a1"]
REAL = ["iris", "wine", "wbc", "seeds", "biomed", "breast cancer", "digits", "ionosphere"]
OUTLIER_SETS = [name.split("/")[1] for name in real_data.names() if name.startswith("adbench/")]
COLUMNS = (1, 2, 3, 5, 10, 20, 40, 100, 200)

# Data on which the constants of the defaults were tuned. Add other data sets used for tuning here.
TUNED_ON = """\
The constants of the defaults were tuned on draws of `FAMILIES` and `STRUCTURELESS` with other seeds,
on ADBench, the published shapes, and on iris, wine, seeds, biomed, wbc, digits, breast cancer and
ionosphere. These are training data."""

Draw = tuple[np.ndarray, np.ndarray]


def labeled(parts: list[np.ndarray], noise: np.ndarray | None = None) -> Draw:
    y = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    if noise is None:
        return np.concatenate(parts), y
    return np.concatenate([*parts, noise]), np.r_[y, np.full(len(noise), -1)]


def ring(r, n: int, radius: float, width: float, center=(0.0, 0.0)) -> np.ndarray:
    angle = r.uniform(0, 2 * np.pi, n)
    radii = radius + width * r.normal(size=n)
    return np.c_[radii * np.cos(angle), radii * np.sin(angle)] + center


def centers(r, count: int, d: int, apart: float) -> np.ndarray:
    """Return random positions with at least the distance `apart`."""
    found: list[np.ndarray] = []
    side, tries = apart * 1.2 * count ** (1 / min(d, 2)), 0
    while len(found) < count:
        place = (
            r.uniform(0, side, d) if d <= 2 else r.normal(size=d) * apart / (1 if d < 6 else 1.5)
        )
        if all(np.linalg.norm(place - other) > apart for other in found):
            found.append(place)
        tries += 1
        if tries > 300:
            found, tries = [], 0
    return np.array(found)


def blobs(count: int, d: int, apart: float, width: float) -> Callable[..., Draw]:
    def draw(r, n):
        return labeled(
            [c + width * r.normal(size=(n // count, d)) for c in centers(r, count, d, apart)]
        )

    return draw


def at(places, widths, shares) -> Callable[..., Draw]:
    """Return Gaussian blobs at given positions."""

    def draw(r, n):
        return labeled(
            [
                np.asarray(c) + s * r.normal(size=(max(20, int(n * f)), len(c)))
                for c, s, f in zip(places, widths, shares, strict=True)
            ]
        )

    return draw


def spirals(r, n):
    parts = []
    for k in range(3):
        t = np.sqrt(r.uniform(0.12, 1, n // 3)) * 1.755 * np.pi
        angle = t + 2 * np.pi * k / 3
        arm = np.c_[t * np.cos(angle), t * np.sin(angle)]
        parts.append(arm + 0.18 * r.normal(size=(n // 3, 2)))
    return labeled(parts)


def noisy_blobs(r, n):
    size = int(0.8 * n) // 4
    parts = [c + 0.6 * r.normal(size=(size, 2)) for c in centers(r, 4, 2, 5)]
    X = np.concatenate(parts)
    return labeled(parts, r.uniform(X.min(axis=0) - 1, X.max(axis=0) + 1, (n - 4 * size, 2)))


def stretched(r, n):
    shear = np.array([[0.6, -0.6], [-0.4, 0.8]])
    places = [(-5.34, -3.3), (4.14, 1.71), (0.96, 5.2)]
    return labeled([(np.array(c) + r.normal(size=(n // 3, 2))) @ shear for c in places])


def dense_regions(r, n):
    """Generate the 2007 paper's data: two rectangles and a ring in uniform noise."""
    n = max(n, 1500)
    small, large = n // 15, n // 5
    angle = r.uniform(0, 2 * np.pi, large)
    radius = np.sqrt(r.uniform(1.43**2, 2.125**2, large))
    parts = [
        np.c_[r.uniform(1, 2.24, small), r.uniform(6.5, 7.5, small)],
        np.c_[r.uniform(6, 7.24, small), r.uniform(7.5, 8.5, small)],
        np.c_[6.5 + radius * np.cos(angle), 3.45 + radius * np.sin(angle)],
    ]
    return labeled(parts, r.uniform(0, 10, (2 * n // 3, 2)))


def six_clusters(r, n):
    """Generate the 2010 paper's data: four blobs, an arc and a ring, with noise."""
    unit = max(n, 290) / 290
    small, arc, circle = int(30 * unit), int(60 * unit), int(80 * unit)
    parts = [
        np.array(c) + 0.4 * r.normal(size=(small, 2))
        for c in [(-6, 6), (-2, 6), (-6, 1.5), (-2, 1.5)]
    ]
    angle = r.uniform(np.pi, 2 * np.pi, arc)
    curve = np.c_[-3.75 + 2.4 * np.cos(angle), -2.6 + 2.2 * np.sin(angle)]
    parts += [curve + 0.2 * r.normal(size=(arc, 2)), ring(r, circle, 2.4, 0.25, (4.6, -2))]
    return labeled(parts, r.uniform(-8, 8, (small, 2)))


def lines(r, n):
    return labeled(
        [np.c_[r.uniform(0, 8, n // 3), k * 1.2 + 0.15 * r.normal(size=n // 3)] for k in range(3)]
    )


def squares(r, n):
    places = [(0, 0), (4, 0), (0, 4), (4, 4)]
    return labeled([np.array(c) + r.uniform(0, 3, (n // 4, 2)) for c in places])


FAMILIES: dict[str, Callable[..., Draw]] = {
    "two rings": lambda r, n: labeled([ring(r, n // 2, 1, 0.1), ring(r, n // 2, 2, 0.1)]),
    "three spirals": spirals,
    "two moons": lambda r, n: make_moons(n, noise=0.08, random_state=int(r.integers(2**31))),
    "unequal blobs": at([(0, 0), (5, 0), (1, 6)], [0.4, 1.0, 1.2], [0.12, 0.38, 0.5]),
    "blobs in noise": noisy_blobs,
    "stretched blobs": stretched,
    "2007 dense regions": dense_regions,
    "2010 six clusters": six_clusters,
    "6 blobs, d = 3": blobs(6, 3, 4, 0.8),
    "4 blobs, d = 5": blobs(4, 5, 3.2, 0.7),
    "5 blobs, d = 10": blobs(5, 10, 3.6, 0.8),
    "varying density": at([(0, 0), (6, 0), (0, 7)], [0.3, 0.8, 1.6], [1 / 3] * 3),
    "ring around blob": lambda r, n: labeled(
        [0.5 * r.normal(size=(n // 3, 2)), ring(r, n - n // 3, 3, 0.3)]
    ),
    "8 blobs": blobs(8, 2, 4.2, 0.8),
    "3 blobs, d = 1": at([(0,), (6,), (11,)], [1, 1, 0.7], [1 / 3] * 3),
    "2 near blobs": at([(0, 0), (4, 0)], [1, 1], [0.5] * 2),
    "lines": lines,
    "squares": squares,
}


def disc(r, n, d=2):
    X = r.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1)[:, None] * np.sqrt(r.uniform(size=(n, 1)))


def autoregressive(r, n, d, correlation=0.9):
    """Generate Gaussian columns, each correlated with the previous one."""
    X = r.normal(size=(n, d))
    for j in range(1, d):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    return X


def few_factors(r, n, d, factors=2, noise=0.3):
    """Generate Gaussian columns with a few common factors."""
    return r.normal(size=(n, factors)) @ r.normal(size=(factors, d)) + noise * r.normal(size=(n, d))


def shared_factor(r, n, d, noise=1.0):
    """Generate columns with one uniform factor in common."""
    return r.uniform(-3, 3, (n, 1)) + noise * r.normal(size=(n, d))


def joint_t(r, n, d, freedom):
    """Generate Student's t with a scale that is common to all columns of a row."""
    return r.normal(size=(n, d)) / np.sqrt(r.chisquare(freedom, (n, 1)) / freedom)


def ring_in_columns(r, n, d, width):
    """Generate a ring in two columns, and noise as wide as its line in the others."""
    return np.c_[ring(r, n, 1, width), width * r.normal(size=(n, d - 2))]


def arc(r, n, d, degrees=180.0, width=0.1):
    """Generate a part of a circle in two columns, and noise as wide as its line in the others."""
    angle = r.uniform(0, np.radians(degrees), n)
    X = width * r.normal(size=(n, d))
    X[:, :2] += np.column_stack([np.cos(angle), np.sin(angle)])
    return X


def s_curve(r, n, d, width=0.1):
    """Generate two arcs of 270° with opposite curvature in two columns, and noise."""
    t = r.uniform(-1.5 * np.pi, 1.5 * np.pi, n)
    X = width * r.normal(size=(n, d))
    X[:, :2] += np.column_stack([np.sin(t), np.sign(t) * (np.cos(t) - 1)])
    return X


def spiral_arm(r, n, d, width=0.4):
    """Generate a uniform spiral of one and a half turns in two columns, and noise."""
    t = np.sqrt(r.uniform(0.1, 1, n)) * 3 * np.pi
    X = width * r.normal(size=(n, d))
    X[:, :2] += np.column_stack([t * np.cos(t), t * np.sin(t)])
    return X


def repeated(r, n, d, copies=3):
    """Repeat every row."""
    return np.repeat(r.normal(size=(-(-n // copies), d)), copies, axis=0)[:n]


@dataclass(frozen=True)
class OneGroup:
    """Data with a single cluster: generator and numbers of columns."""

    draw: Callable[..., np.ndarray]  # takes a generator, rows and columns
    columns: tuple[int, ...] = COLUMNS


ONE_GROUP: dict[str, OneGroup] = {
    "uniform": OneGroup(lambda r, n, d: r.uniform(size=(n, d))),
    "Gaussian": OneGroup(lambda r, n, d: r.normal(size=(n, d))),
    "autoregressive": OneGroup(autoregressive, COLUMNS[1:]),
    "few factors": OneGroup(few_factors, COLUMNS[2:]),
    "t, 3 degrees": OneGroup(lambda r, n, d: r.standard_t(3, (n, d))),
    "t, 2 degrees": OneGroup(lambda r, n, d: r.standard_t(2, (n, d)), (1, 3, 10)),
    "joint t, 3 degrees": OneGroup(partial(joint_t, freedom=3), COLUMNS[1:]),
    "shared uniform factor": OneGroup(shared_factor, COLUMNS[1:]),
    "exponential": OneGroup(lambda r, n, d: r.exponential(size=(n, d))),
    "lognormal": OneGroup(lambda r, n, d: r.lognormal(size=(n, d))),
    "disc": OneGroup(disc, (2,)),
    "segment": OneGroup(lambda r, n, d: np.c_[r.uniform(0, 10, n), 0.1 * r.normal(size=n)], (2,)),
    "ring": OneGroup(partial(ring_in_columns, width=0.1), (2, 3, 5, 10)),
    "thin ring": OneGroup(partial(ring_in_columns, width=0.03), (2, 3, 5, 10)),
    "arc": OneGroup(arc, (2, 3, 5)),
    "S-curve": OneGroup(s_curve, (2, 3, 5)),
    "spiral arm": OneGroup(spiral_arm, (2, 3)),
    "rounded": OneGroup(lambda r, n, d: r.normal(size=(n, d)).round(1)),
    "whole numbers": OneGroup(lambda r, n, d: (3 * r.normal(size=(n, d))).round()),
    "repeated rows": OneGroup(repeated),
}


def structureless(*cells: tuple[str, int]) -> dict[str, Callable[..., np.ndarray]]:
    """Return generators of a single cluster with a fixed number of columns, by name."""
    return {f"{name}, d = {d}": partial(ONE_GROUP[name].draw, d=d) for name, d in cells}


STRUCTURELESS: dict[str, Callable[..., np.ndarray]] = structureless(
    *(("uniform", d) for d in (1, 2, 5)),
    *(("Gaussian", d) for d in (1, 2, 3, 5, 10)),
    ("disc", 2),
    ("ring", 2),
    ("thin ring", 2),
    ("segment", 2),
    ("t, 3 degrees", 2),
    ("t, 2 degrees", 3),
    ("exponential", 2),
    ("lognormal", 1),
    ("lognormal", 2),
)


def apart(r, sizes: tuple[int, ...], d: int, distance: float) -> Draw:
    """Return round Gaussian blobs with equal distances in standard deviations.

    Their directions are random, so that no single column separates them.
    """
    if len(sizes) > d:
        raise ValueError(f"{len(sizes)} blobs in {d} columns; take at most one for each column.")
    directions = np.linalg.qr(r.normal(size=(d, d)))[0]  # pairwise distance √2
    places = directions[: len(sizes)] * distance / np.sqrt(2)
    return labeled([c + r.normal(size=(n, d)) for c, n in zip(places, sizes, strict=True)])


def shape(name: str) -> Draw:
    """Load a published data set with two columns. Noise is −1."""
    bunch = real_data.load_dataset(f"shapes/{name}")
    y = np.where(bunch.target == 0, -1, bunch.target).astype(int)  # 0 is noise
    return bunch.data.to_numpy(float), y


def real(name: str) -> Draw:
    """Load a real data set and its classes."""
    bundled = {"breast cancer": load_breast_cancer, "digits": load_digits}
    if name in bundled:
        return bundled[name](return_X_y=True)
    bunch = real_data.load_dataset(name)
    return bunch.data.to_numpy(float), np.unique(bunch.target, return_inverse=True)[1]


def outlier_set(name: str) -> Draw:
    """Load a data set of ADBench. y is 1 for outliers."""
    bunch = real_data.load_dataset(f"adbench/{name}")
    return bunch.data.to_numpy(float), np.asarray(bunch.target, dtype=int)
