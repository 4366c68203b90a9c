"""What the bandwidth does
=======================

The bandwidth is the distance at which points stop being neighbors. Too small, and every point is
its own hill; too wide, and all are one; the default reads it from the data, in the data's units.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from softkern import AlphaCutClustering, OneClassPCM
from softkern.display import MembershipDisplay

X, _ = make_moons(400, noise=0.08, random_state=0)
chosen = float(np.mean(OneClassPCM().fit(X).bandwidth_))
figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
for axis, bandwidth in zip(axes.flat, (chosen / 6, chosen, 3 * chosen, 8 * chosen), strict=True):
    model = OneClassPCM(bandwidth=bandwidth).fit(X)
    MembershipDisplay.from_estimator(
        model, X, np.ones(len(X), int), ax=axis, alpha=None, size=3, colorbar=False, legend=False
    )
    clusters = AlphaCutClustering(bandwidth=bandwidth).fit(X).n_clusters_
    default = " (default)" if bandwidth == chosen else ""
    axis.set(title=f"bandwidth {bandwidth:.2g}{default}: {clusters} clusters", xlabel="", ylabel="")
plt.show()
