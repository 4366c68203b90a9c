"""Fig. 3 of the 2010 paper with few draws: how stable outliers are, by method and share rejected.

    python examples/papers.py [folder]

``softkern reproduce`` runs this and all other tables, figures and claims of the papers.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from sklearn.neighbors import KernelDensity
from sklearn.svm import OneClassSVM

from softkern import OneClassPCM, stability_score
from softkern.datasets import make_gaussian_outliers
from softkern.display import ComparisonDisplay
from softkern.selection import stability_scores

SHARES = (0.02, 0.05, 0.1, 0.2)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    X, _ = make_gaussian_outliers(random_state=0)
    densities = {"1-PCM": OneClassPCM(bandwidth=1.0), "KDE": KernelDensity(bandwidth=1.0)}
    scores = {
        name: {result.rejection: result.scores for result in stability_scores(model, X, SHARES)}
        for name, model in densities.items()
    }
    # a one-class SVM is another one for every share
    machines = {nu: OneClassSVM(gamma=0.5, nu=nu) for nu in SHARES}
    scores["1-SVM"] = {
        nu: stability_score(machine, X, rejection=nu).scores for nu, machine in machines.items()
    }
    display = ComparisonDisplay(
        scores, "share rejected", "Jaccard coefficient of two halves"
    ).plot()
    display.figure_.savefig(folder / "papers.png", dpi=120)
    for name, row in scores.items():
        print(name, {nu: round(float(drawn.mean()), 2) for nu, drawn in row.items()})
    print(f"wrote {folder / 'papers.png'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
