"""The alpha tree and its cut
==========================

A single fit contains the clusters of every level: cut the landscape of typicality at any level,
and the clusters are the parts above the cut. The three dense regions are found without giving
their number.
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
).ax_.set_title("typicality and the cut", pad=24)
MembershipHistogramDisplay.from_estimator(one_class, ax=axes[0, 1]).ax_.set_title(
    "histogram with two modes: noise and clusters"
)
MembershipDisplay.from_estimator(clusters, X, ax=axes[1, 0]).ax_.set_title(
    f"{clusters.n_clusters_} clusters above the cut", pad=24
)
AlphaTreeDisplay.from_estimator(clusters, ax=axes[1, 1]).ax_.set_title(
    "the clusters at every level"
)

# %%
# Another level does not need a new fit:
for alpha in (0.359, clusters.alpha_, 0.38):
    labels = clusters.labels_at(alpha)
    print(f"alpha {alpha:.3f}: {labels.max() + 1} clusters, {(labels < 0).sum()} noise points")
plt.show()
