"""Why a row is an outlier
=======================

`explain_points` names the columns that make a row an outlier, with its value and the usual range.
`describe_clusters` summarizes each cluster. Three orders in this table contain a typing error,
and each one is found together with the wrong cell.
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
reasons = softkern.explain_points(model, X=table)
for row, why in zip(reasons["row"], reasons["why"], strict=True):
    print(f"row {row}: {why}")

# %%
# The value of the most important column (orange) and its usual range (blue):
figure, axes = plt.subplots(
    1, len(reasons), figsize=(2.6 * len(reasons), 3.4), layout="constrained"
)
for axis, (_, row) in zip(np.atleast_1d(axes), reasons.iterrows(), strict=True):
    column = row["column_1"]
    axis.plot(rng.uniform(-1, 1, len(table)), table[column], ".", color="0.8", markersize=3)
    axis.axhspan(row["low_1"], row["high_1"], color="#0072b2", alpha=0.3)
    axis.plot(0, row["value_1"], "o", color="#d55e00")
    axis.set(title=f"row {row['row']}\n{row['grade'] or row['between']}", ylabel=column)
    axis.set_xticks([])
    if table[column].min() > 0:
        axis.set_yscale("log")
plt.show()
