"""Iteration with a low-rank surrogate: the same fixed point with fewer exact products."""

import importlib

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from softkern import FuzzyCMeans, OneClassKMeans, OneClassMixture, PossibilisticCMeans
from softkern.kernels import Gaussian
from softkern.models import one_class_clusterer
from softkern.operators.dense import DenseOperator
from softkern.operators.low_rank import NystroemOperator
from softkern.rules.base import Rule
from softkern.rules.centers import Mean
from softkern.rules.fuzzy import Fuzzy
from softkern.rules.one_class import FORMULATIONS, Mixture
from softkern.rules.possibilistic import Possibilistic
from softkern.solvers.alternate import alternate, alternate_all
from softkern.solvers.dual import OneClassCenters
from softkern.solvers.initialization import hard_rule, seed_mass
from softkern.solvers.steps import Steps
from softkern.solvers.surrogate import SETTLED, SurrogateSteps, make_driver

PLAN_MODULE = importlib.import_module("softkern.planning.plan")  # not the function
RULES = {
    "fuzzy": lambda n: Fuzzy(1.7),
    "outlier fuzzy": lambda n: Fuzzy(2.0, 1.0, float(n)),
    "possibilistic": lambda n: Possibilistic(np.full(3, 0.3)),
}


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    """Plan for one thread: with more threads, exact products may be cheap enough."""
    monkeypatch.setattr(PLAN_MODULE, "available_threads", lambda: 1)


def make_problem(seed, rank=None, n=150):
    """Return an operator, the same with a low-rank surrogate, weights and initial centers."""
    generator = np.random.RandomState(seed)
    d = int(generator.randint(2, 7))
    X = make_blobs(n, d, centers=3, cluster_std=2.0, random_state=seed)[0]
    kernel = Gaussian(float(generator.uniform(2, 6)))
    weight = generator.uniform(0.5, 2, n)
    plain, quick = DenseOperator(kernel, X), CountingOperator(kernel, X)
    rank = int(generator.randint(10, 60)) if rank is None else rank
    quick.surrogate = NystroemOperator(kernel, X, rank=rank)
    start = Mean().centers(seed_mass(plain, weight, 3, generator), weight, None)
    return plain, quick, weight, start


class CountingOperator(DenseOperator):
    """Counts its products."""

    count = 0

    def _product(self, A):
        self.count += 1
        return super()._product(A)


