"""Stability of outliers: equality with Table II of the paper, and simple limits."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.base import BaseEstimator
from sklearn.ensemble import IsolationForest
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from softkern.datasets import make_gaussian_outliers
from softkern.selection import stability_score


class Distance(BaseEstimator):
    """A minimal detector: minus the distance to the mean."""

    def fit(self, X, y=None):
        self.center_ = np.asarray(X).mean(axis=0)
        return self

    def decision_function(self, X):
        return -np.linalg.norm(np.asarray(X) - self.center_, axis=1)


class Norm(Distance):
    """A score that does not depend on the training data."""

    def decision_function(self, X):
        return -np.linalg.norm(np.asarray(X), axis=1)


class Noise(BaseEstimator):
    """Random scores."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None):
        self.rng_ = np.random.default_rng(self.random_state)
        return self

    def score_samples(self, X):
        return self.rng_.normal(size=len(X))


class Constant(Noise):
    def score_samples(self, X):
        return np.full(len(X), self.value)

    value = 1.0


class Missing(Constant):
    value = np.nan


class Column(Constant):
    def score_samples(self, X):
        return np.ones((len(X), 1))


@pytest.fixture(scope="module")
def X():
    return make_gaussian_outliers(random_state=0)[0]


def run_reference(detector, X, rejection, seeds):
    """Follow Table II line by line with sets and loops, for scores without ties."""
    scores = []
    for seed in seeds:
        first, second = train_test_split(X, train_size=len(X) // 2, random_state=int(seed))
        detector.fit(first)
        training = sorted(detector.decision_function(first))
        last = round(rejection * len(first)) - 1
        threshold = (training[last] + training[last + 1]) / 2
        by_first = set()
        for i in range(len(second)):
            if detector.decision_function(second[i : i + 1])[0] < threshold:
                by_first.add(i)
        detector.fit(second)
        value = [detector.decision_function(second[i : i + 1])[0] for i in range(len(second))]
        ranked = sorted(range(len(second)), key=lambda i: value[i])
        by_second = set(ranked[: round(rejection * len(second))])
        scores.append(len(by_first & by_second) / len(by_first | by_second))
    return scores


@pytest.mark.parametrize("rejection", [0.02, 0.1, 0.37])
@pytest.mark.parametrize("n", [430, 301])
def test_equals_table_two_of_the_paper(X, rejection, n):
    result = stability_score(Distance(), X[-n:], rejection=rejection, n_draws=8, random_state=5)
    seeds = np.random.RandomState(5).randint(2**31 - 1, size=8)
    assert result.scores.tolist() == run_reference(Distance(), X[-n:], rejection, seeds)


def test_a_score_independent_of_the_fit_varies_only_by_its_threshold():
    X = np.random.default_rng(0).normal(size=(4000, 2))
    result = stability_score(Norm(), X, rejection=0.1, n_draws=20)
    # The share of one half beyond the other's quantile has a standard error of √(2 ν (1 − ν) / n).
    expected = 1 - np.sqrt(2 / np.pi) * np.sqrt(2 * 0.1 * 0.9 / 2000) / 0.1
    assert result.mean == pytest.approx(expected, abs=0.03)


def test_stability_of_identical_halves_is_one(X, monkeypatch):
    monkeypatch.setattr(
        "softkern.selection.stability.train_test_split", lambda X, **_: (X[:200], X[:200])
    )
    for detector in (
        Distance(),
        KernelDensity(),
        OneClassSVM(nu=0.1),
        IsolationForest(n_estimators=5, random_state=0),
    ):
        assert stability_score(detector, X[:400], rejection=0.1, n_draws=2).mean == 1


@pytest.mark.parametrize("rejection", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("detector", [Noise(), Constant()], ids=["noise", "constant"])
def test_random_scores_reach_the_chance_level(detector, rejection):
    X = np.zeros((2000, 1))
    result = stability_score(detector, X, rejection=rejection, n_draws=400)
    error = result.std / np.sqrt(400)
    assert result.chance == pytest.approx(rejection / (2 - rejection))
    assert result.mean == pytest.approx(result.chance, abs=4 * error + 0.002)


def test_clear_outliers_are_stable(X):
    result = stability_score(KernelDensity(), X, rejection=0.05, n_draws=30)
    assert result.scores.shape == (30,)
    assert ((0 <= result.scores) & (result.scores <= 1)).all()
    assert result.mean == result.scores.mean()
    assert result.std == result.scores.std()
    assert result.mean > 10 * result.chance


def test_one_class_pcm_is_as_stable_as_kde_and_more_than_a_one_class_svm(X):
    from softkern import OneClassPCM

    pcm, kde, svm = (
        stability_score(detector, X, rejection=0.05, n_draws=30)
        for detector in (
            OneClassPCM(bandwidth=1.0),
            KernelDensity(),
            OneClassSVM(gamma=0.5, nu=0.05),
        )
    )
    assert pcm.mean == pytest.approx(kde.mean, abs=0.05)
    assert (pcm.scores > svm.scores).mean() > 0.9


def test_seeds(X):
    def run(seed, detector=None, **kwargs):
        return stability_score(
            detector or Noise(), X, n_draws=5, random_state=seed, **kwargs
        ).scores

    state = np.random.get_state()[1].copy()  # noqa: NPY002 (the global state must not change)
    assert np.array_equal(run(0), run(0))
    with parallel_config("threading"):  # processes take seconds to start
        assert np.array_equal(run(0), run(0, n_jobs=2))
    assert not np.array_equal(run(0), run(1))
    pipeline = make_pipeline(StandardScaler(), IsolationForest(n_estimators=5))
    assert np.array_equal(run(0, pipeline), run(0, pipeline))
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002


def test_splits_do_not_depend_on_the_detector(X):
    scored = []

    def record_rows(fitted, rows):
        scored.append(np.asarray(rows))
        return fitted.score_samples(rows)

    stability_score(KernelDensity(), X, n_draws=2, scoring=record_rows)
    half = len(scored)
    stability_score(IsolationForest(n_estimators=2), X, n_draws=2, scoring=record_rows)
    assert all(map(np.array_equal, scored[:half], scored[half:]))


def test_the_detector_is_not_modified(X):
    detector = IsolationForest(n_estimators=2)
    stability_score(detector, X, n_draws=2)
    assert not hasattr(detector, "estimators_")
    assert detector.random_state is None


def test_only_the_order_of_scores_matters(X):
    plain = stability_score(Distance(), X, n_draws=10)
    transformed = stability_score(
        Distance(),
        X,
        n_draws=10,
        scoring=lambda f, rows: np.arctan(f.decision_function(rows)) * 1e-9,
    )
    # A monotone transformation moves the midpoint by one sample at most.
    assert np.abs(plain.scores - transformed.scores).max() <= 2 / plain.n_rejected


def test_infinite_scores_are_ranked(X):
    result = stability_score(KernelDensity(kernel="tophat", bandwidth=0.5), X, n_draws=3)
    assert np.isfinite(result.scores).all()


def test_input_types(X):
    dense = stability_score(Distance(), X, n_draws=3).scores
    frame = pd.DataFrame(X, columns=["a", "b"])
    assert np.array_equal(dense, stability_score(Distance(), frame, n_draws=3).scores)
    assert np.array_equal(dense, stability_score(Distance(), X.tolist(), n_draws=3).scores)
    forest = IsolationForest(n_estimators=2, random_state=0)
    stability_score(forest, sp.csr_matrix(X), n_draws=1)


def test_repr(X):
    result = stability_score(Distance(), X, n_draws=3, rejection=0.1)
    assert repr(result).startswith(f"StabilityResult({result.mean:.3f} ± {result.std:.3f} over 3")


@pytest.mark.parametrize("rejection", [0, 1, -0.1, 1.5, np.nan, "a tenth", None])
def test_bad_rejection(X, rejection):
    with pytest.raises(ValueError, match="rejection must be a number between 0 and 1"):
        stability_score(Distance(), X, rejection=rejection)


@pytest.mark.parametrize("n_draws", [0, -1, 2.5])
def test_bad_n_draws(X, n_draws):
    with pytest.raises(ValueError, match="n_draws must be an integer ≥ 1"):
        stability_score(Distance(), X, n_draws=n_draws)


@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_too_few_points(X, n):
    with pytest.raises(ValueError, match="Use more samples"):
        stability_score(Distance(), X[:n], rejection=0.1)


def test_detector_without_scores(X):
    with pytest.raises(TypeError, match="novelty=True"):
        stability_score(LocalOutlierFactor(), X)
    assert stability_score(LocalOutlierFactor(novelty=True), X, n_draws=1).mean >= 0


@pytest.mark.parametrize(
    ("detector", "message"), [(Missing(), "NaN"), (Column(), r"shape \(215, 1\) for 215 samples")]
)
def test_bad_scores(X, detector, message):
    with pytest.raises(ValueError, match=message):
        stability_score(detector, X, n_draws=1)


def test_precomputed_kernel(X):
    from softkern import OneClassPCM

    detector = OneClassPCM(kernel="precomputed")
    with pytest.raises(ValueError, match="matrix of all pairs"):
        stability_score(detector, X @ X.T)


class Nearness(BaseEstimator):
    """Minus the distance to the training mean, as score_samples."""

    def fit(self, X, y=None):
        self.mean_ = np.mean(X, axis=0)
        return self

    def score_samples(self, X):
        return -np.linalg.norm(X - self.mean_, axis=1)


def test_several_rejections_use_the_same_fits():
    X, _ = make_gaussian_outliers(random_state=0)
    fits = []

    class Counting(Nearness):
        def fit(self, X, y=None):
            fits.append(len(X))
            return super().fit(X)

    several = stability_score(Counting(), X, rejection=[0.02, 0.1], n_draws=4)
    assert len(fits) == 8
    for result in several:
        alone = stability_score(Nearness(), X, rejection=result.rejection, n_draws=4)
        assert result.scores == pytest.approx(alone.scores)
        assert result.n_rejected == alone.n_rejected
    with pytest.raises(ValueError, match="number between 0 and 1"):
        stability_score(Nearness(), X, rejection=[0.1, 2.0], n_draws=4)
