"""Tests of `rank_points` for every model, and the meaning of calibrated scores."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import rankdata, spearmanr
from sklearn.base import BaseEstimator, is_outlier_detector
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import softkern
from softkern import rank_points
from softkern.exceptions import CollapseWarning, ReseedWarning, SpectrumWarning
from softkern.ranking import Calibration, Ranker

COLUMNS = [
    "label",
    "membership",
    "outlier_score",
    "outlier_rank",
    "is_outlier",
    "overlap_score",
    "overlap_rank",
    "is_overlap",
]
# one line per model
MODELS = {
    "OneClassPCM": {},
    "AlphaCutClustering": {},
    "PossibilisticCMeans": {"n_clusters": 2},
    "FuzzyCMeans": {"n_clusters": 2},
    "OutlierFuzzyCMeans": {"n_clusters": 2},
    "WeightedSVDD": {},
    "WeightedOneClassSVM": {},
    "OneClassMixture": {"n_clusters": 2},
    "OneClassKMeans": {"n_clusters": 2},
    # a given bandwidth, as its search takes time
    "KernelSpectralClustering": {"n_clusters": 2, "bandwidth": "global"},
    "SoftKernelSpectralClustering": {"n_clusters": 2, "bandwidth": "global"},
}
OUTLIERS = np.array([[4.0, 25.0], [30.0, -10.0], [-22.0, -1.0]])

QUIET = (ConvergenceWarning, CollapseWarning, ReseedWarning, SpectrumWarning)


@pytest.fixture(scope="module")
def X():
    """Two blobs that touch, and three outliers at the end."""
    rng = np.random.default_rng(0)
    blobs = rng.normal(size=(200, 2))
    blobs[100:, 0] += 5
    return np.vstack([blobs, OUTLIERS])


def fitted(name, X, weight=None, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QUIET)
        return getattr(softkern, name)(**{**MODELS[name], **params}).fit(X, sample_weight=weight)


@pytest.fixture(scope="module", params=list(MODELS))
def model(request, X):
    return fitted(request.param, X)


class Native(BaseEstimator):
    """A model with given scores: the first feature. The other features are the memberships."""

    def fit(self, X, y=None, sample_weight=None):
        X = np.asarray(X, dtype=float)
        self.outlier_scores_ = X[:, 0]
        self.memberships_ = X[:, 1:]
        self.labels_ = np.argmax(self.memberships_, axis=1)
        self.overlap_scores_ = self.overlap_scores(X)
        if sample_weight is not None:
            self.sample_weight_ = sample_weight
        return self

    def outlier_scores(self, X):
        return np.asarray(X, dtype=float)[:, 0]

    def memberships(self, X):
        return np.asarray(X, dtype=float)[:, 1:]

    def predict(self, X):
        return np.argmax(self.memberships(X), axis=1)

    def overlap_scores(self, X):
        U = np.sort(self.memberships(X), axis=1)
        with np.errstate(invalid="ignore"):  # where memberships vanish, the model decides
            return np.where(U[:, -1] > 0, U[:, -2] / U[:, -1], 0.7)


class OneRecord(Native):
    """The same scores by `score_points`. Separate methods must not be called."""

    def fit(self, X, y=None, sample_weight=None):
        vars(self).update(vars(Native().fit(X)), n_calls_=0)
        return self

    def score_points(self, X):
        self.n_calls_ += 1
        one = Native()
        return SimpleNamespace(
            labels=one.predict(X),
            memberships=one.memberships(X),
            outlier_scores=one.outlier_scores(X),
            overlap_scores=one.overlap_scores(X),
        )

    def predict(self, X):
        raise AssertionError

    memberships = outlier_scores = overlap_scores = predict


def native(scores, memberships=((0.9, 0.1),), weight=None):
    U = np.broadcast_to(memberships, (len(scores), len(memberships[0])))
    return Native().fit(np.column_stack([scores, U]), sample_weight=weight)


class TestEveryModel:
    def test_one_row_per_point(self, model, X):
        table = rank_points(model)
        assert list(table.columns) == COLUMNS
        assert len(table) == len(X)
        assert table.notna().all(axis=None)
        for name in ("label", "outlier_rank", "overlap_rank"):
            assert table[name].dtype.kind == "i"
        for name in ("is_outlier", "is_overlap"):
            assert table[name].dtype == bool
        assert table["membership"].between(0, 1 + 1e-9).all()
        assert table["overlap_score"].between(0, 1).all()

    def test_planted_outliers_are_flagged_and_first(self, model, X):
        table = rank_points(model)
        assert table["is_outlier"][200:].all()
        assert set(table["outlier_rank"][200:]) == {1, 2, 3}
        assert table["is_outlier"][:200].sum() <= 3
        assert not table["is_overlap"][200:].any()

    def test_ranks_follow_the_scores_of_the_model(self, model):
        table, own = rank_points(model), model.outlier_scores_
        assert np.array_equal(table["outlier_rank"], rankdata(-own, method="min"))
        order = np.argsort(own)
        assert (np.diff(table["outlier_score"].to_numpy()[order]) > 0).all()

    def test_labels_and_memberships_are_those_of_the_model(self, model, X):
        table, again = rank_points(model), rank_points(model, X)
        if is_outlier_detector(model):
            assert (table["label"] == 0).all()
            assert (table["overlap_score"] == 0).all()
            assert (table["overlap_rank"] == 1).all()
        else:
            assert np.array_equal(table["label"], model.labels_)
            assert table["membership"].to_numpy() == pytest.approx(
                np.where(model.labels_ < 0, 0, model.memberships_.max(axis=1)), abs=1e-9
            )
        assert np.array_equal(again["label"], table["label"])
        assert again["membership"].to_numpy() == pytest.approx(
            table["membership"].to_numpy(), abs=1e-6
        )

    def test_ranks_do_not_saturate_far_away(self, model):
        far = np.array([[10.0**k, 3.0] for k in range(2, 6)])
        table = rank_points(model, far)
        assert table["is_outlier"].all()
        assert table["outlier_rank"].tolist() == [4, 3, 2, 1]
        assert (np.diff(table["outlier_score"]) > 0).all()

    def test_new_points_keep_their_index(self, model):
        frame = pd.DataFrame([[0.0, 0.0], [100.0, 100.0]], index=["in", "out"])
        table = rank_points(model, frame.to_numpy())
        assert table.index.tolist() == [0, 1]
        with warnings.catch_warnings():  # of scikit-learn: the model was fitted without names
            warnings.simplefilter("ignore", UserWarning)
            frame.columns = ["a", "b"]
            named = rank_points(model, frame)
        assert named.index.tolist() == ["in", "out"]
        assert named["is_outlier"].tolist() == [False, True]
        assert named["outlier_rank"].tolist() == [2, 1]

    def test_equal_points_have_equal_ranks(self, model):
        new = np.array([[0.0, 0.1], [60.0, 60.0], [0.0, 0.1], [60.0, 60.0], [5.0, 0.0]])
        ranks = rank_points(model, new)["outlier_rank"]
        assert ranks[1] == ranks[3] == 1
        assert ranks[0] == ranks[2]
        assert set(ranks) in ({1, 3, 4}, {1, 3, 5})

    def test_contamination_is_the_share_flagged(self, model):
        table = rank_points(model, contamination=0.1)
        assert table["is_outlier"].sum() == 20  # at most a tenth of 203
        assert table["outlier_rank"][table["is_outlier"]].max() == 20


@pytest.mark.parametrize("name", list(MODELS))
def test_weights_are_repeated_rows(name, X):
    counts = np.random.default_rng(1).integers(0, 4, len(X))
    counts[-3:] = 1
    repeated = np.repeat(X, counts, axis=0)
    one, two = fitted(name, X, counts), fitted(name, repeated)
    new = np.vstack([np.random.default_rng(2).normal(2, 3, size=(40, 2)), OUTLIERS + 1])
    a, b = rank_points(one, new), rank_points(two, new)
    assert a["outlier_score"].to_numpy() == pytest.approx(b["outlier_score"], rel=1e-3, abs=1e-3)
    for options in ({}, {"contamination": 0.1}):
        a, b = (rank_points(model, new, **options)["is_outlier"] for model in (one, two))
        assert np.array_equal(a, b)
        a, b = (rank_points(model, **options)["is_outlier"] for model in (one, two))
        assert np.array_equal(np.repeat(a, counts), b)


@pytest.mark.parametrize("name", list(MODELS))
def test_few_false_alarms(name):
    """All points are typical. If every tail were known, the mean would be 0.05."""
    flagged = []
    for draw in range(4):
        rng = np.random.default_rng(draw)
        blobs = rng.normal(size=(100, 3))
        blobs[50:] += 6
        flagged.append(rank_points(fitted(name, blobs))["is_outlier"].sum())
    assert np.mean(flagged) <= 0.5


@pytest.mark.parametrize("name", ["FuzzyCMeans", "PossibilisticCMeans", "OneClassMixture"])
@pytest.mark.parametrize("count", [18, 30])
def test_many_planted_outliers_are_flagged(name, count):
    """There are more than 5 % outliers, far away in all directions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X[150:] += 8
    direction = rng.normal(size=(count, 2))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    X[:count] = 4 + 40 * direction * rng.uniform(1, 2, (count, 1))
    flagged = rank_points(fitted(name, X))["is_outlier"]
    assert flagged[:count].mean() > 0.8
    assert flagged[count:].sum() <= 1


