import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.colors import to_hex, to_rgb  # noqa: E402

from softkern import (  # noqa: E402
    OneClassKMeans,
    OneClassMixture,
    OneClassPCM,
    PossibilisticCMeans,
    WeightedOneClassSVM,
    WeightedSVDD,
)
from softkern._utils.colors import COLORS, CUT  # noqa: E402
from softkern.display import BoundaryDisplay  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def X():
    return make_blobs(90, centers=[[0, 0], [7, 0], [0, 7]], random_state=0)[0]


def zero_contours(display):
    """Return the color and vertices of the contours at zero."""
    sets = [c for c in display.ax_.collections if list(getattr(c, "levels", [])) == [0]]
    return [
        (to_hex(np.ravel(c.get_edgecolor())[:3]), c.get_paths()[0].vertices)
        for c in sets
        if c.get_paths() and len(c.get_paths()[0].vertices)
    ]


@pytest.mark.parametrize("model", [OneClassMixture(3, nu=0.5), OneClassKMeans(3, nu=0.5)])
@pytest.mark.parametrize("formulation", ["svdd", "ocsvm"])
def test_every_cluster_has_a_boundary(model, formulation, X):
    model = model.set_params(formulation=formulation).fit(X)
    display = BoundaryDisplay.from_estimator(model, X, grid_resolution=60)
    drawn = {color: path for color, path in zero_contours(display) if color != to_hex("0.15")}
    assert set(drawn) == {to_hex(color) for color in COLORS[:3]}
    for k in range(3):
        # the decision function is zero on the line, which surrounds the center of the cluster
        path = drawn[to_hex(COLORS[k])]
        depth = model.decision_function(path)[:, k]
        assert np.abs(depth).max() < 0.05 * np.abs(display.decision[:, :, k]).max()
        center = model.dual_coef_[:, k] @ X[model.support_]
        assert np.all(path.min(axis=0) < center)
        assert np.all(center < path.max(axis=0))


def test_background_mixes_colors_by_memberships(X):
    model = OneClassMixture(3).fit(X)
    display = BoundaryDisplay.from_estimator(model, X, grid_resolution=40)
    background = np.asarray(display.ax_.images[0].get_array())
    assert background.shape == (40, 40, 3)
    i, j = 3, 5
    share = model.memberships([[display.x[j], display.y[i]]])[0]
    mixed = share @ np.array([to_rgb(color) for color in COLORS[:3]])
    assert background[i, j] == pytest.approx(1 - 0.45 * (1 - mixed))


@pytest.mark.parametrize("detector", [WeightedSVDD, WeightedOneClassSVM, OneClassPCM])
def test_outlier_detectors_have_one_boundary(detector, X):
    model = detector(bandwidth="global").fit(X)
    display = BoundaryDisplay.from_estimator(model, X, grid_resolution=60)
    assert display.memberships is None
    colors = [color for color, _ in zero_contours(display)]
    assert to_hex(CUT) in colors
    path = dict(zero_contours(display))[to_hex(CUT)]
    spread = np.ptp(display.decision)
    assert np.abs(model.decision_function(path)).max() < 0.05 * spread
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "boundary" in words


def test_columns_by_name_and_given_axes(X):
    table = pd.DataFrame(np.c_[X, np.ones(len(X))], columns=["a", "b", "c"])
    model = OneClassMixture(3).fit(table)
    _, ax = plt.subplots()
    display = BoundaryDisplay.from_estimator(
        model, table, features=("b", "a"), ax=ax, grid_resolution=20, legend=False
    )
    assert display.ax_ is ax
    assert ax.get_xlabel() == "b"
    assert ax.get_legend() is None
    assert "medians" in display.note
    again = BoundaryDisplay(display.x, display.y, display.decision).plot()
    assert again.points is None


def test_bad_arguments(X):
    with pytest.raises(TypeError, match="PossibilisticCMeans has no decision_function"):
        BoundaryDisplay.from_estimator(PossibilisticCMeans(3).fit(X), X)
    model = OneClassMixture(kernel="precomputed").fit(np.exp(-abs(X[:, :1] - X[:, 0])))
    with pytest.raises(ValueError, match="precomputed kernel has no features"):
        BoundaryDisplay.from_estimator(model, X)
    with pytest.raises(ValueError, match="same column"):
        BoundaryDisplay.from_estimator(OneClassMixture(3).fit(X), X, features=(1, 1))
