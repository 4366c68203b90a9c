"""Membership functions: squared distances to centers, D² (n, c), become memberships U (n, c).

Pure functions of arrays of any array API library. Logarithms are provided where memberships
underflow. The rules of the loop are built from them.
"""

from __future__ import annotations

import numpy as np
from array_api_compat import device, is_dask_array, is_numpy_array

from softkern._utils.arrays import BLOCK_ROWS, chunkwise, namespace, row_max, row_min, row_sums
from softkern._utils.typing import AnyArray

OVERLAP_DECAY = 4.0  # −log of the overlap at the own center; halfway to another it is zero
ROUNDING = 1e3  # relative rounding error of energies, in units of eps
LARGEST_PART = 1e6  # largest 1 / w^q of a point, relative to that of the mean weight


def fuzzy(distances: AnyArray, m: float) -> AnyArray:
    """Return u ∝ D²^(−1/(m−1)), with rows that sum to one.

    A point that lies on centers is a member of these clusters only.
    """
    if is_dask_array(distances):
        return chunkwise(fuzzy, distances, m)
    xp, nearest = namespace(distances), row_min(distances)  # (n, 1)
    # whether no point lies on a center; lazy arrays and devices would have to wait for this
    is_off = is_numpy_array(nearest) and bool((nearest > 0).all())
    share = nearest / (distances if is_off else xp.where(distances > 0, distances, 1.0))
    if m != 2:
        share = share ** (1.0 / (m - 1.0))
    if not is_off:
        share = xp.where(nearest > 0, share, xp.astype(distances <= 0, share.dtype))
    share /= row_sums(share)[:, None]
    return share


def log_fuzzy(distances: AnyArray, m: float) -> AnyArray:
    """Return the logarithm of `fuzzy`, which does not underflow for m near one."""
    if is_dask_array(distances):
        return chunkwise(log_fuzzy, distances, m)
    xp, nearest = namespace(distances), row_min(distances)  # (n, 1)
    is_off = is_numpy_array(nearest) and bool((nearest > 0).all())
    logs = xp.log(distances if is_off else xp.where(distances > 0, distances, 1.0))
    logs -= xp.log(nearest if is_off else xp.where(nearest > 0, nearest, 1.0))
    logs /= 1.0 - m
    if not is_off:
        on_center = xp.where(distances <= 0, xp.zeros_like(logs), -xp.inf)
        logs = xp.where(nearest > 0, logs, on_center)
    logs -= xp.log(row_sums(xp.exp(logs)))[:, None]
    return logs


def outlier_weights(
    spread: AnyArray, q: float, total: float, sample_weight: AnyArray
) -> tuple[AnyArray, float, float]:
    """Return w = S^(1/(q+1)) × unit with the weighted sum `total`, eq. 19 of Shen et al. 2004.

    S (n,) is Σ u^m D² of every point. A point on a center would get weight zero and hold the
    center there for good. So w is bounded below, such that 1 / w^q is at most a million times
    that of the mean weight. Within this bound w is optimal. With the other two results, w of any
    other point is max(least, unit × S^(1/(q+1))).
    """
    xp = namespace(spread)
    mean = total / float(xp.sum(sample_weight))
    root = xp.maximum(spread, 0.0) ** (1.0 / (q + 1.0))
    weighted = float(xp.sum(sample_weight * root))
    if weighted <= 0:  # all points on centers
        return xp.full_like(root, mean), 0.0, mean
    smallest = float(xp.finfo(spread.dtype).smallest_normal) ** 0.5
    least = mean * max(LARGEST_PART ** (-1.0 / q), smallest)
    unit, raised = total / weighted, -1
    while raised < (raised := int(xp.count_nonzero(unit * root < least))):
        # raising weights to the least one lowers the others, which may then fall below it
        is_least = unit * root < least
        free = total - least * float(xp.sum(xp.where(is_least, sample_weight, 0.0)))
        unit = free / float(xp.sum(xp.where(is_least, 0.0, sample_weight * root)))
    return xp.maximum(unit * root, least), unit, least


def log_total(joint: AnyArray) -> AnyArray:
    """Return log Σ_k exp(joint), (n,), without overflow."""
    top = row_max(joint)
    return top[:, 0] + namespace(joint).log(row_sums(namespace(joint).exp(joint - top)))


def hard(closeness: AnyArray) -> AnyArray:
    """Return one for the nearest center and zero for the others, (n, c), the first of equals."""
    xp = namespace(closeness)
    nearest = xp.argmax(closeness, axis=1)
    number = xp.arange(closeness.shape[1], dtype=nearest.dtype, device=device(closeness))
    return xp.astype(number[None, :] == nearest[:, None], closeness.dtype)


def runner_up(values: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return the largest and second largest value of every row, (n,) each, −∞ without a second."""
    xp = namespace(values)
    if values.shape[1] < 2:
        first = values[:, 0] if values.shape[1] else xp.full(values.shape[0], -xp.inf)
        return first, xp.full_like(first, -xp.inf)
    if isinstance(values, np.ndarray):
        two = np.empty((len(values), 2), dtype=values.dtype)
        for start in range(0, len(values), BLOCK_ROWS):  # to save memory
            rows = slice(start, start + BLOCK_ROWS)
            two[rows] = np.partition(values[rows], -2, axis=1)[:, -2:]
        return two[:, 1], two[:, 0]
    ordered = xp.sort(values, axis=1)
    return ordered[:, -1], ordered[:, -2]


def overlap(energies: AnyArray, labels: AnyArray, at_centers: AnyArray) -> AnyArray:
    """Return how far points lie between clusters, (n,): one halfway, e⁻⁴ at the own center.

    Energies E (n, c), such as D², D²/η or −log u, decrease as the membership increases. Row a of
    `at_centers` (c, c) are those of center a. For a point of cluster a, the label of its lowest
    energy, t = (E_k − E_a) / (the same at the center of a) is zero halfway between a and k and one
    at the center of a, and on average within a. A displacement across this line adds to both
    energies and cancels, so that t has the same meaning for any number of features, unlike a ratio
    of memberships. The overlap is exp(−4 t) for the smallest t.
    """
    result = np.zeros(len(energies), dtype=energies.dtype)
    if len(at_centers) < 2:
        return result
    limits = np.finfo(energies.dtype)
    with np.errstate(invalid="ignore"):  # clusters without points
        whole = np.nan_to_num(at_centers - np.diagonal(at_centers)[:, None])  # (c, c)
    for start in range(0, len(energies), BLOCK_ROWS):  # to save memory
        rows = slice(start, start + BLOCK_ROWS)
        own = labels[rows]
        lowest = np.take_along_axis(energies[rows], own[:, None], axis=1)
        # energies of coinciding centers differ by rounding, and their points tie
        rounding = limits.tiny + ROUNDING * limits.eps * np.abs(lowest)
        with np.errstate(over="ignore"):
            places = np.maximum(energies[rows] - lowest, 0) / np.maximum(whole[own], rounding)
            places[np.arange(len(own)), own] = np.inf
            result[rows] = np.exp(-OVERLAP_DECAY * places.min(axis=1))
    return result
