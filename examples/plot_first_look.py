"""One product
===========

All models are based on one product: the kernel matrix times a few columns. Times a column of
ones, it is the density at every row, and the rows with the lowest density are the least typical.
`plan` chooses how the product is computed.
"""

import matplotlib.pyplot as plt
import numpy as np

from softkern import plan

# a ring, two clusters of different spread, and some noise
generator = np.random.default_rng(0)
angle = generator.uniform(0, 2 * np.pi, 1400)
ring = np.c_[np.cos(angle), np.sin(angle)] * generator.normal(3, 0.15, (1400, 1))
inner = generator.normal(0, 0.35, (700, 2))
outer = generator.normal([5.5, -1.5], 0.8, (840, 2))
noise = generator.uniform([-6, -6], [9, 6], (60, 2))
X = np.vstack([ring, inner, outer, noise])

operator = plan(X).build(X)
neighbors = operator.degree() - 1  # weighted number of neighbors
least = np.argsort(neighbors)[:40]

# %%
# The same operator evaluates the density on a grid:
side = [np.linspace(X[:, k].min() - 0.5, X[:, k].max() + 0.5, 200) for k in range(2)]
grid = np.stack(np.meshgrid(*side), axis=-1)
density = (operator.cross(grid.reshape(-1, 2)) @ np.ones(len(X))).reshape(200, 200)

figure, axes = plt.subplots(figsize=(8, 5.4), layout="constrained")
levels = [0.5, 2, 8, 20, 50, 100]  # neighbors
axes.contourf(*side, density, levels=levels, cmap="Blues", extend="max")
axes.scatter(*X.T, s=2, color="0.35", linewidths=0, label="3,000 points")
axes.scatter(
    *X[least].T, s=42, facecolors="none", edgecolors="#d55e00", label="the 40 least typical"
)
axes.set_aspect("equal")
axes.set_title("Kernel density of 3,000 points", loc="left")
figure.legend(loc="outside lower center", ncols=2, frameon=False)
plt.show()
