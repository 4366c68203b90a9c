"""Filippone, Masulli and Rovetta 2007: one cluster in feature space, cut at a histogram's valley.

The paper has one experiment: two rectangles and a ring in uniform noise, with σ = 0.5, u = 1
initially, and stopping at Σ|Δu| < 0.01.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

from reproduce.checks import (
    CONTRADICTS,
    REPRODUCES,
    Check,
    Entry,
    Experiment,
    Measured,
    Picture,
    Setting,
)
from reproduce.drawing import panels
from softkern import AlphaCutClustering, OneClassPCM
from softkern.datasets import make_dense_regions
from softkern.display import MembershipDisplay, MembershipHistogramDisplay

__all__ = ["CHECKS"]

SIGMA, VALLEY = 0.5, 0.3667
SLACK = 0.001  # added to the range of the draws
PRINTED: dict[str, Any] = {"bandwidth": SIGMA, "stopping": "sum", "tol": 0.01}


def cut(seed: int) -> tuple[float, int, int]:
    """Return the valley, the number of clusters above it and the iterations of one draw."""
    X, _ = make_dense_regions(random_state=seed)
    model = AlphaCutClustering(alpha="valley", **PRINTED).fit(X)
    return float(model.alpha_), int(model.n_clusters_), int(model.n_iter_)


def valley(setting: Setting) -> Measured:
    """Check Fig. 1(a): the valley of the histogram."""
    results = _cuts(setting)
    low, high = min(v for v, _, _ in results), max(v for v, _, _ in results)
    holds = low - SLACK <= VALLEY <= high + SLACK and low > 0
    mean = float(np.mean([v for v, _, _ in results]))
    entry = Entry("α at the valley", f"{VALLEY}", f"{mean:.4f}", f"{low:.4f}–{high:.4f}", holds)
    modes = sum(v > 0 for v, _, _ in results)
    two = Entry("two modes", "yes", f"{modes} of {len(results)} draws", "", modes == len(results))
    why = f"The valley lies at {low:.4f} to {high:.4f} over {len(results)} draws."
    return Measured([entry, two], why, len(results), pictures=[_picture(setting.seed)])


def regions(setting: Setting) -> Measured:
    """Check Fig. 1(b): three regions."""
    results = _cuts(setting)
    three = sum(number == 3 for _, number, _ in results)
    entry = Entry(
        "clusters above the valley",
        "3",
        f"3 in {three} of {len(results)} draws",
        ", ".join(sorted({str(number) for _, number, _ in results})),
        three >= 0.95 * len(results),
    )
    why = f"Exactly the three regions in {three} of {len(results)} draws."
    return Measured([entry], why, len(results))


def iterations(setting: Setting) -> Measured:
    """Check section 5: fewer than ten iterations."""
    steps = []
    for seed in range(setting.seed, setting.seed + setting.draws(20, 100)):
        X, _ = make_dense_regions(random_state=seed)
        steps.append(OneClassPCM(**PRINTED).fit(X).n_iter_)
    entry = Entry(
        "iterations",
        "< 10",
        f"{np.mean(steps):.1f}",
        f"{min(steps)}–{max(steps)}",
        max(steps) < 10,
    )
    return Measured([entry], f"At most {max(steps)} iterations in {len(steps)} draws.", len(steps))


def mean_distance(setting: Setting) -> Measured:
    """Check section 5: σ as the order of magnitude of the mean distance."""
    X, _ = make_dense_regions(random_state=setting.seed)
    distances = pdist(X)
    mean = float(distances.mean())
    neighbors = np.sort(squareform(distances), axis=1).mean(axis=0)  # (n,), to the k-th
    alike = int(np.searchsorted(neighbors, SIGMA))
    entry = Entry(
        "mean distance between points", "about σ = 0.5", f"{mean:.2f}", "", 1 / 3 < mean / SIGMA < 3
    )
    rows = [
        ("all pairs, as printed", f"{mean:.2f}", f"{mean / SIGMA:.1f}"),
        ("nearest neighbors", f"{neighbors[1]:.3f}", f"{neighbors[1] / SIGMA:.2f}"),
        (f"{alike}th neighbors", f"{neighbors[alike]:.3f}", f"{neighbors[alike] / SIGMA:.2f}"),
    ]
    quick: dict[str, Any] = {**PRINTED, "alpha": "valley", "graph": "knn"}
    with_mean = AlphaCutClustering(**{**quick, "bandwidth": mean}).fit(X)
    experiments = [
        Experiment(
            "Which mean distance is 0.5?",
            ("mean distance of", "value", "over σ"),
            rows,
            f"σ = {SIGMA} is the mean distance of {alike}th neighbors, and "
            f"{SIGMA / mean:.2f} of the mean distance of all pairs.",
        ),
        Experiment(
            "What the printed rule would give",
            ("σ", "valley", "clusters"),
            [
                (f"{SIGMA}", *_format_cut(AlphaCutClustering(**quick).fit(X))),
                (f"{mean:.2f}, the mean distance", *_format_cut(with_mean)),
            ],
            f"With σ as large as the mean distance the number of clusters found is "
            f"{with_mean.n_clusters_}.",
        ),
    ]
    why = (
        f"The mean distance is {mean:.2f}, {mean / SIGMA:.1f} times σ; 0.5 is the mean distance "
        f"to the {alike}th neighbor of {len(X):,}."
    )
    return Measured([entry], why, experiments=experiments)


def _cuts(setting: Setting) -> list[tuple[float, int, int]]:
    seeds = range(setting.seed, setting.seed + setting.draws(3, 20))
    cases = [(seed,) for seed in seeds]
    results: list[tuple[float, int, int]] = setting.once(
        "cuts", lambda: setting.each(cut, cases, "draws of the dense regions")
    )
    return results


def _format_cut(model: Any) -> tuple[str, str]:
    return (f"{model.alpha_:.4f}" if model.alpha_ else "none", str(model.n_clusters_))


def _picture(seed: int) -> Picture:
    X, _ = make_dense_regions(random_state=seed)
    model = AlphaCutClustering(alpha="valley", **PRINTED).fit(X)
    figure, (left, right) = panels(1, 2)
    MembershipHistogramDisplay.from_estimator(model, ax=left)
    MembershipDisplay.from_estimator(
        model.one_class_, X, model.labels_, alpha=model.alpha_, ax=right
    )
    return Picture(
        "Fig. 1: histogram of the memberships with its valley, and the contours at that level",
        "a histogram with two modes, a dotted line at .3667; the points of two rectangles and a "
        "ring in gray noise, with contours around the three.",
        figure,
    )


CHECKS = (
    Check(
        "2007-F1a",
        "The histogram of memberships has two modes with .3667 between them (Fig. 1a)",
        f".3667 within the range of the draws ± {SLACK}; two modes in every draw",
        valley,
        REPRODUCES,
    ),
    Check(
        "2007-F1b",
        "Contours at that level enclose the three dense regions (Fig. 1b)",
        "3 clusters in at least 95 % of the draws",
        regions,
        REPRODUCES,
    ),
    Check(
        "2007-T1",
        "Less than ten iterations are enough (section 5)",
        "below 10 in every draw",
        iterations,
        REPRODUCES,
    ),
    Check(
        "2007-T2",
        "σ = 0.5 is of the order of the mean distance between points (section 5)",
        "the ratio of the two is below 3",
        mean_distance,
        CONTRADICTS,
    ),
)
