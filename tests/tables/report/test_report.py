"""The page as a file: content, escaping and writing."""

import base64
import html
import json
import os
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

pytest.importorskip("bokeh")

import softkern
from softkern import AlphaCutClustering, OneClassPCM, PossibilisticCMeans, rank_points
from softkern.density_tree.layout import flatten
from softkern.density_tree.tree import AlphaTree
from softkern.fitted import with_tree
from softkern.tables.explain.clusters import describe
from softkern.tables.report import axes as report_axes
from softkern.tables.report import write_report
from softkern.tables.report.axes import MIN_FEATURES
from softkern.tables.report.columns import categorical_columns
from softkern.tables.report.data import TOP_OUTLIERS, TOP_OVERLAPS, select_rows
from softkern.tables.report.packing import isolate_right_to_left, pack
from softkern.tables.report.tree import alpha_levels, cuts_by_number, steps_below

MARKUP = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\u2028'\""


@pytest.fixture(scope="module")
def table():
    X = make_blobs(300, 3, centers=[(0, 0, 0), (6, 0, 3)], random_state=0)[0]
    return pd.DataFrame(X, columns=["a", "b", "c"])


@pytest.fixture(scope="module")
def model(table):
    return AlphaCutClustering().fit(table)


class Elements(HTMLParser):
    """Tags with their attributes, and the text of each script."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.scripts = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, text):
        if self.tags and self.tags[-1][0] == "script":
            self.scripts.append(text)

    def data(self):
        texts = [text for text in self.scripts if text.startswith("{")]
        return json.loads(texts[0])


def write_page(path, model, X, **options):
    options = {"ranks": rank_points(model), "title": "a page", **options}
    write_report(path, model, X, **options)
    return Elements(path.read_text(encoding="utf-8"))


# The tree


@given(st.floats(0, 1))
def test_steps_encode_exactly_which_levels_are_below(value):
    levels = np.array([0.1, 0.25, 0.5, np.nextafter(0.5, 1), 0.75])
    step = int(steps_below(levels, np.array([value]))[0])
    assert [step > k for k in range(5)] == (value > levels).tolist()


def test_levels_range_from_one_cluster_to_none_and_include_that_of_the_model(model):
    own = model.alpha_ or 0.3
    levels = alpha_levels(model.tree_, own)
    assert own in levels
    assert (np.diff(levels) > 0).all()
    assert 0 < levels[0] < levels[-1] < 1
    assert (model.labels_at(levels[0]) == 0).all()
    assert (model.labels_at(levels[-1]) == -1).mean() > 0.99
    # short enough to be copied from the page
    assert all(len(repr(float(level))) < 10 for level in levels if level != own)


# Shown rows and axes


def test_few_rows_are_all_shown(table, model):
    rows, is_sampled = select_rows(table.to_numpy(), rank_points(model), 0)
    assert rows.tolist() == list(range(len(table)))
    assert is_sampled.all()


def test_many_rows_are_sampled_independently_of_order_and_top_ranks_are_shown():
    n = 20_000
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n, 2))
    order = generator.permutation(n)
    ranks = pd.DataFrame(
        {
            "outlier_rank": generator.permutation(n) + 1,
            "overlap_rank": generator.permutation(n) + 1,
            "overlap_score": 0.5,
        }
    )
    rows, is_sampled = select_rows(X, ranks, 0)
    again, _ = select_rows(X[order], ranks.iloc[order], 0)
    assert is_sampled.sum() == 4000  # the others are shown because of their ranks
    assert len(rows) < 6000
    assert sorted(order[again]) == sorted(rows)
    for column, top in (("outlier_rank", TOP_OUTLIERS), ("overlap_rank", TOP_OVERLAPS)):
        assert set(np.flatnonzero(ranks[column] <= top)) <= set(rows)


@pytest.mark.parametrize("score", [0.0, 0.5])
def test_rows_with_a_very_common_rank_are_only_sampled(score):
    n = 20_000
    X = np.random.default_rng(0).normal(size=(n, 2))
    rank = np.where(np.arange(n) < 30, np.arange(n) + 1, 31)
    ranks = pd.DataFrame({"outlier_rank": rank, "overlap_rank": 1, "overlap_score": score})
    rows, _ = select_rows(X, ranks, 0)
    assert set(range(30)) <= set(rows)
    assert len(rows) <= 4030


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("kind", [AlphaCutClustering, OneClassPCM])
def test_very_few_rows_have_a_page(kind, n, tmp_path):
    X = pd.DataFrame({"a": np.arange(n) // 2, "b": np.arange(n) % 2 == 0, "c": 1})
    model = kind(bandwidth=1.0).fit(X.to_numpy(float))
    data = write_page(tmp_path / "page.html", model, X, X_model=X.to_numpy(float)).data()
    assert data["n"] == n


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_huge_and_tiny_units_are_restored(unit, table, tmp_path):
    model = OneClassPCM().fit(table)
    data = write_page(tmp_path / "page.html", model, table * unit).data()
    for axis, name in zip(data["axes"], table, strict=False):
        values = np.frombuffer(base64.b64decode(axis["values"]["bytes"]), "<f4").astype(float)
        assert values * axis["unit"] + axis["base"] == pytest.approx(table[name] * unit, rel=1e-5)


def test_ranks_and_title_have_defaults(table, model, tmp_path):
    write_report(tmp_path / "page.html", model, table)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"<title>{type(model).__name__}</title>" in text
    assert Elements(text).data() == write_page(tmp_path / "page.html", model, table).data()


def test_the_last_step_of_a_pipeline_is_shown(table, tmp_path):
    steps = make_pipeline(StandardScaler(), AlphaCutClustering()).fit(table)
    data = write_page(tmp_path / "page.html", steps, table).data()
    assert data["tree"] is not None


def test_a_point_of_the_tree_takes_less_than_fourteen_bytes():
    def size(n):
        heights = np.random.default_rng(0).uniform(0.3, 0.5, n)
        tree = AlphaTree(np.c_[np.arange(n - 1), np.arange(1, n)], heights[:-1] - 0.01, heights)
        order, gaps = flatten(n, tree.edges, tree.saddles)
        levels = alpha_levels(tree)
        arrays = [
            pack(order, np.int32),
            pack(steps_below(levels, gaps), np.uint16),
            pack(np.unique(heights, return_inverse=True)[1], np.int32),
        ]
        return len(json.dumps(arrays))

    assert (size(4000) - size(2000)) / 2000 < 14


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for name in softkern.__all__
        if isinstance(kind := getattr(softkern, name), type) and issubclass(kind, BaseEstimator)
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_model_gets_a_page(kind, table, tmp_path):
    table = table[:120]
    model = kind()
    if "bandwidth" in model.get_params():
        model.set_params(bandwidth=3.0)  # a number, so that no model searches for one
    model.fit(table)
    data = write_page(tmp_path / "page.html", model, table).data()
    assert (data["tree"] is not None) == (with_tree(model) is not None)
    assert data["n"] == len(data["ids"]) == len(table)
    assert [axis["name"] for axis in data["axes"][:3]] == ["a", "b", "c"]


def test_initial_axes(table, model, tmp_path):
    page = tmp_path / "page.html"
    first = write_page(page, model, table).data()
    names = [first["axes"][k]["name"] for k in first["start"]]
    assert names[0].startswith("component 1, ")
    assert names[1].startswith("component 2, ")
    chosen = write_page(page, model, table, features=("c", "a")).data()
    assert [chosen["axes"][k]["name"] for k in chosen["start"]] == ["c", "a"]
    plane = AlphaCutClustering().fit(table[["a", "b"]])
    assert write_page(page, plane, table[["a", "b"]]).data()["start"] == [0, 1]
    line = OneClassPCM().fit(table[["a"]])
    assert write_page(page, line, table[["a"]]).data()["start"] == [0, 1]  # 1: the first score


def test_the_eigenspace_comes_first_if_a_model_has_one(table, tmp_path):
    model = PossibilisticCMeans(2).fit(table)
    model.projections_ = np.random.default_rng(0).normal(size=(len(table), 2))
    data = write_page(tmp_path / "page.html", model, table).data()
    assert [data["axes"][k]["name"] for k in data["start"]] == ["eigenspace 1", "eigenspace 2"]


def unpack(axis):
    values = np.frombuffer(base64.b64decode(axis["values"]["bytes"]), dtype="<f4")
    return values.astype(np.float64)


@pytest.mark.parametrize("groups", [2, 3])
def test_clusters_of_many_columns_are_visible_in_the_initial_plot(groups, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100 * groups, 12))
    X[:, :10] += 5 * rng.normal(size=(len(X), 3)) @ rng.normal(size=(3, 10))  # the components
    X[:, 11] += 9 * np.repeat(np.arange(groups), 100)
    table = pd.DataFrame(X, columns=[f"f{k}" for k in range(12)])
    model = softkern.cluster(table)
    assert model.n_clusters_ == groups
    data = write_page(tmp_path / "p.html", model, table).data()
    names = [data["axes"][k]["name"] for k in data["start"]]
    other = "component" if groups == 2 else "across clusters 2"
    assert names[0] == "across clusters 1: f11"
    assert names[1].startswith(other)

    def is_visible(axis):
        parts = [unpack(axis)[model.labels_ == k] for k in range(groups)]
        middles = np.sort([part.mean() for part in parts])
        return np.diff(middles).min() > 4 * max(part.std() for part in parts)

    assert is_visible(data["axes"][data["start"][0]])
    components = [axis for axis in data["axes"] if axis["name"].startswith("component")]
    assert not any(map(is_visible, components))


def test_the_second_axis_is_a_component_in_another_direction(tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 6))
    X[100:, :3] += 6  # the first component is the direction between the clusters
    table = pd.DataFrame(X, columns=list("abcdef"))
    data = write_page(tmp_path / "p.html", softkern.cluster(table), table).data()
    across, other = (data["axes"][k] for k in data["start"])
    assert across["name"].startswith("across clusters 1")
    assert other["name"].startswith("component 2")
    assert abs(np.corrcoef(unpack(across), unpack(other))[0, 1]) < 0.3


def test_a_few_outliers_do_not_change_the_directions(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)) * [9, 1, 1, 1, 1]
    X[:, 1] += X[:, 0]  # two correlated columns form the first component
    far = X.copy()
    far[:3, 4] = -999
    found = []
    for values in (X, far):
        table = pd.DataFrame(values, columns=list("abcde"))
        model = softkern.cluster(table)
        data = write_page(tmp_path / "p.html", model, table).data()
        axis = data["axes"][data["start"][0]]
        assert re.fullmatch(r"component 1, \d+ %: [ab], [ab]", axis["name"])
        found.append(unpack(axis)[3:])
    assert abs(np.corrcoef(*found)[0, 1]) > 0.99


def test_very_many_columns_are_reduced_to_those_that_separate_clusters(tmp_path, monkeypatch):
    monkeypatch.setattr(report_axes, "MAX_VALUES", 0)
    generator = np.random.default_rng(0)
    X = pd.DataFrame(generator.normal(size=(60, 300)), columns=[f"c{k}" for k in range(300)])
    X.loc[:29, "c200"] += 50
    model = PossibilisticCMeans(2, bandwidth=40.0).fit(X)
    model.labels_ = np.repeat([0, 1], 30)
    ranks = rank_points(model).assign(label=model.labels_)
    data = write_page(tmp_path / "p.html", model, X, ranks=ranks, features=("c7", "c9")).data()
    names = [axis["name"] for axis in data["axes"][:MIN_FEATURES]]
    assert data["features"] == MIN_FEATURES
    assert {"c200", "c7", "c9"} <= set(names)


def test_very_many_columns_of_one_cluster_are_reduced_to_varying_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(report_axes, "MAX_VALUES", 0)
    X = np.random.default_rng(0).normal(size=(60, 40))
    X[:, :5] = 1
    wide = pd.DataFrame(X, columns=[f"f{k}" for k in range(40)])
    model = softkern.cluster(wide)
    assert model.n_clusters_ == 1
    data = write_page(tmp_path / "p.html", model, wide, features=("f39", "f2")).data()
    assert [data["axes"][k]["name"] for k in data["start"]] == ["f39", "f2"]
    names = {axis["name"] for axis in data["axes"][: data["features"]]}
    assert not names & {"f0", "f1", "f3", "f4"}


def test_percent_signs_of_column_names_are_kept(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1)) + 0.01 * rng.normal(size=(60, 3))
    table = pd.DataFrame(X, columns=["tax 5%", "b", "c"])
    data = write_page(tmp_path / "p.html", OneClassPCM(bandwidth=2.0).fit(table), table).data()
    first = next(a["name"] for a in data["axes"] if a["name"].startswith("component 1"))
    assert "tax 5%" in first


def test_names_of_components_contain_their_share_and_columns(tmp_path):
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=(2, 400))
    X = np.column_stack([one, one, -one, two, two]) + 0.01 * rng.normal(size=(400, 5))
    table = pd.DataFrame(X, columns=["income", "spend", "age", "u", "v"])
    data = write_page(tmp_path / "p.html", OneClassPCM(bandwidth=2.0).fit(table), table).data()
    names = {axis["name"] for axis in data["axes"]}
    shares = [int(found[1]) for name in names if (found := re.search(r"(\d+) %", name))]
    first = next(name for name in names if name.startswith("component 1"))
    second = next(name for name in names if name.startswith("component 2"))
    assert sum(shares) == pytest.approx(100, abs=2)
    parts = set(first.split(": ")[1].split(", "))
    assert parts in ({"income", "spend", "−age"}, {"−income", "−spend", "age"})
    assert set(second.split(": ")[1].split(", ")) == {"u", "v"}
    # the component is correlated with the column that it names first
    axis = next(axis for axis in data["axes"] if axis["name"] == first)
    leading = first.split(": ")[1].split(", ")[0]
    assert np.corrcoef(unpack(axis), table[leading])[0, 1] > 0.9


def neighbor_recall(places, X, k=5):
    """Return the share of the k nearest rows in X that are also nearest at the places."""

    def nearest(values):
        distances = np.linalg.norm(values[:, None] - values[None], axis=2)
        return np.argsort(distances, axis=1)[:, 1 : k + 1]

    pairs = zip(nearest(places), nearest(X), strict=True)
    return np.mean([len(set(a) & set(b)) / k for a, b in pairs])


def test_a_map_of_many_columns_keeps_neighbors_that_components_lose(tmp_path):
    rng = np.random.default_rng(0)
    middles = 6 * np.eye(8)
    X = np.repeat(middles, 25, axis=0) + rng.normal(size=(200, 8))
    table = pd.DataFrame(X, columns=list("abcdefgh"))
    data = write_page(tmp_path / "p.html", OneClassPCM(bandwidth=3.0).fit(table), table).data()
    views = {view["name"]: view for view in data["views"]}

    def places(name):
        return np.column_stack([unpack(data["axes"][k]) for k in views[name]["axes"]])

    recall = {
        name: neighbor_recall(places(name), X) for name in ("neighbor map", "principal components")
    }
    assert recall["neighbor map"] > 2 * recall["principal components"]
    assert "t-SNE" in views["neighbor map"]["help"]


def test_rows_that_are_not_mapped_lie_at_their_nearest_row(tmp_path, monkeypatch):
    monkeypatch.setattr(report_axes, "MAX_MAPPED", 60)
    X = np.random.default_rng(0).normal(size=(90, 5))
    table = pd.DataFrame(X, columns=list("abcde"))
    data = write_page(tmp_path / "p.html", OneClassPCM(bandwidth=2.0).fit(table), table).data()
    view = next(view for view in data["views"] if view["name"] == "neighbor map")
    places = np.column_stack([unpack(data["axes"][k]) for k in view["axes"]])
    assert len(np.unique(places, axis=0)) == 60
    assert "computed from 60 rows" in view["help"]


@pytest.mark.parametrize("columns", [3, 5])
def test_few_or_identical_rows_have_no_map(columns, tmp_path):
    X = np.random.default_rng(0).integers(0, 2, (300, columns)).astype(float)
    X[:, 2:] = 0
    table = pd.DataFrame(X, columns=list("abcde")[:columns])
    data = write_page(tmp_path / "p.html", OneClassPCM(bandwidth=2.0).fit(X), table).data()
    assert "neighbor map" not in [view["name"] for view in data["views"]]


# The table of the user


def test_listed_rows_have_all_columns(tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(150, 2)), columns=["a", "b"])
    table = X.assign(
        word=[f"w{k % 20}" for k in range(150)], much=np.inf, none=np.nan, who=range(150)
    )
    table.loc[3, "word"] = None
    data = write_page(tmp_path / "p.html", OneClassPCM().fit(X), X, table=table).data()
    assert data["cells"]["columns"] == list(table.columns)
    for place in data["tables"]["outliers"]:
        a, b, word, much, none, who = data["cells"]["rows"][str(place)]
        assert [a, b] == X.iloc[place].tolist()
        assert word == (None if place == 3 else f"w{place % 20}")
        assert (much, none, who) == ("inf", None, place)
    names = [axis["name"] for axis in data["axes"]]
    assert "who" in names
    assert names.index("who") >= data["features"]  # it is not a feature


def test_columns_of_every_kind_are_shown(tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
    parity = pd.Series(np.arange(60) % 2)
    table = X.assign(
        whole=parity.astype("Int64").mask(parity.index < 5),
        kind=pd.Categorical(np.where(parity, "odd", "even")),
        truth=parity.astype(bool),
        maybe=parity.astype(object).where(parity == 1, None),
        lists=[[k % 2] for k in range(60)],
        mixed=[1 if k % 3 else "one" for k in range(60)],
        date=pd.date_range("2024-01-01", periods=60, tz="Europe/Zurich"),
        span=pd.to_timedelta(np.arange(60), "D"),
        complex=[complex(k, 1) for k in range(60)],
    )
    table = pd.concat([table, pd.DataFrame({"twice": np.arange(60.0)})], axis=1)
    table.columns = [*table.columns[:-2], "twice", "twice"]
    table["none"] = None
    data = write_page(tmp_path / "p.html", OneClassPCM().fit(X), X, table=table).data()
    found = {column["name"]: column for column in data["known"]}
    assert {"whole", "kind", "truth", "lists", "mixed"} <= set(found)
    assert found["whole"]["missing"] == 5
    assert sum(found["lists"]["counts"]) == 60
    assert all(len(cells) == len(table.columns) for cells in data["cells"]["rows"].values())


def test_known_labels_are_compared_with_clusters():
    labels = np.repeat([0, 1, -1], [50, 40, 10])
    table = pd.DataFrame(
        {
            "same": np.repeat(["x", "y", "z"], [50, 40, 10]),
            "code": np.repeat([7, 8], 50),
            "names": [f"n{k}" for k in range(100)],
            "one": "only",
            "many": np.arange(100.0) // 2,
            "gaps": np.where(np.arange(100) < 30, None, "full"),
            "long": [f"v{k % 44:02d}" for k in range(100)],
        }
    )
    found = {
        column["name"]: column for column in categorical_columns(table, np.arange(100), labels)
    }
    assert set(found) == {"same", "code", "long"}  # not names, constants and numbers
    assert found["same"]["ari"] == pytest.approx(1.0)
    assert found["same"]["clusters"] == [0, 1, -1]
    assert found["same"]["cross"] == [[50, 0, 0], [0, 40, 0], [0, 0, 10]]
    assert found["code"]["cross"] == [[50, 0], [0, 40], [0, 10]]
    assert found["long"]["rarer"] == 8
    assert np.sum(found["long"]["cross"]) == sum(found["long"]["counts"]) == 100
    table.loc[:29, "same"] = None
    gaps = next(iter(categorical_columns(table, np.arange(100), labels)))
    assert gaps["missing"] == 30
    assert gaps["ari"] == pytest.approx(1.0)
    codes = np.frombuffer(base64.b64decode(gaps["codes"]["bytes"]), np.uint8)
    assert (codes[:30] == 255).all()


def equal_groups(count, rows=40, seed=0):
    """Return rows in equal groups on a square grid, and their groups."""
    side = int(np.ceil(np.sqrt(count)))
    centers = 9.0 * np.array([divmod(k, side) for k in range(count)])
    return make_blobs([rows] * count, 2, centers=centers, cluster_std=0.8, random_state=seed)


@pytest.mark.parametrize("bandwidth", [0.9, 1.2])
def test_thirty_equal_groups_can_be_cut_into_every_number_of_clusters(bandwidth):
    X, groups = equal_groups(30)
    model = AlphaCutClustering(bandwidth=bandwidth).fit(X)
    tree, rows = model.tree_, np.bincount(model.node_)
    parts, numbers = cuts_by_number(tree, rows, least=12)
    assert [len(cut["sizes"]) for cut in numbers[:30]] == list(range(1, 31))
    for count in (1, 2, 7, 29, 30):
        cut = numbers[count - 1]
        labels = np.array(cut["names"])[parts][model.node_]
        other = AlphaCutClustering(n_clusters=count, bandwidth=bandwidth).fit(X)
        assert np.array_equal(labels, other.labels_)
        assert cut["sizes"] == np.bincount(other.labels_).tolist()
        # no group is divided
        assert len(set(zip(labels.tolist(), groups.tolist(), strict=True))) == 30


def test_cuts_of_a_tree_of_three_points():
    edges, saddles = np.array([[0, 1], [1, 2]]), np.array([0.5, 0.2])
    tree = AlphaTree(edges, saddles, np.array([0.9, 0.6, 0.8]))
    parts, numbers = cuts_by_number(tree, np.array([1, 1, 1]), least=1)
    assert parts.tolist() == [0, 2, 1]
    assert numbers[1] == {"sizes": [2, 1], "names": [0, 1, 0]}


def test_pieces_of_few_rows_are_not_clusters(model):
    tree, rows = model.tree_, np.bincount(model.node_, minlength=len(model.tree_.heights))
    every, _ = cuts_by_number(tree, rows, 1)
    assert every.max() + 1 == tree.count_tips()
    parts, numbers = cuts_by_number(tree, rows, 9)
    assert [len(cut["sizes"]) for cut in numbers] == list(range(1, len(numbers) + 1))
    assert len(numbers) < tree.count_tips()
    for cut in numbers:
        labels = np.array(cut["names"])[parts]
        sizes = [int(rows[labels == k].sum()) for k in range(labels.max() + 1)]
        assert sizes == cut["sizes"]
        assert min(sizes) >= 9
        assert sum(sizes) + rows[labels < 0].sum() == len(model.labels_)
    assert cuts_by_number(tree, rows, len(model.labels_) + 1)[1] == []


def test_large_numbers_keep_the_digits_that_differ(tmp_path):
    X = pd.DataFrame({"time": 1.7e9 + np.arange(50.0), "b": np.arange(50.0) % 7})
    model = OneClassPCM().fit(X)
    axis = write_page(tmp_path / "page.html", model, X).data()["axes"][0]
    values = np.frombuffer(base64.b64decode(axis["values"]["bytes"]), "<f4").astype(float)
    values = values * axis["unit"] + axis["base"]
    assert values.tolist() == X["time"].tolist()


def test_columns_that_are_only_shown_may_have_missing_values(table, tmp_path):
    shown = table.mask(table > 6)
    model = OneClassPCM().fit(table)
    data = write_page(tmp_path / "page.html", model, shown, X_model=table.to_numpy()).data()
    assert np.isfinite([axis["base"] for axis in data["axes"]]).all()


def test_names_of_rows_match_by_position(table, tmp_path):
    model = OneClassPCM().fit(table)
    ids = pd.Series([f"id {k}" for k in range(300)], index=range(300, 0, -1))
    shown = table.astype("Float64").set_index(pd.Index(range(300, 600)))
    page = tmp_path / "page.html"
    assert write_page(page, model, shown, ids=ids).data()["ids"] == ids.tolist()
    assert write_page(page, model, shown).data()["ids"] == [str(k) for k in range(300, 600)]


# Safety


def test_names_and_values_of_the_data_are_text(table, tmp_path):
    X = table.rename(columns={"a": MARKUP})
    model = AlphaCutClustering().fit(table)
    page = tmp_path / "page.html"
    details = {MARKUP: MARKUP, "more": {MARKUP: [MARKUP, 1.5]}, "long": f"{MARKUP}\n{MARKUP}"}
    ids = [f"{MARKUP}{k}" for k in range(len(X))]
    untrusted = write_page(page, model, X, title=MARKUP, ids=ids, details=details)
    harmless = write_page(tmp_path / "other.html", model, table, details={"a": 1, "m": {"b": 1}})
    kinds = {tag for tag, _ in untrusted.tags}
    assert kinds == {tag for tag, _ in harmless.tags} | {"pre"}
    assert sum(tag == "script" for tag, _ in untrusted.tags) == 4
    assert not any(name.startswith("on") for _, attributes in untrusted.tags for name in attributes)
    text = page.read_text(encoding="utf-8")
    assert "<img" not in text.split("<script>")[0]
    assert all("\u2028" not in script and "<" not in script for script in untrusted.scripts[:2])
    assert untrusted.data()["axes"][0]["name"] == MARKUP[:40] + "…" + MARKUP[-19:]


def test_the_page_loads_no_resources(model, table, tmp_path):
    page = write_page(tmp_path / "page.html", model, table)
    for tag, attributes in page.tags:
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#"), tag
    policy = next(a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy.split("style-src")[0]
    assert policy.endswith("base-uri 'none'; form-action 'none'")


def test_long_names_are_shortened(table, tmp_path):
    model = OneClassPCM().fit(table)
    page = tmp_path / "page.html"
    write_page(page, model, table, ids=["x" * 10_000] * len(table), title="t" * 10_000)
    assert page.stat().st_size < 1_700_000


# Writing


def test_a_failure_leaves_the_old_file_unchanged(model, table, tmp_path, monkeypatch):
    page = tmp_path / "page.html"
    page.write_text("old")
    with pytest.raises(ValueError, match="ids has 2 rows"):
        write_page(page, model, table, ids=["a", "b"])

    def fail(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        write_page(page, model, table)
    assert page.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


def test_the_same_input_gives_the_same_data(model, table, tmp_path):
    one, two = (write_page(tmp_path / f"{k}.html", model, table).data() for k in range(2))
    assert one == two


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"features": ("a", "z")}, ValueError, r"features=\('a', 'z'\) must name two columns"),
        ({"table": pd.DataFrame({"a": [1]})}, ValueError, "table has 1 rows, but X has 300"),
        ({"table": [1] * 300}, TypeError, "table must be a pandas DataFrame, got list"),
        ({"X_model": np.zeros((3, 2))}, ValueError, "X_model has 3 rows, but X has 300"),
        ({"ranks": pd.DataFrame({"label": [0] * 300})}, ValueError, "ranks lacks"),
        ({"X": np.zeros((300, 3))}, TypeError, "X must be a pandas DataFrame, got ndarray"),
        ({"X": pd.DataFrame({"a": ["x"] * 300})}, ValueError, r"columns \['a'\] are not numeric"),
        ({"X": pd.DataFrame(index=range(300))}, ValueError, "300 rows and 0 columns"),
    ],
)
def test_errors_name_the_value(change, error, message, model, table, tmp_path):
    X = change.pop("X", table)
    with pytest.raises(error, match=message):
        write_page(tmp_path / "page.html", model, X, **change)
    assert os.listdir(tmp_path) == []


def test_a_page_needs_a_fitted_model(table, model, tmp_path):
    with pytest.raises(NotFittedError):
        write_report(tmp_path / "p.html", OneClassPCM(), table, ranks=rank_points(model), title="t")


def test_the_summary_counts_rows_and_clusters(table, tmp_path):
    model = AlphaCutClustering().fit(table)
    ranks = rank_points(model)
    page = tmp_path / "page.html"
    write_page(page, model, table, ranks=ranks)
    lead = re.search(r'class="lead">([^<]*)', page.read_text(encoding="utf-8")).group(1)
    assert lead.startswith(f"300 rows in {model.n_clusters_} cluster")


def test_the_chosen_model_is_shown(table, tmp_path):
    page = tmp_path / "page.html"
    plane = softkern.cluster(table)
    data = write_page(page, plane, table).data()
    own = write_page(page, plane.model_, table).data()
    assert data["tree"] == own["tree"]  # the slider cuts the tree of the chosen model
    assert data["histogram"] == own["histogram"]
    assert own["choice"] is None

    X = np.random.default_rng(0).normal(size=(120, 6))
    X[:60, 0] += 9
    wide = pd.DataFrame(X, columns=list("abcdef"))
    model = softkern.cluster(wide)
    data = write_page(page, model, wide).data()
    text = page.read_text(encoding="utf-8")
    assert data["tree"] is None
    assert data["choice"]["reason"] == model.reason_
    assert model.reason_ in html.unescape(text)
    listed = re.search(r'id="choice-table">(.*?)</table>', text, re.DOTALL)[1]
    assert all(name in listed for name in model.comparison_["model"])
    assert listed.count(", chosen") == 1


def test_clusters_are_described_and_listed_rows_are_explained(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    X.loc[:99, "a"] += 9
    X.loc[7, "c"] = 40.0
    model = AlphaCutClustering().fit(X)
    page = tmp_path / "page.html"
    data = write_page(page, model, X).data()
    assert [cluster["cluster"] for cluster in data["clusters"] if cluster["cluster"] >= 0] == [0, 1]
    assert data["clusters"][0]["bars"][0]["name"] == "a"
    for side in ("own", "all"):
        bar = data["clusters"][1]["bars"][0][side]
        assert 0 <= bar["left"] <= bar["median"] <= bar["left"] + bar["width"] <= 100.01
    first = data["why"]["outliers"][0]
    assert first["why"].startswith("c 40, usual -1.")
    assert first["grade"] == "extreme"
    assert len(data["why"]["outliers"]) == len(data["tables"]["outliers"])
    assert len(data["why"]["overlaps"]) == len(data["tables"]["overlaps"])
    text = page.read_text(encoding="utf-8")
    assert ">Clusters<" in text
    assert data["clusters"][1]["words"] in text


def test_a_table_of_one_cluster_is_described(tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 2)), columns=["a", "b"])
    page = tmp_path / "page.html"
    write_page(page, OneClassPCM().fit(X), X)
    text = page.read_text(encoding="utf-8")
    assert ">The table<" in text
    assert "one cluster: 80 rows" in text


def test_numbers_stay_after_names_written_from_right_to_left():
    mark = "\N{LEFT-TO-RIGHT MARK}"
    name = "\u0645\u0628\u064a\u0639\u0627\u062a \u0643\u0644\u064a\u0629"
    assert isolate_right_to_left(f"{name} 5.2, usual 1 to 2") == f"{name}{mark} 5.2, usual 1 to 2"
    assert isolate_right_to_left("width 5.2, usual 1 to 2") == "width 5.2, usual 1 to 2"


def test_notes_and_dates_are_text(model, table, tmp_path):
    path = tmp_path / "page.html"
    days = pd.date_range("2024-01-01", periods=len(table))
    shown = table.assign(day=days.to_numpy(), moment=(days + pd.Timedelta("90min")).to_numpy())
    page = write_page(path, model, table, table=shown, notes=["left out <b>", "two"])
    text = path.read_text(encoding="utf-8")
    assert "How the table was read: 2 notes" in text
    assert "<li>left out &lt;b&gt;</li>" in text
    cells = page.data()["cells"]
    place, row = next(iter(cells["rows"].items()))
    day, moment = (row[cells["columns"].index(name)] for name in ("day", "moment"))
    assert day == f"{days[int(place)]:%Y-%m-%d}"
    assert moment == f"{day} 01:30:00"


def test_uninformative_text_has_no_bar(table, model, tmp_path):
    words = pd.DataFrame({"k": [f"word {k % 7}" for k in range(len(table))]})
    clusters = describe(table.iloc[:, :1].join(words), model.labels_)
    data = write_page(tmp_path / "page.html", model, table, clusters=clusters).data()
    names = {bar["name"] for cluster in data["clusters"] for bar in cluster["bars"]}
    assert names == {str(table.columns[0])}


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame(np.ones((30, 2)), columns=["a", "b"]),
        pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "a"]),
        pd.DataFrame(np.arange(10.0).reshape(5, 2), columns=["a", "b"]),
    ],
    ids=["equal rows", "equal names", "five rows"],
)
def test_unusual_tables_have_a_page(X, tmp_path):
    model = AlphaCutClustering(bandwidth=1.0).fit(X.to_numpy())
    page = write_page(tmp_path / "page.html", model, X)
    assert sum(page.data()["sizes"]) + page.data()["noise"] == len(X)
