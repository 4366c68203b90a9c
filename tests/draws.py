"""Random data sets that several tests share."""

import numpy as np


def blobs(n_clusters, d, seed, distance=8.0):
    """Unit normal clusters of 60 rows whose centers are further apart than the distance."""
    rng = np.random.default_rng(seed)
    centers = []
    while len(centers) < n_clusters:
        center = rng.normal(size=d) * distance / np.sqrt(d) * 1.2
        if all(np.linalg.norm(center - other) > distance for other in centers):
            centers.append(center)
    return np.concatenate([rng.normal(size=(60, d)) + center for center in centers])
