"""How many clusters a table has, and which model describes them; the decision of `AutoClustering`.

::

    columns that vary?
      none         -> one cluster ("all rows are equal")
      1 to 3       -> density tree (AlphaCutClustering), which finds clusters of any shape
      4 or more:
        n_clusters=1                      -> one cluster
        split at density gaps (softkern.splitting.split), or into n_clusters parts
          one part, n_clusters="auto"     -> one cluster ("no significant cluster structure")
          one part, n_clusters=k          -> density tree, cut into k clusters
          two or more: map rows to the directions in which the parts differ, and fit there
            FuzzyCMeans, OneClassMixture, SoftKernelSpectralClustering; keep those whose
            clusters are separated by gaps, then the most stable when refitted on half of the rows
              none could be fitted        -> one cluster
              otherwise                   -> clusters of the chosen model that win a row, by size
    one cluster, or a chosen model        -> outlier scores of OneClassPCM on all columns

A density tree has no power in more than three columns, and gaps between round parts are no help
for other shapes in fewer. Criteria are none of the models' own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from softkern._utils.progress import stage
from softkern._utils.text import plural
from softkern._utils.typing import Array
from softkern.density_tree.bandwidth_search import FEW_COLUMNS
from softkern.density_tree.tree import SMALL_SHARE
from softkern.exceptions import (
    CollapseWarning,
    DataError,
    ParameterWarning,
    ReseedWarning,
    SpectrumWarning,
    quiet,
)
from softkern.models.alpha_cut import AlphaCutClustering
from softkern.models.fuzzy import FuzzyCMeans
from softkern.models.n_clusters import split_table
from softkern.models.one_class_mixture import OneClassMixture
from softkern.models.one_class_pcm import OneClassPCM
from softkern.models.point_scores import PointScores
from softkern.models.spectral import SoftKernelSpectralClustering
from softkern.rows import varying_columns
from softkern.splitting.coordinates import (
    Coordinates,
    NoiseRadius,
    fit_coordinates,
    fit_noise_radius,
)
from softkern.splitting.observations import observation_rows
from softkern.splitting.settings import SPLITTING
from softkern.splitting.split import separations

__all__ = ["AUTO", "SOFT_MODELS", "AutoScores", "AutoSettings", "ClusterMap", "Decision", "decide"]


@dataclass(frozen=True)
class AutoSettings:
    """Tuned constants of the choice between models (benchmarks/columns.py)."""

    halves: int = 2  # times that every model is refitted on half of the rows
    stability_tie: float = 0.02  # difference of stability that decides nothing
    separated_above: float = 0.8  # of the critical depth; models below do not separate clusters


AUTO = AutoSettings()
# Warnings of trial fits that do not concern the chosen model; approximations concern all of them
TRIAL_WARNINGS = (
    CollapseWarning,
    ConvergenceWarning,
    ParameterWarning,
    ReseedWarning,
    SpectrumWarning,
)
NO_STRUCTURE = "no statistically significant cluster structure found"


def _fuzzy(count: int, init: Array, **options: Any) -> Any:
    return FuzzyCMeans(count, init=init, n_init=1, **options)


def _mixture(count: int, init: Array, **options: Any) -> Any:
    return OneClassMixture(count, init=init, n_init=1, **options)


def _spectral(count: int, init: Array, **options: Any) -> Any:
    return SoftKernelSpectralClustering(count, **options)


# In the order of preference between equals: memberships of fuzzy clusters are even half way
# between two of them, whatever their sizes.
SOFT_MODELS: dict[str, Callable[..., Any]] = {
    "FuzzyCMeans": _fuzzy,
    "OneClassMixture": _mixture,
    "SoftKernelSpectralClustering": _spectral,
}


@dataclass(frozen=True)
class Candidate:
    """A model that was tried: None where it could not be fitted, and its scores."""

    name: str
    model: Any
    clusters: int
    separation: float = np.nan  # smallest gap between two clusters, in critical depths
    stability: float = np.nan  # adjusted Rand index with refits on half of the rows

    @property
    def summary(self) -> str:
        """The scores in short."""
        if self.model is None:
            return "could not be fitted"
        count = plural(self.clusters, "cluster")
        return f"{count}, separation {self.separation:.2f}, stability {self.stability:.2f}"


@dataclass(frozen=True)
class ClusterMap:
    """Clusters of a model in coordinates along which they differ.

    Attributes
    ----------
    model : estimator
        The fitted soft model.
    coordinates : Coordinates
        Map from all columns.
    noise_radius : NoiseRadius or None
        Distance beyond which samples are in no cluster.
    columns : array of shape (c,) or None
        Columns of the model's memberships that are clusters, in their order; None for all.
    """

    model: Any
    coordinates: Coordinates
    noise_radius: NoiseRadius | None = None
    columns: NDArray[np.intp] | None = None

    def memberships(self, scores: PointScores) -> Array:
        """Memberships in the clusters, (m, c), from the model's scores."""
        memberships: Array = scores.memberships
        if self.columns is None:
            return memberships
        chosen = memberships[:, self.columns]
        if chosen.shape == memberships.shape:
            return chosen
        total = chosen.sum(axis=1, keepdims=True)
        even = 1 / len(self.columns)
        return np.where(total > 0, chosen / np.where(total > 0, total, 1), even)

    def labels(self, X: Array, scores: PointScores) -> NDArray[np.int64]:
        """Clusters of samples, (m,), from the model's scores; −1 for noise."""
        labels = np.asarray(scores.labels, dtype=np.int64)
        if self.columns is not None:
            number = np.full(scores.memberships.shape[1], -1, dtype=np.int64)
            number[self.columns] = np.arange(len(self.columns))
            # a dropped cluster may be the largest of a new sample
            labels = np.where(
                number[labels] < 0, np.argmax(self.memberships(scores), axis=1), number[labels]
            )
        if self.noise_radius is None:
            return labels
        return np.where(self.noise_radius.is_noise(X), -1, labels)


