"""A table as people keep it
=========================

Row numbers, text, a yes/no column, amounts with a long tail and empty cells: `softkern.cluster`
takes the table as it is, and `notes_` says what became of every column. Computed with as they
stand, the same numbers lose the large amounts, which lie too far apart.
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
# What was done to the columns, in words:
model = softkern.cluster(table)
print("\n".join(model.notes_))
print(f"\n{model.n_clusters_} clusters: {model.reason_}")

# %%
# On the left the numbers as they stand, row number and all, with empty cells filled by the median.
numbers = table[["number", "age", "spent"]].fillna(table["age"].median()).to_numpy()
naive = AlphaCutClustering().fit(numbers)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained", sharey=True)
colors = np.array(["#0072B2", "#E69F00", "0.75"])  # the last one for rows in no cluster
known = table["age"].notna()
for axis, title, found in ((axes[0], "as they stand", naive), (axes[1], "prepared", model)):
    axis.scatter(table["age"][known], table["spent"][known], c=colors[found.labels_[known]], s=9)
    in_none = int((found.labels_ < 0).sum())
    axis.set(
        title=f"{title}: {found.n_clusters_} clusters, {in_none} rows in none",
        xlabel="age",
        yscale="log",
    )
axes[0].set_ylabel("spent")
plt.show()
