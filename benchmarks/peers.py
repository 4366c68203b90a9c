"""Methods of other libraries: clusterers that choose the number of clusters, and outlier detectors.

Each is used the way users do who set nothing: k-means with the highest silhouette, Gaussian mixtures
with the lowest BIC, spectral clustering with the largest eigengap, DBSCAN with the knee of the
neighbor distances, the others and all detectors with their defaults. Methods that need columns of equal
scale get standardized ones. PyOD's detectors are skipped with a message if PyOD is not installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh
from scipy.sparse.csgraph import laplacian
from sklearn.cluster import (
    DBSCAN,
    HDBSCAN,
    OPTICS,
    AgglomerativeClustering,
    KMeans,
    MeanShift,
    SpectralClustering,
)
from sklearn.covariance import MinCovDet
from sklearn.ensemble import IsolationForest
from sklearn.metrics import silhouette_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import (
    KernelDensity,
    LocalOutlierFactor,
    NearestNeighbors,
    kneighbors_graph,
)
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

# Takes a table, returns labels (n,), −1 for noise.
Clusterer = Callable[[np.ndarray], np.ndarray]
# Takes a table and a number of clusters, returns labels (n,).
Partitioner = Callable[[np.ndarray, int], np.ndarray]
# Takes a table and a seed, returns scores (n,), high for outliers.
Detector = Callable[[np.ndarray, int], np.ndarray]

MOST_CLUSTERS = 10  # always tried
FURTHER = 40  # tried while the best is among the last PATIENCE
PATIENCE = 5
SILHOUETTE_ROWS = 2000  # sample size for large tables
NEIGHBORS = 10  # scikit-learn's default for spectral clustering
PYOD = ("ECOD", "COPOD", "INNE")
IS_RANDOM = {"IForest", "INNE", "MCD"}


def standardize(X: np.ndarray) -> np.ndarray:
    return StandardScaler().fit_transform(X)


def best_number(
    partition: Callable[[int], tuple[float, np.ndarray]], first: int, rows: int
) -> np.ndarray:
    """Return the labels of the highest score; `partition` returns score and labels."""
    best, (highest, labels) = first, partition(first)
    k = first + 1
    while k <= min(FURTHER, rows - 1) and (k <= MOST_CLUSTERS or k - best <= PATIENCE):
        score, other = partition(k)
        if score > highest:
            best, highest, labels = k, score, other
        k += 1
    return labels


def k_means_silhouette(X: np.ndarray) -> np.ndarray:
    """Run k-means with the highest silhouette, for two or more clusters."""
    Z = standardize(X)

    def partition(k: int) -> tuple[float, np.ndarray]:
        labels = KMeans(k, n_init=10, random_state=0).fit_predict(Z)
        if len(np.unique(labels)) < 2:  # fewer distinct rows than clusters
            return -np.inf, labels
        sample = min(len(Z), SILHOUETTE_ROWS)
        return silhouette_score(Z, labels, sample_size=sample, random_state=0), labels

    return best_number(partition, 2, len(np.unique(Z, axis=0)))


def mixture_bic(X: np.ndarray) -> np.ndarray:
    """Fit a Gaussian mixture with the lowest BIC, for one or more components."""
    Z = standardize(X)

    def partition(k: int) -> tuple[float, np.ndarray]:
        model = GaussianMixture(k, random_state=0).fit(Z)
        return -model.bic(Z), model.predict(Z)

    return best_number(partition, 1, len(np.unique(Z, axis=0)))


def hdbscan(X: np.ndarray) -> np.ndarray:
    return HDBSCAN(copy=True).fit_predict(X)


CLUSTERERS: dict[str, Clusterer] = {
    "HDBSCAN": hdbscan,
    "k-means": k_means_silhouette,
    "GMM": mixture_bic,
}


def knee(values: np.ndarray) -> float:
    """Return the rising value that is furthest below the line from the first to the last."""
    line = np.linspace(values[0], values[-1], len(values))
    return float(values[np.argmax(line - values)])


def dbscan_knee(X: np.ndarray) -> np.ndarray:
    """Run DBSCAN with 2 d neighbors (at least 4) and the knee of their distances."""
    Z = standardize(X)
    neighbors = min(max(4, 2 * Z.shape[1]), len(Z) - 1)
    distances = NearestNeighbors(n_neighbors=neighbors).fit(Z).kneighbors()[0][:, -1]
    radius = max(knee(np.sort(distances)), np.finfo(float).tiny)  # zero if most rows are duplicates
    return DBSCAN(eps=radius, min_samples=neighbors).fit_predict(Z)


def eigengap(affinity: np.ndarray) -> int:
    """Return the number of clusters by the largest eigengap of the normalized Laplacian."""
    last = min(MOST_CLUSTERS, len(affinity) - 1)
    lowest = eigvalsh(laplacian(affinity, normed=True), subset_by_index=[0, last])
    return 2 + int(np.argmax(np.diff(lowest)[1:]))


def affinities(X: np.ndarray, affinity: str) -> np.ndarray:
    """Return affinities as in SpectralClustering: a Gaussian with γ = 1, or nearest neighbors."""
    if affinity == "rbf":
        return rbf_kernel(X, gamma=1.0)
    graph = kneighbors_graph(X, min(NEIGHBORS, len(X) - 1), include_self=True)
    return 0.5 * (graph + graph.T).toarray()


def spectral_into(X: np.ndarray, k: int | None, affinity: str) -> np.ndarray:
    """Run spectral clustering; k = None uses the eigengap."""
    given = affinities(standardize(X), affinity)
    k = eigengap(given) if k is None else k
    return SpectralClustering(k, affinity="precomputed", random_state=0).fit_predict(given)


FURTHER_CLUSTERERS: dict[str, Clusterer] = {
    "OPTICS": lambda X: OPTICS().fit_predict(standardize(X)),
    "MeanShift": lambda X: MeanShift().fit_predict(standardize(X)),
    "DBSCAN": dbscan_knee,
    "Spectral": partial(spectral_into, k=None, affinity="rbf"),
    "Spectral, neighbors": partial(spectral_into, k=None, affinity="nearest_neighbors"),
}


def fuzzy_c_means(X: np.ndarray, k: int) -> np.ndarray:
    """Run scikit-fuzzy with m = 2 and the tolerances of its examples."""
    cmeans = importlib.import_module("skfuzzy").cmeans
    memberships = cmeans(standardize(X).T, k, m=2, error=0.005, maxiter=1000, seed=0)[1]
    return memberships.argmax(axis=0)


PARTITIONERS: dict[str, Partitioner] = {
    "k-means": lambda X, k: KMeans(k, n_init=10, random_state=0).fit_predict(standardize(X)),
    "GMM": lambda X, k: GaussianMixture(k, random_state=0).fit_predict(standardize(X)),
    "Ward": lambda X, k: AgglomerativeClustering(k).fit_predict(standardize(X)),
    "Spectral": partial(spectral_into, affinity="rbf"),
    "Spectral, neighbors": partial(spectral_into, affinity="nearest_neighbors"),
    "scikit-fuzzy": fuzzy_c_means,
}


def isolation_forest(X: np.ndarray, seed: int) -> np.ndarray:
    return -IsolationForest(random_state=seed).fit(X).score_samples(X)


def tenth_neighbor(X: np.ndarray, seed: int) -> np.ndarray:
    return NearestNeighbors(n_neighbors=10).fit(X).kneighbors()[0][:, -1]


def local_outlier_factor(X: np.ndarray, seed: int) -> np.ndarray:
    return -LocalOutlierFactor().fit(X).negative_outlier_factor_


def one_class_svm(X: np.ndarray, seed: int) -> np.ndarray:
    return -OneClassSVM().fit(X).decision_function(X)


def kernel_density(X: np.ndarray, seed: int) -> np.ndarray:
    return -KernelDensity().fit(X).score_samples(X)


def robust_ellipsoid(X: np.ndarray, seed: int) -> np.ndarray:
    """Return robust Mahalanobis distances, as PyOD's MCD does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # singular covariances
        return MinCovDet(random_state=seed).fit(X).dist_