class AutoScores(PointScores):
    """Scores of samples: outlier scores of a model of all columns, clusters of a map, or one."""

    def __init__(self, X: Array, one_class: Any, clusters: ClusterMap | None, **known: Any) -> None:
        super().__init__(**known)
        self._X, self._one_class, self._clusters = X, one_class, clusters

    @cached_property
    def _mapped(self) -> PointScores:
        if self._clusters is None:
            n, dtype = len(self._X), self._X.dtype
            return PointScores(
                memberships=np.ones((n, 1), dtype=dtype),
                labels=np.zeros(n, dtype=np.int64),
                overlap_scores=np.zeros(n, dtype=dtype),
            )
        points = self._clusters.coordinates.forward(self._X)
        scores: PointScores = self._clusters.model.score_points(points)
        return scores

    @cached_property
    def memberships(self) -> Array:
        """Memberships, (m, c)."""
        mapped: Array = self._mapped.memberships
        return mapped if self._clusters is None else self._clusters.memberships(self._mapped)

    @cached_property
    def labels(self) -> NDArray[np.int_]:
        """Clusters, (m,), −1 for noise."""
        if self._clusters is None:
            return self._mapped.labels
        return self._clusters.labels(self._X, self._mapped)

    @cached_property
    def outlier_scores(self) -> Array:
        """Outlier scores, (m,)."""
        scores: Array = self._one_class.score_points(self._X).outlier_scores
        return scores

    @cached_property
    def overlap_scores(self) -> Array:
        """Overlap scores, (m,)."""
        return self._mapped.overlap_scores


@dataclass(frozen=True)
class Decision:
    """The outcome: fitted models, the reason, and the candidates, of which one was chosen."""

    reason: str
    candidates: list[Candidate]
    best: int = 0
    tree: Any = None  # AlphaCutClustering
    one_class: Any = None  # OneClassPCM, where there is no tree
    clusters: ClusterMap | None = None

    @property
    def comparison(self) -> dict[str, list[Any]]:
        """The candidates as columns of a table, the chosen one first."""
        numbers = range(len(self.candidates))
        order = sorted(numbers, key=lambda k: (k != self.best, -self.candidates[k].stability))
        rows = [self.candidates[k] for k in order]
        return {
            "model": [row.name for row in rows],
            "clusters": [row.clusters for row in rows],
            "separation": [row.separation for row in rows],
            "stability": [row.stability for row in rows],
            "taken": [k == self.best for k in order],
        }