def run_both(seed, rule, tol=1e-9, **options):
    plain, quick, weight, start = make_problem(seed, **options)
    loop = {"sample_weight": weight, "tol": tol, "max_iter": 5000}
    rule = Rule(RULES[rule](len(weight)), Mean())
    return alternate(plain, rule, start, **loop), alternate(quick, rule, start, **loop), quick


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(17))
def test_the_loop_ends_at_a_fixed_point_of_the_exact_operator(rule, seed):
    _, found, quick = run_both(seed, rule)
    assert found.converged
    again = alternate(
        DenseOperator(quick.kernel, quick.X),
        found.rule,
        found.centers,
        sample_weight=make_problem(seed)[2],
        tol=1e-8,
        max_iter=2,
    )
    assert again.converged  # one exact step from there changes nothing
    assert again.memberships == pytest.approx(found.memberships, abs=1e-7)
    exact = DenseOperator(quick.kernel, quick.X).geometry(found.coefficients)
    assert found.geometry.product == pytest.approx(exact.product, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_an_accurate_factor_gives_the_result_of_the_plain_loop(seed):
    plain, found, quick = run_both(seed, "fuzzy", rank=60)
    assert found.memberships == pytest.approx(plain.memberships, abs=1e-6)
    assert found.objective == pytest.approx(plain.objective, rel=1e-9)
    assert quick.count < plain.n_iter / 2
    assert sum(found.history["low_rank_steps"]) > found.n_iter


@pytest.mark.parametrize(("formulation", "nu"), [("svdd", 0.4), ("svdd", 0.95), ("ocsvm", 0.95)])
@pytest.mark.parametrize("seed", range(6))
def test_one_class_svms_end_at_a_fixed_point_of_the_exact_operator(seed, nu, formulation):
    plain, quick, weight, _ = make_problem(seed, rank=60)
    form = FORMULATIONS[formulation]
    scale = 0.2 if formulation == "svdd" else 0.02 * weight.sum()
    mass = seed_mass(plain, weight, 3, np.random.RandomState(seed))

    def rule(operator):
        return Rule(Mixture(form, scale), OneClassCenters(operator, nu, form))

    loop = {"sample_weight": weight, "tol": 1e-7, "max_iter": 500, "cycles": True}
    start = rule(quick).centers.on_surrogate().centers(mass, weight, None)
    found = alternate(quick, rule(quick), start, **loop)
    assert found.converged
    assert sum(found.history["low_rank_steps"]) > 0
    exact = plain.geometry(found.coefficients)
    assert found.geometry.product == pytest.approx(exact.product, abs=1e-12)
    assert (found.centers.margins.solution.gap <= SETTLED).all()
    again = alternate(plain, rule(plain), found.centers, **{**loop, "tol": 1e-5, "max_iter": 2})
    assert again.converged  # one exact step from there changes nothing
    margins = again.centers.margins
    assert found.centers.margins.offset == pytest.approx(margins.offset, rel=1e-4)
    assert found.centers.margins.squared_radius == pytest.approx(margins.squared_radius, rel=1e-3)


def test_an_inaccurate_factor_is_abandoned():
    plain, found, _ = run_both(2, "fuzzy", rank=1)
    assert found.converged
    assert found.history["low_rank_steps"][-1] == 0  # the last steps were exact
    assert found.objective == pytest.approx(plain.objective, rel=1e-6)


def test_without_a_surrogate_steps_are_plain():
    plain, quick, weight, start = make_problem(0)
    fuzzy = Rule(Fuzzy(2.0), Mean())
    assert plain.surrogate is None
    assert type(make_driver(plain, fuzzy, start, weight)) is Steps
    assert type(make_driver(quick, fuzzy, start, weight)) is SurrogateSteps


def test_initializations_together_end_like_each_alone():
    plain, _, weight, _ = make_problem(1)
    generator = np.random.RandomState(0)
    starts = [
        Mean().centers(seed_mass(plain, weight, 3, generator), weight, None) for _ in range(4)
    ]
    for memberships in (Fuzzy(2.0), hard_rule(plain, FORMULATIONS["svdd"])):
        rule = Rule(memberships, Mean())
        options = {"sample_weight": weight, "tol": 1e-6, "max_iter": 50}
        together = alternate_all(plain, rule, starts, **options)
        for start, found in zip(starts, together, strict=True):
            alone = alternate(plain, rule, start, **options)
            assert found.n_iter == alone.n_iter
            for name, values in alone.history.items():
                assert found.history[name] == pytest.approx(values, rel=1e-9, abs=1e-12)
            assert found.memberships == pytest.approx(alone.memberships, abs=1e-9)


@pytest.mark.parametrize("model", [FuzzyCMeans, PossibilisticCMeans])
def test_large_tables_are_accelerated_with_the_same_result(model, monkeypatch):
    X = make_blobs(2100, 10, centers=3, cluster_std=3.0, random_state=0)[0]
    quick = model(3, n_init=1, engine="tiled", tol=1e-7).fit(X)
    monkeypatch.setattr(model, "_low_rank_from", np.inf)
    plain = model(3, n_init=1, engine="tiled", tol=1e-7).fit(X)
    assert quick.plan_.surrogate is not None
    assert plain.plan_.surrogate is None
    assert "low-rank surrogate" in str(quick.plan_)
    assert sum(quick.history_["low_rank_steps"]) > 0 == sum(plain.history_["low_rank_steps"])
    # possibilistic clusters keep the widths of their initialization, which is less accurate
    digits = 1e-6 if model is FuzzyCMeans else 1e-4
    assert quick.memberships_ == pytest.approx(plain.memberships_, abs=100 * digits)
    assert quick.objective_ == pytest.approx(plain.objective_, rel=digits)
    assert (quick.labels_ == plain.labels_).all()


@pytest.mark.parametrize("model", [OneClassKMeans, OneClassMixture])
def test_one_class_svms_of_large_tables_are_accelerated(model, monkeypatch):
    X = make_blobs(2100, 8, centers=3, cluster_std=2.0, random_state=0)[0]
    plain = model(3, n_init=5, engine="tiled", tol=1e-6).fit(X)
    monkeypatch.setattr(model, "_low_rank_from", 2000)
    monkeypatch.setattr(one_class_clusterer, "LOW_RANK_FROM", 2000)
    monkeypatch.setattr(one_class_clusterer, "STARTS_ROWS", 500)
    quick = model(3, n_init=5, engine="tiled", tol=1e-6).fit(X)
    assert quick.plan_.surrogate is not None
    assert plain.plan_.surrogate is None
    assert sum(quick.history_["low_rank_steps"]) > 0 == sum(plain.history_["low_rank_steps"])
    assert (quick.labels_ == plain.labels_).all()
    assert quick.memberships_ == pytest.approx(plain.memberships_, abs=1e-4)
    assert quick.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    assert quick.outlier_scores_ == pytest.approx(plain.outlier_scores_, abs=1e-3)


def test_annealing_of_large_tables(monkeypatch):
    X = make_blobs(2500, 8, centers=3, random_state=0)[0]
    monkeypatch.setattr(one_class_clusterer, "LOW_RANK_FROM", 2000)
    monkeypatch.setattr(one_class_clusterer, "STARTS_ROWS", 500)
    model = OneClassMixture(3, n_init=1, annealing="auto").fit(X)
    assert len(model.history_["scale"]) == model.n_iter_
    assert model.converged_
    assert sorted(np.bincount(model.labels_)) == [833, 833, 834]


@pytest.mark.parametrize("stopping", ["objective", "sum", "relative", "mean"])
def test_every_stopping_rule_is_accelerated(stopping):
    X = make_blobs(2500, 8, centers=3, cluster_std=3.0, random_state=0)[0]
    model = FuzzyCMeans(3, n_init=1, engine="tiled", tol=1e-5, stopping=stopping).fit(X)
    assert model.converged_
    assert sum(model.history_["low_rank_steps"]) > 0
