"""Soft clusters that are weighted one-class SVMs (Bicego and Figueiredo 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from softkern._utils.sklearn_compat import Interval, StrOptions
from softkern._utils.typing import Array
from softkern.exceptions import CollapseWarning, warn
from softkern.models.checks import check_apart
from softkern.models.one_class_clusterer import OneClassClusterer
from softkern.models.state_schema import Number, Spec
from softkern.operators.base import KernelOperator
from softkern.rules.base import Centers, Rule
from softkern.rules.one_class import Mixture
from softkern.solvers.alternate import anneal
from softkern.solvers.collapse import coinciding, principal_variance
from softkern.solvers.steps import Solution

AUTO_SCALE = 0.1  # of the critical scale; benchmarks/calibrate.py compares others
ANNEALING_START = 0.9  # of the critical scale, where annealing="auto" starts
ANNEALING_FACTOR = 0.9  # from scale to scale
MOST_SCALES = 10_000  # of an annealing; the paper's has 77
TILT = 0.5  # range of the factors by which the masses of equal clusters are made to differ
EQUAL_MEMBERSHIPS = 0.02  # memberships this close to the cluster weights hold no information


@dataclass(eq=False, repr=False, kw_only=True)
class OneClassMixture(OneClassClusterer):
    """Soft clusters, each a weighted one-class SVM: WOC-SVM soft clustering.

    An EM-like loop [1]_. Every cluster is a one-class SVM, trained on all samples with their
    memberships as weights. Memberships follow from how deep a sample lies in each SVM. With ν below
    one a cluster is shaped by its margin more than by its core. The paper's f_LL is not an
    objective and need not rise: the loop may end in a cycle, which a `ConvergenceWarning` reports.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. ``"auto"`` estimates the number of groups that are separated by density
        gaps, one where there are none.
    formulation : {"svdd", "ocsvm"}, default="svdd"
        Similarity to a cluster: ``exp(−D²/σ)`` with the distance to the center of the smallest
        sphere (eq. 12), or ``exp((G − ρ)/σ)`` with the distance to the margin (eq. 13), which the
        paper's tables use.
    nu : float in (0, 1], default=0.95
        Share of a cluster's weight that shapes it, ν of the one-class SVMs, relative to the sum of
        the memberships. At one, centers are weighted means. Where it is so small that a few samples
        can carry it, memberships have no influence, and clusters become equal.
    scale : "auto" or float, default="auto"
        The paper's σ, the softness of the memberships. For ``"ocsvm"`` it is in the paper's units,
        where the coefficients of an SVM sum to ν Σ z and σ grows with the number of samples. For
        ``"svdd"`` it is a squared distance in feature space. ``"auto"`` is a tenth of
        `critical_scale_`.
    annealing : None, "auto" or (start, stop, factor), default=None
        Run at σ = start, start × factor, … as long as σ is above stop, each from the result of the
        one before. The paper uses (5, 0.1, 0.95), and `scale` is then ignored. ``"auto"`` goes from
        0.9 × `critical_scale_` down to `scale` by the factor 0.9, and splits the cluster of largest
        variance where two have become equal: all initializations then usually end in the same
        clusters [2]_. Without these splits equal clusters may not all separate again, which raises
        a `CollapseWarning`. Start the schedule well below `critical_scale_`.
    init : {"k-means++", "k-means", "random", "gmm"} or array of shape (n_samples, n_clusters), \
