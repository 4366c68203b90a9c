"""How many clusters a table has, and which model describes them; the decision of `AutoClustering`.

`Search.decide` follows the diagram in docs/design.md. A density tree has no power in more than
three columns, and gaps between round parts do not separate other shapes in fewer. No model is
judged by its own criterion.
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
from softkern.splitting.mixture import TiedMixture
from softkern.splitting.observations import make_continuous, observation_rows
from softkern.splitting.settings import SPLITTING
from softkern.splitting.split import separations, split, split_into


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
# In the order of preference between equals: memberships of fuzzy clusters are even half way
# between two of them, whatever their sizes.
SOFT_MODELS: dict[str, Callable[..., Any]] = {
    model.__name__: model for model in (FuzzyCMeans, OneClassMixture, SoftKernelSpectralClustering)
}


@dataclass(frozen=True)
class Candidate:
    """A model that was tried: None where it could not be fitted, and its scores."""

    model: str
    fitted: Any
    clusters: int
    separation: float = np.nan  # smallest gap between two clusters, in critical depths
    stability: float = np.nan  # adjusted Rand index with refits on half of the rows

    def __str__(self) -> str:
        if self.fitted is None:
            return "could not be fitted"
        scores = f"separation {self.separation:.2f}, stability {self.stability:.2f}"
        return f"{plural(self.clusters, 'cluster')}, {scores}"


@dataclass
class Decision:
    """The fitted models, the reason, and the candidates, the chosen one first."""

    reason: str
    candidates: list[Candidate]
    one_class: Any = None  # OneClassPCM, where there is no density tree
    coordinates: Coordinates | None = None  # map to the columns of a soft model
    noise_radius: NoiseRadius | None = None  # distance beyond which rows are in no cluster


@dataclass(frozen=True)
class Search:
    """The decision, with the parameters that its steps have in common."""

    n_clusters: Any
    seed: int
    options: dict[str, Any]  # engine and random state of all models
    verbose: bool  # whether to print every stage

    def decide(self, rows: Rows) -> Decision:
        """Choose the number of clusters and the model of rows, whose weights count rows."""
        columns = varying_columns(rows.X[rows.weight > 0])
        if columns == 0:
            decision = _one_cluster("all rows are equal")
        elif columns <= FEW_COLUMNS:
            reason = "with up to three columns a density tree finds clusters of any shape"
            return self._density_tree(rows, reason)
        elif self.n_clusters == 1:
            decision = _one_cluster("one cluster was requested")
        else:
            X, Z, labels = self._split(rows)
            fitted = fit_coordinates(X, labels) if labels.max() > 0 else None
            if fitted is not None:
                decision = self._compare_models(X, Z, *fitted)
            elif self.n_clusters == "auto":
                decision = _one_cluster(NO_STRUCTURE)
            else:
                reason = "the clusters have too few rows for the other models"
                return self._density_tree(rows, reason)
        with self._stage("outlier scores"):
            model = OneClassPCM(
                bandwidth="auto" if columns else 1.0, verbose=self.verbose, **self.options
            )
            decision.one_class = model._fit_rows(rows)
        return decision

    def _density_tree(self, rows: Rows, reason: str) -> Decision:
        count = None if self.n_clusters == "auto" else self.n_clusters
        tree = AlphaCutClustering(n_clusters=count, verbose=self.verbose, **self.options)
        tree._fit_rows(rows)
        candidate = Candidate("AlphaCutClustering", tree, tree.n_clusters_)
        return Decision(reason if tree.n_clusters_ > 1 else NO_STRUCTURE, [candidate])

    def _split(self, rows: Rows) -> tuple[Array, Array, Array]:
        """Return a sample of the rows, their continuous columns, and their clusters."""
        index = observation_rows(rows, SPLITTING.max_rows, self.seed)
        X = rows.X[index]
        different = plural(len(np.unique(index)), "distinct row")
        with self._stage(f"searching for separated clusters in {different}") as notes:
            Z = make_continuous(X, self.seed)
            if self.n_clusters == "auto":
                least = max(SPLITTING.min_cluster, int(SMALL_SHARE * len(index)))
                labels = split(Z, self.seed, least)
            else:
                labels = split_into(Z, self.n_clusters, self.seed)
            notes.append(f"{int(labels.max()) + 1} found")
        return X, Z, labels

    def _compare_models(
        self, X: Array, Z: Array, coordinates: Coordinates, mixture: TiedMixture
    ) -> Decision:
        """Fit every model to rows X in coordinates, and choose one; Z are the columns for gaps."""
        points, start = coordinates.forward(X), np.eye(len(mixture.centers))[mixture.labels]
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
                    candidates.append(self._try(name, rows, start, halves, Z))
                    notes.append(str(candidates[-1]))
                done(len(candidates))
        best, reason = _choose(candidates)
        if best.fitted is None:
            return _one_cluster("no model could be fitted to the clusters found")
        candidates.sort(key=attrgetter("stability"), reverse=True)
        candidates.insert(0, candidates.pop(candidates.index(best)))
        # with one cluster there is no noise
        radius = fit_noise_radius(X, coordinates, mixture.labels) if best.clusters > 1 else None
        return Decision(reason, candidates, coordinates=coordinates, noise_radius=radius)

    def _try(
        self, name: str, rows: Rows, start: Array, halves: list[tuple[Rows, Array]], Z: Array
    ) -> Candidate:
        """Fit one model to all rows, and by the same plan to halves of them."""
        from sklearn.metrics import adjusted_rand_score  # slow to import

        try:
            model = self._make(name, start)._fit_rows(rows)
        except DataError:  # too few rows for it
            return Candidate(name, None, 0, 0.0, 0.0)
        number = np.unique(model.labels_, return_inverse=True)[1]
        agreements = np.zeros(len(halves))
        for i, (half, start_of_half) in enumerate(halves):
            if start_of_half.any(axis=0).all():  # the half has rows of all clusters
                with suppress(DataError):
                    # the bandwidth is not searched again
                    again = self._make(name, start_of_half, bandwidth=model.bandwidth_)
                    again._fit_rows(half, model.plan_)
                    agreements[i] = adjusted_rand_score(number, again.predict(rows.X))
        depth = float(separations(Z, number, self.seed).min()) if number.max() > 0 else 0.0
        return Candidate(name, model, int(number.max()) + 1, depth, float(agreements.mean()))

    def _make(self, name: str, start: Array, **options: Any) -> Any:
        """Return a model that starts from memberships (n, c), if it has a start."""
        model = SOFT_MODELS[name](start.shape[1], **self.options, **options)
        if hasattr(model, "init"):
            model.init, model.n_init = start, 1
        return model

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


def _one_cluster(reason: str) -> Decision:
    return Decision(reason, [Candidate("one cluster", None, 1)])


def _choose(candidates: list[Candidate]) -> tuple[Candidate, str]:
    """Return the most stable candidate whose clusters are separated, the first of equals, and why.

    Without separated clusters, of those with most clusters the one with the deepest gaps.
    """
    separated = [c for c in candidates if c.separation >= AUTO.separated_above]
    if not separated:
        reason = "no model separates its clusters clearly; this one separates them best"
        return max(candidates, key=attrgetter("clusters", "separation")), reason
    most = max(separated, key=attrgetter("clusters")).clusters
    highest = max(separated, key=attrgetter("stability")).stability
    near = [c for c in separated if c.stability >= highest - AUTO.stability_tie]
    best = max(near, key=lambda candidate: candidate.clusters == most)
    gaps = f"gaps between its clusters are {best.separation:.1f} times the critical depth"
    if best.separation < 1:
        gaps = "the smallest gap between its clusters is at the limit of significance"
    others = [c.stability for c in candidates if c is not best]
    is_clear = best.stability > max(others, default=0.0) + AUTO.stability_tie
    how = "most stable" if is_clear else "as stable as any other model"
    return best, f"{how} when refitted on half of the rows; {gaps}"
