"""Fits shared by several checks, and the comparison of counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reproduce.checks import Setting
from reproduce.mall2015.printed import THREE
from softkern import SoftKernelSpectralClustering
from softkern.datasets import make_three_gaussians
from softkern.kernels import select_bandwidth
from softkern.selection import select_spectral

__all__ = ["POWERS", "counted", "fitted", "gap", "points", "strongest"]

POWERS = np.arange(-5, 3.1, 0.5)  # bandwidths for AMS: powers of two times the median distance


def points(setting: Setting, name: str) -> Any:
    """Return the rows of a data set. The three Gaussians are generated."""
    if name == THREE:
        return make_three_gaussians(random_state=setting.seed)[0]
    return setting.data(name).data.to_numpy(float)


def fitted(X: Any, k: int, sigma: float, n_train: int | None, seed: int = 0, **more: Any) -> Any:
    """Return a fitted soft model, or None if this bandwidth does not give k clusters."""
    options: dict[str, Any] = {"bandwidth": sigma, "subset": "random", "random_state": seed}
    model = SoftKernelSpectralClustering(k, n_train=n_train, **{**options, **more})
    try:
        return model.fit(X)
    except ValueError:
        return None


def counted(X: Any, k: int, sigma: float, n_train: int | None, more: dict[str, Any]) -> Any:
    """Return the numbers of overlap and outlier points, or None."""
    model = fitted(X, k, sigma, n_train, **more)
    if model is None:
        return None
    is_outlier, is_overlap = model.detect()
    return int(is_overlap.sum()), int(is_outlier.sum())


def strongest(X: Any, k: int, seed: int) -> tuple[float, int]:
    """Return the bandwidth of the highest AMS on validation rows, and the training size."""
    n_train = min(len(X) // 2, 1000)
    results = select_spectral(
        X,
        [k],
        list(float(select_bandwidth(X, "median")) * 2.0**POWERS),
        n_train=n_train,
        n_validation=min(len(X) - n_train, 1000),
        random_state=seed,
    )
    return float(results.strongest[1]), n_train


def gap(counts: Sequence[float], printed: Sequence[float]) -> float:
    """Return the distance of counts from the printed ones, as ratios."""
    return float(np.abs(np.log1p(counts) - np.log1p(printed)).sum())