default="k-means++"
        Weights of the first SVMs: one sample each, drawn by squared distances in feature space, the
        clusters of kernel k-means (the best of `n_init`), random numbers, memberships of a Gaussian
        mixture, or the given weights.
    n_init : int, default=5
        Number of initializations, run to ten times the tolerance (on a subsample of more than
        10,000 samples). The one with the least scatter, Σ z D², is continued: f_LL is high where a
        cluster is about to vanish.
    kernel : str, callable or softkern.kernels.Kernel, default="rbf"
        Positive semidefinite kernel, by name, as a function of two arrays, or as an object.
    kernel_params : dict, default=None
        Parameters of a kernel that is given by name or as a function.
    bandwidth : str, float or array of shape (n_features,), default="auto"
        Bandwidth of the kernel, or a rule that chooses it. ``"auto"`` is the rule ``"within"``. The
        paper's τ is 1/(2 bandwidth²).
    engine, engine_params
        As in `OneClassPCM`.
    tol : float, default=1e-4
        Stop when the change that `stopping` measures is below this.
    max_iter : int, default=300
        Largest number of iterations, at every scale of an annealing.
    stopping : {"relative", "mean", "sum", "objective"}, default="mean"
        Measure of change. See `OneClassPCM`. The objective is f_LL.
    random_state, verbose
        As in `OneClassPCM`.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of highest membership.
    n_clusters_ : int
        Number of clusters.
    memberships_ : array of shape (n_samples, n_clusters)
        Membership of each training sample in every cluster. Rows sum to one.
    cluster_weights_ : array of shape (n_clusters,)
        γ, the mean memberships.
    scale_ : float
        σ at the end.
    critical_scale_ : float
        σ above which equal memberships are stable and clusters become one: twice the largest
        variance in feature space for ``"svdd"``, λ₁(HKH) / n_clusters for ``"ocsvm"``.
    support_ : array of shape (n_support,)
        Indices of the training samples that make up the centers.
    dual_coef_ : array of shape (n_support, n_clusters)
        Coefficients of the centers on them. Columns sum to one.
    offset_ : array of shape (n_clusters,)
        ρ of every SVM, for coefficients that sum to one.
    radius_ : array of shape (n_clusters,)
        Radius R of every SVM's sphere.
    objective_ : float
        −f_LL of eq. 16. Lower is better.
    history_ : dict
        ``"objective"`` and ``"change"`` of every iteration, and ``"low_rank_steps"``, the number of
        low-rank steps before it. With annealing also ``"scale"``.
    converged_ : bool
        Whether the change fell below `tol`. False also where the loop ended in a cycle. The state
        of lowest objective in the cycle is then used.
    outlier_scores_, overlap_scores_ : arrays of shape (n_samples,)
        Scores of the training samples. See `outlier_scores` and `overlap_scores`.
    bandwidth_, kernel_, plan_, engine_, approximation_error_, n_iter_
        As in `OneClassPCM`.

    References
    ----------
    .. [1] M. Bicego, M. A. T. Figueiredo, "Soft clustering using weighted one-class support vector
       machines", Pattern Recognition 42(1), 2009. :doi:`10.1016/j.patcog.2008.07.004`
    .. [2] K. Rose, "Deterministic annealing for clustering, compression, classification,
       regression, and related optimization problems", Proceedings of the IEEE 86(11), 1998.
       :doi:`10.1109/5.726788`

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from softkern import OneClassMixture
    >>> X, y = make_blobs(90, centers=[[0, 0], [5, 0], [0, 5]], random_state=0)
    >>> model = OneClassMixture(n_clusters=3).fit(X)
    >>> model.cluster_weights_.round(2)
    array([0.33, 0.33, 0.33])
    >>> model.predict_proba([[0.0, 5.0]]).max().round(2)
    np.float64(1.0)
    """

    scale: Any = "auto"
    annealing: Any = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OneClassClusterer._parameter_constraints,
        "scale": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "annealing": [StrOptions({"auto"}), None, "array-like"],
    }
    _fitted: ClassVar[dict[str, Spec]] = {
        "scale_": Number(low=0, above=True),
        "critical_scale_": Number(low=0),
    }
    _products: ClassVar[int] = 40
    _description: ClassVar[str] = "one-class mixture"
    _remedy: ClassVar[str] = (
        "Use fewer clusters, a smaller scale, or an annealing that starts lower"
    )

    def _check_parameters(self) -> None:
        if self.annealing is not None and not isinstance(self.annealing, str):
            cooling(self.annealing)

    def _choose_scales(self, operator: KernelOperator, weight: Array) -> None:
        check_apart(operator, weight)
        variance = principal_variance(operator, weight)
        mass = float(weight.sum()) / self.n_clusters_
        self.critical_scale_ = variance * (2.0 if self._formulation.needs_lengths else mass)
        self.scale_ = self._scales()[-1]

    def _run_start(
        self, operator: KernelOperator, rule: Rule, start: Centers, weight: Array, tol: float
    ) -> Solution:
        if self.annealing is None:
            return super()._run_start(operator, rule, start, weight, tol)
        options: dict[str, Any] = {"tol": tol, "cycles": True, "scales": self._scales()}
        if isinstance(self.annealing, str):
            options["between"] = lambda end: separate_equal_clusters(operator, rule, end, weight)
        return self._run_loop(operator, rule, start, weight, anneal, **options)

    def _scales(self) -> list[float]:
        """Return σ of the loop, or of consecutive loops."""
        if self.annealing is not None and not isinstance(self.annealing, str):
            return cooling(self.annealing)
        last = self.scale
        if isinstance(last, str):  # the critical scale of equal samples is zero
            last = AUTO_SCALE * self.critical_scale_ or 1.0
        first = ANNEALING_START * self.critical_scale_
        if self.annealing is None or first <= last:
            return [float(last)]
        return [*cooling((first, last, ANNEALING_FACTOR)), float(last)]

    def _warn_of_collapse(self, solution: Solution) -> None:
        if self.n_clusters_ == 1:
            return
        uneven = float(np.abs(self.memberships_ - self.cluster_weights_).max())
        if self.critical_scale_ == 0:
            warn(
                "All samples coincide in feature space. Use one cluster, or a narrower bandwidth "
                "where the samples differ.",
                CollapseWarning,
            )
        elif uneven < EQUAL_MEMBERSHIPS and (self.cluster_weights_ > 0).all():
            warn(
                f"All samples have the same memberships within {uneven:.2g}: scale_="
                f"{self.scale_:.3g} is too soft, clusters become equal above about "
                f"critical_scale_={self.critical_scale_:.3g}. Decrease the scale, or increase a "
                "small nu.",
                CollapseWarning,
            )
        else:
            super()._warn_of_collapse(solution)

    def _rule(self, operator: KernelOperator | None = None) -> Mixture:
        return Mixture(self._formulation, self.scale_)


# Annealing


def cooling(annealing: Any) -> list[float]:
    """Return the scales of a schedule (start, stop, factor), from start down to above stop."""
    try:
        given = np.asarray(annealing, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape != (3,) or not np.isfinite(given).all():
        raise ValueError(f"annealing={annealing!r} must be three numbers: (start, stop, factor).")
    start, stop, factor = given.tolist()
    if not start > stop > 0:
        raise ValueError(
            f"annealing={annealing!r} has no step: start={start:g} must be above stop={stop:g}, "
            "which must be positive, because the scale decreases."
        )
    if not 0 < factor < 1:
        raise ValueError(
            f"annealing={annealing!r} does not cool: factor={factor:g} must lie between 0 and 1."
        )
    steps = int(np.ceil((np.log(stop) - np.log(start)) / np.log(factor) - 1e-9))
    if steps > MOST_SCALES:
        raise ValueError(
            f"annealing={annealing!r} has {steps:,} steps, at most {MOST_SCALES:,} are allowed. "
            "Decrease the factor or increase stop."
        )
    return [start * factor**step for step in range(steps)]


def separate_equal_clusters(
    operator: KernelOperator, rule: Rule, solution: Solution, weight: Array
) -> Centers | None:
    """Return distinct centers to continue an annealing from. None where all differ already.

    Equal clusters stay equal at any scale. They count as one, and the spare ones become copies of
    those with the largest variance, which are the first to separate (Rose 1998). Each copy is
    tilted towards a sample far from the center and from the last one, so that copies move apart
    where the scale allows it.
    """
    shared = operator.support_rows.reweighted(weight).share_among_duplicates(solution.coefficients)
    mass = weight[:, None] * solution.memberships  # (n, c)
    pairs, alive = coinciding(shared), mass.sum(axis=0) > 0
    if not pairs and alive.all():
        return None
    n_clusters = mass.shape[1]
    group = np.arange(n_clusters)
    for i, j in pairs:
        group[j] = group[i]
    firsts = np.unique(group[alive])
    merged = np.stack([mass[:, group == first].sum(axis=1) for first in firsts], axis=1)
    variances = [principal_variance(operator, column) for column in merged.T]
    order = np.argsort(variances, kind="stable")[::-1]
    columns = []
    for place, k in enumerate(order):
        copies = n_clusters // firsts.size + (place < n_clusters % firsts.size)
        distances = solution.geometry.distances[:, firsts[k]]
        columns += _tilted(operator, merged[:, k], distances, copies)
    return rule.centers.centers(np.stack(columns, axis=1), weight, None)


def _tilted(operator: KernelOperator, mass: Array, distances: Array, copies: int) -> list[Array]:
    """Split a mass (n,) into parts, all but the last larger near a sample far from the others."""
    parts, is_inside = [], mass >= 0.5 * mass.max()
    for _ in range(copies - 1):
        pole = int(np.argmax(np.where(is_inside, distances, -np.inf)))
        near = np.asarray(operator.distances_to_rows([pole])[:, 0])
        distances = np.minimum(distances, near)
        parts.append(mass / copies * (1 + TILT * (0.5 - near / max(float(near.max()), 1e-300))))
    return [*parts, mass / copies]
