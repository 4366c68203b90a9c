"""Sweeps give the results of the plain loop in every step."""

import threading

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from softkern import FuzzyCMeans
from softkern.kernels import Gaussian, Linear
from softkern.operators.dense import DenseOperator
from softkern.operators.features import FeatureOperator
from softkern.rules.base import Centers, Rule
from softkern.rules.centers import Mean
from softkern.rules.fuzzy import Fuzzy
from softkern.rules.memberships import fuzzy
from softkern.solvers.alternate import alternate
from softkern.solvers.steps import Steps
from softkern.solvers.surrogate import make_driver
from softkern.solvers.sweeps import Sweeps


def make_problem(n=700, c=4, dtype=np.float64, seed=0):
    X = make_blobs(n, 3, centers=5, cluster_std=2.0, random_state=seed)[0].astype(dtype)
    generator = np.random.default_rng(seed)
    weight = generator.integers(0, 4, n).astype(dtype)
    start = generator.uniform(size=(n, c)).astype(dtype)
    return X, weight, start / start.sum(axis=0)


def run_both(X, weight, start, m=2.0, **options):
    options = {"sample_weight": weight, "tol": 1e-8, "max_iter": 200, **options}
    rule, start = Rule(Fuzzy(m), Mean()), Centers(start)
    swept = alternate(FeatureOperator(Linear(), X), rule, start, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("softkern.solvers.alternate.make_driver", Steps)
        plain = alternate(FeatureOperator(Linear(), X), rule, start, **options)
    return swept, plain


def assert_same(swept, plain, rel=1e-9):
    assert swept.n_iter == plain.n_iter
    assert swept.converged == plain.converged
    for name in ("objective", "change"):
        assert swept.history[name] == pytest.approx(plain.history[name], rel=1e-5, abs=1e-10)
    assert swept.objective == pytest.approx(plain.objective, rel=rel)
    assert swept.memberships == pytest.approx(plain.memberships, abs=rel)
    assert swept.coefficients == pytest.approx(plain.coefficients, abs=rel)
    assert swept.geometry.distances == pytest.approx(plain.geometry.distances, rel=1e-6)


@pytest.mark.parametrize("m", [1.3, 2.0, 2.7])
@pytest.mark.parametrize("stopping", ["relative", "mean", "sum", "objective"])
def test_sweeps_equal_the_plain_loop(m, stopping):
    assert_same(*run_both(*make_problem(), m=m, stopping=stopping))


@pytest.mark.parametrize("max_iter", [1, 2, 3, 4, 7])
def test_sweeps_equal_the_plain_loop_at_any_max_iter(max_iter):
    swept, plain = run_both(*make_problem(), tol=0.0, max_iter=max_iter)
    assert swept.n_iter == max_iter
    assert_same(swept, plain)


def test_blocks_and_threads_do_not_matter(monkeypatch):
    X, weight, start = make_problem()
    whole = run_both(X, weight, start)[0]
    monkeypatch.setattr("softkern.solvers.sweeps.BLOCK_VALUES", 64)
    monkeypatch.setattr("softkern.solvers.sweeps.available_threads", lambda: 3)
    assert_same(run_both(X, weight, start)[0], whole)


def test_points_on_centers_and_vanishing_clusters():
    X, _, _ = make_problem(60)
    on_points = np.zeros((60, 3))
    on_points[[3, 8, 20], [0, 1, 2]] = 1
    assert_same(*run_both(X, np.ones(60), on_points))
    far = np.concatenate([X[:30], X[:30] + 1e3])
    crowded = np.zeros((60, 3))
    crowded[[0, 1, 31], [0, 1, 2]] = 1
    assert_same(*run_both(far, np.ones(60), crowded, m=1.002, tol=1e-6), rel=1e-6)


def test_float32():
    X, weight, start = make_problem(dtype=np.float32)
    swept, plain = run_both(X, weight, start, tol=1e-4)
    assert swept.memberships.dtype == np.float32
    assert swept.memberships == pytest.approx(plain.memberships, abs=2e-3)


def test_only_fuzzy_means_over_features_are_swept():
    X, weight, start = make_problem(30)
    operator = FeatureOperator(Linear(), X)
    fuzzy_means = Rule(Fuzzy(2.0), Mean())
    assert type(make_driver(operator, fuzzy_means, Centers(start), weight)) is Sweeps
    outliers = Rule(Fuzzy(2.0, 1.0, 3.0), Mean())
    assert type(make_driver(operator, outliers, Centers(start), weight)) is Steps
    dense = DenseOperator(Gaussian(1.0), X)
    assert type(make_driver(dense, fuzzy_means, Centers(start), weight)) is Steps


def test_progress_is_shown(capsys):
    X, weight, start = make_problem(100)
    operator, rule = FeatureOperator(Linear(), X), Rule(Fuzzy(2.0), Mean())
    options = {"sample_weight": weight, "tol": 1e-8, "max_iter": 50, "verbose": True}
    alternate(operator, rule, Centers(start), **options)
    assert "iteration" in capsys.readouterr().out


@pytest.mark.parametrize("m", [1.2, 2.0])
def test_results_of_sweeps_agree_with_the_geometry_of_the_operator(m):
    X = np.random.default_rng(0).normal(size=(500, 3)) + 5
    weight = np.random.default_rng(1).uniform(0.5, 2, 500)
    model = FuzzyCMeans(3, m=m, kernel="linear").fit(X, sample_weight=weight)
    operator = FeatureOperator(Linear(), X)
    expected = operator.geometry(model.dual_coef_)
    operator.release()
    assert operator.geometry(model.dual_coef_).distances == pytest.approx(expected.distances)
    # the coefficients follow from the memberships, and these from the coefficients
    mass = weight[:, None] * fuzzy(expected.distances, m) ** m
    assert model.dual_coef_ == pytest.approx(mass / mass.sum(axis=0), abs=1e-4 * mass.max())
    assert model.memberships_ == pytest.approx(fuzzy(expected.distances, m))
    assert (model.labels_ == np.argmax(model.memberships_, axis=1)).all()


def test_a_run_ends_its_threads():
    X = np.random.default_rng(0).normal(size=(5000, 2))
    operator, weight = FeatureOperator(Linear(), X), np.ones(5000)
    start = Mean().centers(np.eye(5000)[:, :3], weight, None)
    before = threading.active_count()
    driver = Sweeps(operator, Rule(Fuzzy(2.0), Mean()), start, weight, tol=0.0, max_iter=2)
    driver.turn()
    assert threading.active_count() > before
    driver.advance()
    driver.turn()
    driver.solution()
    assert threading.active_count() == before
