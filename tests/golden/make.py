"""Make the golden files: one small saved model of every estimator, and its results for new rows.

    python tests/golden/make.py

Run it and commit its files when the format or the results of a model change.
"""

import warnings
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

import softkern

MODELS = [
    name
    for name in softkern.__all__
    if isinstance(kind := getattr(softkern, name), type) and issubclass(kind, BaseEstimator)
]
FOLDER = Path(__file__).parent
NEAR = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [0.5, 0.4], [0.3, 0.8]])
X = np.concatenate([NEAR, 9 - NEAR * [1.0, 0.9]])
NEW = np.array([[0.2, 0.1], [8.5, 8.5], [4.5, 4.0], [20.0, -3.0]])
# twelve rows are too few for a search or a significant split
OPTIONS = {
    "AlphaCutClustering": {"alpha": 0.3},
    "AutoClustering": {"n_clusters": 2},
    "KernelSpectralClustering": {"bandwidth": 1.5},
    "SoftKernelSpectralClustering": {"bandwidth": 1.5},
}
METHODS = ("predict", "memberships", "outlier_scores", "overlap_scores", "score_samples")


def golden_file(name: str) -> Path:
    return FOLDER / f"{name}.safetensors"


def results(model, new=NEW) -> dict[str, list]:
    """Return the results of the model for new rows, by method."""
    return {
        method: getattr(model, method)(new).tolist() for method in METHODS if hasattr(model, method)
    }


def make() -> None:
    for name in MODELS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = getattr(softkern, name)(**OPTIONS.get(name, {})).fit(X)
        softkern.save(model, golden_file(name), new=NEW.tolist(), answers=results(model))


if __name__ == "__main__":
    make()