@pytest.mark.parametrize("name", ["WeightedSVDD", "WeightedOneClassSVM"])
def test_points_outside_the_margin_are_no_outliers(name):
    """About a tenth of any data is outside."""
    X = np.random.default_rng(0).normal(size=(100, 1))
    model = fitted(name, X)
    assert (model.predict(X) == -1).any()
    assert rank_points(model)["is_outlier"].sum() <= 1


@pytest.mark.parametrize("name", ["KernelSpectralClustering", "OneClassKMeans"])
def test_hard_models_have_overlap(name, X):
    model = fitted(name, X)
    training = model.overlap_scores_
    for own, table in (
        (training, rank_points(model)),
        (model.overlap_scores(X), rank_points(model, X)),
    ):
        inside = ~table["is_outlier"].to_numpy()
        assert table["overlap_score"].to_numpy()[inside] == pytest.approx(own[inside])
        assert own[inside].max() > 0.2


def test_models_agree():
    """Models rank the same points first, with scores of the same level."""
    rng = np.random.default_rng(3)
    blobs = rng.normal(size=(300, 2))
    blobs[150:] += 7
    tables = {name: rank_points(fitted(name, blobs)) for name in MODELS}
    for name in ("FuzzyCMeans", "AlphaCutClustering"):
        one, two = tables["PossibilisticCMeans"], tables[name]
        assert spearmanr(one["outlier_score"], two["outlier_score"]).statistic > 0.8
    for table in tables.values():
        shares = [(table["outlier_score"] >= level).mean() for level in (0.3, 0.6, 1.0)]
        assert shares == pytest.approx([10**-0.3, 10**-0.6, 0.1], abs=0.03)


