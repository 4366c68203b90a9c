"""The effect of the bandwidth
===========================

The bandwidth is the distance at which points stop being neighbors. If it is too small, every
point is its own density peak. If it is too large, all points merge into one. By default it is
estimated from the data.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from softkern import AlphaCutClustering, OneClassPCM
from softkern.display import MembershipDisplay

X, _ = make_moons(400, noise=0.08, random_state=0)
default = float(np.mean(OneClassPCM().fit(X).bandwidth_))
figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
for axis, bandwidth in zip(
    axes.flat, (default / 6, default, 3 * default, 8 * default), strict=True
):
    model = OneClassPCM(bandwidth=bandwidth).fit(X)
    MembershipDisplay.from_estimator(
        model, X, np.ones(len(X), int), ax=axis, alpha=None, size=3, colorbar=False, legend=False
    )
    clusters = AlphaCutClustering(bandwidth=bandwidth).fit(X).n_clusters_
    note = " (default)" if bandwidth == default else ""
    axis.set(title=f"bandwidth {bandwidth:.2g}{note}: {clusters} clusters", xlabel="", ylabel="")
plt.show()
