"""Tests that every model must pass. The test class of a model inherits `ModelContract`."""

import pickle
import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import softkern.planning
from softkern.exceptions import (
    ApproximationWarning,
    CollapseWarning,
    ReseedWarning,
    SpectrumWarning,
)
from softkern.models.kernel_model import LARGE_ERROR
from softkern.operators.blocked import BlockedOperator
from softkern.planning.costs import blocked_cost

FITTED = {}
QUIET = (ConvergenceWarning, CollapseWarning, ReseedWarning, SpectrumWarning)


class RecordingOperator(BlockedOperator):
    """An engine that counts its products."""

    engine = "recording"
    count = 0

    def _product(self, A):
        type(self).count += 1
        return super()._product(A)

    def partial_product(self, index, A):
        type(self).count += 1
        return super().partial_product(index, A)

    def _cross_product(self, X_new, A):
        type(self).count += 1
        return super()._cross_product(X_new, A)


@contextmanager
def recording():
    """Register the recording engine and yield a list of the products of all other engines."""
    other_products = []
    others = [engine.operator for engine in softkern.planning.ENGINES.values()]
    softkern.planning.register(RecordingOperator, blocked_cost)
    RecordingOperator.count = 0
    with pytest.MonkeyPatch.context() as patch:
        for cls in others:
            for name in ("_product", "_cross_product"):
                patch.setattr(cls, name, _record(getattr(cls, name), cls, other_products))
        try:
            yield other_products
        finally:
            del softkern.planning.ENGINES[RecordingOperator.engine]


def _record(method, cls, other_products):
    def recorded(self, *arguments):
        if not isinstance(self, RecordingOperator):
            other_products.append(cls.__name__)
        return method(self, *arguments)

    return recorded


def recorded_products(model, X):
    """Return the products of the recording engine and of others: ((fit, predict), others)."""
    with recording() as other_products, warnings.catch_warnings():
        warnings.simplefilter("ignore", QUIET)
        model.set_params(engine="recording").fit(X)
        fitting = RecordingOperator.count
        model.predict(X), model.memberships(X), model.outlier_scores(X)
        return (fitting, RecordingOperator.count - fitting), list(other_products)


