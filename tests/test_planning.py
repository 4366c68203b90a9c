import dataclasses
import importlib
import re
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from softkern import FuzzyCMeans, plan
from softkern.kernels import Gaussian, Laplacian, Linear, Polynomial
from softkern.kernels.wrapped import Precomputed
from softkern.operators import KernelOperator
from softkern.operators.blocked import BlockedOperator
from softkern.operators.dense import DenseOperator
from softkern.operators.features import FeatureOperator
from softkern.operators.fourier import FourierOperator
from softkern.operators.low_rank import NystroemOperator
from softkern.operators.precomputed import PrecomputedOperator
from softkern.operators.tiled import TiledOperator
from softkern.planning import ENGINES, Cost, register
from tests.peak import measure

GIB = 2**30
plan_module = importlib.import_module("softkern.planning.plan")  # not the function


@pytest.mark.parametrize(
    ("shape", "options", "engine"),
    [
        ((1000, 10), {}, "dense"),
        ((1_000_000, 50), {"memory_limit": 8 * GIB}, "nystroem"),
        ((1_000_000, 50), {}, "tiled"),
        ((1_000_000, 10), {"kernel": "linear"}, "features"),
        ((30_000, 20), {}, "tiled"),
        ((5000, 5), {"kernel": "sigmoid"}, "dense"),
        ((100_000, 5), {"kernel": "sigmoid"}, "blocked"),
    ],
)
def test_choice_of_engine(shape, options, engine):
    assert plan(shape, **{"memory_limit": 2 * GIB, **options}).engine == engine


def test_choice_depends_on_the_extent_of_the_data():
    X = np.random.default_rng(0).normal(size=(100_000, 2))
    assert plan(X, bandwidth=0.5, memory_limit=2 * GIB).engine == "fourier"
    assert plan(X, bandwidth=1e-4, memory_limit=2 * GIB).engine == "tiled"


def test_skipped_tiles_cost_nothing():
    X = np.random.default_rng(0).normal(size=(50_000, 2))
    wide, narrow = (plan(X, bandwidth=b, engine="tiled").product_seconds for b in (1.0, 0.0005))
    assert narrow < 0.2 * wide


def test_a_plan_of_a_shape_estimates_the_bandwidth_when_it_is_built():
    X = np.random.default_rng(0).normal(size=(300, 2)) * 100
    built = plan((300, 2)).build(X.tolist())
    assert built.kernel == plan(X).kernel


def test_choice_does_not_depend_on_the_speed_of_the_computer(monkeypatch):
    monkeypatch.setattr("softkern.planning.engines.machine_speed", lambda: 9.0)
    slow = plan((20_000, 5), memory_limit=GIB)
    monkeypatch.setattr("softkern.planning.engines.machine_speed", lambda: 0.2)
    fast = plan((20_000, 5), memory_limit=GIB)
    assert slow.engine == fast.engine
    assert slow.product_seconds == pytest.approx(45 * fast.product_seconds)


def test_patience_decides_between_exact_and_approximate_engines():
    assert plan((100_000, 30), memory_limit=GIB, patience=1e9).engine == "tiled"
    assert plan((100_000, 30), memory_limit=GIB, patience=1.0).engine == "nystroem"


@pytest.mark.parametrize(
    ("engine", "kernel", "operator"),
    [
        ("dense", Gaussian(2.0), DenseOperator),
        ("dense", Precomputed(), PrecomputedOperator),
        ("auto", Precomputed(), PrecomputedOperator),
        ("tiled", Gaussian(2.0), TiledOperator),
        ("tiled", Linear(), FeatureOperator),
        ("tiled", Laplacian(2.0), BlockedOperator),
        ("tiled", Polynomial(2), BlockedOperator),
        ("blocked", Gaussian(2.0), BlockedOperator),
        ("fourier", Gaussian(2.0), FourierOperator),
        ("nystroem", Gaussian(2.0), NystroemOperator),
    ],
)
def test_build_and_prediction_operator(engine, kernel, operator):
    X = np.random.default_rng(0).normal(size=(200, 2))
    data = np.eye(200) + 1 if not kernel.takes_points else X
    chosen = plan(data, engine=engine, kernel=kernel)
    built = chosen.build(data)
    assert type(built) is operator
    assert chosen.engine == operator.engine
    assert built.kernel == kernel
    served = chosen.prediction_operator(data)
    exact = {DenseOperator: TiledOperator, NystroemOperator: TiledOperator}
    assert type(served) is exact.get(operator, operator)
    a = np.random.default_rng(1).uniform(size=200)
    assert served.cross(data[:9]) @ a == pytest.approx((built @ a)[:9], rel=1e-4)


