"""Draws that several tests share."""

import numpy as np


def blobs(n_clusters, d, seed, distance=8.0):
    """Unit normal groups of 60 rows, no two centres nearer than the distance."""
    rng = np.random.default_rng(seed)
    centres = []
    while len(centres) < n_clusters:
        centre = rng.normal(size=d) * distance / np.sqrt(d) * 1.2
        if all(np.linalg.norm(centre - other) > distance for other in centres):
            centres.append(centre)
    return np.concatenate([rng.normal(size=(60, d)) + centre for centre in centres])
