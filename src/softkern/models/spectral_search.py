"""The search for a number of clusters and a bandwidth, for ``"auto"`` in spectral models.

Every bandwidth costs one eigenproblem on a sample of the data; solutions for fewer clusters are its
first columns. Every pair is scored by the average membership strength, in which samples that no
training row covers count as zero. Strengths of different numbers are not comparable: data without
clusters reach .8 with two or three clusters, less with more, depending on the number of columns.
The number is therefore chosen by its contrast, the strength beyond that of one normal cluster with
the same covariance. `softkern.selection.select_spectral` returns this search to users.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter

from softkern._utils.progress import stage
from softkern._utils.random import as_random_state
from softkern._utils.threads import one_thread
from softkern._utils.typing import Array
from softkern.exceptions import DataError
from softkern.kernels import Kernel, select_bandwidth
from softkern.models.subset import TrainingRows, training_rows
from softkern.planning import plan
from softkern.rows import Rows
from softkern.rules.memberships import fuzzy
from softkern.rules.projections import codes_of, labels_by, prototype_distances, prototypes
from softkern.solvers.eigen import Spectrum, solve

COVERED = 1e-2  # the 2015 paper's threshold for outliers: mean similarity to the training samples
SEARCH_ROWS = 600  # sample on which pairs are scored
STARTS = 4  # initializations of k-means
REFERENCE_ROWS = 200  # of the normal cluster that strengths are compared with
REFERENCE_ROWS_PER_CLUSTER = 10  # at least
# Strengths without clusters where no reference can be drawn (a Gram matrix, kernels of x · y), for
# 2 to 6 clusters, the last for more: means over normal and uniform draws in two columns.
ONE_CLUSTER = (0.92, 0.88, 0.82, 0.77, 0.75)
SEPARATED = 0.9  # contrast of separated clusters, of which the largest number is chosen ...
SEPARATED_TIE = 0.05  # ... among those this close to the best
VAGUE = 0.4  # contrast below which nothing is separated, and the smallest number is chosen ...
VAGUE_TIE = 0.1  # ... among those this close to the best, which is within chance
MULTIPLES = 2.0 ** np.arange(-4.5, 1.0, 0.5)  # of the rule "global", which is as wide as the data


class _Setting(NamedTuple):
    """What all trials of a search have in common."""

    numbers: Array  # of clusters, (K,)
    assignment: str
    eigenvector_scale: str
    random_state: Any


@dataclass(frozen=True)
class SpectralSearch:
    """Scores of pairs of a number of clusters and a bandwidth.

    The result of `softkern.selection.select_spectral`, and the `search_` of spectral models.

    Attributes
    ----------
    n_clusters_range : array of shape (K,)
        Numbers of clusters.
    bandwidths : list of S floats or arrays
        Bandwidths; [None] for a kernel without one.
    strength : array of shape (K, S)
        Average membership strength, in which samples that are not covered count as zero. NaN for
        too few eigenvectors, or for eigenvectors that are not unique (equal eigenvalues), unless
        they are unique nowhere.
    contrast : array of shape (K, S)
        The strength beyond that of one cluster, relative to the largest possible: about zero
        without clusters, one for separated clusters. It decides the number. With two clusters it
        uses memberships by squared distances on their line, as cosine distances are squared ones.
    plain : array of shape (K, S)
        Average membership strength of all samples.
    fit : array of shape (K, S)
        Balanced line fit.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from softkern.selection import select_spectral
    >>> X, _ = make_blobs(150, centers=[[0, 0], [8, 0], [0, 8]], random_state=0)
    >>> search = select_spectral(X, n_clusters_range=range(2, 5))
    >>> search.n_clusters_range.tolist(), search.best[0]
    ([2, 3, 4], 3)
    """

    n_clusters_range: Array
    bandwidths: list[Any]
    strength: Array = field(repr=False)
    contrast: Array = field(repr=False)
    plain: Array = field(repr=False)
    fit: Array = field(repr=False)

    @classmethod
    def of(
        cls,
        data: Rows,
        kernel: Kernel,
        n_clusters_range: Iterable[int],
        bandwidths: str | Sequence[Any] | None,
        *,
        assignment: str,
        eigenvector_scale: str,
        n_rows: int,
        n_validation: int = 0,
        engine: str,
        engine_params: dict[str, Any] | None,
        random_state: Any,
    ) -> Self:
        """Score every pair on a random sample of the rows, or on `n_validation` other rows.

        Bandwidths are numbers, arrays or names of rules; "auto" uses multiples of the rule
        "global", and None the kernel as it is.
        """
        numbers = np.asarray(sorted(set(n_clusters_range)))
        tried = _bandwidths(data, bandwidths, random_state)
        sample = training_rows(kernel, data, n_rows + n_validation, "random", random_state)
        chosen, aside = _split(sample, n_validation, random_state)
        if chosen.rows.size < numbers.min():
            raise DataError(
                f"{numbers.min()} clusters need at least {numbers.min()} different points, and "
                f"there are {chosen.rows.size}; use fewer clusters."
            )
        points = Rows(kernel.restrict(data.X, chosen.rows), chosen.mass)
        validation = None
        if n_validation:
            validation = Rows(kernel.restrict_new(data.X[aside.rows], chosen.rows), aside.mass)
        engines = {"engine": engine, "engine_params": None if engine == "auto" else engine_params}
        kernels = [kernel if b is None else kernel.with_bandwidth(b) for b in tried]
        setting = _Setting(numbers, assignment, eigenvector_scale, random_state)
        surfaces = _surfaces(points, chosen.own, kernels, setting, engines, validation)
        is_unique = surfaces[-1] == 1
        if is_unique.any():  # a regular grid has equal eigenvalues at any bandwidth
            surfaces[:-1, ~is_unique] = np.nan
        strength, comparable, plain, fit, _ = surfaces
        reference = np.zeros(numbers.size)
        if numbers.size > 1:
            is_auto = isinstance(bandwidths, str)
            reference = _reference_strength(points, kernels, is_auto, setting)
        contrast = (comparable - reference[:, None]) / (1 - reference[:, None])
        return cls(numbers, tried, strength, contrast, plain, fit)

    @property
    def best(self) -> tuple[int, Any]:
        """The number of clusters by contrast, and the bandwidth of its highest strength.

        Usually the number has the highest contrast. If clusters are separated, so are groups of
        them, and the largest such number is chosen. If nothing is separated, contrasts differ by
        chance, and the smallest is.
        """
        i, j = self.best_place
        return int(self.n_clusters_range[i]), self.bandwidths[j]

    @property
    def strongest(self) -> tuple[int, Any]:
        """The pair with the highest strength, the rule of the 2013 and 2015 papers."""
        self._check()
        i, j = np.unravel_index(int(np.nanargmax(self.strength)), self.strength.shape)
        return int(self.n_clusters_range[i]), self.bandwidths[j]

    @property
    def is_at_edge(self) -> bool:
        """Whether the best bandwidth is the narrowest or the widest of several.

        Then a bandwidth beyond may be better; pass more of them to `select_spectral`.
        """
        return len(self.bandwidths) > 1 and self.best_place[1] in (0, len(self.bandwidths) - 1)

    def _check(self) -> None:
        if not np.isfinite(self.strength).any():
            raise DataError(
                f"none of the {len(self.bandwidths)} bandwidths tried separates "
                f"{self.n_clusters_range.min()} clusters or more; give bandwidth=<a number>."
            )

    @property
    def best_place(self) -> tuple[int, int]:
        """Indices of `best` in the arrays of scores."""
        self._check()
        highest = np.where(np.isfinite(self.contrast), self.contrast, -np.inf).max(axis=1)
        top = float(highest.max())
        if top < VAGUE:
            i = int(np.argmax(highest >= top - VAGUE_TIE))
        elif top < SEPARATED:
            i = int(np.argmax(highest))
        else:
            i = int(np.flatnonzero(highest >= max(SEPARATED, top - SEPARATED_TIE))[-1])
        return i, int(np.nanargmax(self.strength[i]))

    @property
    def is_maximum(self) -> NDArray[np.bool_]:
        """Local maxima of the contrast, and the best pair, (K, S)."""
        values = np.where(np.isfinite(self.contrast), self.contrast, -np.inf)
        highest = maximum_filter(values, size=3, mode="constant", cval=-np.inf)
        found = (values >= highest) & np.isfinite(values) & (self.strength > 0)
        if found.any():
            found[self.best_place] = True
        return found

    @property
    def table(self) -> Any:
        """All pairs as a DataFrame, the highest contrast first, with local maxima marked."""
        import pandas as pd

        table = pd.DataFrame(
            {
                "n_clusters": np.repeat(self.n_clusters_range, len(self.bandwidths)),
                "bandwidth": self.bandwidths * len(self.n_clusters_range),
                "contrast": self.contrast.ravel(),
                "strength": self.strength.ravel(),
                "plain_strength": self.plain.ravel(),
                "line_fit": self.fit.ravel(),
                "is_maximum": self.is_maximum.ravel(),
            }
        )
        return table.sort_values("contrast", ascending=False, ignore_index=True)

    @property
    def maxima(self) -> Any:
        """The local maxima of the contrast, the highest first: alternatives to the best pair."""
        table = self.table
        return table[table.is_maximum].drop(columns="is_maximum").reset_index(drop=True)


def _bandwidths(rows: Rows, bandwidths: str | Sequence[Any] | None, random_state: Any) -> list[Any]:
    if bandwidths is None:
        return [None]
    if isinstance(bandwidths, str):
        widest = np.asarray(select_bandwidth(rows, "global", random_state=random_state))
        return list(np.multiply.outer(MULTIPLES, widest))
    return [
        select_bandwidth(rows, given, random_state=random_state)
        if isinstance(given, str)
        else given
        for given in bandwidths
    ]


def _split(
    sample: TrainingRows, n_validation: int, random_state: Any
) -> tuple[TrainingRows, TrainingRows]:
    """Split rows into training rows and random validation rows, each in their order."""
    n_train = max(sample.rows.size - n_validation, 1)
    is_first = np.ones(sample.rows.size, dtype=bool)
    if n_validation:
        order = as_random_state(random_state).permutation(sample.rows.size)
        is_first[order[n_train:]] = False
    rows, mass, own = sample
    first = TrainingRows(rows[is_first], mass[is_first], own[is_first])
    return first, TrainingRows(rows[~is_first], mass[~is_first], own[~is_first])


def _reference_strength(
    points: Rows, kernels: list[Kernel], is_auto: bool, setting: _Setting
) -> Array:
    """Highest strength of every number on normal data with the points' covariance, (K,)."""
    default = np.take(ONE_CLUSTER, setting.numbers - 2, mode="clip")
    if not (kernels[0].takes_points and kernels[0].decays):
        return default
    size = max(REFERENCE_ROWS, REFERENCE_ROWS_PER_CLUSTER * int(setting.numbers.max()))
    size = min(points.shape[0], size)
    share = points.weight / points.weight.sum()
    normal = as_random_state(setting.random_state).normal(size=(size, len(share))) * np.sqrt(share)
    normal -= np.outer(normal.sum(axis=1), share)  # deviations from the mean
    mean = np.asarray(share @ points.X, dtype=np.float64)
    drawn = Rows(np.asarray(normal @ points.X + mean), np.ones(size))
    if is_auto:
        widths = _bandwidths(drawn, "auto", setting.random_state)
        kernels = [kernels[0].with_bandwidth(width) for width in widths]
    surfaces = _surfaces(drawn, np.ones(size), kernels, setting, {})
    comparable = np.where(surfaces[-1] == 1, surfaces[1], -np.inf).max(axis=1)
    return np.where((comparable > 0) & (comparable < 1), comparable, default)