class ModelContract:
    """A subclass defines `make` and overrides `engines` and limits if the defaults do not fit."""

    engines = ("dense", "tiled", "fourier", "nystroem")
    low_rank = 15  # of 150 points
    low_rank_agreement = 0.99  # rank correlation of outlier scores with those of dense
    products = 2  # of score_points: one, and one for inaccurate logarithms

    def make(self, **params):
        raise NotImplementedError

    @pytest.fixture
    def X(self):
        return make_blobs(150, 2, centers=[[0, 0], [6, 6], [0, 8]], random_state=0)[0]

    def fitted(self, X, **params):
        """Return a model of these rows. All tests of a class share it and must not change it."""
        key = (type(self), X.tobytes(), str(params))
        if key not in FITTED:
            FITTED[key] = self.make(**params).fit(X)
        return FITTED[key]

    def same(self, one, two):
        """Return whether two arrays of labels are the same partition."""
        pairs = set(zip(one.tolist(), two.tolist(), strict=True))
        return len(pairs) == len(set(one.tolist())) == len(set(two.tolist()))

    def labels(self, model, X):
        return model.predict(X)

    def test_scikit_learn_checks(self):
        # array_api is only checked in some environments. No other check may be skipped.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QUIET)
            results = check_estimator(self.make(), on_skip=None)
        skipped = [r["check_name"] for r in results if r["status"] != "passed"]
        assert skipped in ([], ["check_array_api_input"])

    def test_training_samples_are_scored_as_new_ones(self, X):
        for engine in self.engines:
            model = self.fitted(X, engine=engine)
            assert model.memberships(X) == pytest.approx(model.memberships_, abs=1e-6)
            if hasattr(model, "labels_"):
                assert np.array_equal(model.predict(X), model.labels_)
                is_inside = model.labels_ >= 0
                top = np.argmax(model.memberships_[is_inside], axis=1)
                assert np.array_equal(top, model.labels_[is_inside])

    def test_fit_predict_is_fit_and_predict(self, X):
        assert np.array_equal(self.make().fit_predict(X), self.fitted(X).predict(X))

    def test_weights_are_repeated_rows(self, X):
        counts = np.random.default_rng(0).integers(0, 4, len(X))
        weighted = self.make().fit(X, sample_weight=counts)
        repeated = self.make().fit(np.repeat(X, counts, axis=0))
        assert weighted.memberships(X) == pytest.approx(repeated.memberships(X), abs=1e-6)
        assert self.same(self.labels(weighted, X), self.labels(repeated, X))

    def test_row_order_does_not_matter(self, X):
        order = np.random.default_rng(1).permutation(len(X))
        one, two = self.fitted(X), self.make().fit(X[order])
        assert np.sort(one.memberships(X), axis=None) == pytest.approx(
            np.sort(two.memberships(X), axis=None), abs=1e-6
        )
        assert self.same(self.labels(one, X), self.labels(two, X))

    def test_units_do_not_matter(self, X):
        units = np.array([1000, 1e-3])
        one, two = self.fitted(X), self.make().fit(X * units)
        assert self.same(self.labels(one, X), self.labels(two, X * units))
        assert two.memberships(X * units) == pytest.approx(one.memberships(X), abs=1e-6)
        assert self.rank_agreement(one.outlier_scores_, two.outlier_scores_) > 1 - 1e-6

    def test_engines_agree(self, X):
        reference = self.fitted(X, engine="dense")
        for engine in self.engines:
            model = self.fitted(X, engine=engine)
            assert model.engine_ == model.plan_.engine == engine
            assert model.memberships_ == pytest.approx(reference.memberships_, abs=1e-3)
            assert self.same(self.labels(model, X), self.labels(reference, X))
            agreement = self.rank_agreement(model.outlier_scores_, reference.outlier_scores_)
            assert agreement > 1 - 1e-3

    def rank_agreement(self, one, two):
        """Return Spearman's correlation of scores. Differences by rounding count as ties."""
        one, two = (np.round(scores, 6) for scores in (one, two))
        return float(spearmanr(one, two).statistic)

    def test_low_rank(self, X):
        """Training samples are scored as new ones, and the error is reported."""
        if "nystroem" not in self.engines:
            pytest.skip("supports no approximate engine")
        reference = self.fitted(X, engine="dense")
        options = {"engine": "nystroem", "engine_params": {"rank": self.low_rank}}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = self.make(**options).fit(X)
        assert model.memberships(X) == pytest.approx(model.memberships_, abs=1e-6)
        if hasattr(model, "labels_"):
            assert np.array_equal(model.predict(X), model.labels_)
        agreement = self.rank_agreement(model.outlier_scores_, reference.outlier_scores_)
        assert agreement > self.low_rank_agreement
        assert 0 < model.approximation_error_ < 1
        assert f"error {model.approximation_error_:.2g}" in repr(model)
        assert "of the trace" in str(model.plan_)
        if model.approximation_error_ > LARGE_ERROR:
            warned = [w for w in caught if w.category is ApproximationWarning]
            assert len(warned) == 1
            assert warned[0].filename == __file__  # the line that calls fit

    def test_every_product_uses_the_fitted_engine(self, X):
        (fitting, predicting), other_products = recorded_products(self.make(), X)
        assert fitting > 0
        assert predicting > 0
        assert other_products == []

    def test_scoring_needs_few_products(self, X):
        with recording(), warnings.catch_warnings():
            warnings.simplefilter("ignore", QUIET)
            model = self.make(engine="recording").fit(X)
            RecordingOperator.count = 0
            scores = model.score_points(X)
            for name in ("labels", "memberships", "outlier_scores", "overlap_scores"):
                getattr(scores, name)
            assert RecordingOperator.count <= self.products

    def test_unknown_engine_options_are_named(self, X):
        with pytest.raises(ValueError, match=r"rank"):
            self.make(engine="dense", engine_params={"rank": 9}).fit(X)

    def test_grid_search(self, X):
        grid = {"bandwidth": [0.5, 4.0]}
        by_width = {"scoring": lambda model, X, y=None: model.bandwidth_, "cv": 2}
        search = GridSearchCV(self.make(), grid, **by_width)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QUIET)
            assert search.fit(X).best_params_ == {"bandwidth": 4.0}

    def test_float32(self, X):
        model = self.make().fit(X.astype(np.float32))
        assert model.memberships_.dtype == np.float32
        assert model.memberships_ == pytest.approx(self.fitted(X).memberships_, abs=2e-3)

    def test_clone_pickle_pipeline(self, X):
        model = self.fitted(X)
        again = clone(model).fit(X)
        assert np.array_equal(again.memberships_, model.memberships_)
        loaded = pickle.loads(pickle.dumps(model))
        assert np.array_equal(loaded.memberships(X), model.memberships(X))
        pipeline = make_pipeline(StandardScaler(), self.make()).fit(X)
        scaled = StandardScaler().fit_transform(X)
        assert np.array_equal(pipeline.predict(X), self.make().fit(scaled).predict(scaled))

    def test_column_names(self, X):
        table = pd.DataFrame(X, columns=["width", "height"])
        model = self.make().fit(table)
        assert list(model.feature_names_in_) == ["width", "height"]
        for name in ("predict", "memberships", "outlier_scores", "overlap_scores"):
            if hasattr(model, name):
                assert len(getattr(model, name)(table)) == len(X)  # without a warning
        with pytest.raises(ValueError, match="feature names"):
            model.predict(table[["height", "width"]])

    def test_support_vectors_are_rows_of_the_data(self, X):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QUIET)
            support = np.asarray(self.fitted(X).support_vectors_)
        rows = {tuple(row) for row in np.asarray(X).tolist()}
        assert len(support) > 1
        assert {tuple(row) for row in support.tolist()} <= rows
        with pytest.raises(NotFittedError):
            self.make().support_vectors_  # noqa: B018

    def test_convergence_and_plan_are_reported(self, X):
        model = self.fitted(X)
        assert model.converged_ is True
        assert len(model.history_["objective"]) == model.n_iter_
        assert model.history_["change"][-1] < model.tol
        assert "n = 150" in str(model.plan_)
        assert np.all(np.asarray(model.bandwidth_) > 0)

    def test_verbose_shows_progress(self, X, capsys):
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
