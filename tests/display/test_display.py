import builtins
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402

from softkern import AlphaCutClustering, OneClassPCM, PossibilisticCMeans  # noqa: E402
from softkern._utils.colors import COLORS, CUT  # noqa: E402
from softkern.datasets import make_dense_regions, make_gaussian_outliers  # noqa: E402
from softkern.density_tree import AlphaTree  # noqa: E402
from softkern.display import (  # noqa: E402
    AlphaTreeDisplay,
    MembershipDisplay,
    MembershipHistogramDisplay,
)


class Bump(BaseEstimator):
    """u = exp(−‖x‖²)."""

    contamination = 0.25

    def fit(self, X, y=None):
        self.memberships_ = self.memberships(X)
        return self

    def memberships(self, X):
        self.last_input = X
        return np.exp(-np.square(np.asarray(X)).sum(axis=1))

    def predict(self, X):
        return np.where(self.memberships(X) < 0.1, -1, 1)


class TwoBumps(Bump):
    """A cluster at each end of the first feature."""

    contamination = None

    def memberships(self, X):
        X = np.asarray(X)
        return np.stack([super(TwoBumps, self).memberships(X - c) for c in (2.0, -2.0)], axis=1)

    def predict(self, X):
        return np.argmax(self.memberships(X), axis=1)


class Cut(Bump):
    """Like AlphaCutClustering: it also has typicality, a level and a tree."""

    def fit(self, X, y=None):
        super().fit(X)
        self.typicality_ = self.typicality(X)
        self.alpha_ = 0.3
        self.tree_ = AlphaTree([[0, 1], [1, 2]], [0.2, 0.6], [0.9, 0.7, 0.8])
        return self

    def typicality(self, X):
        return 0.5 * self.memberships(X)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(300, 2)) * 1.5


def contours(display, color):
    return [
        c
        for c in display.ax_.collections
        if len(c.get_edgecolor()) and to_hex(c.get_edgecolor()[0]) == color.lower()
    ]


def has_lines(display, color):
    return bool(contours(display, color))


def contour_points(display, color):
    """Return the vertices of the contours in a color."""
    lines = contours(display, color)
    return np.concatenate([path.vertices for line in lines for path in line.get_paths()])


# Contours


def test_cut_is_where_memberships_equal_alpha(X):
    display = MembershipDisplay.from_estimator(Bump().fit(X), X, alpha=0.4, grid_resolution=200)
    on_line = Bump().memberships(contour_points(display, CUT))
    assert np.abs(on_line - 0.4).max() < 0.01


def test_surface_equals_the_memberships_on_the_grid(X):
    display = MembershipDisplay.from_estimator(Bump().fit(X), X, grid_resolution=17)
    for row, y in enumerate(display.y):
        for column, x in enumerate(display.x):
            assert display.memberships[row, column, 0] == pytest.approx(np.exp(-x * x - y * y))


def test_grid_covers_all_points(X):
    display = MembershipDisplay.from_estimator(Bump().fit(X), X)
    for axis, column in ((display.x, X[:, 0]), (display.y, X[:, 1])):
        assert axis[0] < column.min()
        assert axis[-1] > column.max()


def test_default_alpha(X):
    bump, cut = Bump().fit(X), Cut().fit(X)
    share = MembershipDisplay.from_estimator(bump, X).alpha
    assert np.mean(bump.memberships_ < share) == pytest.approx(0.25, abs=0.005)
    assert MembershipDisplay.from_estimator(cut, X).alpha == 0.3
    assert MembershipDisplay.from_estimator(TwoBumps().fit(X), X).alpha is None
    assert MembershipDisplay.from_estimator(bump, X, alpha=None).alpha is None


def test_a_level_of_zero_draws_no_cut(X):
    model = Cut().fit(X)
    model.alpha_ = 0.0
    for kind in (AlphaTreeDisplay, MembershipHistogramDisplay):
        assert kind.from_estimator(model).alpha is None
    assert MembershipDisplay.from_estimator(model, X).alpha is None


def test_typicality_is_preferred_to_memberships(X):
    display = MembershipDisplay.from_estimator(Cut().fit(X), X)
    assert display.memberships.max() <= 0.5