def pyod(name: str) -> Detector:
    """Return a detector of PyOD by name."""

    def scores(X: np.ndarray, seed: int) -> np.ndarray:
        detector: Any = getattr(importlib.import_module(f"pyod.models.{name.lower()}"), name)
        options = {"random_state": seed} if name in IS_RANDOM else {}
        return detector(**options).fit(X).decision_scores_

    return scores


DETECTORS: dict[str, Detector] = {
    "IForest": isolation_forest,
    "kNN": tenth_neighbor,
    "LOF": local_outlier_factor,
    "OCSVM": one_class_svm,
    "KDE": kernel_density,
    "MCD": robust_ellipsoid,
    **{name: pyod(name) for name in PYOD},
}


# all from PyOD, while those above are from scikit-learn where possible
PYOD_DETECTORS: dict[str, Detector] = {
    name: pyod(name)
    for name in ("IForest", "ECOD", "COPOD", "LOF", "KNN", "OCSVM", "MCD", "INNE", "GMM", "KDE")
}


def detectors() -> dict[str, Detector]:
    """Return the installed detectors."""
    if importlib.util.find_spec("pyod") is not None:
        return DETECTORS
    print(f"PyOD is not installed (pip install pyod): without {', '.join(PYOD)}.", file=sys.stderr)
    return {name: peer for name, peer in DETECTORS.items() if name not in PYOD}