class TestSurprisal:
    """The meaning of a score, for scores of a known distribution."""

    @pytest.mark.parametrize("n", [1000, 100_000])
    def test_share_of_typical_points(self, n):
        scores = np.random.default_rng(0).exponential(size=n)
        surprisal = Calibration(scores).surprisal(np.log([2, 10, 100]))
        assert surprisal == pytest.approx(np.log10([2, 10, 100]), rel=0.1)

    def test_shares_of_typical_scores_are_counted(self):
        scores = np.arange(1.0, 101)
        share = 10 ** -Calibration(scores).surprisal(scores[:70])
        assert share == pytest.approx((100.5 - scores[:70]) / 100)

    def test_strictly_increasing_without_end(self):
        calibration = Calibration(np.random.default_rng(0).normal(size=500))
        points = np.concatenate([np.linspace(-9, 9, 1001), 10.0 ** np.arange(1, 16)])
        assert (np.diff(calibration.surprisal(points)) > 0).all()
        assert calibration.surprisal(np.array([np.inf, -np.inf])).tolist() == pytest.approx(
            [np.inf, 0], abs=1e-3
        )

    @pytest.mark.parametrize(("factor", "shift"), [(1e6, 0), (1e-12, 0), (3.0, -1e3)])
    def test_unit_and_origin_of_the_scores_do_not_matter(self, factor, shift):
        rng = np.random.default_rng(2)
        scores, new = rng.gamma(2, size=300), 30 * rng.random(50)
        one = Calibration(scores).surprisal(new)
        two = Calibration(factor * scores + shift).surprisal(factor * new + shift)
        assert two == pytest.approx(one, rel=1e-6)

    def test_weights_are_repeated_scores(self):
        rng = np.random.default_rng(4)
        scores, counts = rng.normal(size=200), rng.integers(0, 4, 200)
        one, two = Calibration(scores, counts), Calibration(np.repeat(scores, counts))
        assert one.surprisal(scores) == pytest.approx(two.surprisal(scores), rel=1e-10)

    def test_outliers_do_not_change_the_calibration(self):
        scores = np.random.default_rng(5).exponential(size=500)
        with_outliers = np.concatenate([scores, np.full(20, 1e6)])
        new = np.array([1.0, 5.0, 20.0])
        one, two = Calibration(scores).surprisal(new), Calibration(with_outliers).surprisal(new)
        assert two == pytest.approx(one, rel=0.02)
        assert Calibration(with_outliers).surprisal(np.array([1e6]))[0] > 20

    def test_tail_passes_through_the_quantiles(self):
        """Pickands' shape, shrunk to 0.1, and the scale that fits both ends, by their formulas."""
        scores = np.sort(np.random.default_rng(6).pareto(3, size=4000))
        scores = np.minimum(scores, scores[3900])  # so that no score is left out
        low, middle, high = scores[[3199, 3599, 3799]]
        read = np.log2((high - middle) / (middle - low))
        shape = 0.1 + (read - 0.1) * 0.01 / (0.01 + 1.8**2 / 200)
        calibration = Calibration(scores)
        assert calibration.threshold == low
        assert calibration.shape == pytest.approx(shape)
        assert 0.12 < shape < 1  # the tail is heavy
        ends = calibration.surprisal(np.array([low, high]))
        assert ends == pytest.approx(-np.log10([800.5 / 4000, 200.5 / 4000]))

    def test_many_outliers_do_not_hide_each_other(self):
        scores = np.random.default_rng(5).exponential(size=500)
        for share in (0.05, 0.1, 0.19):
            planted = 60 * np.random.default_rng(6).uniform(1, 2, int(share * 500))
            mixed = np.r_[scores[len(planted) :], planted]
            surprisal = Calibration(mixed).surprisal(mixed)
            assert (surprisal[-len(planted) :] > 4).all()
            assert (surprisal[: -len(planted)] < 4).all()
            if share > 0.05:  # the tail includes them unless they are left out
                strict = Calibration(mixed, most=0.01)
                assert strict.surprisal(planted[:1])[0] < 4

    def test_scores_with_few_distinct_values(self):
        counts = np.repeat([0, 1, 2, 3], [82, 10, 5, 3])
        surprisal = Calibration(counts).surprisal(np.arange(5))
        assert (np.diff(surprisal) > 0).all()
        assert surprisal[3] < np.log10(100 / 0.05)  # equal scores are no tail

    def test_number_of_false_alarms_matches_the_parameter(self):
        """Exponential scores have the tail of squared distances in two dimensions."""
        rng = np.random.default_rng(7)
        for n in (20, 100):
            flagged = [
                rank_points(native(rng.exponential(size=n)), false_alarms=0.05)["is_outlier"].sum()
                for _ in range(50)
            ]
            assert np.mean(flagged) < 0.1


