"""Scores of methods over a parameter: what is drawn where."""

import numpy as np
import pytest

pytest.importorskip("matplotlib").use("Agg")

from softkern.display import ComparisonDisplay  # noqa: E402


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    return {
        "one": {0.1: rng.normal(size=30), 0.01: rng.normal(size=30)},
        "other": {0.01: rng.normal(size=30) + 5},
    }


def test_boxes_stand_side_by_side_at_their_values(scores):
    ax = ComparisonDisplay(scores, "ν", "difference").plot().ax_
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.01", "0.1"]
    middles = sorted(np.mean(patch.get_path().vertices[:4, 0]) for patch in ax.patches)
    assert middles == pytest.approx([-0.2, 0.2, 0.8], abs=0.03)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("ν", "difference")
    assert [0, 0] in [list(line.get_ydata()) for line in ax.lines]  # the line at zero


def test_lines_are_means_with_quartiles(scores):
    ax = ComparisonDisplay(scores).plot(kind="lines").ax_
    drawn = {line.get_label(): line for line in ax.lines}
    assert drawn["other"].get_ydata() == pytest.approx([scores["other"][0.01].mean()])
    assert drawn["one"].get_xdata() == pytest.approx([1, 0])
    assert len(ax.collections) == 2


def test_no_line_at_zero_where_nothing_is_negative():
    ax = ComparisonDisplay({"one": {1: np.ones(3)}}).plot(kind="lines").ax_
    assert len(ax.lines) == 1


def test_bad_input(scores):
    with pytest.raises(ValueError, match="no scores"):
        ComparisonDisplay({})
    with pytest.raises(ValueError, match="kind='bars'"):
        ComparisonDisplay(scores).plot(kind="bars")
