"""What changed between two tables
===============================

Compare two measurements of the same wines. `column_drift` lists the columns that differ, and
whether the difference is significant. `compare_points` shows what happened to clusters and rows.
One instrument has an offset, which its column shows. The values of two other columns were
assigned to the wrong wines, which only the clusters show.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

import softkern
from softkern.tables.compare import compare_points
from softkern.tables.compare.drift import column_drift
from softkern.tables.compare.text import describe_drift, summarize_points

rng = np.random.default_rng(0)
before = load_wine(as_frame=True).data
after = before.assign(ash=before["ash"] + 0.3)
permutation = rng.permutation(len(after))
after[["flavanoids", "proline"]] = before[["flavanoids", "proline"]].to_numpy()[permutation]

drifts = column_drift(before, after)
for drift in drifts[:3]:
    print(f"{drift.column}: {drift.drift}; {describe_drift(drift) or 'no change'}")

# %%
# Clusters of both tables, and the rows that moved:
models = [softkern.cluster(table) for table in (before, after)]
points = [softkern.rank_points(m).assign(row=np.arange(1, len(before) + 1)) for m in models]
print(summarize_points(compare_points(*points)))

# %%
# Drift of the columns, and the clusters of both tables:
figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
axes[0].barh(
    [drift.column.split("/")[0] for drift in drifts][::-1],
    [drift.distance for drift in drifts][::-1],
    color=["0.7" if drift.is_chance else "#D55E00" for drift in drifts][::-1],
)
axes[0].set(xlabel="drift, 0 to 1", title="columns")
colors = np.array(["#0072B2", "#E69F00", "#009E73"])
for axis, model, when in zip(axes[1:], models, ("before", "after"), strict=True):
    axis.scatter(before["flavanoids"], before["color_intensity"], s=14, c=colors[model.labels_])
    axis.set(title=f"{when}: {model.n_clusters_} clusters", xlabel="flavanoids (before)")
axes[1].set_ylabel("color intensity")
plt.show()
