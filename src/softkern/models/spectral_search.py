"""The search over numbers of clusters and bandwidths that a spectral model's "auto" means.

Every bandwidth costs one eigenproblem, on a sample of the data; the solutions for fewer clusters
are its first columns. Every pair is judged by the average membership strength, in which points
that no training point covers count as zero. `softkern.selection.select_spectral` is the same
search for a user to look at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from softkern._typing import Array
from softkern.exceptions import DataError
from softkern.kernels import Kernel, select_bandwidth
from softkern.metrics.strength import COVERED, line_fit, local_maxima, membership_strength
from softkern.models.subset import training_rows
from softkern.operators.base import KernelOperator
from softkern.planning import plan
from softkern.rules.memberships import fuzzy
from softkern.rules.projections import codes_of, labels_by, prototype_distances, prototypes
from softkern.solvers.eigen import Spectrum, solve

__all__ = ["SEARCH_ROWS", "SpectralSearch"]

SEARCH_ROWS = 800  # of the sample on which the search is made
STARTS = 4  # of k-means, in the search
MULTIPLES = 2.0 ** np.arange(-4.5, 1.0, 0.5)  # of the rule "global", which is as wide as the data


@dataclass(frozen=True)
class SpectralSearch:
    """How good every pair of a number of clusters and a bandwidth is.

    The result of `softkern.selection.select_spectral`, and the `search_` of spectral models.
    `softkern.display.AMSDisplay.from_results` draws it.

    Attributes
    ----------
    n_clusters_range : array of shape (K,)
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

    n_clusters_range: Array
    bandwidths: list[Any]
    strength: Array = field(repr=False)
    plain: Array = field(repr=False)
    fit: Array = field(repr=False)

    @classmethod
    def of(
        cls,
        X: Any,
        weight: Array,
        kernel: Kernel,
        n_clusters_range: Iterable[int],
        bandwidths: str | Sequence[Any] | None,
        *,
        assignment: str = "directions",
        n_rows: int = SEARCH_ROWS,
        engine: str = "auto",
        engine_params: dict[str, Any] | None = None,
        random_state: Any = 0,
    ) -> Self:
        """Judge every pair on a random sample of the rows.

        Bandwidths are numbers, arrays or names of rules; "auto" takes multiples of the rule
        "global", and None keeps the kernel as it is.
        """
        numbers = np.asarray(sorted(set(n_clusters_range)))
        tried = _bandwidths(X, weight, bandwidths, random_state)
        rows, mass, own = training_rows(kernel, X, weight, n_rows, "random", random_state)
        if rows.size < numbers.min():
            raise DataError(
                f"{numbers.min()} clusters need at least {numbers.min()} different points, and "
                f"there are {rows.size}; use fewer clusters."
            )
        points = kernel.restrict(X, rows)
        options = None if engine == "auto" else engine_params  # those of the engine of the fit
        chance = {"sample_weight": mass, "random_state": random_state}
        surfaces = np.full((4, numbers.size, len(tried)), np.nan)
        with threadpool_limits(1):  # many small problems, on which threads wait for each other
            for j, bandwidth in enumerate(tried):
                chosen = kernel if bandwidth is None else kernel.with_bandwidth(bandwidth)
                planned = plan(
                    points,
                    kernel=chosen,
                    n_vectors=int(numbers.max()),
                    engine=engine,
                    engine_params=options,
                    **chance,
                )
                operator = planned.build(points, **chance)
                surfaces[:, :, j] = _judge_all(operator, mass, own, numbers, assignment)
        is_unique = surfaces[3] == 1
        if is_unique.any():  # a regular grid has equal eigenvalues at any bandwidth
            surfaces[:3, ~is_unique] = np.nan
        return cls(numbers, tried, *surfaces[:3])

    @property
    def best(self) -> tuple[int, Any]:
        """The number of clusters and the bandwidth of the highest strength."""
        i, j = self._place
        return int(self.n_clusters_range[i]), self.bandwidths[j]

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
                f"{self.n_clusters_range.min()} clusters or more; give bandwidth=<a number>."
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
                "n_clusters": self.n_clusters_range[i],
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


def _bandwidths(
    X: Any, weight: Array, bandwidths: str | Sequence[Any] | None, random_state: Any
) -> list[Any]:
    def rule(name: str) -> Any:
        return select_bandwidth(X, name, sample_weight=weight, random_state=random_state)

    if bandwidths is None:
        return [None]
    if isinstance(bandwidths, str):
        widest = np.asarray(rule("global"))
        return [multiple * widest for multiple in MULTIPLES]
    return [rule(given) if isinstance(given, str) else given for given in bandwidths]


def _judge_all(
    operator: KernelOperator, mass: Array, own: Array, numbers: Array, assignment: str
) -> Array:
    """`_judge` of every number of clusters, (4, K); nan where there are not so many."""
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
        part = spectrum.takes_part
        codes = codes_of(spectrum.projections[part], mass[part], n_clusters, assignment, STARTS)
    except ValueError:
        return np.nan
    labels = labels_by(spectrum.projections, codes, assignment)
    centres = prototypes(spectrum.projections, labels, mass * part, n_clusters)
    memberships = fuzzy(prototype_distances(spectrum.projections, centres), m=2)
    return (
        membership_strength(memberships, mass, similarity >= COVERED),
        membership_strength(memberships, mass),
        line_fit(spectrum.projections, labels, n_clusters, similarity, mass),
        spectrum.is_unique,
    )
