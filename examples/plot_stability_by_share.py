"""Stability by the share of outliers
==================================

Figure 3 of Filippone, Masulli and Rovetta (2010) with fewer draws: how well two halves of the
data agree on the outliers, for three detectors. ``python -m reproduce`` in the repository reruns
this and all other tables, figures and claims of the papers.
"""

import matplotlib.pyplot as plt
from sklearn.neighbors import KernelDensity
from sklearn.svm import OneClassSVM

from softkern import OneClassPCM, stability_score
from softkern.datasets import make_gaussian_outliers

SHARES = (0.02, 0.05, 0.1, 0.2)
X, _ = make_gaussian_outliers(random_state=0)
densities = {"1-PCM": OneClassPCM(bandwidth=1.0), "KDE": KernelDensity(bandwidth=1.0)}
scores = {
    name: {each.rejection: each.scores for each in stability_score(model, X, rejection=SHARES)}
    for name, model in densities.items()
}
# the parameter of a one-class SVM depends on the share
detectors = {nu: OneClassSVM(gamma=0.5, nu=nu) for nu in SHARES}
scores["1-SVM"] = {
    nu: stability_score(detector, X, rejection=nu).scores for nu, detector in detectors.items()
}
for name, row in scores.items():
    print(name, {nu: round(float(draws.mean()), 2) for nu, draws in row.items()})
_, axis = plt.subplots(layout="constrained")
for name, row in scores.items():
    axis.errorbar(
        list(row), [s.mean() for s in row.values()], [s.std() for s in row.values()], label=name
    )
axis.set(xlabel="share rejected", ylabel="Jaccard coefficient of two halves")
axis.legend()
plt.show()