def test_prediction_operator_of_another_kernel():
    X = np.random.default_rng(0).normal(size=(300, 2))
    chosen = plan(X, engine="fourier", bandwidth=1.0)
    served = chosen.prediction_operator(X[:100], kernel=Gaussian(0.5))
    assert type(served) is FourierOperator
    assert served.kernel == Gaussian(0.5)
    # if the engine does not support this kernel, an exact one is used
    assert type(chosen.prediction_operator(X[:100], kernel=Gaussian(1e-7))) is TiledOperator
    assert type(chosen.prediction_operator(X[:100], kernel=Laplacian(1.0))) is BlockedOperator


def test_prediction_operator_uses_the_options():
    X = np.random.default_rng(0).normal(size=(300, 2))
    chosen = plan(X, engine="fourier", bandwidth=1.0, engine_params={"tolerance": 1e-4})
    assert chosen.build(X).tolerance == chosen.prediction_operator(X[:50]).tolerance == 1e-4


def test_landmarks_depend_on_weights_and_seed():
    X = np.random.default_rng(0).normal(size=(500, 3))
    chosen = plan(X, engine="nystroem", bandwidth=1.0, engine_params={"rank": 20})
    weight = np.where(np.arange(500) < 30, 1.0, 0.0)
    assert set(chosen.build(X, weight).landmarks) <= set(range(30))
    one, two = (chosen.build(X, random_state=seed).landmarks for seed in (0, 1))
    assert not np.array_equal(one, two)
    assert np.array_equal(one, chosen.build(X).landmarks)


# Options and their cost


def test_options_change_the_cost():
    shape, limit = (20_000, 10), 2 * GIB
    few, many = (
        plan(shape, engine="nystroem", engine_params={"rank": rank}, memory_limit=limit)
        for rank in (100, 4000)
    )
    assert many.memory > 20_000 * 4000 * 8 > few.memory
    with pytest.raises(MemoryError, match=r"'nystroem' needs"):
        plan(shape, engine="nystroem", engine_params={"rank": None}, memory_limit=limit).build(
            np.zeros(shape)
        )
    one = plan(shape, engine="tiled", engine_params={"threads": 1})
    assert plan(shape, engine="tiled", engine_params={"threads": 4}).product_seconds < (
        0.3 * one.product_seconds
    )
    coarse, fine = (
        plan((10_000, 2), engine="fourier", engine_params={"tolerance": t}).product_seconds
        for t in (1e-3, 1e-12)
    )
    assert coarse < fine


@pytest.mark.parametrize(
    ("engine", "options", "message"),
    [
        ("auto", {"rank": 9}, "'dense' .chosen by engine='auto'. does not know the option 'rank'"),
        ("auto", {"rank": 9}, "engine='nystroem' does"),
        (
            "dense",
            {"threads": 1},
            "engine='dense' does not know the option 'threads'.*'tiled' does",
        ),
        ("nystroem", {"tolerance": 1e-3}, "option 'tolerance'.*engine='fourier' does"),
        ("tiled", {"color": 1}, "option 'color' of engine_params; no engine does"),
    ],
)
def test_unknown_options_of_an_engine_are_rejected(engine, options, message):
    with pytest.raises(ValueError, match=message):
        plan((1000, 2), engine=engine, engine_params=options)


def test_many_products_are_worth_a_matrix():
    few, many = (plan((8000, 30), products=p, memory_limit=8 * GIB) for p in (1, 500))
    assert (few.engine, many.engine) == ("tiled", "dense")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "sigmoid", "linear"])
@pytest.mark.parametrize("threads", [1, 2, 64])
def test_small_problems_have_the_engine_with_the_lowest_price(monkeypatch, kernel, dtype, threads):
    monkeypatch.setattr(plan_module, "available_threads", lambda: threads)
    for n, products in ((1, 1), (140, 1), (310, 5), (630, 20), (810, 500), (1000, 500)):
        for d, c in ((1, 1), (2, 20), (50, 3), (2, 2), (2000, 1)):
            options = {"kernel": kernel, "products": products, "n_vectors": c, "dtype": dtype}
            quick = plan((n, d), **options)
            priced = plan((n, d), **options, memory_limit=2**40)
            assert quick.engine == priced.engine
            assert quick.candidates == priced.candidates or quick.priced


def test_planned_memory_includes_the_loop():
    one, many = (plan((100_000, 5), n_vectors=c, engine="tiled").memory for c in (1, 101))
    assert many - one >= 5 * 100 * 100_000 * 8


# Registered engines


class DeviceOperator(DenseOperator):
    """An engine that represents another device."""

    engine = "away"


def register_away():
    cost = Cost(1000, 0.0, 1e-12, device=5 * 2**30)
    return register(DeviceOperator, lambda problem: cost, speed=lambda: 3.0)


@pytest.fixture
def away():
    yield register_away()
    del ENGINES["away"]


