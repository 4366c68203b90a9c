"""A table with mixed columns
==========================

Row numbers, text, a yes/no column, skewed amounts and missing values: `softkern.cluster` accepts
the table as it is, and `notes_` describes how each column was used. Without this preparation, the
large amounts become noise because they are too far apart.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import softkern
from softkern import AlphaCutClustering

rng = np.random.default_rng(0)
n = 800
group = rng.integers(2, size=n)
table = pd.DataFrame(
    {
        "number": np.arange(1, n + 1),
        "town": rng.choice(["Basel", "Lyon", "Turin"], n),
        "age": 35 + 25 * group + rng.normal(0, 4, n),
        "spent": np.exp(4 + 4 * group + rng.normal(0, 0.8, n)),
        "member": rng.choice(["yes", "no"], n),
    }
)
table.loc[rng.uniform(size=n) < 0.1, "age"] = np.nan
print(table.head().to_string(index=False))

# %%
# How each column was used:
model = softkern.cluster(table)
print("\n".join(model.notes_))
print(f"\n{model.n_clusters_} clusters: {model.reason_}")

# %%
# Left: the raw numbers, including the row number, with missing values replaced by the median.
numbers = table[["number", "age", "spent"]].fillna(table["age"].median()).to_numpy()
naive = AlphaCutClustering().fit(numbers)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained", sharey=True)
colors = np.array(["#0072B2", "#E69F00", "0.75"])  # the last one for rows in no cluster
has_age = table["age"].notna()
for axis, title, fitted in ((axes[0], "raw numbers", naive), (axes[1], "prepared", model)):
    axis.scatter(
        table["age"][has_age], table["spent"][has_age], c=colors[fitted.labels_[has_age]], s=9
    )
    n_noise = int((fitted.labels_ < 0).sum())
    axis.set(
        title=f"{title}: {fitted.n_clusters_} clusters, {n_noise} noise rows",
        xlabel="age",
        yscale="log",
    )
axes[0].set_ylabel("spent")
plt.show()
