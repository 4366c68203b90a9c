"""The experiments of 2004: fuzzy clusters and their outliers, with and without a kernel.

    python examples/fuzzy.py [folder]

Draws lines of equal outlier weight as the paper's figures 4, 5 and 10 do: two groups by Keller's
algorithm and by FKCO, then a group within a ring, which only the kernel finds. Also prints which
number of clusters the validity indices suggest. Writes fuzzy.png into the folder given (here by
default).
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from softkern import OutlierFuzzyCMeans, suggest_n_clusters
from softkern.datasets import make_ring_outliers, make_two_groups_outliers
from softkern.display import OutlierWeightDisplay


def main(folder: Path) -> None:
    sets = {
        "two groups": make_two_groups_outliers(random_state=0),
        "a group within a ring": make_ring_outliers(random_state=0),
    }
    models = {
        "Keller (linear kernel)": {"kernel": "linear"},
        "FKCO (Gaussian kernel)": {"bandwidth": 2.0},
    }
    figure, axes = plt.subplots(2, 2, figsize=(13, 11), layout="constrained")
    for row, (name, (X, y)) in zip(axes, sets.items(), strict=True):
        n_outliers = int((y == -1).sum())
        for ax, (title, options) in zip(row, models.items(), strict=True):
            model = OutlierFuzzyCMeans(2, **options).fit(X)
            heaviest = np.argsort(-model.outlier_weights_)[: n_outliers + 1]
            threshold = float(model.outlier_weights_[heaviest[-2:]].mean())
            OutlierWeightDisplay.from_estimator(model, X, threshold=threshold, ax=ax).ax_.set_title(
                f"{name}: {title}", pad=24
            )
            found = int((y[heaviest[:-1]] == -1).sum())
            print(f"{name}, {title}: {found} of {n_outliers} outliers are the heaviest points")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "fuzzy.png", dpi=120)

    table = suggest_n_clusters(
        OutlierFuzzyCMeans(kernel="linear"), sets["two groups"][0], range(2, 6)
    )
    print(table[["fuzzy_silhouette", "xie_beni", "suggested"]].round(3).to_string())
    print(f"wrote {folder / 'fuzzy.png'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
