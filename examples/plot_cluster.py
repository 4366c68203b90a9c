"""Automatic clustering
====================

`softkern.cluster` chooses the number of clusters and the model, and reports why. This example has
three clusters in twelve columns, nine rows between two of them, and six outliers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

import softkern

generator = np.random.default_rng(0)
centers = np.zeros((3, 12))
centers[1, :3], centers[2, 3:6] = 4.5, 4.5
clusters = [generator.normal(center, 1, (200, 12)) for center in centers]
between = generator.normal(centers[:2].mean(axis=0), 0.5, (9, 12))
directions = generator.normal(size=(6, 12))
far = 14 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
X = np.concatenate([*clusters, between, far])  # overlap: rows 600–608, outliers: 609–614

model = softkern.cluster(X)
ranks = softkern.rank_points(model)
print(f"{model.n_clusters_} clusters: {model.reason_}")
print(f"outliers: rows {np.flatnonzero(ranks['is_outlier']).tolist()}")
print(f"between clusters: rows {np.flatnonzero(ranks['is_overlap']).tolist()}")

# %%
# The candidate models are compared by the density gaps between their clusters (above 1:
# significant), and by their stability when refitted on half of the rows (1: stable).
print(model.comparison_.to_string(index=False))

# %%
# The rows on the first two principal components. The flagged rows are the ones we planted.
figure, axis = plt.subplots(figsize=(7.5, 5), layout="constrained")
places = PCA(2, random_state=0).fit_transform(X)
axis.scatter(*places.T, c=[f"C{k}" if k >= 0 else "0.5" for k in model.labels_], s=10)
for flag, name, color in (
    ("is_outlier", "outliers", "#d55e00"),
    ("is_overlap", "between clusters", "black"),
):
    marked = places[ranks[flag].to_numpy()]
    axis.scatter(*marked.T, s=70, facecolors="none", edgecolors=color, label=name)
axis.legend(frameon=False)
axis.set(
    title=f"{model.n_clusters_} clusters in 12 columns",
    xlabel="principal component 1",
    ylabel="principal component 2",
)
plt.show()
