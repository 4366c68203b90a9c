"""Spectral clustering of new points
=================================

Ordinary spectral clustering has no predictions for new points. `SoftKernelSpectralClustering`
learns from a few hundred rows and predicts labels and memberships for any others.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from softkern import SoftKernelSpectralClustering

X, y = make_moons(5000, noise=0.08, random_state=0)
train, new = X[:400], X[400:]
model = SoftKernelSpectralClustering(2, bandwidth=0.15).fit(train)
labels, memberships = model.predict(new), model.memberships(new)
agreement = max(np.mean(labels == y[400:]), np.mean(labels != y[400:]))
print(f"{agreement:.2%} of {len(new):,} new rows are assigned to the correct moon")

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
colors = np.array(["#0072B2", "#E69F00"])
axes[0].scatter(*train.T, c=colors[model.labels_], s=8)
axes[0].set_title("400 training rows")
shades = axes[1].scatter(*new.T, c=memberships[:, 0], s=4, cmap="cividis", vmin=0, vmax=1)
axes[1].set_title(f"{len(new):,} new rows")
figure.colorbar(shades, ax=axes[1], label="membership in cluster 0")
plt.show()