class TestFlags:
    def test_larger_false_alarms_flag_more(self):
        model = native(np.random.default_rng(0).exponential(size=1000))
        few, many = (rank_points(model, false_alarms=f)["is_outlier"].sum() for f in (0.01, 20))
        assert few <= 1
        assert 5 <= many <= 40

    def test_contamination_never_flags_more(self):
        model = native([1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 0.0, 0.0, 0.0, 0.0])
        for share, count in ((0.05, 0), (0.2, 0), (0.3, 3), (0.45, 3), (0.5, 5)):
            assert rank_points(model, contamination=share)["is_outlier"].sum() == count
        weighted = native([1.0, 2.0, 3.0, 0.0], weight=np.array([1.0, 2, 3, 4]))
        assert rank_points(weighted, contamination=0.3)["is_outlier"].tolist() == [
            False,
            False,
            True,
            False,
        ]

    def test_contamination_uses_the_threshold_of_training_points(self):
        model = native(np.arange(100.0))
        new = np.array([[89.0, 1, 0], [90.0, 1, 0], [89.6, 1, 0], [1000.0, 1, 0]])
        flags = rank_points(model, new, contamination=0.1)["is_outlier"]
        assert flags.tolist() == [False, True, True, True]

    def test_overlap(self):
        U = np.array([[0.5, 0.5], [0.6, 0.4], [0.7, 0.3], [0.0, 0.0], [0.5, 0.5]])
        scores = np.array([0.0, 0.1, 0.2, 0.3, 1e6])
        ordinary = np.tile([[0.9, 0.1]], (95, 1))
        model = Native().fit(
            np.column_stack([np.r_[scores, np.linspace(0, 0.4, 95)], np.vstack([U, ordinary])])
        )
        table = rank_points(model)[:5]
        # where memberships vanish, the model decides. Outliers are not between clusters
        assert table["overlap_score"].tolist() == pytest.approx([1, 2 / 3, 3 / 7, 0.7, 0])
        assert table["is_overlap"].tolist() == [True, True, False, True, False]
        assert table["overlap_rank"].tolist() == [1, 3, 4, 2, 100]
        assert table["is_outlier"].tolist() == [False] * 4 + [True]

    def test_noise_is_not_flagged_as_overlap(self):
        X, _ = softkern.datasets.make_dense_regions(
            n_rectangle=40, n_ring=120, n_noise=300, random_state=0
        )
        model = softkern.AlphaCutClustering(bandwidth=0.5, alpha="valley").fit(X)
        table = rank_points(model)
        noise = model.labels_ == -1
        assert noise.sum() > 50
        assert (table["membership"][noise] == 0).all()
        assert (table["membership"][~noise] > 0).all()
        assert not table["is_overlap"][noise].any()
        assert (table["overlap_score"][noise] == 0).all()
        assert table["is_outlier"].sum() < 5  # noise is not rare here


