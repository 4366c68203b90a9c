import numpy as np
import pandas as pd
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from softkern import OneClassPCM, PossibilisticCMeans, rank_points  # noqa: E402
from softkern.display import RankDisplay  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def X():
    """Two blobs with a point between them, and two outliers."""
    points = np.random.default_rng(0).normal(size=(83, 2))
    points[40:80, 0] += 8
    points[80:] = [[4, 0], [4, 15], [20, 0]]
    return pd.DataFrame(points, columns=["width", "height"], index=[f"p{i}" for i in range(83)])


@pytest.fixture(scope="module")
def model(X):
    return PossibilisticCMeans(2, bandwidth=3.0, max_iter=500).fit(X)


def texts_of(ax):
    return [text.get_text() for text in ax.texts]


class TestRankDisplay:
    def test_flagged_points_are_marked(self, model, X):
        display = RankDisplay.from_estimator(model, X)
        table = rank_points(model)
        assert table["is_outlier"].to_numpy()[-2:].all()
        first = display.top("outlier")
        assert table["outlier_rank"].to_numpy()[first].tolist() == sorted(
            table["outlier_rank"][table["is_outlier"]]
        )
        marked = {c.get_label(): c.get_offsets() for c in display.ax_.collections}
        assert np.asarray(marked["outliers"]) == pytest.approx(X.to_numpy()[first])
        assert [80] == display.top("overlap").tolist()
        assert np.asarray(marked["overlaps"]) == pytest.approx(X.to_numpy()[[80]])

    def test_table_lists_rows_and_scores(self, model, X):
        display = RankDisplay.from_estimator(model, X)
        table = rank_points(model)
        written = texts_of(display.table_ax_)
        for name in ("p80", "p81", "p82"):
            assert name in written
        assert f"{table['outlier_score'].max():.2f}" in written
        count = table["is_outlier"].sum()
        assert f"{count} outliers of 83 points" in written
        assert "1 overlap of 83 points" in written

    def test_all_text_is_inside_the_figure(self, model, X):
        display = RankDisplay.from_estimator(model, X)
        figure = display.figure_
        figure.canvas.draw()
        for text in display.table_ax_.texts:
            box = text.get_window_extent()
            assert figure.bbox.x0 <= box.x0 <= box.x1 <= figure.bbox.x1
            assert figure.bbox.y0 <= box.y0 <= box.y1 <= figure.bbox.y1

    def test_given_axes(self, model, X):
        _, (left, right) = plt.subplots(1, 2)
        alone = RankDisplay.from_estimator(model, X, ax=left)
        assert alone.ax_ is left
        assert alone.table_ax_ is None
        assert not right.texts
        both = alone.plot(left, table_ax=right)
        assert both.table_ax_ is right
        assert right.texts

    def test_n_top(self, model, X):
        display = RankDisplay.from_estimator(model, X, n_top=5, contamination=0.2)
        labels = [c.get_label() for c in display.ax_.collections]
        assert "first 5 of 16 outliers" in labels
        assert display.top("outlier").size == 5

    def test_nothing_flagged(self):
        X = np.random.default_rng(1).uniform(size=(60, 2))
        display = RankDisplay.from_estimator(OneClassPCM().fit(X), X)
        assert "0 overlaps of 60 points" in texts_of(display.table_ax_)
        assert len(display.ax_.collections) == 1

    def test_new_points_and_features_by_name(self, model, X):
        new = X.iloc[[0, 82]]
        display = RankDisplay.from_estimator(
            model, new, is_training=False, features=("height", "width")
        )
        assert display.ax_.get_xlabel() == "height"
        assert display.points[0].tolist() == new.to_numpy()[0, ::-1].tolist()
        assert len(display.table) == 2

    def test_bad_arguments(self, model, X):
        with pytest.raises(ValueError, match="fitted to 83 samples, but X has 3"):
            RankDisplay.from_estimator(model, X[:3])
        with pytest.raises(ValueError, match="table has 83 rows, but there are 2"):
            RankDisplay(rank_points(model), np.zeros((2, 2)))
        with pytest.raises(ValueError, match="n_top=-1"):
            RankDisplay.from_estimator(model, X, n_top=-1)
        with pytest.raises(ValueError, match="no column 'depth'"):
            RankDisplay.from_estimator(model, X, features=("width", "depth"))

    def test_one_column(self):
        X = np.random.default_rng(1).normal(size=(60, 1))
        with pytest.raises(ValueError, match="1 columns"):
            RankDisplay.from_estimator(OneClassPCM().fit(X), X)
