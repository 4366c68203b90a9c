"""Table 1 and Fig. 1: numbers of overlap and outlier points. No bandwidth is printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reproduce.checks import Entry, Experiment, Measured, Picture, Setting
from reproduce.drawing import panels
from reproduce.mall2015.fits import POWERS, counted, fitted, gap, points, strongest
from reproduce.mall2015.printed import EUROPE, TABLE_1, THREE
from softkern.datasets import make_three_gaussians
from softkern.display import EigenspaceDisplay
from softkern.kernels import select_bandwidth

__all__ = ["FACTOR", "table_1", "three_gaussians"]

FACTOR = 1.5
FINE = np.array([-0.25, 0.25])  # powers of two around the nearest bandwidth
DISTANCES = (2.5, 3.0, 3.5, 4.0)


def nearest(X: Any, k: int, n_train: int, printed: Sequence[int]) -> tuple[Any, float, int]:
    """Return the counts nearest to the printed ones, their σ, and the number of trials."""
    median, tried = float(select_bandwidth(X, "median")), {}
    for assignment in ("directions", "codebook"):
        around = 0.0
        for grid in (POWERS, FINE):
            for power in around + grid:
                key = assignment, median * 2.0**power
                tried[key] = counted(X, k, key[1], n_train, {"assignment": assignment})
            own = {key: c for key, c in tried.items() if key[0] == assignment and c is not None}
            around = float(np.log2(min(own, key=lambda key: gap(own[key], printed))[1] / median))
    fits = {key: counts for key, counts in tried.items() if counts is not None}
    best = min(fits, key=lambda key: gap(fits[key], printed))
    return fits[best], best[1], len(tried)


def count_one(X: Any, name: str, seed: int) -> Any:
    """Return the counts at the σ of the highest AMS, that σ, and the nearest counts."""
    k, *printed = TABLE_1[name]
    sigma, n_train = strongest(X, k, seed)
    ours = counted(X, k, sigma, n_train, {"random_state": seed})
    return ours, sigma, nearest(X, k, n_train, printed)


def table_1(setting: Setting) -> Measured:
    """Check Table 1: overlap and outlier points of ten data sets."""
    names = [name for name in TABLE_1 if not (setting.quick and name == EUROPE)]
    cases = [(points(setting, name), name, setting.seed) for name in names]
    results = setting.each(count_one, cases, "counts of the sets")
    entries, held, reached = [], 0, 0
    for name, (ours, sigma, (fit, best, _)) in zip(names, results, strict=True):
        k, *printed = TABLE_1[name]
        entries.append(
            Entry(
                f"{name}, k = {k}",
                _words(printed),
                f"{_words(ours)} at the σ of the highest AMS, {sigma:.4g}",
                f"nearest of the scan: {_words(fit)} at {best:.4g}",
            )
        )
        held += _is_near(ours, printed)
        reached += _is_near(fit, printed)
    if setting.quick:
        entries.append(Entry(EUROPE, _words(TABLE_1[EUROPE][1:]), "not in the quick run"))
    tried = {"σ by AMS, each set": len(POWERS), "σ by nearest counts, each set": results[0][2][2]}
    why = (
        f"No σ is printed. At the σ of the highest AMS {held} of {len(names)} sets have both "
        f"counts within a factor {FACTOR:g}; with σ fitted to the counts {reached} have."
    )
    return Measured(entries, why, 1, tried)


def _is_near(counts: Sequence[float] | None, printed: Sequence[float]) -> bool:
    """Whether counts plus one are within the factor of the printed ones."""
    if counts is None:
        return False
    return all(
        (p + 1) / FACTOR <= c + 1 <= FACTOR * (p + 1) for c, p in zip(counts, printed, strict=True)
    )


def _words(counts: Sequence[int] | None) -> str:
    return "no fit" if counts is None else "/".join(map(str, counts))


def three_gaussians(setting: Setting) -> Measured:
    """Check Fig. 1: three overlapping Gaussians."""
    draws = setting.draws(5, 20)
    cases = [(setting.seed + draw,) for draw in range(draws)]
    results = setting.each(three, cases, "draws of three Gaussians")
    entries = []
    for kind, wanted, row in zip(
        ("overlap", "outlier"),
        TABLE_1[THREE][1:],
        zip(*(c for c, _ in results), strict=True),
        strict=True,
    ):
        entries.append(
            Entry(
                f"{kind} points at the σ of the highest AMS",
                str(wanted),
                f"{np.mean(row):.1f}",
                f"{min(row)}–{max(row)}",
                wanted / FACTOR <= np.mean(row) <= wanted * FACTOR,
            )
        )
    why = (
        f"Neither the set nor σ is given; ours has {entries[0].ours} overlap and "
        f"{entries[1].ours} outlier points on average over {draws} draws."
    )
    tried = {"σ by AMS": len(POWERS)}
    pictures = [_picture(setting.seed, results[0][1])]
    return Measured(entries, why, draws, tried, [_by_distance(setting)], pictures)


def three(seed: int, distance: float = 4.0) -> tuple[tuple[int, int], float]:
    """Return the counts of one draw, and the bandwidth of the highest AMS."""
    X = make_three_gaussians(distance=distance, random_state=seed)[0]
    sigma, n_train = strongest(X, 3, seed)
    return counted(X, 3, sigma, n_train, {"random_state": seed}), sigma


def _by_distance(setting: Setting) -> Experiment:
    cases = [(setting.seed + draw, distance) for distance in DISTANCES for draw in range(3)]
    results = setting.each(three, cases, "distances of the Gaussians")
    means = np.array([counts for counts, _ in results]).reshape(len(DISTANCES), 3, 2).mean(axis=1)
    return Experiment(
        "How far apart the Gaussians are (means of three draws)",
        ("distance of the centers", "overlap points", "outlier points"),
        [(f"{d:g}", *(f"{c:.0f}" for c in row)) for d, row in zip(DISTANCES, means, strict=True)],
        "Places and widths are read off a picture. With the distance alone overlap points go from "
        f"{means[:, 0].min():.0f} to {means[:, 0].max():.0f}, outliers from "
        f"{means[:, 1].min():.0f} to {means[:, 1].max():.0f}.",
    )


def _picture(seed: int, sigma: float) -> Picture:
    X = make_three_gaussians(random_state=seed)[0]
    model = fitted(X, 3, sigma, None)
    figure, axes = panels(1, 2)
    EigenspaceDisplay.from_estimator(model, ax=axes[0])
    EigenspaceDisplay.from_estimator(model, X, space="input", ax=axes[1])
    return Picture(
        "Fig. 1: overlap and outlier points in the eigenspace and among the data",
        "lines of prototypes with overlap points between them and outliers at the bias, and the "
        "same points among the data: overlap between the groups, outliers outside.",
        figure,
    )
