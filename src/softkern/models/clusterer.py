"""Base classes of the clusterers.

`Clusterer` derives labels, memberships and scores from `score_points`. `CenterClusterer` is the
base class of models with several centers: a subclass turns the geometry of samples and centers
into log memberships, and outlier scores follow from the similarity to the nearest center.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.metaestimators import available_if

from softkern._utils.arrays import on_host
from softkern._utils.sklearn_compat import Interval, StrOptions
from softkern._utils.typing import Array
from softkern.exceptions import CollapseWarning, warn
from softkern.models._array_dispatch import dispatch_arrays
from softkern.models.base import SoftModel
from softkern.models.kernel_model import SUPPORT, UNKNOWN_LENGTHS, KernelModel
from softkern.models.point_scores import KernelScores, PointScores
from softkern.models.state_schema import Floats, Indices, Number, Spec
from softkern.operators.base import Geometry, KernelOperator
from softkern.rows import Rows
from softkern.rules.memberships import overlap
from softkern.solvers.collapse import coinciding
from softkern.solvers.initialization import INITS
from softkern.solvers.steps import Solution

__all__ = ["NEEDS_LENGTHS", "CenterClusterer", "Clusterer"]

NEEDS_LENGTHS = f"{UNKNOWN_LENGTHS} predict and memberships do not need them."


class Clusterer(ClusterMixin, SoftModel):  # type: ignore[misc]
    """Methods and fitted attributes of the clusterers. See the module's docstring."""

    memberships_sum_to_one: ClassVar[bool] = True
    _fitted: ClassVar[dict[str, Spec]] = {
        "n_clusters_": Number(low=0, whole=True, size="c"),
        "labels_": Indices("n", low=-1, below="c", method="predict"),
        "memberships_": Floats("nc", low=0, method="memberships"),
        "outlier_scores_": Floats("n", finite=False, method="outlier_scores"),
        "overlap_scores_": Floats("n", low=0, method="overlap_scores"),
    }

    fit_predict = dispatch_arrays(ClusterMixin.fit_predict)

    @available_if(lambda self: self.memberships_sum_to_one)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Compute memberships, which sum to one for each sample.

        Parameters
        ----------
        X : array or CSR matrix of shape (m, n_features)
            Samples to score.

        Returns
        -------
        memberships : array of shape (m, n_clusters)
            The same as `memberships`.
        """
        return self.memberships(X)

    @dispatch_arrays
    def overlap_scores(self, X: Any) -> Array:
        """Score how far samples lie between clusters.

        For models with centers the score is exp(−4 t) at the place t on the way from the midpoint
        between two clusters, where their memberships tie, to the sample's own center. The distance
        off that way has no influence, so that scores mean the same for any number of features.

        Parameters
        ----------
        X : array or CSR matrix of shape (m, n_features)
            Samples to score.

        Returns
        -------
        scores : array of shape (m,)
            One where two clusters tie, near zero at a center.
        """
        return self.score_points(X).overlap_scores

    def _store_scores(self, scores: PointScores) -> None:
        """Set the fitted attributes of the training samples."""
        self.memberships_ = scores.memberships
        self.labels_ = scores.labels
        self.outlier_scores_ = scores.outlier_scores
        self.overlap_scores_ = scores.overlap_scores


class CenterScores(KernelScores):
    """Results of samples from their similarities to several centers."""

    @cached_property
    def log_memberships(self) -> Array:
        return np.asarray(self.model._log_memberships(self.geometry))

    @cached_property
    def outlier_scores(self) -> Array:
        model, geometry = self.model, self.geometry
        if model.kernel_.decays:
            return np.asarray(-(self.log_of_others - np.log(geometry.norms)).max(axis=1))
        if self.training is None and not self.rows.lengths_are_known:
            raise ValueError(NEEDS_LENGTHS)
        widths = model._widths
        with np.errstate(over="ignore"):  # a cluster of equal points has no width
            if np.ndim(widths) == 0:  # without a second array of all distances
                return geometry.distances.min(axis=1) / widths
            return (geometry.distances / widths).min(axis=1)

    @cached_property
    def overlap_scores(self) -> Array:
        model, inner = self.model, self.model._inner
        features = self.rows.support.features
        if features is None:
            norms = np.diagonal(inner)
            distances = np.maximum(norms[:, None] + norms - 2 * inner, 0)
        else:  # far from the origin inner products have no digits left
            vectors = on_host(features.centers(self.columns)).T
            distances = np.square(vectors[:, None] - vectors).sum(axis=-1)
        at_centers = model._energies(Geometry(inner, model._norms, distances))
        return overlap(model._energies(self.geometry), self.labels, at_centers)


@dataclass(eq=False, repr=False, kw_only=True)
class CenterClusterer(Clusterer, KernelModel):
    """Base class of the models with several centers. See the module's docstring."""

    n_clusters: int | str = field(default=2, kw_only=False)
    init: Any = "k-means++"
    n_init: int = 5
    stopping: str = "relative"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "n_clusters": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions(set(INITS)), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }
    _auto_bandwidth: ClassVar[str] = "within"
    _fitted: ClassVar[dict[str, Spec]] = {
        **SUPPORT,
        "dual_coef_": Floats("sc"),
        "_norms": Floats("c"),
        "_inner": Floats("cc"),
    }
    _scores_class = CenterScores
    _products: ClassVar[int] = 40
    _low_rank_from: ClassVar[float] = 2000
    _remedy: ClassVar[str] = "Use fewer clusters"  # where centers coincide

    @abstractmethod
    def _log_memberships(self, geometry: Geometry) -> Array:
        """Return logarithms of memberships, (m, c), the largest for a sample's own cluster."""

    def _energies(self, geometry: Geometry) -> Array:
        """Return a quantity that falls as memberships rise, (m, c), for overlap scores."""
        return -self._log_memberships(geometry)

    @property
    def _widths(self) -> Any:
        """Squared width of every cluster, (c,) or one for all, as the unit of distances."""
        return 1.0

    def _fit(self, rows: Rows) -> None:
        self._choose_number(rows)
        operator = self._planned(rows, self.n_clusters_)
        solution = self._solve(operator, rows.weight)
        self._store_solution(operator, solution)
        if operator.is_exact_support:
            operator.release()
        A, geometry = solution.coefficients, solution.geometry
        self._store_scores(self._score_fitted(operator, A, geometry, rows.weight))
        self._warn_of_collapse(solution)

    @abstractmethod
    def _solve(self, operator: KernelOperator, weight: Array) -> Solution:
        """Run the loop over the samples of an operator."""

    def _choose_number(self, rows: Rows) -> None:
        """Set `n_clusters_`, which is estimated for ``n_clusters="auto"``."""
        if not isinstance(self.n_clusters, str):
            self.n_clusters_ = int(self.n_clusters)
            return
        if self._is_precomputed:
            raise ValueError(
                "n_clusters='auto' needs the data; kernel='precomputed' provides only similarities."
                " Pass a number of clusters."
            )
        # needs much of scikit-learn, and few fits leave the number open
        from softkern.splitting.split import estimate_n_clusters

        self.n_clusters_ = estimate_n_clusters(rows, random_state=self._fit_seed)

    def _store_solution(self, operator: KernelOperator, solution: Solution) -> None:
        """Store the centers and how the loop went."""
        self._store(operator, solution)
        if operator.is_exact_support:
            self._inner = np.asarray(solution.coefficients.T @ solution.geometry.product)
        else:
            self._inner = np.asarray(self._columns.T @ (self._stored_operator() @ self._columns))

    def _warn_of_collapse(self, solution: Solution) -> None:
        """Warn where fewer clusters than requested are distinct."""
        pairs = coinciding(solution.coefficients)
        if pairs:
            named = ", ".join(f"{i} and {j}" for i, j in pairs[:5])
            warn(f"The centers of clusters {named} coincide. {self._remedy}.", CollapseWarning)
