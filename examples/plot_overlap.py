"""Rows between clusters
=====================

Two species of iris overlap. A hard clustering hides that. The overlap score (1 half way between
two clusters) shows which flowers could be either, and most errors are among those.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from softkern import FuzzyCMeans, rank_points

flowers = load_iris(as_frame=True)
X, y = flowers.data, flowers.target.to_numpy()
model = FuzzyCMeans(3).fit(X)
ranks = rank_points(model)
species = np.array([np.bincount(y[model.labels_ == k]).argmax() for k in range(3)])
is_wrong = species[model.labels_] != y
is_overlap = ranks["is_overlap"].to_numpy()
print(f"{is_overlap.sum()} of 150 flowers lie between clusters")
print(f"{is_wrong.sum()} are in another species' cluster, {(is_wrong & is_overlap).sum()} of those")

# %%
# Colors are clusters, fainter where the membership is lower.
figure, axis = plt.subplots(figsize=(7.5, 5), layout="constrained")
colors = np.array(["#0072B2", "#E69F00", "#009E73"])[model.labels_]
places = X[["petal length (cm)", "petal width (cm)"]].to_numpy()
places = places + np.random.default_rng(0).uniform(-0.04, 0.04, places.shape)  # many are equal
axis.scatter(*places.T, c=colors, alpha=ranks["membership"].clip(0.2, 1), s=25)
axis.scatter(*places[is_overlap].T, s=90, facecolors="none", edgecolors="k", label="between")
axis.scatter(*places[is_wrong].T, marker="x", s=20, c="#d55e00", label="another species")
axis.legend(frameon=False, loc="upper left")
axis.set(xlabel="petal length (cm)", ylabel="petal width (cm)", title="150 flowers of iris")
plt.show()
