"""How many clusters?
==================

Three ways to choose the number of clusters: a validity index (`suggest_n_clusters`), the
persistence of the clusters in the alpha tree, and `softkern.cluster`, which looks for density
gaps and returns one cluster if there are none.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import softkern
from softkern import AlphaCutClustering, FuzzyCMeans, suggest_n_clusters

X, _ = make_blobs(500, centers=[[0, 0], [6, 0], [0, 6], [7, 7], [3.5, 12]], random_state=0)
table = suggest_n_clusters(FuzzyCMeans(bandwidth="global"), X, range(2, 9))
tree = AlphaCutClustering().fit(X)
levels = tree.alpha_ * np.linspace(0.97, 1.1, 200)
numbers = [tree.labels_at(level).max() + 1 for level in levels]

figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
axes[0].plot(table.index, table["fuzzy_silhouette"], "o-", color="#0072B2")
best = table.index[table["suggested"]][0]
axes[0].plot(best, table.loc[best, "fuzzy_silhouette"], "o", ms=12, mfc="none", color="#D55E00")
axes[0].set(xlabel="number of clusters", ylabel="fuzzy silhouette", title=f"the index: {best}")
axes[1].plot(levels, numbers, color="#0072B2")
axes[1].axvline(tree.alpha_, color="#D55E00", linestyle="--", label="selected cut")
axes[1].legend(frameon=False)
axes[1].set(xlabel="level of the cut", ylabel="clusters", title=f"the tree: {tree.n_clusters_}")
model = softkern.cluster(X)
axes[2].scatter(*X.T, c=[f"C{k}" if k >= 0 else "0.7" for k in model.labels_], s=8)
axes[2].set(title=f"softkern.cluster: {model.n_clusters_}", xticks=[], yticks=[])

# %%
# Data without clusters:
single = softkern.cluster(np.random.default_rng(0).normal(size=(500, 5)))
print(f"{single.n_clusters_} cluster: {single.reason_}")
plt.show()
