"""Why rows are outliers, and what each cluster is, of a table of orders.

Prints the explanations and draws, for each explained row, where its value lies beside the usual
range of the column that explains it most.

    python examples/explain.py [folder]

Writes explain.png into the folder given (here by default).
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import softkern
from softkern.explain import cluster_lines


def orders(seed: int = 0) -> pd.DataFrame:
    """Two kinds of orders, and three errors of typing; (600, 5)."""
    rng = np.random.default_rng(seed)
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
    return table


def main(folder: Path) -> None:
    table = orders()
    model = softkern.cluster(table)
    for line in cluster_lines(softkern.describe_clusters(model, table)).values():
        print(line)
    found = softkern.explain_points(model, X=table)
    for row, why in zip(found["row"], found["why"], strict=True):
        print(f"row {row}: {why}")
    figure, axes = plt.subplots(
        1, len(found), figsize=(2.4 * len(found), 3.2), layout="constrained"
    )
    axes = np.atleast_1d(axes)
    for axis, (_, row) in zip(np.atleast_1d(axes), found.iterrows(), strict=True):
        column = row["column_1"]
        axis.axhspan(row["low_1"], row["high_1"], color="#0072b2", alpha=0.3)
        axis.plot(0, row["value_1"], "o", color="#d55e00")
        axis.set(title=f"row {row['row']}\n{row['grade'] or row['between']}", ylabel=column)
        axis.set_xticks([])
        axis.set_yscale("symlog")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "explain.png", dpi=150)
    print(f"wrote {folder / 'explain.png'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