class TestFewAndUnusualPoints:
    @pytest.mark.parametrize("name", list(MODELS))
    @pytest.mark.parametrize("n", [2, 5, 9])
    def test_few_points(self, name, n):
        rng = np.random.default_rng(n)
        X = rng.normal(size=(n, 2))
        try:
            model = fitted(name, X)
        except ValueError as error:  # fewer points than the model needs
            pytest.skip(str(error))
        table = rank_points(model)
        assert len(table) == n
        assert table.notna().all(axis=None)
        assert table["is_outlier"].sum() <= (n > 5)

    @pytest.mark.parametrize("name", list(MODELS))
    def test_identical_points(self, name):
        try:
            model = fitted(name, np.ones((30, 2)), bandwidth=1.0)
        except ValueError as error:
            pytest.skip(str(error))
        table = rank_points(model)
        assert (table["outlier_rank"] == 1).all()
        assert not table["is_outlier"].any()
        assert not rank_points(model, contamination=0.2)["is_outlier"].any()

    def test_one_outlier_among_few(self):
        scores = [1.0, 1.2, 0.8, 0.9, 1.1, 1.3, 1.05, 50.0]
        table = rank_points(native(scores))
        assert table["is_outlier"].tolist() == [False] * 7 + [True]

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_too_few_points_for_any_outlier(self, n):
        assert not rank_points(native(np.arange(n) ** 3.0))["is_outlier"].any()

    def test_one_different_score_among_equal_ones_is_an_outlier(self):
        table = rank_points(native(np.r_[np.zeros(50), 1.0]))
        assert table["is_outlier"].tolist() == [False] * 50 + [True]
        assert table["outlier_rank"].tolist() == [2] * 50 + [1]

    def test_infinite_scores(self):
        few = rank_points(native(np.r_[np.linspace(0, 1, 98), np.inf, np.inf, -np.inf]))
        assert few["is_outlier"].tolist() == [False] * 98 + [True, True, False]
        assert few["outlier_rank"][98:].tolist() == [1, 1, 101]
        assert np.isposinf(few["outlier_score"][98])
        many = rank_points(native(np.r_[np.linspace(0, 1, 50), np.full(50, np.inf)]))
        assert not many["is_outlier"].any()
        assert many["outlier_score"][50:].nunique() == 1
        assert many["outlier_score"][50] > many["outlier_score"][:50].max()
        share = rank_points(
            native(np.r_[np.linspace(0, 1, 98), np.inf, np.inf]), contamination=0.02
        )
        assert share["is_outlier"].tolist() == [False] * 98 + [True, True]
        every = rank_points(native(np.full(20, np.inf)))
        assert not every["is_outlier"].any()
        assert every["outlier_score"].to_numpy() == pytest.approx(np.log10(2))

    def test_rounding_does_not_separate_equal_points(self):
        scores = np.repeat(np.linspace(1, 2, 20), 5) * (1 + 1e-15 * np.tile(np.arange(5), 20))
        table = rank_points(native(scores))
        assert sorted(set(table["outlier_rank"])) == list(range(1, 100, 5))

    def test_crowded_scores_are_not_treated_as_equal(self):
        scores = np.linspace(0, 1, 50_000, dtype=np.float32)
        model = native(scores)
        model.outlier_scores_ = scores
        assert rank_points(model)["outlier_rank"].nunique() == np.unique(scores).size

    def test_points_without_weight_are_ranked_but_do_not_count(self):
        scores = np.r_[np.random.default_rng(0).exponential(size=100), np.full(40, 1e3)]
        weight = np.r_[np.ones(100), np.zeros(40)]
        table = rank_points(native(scores, weight=weight))
        assert table["is_outlier"][100:].all()
        alone = rank_points(native(scores[:100]))
        assert np.array_equal(table["outlier_score"][:100], alone["outlier_score"])


