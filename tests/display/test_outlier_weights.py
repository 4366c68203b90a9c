import numpy as np
import pandas as pd
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402

from softkern import FuzzyCMeans, OutlierFuzzyCMeans  # noqa: E402
from softkern._utils.colors import CUT  # noqa: E402
from softkern.datasets import make_ring_outliers  # noqa: E402
from softkern.display import OutlierWeightDisplay  # noqa: E402


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def X():
    return make_ring_outliers(random_state=0)[0]


@pytest.fixture(scope="module")
def model(X):
    return OutlierFuzzyCMeans(2, bandwidth=1.5).fit(X)


def in_the_color_of_the_cut(display):
    return [
        c
        for c in display.ax_.collections
        if len(c.get_edgecolor()) and to_hex(c.get_edgecolor()[0]) == CUT.lower()
    ]


def test_surface_is_the_models_at_every_point_of_the_grid(model, X):
    display = OutlierWeightDisplay.from_estimator(model, X, grid_resolution=11)
    for row, y in enumerate(display.y):
        expected = model.outlier_weights(np.column_stack([display.x, np.full(11, y)]))
        assert display.weights[row] == pytest.approx(expected)


def test_the_line_of_the_threshold_and_the_points_beyond_it(model, X):
    threshold = np.sort(model.outlier_weights_)[-3]
    display = OutlierWeightDisplay.from_estimator(
        model, X, threshold=threshold - 1e-9, grid_resolution=300
    )
    line, rings = in_the_color_of_the_cut(display)
    on_line = np.concatenate([path.vertices for path in line.get_paths()])
    assert np.abs(model.outlier_weights(on_line) - threshold).max() < 0.02
    assert np.array_equal(rings.get_offsets(), X[[160, 161, 162]])
    assert "outliers (3)" in display.ax_.get_legend_handles_labels()[1]


def test_without_a_threshold_nothing_is_marked(model, X):
    display = OutlierWeightDisplay.from_estimator(model, X)
    assert in_the_color_of_the_cut(display) == []


def test_a_threshold_beyond_all_weights_marks_nobody(model, X):
    display = OutlierWeightDisplay.from_estimator(model, X, threshold=100.0)
    assert "outliers (0)" in display.ax_.get_legend_handles_labels()[1]


def test_lines_asked_for(model, X):
    display = OutlierWeightDisplay.from_estimator(model, X, levels=[0.4, 0.8, 1.2])
    labels = {text.get_text() for text in display.ax_.texts}
    assert labels & {"0.8"}


def test_drawn_again_into_given_axes(model, X):
    display = OutlierWeightDisplay.from_estimator(model, X)
    _, ax = plt.subplots()
    assert display.plot(ax, colorbar=False, legend=False).ax_ is ax
    plain = OutlierWeightDisplay(display.x, display.y, display.weights, threshold=1.0)
    assert plain.plot().ax_.get_xlabel() == "feature 0"


def test_columns_by_name_and_others_at_their_medians(X):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.normal(size=(60, 3)) + 5, columns=["a", "b", "c"])
    fitted = OutlierFuzzyCMeans(2).fit(frame)
    display = OutlierWeightDisplay.from_estimator(fitted, frame, features=("c", "a"))
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("c", "a")
    assert "medians" in display.note


def test_bad_input(model, X):
    with pytest.raises(TypeError, match="FuzzyCMeans gives no outlier weights"):
        OutlierWeightDisplay.from_estimator(FuzzyCMeans(2).fit(X), X)
    with pytest.raises(NotFittedError):
        OutlierWeightDisplay.from_estimator(OutlierFuzzyCMeans(2), X)
    with pytest.raises(ValueError, match="one and the same column"):
        OutlierWeightDisplay.from_estimator(model, X, features=(1, 1))
    with pytest.raises(ValueError, match="X has 2 columns"):
        OutlierWeightDisplay.from_estimator(model, X, features=(0, 2))
    gram = OutlierFuzzyCMeans(2, kernel="precomputed").fit(X @ X.T)
    with pytest.raises(ValueError, match="no features to draw over"):
        OutlierWeightDisplay.from_estimator(gram, X)
