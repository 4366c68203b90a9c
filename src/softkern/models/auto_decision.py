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

A density tree has no power in more than three columns, and gaps between round parts do not separate
other shapes in fewer. No model is judged by its own criterion.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
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
from softkern.models.spectral import SoftKernelSpectralClustering
from softkern.rows import Rows, varying_columns
from softkern.splitting.coordinates import (
    Coordinates,
    NoiseRadius,
    fit_coordinates,
    fit_noise_radius,
)
from softkern.splitting.observations import observation_rows
from softkern.splitting.settings import SPLITTING
from softkern.splitting.split import separations


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


@dataclass(frozen=True)
class Decision:
    """The fitted models, the reason, and the candidates, the chosen one first."""

    reason: str
    candidates: list[Candidate]
    model: Any = None  # of the clusters; None for one cluster
    one_class: Any = None  # OneClassPCM, where there is no density tree
    coordinates: Coordinates | None = None  # map to the columns of a soft model
    noise_radius: NoiseRadius | None = None  # distance beyond which rows are in no cluster

    @property
    def comparison(self) -> dict[str, list[Any]]:
        """The candidates as columns of a table."""
        values = map(attrgetter("name", "clusters", "separation", "stability"), self.candidates)
        names = ("model", "clusters", "separation", "stability")
        columns = dict(zip(names, map(list, zip(*values, strict=True)), strict=True))
        return columns | {"taken": [True] + [False] * (len(self.candidates) - 1)}