def test_other_features_stay_at_their_medians():
    X = np.random.default_rng(0).normal([0, 1, 2, 3], size=(50, 4))
    model = Bump().fit(X)
    display = MembershipDisplay.from_estimator(model, X, y=np.zeros(50, int), features=(3, 1))
    assert np.allclose(model.last_input[:, [0, 2]], np.median(X, axis=0)[[0, 2]])
    assert display.names == ("feature 3", "feature 1")
    assert "medians" in display.note
    assert np.array_equal(display.points, X[:, [3, 1]])


def test_columns_by_name():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=["a", "b", "c"])
    model = Bump().fit(frame)
    display = MembershipDisplay.from_estimator(model, frame, y=np.zeros(50), features=("c", "a"))
    assert list(model.last_input.columns) == ["a", "b", "c"]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("c", "a")


def test_axes_have_equal_scales_if_ranges_are_similar(X):
    assert MembershipDisplay.from_estimator(Bump().fit(X), X).ax_.get_aspect() == 1
    wide = X * [1000, 1]
    assert MembershipDisplay.from_estimator(Bump().fit(wide), wide).ax_.get_aspect() == "auto"


def test_contours_have_the_color_of_their_cluster(X):
    display = MembershipDisplay.from_estimator(TwoBumps().fit(X), X)
    assert display.memberships.shape[2] == 2
    right, left = (contour_points(display, color) for color in COLORS[:2])
    assert right[:, 0].mean() > 0 > left[:, 0].mean()


def test_noise_has_a_label_and_clusters_keep_their_color(X):
    y = np.where(X[:, 0] > 0, 2, -1)
    display = MembershipDisplay.from_estimator(Bump().fit(X), X, y)
    _, names = display.ax_.get_legend_handles_labels()
    assert "in no cluster" in names
    faces = [
        to_hex(c.get_facecolor()[0]) for c in display.ax_.collections if len(c.get_offsets()) > 1
    ]
    assert COLORS[2].lower() in faces
    outliers = MembershipDisplay.from_estimator(Bump().fit(X), X)
    assert "outliers" in outliers.ax_.get_legend_handles_labels()[1]


def test_markers_differ_if_there_are_more_clusters_than_colors(X):
    y = np.arange(len(X)) % 20
    display = MembershipDisplay.from_estimator(Bump().fit(X), X, y)
    scatters = [c for c in display.ax_.collections if c.get_label().isdigit()]
    signs = {
        (
            to_hex(c.get_facecolor()[0]),
            len(c.get_paths()[0].vertices),
            str(c.get_paths()[0].vertices[0]),
        )
        for c in scatters
    }
    assert len(signs) == 20


def test_text_labels_and_no_labels(X):
    words = np.where(X[:, 0] > 0, "good", "bad")
    display = MembershipDisplay.from_estimator(Bump().fit(X), X, words)
    assert {"good", "bad"} <= set(display.ax_.get_legend_handles_labels()[1])
    MembershipDisplay(display.x, display.y, display.memberships, points=X).plot()


def test_plot_into_given_axes(X):
    display = MembershipDisplay.from_estimator(Bump().fit(X), X)
    figure, (_, right) = plt.subplots(1, 2)
    assert display.plot(right, colorbar=False, legend=False) is display
    assert display.ax_ is right
    assert display.figure_ is figure


def test_level_outside_the_range_has_a_label_and_no_line(X):
    flat = X * [1, 0]
    for alpha in (0.999999, 1e-300):
        display = MembershipDisplay.from_estimator(Bump().fit(flat), flat, alpha=alpha)
        assert f"α = {alpha:.4g}" in display.ax_.get_legend_handles_labels()[1]
        assert not has_lines(display, CUT)
    assert has_lines(MembershipDisplay.from_estimator(Bump().fit(flat), flat, alpha=0.5), CUT)


def test_constant_column_has_a_margin(X):
    flat = X * [1, 0]
    display = MembershipDisplay.from_estimator(Bump().fit(flat), flat, alpha=None)
    assert display.ax_.get_ylim() == (-0.5, 0.5)
    assert not has_lines(display, CUT)
    assert "α" not in "".join(display.ax_.get_legend_handles_labels()[1])


