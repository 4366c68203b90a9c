"""Fig. 2: AMS over the number of clusters and the bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reproduce.checks import Entry, Experiment, Measured, Picture, Setting
from reproduce.drawing import panels
from reproduce.mall2015.fits import points
from reproduce.mall2015.printed import A1, FINLAND, TABLE_1
from softkern.kernels import select_bandwidth
from softkern.selection import select_spectral

__all__ = ["surfaces"]

SPLITS = 10
QUICK_SPLITS = {A1: 10, FINLAND: 2}  # numbers next to that of A1 are within the spread of splits
# numbers of clusters, and powers of two of the median distance
GRIDS = {
    A1: (range(15, 25), np.arange(-4, -1.9, 0.25)),
    FINLAND: (range(2, 12), np.arange(0, 2.6, 0.25)),
}


def surface(X: Any, numbers: Sequence[int], powers: Any, seed: int) -> Any:
    """Return the AMS (K, S) on validation rows by number of clusters and bandwidth."""
    sigmas = float(select_bandwidth(X, "median")) * 2.0**powers
    results = select_spectral(
        X, numbers, sigmas, n_train=1000, n_validation=1000, random_state=seed
    )
    return results.strength


def surfaces(setting: Setting) -> Measured:
    """Check Fig. 2: AMS over k and σ."""
    entries, rows = [], []
    figure, axes = panels(1, 2)
    for ax, (name, (numbers, powers)) in zip(axes, GRIDS.items(), strict=True):
        X, wanted = points(setting, name), TABLE_1[name][0]
        splits = setting.draws(QUICK_SPLITS[name], SPLITS)
        cases = [(X, list(numbers), powers, setting.seed + split) for split in range(splits)]
        each = np.array(setting.each(surface, cases, f"AMS of {name}"))  # (splits, K, S)
        mean, spread = np.nanmean(each, axis=0), np.nanmax(each, axis=2).std(axis=0, ddof=1)
        best = np.nanmax(mean, axis=1)
        padded = np.concatenate([[-np.inf], best, [-np.inf]])
        peaks = [k for i, k in enumerate(numbers) if best[i] >= max(padded[i], padded[i + 2])]
        text = ", ".join(map(str, peaks))
        entries.append(
            Entry(
                f"{name}: {wanted} is a local maximum",
                "yes",
                text,
                _margin(each, list(numbers).index(wanted)),
                wanted in peaks,
            )
        )
        rows += [
            (name, str(k), f"{value:.3f}", f"{error:.3f}")
            for k, value, error in zip(numbers, best, spread, strict=True)
        ]
        image = ax.pcolormesh(powers, list(numbers), mean, shading="nearest", cmap="viridis")
        ax.axhline(wanted, color="white", linestyle=":")
        ax.set(xlabel="log₂ of σ over the median distance", ylabel="k", title=name)
        figure.colorbar(image, ax=ax, label="AMS")
    experiment = Experiment(
        "Highest AMS by number of clusters",
        ("set", "k", "AMS", "standard deviation over splits"),
        rows,
        "AMS of neighboring numbers is to be seen beside how far it varies between random splits "
        "of the same data.",
    )
    picture = Picture(
        "Fig. 2: AMS on rows kept aside; dotted, the table's k",
        "surfaces of AMS over k and σ with a maximum at k = 20 for A1 and at 6 for Mopsi Finland, "
        "and the points found.",
        figure,
    )
    why = "; ".join(f"{e.what.split(':')[0]}: maxima at k = {e.ours}" for e in entries) + "."
    splits = setting.draws(min(QUICK_SPLITS.values()), SPLITS)
    tried = {f"k and σ of {name}": len(n) * len(p) for name, (n, p) in GRIDS.items()}
    return Measured(entries, why, splits, tried, [experiment], [picture])


def _margin(each: Any, place: int) -> str:
    """Return the lead of the highest AMS at a number over the better neighbor."""
    best = np.nanmax(each, axis=2)  # (splits, K)
    neighbor = max(place - 1, place + 1, key=lambda i: best[:, i].mean())
    above = best[:, place] - best[:, neighbor]
    error = above.std(ddof=1) / np.sqrt(len(above))
    return f"above its neighbors by {above.mean():+.4f} ± {error:.4f}"
