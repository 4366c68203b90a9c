"""The number of clusters and the bandwidth of a spectral model, by strength of memberships.

`average_membership_strength` and `balanced_line_fit` judge one fitted model by its public
attributes; `select_spectral` judges every pair of a number of clusters and a bandwidth, and keeps
all of them: several local maxima are the rule (groups of groups), and each is worth a look.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from softkern._utils.random import fixed_seed
from softkern._utils.typing import Array
from softkern.kernels import resolve
from softkern.kernels.resolve import has_open_bandwidth
from softkern.metrics.strength import COVERED, line_fit, membership_strength
from softkern.models import SpectralSearch
from softkern.rows import check_weights

__all__ = [
    "SpectralSearch",
    "average_membership_strength",
    "balanced_line_fit",
    "select_spectral",
]


def average_membership_strength(
    model: Any, X: Any = None, *, covered: bool = True, sample_weight: Any = None
) -> float:
    """Average membership strength (AMS) of a fitted soft model.

    The mean membership that the members of a cluster have of it, averaged over the clusters: one
    where every point belongs to one cluster alone.

    Parameters
    ----------
    model : fitted soft model
        With `memberships_` and `memberships`; spectral models also say which points are covered.
    X : array of shape (n, d), default=None
        Points to judge by, such as those kept aside; without it, the points of the fit.
    covered : bool, default=True
        Count a point whose mean similarity to the training points is below 0.01 as zero. Without
        this the strength goes to one as the bandwidth goes to zero. False is the paper's formula.
    sample_weight : array of shape (n,), default=None
        Without it, that of the fit for the points of the fit, ones for others.

    References
    ----------
    R. Langone, R. Mall, J. A. K. Suykens, "Soft kernel spectral clustering", IJCNN 2013.
    :doi:`10.1109/IJCNN.2013.6706850`

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softkern import SoftKernelSpectralClustering
    >>> model = SoftKernelSpectralClustering(3, bandwidth=1.0, assignment="codebook")
    >>> round(average_membership_strength(model.fit(load_iris().data), covered=False), 6)
    0.922425
    """
    check_is_fitted(model)
    memberships = np.asarray(model.memberships_ if X is None else model.memberships(X))
    if memberships.ndim != 2:
        raise TypeError(f"{type(model).__name__} has one cluster, whose strength says nothing.")
    weight = _weight(model, X, sample_weight, len(memberships))
    if not covered:
        return membership_strength(memberships, weight)
    return membership_strength(memberships, weight, _similarity(model, X) >= COVERED)


def balanced_line_fit(
    model: Any, X: Any = None, *, balance: float = 0.5, sample_weight: Any = None
) -> float:
    """Balanced line fit (BLF) of a fitted spectral model.

    Clusters that are well apart are lines in the eigenspace; the fit is one where they are, and
    where all are of one size.

    Parameters
    ----------
    model : fitted spectral model
    X : array of shape (n, d), default=None
        Points to judge by; without it, the points of the fit.
    balance : float, default=0.5
        Share of the balance of sizes in the result; the rest is the fit of lines.
    sample_weight : array of shape (n,), default=None
        Without it, that of the fit for the points of the fit, ones for others.

    References
    ----------
    C. Alzate, J. A. K. Suykens, "Multiway spectral clustering with out-of-sample extensions
    through weighted kernel PCA", IEEE Trans. PAMI 32(2), 2010.
    :doi:`10.1109/TPAMI.2008.292`

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from softkern import KernelSpectralClustering
    >>> X, _ = make_blobs(90, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> balanced_line_fit(KernelSpectralClustering(3).fit(X)) > 0.9
    True
    """
    check_is_fitted(model)
    if not hasattr(model, "projections_"):
        raise TypeError(f"{type(model).__name__} has no projections; spectral models have.")
    projections = model.projections_ if X is None else model.projections(X)
    labels = model.labels_ if X is None else model.predict(X)
    weight = _weight(model, X, sample_weight, len(labels))
    similarity = _similarity(model, X)
    n_clusters = model.prototypes_.shape[0]
    return line_fit(projections, labels, n_clusters, similarity, weight, balance)


def _weight(model: Any, X: Any, sample_weight: Any, n: int) -> Array:
    if sample_weight is None and X is None:
        sample_weight = getattr(model, "sample_weight_", None)
    return check_weights(sample_weight, n)


def _similarity(model: Any, X: Any) -> Array:
    if not hasattr(model, "mean_similarity_"):
        raise TypeError(
            f"{type(model).__name__} does not say which points it covers; use covered=False."
        )
    return np.asarray(model.mean_similarity_ if X is None else model.mean_similarity(X))


def select_spectral(
    X: Any,
    n_clusters_range: Sequence[int] = range(2, 16),
    bandwidths: Sequence[Any] | None = None,
    *,
    kernel: Any = "rbf",
    kernel_params: dict[str, Any] | None = None,
    assignment: str = "directions",
    eigenvector_scale: str = "unit",
    n_train: int = 800,
    n_validation: int | None = None,
    engine: str = "auto",
    engine_params: dict[str, Any] | None = None,
    sample_weight: Any = None,
    random_state: Any = 0,
) -> SpectralSearch:
    """Judge every number of clusters and every bandwidth of a spectral model.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d), or a Gram matrix for kernel="precomputed"
    n_clusters_range : sequence of int, default=range(2, 16)
    bandwidths : sequence of floats, arrays of shape (d,) or names of rules, default=None
        Names are those of `softkern.kernels.select_bandwidth`. None takes multiples from 1/23 to
        1.4 of the rule ``"global"``, which is as wide as the data, one number per column. Kernels
        that have no bandwidth take no part in this.
    kernel, kernel_params, engine, engine_params
        As in `SoftKernelSpectralClustering`.
    assignment : {"directions", "codebook"}, default="directions"
    eigenvector_scale : {"unit", "degree"}, default="unit"
    n_train : int, default=800
        Rows that the search is made on, chosen at random where there are more.
    n_validation : int, default=None
        Judge by so many other rows, as the papers do; None judges by the rows of the search, each
        without itself. Where there are fewer than both, the rows of the search are fewer.
    sample_weight : array of shape (n,), default=None
    random_state : int, RandomState or None, default=0

    Returns
    -------
    result : SpectralSearch
        With ``best``, ``strongest`` (the papers' rule), ``table`` and ``maxima``;
        `display.AMSDisplay.from_results` draws it.

    References
    ----------
    R. Langone, R. Mall, J. A. K. Suykens, "Soft kernel spectral clustering", IJCNN 2013.
    :doi:`10.1109/IJCNN.2013.6706850`

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(120, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> select_spectral(X, range(2, 7)).best[0]
    3
    """
    random_state = fixed_seed(random_state)
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    weight = check_weights(sample_weight, X.shape[0])
    aside = 0 if n_validation is None else n_validation
    present = int((weight > 0).sum())
    _check(n_clusters_range, bandwidths, assignment, n_train, present - aside)
    if n_validation is not None and not 0 < n_validation < present:
        raise ValueError(
            f"n_validation={n_validation!r} must be from 1 to {present - 1}, fewer than the rows."
        )
    if eigenvector_scale not in {"unit", "degree"}:
        raise ValueError(f"eigenvector_scale={eigenvector_scale!r} must be 'unit' or 'degree'.")
    is_open = has_open_bandwidth(kernel, kernel_params)
    if bandwidths is not None and not is_open:
        raise ValueError(
            f"bandwidths are given, but kernel={kernel!r} with kernel_params={kernel_params!r} has "
            "none to choose."
        )
    chosen = resolve(
        kernel,
        X,
        bandwidth="global" if is_open else "auto",
        kernel_params=kernel_params,
        sample_weight=weight,
        random_state=random_state,
    )
    return SpectralSearch.of(
        X,
        weight,
        chosen,
        [int(k) for k in n_clusters_range],
        "auto" if bandwidths is None and is_open else bandwidths,
        assignment=assignment,
        eigenvector_scale=eigenvector_scale,
        n_rows=n_train,
        n_validation=aside,
        engine=engine,
        engine_params=engine_params,
        random_state=random_state,
    )


def _check(numbers: Any, bandwidths: Any, assignment: str, n_train: int, n: int) -> None:
    if not len(numbers) or not all(isinstance(k, Integral) and int(k) >= 2 for k in numbers):
        raise ValueError(
            f"n_clusters_range must be whole numbers of at least 2, got {list(numbers)!r}."
        )
    if bandwidths is not None and not len(bandwidths):
        raise ValueError("bandwidths is empty; give None for a grid read from the data.")
    if assignment not in {"directions", "codebook"}:
        raise ValueError(f"assignment={assignment!r} is unknown; give 'directions' or 'codebook'.")
    if max(numbers) > min(n_train, n):
        raise ValueError(
            f"n_clusters_range goes up to {max(numbers)}, more than the {min(n_train, n)} rows the "
            "search is made on; use fewer clusters, or a larger n_train."
        )