@pytest.mark.parametrize(
    ("features", "message"),
    [((0, 5), r"features=\(0, 5\)"), ((1, 1), "same column"), (("a", 1), "no column 'a'")],
)
def test_bad_features(X, features, message):
    with pytest.raises(ValueError, match=message):
        MembershipDisplay.from_estimator(Bump().fit(X), X, features=features)


def test_one_column(X):
    with pytest.raises(ValueError, match="but X has 1 columns"):
        MembershipDisplay.from_estimator(Bump().fit(X[:, :1]), X[:, :1])


def test_unfitted_models_and_models_without_memberships(X):
    from sklearn.exceptions import NotFittedError
    from sklearn.svm import OneClassSVM

    with pytest.raises(NotFittedError):
        MembershipDisplay.from_estimator(Bump(), X)
    with pytest.raises(TypeError, match="OneClassSVM has no memberships"):
        MembershipDisplay.from_estimator(OneClassSVM().fit(X), X)
    with pytest.raises(TypeError, match="neither typicality_ nor memberships_"):
        MembershipHistogramDisplay.from_estimator(OneClassSVM().fit(X))


# Histogram


def test_histogram_counts_all_samples_and_marks_the_valley():
    model = Bump()
    rng = np.random.default_rng(0)
    model.memberships_ = np.r_[rng.normal(0.3, 0.02, 400), rng.normal(0.7, 0.02, 600)]
    display = MembershipHistogramDisplay.from_estimator(model)
    assert sum(bar.get_height() for bar in display.ax_.patches) == 1000
    assert 0.4 < display.valley < 0.6
    assert display.ax_.lines[0].get_xdata()[0] == display.valley


def test_histogram_without_a_valley_has_no_line(X):
    model = Bump()
    model.memberships_ = np.full(50, 0.5)
    assert not MembershipHistogramDisplay.from_estimator(model).ax_.lines


def test_histogram_of_typicality_with_alpha(X):
    display = MembershipHistogramDisplay.from_estimator(Cut().fit(X), bins=7)
    assert np.array_equal(display.memberships, Cut().fit(X).typicality_)
    assert len(display.ax_.patches) == 7
    assert 0.3 in [line.get_xdata()[0] for line in display.ax_.lines]


def test_histogram_of_several_clusters(X):
    display = MembershipHistogramDisplay.from_estimator(TwoBumps().fit(X))
    assert display.ax_.get_legend_handles_labels()[1] == ["cluster 0", "cluster 1"]


# Alpha tree


def tree_lines(display):
    return [(*line.get_xdata(), *line.get_ydata()) for line in display.ax_.lines]


def test_tree_with_its_level(X):
    model = Cut().fit(X)
    _, ax = plt.subplots()
    display = AlphaTreeDisplay.from_estimator(model, ax=ax)
    assert display.ax_ is ax
    assert ax.lines[-1].get_ydata()[0] == 0.3
    *lines, _ = tree_lines(display)
    tips = {(0.0, 0.0, 0.6, 0.7), (0.0, 0.0, 0.6, 0.8)}
    assert {(0.0, 1.0, 0.6, 0.6), (0.5, 2.0, 0.2, 0.2), (2.0, 2.0, 0.2, 0.9)} <= set(lines)
    assert len(tips & set(lines)) == 1
    assert len(lines) == 7
    assert ax.get_ylim()[0] < 0.2 < 0.9 < ax.get_ylim()[1]


def test_small_branches_are_not_drawn(X):
    display = AlphaTreeDisplay.from_estimator(Cut().fit(X), smallest=0.4)
    *lines, _ = tree_lines(display)
    assert lines == [(0.0, 0.0, 0.2, 0.9)]


def test_significant_joins_are_bold():
    X = np.random.default_rng(0).normal(size=(200, 2)) + np.repeat([[0.0], [9.0]], 100, axis=0)
    tree = AlphaCutClustering().fit(X).tree_
    for threshold in (1.0, np.inf):
        display = AlphaTreeDisplay(tree).plot(threshold=threshold)
        bold = [line.get_ydata()[0] for line in display.ax_.lines if line.get_linewidth() > 1]
        # the bar, and the stems of its two branches
        assert bold == ([tree.separating_alpha()] * 3 if threshold == 1 else [])


