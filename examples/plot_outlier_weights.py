"""Outlier weights
===============

`OutlierFuzzyCMeans` gives every point a weight that grows with its distance from all clusters.
Lines of equal weight enclose the normal points. For two round clusters plain distances are
enough. A cluster inside a ring needs the kernel.
"""

import matplotlib.pyplot as plt
import numpy as np

from softkern import OutlierFuzzyCMeans
from softkern.datasets import make_ring_outliers, make_two_groups_outliers

sets = {
    "two clusters": make_two_groups_outliers(random_state=0),
    "a cluster inside a ring": make_ring_outliers(random_state=0),
}
models = {"plain distances": {"kernel": "linear"}, "Gaussian kernel": {"bandwidth": 2.0}}
figure, axes = plt.subplots(2, 2, figsize=(11, 10), layout="constrained")
for row, (name, (X, y)) in zip(axes, sets.items(), strict=True):
    n_outliers = int((y == -1).sum())
    for axis, (title, options) in zip(row, models.items(), strict=True):
        model = OutlierFuzzyCMeans(2, **options).fit(X)
        heaviest = np.argsort(-model.outlier_weights_)[: n_outliers + 1]
        threshold = float(model.outlier_weights_[heaviest[-2:]].mean())
        x, grid_y = np.meshgrid(np.linspace(-8, 8, 100), np.linspace(-8, 8, 100))
        weights = model.outlier_weights(np.column_stack([x.ravel(), grid_y.ravel()]))
        axis.contour(x, grid_y, weights.reshape(x.shape), 8, colors="0.7", linewidths=0.8)
        axis.contour(x, grid_y, weights.reshape(x.shape), [threshold], colors="C3")
        axis.scatter(*X.T, s=14, c=[f"C{k}" for k in model.labels_])
        axis.set(title=f"{name}, {title}", aspect="equal")
        n_found = int((y[heaviest[:-1]] == -1).sum())
        print(f"{name}, {title}: {n_found} of {n_outliers} outliers have the largest weights")
plt.show()
