"""One-class machines as detectors and as clusters: weighted SVDD and the mixtures of 2009.

    python examples/one_class.py [folder]

Draws the boundary of one weighted SVDD around two groups, a soft mixture of two of them, the hard
form on the same data, and what annealing does to the spread over random starts on the iris data.
Writes one_class.png into the folder given (here by default).
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning

from softkern import CollapseWarning, OneClassKMeans, OneClassMixture, WeightedSVDD
from softkern.display import BoundaryDisplay

STARTS = 20


def groups() -> np.ndarray:
    """Two overlapping groups of different size and spread, and a few points far from both."""
    X, _ = make_blobs([160, 80], centers=[[0, 0], [5.5, 1]], cluster_std=[1.3, 0.8], random_state=3)
    return np.vstack([X, [[1.5, 6.0], [7.5, -3.5], [-5.0, 3.5]]])


def accuracy(labels: np.ndarray, y: np.ndarray) -> float:
    """Share of points that belong to the most frequent class of their cluster, as in the paper."""
    return sum(np.bincount(y[labels == k]).max() for k in np.unique(labels)) / len(y)


def accuracies(annealing: tuple[float, float, float] | str | None) -> list[float]:
    """On iris as the paper sets it (τ = 0.85, ν = 0.97), from random weights, σ at last 0.1."""
    X, y = load_iris(return_X_y=True)
    found = []
    for seed in range(STARTS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (ConvergenceWarning, CollapseWarning))
            model = OneClassMixture(
                3,
                formulation="ocsvm",
                nu=0.97,
                scale=0.1,
                annealing=annealing,
                bandwidth=1 / np.sqrt(2 * 0.85),
                init="random",
                n_init=1,
                random_state=seed,
            ).fit(X)
        found.append(accuracy(model.labels_, y))
    return found


def main(folder: Path) -> None:
    X = groups()
    figure, axes = plt.subplots(2, 2, figsize=(11, 9), layout="constrained")
    (top_left, top_right), (bottom_left, bottom_right) = axes
    detector = WeightedSVDD(nu=0.05, bandwidth="global").fit(X)
    BoundaryDisplay.from_estimator(detector, X, ax=top_left)
    top_left.set_title("one sphere around everything (WeightedSVDD, ν = 0.05)", pad=24)
    mixture = OneClassMixture(2, nu=0.6).fit(X)
    BoundaryDisplay.from_estimator(mixture, X, ax=top_right)
    top_right.set_title("two soft clusters, ν = 0.6", pad=24)
    spheres = OneClassKMeans(2, nu=0.6).fit(X)
    BoundaryDisplay.from_estimator(spheres, X, ax=bottom_left)
    bottom_left.set_title("the hard form, ν = 0.6", pad=24)

    spread = {
        "σ = 0.1": accuracies(None),
        "annealed, 5 → 0.1": accuracies((5.0, 0.1, 0.95)),
        '"auto" → 0.1': accuracies("auto"),
    }
    for place, values in enumerate(spread.values()):
        jitter = np.linspace(-0.15, 0.15, STARTS)
        bottom_right.plot(place + jitter, np.sort(values), "o", color="#0072B2", alpha=0.7)
    bottom_right.set_xticks(range(len(spread)), list(spread))
    bottom_right.set(
        ylabel="accuracy", ylim=(0.4, 1.02), title=f"iris, {STARTS} starts from random weights"
    )
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "one_class.png", dpi=120)

    sizes = ", ".join(f"{weight:.2f}" for weight in mixture.cluster_weights_)
    print(f"mixture: cluster weights {sizes}; scale {mixture.scale_:.3f}")
    for name, values in spread.items():
        print(
            f"iris, {name}: accuracy {np.mean(values):.3f} ({min(values):.3f} to {max(values):.3f})"
        )
    print(f"wrote {folder / 'one_class.png'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
