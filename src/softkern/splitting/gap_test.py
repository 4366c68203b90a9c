"""Test for a density gap between two clusters on a line.

The excess mass E(λ) of a distribution is the largest mass that an interval holds beyond λ times
its length. With two intervals it may be larger, and the largest difference over all levels λ
measures how far the distribution is from having one mode (Müller and Sawitzki 1991). Half of it is
the dip of Hartigan and Hartigan (1985). For n points of one mode it decreases as 1/√n, most slowly
for the uniform distribution. Called by `splitting.split`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.splitting.settings import SPLITTING

STEPS = np.linspace(0, 1, 24)  # levels λ: as many near the average density as over all densities
ROUNDING = 1e-12


def excess_mass(values: Array) -> float:
    """Return the mass that two intervals hold beyond one, at the level where it is largest."""
    x = np.sort(np.asarray(values, dtype=np.float64))
    n = len(x)
    # An interval between two points holds the difference of their excesses, plus 1/n for the
    # first point itself.
    excess = np.arange(n) / n - _levels(x)[:, None] * x  # (levels, n)
    up_to = excess - np.minimum.accumulate(excess, axis=1)
    np.maximum.accumulate(up_to, axis=1, out=up_to)
    backwards = excess[:, ::-1]
    from_on = np.maximum.accumulate(backwards, axis=1) - backwards
    np.maximum.accumulate(from_on, axis=1, out=from_on)
    two = (up_to[:, :-1] + from_on[:, -2::-1]).max(axis=1, initial=-1 / n)
    difference = float((two - up_to[:, -1]).max()) + 1 / n
    return difference if difference > ROUNDING else 0.0


def dip(values: Array) -> float:
    """Return √n times the dip: the distance from having one mode, in units of chance."""
    return 0.5 * excess_mass(values) * float(np.sqrt(len(values)))


def gap_depth(x: Array, is_above: Array) -> float:
    """Return the depth of the density gap between two clusters on a line, √n times the dip.

    The cluster above has the larger positions x. Only points near the cut count: three quarters of
    the smaller cluster and as many of the larger one. A small cluster is therefore not lost beside
    a large one, and clusters further away do not matter.
    """
    above, below = np.sort(x[is_above]), -np.sort(-x[~is_above])
    smaller = min(len(above), len(below))
    if smaller < SPLITTING.min_cluster:
        return 0.0
    near = int(np.ceil(SPLITTING.near_share * smaller))
    return dip(np.concatenate([above[:near], below[:near]]))


def _levels(x: Array) -> NDArray[np.float64]:
    """Densities from well below the average to those of the densest parts, and near the median.

    On a plateau, excess masses differ only at levels close to its density.
    """
    n = len(x)
    step = max(2, round(np.sqrt(n)))
    width = np.sort(x[step:] - x[:-step] if n > step else x[-1:] - x[:1])
    span = float(x[-1] - x[0])
    if span <= 0:
        return np.ones(1)
    narrow = max(quantile(width, 0.02), span / n**2)
    low, high = 0.1 / span, 1.5 * max(step / n / narrow, 1 / span)
    median = step / n / max(quantile(width, 0.5), span / n**2)
    return np.concatenate([low * (high / low) ** STEPS, median * (0.5 + STEPS)])


def quantile(ordered: Array, share: float) -> float:
    """Return a quantile of sorted values, as `numpy.quantile`, whose overhead dominates here."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below] + (place - below) * (ordered[above] - ordered[below]))
