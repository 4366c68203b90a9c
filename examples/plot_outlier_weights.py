"""Outlier weights
===============

`OutlierFuzzyCMeans` gives every point a weight that grows with its distance from all clusters, and
lines of equal weight enclose the ordinary points. On two round groups plain distances do; a group
and the ring around it are told apart with the kernel only.
"""

import matplotlib.pyplot as plt
import numpy as np

from softkern import OutlierFuzzyCMeans
from softkern.datasets import make_ring_outliers, make_two_groups_outliers

sets = {
    "two groups": make_two_groups_outliers(random_state=0),
    "a group within a ring": make_ring_outliers(random_state=0),
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
        axis.scatter(*X.T, s=14, c=model.outlier_weights_)
        axis.set(title=f"{name}, {title}", aspect="equal")
        found = int((y[heaviest[:-1]] == -1).sum())
        print(f"{name}, {title}: {found} of {n_outliers} outliers are the heaviest points")
plt.show()
