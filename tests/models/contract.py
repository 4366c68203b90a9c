"""What every model promises, as one suite; a member's test class inherits `ModelContract`."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from softkern import CollapseWarning


class ModelContract:
    """Hooks: `make(**params)`; `engines`, `n_iter_fixed` where the defaults do not fit."""

    engines = ("dense", "tiled", "fourier", "nystroem")

    def make(self, **params):
        raise NotImplementedError

    @pytest.fixture
    def X(self):
        return make_blobs(150, 2, centers=[[0, 0], [6, 6], [0, 8]], random_state=0)[0]

    def same(self, one, two):
        """Whether two sets of labels are one partition."""
        pairs = set(zip(one.tolist(), two.tolist(), strict=True))
        return len(pairs) == len(set(one.tolist())) == len(set(two.tolist()))

    def labels(self, model, X):
        return model.predict(X)

    def test_scikit_learn_checks(self):
        # array_api is checked only where the environment asks for it; nothing else may be skipped
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (ConvergenceWarning, CollapseWarning))
            results = check_estimator(self.make(), on_skip=None)
        skipped = [r["check_name"] for r in results if r["status"] != "passed"]
        assert skipped in ([], ["check_array_api_input"])

    def test_training_points_are_told_the_same_as_new_ones(self, X):
        for engine in self.engines:
            model = self.make(engine=engine).fit(X)
            assert model.memberships(X) == pytest.approx(model.memberships_, abs=1e-6)
            if hasattr(model, "labels_"):
                assert np.array_equal(model.predict(X), model.labels_)
                assert np.array_equal(self.make(engine=engine).fit_predict(X), model.labels_)
                kept = model.labels_ >= 0
                top = np.argmax(model.memberships_[kept], axis=1)
                assert np.array_equal(top, model.labels_[kept])
            else:
                assert np.array_equal(model.fit_predict(X), model.predict(X))

    def test_weights_are_repeated_rows(self, X):
        counts = np.random.default_rng(0).integers(0, 4, len(X))
        weighted = self.make().fit(X, sample_weight=counts)
        repeated = self.make().fit(np.repeat(X, counts, axis=0))
        assert weighted.memberships(X) == pytest.approx(repeated.memberships(X), abs=1e-6)
        assert self.same(self.labels(weighted, X), self.labels(repeated, X))

    def test_row_order_does_not_matter(self, X):
        order = np.random.default_rng(1).permutation(len(X))
        one, two = self.make().fit(X), self.make().fit(X[order])
        assert np.sort(one.memberships(X), axis=None) == pytest.approx(
            np.sort(two.memberships(X), axis=None), abs=1e-6
        )
        assert self.same(self.labels(one, X), self.labels(two, X))

    def test_units_do_not_matter(self, X):
        units = np.array([1000, 1e-3])
        one, two = self.make().fit(X), self.make().fit(X * units)
        assert self.same(self.labels(one, X), self.labels(two, X * units))
        assert two.memberships(X * units) == pytest.approx(one.memberships(X), abs=1e-6)

    def test_engines_agree(self, X):
        reference = self.make(engine="dense").fit(X)
        for engine in self.engines:
            model = self.make(engine=engine).fit(X)
            assert model.engine_.engine == engine
            assert model.memberships_ == pytest.approx(reference.memberships_, abs=1e-3)
            assert self.same(self.labels(model, X), self.labels(reference, X))

    def test_float32(self, X):
        model = self.make().fit(X.astype(np.float32))
        assert model.memberships_.dtype == np.float32
        assert model.memberships_ == pytest.approx(self.make().fit(X).memberships_, abs=2e-3)

    def test_clone_pickle_pipeline(self, X):
        model = self.make().fit(X)
        again = clone(model).fit(X)
        assert np.array_equal(again.memberships_, model.memberships_)
        loaded = pickle.loads(pickle.dumps(model))
        assert np.array_equal(loaded.memberships(X), model.memberships(X))
        pipeline = make_pipeline(StandardScaler(), self.make()).fit(X)
        assert pipeline.predict(X).shape == (len(X),)

    def test_names_of_columns(self, X):
        table = pd.DataFrame(X, columns=["width", "height"])
        model = self.make().fit(table)
        assert list(model.feature_names_in_) == ["width", "height"]
        for name in ("predict", "memberships", "outlier_scores", "overlap_scores"):
            if hasattr(model, name):
                assert len(getattr(model, name)(table)) == len(X)  # and no warning
        with pytest.raises(ValueError, match="feature names"):
            model.predict(table[["height", "width"]])

    def test_reports_how_it_went(self, X):
        model = self.make().fit(X)
        assert model.converged_ is True
        assert len(model.history_["objective"]) == model.n_iter_
        assert model.history_["change"][-1] < model.tol
        assert "n = 150" in str(model.engine_)
        assert np.all(np.asarray(model.bandwidth_) > 0)

    def test_progress_is_shown_when_asked_for(self, X, capsys):
        self.make().fit(X)
        assert capsys.readouterr().out == ""
        self.make(verbose=True).fit(X)
        shown = capsys.readouterr().out
        assert "engine" in shown
        assert "iteration" in shown

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda X: np.where(X > 5, np.nan, X), "NaN"),
            (lambda X: X[:, 0], "2D array"),
            (lambda X: X[:0], "0 sample"),
        ],
    )
    def test_bad_data(self, change, message, X):
        with pytest.raises(ValueError, match=message):
            self.make().fit(change(X))

    @pytest.mark.parametrize(
        ("weight", "message"),
        [
            (-np.ones(150), "not negative"),
            (np.zeros(150), "zero for every row"),
            (np.ones(3), "shape"),
            (np.full(150, np.nan), "finite"),
        ],
    )
    def test_bad_weights(self, weight, message, X):
        with pytest.raises(ValueError, match=message):
            self.make().fit(X, sample_weight=weight)

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"bandwidth": 0.0}, "bandwidth"),
            ({"bandwidth": "wide"}, "'wide' is no rule"),
            ({"engine": "quantum"}, "engine"),
            ({"tol": -1.0}, "tol"),
            ({"max_iter": 0}, "max_iter"),
            ({"kernel": "nope"}, "'nope' is unknown"),
        ],
    )
    def test_bad_parameters(self, params, message, X):
        with pytest.raises(ValueError, match=message):
            self.make(**params).fit(X)
