"""Kernel spectral clustering, hard and soft, with overlap and outlier points.

Points are projected on the leading eigenvectors of a centred, normalised kernel matrix, where
clusters are directions (Alzate and Suykens 2010). The soft model (Langone, Mall and Suykens 2013)
reads memberships from cosine distances to the clusters' mean projections, and from these which
points lie between clusters or far from all (Mall, Langone and Suykens 2015). Only training points
take part in the eigenproblem; all others are projected by a product with the kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import ClassifierTags, Tags

from softkern.models.spectral_base import SpectralModel
from softkern.solvers.eigen import codebook_labels, direction_labels

__all__ = ["KernelSpectralClustering", "SoftKernelSpectralClustering"]

Array = NDArray[Any]


class KernelSpectralClustering(SpectralModel):
    """Kernel spectral clustering (KSC) [1]_: hard clusters of any shape, and new points.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        ``"auto"`` takes the number from 2 to 20 whose soft memberships are the strongest; see
        `softkern.selection.select_spectral`, which shows the other candidates too.
    n_train : int, "auto" or None, default="auto"
        Rows that take part in the eigenproblem; all others are projected. ``"auto"`` takes all up
        to 4000 distinct rows, else 2000 of them, or 20 a cluster where that is more. None takes
        all distinct rows, however many; time and memory then grow with their square where the
        engine does.
    subset : {"renyi", "random"}, default="renyi"
        How training rows are chosen: so that they cover the data (quadratic Rényi entropy), each
        with the weight of the rows it stands for, or at random.
    assignment : {"directions", "codebook"}, default="directions"
        ``"directions"``: k-means on e/‖e‖, the same for any row order. ``"codebook"``: the
        papers' most frequent sign patterns; unstable for many clusters.
    bandwidth : str, float or array of shape (d,), default="auto"
        ``"auto"`` takes the bandwidth at which soft memberships are the strongest.
    kernel, kernel_params, engine, engine_params, verbose
        As in `OneClassPCM`; similarities must not be negative.
    tol : float, default=1e-8
        Residual of the eigenvectors.
    max_iter : int, default=500
        Iterations of the eigensolver.
    random_state : int, RandomState or None, default=0
        For samples of rows: the training rows, and those of the search that ``"auto"`` means.

    Attributes
    ----------
    labels_ : array of shape (n,)
    memberships_ : array of shape (n, n_clusters)
        One for the point's cluster, zero for the others.
    n_clusters_ : int
    projections_ : array of shape (n, n_clusters − 1)
        Where the points lie in the eigenspace.
    prototypes_ : array of shape (n_clusters, n_clusters − 1)
        Mean projection of every cluster, the largest cluster first.
    codes_ : array of shape (n_clusters, n_clusters − 1)
        Sign patterns, or the centres of directions.
    eigenvalues_, bias_ : arrays of shape (n_clusters − 1,)
    support_ : array of shape (n_train,)
        Rows of X that took part in the eigenproblem.
    dual_coef_ : array of shape (n_train, n_clusters − 1)
        Their coefficients, weight times α, with Σ weight α² = 1. Zero for rows that no other is
        similar to: they take no part, since each would be a cluster of its own.
    mean_similarity_ : array of shape (n,)
        Mean kernel value to the training points other than the point itself.
    search_ : object
        What ``"auto"`` looked at, with `table` and `maxima`; only where it searched.
    bandwidth_, kernel_, engine_, n_iter_, converged_, objective_, history_
        As in `OneClassPCM`, of the eigensolver: the objective is minus the sum of eigenvalues, the
        change the largest residual.

    References
    ----------
    .. [1] C. Alzate, J. A. K. Suykens, "Multiway spectral clustering with out-of-sample extensions
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

    def _memberships(self, projections: Array) -> Array:
        told = codebook_labels if self.assignment == "codebook" else direction_labels
        return np.eye(self.n_clusters_)[told(projections, self.codes_)]


class SoftKernelSpectralClustering(SpectralModel):
    """Soft kernel spectral clustering (SKSC) [1]_, with overlap and outlier points [2]_.

    A point's membership of a cluster falls with the cosine distance between its projection and the
    cluster's mean projection (with two clusters, with their distance on the line).

    Parameters
    ----------
    n_clusters, n_train, subset, assignment, bandwidth, kernel, kernel_params, engine, \
engine_params, tol, max_iter, random_state, verbose
        As in `KernelSpectralClustering`.

    Attributes
    ----------
    memberships_ : array of shape (n, n_clusters)
        Rows sum to one.
    labels_ : array of shape (n,)
        The cluster of the largest membership.
    n_clusters_, projections_, prototypes_, codes_, eigenvalues_, bias_, support_, dual_coef_, \
mean_similarity_, search_, bandwidth_, kernel_, engine_, n_iter_, converged_, objective_, history_
        As in `KernelSpectralClustering`.

    References
    ----------
    .. [1] R. Langone, R. Mall, J. A. K. Suykens, "Soft kernel spectral clustering", IJCNN 2013.
       :doi:`10.1109/IJCNN.2013.6706850`
    .. [2] R. Mall, R. Langone, J. A. K. Suykens, "Ranking overlap and outlier points in data using
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

    def _memberships(self, projections: Array) -> Array:
        return self._soft(projections)

    def predict_proba(self, X: Any) -> Array:
        """Memberships of new points, (m, n_clusters); rows sum to one."""
        return self.memberships(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # scikit-learn's check of sparse input reads them of whatever has predict_proba
        tags.classifier_tags = ClassifierTags(multi_class=self.n_clusters != 2)
        return tags
