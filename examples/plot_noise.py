"""Clusters in noise
=================

The same three shapes with more and more uniform noise. Noise points (gray) are not forced into a
cluster. The model fails only when the noise is as dense as the shapes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from softkern import AlphaCutClustering
from softkern.datasets import make_dense_regions

figure, axes = plt.subplots(1, 4, figsize=(15, 4.2), layout="constrained")
colors = np.array(["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "0.8"])
for axis, n_noise in zip(axes, (500, 1500, 3000, 6000), strict=True):
    X, y = make_dense_regions(n_noise=n_noise, random_state=0)
    model = AlphaCutClustering().fit(X)
    dense = y >= 0
    agreement = adjusted_rand_score(y[dense], model.labels_[dense])
    axis.scatter(*X.T, c=colors[np.minimum(model.labels_, 5)], s=5)
    axis.set(
        title=f"{n_noise:,} noise points: {model.n_clusters_} clusters\nagreement {agreement:.2f}",
        xticks=[],
        yticks=[],
    )
    axis.set_aspect("equal")
plt.show()
