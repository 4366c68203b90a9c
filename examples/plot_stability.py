"""Stability of a detector
=======================

Fit a detector on two halves of the data. Do both fits detect the same outliers? Stability needs
no labels, and shows which parameters find real outliers.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.ensemble import IsolationForest
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from softkern import OneClassPCM, stability_score

X = StandardScaler().fit_transform(load_wine().data)
detectors = {
    "OneClassPCM": OneClassPCM(bandwidth="global"),
    "OneClassPCM,\nnarrow": OneClassPCM(bandwidth=0.6),
    "OneClassSVM": OneClassSVM(nu=0.1),
    "IsolationForest": IsolationForest(n_estimators=30, random_state=0),
}
results = {name: stability_score(model, X, n_draws=20) for name, model in detectors.items()}
for name, result in results.items():
    print(f"{' '.join(name.split())}: {result!r}")
figure, axis = plt.subplots(figsize=(8, 4.2), layout="constrained")
axis.boxplot(
    [result.scores for result in results.values()],
    orientation="horizontal",
    tick_labels=list(results),
)
axis.set(xlabel="Jaccard coefficient of the detected outliers", xlim=(0, 1))
axis.set_title("178 wines: agreement of two halves on the top 10 %")
plt.show()
