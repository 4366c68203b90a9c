"""What models with several centres share: labels, memberships, outlier and overlap scores.

A member says how the geometry of points and centres becomes log memberships; labels, memberships
and overlap follow from these, outlierness from the similarity to the nearest centre. Training
points and new points take the same path.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from softkern.models.base import KernelModel
from softkern.operators.base import CrossOperator, Geometry, KernelOperator
from softkern.operators.tiled import TiledOperator
from softkern.solvers.alternate import Solution

__all__ = ["CentreClustering"]

Array = NDArray[Any]


class CentreClustering(ClusterMixin, KernelModel):  # type: ignore[misc]
    """Base of the models with several centres; see the module's docstring."""

    memberships_sum_to_one: ClassVar[bool] = True

    @abstractmethod
    def _log_memberships(self, geometry: Geometry) -> Array:
        """Logarithms of memberships, (m, c); the largest of a row names its cluster."""

    @property
    def _widths(self) -> Any:
        """Squared width of every cluster, (c,) or one for all, as the unit of distances."""
        return 1.0

    def _finish(self, operator: KernelOperator, solution: Solution, weight: Array) -> Geometry:
        """Store what new points need, and tell the training points what new ones are told.

        Returns how the training points lie to the stored centres.
        """
        self._record(solution)
        self._store(operator, solution.coefficients, solution.geometry.norms)
        # landmarks approach a centre best with coefficients of both signs, which have no logarithm
        self._positive = (
            operator.compressed(solution.coefficients, nonnegative=True)
            if operator.engine == "nystroem" and self._is_density
            else (self._support, self._coefficients)
        )
        rows, geometry = self._training(operator, solution.geometry)
        self.dual_coef_ = solution.coefficients
        self._training_logs = self._log_memberships(geometry)
        self.memberships_ = np.exp(self._training_logs)
        self.labels_ = np.argmax(self._training_logs, axis=1)
        self._training_isolation = self._isolation(rows, geometry, weight)
        return geometry

    def _new_geometry(self, X: Any) -> tuple[CrossOperator, Geometry]:
        rows = self._cross(self._check_new(X))
        return rows, rows.geometry(self._coefficients, self._norms)

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The cluster of highest membership, also where all of them underflow, (m,)."""
        return np.asarray(np.argmax(self._log_memberships(self._new_geometry(X)[1]), axis=1))

    def memberships(self, X: Any) -> Array:
        """Memberships of new points, (m, n_clusters)."""
        return np.asarray(np.exp(self._log_memberships(self._new_geometry(X)[1])))

    def outlier_scores(self, X: Any = None) -> Array:
        """How far from all clusters, (m,): the higher, the further in feature space.

        For kernels of the difference of two points (rbf, laplacian), −log of the similarity to the
        nearest centre, as a share of that centre's similarity to itself: it grows with the distance
        from the data, however far a point is. For others, the squared distance to the nearest
        centre in feature space, in units of the cluster's width where the model has one: with the
        linear and polynomial kernels it grows without bound as well, with bounded ones (cosine,
        chi2, sigmoid) it does not, and a point far away may have the score of a near one. Without
        X, the training points; with the former kernels none of them vouches for itself.
        """
        check_is_fitted(self)
        if X is None:
            return np.asarray(self._training_isolation)
        return self._isolation(*self._new_geometry(X))

    def overlap_scores(self, X: Any = None) -> Array:
        """Second largest membership over the largest, (m,): one where two clusters tie.

        Without X, the training points.
        """
        check_is_fitted(self)
        logs = self._training_logs if X is None else self._log_memberships(self._new_geometry(X)[1])
        if logs.shape[1] < 2:
            return np.zeros(len(logs), dtype=logs.dtype)
        second, first = np.partition(logs, -2, axis=1)[:, -2:].T
        return np.asarray(np.exp(second - first))

    def _isolation(
        self,
        rows: KernelOperator | CrossOperator,
        geometry: Geometry,
        weight: Array | None = None,
    ) -> Array:
        """`outlier_scores`; training points, which have a weight, leave out one copy of theirs."""
        if not self._is_density:
            if np.ndim(self._widths) == 0:  # no array of all distances for one unit
                return np.asarray(geometry.distances.min(axis=1) / self._widths)
            return np.asarray((geometry.distances / self._widths).min(axis=1))
        if isinstance(rows, CrossOperator):
            support, coefficients = self._positive
            is_stored = support is self._support
            rows = rows if is_stored else TiledOperator(self.kernel_, support).cross(rows.X)
            logs = rows.log_product(coefficients, geometry.product if is_stored else None)
        elif weight is None or rows.shape[0] == 1:
            logs = rows.log_product(self.dual_coef_, geometry.product)
        else:
            logs = np.stack(
                [
                    rows.log_product_of_others(a, a / np.maximum(weight, 1), product)
                    for a, product in zip(self.dual_coef_.T, geometry.product.T, strict=True)
                ],
                axis=1,
            )
        return np.asarray(-(logs - np.log(geometry.norms)).max(axis=1))
