"""Kernel spectral clustering, hard and soft, with overlap and outlier points.

The soft model (Langone, Mall and Suykens 2013) derives memberships from cosine distances to the
clusters' mean projections, and from these which samples lie between clusters or far from all (Mall,
Langone and Suykens 2015). `softkern.models.spectral_base` has the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

from softkern.models.spectral_base import SpectralClusterer
from softkern.models.spectral_scores import HardScores


@dataclass(eq=False, repr=False, kw_only=True)
class KernelSpectralClustering(SpectralClusterer):
    """Kernel spectral clustering (KSC): hard clusters of any shape.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. ``"auto"`` chooses the number from 2 to 20 whose soft memberships differ
        most from those of data without clusters; see `softkern.selection.select_spectral`.
    n_train : int, "auto" or None, default="auto"
        Number of rows in the eigenproblem; all others are projected. ``"auto"`` uses all up to 4000
        distinct rows, otherwise 2000 of them, or 20 per cluster if that is more. None uses all
        distinct rows; time and memory then grow with their square for most engines.
    subset : {"renyi", "random"}, default="renyi"
        How training rows are chosen: to cover the data (quadratic Rényi entropy), each with the
        weight of the rows it represents, or at random.
    assignment : {"directions", "codebook"}, default="directions"
        ``"directions"``: k-means on e/‖e‖, the same for any row order. ``"codebook"``: the
        papers' most frequent sign patterns, which are unstable for many clusters. Of equally
        frequent patterns the first is used, with a `SpectrumWarning`.
    eigenvector_scale : {"unit", "degree"}, default="unit"
        Lengths of the eigenvectors, which decide how much each column of the projections counts:
        ``"unit"``, ‖α‖ = 1, or ``"degree"``, ‖D^½ α‖ = 1.
    kernel : str, callable or softkern.kernels.Kernel, default="rbf"
        Kernel, whose values must not be negative.
    kernel_params : dict, default=None
        Parameters of the kernel.
    bandwidth : str, float or array of shape (n_features,), default="auto"
        Bandwidth of the kernel. ``"auto"`` uses the one with the strongest soft memberships.
    tol : float, default=1e-8
        Residual of the eigenvectors.
    max_iter : int, default=500
        Maximal number of iterations of the eigensolver.
    engine, engine_params, random_state, verbose
        As in `OneClassPCM`.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of each sample, the largest cluster first.
    memberships_ : array of shape (n_samples, n_clusters)
        One for the sample's cluster, zero for the others.
    n_clusters_ : int
        Number of clusters.
    projections_ : array of shape (n_samples, n_clusters - 1)
        Positions of the samples in the eigenspace.
    prototypes_ : array of shape (n_clusters, n_clusters - 1)
        Mean projection of every cluster.
    codes_ : array of shape (n_clusters, n_clusters - 1)
        Sign patterns, or centers of directions.
    eigenvalues_, bias_ : arrays of shape (n_clusters - 1,)
        Eigenvalues, and the projection of a sample without similarity to any other.
    support_ : array of shape (n_support,)
        Training rows of the eigenproblem, or the landmarks of a low-rank engine.
    dual_coef_ : array of shape (n_support, n_clusters - 1)
        Their coefficients, weight times α. Zero for isolated rows, which take no part, since each
        would be a cluster of its own.
    outlier_scores_ : array of shape (n_samples,)
        −log of the mean similarity, leave-one-out.
    overlap_scores_ : array of shape (n_samples,)
        Second largest soft membership over the largest.
    mean_similarity_ : array of shape (n_samples,)
        Mean kernel value with the training rows other than the sample itself.
    search_ : SpectralSearch
        The search of ``"auto"``, with `table` and `maxima`; only if there was one.
    bandwidth_, kernel_, plan_, engine_, approximation_error_, n_iter_, converged_, objective_, \
history_
        As in `OneClassPCM`, for the eigensolver: the objective is minus the sum of eigenvalues, the
        change the largest residual.

    References
    ----------
    C. Alzate, J. A. K. Suykens, "Multiway spectral clustering with out-of-sample extensions
    through weighted kernel PCA", IEEE Trans. PAMI 32(2), 2010.
    :doi:`10.1109/TPAMI.2008.292`

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_circles
    >>> from softkern import KernelSpectralClustering
    >>> X, y = make_circles(400, factor=0.3, noise=0.05, random_state=0)
    >>> model = KernelSpectralClustering(2, bandwidth=0.1).fit(X)
    >>> model.predict([[0.3, 0.0], [0.0, 1.0]]).tolist() in ([0, 1], [1, 0])
    True
    """

    _scores_class = HardScores


@dataclass(eq=False, repr=False, kw_only=True)
class SoftKernelSpectralClustering(SpectralClusterer):
    """Soft kernel spectral clustering (SKSC), with overlap and outlier points.

    Memberships decrease with the cosine distance between a sample's projection and the clusters'
    mean projections. With two clusters they decrease with the distance on the line.

    Parameters
    ----------
    n_clusters, n_train, subset, assignment, eigenvector_scale, bandwidth, kernel, kernel_params, \
engine, engine_params, tol, max_iter, random_state, verbose
        As in `KernelSpectralClustering`.

    Attributes
    ----------
    memberships_ : array of shape (n_samples, n_clusters)
        Memberships, which sum to one.
    labels_ : array of shape (n_samples,)
        Cluster of the largest membership.
    n_clusters_, projections_, prototypes_, codes_, eigenvalues_, bias_, support_, dual_coef_, \
outlier_scores_, overlap_scores_, mean_similarity_, search_, bandwidth_, kernel_, plan_, engine_, \
approximation_error_, n_iter_, converged_, objective_, history_
        As in `KernelSpectralClustering`.

    References
    ----------
    R. Langone, R. Mall, J. A. K. Suykens, "Soft kernel spectral clustering", IJCNN 2013.
    :doi:`10.1109/IJCNN.2013.6706850`

    R. Mall, R. Langone, J. A. K. Suykens, "Ranking overlap and outlier points in data using
    soft kernel spectral clustering", ESANN 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from softkern import SoftKernelSpectralClustering
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> X[100:200, 0] += 6
    >>> X[200:, 1] += 6
    >>> model = SoftKernelSpectralClustering("auto").fit(X)
    >>> model.n_clusters_
    3
    >>> is_outlier, is_overlap = model.detect([[0.0, 0.0], [30.0, 30.0]])
    >>> is_outlier.tolist()
    [False, True]
    """