@dataclass(frozen=True)
class Search:
    """The branches of the decision (see the diagram above), with what they have in common."""

    n_clusters: Any
    seed: int
    options: dict[str, Any]  # engine and random state of all models
    verbose: bool  # whether to print every stage

    def decide(self, rows: Rows) -> Decision:
        """Choose the number of clusters and the model of rows, whose weights count rows."""
        columns = varying_columns(rows.X[rows.weight > 0])
        if columns == 0:
            return self._one_cluster(rows, "all rows are equal", bandwidth=1.0)
        if columns <= FEW_COLUMNS:
            reason = "with up to three columns a density tree finds clusters of any shape"
            return self._density_tree(rows, reason)
        if self.n_clusters == 1:
            return self._one_cluster(rows, "one cluster was requested")
        return self._split(rows)

    def _one_cluster(self, rows: Rows, reason: str, bandwidth: Any = "auto") -> Decision:
        one_class = self._fit_one_class(rows, bandwidth)
        return Decision(reason, [Candidate("one cluster", None, 1)], one_class=one_class)

    def _density_tree(self, rows: Rows, reason: str) -> Decision:
        count = None if self.n_clusters == "auto" else self.n_clusters
        tree = AlphaCutClustering(n_clusters=count, verbose=self.verbose, **self.options)
        tree._fit_rows(rows, self.options["random_state"])
        candidate = Candidate("AlphaCutClustering", tree, tree.n_clusters_)
        return Decision(reason if tree.n_clusters_ > 1 else NO_STRUCTURE, [candidate], tree)

    def _split(self, rows: Rows) -> Decision:
        index = observation_rows(rows, SPLITTING.max_rows, self.seed)
        X = rows.X[index]
        different = plural(len(np.unique(index)), "distinct row")
        with self._stage(f"searching for separated clusters in {different}") as notes:
            least = max(SPLITTING.min_cluster, int(SMALL_SHARE * len(index)))
            Z, labels = split_table(X, self.seed, self.n_clusters, least)
            notes.append(f"{int(labels.max()) + 1} found")
        fitted = fit_coordinates(X, labels) if labels.max() > 0 else None
        if fitted is None and self.n_clusters == "auto":
            return self._one_cluster(rows, NO_STRUCTURE)
        if fitted is None:
            reason = "the clusters have too few rows for the other models"
            return self._density_tree(rows, reason)
        coordinates, mixture = fitted
        candidates = self._compare(coordinates.forward(X), mixture.labels, Z)
        best = _choose(candidates)
        if best.model is None:
            return self._one_cluster(rows, "no model could be fitted to the clusters found")
        radius = None  # with one cluster there is no noise
        if best.clusters > 1:
            radius = fit_noise_radius(X, coordinates, mixture.labels)
        others = sorted(candidates, key=attrgetter("stability"), reverse=True)
        others.remove(best)
        one_class = self._fit_one_class(rows)
        reason = _reason(best, others)
        return Decision(reason, [best, *others], best.model, one_class, coordinates, radius)

    def _fit_one_class(self, rows: Rows, bandwidth: Any = "auto") -> OneClassPCM:
        with self._stage("outlier scores"):
            model = OneClassPCM(bandwidth=bandwidth, verbose=self.verbose, **self.options)
            return model._fit_rows(rows, self.options["random_state"])

    def _compare(self, points: Array, labels: Array, Z: Array) -> list[Candidate]:
        """Fit every model to clusters in their coordinates; Z are the columns for gap tests."""
        start = np.eye(int(labels.max()) + 1)[labels]  # (n, c)
        rows = Rows(points, np.ones(len(points), dtype=points.dtype))
        generator = np.random.default_rng(self.seed)
        halves = []
        for _ in range(AUTO.halves):
            half = np.sort(generator.permutation(len(points))[: (len(points) + 1) // 2])
            halves.append((rows.take(half), start[half]))
        candidates: list[Candidate] = []
        what = "on all rows and on halves of them"
        with stage("comparing models", total=len(SOFT_MODELS)) as done:
            for name in SOFT_MODELS:
                with self._stage(f"{name}, {what}", what) as notes, quiet(*TRIAL_WARNINGS):
                    candidate = self._try(name, rows, start, halves, Z)
                    candidates.append(candidate)
                    notes.append(_summary(candidate))
                done(len(candidates))
        return candidates

    def _try(
        self, name: str, rows: Rows, start: Array, halves: list[tuple[Rows, Array]], Z: Array
    ) -> Candidate:
        """Fit one model to all rows, and by the same plan to halves of them."""
        from sklearn.metrics import adjusted_rand_score  # slow to import

        make, count, seed = SOFT_MODELS[name], start.shape[1], self.options["random_state"]
        try:
            model = make(count, start, **self.options)._fit_rows(rows, seed)
        except DataError:  # too few rows for it
            return Candidate(name, None, 0, 0.0, 0.0)
        number = np.unique(model.labels_, return_inverse=True)[1]
        agreements = []
        for half, start_of_half in halves:
            agreement = 0.0
            if start_of_half.any(axis=0).all():  # the half has rows of all clusters
                with suppress(DataError):
                    # the bandwidth is not searched again
                    again = make(count, start_of_half, bandwidth=model.bandwidth_, **self.options)
                    again._fit_rows(half, seed, model.plan_)
                    agreement = adjusted_rand_score(number, again.predict(rows.X))
            agreements.append(agreement)
        depth = float(separations(Z, number, self.seed).min()) if number.max() > 0 else 0.0
        return Candidate(name, model, int(number.max()) + 1, depth, float(np.mean(agreements)))

    @contextmanager
    def _stage(self, name: str, watched_as: str = "") -> Iterator[list[str]]:
        """Report a stage to listeners, and print one line: name, seconds, notes."""
        notes: list[str] = []
        start = time.perf_counter()
        with stage(watched_as or name):
            yield notes
        if self.verbose:
            seconds = f"{name}: {time.perf_counter() - start:.1f} s"
            print_lines([", ".join([seconds, *notes])])


def print_lines(lines: Sequence[str]) -> None:
    """Print lines to the terminal."""
    from rich import get_console

    for line in lines:
        get_console().print(line, markup=False, highlight=False)


def _summary(candidate: Candidate) -> str:
    if candidate.model is None:
        return "could not be fitted"
    count = plural(candidate.clusters, "cluster")
    scores = f"separation {candidate.separation:.2f}, stability {candidate.stability:.2f}"
    return f"{count}, {scores}"


def _choose(candidates: list[Candidate]) -> Candidate:
    """The most stable candidate whose clusters are separated; the first of equals.

    Without separated clusters, of those with most clusters the one with the deepest gaps.
    """
    separated = [
        c for c in candidates if c.model is not None and c.separation >= AUTO.separated_above
    ]
    if not separated:
        return max(candidates, key=attrgetter("clusters", "separation"))
    highest = max(c.stability for c in separated)
    most = max(c.clusters for c in separated)
    near = [c for c in separated if c.stability >= highest - AUTO.stability_tie]
    return max(near, key=lambda c: c.clusters == most)


def _reason(chosen: Candidate, others: list[Candidate]) -> str:
    if chosen.separation < AUTO.separated_above:
        return "no model separates its clusters clearly; this one separates them best"
    gaps = f"gaps between its clusters are {chosen.separation:.1f} times the critical depth"
    if chosen.separation < 1:
        gaps = "the smallest gap between its clusters is at the limit of significance"
    next_best = others[0].stability if others else 0.0
    if chosen.stability > next_best + AUTO.stability_tie:
        return f"most stable when refitted on half of the rows; {gaps}"
    return f"as stable as any other model when refitted on half of the rows; {gaps}"