def _surfaces(
    points: Rows,
    own: Array,
    kernels: list[Kernel],
    setting: _Setting,
    engines: dict[str, Any],
    validation: Rows | None = None,
) -> Array:
    """Scores of every number of clusters and every kernel, (5, K, S); see `_score`."""
    numbers, random_state = setting.numbers, setting.random_state
    surfaces = np.full((5, numbers.size, len(kernels)), np.nan)
    planned = None
    # small problems, in which threads wait for each other
    with stage("bandwidths", total=len(kernels)) as done, one_thread():
        for j, kernel in enumerate(kernels):
            done(j)
            if planned is not None and planned.engine == "dense":  # at any bandwidth
                planned = replace(planned, kernel=kernel)
            else:
                options = {"n_vectors": int(numbers.max()), "random_state": random_state}
                planned = plan(points, kernel=kernel, **options, **engines)
            operator = planned.build(points, random_state=random_state)
            try:
                spectrum = solve(
                    operator,
                    int(numbers.max()) - 1,
                    points.weight,
                    own=own,
                    vector_scale=setting.eigenvector_scale,
                    strict=False,
                )
            except DataError:
                continue
            if validation is None:
                itself = own * np.asarray(operator.diag(), dtype=np.float64)
                similarity = (spectrum.degree - itself) / points.weight.sum()
                scored = spectrum.projections, similarity, points.weight
            else:
                columns = np.column_stack([spectrum.coefficients, points.weight])
                product = operator.cross(validation.X) @ columns
                similarity = product[:, -1] / points.weight.sum()
                scored = product[:, :-1] + spectrum.bias, similarity, validation.weight
            for i, k in enumerate(numbers):
                if k - 1 <= spectrum.eigenvalues.size:
                    leading = spectrum.leading(k - 1)
                    surfaces[:, i, j] = _score(leading, points.weight, scored, setting.assignment)
    return surfaces