def test_a_registered_engine_is_chosen_built_and_predicts(away):
    X = np.random.default_rng(0).normal(size=(100, 2))
    chosen = plan(X, bandwidth=1.0, n_vectors=2)
    assert chosen.engine == "away"
    assert chosen.device_memory == 5 * 2**30
    assert chosen.memory == 1000 + 5 * 100 * 2 * 8
    assert chosen.product_seconds == pytest.approx(3e-12)
    assert "+ 5 GiB device" in str(chosen)
    assert type(chosen.build(X)) is type(chosen.prediction_operator(X[:9])) is DeviceOperator


def test_a_missing_engine_is_replaced_for_new_points(away):
    X = np.random.default_rng(0).normal(size=(100, 2))
    chosen = plan(X, bandwidth=1.0)
    del ENGINES["away"]
    assert type(chosen.prediction_operator(X)) is TiledOperator
    register_away()


def test_an_incomplete_engine_is_rejected():
    class Half(KernelOperator):
        engine = "half"

    with pytest.raises(TypeError, match=r"Half must implement _cross_product, _product"):
        register(Half, lambda problem: Cost(0, 0.0, 0.0))


def test_a_known_approximation_error_is_shown():
    chosen = plan((1000, 2), engine="nystroem")
    assert "of the trace" not in str(chosen)
    shown = str(dataclasses.replace(chosen, approximation_error=0.0123))
    assert "0.012 of the trace is left out" in shown


def test_bandwidth_is_estimated_from_the_data():
    X = np.random.default_rng(0).normal(size=(300, 2)) * [1, 100]
    bandwidth = plan(X).kernel.bandwidth
    assert bandwidth[1] > 20 * bandwidth[0]


def test_text_of_a_plan_explains_the_choice():
    text = str(plan((1_000_000, 50), memory_limit=8 * GIB))
    assert "n = 1,000,000, d = 50" in text
    for engine in ENGINES:
        assert engine in text
    assert "at most 3 columns, not 50" in text
    assert "over the memory limit of 8 GiB" in text
    assert len(re.findall("▸", text)) == 1
    assert "nan" not in text


def test_insufficient_memory_is_an_error_before_the_work():
    X = np.zeros((200_000, 5), dtype=np.float32)
    X[:, 0] = np.arange(200_000)
    chosen = plan(X, engine="dense", bandwidth=1.0, memory_limit=GIB)
    with pytest.raises(MemoryError, match=r"'dense' needs 149 GiB.*use engine='tiled'"):
        chosen.build(X)


@pytest.mark.parametrize("engine", ["auto", "dense"])
def test_a_plan_that_exceeds_memory_is_not_marked_as_chosen(engine):
    text = str(plan((1_000_000, 5), kernel="laplacian", engine=engine, memory_limit=2**20))
    assert "▸" not in text
    assert "Does not fit into memory" in text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plan((10, 2), engine="quantum"), "'quantum' is unknown; give 'auto' or one of"),
        (lambda: plan((10, 4), engine="fourier"), "at most 3 columns, not 4"),
        (lambda: plan((10, 0)), r"must be \(n, d\)"),
        (lambda: plan((10,)), r"must be \(n, d\)"),
        (lambda: plan((10, 2), n_vectors=0), "n_vectors=0"),
        (lambda: plan((10, 2), kernel="nope"), "'nope' is unknown"),
        (lambda: plan(np.ones((10, 2)), kernel="precomputed"), "no engine can do this.*square"),
        (lambda: plan(np.full((10, 2), np.nan)), "NaN"),
        (lambda: plan((9, 2)).build(np.ones((3, 2))), r"was made for shape \(9, 2\), not \(3, 2\)"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_sparse_and_other_kernels():
    X = sp.random_array((500, 40), density=0.1, format="csr", random_state=0)
    assert plan(X, kernel="cosine").build(X).kernel.name == "cosine"
    with pytest.raises(ValueError, match="dense array"):
        plan(X[:, :2], bandwidth=1.0, engine="fourier")
    assert plan((10, 2), kernel=Laplacian(1.0)).kernel == Laplacian(1.0)
    assert plan((10, 2), kernel=Linear()).kernel == Linear()


@pytest.mark.parametrize("engine", ["auto", "dense", "tiled", "nystroem"])
@pytest.mark.parametrize(
    ("X", "bandwidth", "degree"),
    [
        (np.ones((1200, 2)), 1.0, 1200.0),
        (np.random.default_rng(0).normal(size=(1200, 2)), 1e-200, 1.0),
        (np.random.default_rng(0).normal(size=(1200, 2)), 1e12, 1200.0),
    ],
    ids=["equal", "alone", "wide"],
)
def test_degenerate_data(X, bandwidth, degree, engine):
    options = {"rank": None} if engine == "nystroem" else {}
    chosen = plan(X, bandwidth=bandwidth, engine=engine, engine_params=options)
    assert chosen.build(X).degree() == pytest.approx(np.full(1200, degree), rel=1e-5)


def test_one_value_beyond_all_others():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    X[0, 0] = 1e100
    degree = plan(X, bandwidth=1.0).build(X).degree()
    assert degree[0] == pytest.approx(1)
    assert degree[1:] == pytest.approx(Gaussian(1.0).block(X[1:], X[1:]).sum(axis=1), rel=1e-6)


def test_sparse_data_are_priced_by_their_nonzero_values():
    rows, columns = np.random.default_rng(0).integers(0, 20_000, size=(2, 10_000))
    X = sp.csr_array((np.ones(10_000), (rows, columns)), shape=(20_000, 50_000))
    assert plan(X, kernel="linear", memory_limit=GIB).engine == "features"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "case",
    [
        ("dense", 6000, 3, 1.0, 4, "float64"),
        ("dense", 6000, 3, 1.0, 4, "float32"),
        ("tiled", 40_000, 5, 1.0, 1, "float32"),
        ("tiled", 40_000, 3, 0.02, 2, "float64"),
        ("tiled", 30_000, 8, 0.02, 1, "float32"),
        ("fourier", 60_000, 2, 0.02, 3, "float64"),
        ("fourier", 60_000, 3, 0.2, 1, "float32"),
        ("nystroem", 40_000, 8, 2.0, 4, "float64"),
        ("nystroem", 40_000, 8, 2.0, 4, "float32"),
        ("nystroem", 20_000, 8, 0.5, 2, "float64", {"rank": 900}),
        ("blocked", 6_000, 3, 1.0, 40, "float64"),
    ],
    ids=str,
)
def test_memory_stays_under_the_promise(case):
    promised, used = measure(*case)
    assert 0 < used <= promised
    n, dtype = case[1], np.dtype(case[5])
    if case[0] not in {"dense", "blocked"}:
        assert used * 2**20 < 0.5 * n * n * dtype.itemsize


