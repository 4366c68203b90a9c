"""Outliers by rank
================

`OneClassPCM` learns what is typical, and `rank_points` ranks the rows and flags a given share.
The data are 569 tumors with 30 measurements each. The model does not know which are malignant,
but most of the top tenth are.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from softkern import OneClassPCM, rank_points

tumors = load_breast_cancer(as_frame=True)
X = StandardScaler().fit_transform(tumors.data)
ranks = rank_points(OneClassPCM(bandwidth="global").fit(X), contamination=0.1)
is_malignant = (tumors.target == 0).to_numpy()
flagged = ranks["is_outlier"].to_numpy()
print(
    f"{flagged.sum()} of {len(X)} flagged, {is_malignant[flagged].sum()} of them malignant"
    f" (expected by chance: {is_malignant.mean() * flagged.sum():.0f})"
)

# %%
# Sorted scores. A score of 3 means one typical row in a thousand.
order = np.argsort(ranks["outlier_rank"].to_numpy())
figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
for kind, name, color in ((True, "malignant", "#d55e00"), (False, "benign", "#0072b2")):
    is_kind = is_malignant[order] == kind
    places = np.arange(1, len(X) + 1)[is_kind]
    axis.plot(
        places,
        ranks["outlier_score"].to_numpy()[order][is_kind],
        "o",
        label=name,
        color=color,
        markersize=4,
    )
axis.axvline(flagged.sum() + 0.5, color="0.4", linestyle=":", label="flagged are to the left")
axis.set(xscale="log", xlabel="rank", ylabel="outlier score", title="569 tumors, 30 columns")
axis.legend(frameon=False)
plt.show()
