"""Do the defaults find the clusters? AlphaCutClustering() against scikit-learn's HDBSCAN().

    python benchmarks/clusters.py                # all tables
    python benchmarks/clusters.py --draws 5      # more draws a family and size
    python benchmarks/clusters.py --only times

Both run with default parameters on the same draws. The first table gives, for every family, the
share of draws in which the number of clusters was right and the mean adjusted Rand index (noise
counted as a class of its own); the second the share of false splits on data without structure; the
third the published two-dimensional sets; the fourth seconds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from softkern import AlphaCutClustering, datasets

SHAPES = ["hdbscan", "aggregation", "r15", "d31", "jain", "flame", "spiral", "graves_ring"]
SHAPES += ["s1", "s2", "s3", "s4", "a1"]

Draw = tuple[np.ndarray, np.ndarray]


def labelled(parts: list[np.ndarray], noise: np.ndarray | None = None) -> Draw:
    y = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    if noise is None:
        return np.concatenate(parts), y
    return np.concatenate([*parts, noise]), np.r_[y, np.full(len(noise), -1)]


def ring(r, n: int, radius: float, width: float, centre=(0.0, 0.0)) -> np.ndarray:
    angle = r.uniform(0, 2 * np.pi, n)
    radii = radius + width * r.normal(size=n)
    return np.c_[radii * np.cos(angle), radii * np.sin(angle)] + centre


def centres(r, count: int, d: int, apart: float) -> np.ndarray:
    """Random places at least `apart` from each other."""
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
        return labelled(
            [c + width * r.normal(size=(n // count, d)) for c in centres(r, count, d, apart)]
        )

    return draw


def at(places, widths, shares) -> Callable[..., Draw]:
    """Gaussian blobs at given places."""

    def draw(r, n):
        return labelled(
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
    return labelled(parts)


def noisy_blobs(r, n):
    size = int(0.8 * n) // 4
    parts = [c + 0.6 * r.normal(size=(size, 2)) for c in centres(r, 4, 2, 5)]
    X = np.concatenate(parts)
    return labelled(parts, r.uniform(X.min(axis=0) - 1, X.max(axis=0) + 1, (n - 4 * size, 2)))


def stretched(r, n):
    shear = np.array([[0.6, -0.6], [-0.4, 0.8]])
    places = [(-5.34, -3.3), (4.14, 1.71), (0.96, 5.2)]
    return labelled([(np.array(c) + r.normal(size=(n // 3, 2))) @ shear for c in places])


def dense_regions(r, n):
    """The 2007 paper: two rectangles and a ring in uniform noise."""
    n = max(n, 1500)
    small, large = n // 15, n // 5
    angle = r.uniform(0, 2 * np.pi, large)
    radius = np.sqrt(r.uniform(1.43**2, 2.125**2, large))
    parts = [
        np.c_[r.uniform(1, 2.24, small), r.uniform(6.5, 7.5, small)],
        np.c_[r.uniform(6, 7.24, small), r.uniform(7.5, 8.5, small)],
        np.c_[6.5 + radius * np.cos(angle), 3.45 + radius * np.sin(angle)],
    ]
    return labelled(parts, r.uniform(0, 10, (2 * n // 3, 2)))


def six_clusters(r, n):
    """The 2010 paper: four blobs, an arc and a ring, with noise."""
    unit = max(n, 290) / 290
    small, arc, circle = int(30 * unit), int(60 * unit), int(80 * unit)
    parts = [
        np.array(c) + 0.4 * r.normal(size=(small, 2))
        for c in [(-6, 6), (-2, 6), (-6, 1.5), (-2, 1.5)]
    ]
    angle = r.uniform(np.pi, 2 * np.pi, arc)
    curve = np.c_[-3.75 + 2.4 * np.cos(angle), -2.6 + 2.2 * np.sin(angle)]
    parts += [curve + 0.2 * r.normal(size=(arc, 2)), ring(r, circle, 2.4, 0.25, (4.6, -2))]
    return labelled(parts, r.uniform(-8, 8, (small, 2)))


def lines(r, n):
    return labelled(
        [np.c_[r.uniform(0, 8, n // 3), k * 1.2 + 0.15 * r.normal(size=n // 3)] for k in range(3)]
    )


def squares(r, n):
    places = [(0, 0), (4, 0), (0, 4), (4, 4)]
    return labelled([np.array(c) + r.uniform(0, 3, (n // 4, 2)) for c in places])


FAMILIES: dict[str, Callable[..., Draw]] = {
    "two rings": lambda r, n: labelled([ring(r, n // 2, 1, 0.1), ring(r, n // 2, 2, 0.1)]),
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
    "ring around blob": lambda r, n: labelled(
        [0.5 * r.normal(size=(n // 3, 2)), ring(r, n - n // 3, 3, 0.3)]
    ),
    "8 blobs": blobs(8, 2, 4.2, 0.8),
    "3 blobs, d = 1": at([(0,), (6,), (11,)], [1, 1, 0.7], [1 / 3] * 3),
    "2 near blobs": at([(0, 0), (4, 0)], [1, 1], [0.5] * 2),
    "lines": lines,
    "squares": squares,
}


def disc(r, n):
    X = r.normal(size=(n, 2))
    return X / np.linalg.norm(X, axis=1)[:, None] * np.sqrt(r.uniform(size=(n, 1)))


STRUCTURELESS: dict[str, Callable[..., np.ndarray]] = {
    **{f"uniform, d = {d}": lambda r, n, d=d: r.uniform(size=(n, d)) for d in (1, 2, 5)},
    **{f"Gaussian, d = {d}": lambda r, n, d=d: r.normal(size=(n, d)) for d in (1, 2, 3, 5, 10)},
    "disc": disc,
    "ring": lambda r, n: ring(r, n, 1, 0.1),
    "thin ring": lambda r, n: ring(r, n, 1, 0.03),
    "segment": lambda r, n: np.c_[r.uniform(0, 10, n), 0.1 * r.normal(size=n)],
    "t, 3 degrees, d = 2": lambda r, n: r.standard_t(3, (n, 2)),
    "t, 2 degrees, d = 3": lambda r, n: r.standard_t(2, (n, 3)),
    "exponential, d = 2": lambda r, n: r.exponential(size=(n, 2)),
    "lognormal, d = 1": lambda r, n: r.lognormal(size=(n, 1)),
    "lognormal, d = 2": lambda r, n: r.lognormal(size=(n, 2)),
}


def score(X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    row: dict[str, float] = {"clusters": len(set(y.tolist()) - {-1})}
    for name, model in (("ours", AlphaCutClustering()), ("HDBSCAN", HDBSCAN(copy=True))):
        start = time.perf_counter()
        labels = model.fit_predict(X)
        row[f"{name} seconds"] = time.perf_counter() - start
        found = len(set(labels.tolist()) - {-1})
        row[f"{name} found"] = found
        row[f"{name} right"] = found == row["clusters"]
        row[f"{name} ARI"] = adjusted_rand_score(y, labels)
    return row


def study(families: dict, sizes: list[int], draws: int, seed: int) -> pd.DataFrame:
    rows = []
    for number, (name, draw) in enumerate(families.items()):
        for n in sizes:
            for k in range(draws):
                drawn = draw(np.random.default_rng([seed, number, n, k]), n)
                X, y = drawn if isinstance(drawn, tuple) else (drawn, np.zeros(n, dtype=int))
                rows.append({"family": name, "n": n, **score(X, y)})
    return pd.DataFrame(rows)


def table(results: pd.DataFrame) -> str:
    columns = [f"{who} {what}" for what in ("right", "ARI", "found") for who in ("ours", "HDBSCAN")]
    by_family = results.groupby("family", sort=False)[columns].mean()
    by_size = results.groupby("n")[columns].mean().rename(lambda n: f"all, n = {n}")
    both = pd.concat([by_family, by_size, results[columns].mean().to_frame("all").T])
    return both.round(3).to_string()


def shapes() -> str:
    rows = []
    for name in SHAPES:
        bunch = datasets.load_dataset(f"shapes/{name}")
        y = np.where(bunch.target == 0, -1, bunch.target).astype(int)  # 0 is noise
        rows.append({"set": name, "n": len(y), **score(bunch.data.to_numpy(float), y)})
    return pd.DataFrame(rows).set_index("set").round(3).to_string()


def times() -> str:
    AlphaCutClustering().fit(np.random.default_rng(0).normal(size=(50, 2)))  # compile
    rows = []
    for n in (1500, 20_000, 100_000):
        X, y = noisy_blobs(np.random.default_rng(n), n)
        row = score(X, y)
        ratio = row["ours seconds"] / row["HDBSCAN seconds"]
        rows.append({"n": n, **row, "ours / HDBSCAN": ratio})
    X = noisy_blobs(np.random.default_rng(0), 1500)[0]
    start = time.perf_counter()
    AlphaCutClustering(rejection=0.1, graph="complete").fit(X)
    complete = time.perf_counter() - start
    text = pd.DataFrame(rows).set_index("n").round(3).to_string()
    return f"{text}\ncomplete graph, n = 1500: {complete:.2f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 500, 1000, 2000])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=["families", "structureless", "shapes", "times"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = options.only
    if chosen in (None, "families"):
        print("\nFamilies with clusters")
        print(table(study(FAMILIES, options.sizes, options.draws, options.seed)))
    if chosen in (None, "structureless"):
        print("\nNo structure: right means one cluster")
        print(table(study(STRUCTURELESS, options.sizes, options.draws, options.seed)))
    if chosen in (None, "shapes"):
        print("\nPublished sets")
        print(shapes())
    if chosen in (None, "times"):
        print("\nSeconds, blobs in noise, d = 2")
        print(times())


if __name__ == "__main__":
    main()
