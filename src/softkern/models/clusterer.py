"""What clusterings share: one reading of points, and all that users ask of it.

`Clustering` takes labels, memberships and scores from `reading`; `CenterClustering` makes the
reading of models with several centers: a member says how the geometry of points and centers becomes
log memberships, and outlierness follows from the similarity to the nearest center. Training points
and new points take the same path.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.metaestimators import available_if

from softkern._utils.arrays import on_host
from softkern._utils.typing import Array
from softkern.dask import ChunkedRows
from softkern.exceptions import CollapseWarning, warn
from softkern.models.base import KernelModel
from softkern.models.n_clusters import estimate_n_clusters
from softkern.models.point_scores import Reading
from softkern.operators.base import CrossOperator, Geometry, KernelOperator
from softkern.rules.memberships import overlap
from softkern.solvers.alternate import alternate
from softkern.solvers.collapse import coinciding
from softkern.solvers.steps import Solution

__all__ = ["CenterClustering", "Clustering"]


class Clustering(ClusterMixin, KernelModel):  # type: ignore[misc]
    """Base of the clusterings; see the module's docstring."""

    memberships_sum_to_one: ClassVar[bool] = True
    _state: ClassVar[tuple[str, ...]] = (
        "labels_",
        "memberships_",
        "outlier_scores_",
        "overlap_scores_",
    )

    @abstractmethod
    def reading(self, X: Any) -> Reading:
        """All that the model says of new points, from one product.

        Its attributes are `labels`, `memberships`, `outlier_scores` and `overlap_scores`.
        """

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The cluster of highest membership, also where all of them underflow, (m,)."""
        return self.reading(X).labels

    def memberships(self, X: Any) -> Array:
        """Memberships of new points, (m, n_clusters)."""
        return self.reading(X).memberships

    @available_if(lambda self: self.memberships_sum_to_one)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Memberships of new points, (m, n_clusters); rows sum to one."""
        return self.memberships(X)

    def outlier_scores(self, X: Any) -> Array:
        """How far from all clusters new points are, (m,): the higher, the further."""
        return self.reading(X).outlier_scores

    def overlap_scores(self, X: Any) -> Array:
        """How far between clusters new points are, (m,): one where two clusters tie."""
        return self.reading(X).overlap_scores

    def _keep_reading(self, reading: Reading) -> None:
        """What the model says of its training points, as fitted attributes."""
        self.memberships_ = reading.memberships
        self.labels_ = reading.labels
        self.outlier_scores_ = reading.outlier_scores
        self.overlap_scores_ = reading.overlap_scores

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.memberships_sum_to_one:
            # scikit-learn's check of sparse data asks whoever has predict_proba for these
            tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags


