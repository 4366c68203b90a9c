"""The kernel of memberships: as wide as the clusters allow.

In the kernel of the tree a row's own mass outweighs all others where data are sparse, and a row
between two clusters would belong to one alone. In a kernel as wide as the clusters it belongs to
each by half, but clusters that surround each other merge. This is therefore the widest kernel in
which nearly all points still clearly belong to their own cluster. Called by `AlphaCutClustering`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from softkern._utils.typing import Array
from softkern.density_tree.landscape import Landscape
from softkern.kernels import Kernel
from softkern.rows import Rows

SAMPLE = 2000  # points that decide the width
STEP = 2**0.25  # from one width to the next
CLEARLY = 2.0  # times the share of any other cluster
UNCLEAR = 0.015  # of the points that may become unclear, of all
UNCLEAR_OF_ONE = 0.1  # and of each cluster


def membership_kernel(landscape: Landscape, labels: Array, seed: Any = 0) -> Kernel:
    """The landscape's kernel, in each column widened up to the spread within the clusters.

    `labels` (n,) are the clusters of the nodes, −1 for none.
    """
    kernel = landscape.kernel
    inside = np.flatnonzero(labels >= 0)
    if np.unique(labels[inside]).size < 2:
        return kernel
    rows, weight = Rows(landscape.nodes[inside], landscape.mass[inside]).sample(SAMPLE, seed)
    points = landscape.nodes[inside[rows]]
    number = np.unique(labels[inside[rows]], return_inverse=True)[1]
    columns = np.where(number[:, None] == np.arange(number.max() + 1), weight[:, None], 0.0)
    shares = columns / columns.sum(axis=0)
    squares = np.square(points - (shares.T @ points)[number])
    spread = np.sqrt(np.average(squares, axis=0, weights=weight))
    narrow = np.broadcast_to(landscape.bandwidth, spread.shape)

    operator_of = landscape.model.plan_.prediction_operator

    def widened(times: float) -> Kernel:
        return kernel.with_bandwidth(np.clip(times * narrow, narrow, np.maximum(narrow, spread)))

    def clear(times: float) -> Array:
        """Return the shares of all points, and of each cluster, clearly in their cluster."""
        mass = operator_of(points, widened(times)) @ columns.astype(points.dtype)
        own = np.take_along_axis(mass, number[:, None], axis=1)[:, 0]
        np.put_along_axis(mass, number[:, None], 0, axis=1)
        is_clear = own > CLEARLY * mass.max(axis=1)
        return np.append(is_clear @ weight / weight.sum(), is_clear @ shares)

    least = clear(1.0) - np.append(UNCLEAR, np.full(shares.shape[1], UNCLEAR_OF_ONE))
    times, most = 1.0, float((spread / narrow).max()) * STEP
    while times * STEP < most and (clear(times * STEP) >= least).all():
        times *= STEP
    return kernel if times == 1 else widened(times)