def _score(
    spectrum: Spectrum, mass: Array, scored: tuple[Array, Array, Array], assignment: str
) -> Any:
    """Strength, comparable strength, plain strength, line fit, and whether eigenvectors are unique.

    `scored` are projections, mean similarities and weights. NaN where the projections do not form
    as many clusters.
    """
    n_clusters = spectrum.eigenvalues.size + 1
    try:
        part = spectrum.takes_part
        codes = codes_of(spectrum.projections[part], mass[part], n_clusters, assignment, STARTS)
    except DataError:
        return np.nan
    labels = labels_by(spectrum.projections, codes, assignment)
    centers = prototypes(spectrum.projections, labels, mass * part, n_clusters)
    projections, similarity, weight = scored
    projections = projections[:, : n_clusters - 1]
    labels = labels_by(projections, codes, assignment)
    distances = prototype_distances(projections, centers)
    memberships = fuzzy(distances, m=2)
    is_covered = similarity >= COVERED
    strength = comparable = membership_strength(memberships, weight, is_covered)
    if n_clusters == 2:  # cosine distances are squared ones, those on the line are not
        comparable = membership_strength(fuzzy(distances**2, m=2), weight, is_covered)
    return (
        strength,
        comparable,
        membership_strength(memberships, weight),
        line_fit(projections, labels, n_clusters, similarity, weight),
        spectrum.is_unique,
    )


