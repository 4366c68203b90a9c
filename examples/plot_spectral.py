"""Overlap points and outliers by soft spectral clustering
=======================================================

`SoftKernelSpectralClustering` chooses the number of clusters and the bandwidth by the strength of
the memberships. It distinguishes points between clusters from points far from all clusters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from softkern import SoftKernelSpectralClustering
from softkern.display import EigenspaceDisplay

X, _ = make_blobs(800, centers=[[0, 0], [4, 0], [2, 3.5]], cluster_std=1.0, random_state=0)
model = SoftKernelSpectralClustering("auto").fit(X)
is_outlier, is_overlap = model.detect()
print(f"{is_overlap.sum()} overlap points, {is_outlier.sum()} outliers")

figure, axes = plt.subplots(1, 3, figsize=(16, 5), layout="constrained")
search = model.search_
widths = np.log2([bandwidth.mean() for bandwidth in search.bandwidths])  # of both columns
image = axes[0].pcolormesh(widths, search.n_clusters_range, search.strength, vmin=0, vmax=1)
figure.colorbar(image, ax=axes[0], label="average membership strength")
axes[0].plot(np.log2(model.bandwidth_.mean()), model.n_clusters_, "*", color="white", markersize=14)
axes[0].set(xlabel="log₂ of the bandwidth", ylabel="number of clusters")
axes[0].set_title(f"{model.n_clusters_} clusters have the strongest memberships")
EigenspaceDisplay.from_estimator(model, X, space="input", ax=axes[1]).ax_.set_title(
    "overlap points and outliers"
)
EigenspaceDisplay.from_estimator(model, ax=axes[2]).ax_.set_title(
    "eigenspace: clusters are directions"
)
plt.show()
