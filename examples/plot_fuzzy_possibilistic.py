"""Fuzzy and possibilistic memberships
===================================

Fuzzy memberships sum to one, so a point far from everything still has memberships of one half.
Possibilistic memberships measure how typical a point is of each cluster. Far away, they are close
to zero.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from softkern import FuzzyCMeans, PossibilisticCMeans

X, _ = make_blobs(300, centers=[[-3, 0], [3, 0]], random_state=0)
X = np.vstack([X, [[0, 9]]])  # far from both
models = {
    "fuzzy: memberships sum to one": FuzzyCMeans(2, kernel="linear"),
    "possibilistic: typicality": PossibilisticCMeans(2, kernel="linear"),
}
side = np.linspace(-8, 8, 120), np.linspace(-5, 11, 120)
grid = np.stack(np.meshgrid(*side), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
for axis, (title, model) in zip(axes, models.items(), strict=True):
    highest = model.fit(X).memberships(grid).max(axis=1).reshape(120, 120)
    shades = axis.contourf(*side, highest, levels=np.linspace(0, 1, 11), cmap="Blues")
    axis.scatter(*X.T, s=6, color="0.25")
    u = model.memberships_[-1]
    axis.annotate(
        f"memberships {u[0]:.2f} and {u[1]:.2f}",
        X[-1],
        (12, 0),
        textcoords="offset points",
        va="center",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8},
    )
    axis.set_title(title)
    axis.set_aspect("equal")
figure.colorbar(shades, ax=axes, label="highest membership", shrink=0.8)
plt.show()
