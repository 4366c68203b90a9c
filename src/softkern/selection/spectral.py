"""Choose the number of clusters and the bandwidth of a spectral model.

`average_membership_strength` evaluates one fitted model. `select_spectral` evaluates every pair of
a number of clusters and a bandwidth and returns all of them, because several local maxima are
common (clusters of clusters).
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from softkern._utils.random import fixed_seed
from softkern.kernels.resolve import has_open_bandwidth, resolve
from softkern.models.spectral_search import COVERED, SpectralSearch, membership_strength
from softkern.rows import Rows, check_weights


def average_membership_strength(
    model: Any, X: Any = None, *, covered: bool = True, sample_weight: Any = None
) -> float:
    """Compute the average membership strength (AMS) of a fitted soft model.

    The mean membership of a cluster's own samples, averaged over the clusters. It is one if every
    sample belongs to a single cluster.

    Parameters
    ----------
    model : fitted soft model
        Must have several clusters.
    X : array of shape (n_samples, n_features), default=None
        Samples to evaluate on, for example a validation set. None uses the training samples.
    covered : bool, default=True
        Count samples whose mean similarity to the training samples is below 0.01 as zero
        (spectral models only). Otherwise the strength tends to one as the bandwidth tends to zero.
        False is the paper's formula.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the samples. None uses the weights of the fit if X is None, and ones otherwise.

    Returns
    -------
    strength : float
        Between 0 and 1.

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
        raise TypeError(f"{type(model).__name__} has only one cluster.")
    if sample_weight is None and X is None:
        sample_weight = getattr(model, "sample_weight_", None)
    weight = check_weights(sample_weight, len(memberships))
    if not covered:
        return membership_strength(memberships, weight)
    if not hasattr(model, "mean_similarity_"):
        raise TypeError(
            f"{type(model).__name__} has no mean similarity to the training samples. Use "
            "covered=False."
        )
    similarity = np.asarray(model.mean_similarity_ if X is None else model.mean_similarity(X))
    return membership_strength(memberships, weight, similarity >= COVERED)


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
    """Evaluate every number of clusters and every bandwidth of a spectral model.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        The data, or a Gram matrix with ``kernel="precomputed"``.
    n_clusters_range : sequence of int, default=range(2, 16)
        Numbers of clusters to compare.
    bandwidths : sequence of floats, arrays of shape (n_features,) or str, default=None
        Bandwidths to compare. A str is a rule of `softkern.kernels.select_bandwidth`. None uses
        multiples from 1/23 to 1.4 of the rule ``"global"``, or no bandwidth if the kernel has none.
    kernel, kernel_params, assignment, eigenvector_scale, engine, engine_params, random_state
        As in `softkern.SoftKernelSpectralClustering`.
    n_train : int, default=800
        Maximal number of training samples, drawn at random.
    n_validation : int, default=None
        Number of validation samples, as in the papers. None evaluates on the training samples,
        leaving each one out of its own similarity.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    result : SpectralSearch
        The search, with ``best`` and ``strongest`` (number of clusters and bandwidth, the latter by
        the rule of the papers), the DataFrames ``table`` and ``maxima`` (local maxima), and the
        array ``strength`` of shape (n_numbers, n_bandwidths).

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
    n_held_out, n_present = n_validation or 0, int((weight > 0).sum())
    if n_validation is not None and not 0 < n_validation < n_present:
        raise ValueError(
            f"n_validation={n_validation!r} must be between 1 and {n_present - 1}, less than the "
            "number of samples."
        )
    _check_grid(n_clusters_range, bandwidths, min(n_train, n_present - n_held_out))
    if assignment not in {"directions", "codebook"}:
        raise ValueError(f"assignment={assignment!r} must be 'directions' or 'codebook'.")
    if eigenvector_scale not in {"unit", "degree"}:
        raise ValueError(f"eigenvector_scale={eigenvector_scale!r} must be 'unit' or 'degree'.")
    has_bandwidth = has_open_bandwidth(kernel, kernel_params)
    if bandwidths is not None and not has_bandwidth:
        raise ValueError(
            f"bandwidths were passed, but kernel={kernel!r} with kernel_params={kernel_params!r} "
            "has no bandwidth to choose."
        )
    rows = Rows(X, weight)
    resolved = resolve(
        kernel,
        rows,
        bandwidth="global" if has_bandwidth else "auto",
        kernel_params=kernel_params,
        random_state=random_state,
    )
    return SpectralSearch.of(
        rows,
        resolved,
        [int(k) for k in n_clusters_range],
        "auto" if bandwidths is None and has_bandwidth else bandwidths,
        assignment=assignment,
        eigenvector_scale=eigenvector_scale,
        n_rows=n_train,
        n_validation=n_held_out,
        engine=engine,
        engine_params=engine_params,
        random_state=random_state,
    )


def _check_grid(numbers: Sequence[int], bandwidths: Sequence[Any] | None, n_train: int) -> None:
    if not len(numbers) or not all(isinstance(k, Integral) and int(k) >= 2 for k in numbers):
        raise ValueError(f"n_clusters_range must contain integers ≥ 2, got {list(numbers)!r}.")
    if bandwidths is not None and not len(bandwidths):
        raise ValueError("bandwidths is empty. Use None for a grid based on the data.")
    if max(numbers) > n_train:
        raise ValueError(
            f"n_clusters_range goes up to {max(numbers)}, but there are only {n_train} training "
            "samples. Use fewer clusters or a larger n_train."
        )
