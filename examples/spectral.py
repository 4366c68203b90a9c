"""The experiment of 2015: three overlapping Gaussians, their overlap points and their outliers.

    python examples/spectral.py [folder]

Draws what one soft kernel spectral clustering gives: the average membership strength over numbers
of clusters and bandwidths, from which both are chosen; the points with those that lie between
clusters and those that lie far from all; and the same in the eigenspace, where clusters are
directions. Writes spectral.png into the folder given (here by default).
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from softkern import SoftKernelSpectralClustering, average_membership_strength
from softkern.display import AMSDisplay, EigenspaceDisplay


def main(folder: Path) -> None:
    X, _ = make_blobs(1500, centers=[[0, 0], [4, 0], [2, 3.5]], cluster_std=1.0, random_state=0)
    model = SoftKernelSpectralClustering("auto").fit(X)

    figure, axes = plt.subplots(1, 3, figsize=(17, 5), layout="constrained")
    AMSDisplay.from_results(model.search_, ax=axes[0]).ax_.set_title(
        f"{model.n_clusters_} clusters have the strongest memberships"
    )
    EigenspaceDisplay.from_estimator(model, X, space="input", ax=axes[1]).ax_.set_title(
        "overlap points and outliers"
    )
    EigenspaceDisplay.from_estimator(model, ax=axes[2]).ax_.set_title(
        "the eigenspace: clusters are directions"
    )
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "spectral.png", dpi=120)

    is_outlier, is_overlap = model.detect()
    print(f"{model.n_clusters_} clusters, strength {average_membership_strength(model):.3f}")
    print(f"{is_overlap.sum()} overlap points, {is_outlier.sum()} outliers")
    influence = model.overlap_scores(X[is_overlap], variant="2015")
    first = X[is_overlap][np.argmin(influence)]
    print(f"most influential overlap point (eq. 4): ({first[0]:.2f}, {first[1]:.2f})")
    last = X[np.argmax(model.outlier_scores_)]
    print(f"least influential point: ({last[0]:.2f}, {last[1]:.2f})")
    print(f"wrote {folder / 'spectral.png'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
