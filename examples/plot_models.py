"""Eleven models on eight data sets
================================

Every model on the same data, with the time in seconds in the corner. The first column finds the
number of clusters itself. The three detectors have one cluster and look for outliers (crosses).
The other models get the correct number.
"""

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs, make_circles, make_moons

import softkern
from softkern.datasets import make_dense_regions

# %%
# Eight data sets and their numbers of clusters.
rng = np.random.default_rng(0)
varied, _ = make_blobs(240, cluster_std=[1.0, 2.0, 0.5], random_state=170)
stretched = make_blobs(240, random_state=170)[0] @ [[0.6, -0.6], [-0.4, 0.8]]
blobs, _ = make_blobs(220, random_state=8)
far = np.vstack([blobs, rng.uniform(blobs.min(axis=0) - 4, blobs.max(axis=0) + 4, (12, 2))])
regions, _ = make_dense_regions(n_rectangle=40, n_ring=110, n_noise=120, random_state=0)
sets = {
    "rings": (make_circles(240, factor=0.5, noise=0.05, random_state=0)[0], 2),
    "moons": (make_moons(240, noise=0.05, random_state=0)[0], 2),
    "unequal": (varied, 3),
    "stretched": (stretched, 3),
    "round": (blobs, 3),
    "outliers": (far, 3),
    "in noise": (regions, 3),
    "no structure": (rng.uniform(size=(240, 2)), 3),
}


def models(n_clusters):
    """Return all models with default parameters."""
    return {
        "Alpha\nCut\nClustering": softkern.AlphaCutClustering(),
        "One\nClass\nPCM": softkern.OneClassPCM(),
        "Weighted\nSVDD": softkern.WeightedSVDD(),
        "Weighted\nOneClass\nSVM": softkern.WeightedOneClassSVM(),
        "Possibilistic\nCMeans": softkern.PossibilisticCMeans(n_clusters),
        "Fuzzy\nCMeans": softkern.FuzzyCMeans(n_clusters),
        "Outlier\nFuzzy\nCMeans": softkern.OutlierFuzzyCMeans(n_clusters),
        "OneClass\nMixture": softkern.OneClassMixture(n_clusters),
        "OneClass\nKMeans": softkern.OneClassKMeans(n_clusters),
        "Kernel\nSpectral\nClustering": softkern.KernelSpectralClustering(n_clusters),
        "SoftKernel\nSpectral\nClustering": softkern.SoftKernelSpectralClustering(n_clusters),
    }


# %%
# Fit every model once before, because the first fit compiles some functions.
warnings.simplefilter("ignore")  # for example about coinciding centers
for model in models(3).values():
    model.fit(blobs)

box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1}
colors = np.array(["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"])
figure, axes = plt.subplots(8, 11, figsize=(19, 14.5), layout="constrained")
for row, (name, (X, n_clusters)) in zip(axes, sets.items(), strict=True):
    for axis, model in zip(row, models(n_clusters).values(), strict=True):
        start = time.perf_counter()
        model.fit(X)
        seconds = time.perf_counter() - start
        if hasattr(model, "labels_"):
            labels, is_out = model.labels_, model.labels_ < 0
        else:  # a detector: 1 inside, −1 outside
            labels, is_out = np.zeros(len(X), int), model.predict(X) < 0
        axis.scatter(*X[~is_out].T, c=colors[labels[~is_out] % 6], s=5)
        axis.scatter(*X[is_out].T, c="0.5", s=12, marker="x", linewidths=0.8)
        axis.annotate(
            f"{seconds:.2f}",
            (1, 0),
            (-2, 2),
            "axes fraction",
            "offset points",
            ha="right",
            bbox=box,
        )
        axis.set(xticks=[], yticks=[])
    row[0].set_ylabel(name, fontsize=13)
for axis, title in zip(axes[0], models(2), strict=True):
    axis.set_title(title)
plt.show()
