"""Is there a valley between two groups? Excess mass on a line, in windows of equal mass.

The excess mass E(λ) of a distribution is what an interval holds beyond λ times its length, at
best; with two intervals it may be more, and the largest difference over all levels λ is how far
the distribution is from having one mode (Müller and Sawitzki 1991). Half of it is the dip of
Hartigan and Hartigan (1985). Of n points of one mode it falls as 1/√n whatever the mode's shape,
most slowly for the uniform distribution. Called by `splitting.recursion`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array

__all__ = ["FEWEST", "depth", "dip", "excess_mass", "quantile"]

LEVELS = 24  # λ at which excess masses are compared: over all, and as many near the average
FEWEST = 8  # points of a group below which there is no telling
ROUNDING = 1e-12
STEPS = np.linspace(0, 1, LEVELS)
NEAR_SHARE = 0.75  # of the smaller group that is looked at, from the cut on


def excess_mass(values: Array) -> float:
    """How much mass two intervals hold beyond one, at the level where it is most.

    Examples
    --------
    >>> import numpy as np
    >>> even = np.linspace(0, 1, 100)
    >>> bool(excess_mass(even) < 0.02 < 0.4 < excess_mass(np.r_[even, even + 10]))
    True
    """
    places = np.sort(np.asarray(values, dtype=np.float64))
    n = len(places)
    # An interval from one point to another holds the difference of their excesses, and 1/n for
    # the first point itself.
    excess = np.arange(n) / n - _levels(places)[:, None] * places  # (levels, n)
    up_to = excess - np.minimum.accumulate(excess, axis=1)
    np.maximum.accumulate(up_to, axis=1, out=up_to)
    backwards = excess[:, ::-1]
    from_on = np.maximum.accumulate(backwards, axis=1) - backwards
    np.maximum.accumulate(from_on, axis=1, out=from_on)
    two = (up_to[:, :-1] + from_on[:, -2::-1]).max(axis=1, initial=-1 / n)
    found = float((two - up_to[:, -1]).max()) + 1 / n
    return found if found > ROUNDING else 0.0


def dip(values: Array) -> float:
    """How far values are from having one mode, in units of chance: √n times the dip."""
    return 0.5 * excess_mass(values) * float(np.sqrt(len(values)))


def _levels(places: Array) -> NDArray[np.float64]:
    """Densities from well below the average to that of the densest parts.

    Of a plateau, excess masses differ only at levels close to its own.
    """
    n = len(places)
    step = max(2, round(np.sqrt(n)))
    width = np.sort(places[step:] - places[:-step] if n > step else places[-1:] - places[:1])
    span = float(places[-1] - places[0])
    if span <= 0:
        return np.ones(1)
    narrow = max(quantile(width, 0.02), span / n**2)
    low, high = 0.1 / span, 1.5 * max(step / n / narrow, 1 / span)
    usual = step / n / max(quantile(width, 0.5), span / n**2)
    return np.concatenate([low * (high / low) ** STEPS, usual * (0.5 + STEPS)])


def quantile(ordered: Array, share: float) -> float:
    """Of ordered values, as `numpy.quantile`, which takes longer than all the rest here."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below] + (place - below) * (ordered[above] - ordered[below]))


def depth(places: Array, is_above: Array) -> float:
    """How deep the valley is between two groups on a line, in units of chance: √n times the dip.

    Only points near the cut count: three quarters of the smaller group and as many of the larger
    one. So a small group beside a large one is not judged by the large one's mass, and further
    groups behind each do not count.

    Parameters
    ----------
    places : array of shape (n,)
        The group that is above lies on the side of larger values.
    is_above : array of shape (n,)
    """
    above, below = np.sort(places[is_above]), -np.sort(-places[~is_above])
    if min(len(above), len(below)) < FEWEST:
        return 0.0
    near = int(np.ceil(NEAR_SHARE * min(len(above), len(below))))
    return dip(np.concatenate([above[:near], below[:near]]))
