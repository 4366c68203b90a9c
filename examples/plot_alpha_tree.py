"""The alpha tree and its cut
==========================

One fit holds the clusters of every level: cut the landscape of typicality anywhere, and what
stands above the cut are the clusters. Three dense regions in noise are found without being counted.
"""

import matplotlib.pyplot as plt
import numpy as np

from softkern import AlphaCutClustering, OneClassPCM
from softkern.datasets import make_dense_regions
from softkern.display import AlphaTreeDisplay, MembershipDisplay, MembershipHistogramDisplay

X, y = make_dense_regions(random_state=0)
one_class = OneClassPCM(bandwidth=0.5).fit(X)
clusters = AlphaCutClustering(bandwidth=0.5, alpha="valley").fit(X)

figure, axes = plt.subplots(2, 2, figsize=(11, 10), layout="constrained")
MembershipDisplay.from_estimator(
    one_class, X, np.ones(len(X), int), alpha=clusters.alpha_, ax=axes[0, 0], size=2
).ax_.set_title("typicality, and the cut", pad=24)
MembershipHistogramDisplay.from_estimator(one_class, ax=axes[0, 1]).ax_.set_title(
    "its histogram has two hills, noise and structure"
)
MembershipDisplay.from_estimator(clusters, X, ax=axes[1, 0]).ax_.set_title(
    f"{clusters.n_clusters_} clusters above the cut", pad=24
)
AlphaTreeDisplay.from_estimator(clusters, ax=axes[1, 1]).ax_.set_title(
    "the clusters at every level"
)

# %%
# Another level needs no new fit:
for alpha in (0.359, clusters.alpha_, 0.38):
    labels = clusters.labels_at(alpha)
    print(f"alpha {alpha:.3f}: {labels.max() + 1} clusters, {(labels < 0).sum()} points in none")
plt.show()
