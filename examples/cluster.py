"""With nothing given: three groups in twelve columns, a few rows in between, a few far out.

    python examples/cluster.py [folder]

Prints which model `softkern.cluster` took and why; draws the rows, with those that it flags as
outliers and as lying between clusters, and how the models compare. Writes cluster.png into the
folder given (here by default).
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

import softkern


def generate(seed: int = 0) -> np.ndarray:
    """Three groups, 9 rows half way between two of them, 6 far from all; (615, 12)."""
    generator = np.random.default_rng(seed)
    centres = np.zeros((3, 12))
    centres[1, :3], centres[2, 3:6] = 4.5, 4.5
    groups = [generator.normal(centre, 1, (200, 12)) for centre in centres]
    between = generator.normal(centres[:2].mean(axis=0), 0.5, (9, 12))
    directions = generator.normal(size=(6, 12))
    far = 14 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return np.concatenate([*groups, between, far])


def main(folder: Path) -> None:
    X = generate()
    model = softkern.cluster(X)
    ranks = softkern.rank_points(model)
    comparison = model.comparison_
    print(f"{model.n_clusters_} clusters: {model.reason_}\n\n{comparison.to_string(index=False)}\n")
    print(f"outliers: rows {np.flatnonzero(ranks['is_outlier']).tolist()}")
    print(f"between clusters: rows {np.flatnonzero(ranks['is_overlap']).tolist()}")

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    places = PCA(2, random_state=0).fit_transform(X)
    left.scatter(*places.T, c=model.labels_, cmap="tab10", vmax=9, s=10)
    for name, label, colour in (
        ("is_outlier", "outliers", "#d55e00"),
        ("is_overlap", "between clusters", "black"),
    ):
        marked = places[ranks[name].to_numpy()]
        left.scatter(*marked.T, s=60, facecolors="none", edgecolors=colour, label=label)
    left.legend(frameon=False)
    left.set(
        title=f"{model.n_clusters_} clusters in 12 columns",
        xlabel="principal component 1",
        ylabel="principal component 2",
    )
    for place, row in enumerate(comparison.itertuples()):
        right.barh(place, row.separation, height=0.5, color="C0" if row.taken else "0.8")
        said = f"{row.model}{', taken' if row.taken else ''}"
        right.text(
            0, place - 0.3, f"{said}: {row.clusters} clusters, stability {row.stability:.2f}"
        )
    right.axvline(1, color="0.4", linestyle=":")
    right.set(
        title="the models compared",
        xlabel="separation: the shallowest valley between two clusters (chance: up to 1)",
        yticks=[],
        ylim=(len(comparison) - 0.5, -0.6),
    )
    right.spines[["top", "right", "left"]].set_visible(False)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "cluster.png", dpi=120)
    print(f"wrote {folder / 'cluster.png'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