def decide(
    X: Array, mass: Array, n_clusters: Any, seed: int, options: dict[str, Any], verbose: bool
) -> Decision:
    """Choose the number of clusters and the model; see the diagram above.

    Parameters
    ----------
    X : array of shape (n, d)
        Numbers.
    mass : array of shape (n,)
        How many rows each row counts for.
    n_clusters : "auto" or int
    seed : int
        Random seed of samples, proposals and halves.
    options : dict
        Engine and random state of all models.
    verbose : bool
        Whether to print every stage.
    """
    columns = varying_columns(X[mass > 0])
    search = _Search(n_clusters, seed, options, verbose)
    if columns == 0:
        return search.one_cluster(X, mass, "all rows are equal", bandwidth=1.0)
    if columns <= FEW_COLUMNS:
        reason = "with up to three columns a density tree finds clusters of any shape"
        return search.density_tree(X, mass, reason)
    if n_clusters == 1:
        return search.one_cluster(X, mass, "one cluster was requested")
    return search.split(X, mass)


@dataclass(frozen=True)
class _Search:
    """The branches of the decision, with what they have in common."""

    n_clusters: Any
    seed: int
    options: dict[str, Any]
    verbose: bool

    def one_cluster(self, X: Array, mass: Array, reason: str, bandwidth: Any = "auto") -> Decision:
        one_class = self._fit_one_class(X, mass, bandwidth)
        return Decision(reason, [Candidate("one cluster", None, 1)], one_class=one_class)

    def density_tree(self, X: Array, mass: Array, reason: str) -> Decision:
        count = None if self.n_clusters == "auto" else self.n_clusters
        tree = AlphaCutClustering(n_clusters=count, verbose=self.verbose, **self.options)
        tree.fit(X, sample_weight=mass)
        candidate = Candidate("AlphaCutClustering", tree, tree.n_clusters_)
        return Decision(reason if tree.n_clusters_ > 1 else NO_STRUCTURE, [candidate], tree=tree)

    def split(self, X: Array, mass: Array) -> Decision:
        rows = observation_rows(X, mass, SPLITTING.max_rows, self.seed)
        different = plural(len(np.unique(rows)), "distinct row")
        with self._stage(f"searching for separated clusters in {different}") as notes:
            least = max(SPLITTING.min_cluster, int(SMALL_SHARE * len(rows)))
            Z, labels = split_table(X[rows], self.seed, self.n_clusters, least)
            notes.append(f"{int(labels.max()) + 1} found")
        fitted = fit_coordinates(X[rows], labels) if labels.max() > 0 else None
        if fitted is None and self.n_clusters == "auto":
            return self.one_cluster(X, mass, NO_STRUCTURE)
        if fitted is None:
            reason = "the clusters have too few rows for the other models"
            return self.density_tree(X, mass, reason)
        coordinates, mixture = fitted
        candidates = self._compare(coordinates.forward(X[rows]), mixture.labels, Z)
        best = _choose(candidates)
        chosen = candidates[best]
        if chosen.model is None:
            return self.one_cluster(X, mass, "no model could be fitted to the clusters found")
        radius = None  # with one cluster there is no noise
        if chosen.clusters > 1:
            radius = fit_noise_radius(X[rows], coordinates, mixture.labels)
        clusters = _by_size(X, mass, ClusterMap(chosen.model, coordinates, radius))
        one_class = self._fit_one_class(X, mass)
        reason = _reason(candidates, best)
        return Decision(reason, candidates, best, one_class=one_class, clusters=clusters)

    def _fit_one_class(self, X: Array, mass: Array, bandwidth: Any = "auto") -> OneClassPCM:
        with self._stage("outlier scores"):
            model = OneClassPCM(bandwidth=bandwidth, verbose=self.verbose, **self.options)
            return model.fit(X, sample_weight=mass)

    def _compare(self, points: Array, labels: Array, Z: Array) -> list[Candidate]:
        """Fit every model to clusters in their coordinates; Z are the columns for gap tests."""
        candidates: list[Candidate] = []
        with stage("comparing models", total=len(SOFT_MODELS)) as done:
            for name, make in SOFT_MODELS.items():
                what = "on all rows and on halves of them"
                with self._stage(f"{name}, {what}", what) as notes:
                    candidates.append(self._try(name, make, points, labels, Z))
                    notes.append(candidates[-1].summary)
                done(len(candidates))
        return candidates

    def _try(
        self, name: str, make: Callable[..., Any], points: Array, labels: Array, Z: Array
    ) -> Candidate:
        from sklearn.metrics import adjusted_rand_score  # slow to import

        count = int(labels.max()) + 1
        start = np.eye(count)[labels]  # (n, c)
        generator = np.random.default_rng(self.seed)
        agreements = []
        with quiet(*TRIAL_WARNINGS):
            try:
                model = make(count, start, **self.options).fit(points)
            except DataError:  # too few rows for it
                return Candidate(name, None, 0, 0.0, 0.0)
            number = np.unique(model.labels_, return_inverse=True)[1]
            for _ in range(AUTO.halves):
                half = np.sort(generator.permutation(len(points))[: (len(points) + 1) // 2])
                try:
                    if not start[half].any(axis=0).all():
                        raise DataError("the half lacks a cluster.")
                    again = make(count, start[half], **self.options)
                    again.set_params(bandwidth=model.bandwidth_)  # not searched again
                    again.fit(points[half])
                except DataError:
                    agreements.append(0.0)
                else:
                    agreements.append(adjusted_rand_score(number, again.predict(points)))
        depth = float(separations(Z, number, self.seed).min()) if number.max() > 0 else 0.0
        return Candidate(name, model, int(number.max()) + 1, depth, float(np.mean(agreements)))

    @contextmanager
    def _stage(self, name: str, watched_as: str = "") -> Iterator[list[str]]:
        """Report a stage to listeners, and print one line: name, seconds, notes."""
        notes: list[str] = []
        start = time.perf_counter()
        with stage(watched_as or name):
            yield notes
        seconds = f"{name}: {time.perf_counter() - start:.1f} s"
        print_lines([", ".join([seconds, *notes])], self.verbose)


def print_lines(lines: Sequence[str], verbose: bool) -> None:
    """Print lines if the model is verbose."""
    if verbose:
        from rich import get_console

        for line in lines:
            get_console().print(line, markup=False, highlight=False)


def _by_size(X: Array, mass: Array, clusters: ClusterMap) -> ClusterMap:
    """Drop clusters that win no row, and order the others by decreasing mass."""
    model, coordinates, radius = clusters.model, clusters.coordinates, clusters.noise_radius
    columns = np.unique(model.labels_)
    unordered = ClusterMap(model, coordinates, radius, columns)
    labels = unordered.labels(X, model.score_points(coordinates.forward(X)))
    size = np.bincount(labels[labels >= 0], mass[labels >= 0], len(columns))
    return ClusterMap(model, coordinates, radius, columns[np.argsort(-size, kind="stable")])


def _choose(candidates: list[Candidate]) -> int:
    """The most stable candidate whose clusters are separated; the first of equals.

    Without separated clusters, of those with most clusters the one with the deepest gaps.
    """
    numbers = range(len(candidates))
    separated = [
        k
        for k in numbers
        if candidates[k].model is not None and candidates[k].separation >= AUTO.separated_above
    ]
    if not separated:
        return max(numbers, key=lambda k: (candidates[k].clusters, candidates[k].separation))
    highest = max(candidates[k].stability for k in separated)
    most = max(candidates[k].clusters for k in separated)
    near = [k for k in separated if candidates[k].stability >= highest - AUTO.stability_tie]
    return next((k for k in near if candidates[k].clusters == most), near[0])


def _reason(candidates: list[Candidate], best: int) -> str:
    chosen = candidates[best]
    others = max((c.stability for k, c in enumerate(candidates) if k != best), default=0.0)
    if chosen.separation < AUTO.separated_above:
        return "no model separates its clusters clearly; this one separates them best"
    gaps = f"gaps between its clusters are {chosen.separation:.1f} times the critical depth"
    if chosen.separation < 1:
        gaps = "the smallest gap between its clusters is at the limit of significance"
    if chosen.stability > others + AUTO.stability_tie:
        return f"most stable when refitted on half of the rows; {gaps}"
    return f"as stable as any other model when refitted on half of the rows; {gaps}"
