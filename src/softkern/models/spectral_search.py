"""The search over numbers of clusters and bandwidths that a spectral model's "auto" means.

Every bandwidth costs one eigenproblem, on a sample of the data; the solutions for fewer clusters
are its first columns. Every pair is judged by the average membership strength, in which points
that no training point covers count as zero. `softkern.selection.select_spectral` is the same
search for a user to look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from softkern.exceptions import DataError
from softkern.kernels import Kernel, Precomputed
from softkern.kernels.bandwidths import select_bandwidth
from softkern.metrics.strength import COVERED, line_fit, local_maxima, membership_strength
from softkern.models.subset import training_rows
from softkern.operators.base import KernelOperator
from softkern.operators.dense import DenseOperator
from softkern.solvers.eigen import (
    Spectrum,
    codebook,
    codebook_labels,
    direction_centres,
    direction_labels,
    prototype_distances,
    prototypes,
    soft_memberships,
    solve,
)

__all__ = [
    "MAX_CLUSTERS",
    "ROWS",
    "Search",
    "assign",
    "bandwidth_grid",
    "has_open_bandwidth",
    "search",
    "with_bandwidth",
]

Array = NDArray[Any]

ROWS = 800  # of the sample on which the search is made
STARTS = 4  # of k-means, in the search
MAX_CLUSTERS = 20  # that "auto" looks at
MULTIPLES = 2.0 ** np.arange(-4.5, 1.0, 0.5)  # of the rule "global", which is as wide as the data


@dataclass(frozen=True)
class Search:
    """How good every pair of a number of clusters and a bandwidth is.

    Attributes
    ----------
    ks : array of shape (K,)
    bandwidths : list of S floats or arrays, or [None] where the kernel has none
    strength : array of shape (K, S)
        Average membership strength with points that are not covered counted as zero; nan where
        there are fewer eigenvectors than asked for, or they are not unique (equal eigenvalues),
        unless they are unique nowhere.
    plain : array of shape (K, S)
        The same with all points.
    fit : array of shape (K, S)
        Balanced line fit.
    """

    ks: Array
    bandwidths: list[Any]
    strength: Array = field(repr=False)
    plain: Array = field(repr=False)
    fit: Array = field(repr=False)

    @property
    def best(self) -> tuple[int, Any]:
        """The number of clusters and the bandwidth of the highest strength."""
        i, j = self._place
        return int(self.ks[i]), self.bandwidths[j]

    @property
    def is_at_edge(self) -> bool:
        """Whether the best bandwidth is the narrowest or the widest of several tried.

        Then a bandwidth beyond may be better; give more of them to `select_spectral`.
        """
        return len(self.bandwidths) > 1 and self._place[1] in (0, len(self.bandwidths) - 1)

    @property
    def _place(self) -> tuple[int, int]:
        if not np.isfinite(self.strength).any():
            raise DataError(
                f"none of the {len(self.bandwidths)} bandwidths tried separates "
                f"{self.ks.min()} clusters or more; give bandwidth=<a number>."
            )
        i, j = np.unravel_index(int(np.nanargmax(self.strength)), self.strength.shape)
        return int(i), int(j)

    @property
    def is_maximum(self) -> NDArray[np.bool_]:
        """Where the strength is not below that of any neighbour, (K, S)."""
        return local_maxima(self.strength) & (self.strength > 0)

    @property
    def table(self) -> Any:
        """All pairs as a DataFrame, the best first, local maxima marked."""
        import pandas as pd

        i, j = np.indices(self.strength.shape).reshape(2, -1)
        table = pd.DataFrame(
            {
                "n_clusters": self.ks[i],
                "bandwidth": [self.bandwidths[column] for column in j],
                "strength": self.strength[i, j],
                "plain_strength": self.plain[i, j],
                "line_fit": self.fit[i, j],
                "is_maximum": self.is_maximum[i, j],
            }
        )
        return table.sort_values("strength", ascending=False, ignore_index=True)

    @property
    def maxima(self) -> Any:
        """The local maxima of the strength over both, the best first: all are worth a look."""
        table = self.table
        return table[table.is_maximum].drop(columns="is_maximum").reset_index(drop=True)


def with_bandwidth(kernel: Kernel, bandwidth: Any) -> Kernel:
    """A radial kernel of another bandwidth."""
    radial: Any = type(kernel)
    return cast(Kernel, radial(bandwidth))


def has_open_bandwidth(kernel: Any, kernel_params: dict[str, Any] | None) -> bool:
    """Whether the kernel is a radial one by name whose bandwidth its parameters leave open."""
    is_radial = isinstance(kernel, str) and kernel in {"rbf", "laplacian"}
    return is_radial and "gamma" not in (kernel_params or {})


def bandwidth_grid(X: Any, weight: Array | None, random_state: Any = 0) -> list[Any]:
    """Multiples of the rule "global", each column in its own unit."""
    wide = select_bandwidth(X, "global", sample_weight=weight, random_state=random_state)
    return [multiple * np.asarray(wide) for multiple in MULTIPLES]


def search(
    X: Any,
    weight: Array,
    kernel: Kernel,
    ks: Sequence[int],
    bandwidths: Sequence[Any] | None,
    *,
    assignment: str = "directions",
    n_rows: int = ROWS,
    random_state: Any = 0,
) -> Search:
    """Judge every pair on a random sample of the rows; `bandwidths` None keeps the kernel."""
    numbers = np.asarray(sorted(set(ks)))
    tried: list[Any] = [None] if bandwidths is None else list(bandwidths)
    rows, mass, own = training_rows(kernel, X, weight, n_rows, "random", random_state)
    if rows.size < numbers.min():
        raise DataError(
            f"{numbers.min()} clusters need at least {numbers.min()} different points, and there "
            f"are {rows.size}; use fewer clusters."
        )
    is_gram = isinstance(kernel, Precomputed)
    points = X[np.ix_(rows, rows)] if is_gram else X[rows]
    surfaces = np.full((4, numbers.size, len(tried)), np.nan)
    with threadpool_limits(1):  # many small problems, which threads only hold up
        for j, bandwidth in enumerate(tried):
            chosen = kernel if bandwidth is None else with_bandwidth(kernel, bandwidth)
            operator = DenseOperator(chosen, points)
            surfaces[:, :, j] = _judge_all(operator, mass, own, numbers, assignment)
    is_unique = surfaces[3] == 1
    if is_unique.any():  # data as even as a regular grid have equal eigenvalues at any bandwidth
        surfaces[:3, ~is_unique] = np.nan
    return Search(numbers, tried, *surfaces[:3])


def _judge_all(
    operator: KernelOperator, mass: Array, own: Array, numbers: Array, assignment: str
) -> Array:
    """What `_judge` says of every number of clusters, (4, K); nan where there are not so many."""
    surface = np.full((4, numbers.size), np.nan)
    try:
        spectrum = solve(operator, int(numbers.max()) - 1, mass, own=own, strict=False)
    except ValueError:
        return surface
    itself = own * np.asarray(operator.diag(), dtype=np.float64)
    similarity = (spectrum.degree - itself) / mass.sum()
    for i, k in enumerate(numbers):
        if k - 1 <= spectrum.eigenvalues.size:
            surface[:, i] = _judge(spectrum.leading(k - 1), mass, similarity, assignment)
    return surface


def _judge(spectrum: Spectrum, mass: Array, similarity: Array, assignment: str) -> Any:
    """Covered and plain strength, line fit, and whether the eigenvectors are unique."""
    n_clusters = spectrum.eigenvalues.size + 1
    try:
        _, labels = assign(spectrum, mass, n_clusters, assignment, STARTS)
    except ValueError:
        return np.nan
    centres = prototypes(spectrum.projections, labels, mass * spectrum.takes_part, n_clusters)
    memberships = soft_memberships(prototype_distances(spectrum.projections, centres))
    return (
        membership_strength(memberships, mass, similarity >= COVERED),
        membership_strength(memberships, mass),
        line_fit(spectrum.projections, labels, n_clusters, similarity, mass),
        spectrum.is_unique,
    )


def assign(
    spectrum: Spectrum, mass: Array, n_clusters: int, assignment: str, n_starts: int | None = None
) -> tuple[Array, NDArray[np.intp]]:
    """Codes of the clusters, (k, k − 1), and the training rows' labels, (m,).

    Isolated rows, which all lie at the bias, have labels but no say in the codes.
    """
    part = spectrum.takes_part
    known, weight = spectrum.projections[part], mass[part]
    if assignment == "codebook":
        codes = codebook(known, weight, n_clusters)
        return codes, codebook_labels(spectrum.projections, codes)
    codes = direction_centres(known, weight, n_clusters, n_starts)
    return codes, direction_labels(spectrum.projections, codes)
