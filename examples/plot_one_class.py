"""One-class SVMs as clusters
==========================

A one-class SVM draws one boundary around all points. A mixture of them draws one around each
cluster, with soft memberships (`OneClassMixture`) or hard ones (`OneClassKMeans`).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from softkern import OneClassKMeans, OneClassMixture, WeightedSVDD
from softkern.display import BoundaryDisplay

X, _ = make_blobs([160, 80], centers=[[0, 0], [5.5, 1]], cluster_std=[1.3, 0.8], random_state=3)
X = np.vstack([X, [[1.5, 6.0], [7.5, -3.5], [-5.0, 3.5]]])

models = {
    "one boundary around all points": WeightedSVDD(nu=0.05, bandwidth="global"),
    "two soft clusters": OneClassMixture(2, nu=0.6),
    "two hard clusters": OneClassKMeans(2, nu=0.6),
}
figure, axes = plt.subplots(1, 3, figsize=(15, 5), layout="constrained")
for axis, (title, model) in zip(axes, models.items(), strict=True):
    BoundaryDisplay.from_estimator(model.fit(X), X, ax=axis)
    axis.set_title(title, pad=24)
plt.show()
