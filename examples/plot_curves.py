"""Clusters of any shape
=====================

`AlphaCutClustering` follows the density, so moons, rings and spirals are clusters just like round
ones. It finds the number of clusters itself. K-means cuts them into pieces even with the correct
number.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles, make_moons

from softkern import AlphaCutClustering

rng = np.random.default_rng(0)
turn = np.sqrt(rng.uniform(0.1, 1, (300, 1))) * 3 * np.pi
arm = np.c_[turn * np.cos(turn), turn * np.sin(turn)]
sets = {
    "moons": make_moons(500, noise=0.07, random_state=0)[0],
    "rings": make_circles(600, noise=0.05, factor=0.45, random_state=0)[0],
    "spirals": np.vstack([arm, -arm]) + rng.normal(0, 0.35, (600, 2)),
}
figure, axes = plt.subplots(2, 3, figsize=(11, 7), layout="constrained")
for column, (name, X) in zip(axes.T, sets.items(), strict=True):
    models = {"AlphaCutClustering": AlphaCutClustering(), "k-means": KMeans(2, random_state=0)}
    for axis, (title, model) in zip(column, models.items(), strict=True):
        labels = model.fit(X).labels_
        colors = np.array(["#0072B2", "#E69F00", "#009E73", "#CC79A7", "0.75"])
        axis.scatter(*X.T, c=colors[labels], s=7)
        axis.set(title=f"{name}: {title}, {labels.max() + 1} clusters", xticks=[], yticks=[])
        axis.set_aspect("equal")
plt.show()
