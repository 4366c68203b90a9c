"""Relative cost of the models
===========================

CPU time of a fit with default parameters, relative to `OneClassPCM`, for three round clusters in
two and in ten columns. The ratios depend on the data. `softkern.plan` estimates the cost of a
product for your own data.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import softkern

ROWS, COLUMNS = 1000, (2, 10)
models = {
    "cluster": softkern.AutoClustering(),
    "OneClassPCM": softkern.OneClassPCM(),
    "WeightedSVDD": softkern.WeightedSVDD(),
    "WeightedOneClassSVM": softkern.WeightedOneClassSVM(),
    "AlphaCutClustering": softkern.AlphaCutClustering(),
    "PossibilisticCMeans": softkern.PossibilisticCMeans(3),
    "FuzzyCMeans": softkern.FuzzyCMeans(3),
    "OutlierFuzzyCMeans": softkern.OutlierFuzzyCMeans(3),
    "OneClassMixture": softkern.OneClassMixture(3),
    "OneClassKMeans": softkern.OneClassKMeans(3),
    "KernelSpectralClustering": softkern.KernelSpectralClustering(3),
    "SoftKernelSpectralClustering": softkern.SoftKernelSpectralClustering(3),
}


def seconds(model, X):
    """Return the CPU time of one fit."""
    start = time.process_time()
    model.fit(X)
    return time.process_time() - start


# %%
# Fit every model once before, because the first fit compiles some functions.
spent = np.empty((len(models), len(COLUMNS)))
for j, d in enumerate(COLUMNS):
    X, _ = make_blobs(ROWS, centers=8 * np.eye(3, d), random_state=0)
    for model in models.values() if j == 0 else ():
        model.fit(X[:300])
    spent[:, j] = [seconds(model, X) for model in models.values()]
cost = spent / spent[list(models).index("OneClassPCM")]

# %%
# The fastest model first:
order = np.argsort(-cost.max(axis=1))
names = np.array(list(models))[order]
figure, axis = plt.subplots(figsize=(8, 4.8), layout="constrained")
for j, color in enumerate(["#0072B2", "#E69F00"]):
    places = np.arange(len(names)) + 0.2 - 0.4 * j
    bars = axis.barh(places, cost[order, j], 0.4, color=color, label=f"{COLUMNS[j]} columns")
    axis.bar_label(bars, fmt="%.1f", padding=3, fontsize=8)
axis.set(xscale="log", yticks=range(len(names)), yticklabels=names, xlabel="times OneClassPCM")
axis.legend()
axis.set_title(f"{ROWS:,} rows; OneClassPCM takes {1e3 * spent[1].min():.0f} ms")
plt.show()
