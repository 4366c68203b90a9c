"""Plots of spectral models show the projections of the model."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from softkern import (  # noqa: E402
    KernelSpectralClustering,
    OneClassPCM,
    SoftKernelSpectralClustering,
)
from softkern.display import EigenspaceDisplay  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def X():
    X = make_blobs(200, centers=[[0, 0], [3.5, 0], [0, 3.5]], random_state=0)[0]
    X[0] = [12.0, 12.0]
    return X


@pytest.fixture(scope="module")
def model(X):
    return SoftKernelSpectralClustering(3, bandwidth=1.5).fit(X)


def legend_labels(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_eigenspace(model):
    display = EigenspaceDisplay.from_estimator(model)
    assert np.array_equal(display.points, model.projections_)
    assert np.array_equal(display.prototypes, model.prototypes_)
    is_outlier, is_overlap = model.detect()
    assert is_overlap.any()
    assert is_outlier[0]
    assert f"overlap ({is_overlap.sum()})" in legend_labels(display)
    assert f"outliers ({is_outlier.sum()})" in legend_labels(display)
    display.figure_.canvas.draw()


def test_input_space_and_new_points(model, X):
    frame = pd.DataFrame(X, columns=["east", "north"])
    display = EigenspaceDisplay.from_estimator(model, frame, space="input")
    assert display.ax_.get_xlabel() == "east"
    assert np.array_equal(display.points, X)
    new = EigenspaceDisplay.from_estimator(model, X[:20])
    assert new.points == pytest.approx(model.projections_[:20])
    new.figure_.canvas.draw()


def test_two_and_many_clusters(X):
    two = KernelSpectralClustering(2, bandwidth=1.0).fit(X)
    display = EigenspaceDisplay.from_estimator(two)
    assert np.array_equal(display.points[:, 1], two.mean_similarity_)
    many = SoftKernelSpectralClustering(8, bandwidth=0.7).fit(X)
    display = EigenspaceDisplay.from_estimator(many, columns=(1, 3))
    assert np.array_equal(display.points, many.projections_[:, [1, 3]])
    display.figure_.canvas.draw()


def test_bad_arguments(model, X):
    with pytest.raises(TypeError, match="no eigenspace"):
        EigenspaceDisplay.from_estimator(OneClassPCM().fit(X))
    with pytest.raises(ValueError, match="two of the 2 eigenvectors"):
        EigenspaceDisplay.from_estimator(model, columns=(0, 5))
    with pytest.raises(ValueError, match="space='polar'"):
        EigenspaceDisplay.from_estimator(model, space="polar")
    with pytest.raises(ValueError, match="X has 9 samples, but the model was fitted on 200"):
        EigenspaceDisplay.from_estimator(model, X[:9], space="input")
    one = SoftKernelSpectralClustering(1).fit(X)
    with pytest.raises(ValueError, match="one cluster has no eigenspace. Use space='input'"):
        EigenspaceDisplay.from_estimator(one)
    EigenspaceDisplay.from_estimator(one, X, space="input").figure_.canvas.draw()
    with pytest.raises(ValueError, match="needs X"):
        EigenspaceDisplay.from_estimator(model, space="input")
