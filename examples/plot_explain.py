"""Why a row is an outlier
=======================

`explain_points` names the columns that make a row strange, with the value and what is usual, and
`describe_clusters` says what each cluster is. Three orders of this table were mistyped; each is
found, with the cell that is wrong.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import softkern
from softkern.tables.explain import cluster_lines

rng = np.random.default_rng(0)
is_large = np.arange(600) < 200
table = pd.DataFrame(
    {
        "revenue": np.exp(np.where(is_large, 7.5, 5.0) + rng.normal(0, 0.3, 600)),
        "items": np.where(is_large, 30, 12) + rng.normal(0, 2, 600),
        "days": rng.normal(9, 2, 600),
        "weight": rng.normal(5, 1, 600),
    }
)
table["price"] = table["revenue"] / table["items"].clip(lower=1)
table.loc[3, "revenue"] = 999_999
table.loc[14, "days"] = 90
table.loc[250, "weight"] = -40

model = softkern.cluster(table)
for line in cluster_lines(softkern.describe_clusters(model, table)).values():
    print(line)

# %%
# Every flagged row with its reason:
found = softkern.explain_points(model, X=table)
for row, why in zip(found["row"], found["why"], strict=True):
    print(f"row {row}: {why}")

# %%
# The value of the column that explains most (orange), beside the usual range (blue).
figure, axes = plt.subplots(1, len(found), figsize=(2.6 * len(found), 3.4), layout="constrained")
for axis, (_, row) in zip(np.atleast_1d(axes), found.iterrows(), strict=True):
    column = row["column_1"]
    axis.plot(rng.uniform(-1, 1, len(table)), table[column], ".", color="0.8", markersize=3)
    axis.axhspan(row["low_1"], row["high_1"], color="#0072b2", alpha=0.3)
    axis.plot(0, row["value_1"], "o", color="#d55e00")
    axis.set(title=f"row {row['row']}\n{row['grade'] or row['between']}", ylabel=column)
    axis.set_xticks([])
    if table[column].min() > 0:
        axis.set_yscale("log")
plt.show()
