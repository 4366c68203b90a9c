"""Collapse, and how to avoid it
=============================

In feature space all points are about equally far from each other, so fuzzy memberships with the
usual exponent m = 2 collapse to 1/c. softkern detects this (the collapse ratio is below one) and
warns. With ``m="auto"`` it uses a smaller exponent.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

from softkern import CollapseWarning, FuzzyCMeans

X, _ = make_blobs(300, centers=[[-2, 0], [2, 0]], random_state=0)
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for axis, m in zip(axes, (2.0, "auto"), strict=True):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CollapseWarning)
        model = FuzzyCMeans(2, m=m, bandwidth=0.5, tol=1e-8).fit(X)
    for warning in caught:
        print(f"m={m}: {warning.message}")
    axis.scatter(X[:, 0], model.memberships_[:, 0], s=9, color="#0072B2")
    axis.scatter(X[:, 0], model.memberships_[:, 1], s=9, color="#E69F00")
    title = f"m = {model.m_:.3g}, collapse ratio {model.collapse_ratio_:.2f}"
    axis.set(title=title, xlabel="x", ylim=(-0.05, 1.05))
axes[0].set_ylabel("memberships in the two clusters")
plt.show()
