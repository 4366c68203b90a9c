"""The HTML view of a model in a notebook."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import make_blobs
from sklearn.utils import estimator_html_repr

from softkern import AlphaCutClustering, OneClassPCM, PossibilisticCMeans
from softkern.models.html import fitted_html


@pytest.fixture(scope="module")
def X():
    return make_blobs(120, 2, centers=[[0, 0], [8, 8]], random_state=0)[0]


def parse_picture(html):
    return ElementTree.fromstring(re.search(r"<svg.*?</svg>", html, re.DOTALL).group())


@pytest.mark.parametrize("kind", [AlphaCutClustering, OneClassPCM, PossibilisticCMeans])
def test_html_has_the_diagram_a_picture_and_the_plan(kind, X):
    model = kind().fit(X)
    html = model._repr_mimebundle_()["text/html"]
    # the diagram of scikit-learn comes first, unchanged except for its number
    diagram = re.sub(r"\d+", "", estimator_html_repr(model))
    assert re.sub(r"\d+", "", html).startswith(diagram)
    assert re.sub(r"\d+", "", model._repr_html_()) == re.sub(r"\d+", "", html)
    assert f"engine <b>{model.plan_.engine}</b>" in html
    assert str(model.plan_).splitlines()[1] in html
    assert parse_picture(html).attrib["role"] == "img"


def test_bars_count_every_row_in_the_color_of_its_cluster(X):
    model = PossibilisticCMeans(2).fit(X)
    svg = parse_picture(fitted_html(model))
    bars = [e.attrib for e in svg if e.tag.endswith("rect")]
    area = {}
    for bar in bars:
        area[bar["fill"]] = area.get(bar["fill"], 0) + float(bar["height"])
    sizes = np.bincount(model.labels_)
    assert len(area) == 2
    first, second = area.values()
    assert first / second == pytest.approx(sizes[0] / sizes[1], rel=0.02)
    assert f"cluster 0: {sizes[0]}" in fitted_html(model)


def test_noise_and_the_level_are_shown(X):
    model = AlphaCutClustering(rejection=0.2).fit(X)
    html = fitted_html(model)
    assert f"in no cluster: {(model.labels_ < 0).sum()}" in html
    assert sum(e.tag.endswith("path") for e in parse_picture(html)) == 2  # the axis and the level


def test_many_clusters_are_not_all_listed():
    X = np.repeat(np.arange(9) * 50.0, 40)[:, None]
    X = X + np.random.default_rng(0).normal(size=X.shape)
    model = AlphaCutClustering().fit(X)
    html = fitted_html(model)
    assert model.n_clusters_ == 9
    assert "and 3 more" in html
    assert "cluster 6" not in html


def test_an_unfitted_model_shows_only_the_diagram():
    assert fitted_html(OneClassPCM()) == ""
    assert "softkern-fitted" not in OneClassPCM()._repr_html_()


def test_text_is_shown_if_diagrams_are_disabled(X):
    with config_context(display="text"):
        model = OneClassPCM().fit(X)
        assert set(model._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(model, "_repr_html_")


def test_equal_memberships_have_a_picture():
    model = OneClassPCM(bandwidth=1.0).fit(np.ones((5, 2)))
    assert parse_picture(fitted_html(model)).attrib["aria-label"].startswith("Membership of 5 rows")
