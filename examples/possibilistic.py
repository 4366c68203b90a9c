"""The experiment of 2007: three dense regions in a square of noise, found without being counted.

    python examples/possibilistic.py [folder]

Draws what one fit gives: the typicality of every place with the alpha cut, the histogram of
typicalities with its valley, the clusters, and the alpha tree that holds the clusters of every
level. Writes possibilistic.png into the folder given (here by default).
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from softkern import AlphaCutClustering, OneClassPCM
from softkern.datasets import make_dense_regions
from softkern.display import AlphaTreeDisplay, MembershipDisplay, MembershipHistogramDisplay


def main(folder: Path) -> None:
    X, y = make_dense_regions(random_state=0)
    one_class = OneClassPCM(bandwidth=0.5).fit(X)
    clusters = AlphaCutClustering(bandwidth=0.5, alpha="valley").fit(X)

    figure, axes = plt.subplots(2, 2, figsize=(11, 10), layout="constrained")
    (top_left, top_right), (bottom_left, bottom_right) = axes
    MembershipDisplay.from_estimator(
        one_class, X, np.ones(len(X), int), alpha=clusters.alpha_, ax=top_left, size=2
    ).ax_.set_title("one possibilistic cluster: typicality and the cut", pad=24)
    MembershipHistogramDisplay.from_estimator(one_class, ax=top_right).ax_.set_title(
        "its histogram has two modes, noise and structure"
    )
    MembershipDisplay.from_estimator(clusters, X, ax=bottom_left).ax_.set_title(
        f"{clusters.n_clusters_} clusters above the cut", pad=24
    )
    AlphaTreeDisplay.from_estimator(clusters, ax=bottom_right).ax_.set_title(
        "the clusters at every level"
    )
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "possibilistic.png", dpi=120)

    sizes = np.bincount(clusters.labels_[clusters.labels_ >= 0])
    dense = y >= 0
    print(f"alpha {clusters.alpha_:.4f} (the paper: 0.3667), {clusters.n_clusters_} clusters")
    print(f"of {', '.join(map(str, sizes))} points, {(clusters.labels_ < 0).sum()} rejected")
    agreement = adjusted_rand_score(y[dense], clusters.labels_[dense])
    print(f"adjusted Rand index on the dense regions' own points: {agreement:.3f}")
    print(f"wrote {folder / 'possibilistic.png'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