def membership_strength(
    memberships: Array, weight: Array | None = None, covered: Array | None = None
) -> float:
    """Compute the average membership strength of memberships (n, k).

    The largest memberships are averaged over the samples of each cluster, then over the clusters.
    Samples that are not covered, (n,), have membership zero. An empty cluster has strength zero.
    """
    weight = np.ones(len(memberships)) if weight is None else np.asarray(weight, np.float64)
    labels, n_clusters = np.argmax(memberships, axis=1), memberships.shape[1]
    own = memberships.max(axis=1).astype(np.float64)
    if covered is not None:
        own = np.where(covered, own, 0.0)
    mass = np.bincount(labels, weights=weight, minlength=n_clusters)
    total = np.bincount(labels, weights=weight * own, minlength=n_clusters)
    return float(np.divide(total, mass, out=np.zeros(n_clusters), where=mass > 0).mean())


def line_fit(
    projections: Array,
    labels: Array,
    n_clusters: int,
    similarity: Array,
    weight: Array,
    balance: float = 0.5,
) -> float:
    """Compute the balanced line fit of projections (n, k − 1) with labels (n,).

    The line fit of a cluster is one if its projections lie on a line, and zero if they spread
    evenly in all directions (eigenvalues of their covariance). The balance is the smallest cluster
    size over the largest one. For two clusters, whose projections have one column, the similarity
    (n,) to the training samples is the second one (Alzate and Suykens 2010).
    """
    Z = np.asarray(projections, dtype=np.float64)
    Z = np.column_stack([Z, similarity]) if Z.shape[1] == 1 else Z
    width = Z.shape[1]
    fits, sizes = np.zeros(n_clusters), np.zeros(n_clusters)
    for p in range(n_clusters):
        rows = labels == p
        sizes[p] = weight[rows].sum()
        if sizes[p] > 0:
            centered = Z[rows] - np.average(Z[rows], axis=0, weights=weight[rows])
            spread = np.linalg.eigvalsh(centered.T @ (weight[rows, None] * centered))
            share = spread[-1] / spread.sum() if spread.sum() > 0 else 1.0  # a point is a line
            fits[p] = width / (width - 1) * (share - 1 / width)
    return float((1 - balance) * fits.mean() + balance * sizes.min() / sizes.max())
