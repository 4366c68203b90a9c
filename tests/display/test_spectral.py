"""Plots of spectral models: they show the model's own projections and search."""

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
from softkern.display import AMSDisplay, EigenspaceDisplay  # noqa: E402
from softkern.selection import select_spectral  # noqa: E402


@pytest.fixture(autouse=True)
def close():
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


def labels_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_eigenspace(model):
    display = EigenspaceDisplay.from_estimator(model)
    assert np.array_equal(display.points, model.projections_)
    assert np.array_equal(display.prototypes, model.prototypes_)
    is_outlier, is_overlap = model.detect()
    assert is_overlap.any()
    assert is_outlier[0]
    assert f"overlap ({is_overlap.sum()})" in labels_of(display)
    assert f"outliers ({is_outlier.sum()})" in labels_of(display)
    display.figure_.canvas.draw()


def test_input_space_and_new_points(model, X):
    frame = pd.DataFrame(X, columns=["east", "north"])
    display = EigenspaceDisplay.from_estimator(model, frame, space="input")
    assert display.ax_.get_xlabel() == "east"
    assert np.array_equal(display.points, X)
    new = EigenspaceDisplay.from_estimator(model, X[:20])
    assert new.points == pytest.approx(model.projections_[:20])
    new.figure_.canvas.draw()


def test_two_clusters_and_many(X):
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


def test_strength_surface(X):
    result = select_spectral(X, range(2, 6), [0.5, 1.0, 2.0, 4.0])
    display = AMSDisplay.from_results(result)
    assert np.array_equal(display.strength, result.strength, equal_nan=True)
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["2", "3", "4", "5"]
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["0.5", "1", "2", "4"]
    display.figure_.canvas.draw()
    model = SoftKernelSpectralClustering(3).fit(X)
    axes = plt.subplots()[1]
    assert AMSDisplay.from_results(model.search_, ax=axes).ax_ is axes
    axes.figure.canvas.draw()


def test_search_without_bandwidths(X):
    result = select_spectral(np.abs(X), range(2, 5), kernel="cosine")
    display = AMSDisplay.from_results(result)
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["–"]
    assert display.strength.shape == (3, 1)
    star = display.ax_.lines[-1]
    assert star.get_marker() == "*"
    assert display.n_clusters_range[star.get_ydata()[0]] == result.best[0]