class CenterClustering(Clustering):
    """Base of the models with several centers; see the module's docstring."""

    _auto_bandwidth: ClassVar[str] = "within"
    _state: ClassVar[tuple[str, ...]] = ("n_clusters_", "_inner")
    n_clusters: Any

    @abstractmethod
    def _log_memberships(self, geometry: Geometry) -> Array:
        """Logarithms of memberships, (m, c); the largest of a row names its cluster."""

    def _energies(self, geometry: Geometry) -> Array:
        """What falls as memberships rise, (m, c), of which overlap scores compare differences."""
        return -self._log_memberships(geometry)

    @property
    def _widths(self) -> Any:
        """Squared width of every cluster, (c,) or one for all, as the unit of distances."""
        return 1.0

    def outlier_scores(self, X: Any) -> Array:
        """How far from all clusters new points are, (m,): the higher, the further.

        For kernels that vanish far away (rbf, laplacian), −log of the similarity to the nearest
        center, as a share of that center's similarity to itself: it grows with the distance from
        the data, however far a point is. For others, the squared distance to the nearest center in
        feature space, in units of the cluster's width where the model has one: with the linear and
        polynomial kernels it grows without bound as well, with bounded ones (cosine, chi2) it does
        not, and a point far away may have the score of a near one. The fitted `outlier_scores_` of
        the training points are without a row's copies with the former kernels.
        """
        return super().outlier_scores(X)

    def overlap_scores(self, X: Any) -> Array:
        """How far between clusters new points are, (m,): one half way, e⁻⁴ at the own center.

        Read from the place of a point on the way from half between two clusters, where their
        memberships tie, to its own center: exp(−4 t) at the place t. How far off that way the
        point is has no part in it, so that scores mean the same in any number of columns, in which
        memberships themselves become more and more equal.
        """
        return super().overlap_scores(X)

    def _choose_number(self, X: Any, weight: Array) -> None:
        """`n_clusters_`: the number given, or that of the groups in the data."""
        if not isinstance(self.n_clusters, str):
            self.n_clusters_ = int(self.n_clusters)
            return
        if self._is_precomputed:
            raise ValueError(
                "n_clusters='auto' looks for groups among points, and kernel='precomputed' gives "
                "none; give a number."
            )
        if isinstance(X, ChunkedRows):
            X, weight = X.few.X, X.few.weight
        self.n_clusters_ = estimate_n_clusters(X, weight, self._fit_seed)

    def _run(
        self, operator: KernelOperator, rule: Any, start: Any, weight: Array, **options: Any
    ) -> Solution:
        """The loop, with this model's stopping where no other is given."""
        return alternate(
            operator, rule, start, sample_weight=weight, **{**self._loop_options, **options}
        )

    def _finish(self, operator: KernelOperator, solution: Solution, weight: Array) -> Geometry:
        """Store what new points need, and read the training points as new ones are read.

        Returns how the training points lie to the stored centers.
        """
        self._record(solution)
        self._store(operator, solution.coefficients, solution.geometry.norms)
        A = solution.coefficients
        if operator.is_in_chunks:
            self._inner = self._inner_products(operator, solution)
            self._own = A * operator.diag()[:, None]
            return solution.geometry
        if operator.is_exact_support:
            geometry = solution.geometry
            operator.release()
            self._inner = self._inner_products(operator, solution)

            def others() -> Array:
                return self._log_sums_of_others(operator, A, geometry.product, weight)
        else:  # the stored centers are not the loop's own
            rows = self._served().cross(operator.X)
            geometry = self._geometry(rows)
            self._inner = self._inner_products(operator, solution)

            def others() -> Array:
                logs = self._log_products(rows, geometry)
                return self._without_own(logs, operator, A, weight)

        self._keep_reading(self._read(geometry, others))
        return geometry

    def _inner_products(self, operator: KernelOperator, solution: Solution) -> Array:
        """Between the stored centers, (c, c)."""
        if operator.is_exact_support:
            return np.asarray(solution.coefficients.T @ solution.geometry.product)
        return np.asarray(self._columns.T @ (self._served() @ self._columns))

    def _scores_by_others(self, X: Any, own: Array, number: Array) -> Array:
        """Outlier scores of rows of the fit, whose number and own part in sums are known."""
        rows = self._rows(X)
        geometry = self._geometry(rows)

        def others() -> Array:
            logs = self._log_products(rows, geometry)
            return self._without_itself(logs, own, number, self._columns, geometry.product)

        return self._isolation(geometry, others)

    def reading(self, X: Any) -> Reading:
        """All that the model says of new points, from one product; see `Clustering.reading`."""
        rows = self._rows(X)
        geometry = self._geometry(rows)
        return self._read(geometry, lambda: self._log_products(rows, geometry))

    def _read(self, geometry: Geometry, log_products: Callable[[], Array], **parts: Any) -> Reading:
        usual: dict[str, Callable[[], Array]] = {
            "log_memberships": lambda: self._log_memberships(geometry),
            "outlier_scores": lambda: self._isolation(geometry, log_products),
            "overlap_scores": lambda: overlap(
                self._energies(geometry), read.labels, self._energies(self._center_geometry())
            ),
        }
        read: Reading = Reading(**usual | parts)
        return read

    def _center_geometry(self) -> Geometry:
        """How the centers lie to each other, as points do to them."""
        features = self._served().features
        if features is None:
            norms = np.diagonal(self._inner)
            distances = np.maximum(norms[:, None] + norms - 2 * self._inner, 0)
        else:  # far from the origin inner products have no digits left
            vectors = on_host(features.centers(self._columns)).T
            distances = np.square(vectors[:, None] - vectors).sum(axis=-1)
        return Geometry(self._inner, self._norms, distances)

    def _log_products(self, rows: CrossOperator, geometry: Geometry) -> Array:
        """log K @ A of new points, (m, c), of a kernel that vanishes."""
        if self._density is None:
            return rows.log_product(self.dual_coef_, geometry.product)
        operator, coefficients = self._served_density()
        return operator.cross(rows.X).log_product(coefficients)

    def _isolation(self, geometry: Geometry, log_products: Callable[[], Array]) -> Array:
        """`outlier_scores` from the logarithms of similarities, or from distances."""
        if self.kernel_.decays:
            return -(log_products() - np.log(geometry.norms)).max(axis=1)
        with np.errstate(over="ignore"):  # one point for all has no width: others are far from it
            if np.ndim(self._widths) == 0:  # no array of all distances for one unit
                return geometry.distances.min(axis=1) / self._widths
            return (geometry.distances / self._widths).min(axis=1)

    def _warn_of_coinciding(self, coefficients: Array, remedy: str) -> None:
        """Warn where there are fewer clusters than asked for."""
        pairs = coinciding(coefficients)
        if pairs:
            named = ", ".join(f"{i} and {j}" for i, j in pairs[:5])
            warn(f"centers {named} coincide; {remedy}.", CollapseWarning)
