"""A fitted attribute is declared once: saving, loading, pickling and Dask follow from it."""

import pickle
import re

import numpy as np
import pytest

import softkern
from softkern import FuzzyCMeans
from softkern.models.state import from_state, to_state
from softkern.models.state_schema import Floats, Number, Spec, fitted_specs, row_methods
from tests.golden.make import MODELS

X = np.random.default_rng(0).normal(size=(40, 2))
OF_DASK = {"sample_rows_", "sample_row_weights_", "sample_outlier_scores_"}
OF_SCIKIT_LEARN = {"n_features_in_", "feature_names_in_", "sample_weight_", *OF_DASK}


@pytest.fixture
def declare(monkeypatch):
    """Declare further attributes of FuzzyCMeans during a test."""

    def add(**specs):
        for name, spec in specs.items():
            monkeypatch.setitem(FuzzyCMeans._fitted, name, spec)
        fitted_specs.cache_clear()

    yield add
    fitted_specs.cache_clear()


def test_a_declared_attribute_is_saved_loaded_and_pickled(declare, tmp_path):
    declare(extra_=Floats("n", low=0, method="memberships"), cache_=Spec(transient=True))
    model = FuzzyCMeans(2).fit(X)
    model.extra_, model.cache_ = np.ones(len(X)), lambda: "cannot be pickled"
    softkern.save(model, tmp_path / "model.safetensors")
    for again in (
        softkern.load(tmp_path / "model.safetensors"),
        pickle.loads(pickle.dumps(model)),
    ):
        assert np.array_equal(again.extra_, model.extra_)
        assert not hasattr(again, "cache_")
    assert row_methods(FuzzyCMeans)["extra_"] == "memberships"
    model.extra_ = -np.ones(len(X))
    with pytest.raises(ValueError, match="extra_ of FuzzyCMeans holds -1.0, too small"):
        from_state(to_state(model))
    model.extra_ = np.ones(3)
    with pytest.raises(ValueError, match=re.escape("extra_ of FuzzyCMeans has the inconsistent")):
        from_state(to_state(model))
    del model.extra_
    with pytest.raises(ValueError, match="FuzzyCMeans lacks extra_"):
        from_state(to_state(model))


def test_a_fit_drops_caches(declare):
    declare(cache_=Spec(transient=True))
    model = FuzzyCMeans(2).fit(X)
    model.cache_ = "of an earlier fit"
    assert not hasattr(model.fit(X), "cache_")


def test_undeclared_attributes_are_named():
    model = FuzzyCMeans(2).fit(X)
    model.mine_ = 1
    with pytest.raises(TypeError, match="does not declare: mine_"):
        to_state(model)


@pytest.mark.parametrize("name", MODELS)
def test_fitted_attributes_are_documented(name):
    kind = getattr(softkern, name)
    public = {name for name in fitted_specs(kind) if not name.startswith("_")} - OF_SCIKIT_LEARN
    attributes = kind.__doc__.split("Attributes\n")[1]
    assert not {name for name in public if not re.search(rf"\b{name}", attributes)}


@pytest.mark.parametrize("name", MODELS)
def test_declared_row_methods_exist(name):
    kind = getattr(softkern, name)
    assert all(callable(getattr(kind, method)) for method in row_methods(kind).values())


def test_an_infinite_ratio_of_one_cluster_is_loaded():
    model = FuzzyCMeans(1).fit(X)
    assert from_state(to_state(model)).collapse_ratio_ == np.inf


def test_sizes_come_from_numbers_and_arrays():
    sizes = {}
    assert Number(low=0, whole=True, size="c").problem(3, sizes) == ""
    assert Floats("nc").problem(np.zeros((5, 3)), sizes) == ""
    assert sizes == {"c": 3, "n": 5}
    assert Floats("n+").problem(np.zeros((5, 4)), sizes) == ""
    assert "inconsistent shape" in Floats("nc").problem(np.zeros((4, 3)), sizes)
    assert Floats("n", nullable=True).problem(None, sizes) == ""
