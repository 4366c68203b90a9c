"""A table as people keep it: a row number, a yes/no column, amounts with a long tail, empty cells.

    python examples/columns.py [folder]

Two groups of customers, seen in four columns and spoiled in the usual ways. Prints what
`softkern.columns` says of every column, and how many clusters are found in the columns as they are
and as they are prepared; writes columns.png into the folder given (here by default).
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from softkern import AlphaCutClustering
from softkern.columns import Neighbours, Scaling, describe, recognise


def customers(n: int = 800) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=n)
    table = pd.DataFrame(
        {
            "number": np.arange(1, n + 1),
            "age": 35 + 25 * group + rng.normal(0, 4, n),
            "spent": np.exp(4 + 4 * group + rng.normal(0, 0.8, n)),
            "member": rng.integers(2, size=n),
        }
    )
    table.loc[rng.uniform(size=n) < 0.1, "age"] = np.nan
    return table


def main(folder: Path) -> None:
    table = customers()
    columns = recognise(table.to_numpy(), list(table.columns))
    print("\n".join(describe(columns)))
    features = [column for column in columns if column.is_feature]
    raw = table[[column.name for column in features]].to_numpy()
    scaling = Scaling.fit(raw, features)
    filled = Neighbours.fit(raw, scaling).fill(raw)

    as_they_are = table.fillna(table.median()).to_numpy()
    pictures = {
        "as they are, empty cells by the median": (as_they_are[:, 1:3], as_they_are),
        "prepared": (scaling.forward(filled)[:, :2], scaling.forward(filled)),
    }
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
    for axis, (title, (shown, X)) in zip(axes, pictures.items(), strict=True):
        model = AlphaCutClustering().fit(X)
        said = f"{title}: {model.n_clusters_} clusters, {(model.labels_ < 0).sum()} rows in none"
        print(said)
        axis.scatter(*shown.T, c=model.labels_, cmap="tab10", s=8)
        axis.set(title=said, xlabel="age", ylabel="spent")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "columns.png", dpi=120)
    print(f"wrote {folder / 'columns.png'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