# A low-rank factor instead of slow exact products


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(plan_module, "SLOW_SECONDS", 0.0)
    monkeypatch.setattr(plan_module, "CHECKED_GAIN", 0.0)
    # which engine is fastest depends on the threads
    monkeypatch.setattr(plan_module, "available_threads", lambda: 1)


def draw_low_rank(n=2500):
    """Return data and a bandwidth for which a low rank is sufficient."""
    return np.random.default_rng(0).normal(size=(n, 4)), 6.0


def test_a_wide_kernel_uses_a_factor_that_is_checked(impatient):
    X, bandwidth = draw_low_rank()
    chosen = plan(X, bandwidth=bandwidth)
    assert chosen.engine == "nystroem"
    assert chosen.fallback is not None
    assert chosen.fallback.engine in {"dense", "tiled"}
    assert "checked once it is built" in str(chosen)
    operator = chosen.build(X)
    assert operator.approximation_error <= 1e-5
    A = np.random.default_rng(1).normal(size=(len(X), 2))
    exact = chosen.fallback.build(X) @ A
    assert np.abs(operator @ A - exact).max() <= operator.error * np.abs(A).sum(axis=0).max()


def test_an_inaccurate_factor_is_replaced_by_exact_products(impatient, monkeypatch):
    monkeypatch.setattr(plan_module, "CHECKED_ROW", 0.0)
    X, bandwidth = draw_low_rank()
    model = FuzzyCMeans(2, bandwidth=bandwidth, n_init=1, max_iter=5, tol=1.0).fit(X)
    assert model.engine_ == model.plan_.engine != "nystroem"
    assert model.approximation_error_ == 0
    assert "left out more than a sample" in str(model.plan_)


@pytest.mark.parametrize(
    "options", [{"engine": "tiled"}, {"bandwidth": 0.2}, {"engine": "dense"}, {"patience": 0.0}]
)
def test_only_a_wide_kernel_with_an_automatic_engine_uses_a_factor(impatient, options):
    X, bandwidth = draw_low_rank()
    assert plan(X, **{"bandwidth": bandwidth, **options}).fallback is None


def test_models_with_a_checked_factor_equal_those_of_exact_products(impatient):
    X = make_blobs(2500, 4, centers=3, random_state=0)[0]
    quick = FuzzyCMeans(3, n_init=2).fit(X)
    exact = FuzzyCMeans(3, n_init=2, engine="dense").fit(X)
    assert quick.engine_ == "nystroem"
    assert quick.memberships_ == pytest.approx(exact.memberships_, abs=1e-3)
    assert (quick.labels_ == exact.labels_).all()


def test_fast_products_are_exact():
    X, bandwidth = draw_low_rank()
    assert plan(X, bandwidth=bandwidth).engine != "nystroem"
