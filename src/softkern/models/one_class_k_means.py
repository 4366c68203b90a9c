"""Hard clusters that are one-class SVMs (Camastra and Verri 2005)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from softkern._utils.typing import Array
from softkern.exceptions import ReseedWarning, warn
from softkern.models.one_class_clusterer import OneClassClusterer
from softkern.models.state_schema import Number, Spec
from softkern.operators.base import Geometry, KernelOperator
from softkern.rules.one_class import Hard
from softkern.solvers.initialization import hard_rule
from softkern.solvers.steps import Solution


@dataclass(eq=False, repr=False, kw_only=True)
class OneClassKMeans(OneClassClusterer):
    """Hard clusters, each a one-class SVM: Camastra and Verri's kernel method.

    k-means with the center of the smallest sphere around a cluster in place of its mean: every
    sample goes to the nearest center, then every cluster's SVM is trained on its own samples [1]_.
    The 2009 paper compares its soft form with this one [2]_. With ν = 1 it is kernel k-means. With
    a smaller ν the loop may end in a cycle, which a `ConvergenceWarning` reports.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. ``"auto"`` estimates the number of groups that are separated by density
        gaps, one where there are none.
    formulation : {"svdd", "ocsvm"}, default="svdd"
        Nearest by the distance to the sphere's center, or by the depth inside the margin in
        LIBSVM's scale, as in the tables of the 2009 paper, where large clusters starve small ones.
    nu : float in (0, 1], default=0.95
        Share of a cluster's samples that shapes it. At one, centers are means.
    init : {"k-means++", "k-means", "random", "gmm"} or array of shape (n_samples, n_clusters), \
default="k-means"
        The first clusters. See `OneClassMixture`.
    n_init : int, default=5
        Number of initializations. The one with the least scatter is used.
    kernel : str, callable or softkern.kernels.Kernel, default="rbf"
        Positive semidefinite kernel, by name, as a function of two arrays, or as an object.
    kernel_params : dict, default=None
        Parameters of a kernel that is given by name or as a function.
    bandwidth : str, float or array of shape (n_features,), default="auto"
        Bandwidth of the kernel, or a rule that chooses it. ``"auto"`` is the rule ``"within"``.
    engine, engine_params
        As in `OneClassPCM`.
    tol : float, default=1e-4
        Stop when the change that `stopping` measures is below this.
    max_iter : int, default=300
        Largest number of iterations.
    stopping : {"relative", "mean", "sum", "objective"}, default="mean"
        Measure of change. See `OneClassPCM`.
    random_state, verbose
        As in `OneClassPCM`.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of each training sample.
    n_clusters_ : int
        Number of clusters.
    memberships_ : array of shape (n_samples, n_clusters)
        One for a sample's own cluster, zero for the others.
    cluster_weights_ : array of shape (n_clusters,)
        Share of the weight in every cluster.
    objective_ : float
        Σ w D² to the own centers.
    support_, dual_coef_, offset_, radius_, outlier_scores_, overlap_scores_, converged_, history_
        As in `OneClassMixture`.
    bandwidth_, kernel_, plan_, engine_, approximation_error_, n_iter_
        As in `OneClassPCM`.

    References
    ----------
    .. [1] F. Camastra, A. Verri, "A novel kernel method for clustering", IEEE Trans. Pattern
       Analysis and Machine Intelligence 27(5), 2005. :doi:`10.1109/TPAMI.2005.88`
    .. [2] M. Bicego, M. A. T. Figueiredo, "Soft clustering using weighted one-class support vector
       machines", Pattern Recognition 42(1), 2009. :doi:`10.1016/j.patcog.2008.07.004`

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from softkern import OneClassKMeans
    >>> X, y = make_blobs(90, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> model = OneClassKMeans(n_clusters=3).fit(X)
    >>> model.cluster_weights_.round(2)
    array([0.33, 0.33, 0.33])
    """

    init: Any = "k-means"

    _fitted: ClassVar[dict[str, Spec]] = {"_tie_error": Number(low=0)}
    _products: ClassVar[int] = 10
    _description: ClassVar[str] = "one-class k-means"
    _remedy: ClassVar[str] = "Use fewer clusters or another initialization"

    def _choose_scales(self, operator: KernelOperator, weight: Array) -> None:
        self._tie_error = hard_rule(operator, self._formulation).error

    def _warn_of_collapse(self, solution: Solution) -> None:
        super()._warn_of_collapse(solution)
        reseeded = getattr(solution.rule.memberships, "reseeded", 0)
        if reseeded:
            warn(
                f"A cluster lost all samples {reseeded} times and was restarted at the sample "
                "furthest from its own center. Use fewer clusters, init='k-means', or "
                "formulation='svdd'.",
                ReseedWarning,
            )

    def _rule(self, operator: KernelOperator | None = None) -> Hard:
        if operator is None:
            return Hard(self._formulation, self._tie_error)
        return hard_rule(operator, self._formulation)

    def _energies(self, geometry: Geometry) -> Array:
        return -self._rule().depth(geometry, self._centers())  # memberships are zero and one
