"""Figures: positions of boxes, means and quartiles, and lines of equal outlier weight."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from reproduce.drawing import draw_outlier_weights, draw_scores, panels
from softkern import OutlierFuzzyCMeans
from softkern.datasets import make_ring_outliers


@pytest.fixture
def ax():
    return panels()[1]


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    return {
        "one": {0.1: rng.normal(size=30), 0.01: rng.normal(size=30)},
        "other": {0.01: rng.normal(size=30) + 5},
    }


def test_boxes_are_side_by_side_at_their_values(ax, scores):
    draw_scores(ax, scores, "ν", "difference")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.01", "0.1"]
    middles = sorted(np.mean(patch.get_path().vertices[:4, 0]) for patch in ax.patches)
    assert middles == pytest.approx([-0.2, 0.2, 0.8], abs=0.03)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("ν", "difference")
    assert [0, 0] in [list(line.get_ydata()) for line in ax.lines]  # the line at zero


def test_lines_are_means_with_quartiles(ax, scores):
    draw_scores(ax, scores, kind="lines")
    lines = {line.get_label(): line for line in ax.lines}
    assert lines["other"].get_ydata() == pytest.approx([scores["other"][0.01].mean()])
    assert lines["one"].get_xdata() == pytest.approx([1, 0])
    assert len(ax.collections) == 2


def test_no_line_at_zero_without_negative_scores(ax):
    draw_scores(ax, {"one": {1: np.ones(3)}}, kind="lines")
    assert len(ax.lines) == 1


def test_contour_lines_have_equal_outlier_weight(ax):
    X, _ = make_ring_outliers(random_state=0)
    model = OutlierFuzzyCMeans(2, bandwidth=1.5).fit(X)
    draw_outlier_weights(ax, model, X)
    lines = next(c for c in ax.collections if not c.get_fill())
    for level, path in zip(lines.levels, lines.get_paths(), strict=True):
        on_line = path.vertices
        if len(on_line):
            assert np.abs(model.outlier_weights(on_line) - level).max() < 0.05