class TestInput:
    def test_not_fitted(self):
        with pytest.raises(NotFittedError):
            rank_points(softkern.OneClassPCM())

    @pytest.mark.parametrize("model", [KMeans(2), softkern.OneClassPCM, "model", None])
    def test_other_objects_are_rejected(self, model):
        with pytest.raises(TypeError, match="cannot be ranked"):
            rank_points(model)

    @pytest.mark.parametrize("share", [0, 0.6, -1, np.nan])
    def test_contamination_out_of_range(self, share):
        with pytest.raises(ValueError, match=r"must lie in \(0, 0.5\]"):
            rank_points(native([1.0, 2.0]), contamination=share)

    @pytest.mark.parametrize("number", [0, -1, np.inf, np.nan])
    def test_false_alarms_out_of_range(self, number):
        with pytest.raises(ValueError, match="must be a positive number"):
            rank_points(native([1.0, 2.0]), false_alarms=number)

    def test_nan_scores(self):
        with pytest.raises(ValueError, match="NaN for 1 samples, first in row 1"):
            rank_points(native([1.0, np.nan]))

    def test_weights_of_other_points(self):
        with pytest.raises(ValueError, match="3 weights in sample_weight_, but scores of 2"):
            rank_points(native([1.0, 2.0], weight=np.ones(3)))

    def test_wrong_number_of_columns(self, X):
        with pytest.raises(ValueError, match="features"):
            rank_points(fitted("OneClassPCM", X), np.ones((3, 5)))

    def test_pipeline(self, X):
        pipeline = make_pipeline(StandardScaler(), softkern.OneClassPCM()).fit(X)
        plain = softkern.OneClassPCM().fit(StandardScaler().fit_transform(X))
        pd.testing.assert_frame_equal(rank_points(pipeline), rank_points(plain))
        frame = pd.DataFrame([[0.0, 0.0], [1e3, 1e3]], index=["in", "out"], columns=["a", "b"])
        named = make_pipeline(StandardScaler(), softkern.OneClassPCM())
        named.fit(pd.DataFrame(X, columns=["a", "b"]))
        assert rank_points(named, frame).loc["out", "is_outlier"]

    def test_model_without_memberships(self):
        model = native(np.arange(10.0))
        del model.memberships_
        table = rank_points(model)
        assert table["membership"].to_numpy() == pytest.approx(10.0 ** -table["outlier_score"])

    @pytest.mark.parametrize("name", ["OneClassPCM", "FuzzyCMeans"])
    def test_sparse_rows_are_ranked_like_dense_ones(self, name, X):
        dense, sparse = (fitted(name, data, bandwidth=2.0, tol=1e-10) for data in (X, csr_array(X)))
        for new in (None, X[:50]):
            one = rank_points(dense, new)
            two = rank_points(sparse, None if new is None else csr_array(new))
            pd.testing.assert_frame_equal(one, two, check_exact=False, rtol=1e-6, atol=1e-9)

    @pytest.mark.parametrize("name", ["OneClassPCM", "FuzzyCMeans"])
    def test_a_precomputed_matrix_gives_the_ranks_of_its_kernel(self, name, X):
        K = rbf_kernel(X, gamma=1 / 8)
        direct = fitted(name, X, bandwidth=2.0, tol=1e-10)
        precomputed = fitted(name, K, kernel="precomputed", tol=1e-10)
        one, two = rank_points(direct, X[:50]), rank_points(precomputed, K[:50])
        for column in ("label", "outlier_rank"):
            assert np.array_equal(one[column], two[column])
        assert one["membership"].to_numpy() == pytest.approx(two["membership"], rel=1e-6)

    def test_a_model_is_called_once(self):
        scores = np.random.default_rng(0).exponential(size=(100, 3))
        model, plain = OneRecord().fit(scores), Native().fit(scores)
        pd.testing.assert_frame_equal(rank_points(model), rank_points(plain))
        assert model.n_calls_ == 0
        pd.testing.assert_frame_equal(rank_points(model, scores), rank_points(plain, scores))
        assert model.n_calls_ == 1

    @pytest.mark.parametrize("name", ["OneClassPCM", "FuzzyCMeans"])
    def test_no_samples_give_an_empty_table(self, name, X):
        ranker = Ranker(fitted(name, X))
        table = ranker.table(ranker.score_points(X[:0]))
        assert len(table) == 0
        whole = ranker.table(ranker.score_points(X))
        assert table.dtypes.to_dict() == whole.dtypes.to_dict()
        assert len(rank_points(make_pipeline(StandardScaler(), fitted(name, X)), X[:0])) == 0