def test_models_without_a_tree_are_rejected(X):
    with pytest.raises(TypeError, match="Bump has no alpha tree"):
        AlphaTreeDisplay.from_estimator(Bump().fit(X))


# matplotlib


def test_matplotlib_is_not_imported_before_the_first_plot():
    code = "import sys, softkern.display; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_error_without_matplotlib(monkeypatch):
    real = builtins.__import__

    def import_without_matplotlib(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", import_without_matplotlib)
    with pytest.raises(ImportError, match=r"pip install 'softkern\[plot\]'"):
        MembershipDisplay(np.arange(2), np.arange(2), np.zeros((2, 2, 1))).plot()


# Models of this package


def test_one_class_pcm():
    X, _ = make_dense_regions(random_state=0)
    model = OneClassPCM(bandwidth=0.5, contamination=0.2).fit(X)
    display = MembershipDisplay.from_estimator(model, X)
    inside = model.memberships(X) >= display.alpha
    assert np.array_equal(inside, model.predict(X) == 1)
    valley = MembershipHistogramDisplay.from_estimator(model).valley
    assert 0.3645 < valley < 0.3680


def test_several_possibilistic_clusters():
    X = np.r_[make_gaussian_outliers(random_state=0)[0], [[8.0, 8.0]] * 50]
    model = PossibilisticCMeans(2, kernel="linear").fit(X)
    display = MembershipDisplay.from_estimator(model, X)
    place = np.array([display.x[30], display.y[70]])
    assert display.memberships[70, 30] == pytest.approx(model.memberships(place[None])[0])
    for k, color in enumerate(COLORS[:2]):
        on_lines = model.memberships(contour_points(display, color))[:, k]
        assert np.abs(on_lines[:, None] - [0.25, 0.5, 0.75]).min(axis=1).max() < 0.02
    histogram = MembershipHistogramDisplay.from_estimator(model)
    assert histogram.valley is None
    assert np.array_equal(histogram.memberships, model.memberships_)


@pytest.mark.parametrize("kind", [OneClassPCM, AlphaCutClustering])
def test_pipelines_are_drawn_in_the_units_of_the_data(kind):
    X, _ = make_dense_regions(random_state=0)
    wide = X * [1000, 1]
    steps = make_pipeline(StandardScaler(), kind()).fit(wide)
    display = MembershipDisplay.from_estimator(steps, wide, grid_resolution=20)
    assert np.array_equal(display.points, wide)
    inputs = steps[:-1].transform([[display.x[3], display.y[7]]])
    method = getattr(steps[-1], "typicality", steps[-1].memberships)
    assert display.memberships[7, 3, 0] == pytest.approx(method(inputs)[0])
    assert np.array_equal(display.labels, steps.predict(wide))
    histogram = MembershipHistogramDisplay.from_estimator(steps)
    assert len(histogram.memberships) == len(X)
    if kind is AlphaCutClustering:
        assert AlphaTreeDisplay.from_estimator(steps).tree is steps[-1].tree_


def test_precomputed_kernel(X):
    gram = np.exp(-np.square(X[:, None] - X).sum(axis=2))
    model = OneClassPCM(kernel="precomputed").fit(gram)
    with pytest.raises(ValueError, match="no features"):
        MembershipDisplay.from_estimator(model, gram)
    assert MembershipHistogramDisplay.from_estimator(model).memberships is model.memberships_


def test_alpha_cut_clustering():
    X, _ = make_dense_regions(n_rectangle=60, n_ring=150, n_noise=150, random_state=0)
    model = AlphaCutClustering(bandwidth=0.5, alpha="valley").fit(X)
    for kind in (MembershipHistogramDisplay, AlphaTreeDisplay):
        assert kind.from_estimator(model).alpha == model.alpha_
    display = MembershipDisplay.from_estimator(model, X)
    assert np.array_equal(display.labels, model.labels_)
    assert display.alpha == model.alpha_
    assert display.memberships.shape[2] == 1
    assert (
        np.abs(model.one_class_.memberships(contour_points(display, CUT)) - model.alpha_).max()
        < 1e-3
    )
