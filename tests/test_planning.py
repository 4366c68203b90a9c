import re
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.peak import measure
from softkern import plan
from softkern.kernels import Gaussian, Laplacian, Linear
from softkern.operators import DenseOperator, FourierOperator, NystroemOperator, TiledOperator
from softkern.planning import ENGINES, available_memory

GIB = 2**30


@pytest.mark.parametrize(
    ("shape", "options", "engine"),
    [
        ((1000, 10), {}, "dense"),
        ((1_000_000, 50), {"memory_limit": 8 * GIB}, "nystroem"),
        ((1_000_000, 50), {}, "tiled"),
        ((1_000_000, 10), {"kernel": "linear"}, "tiled"),
        ((30_000, 20), {}, "tiled"),
        ((5000, 5), {"kernel": "sigmoid"}, "dense"),
        ((100_000, 5), {"kernel": "sigmoid"}, "tiled"),
    ],
)
def test_choice(shape, options, engine):
    assert plan(shape, **{"memory_limit": 2 * GIB, **options}).engine == engine


def test_choice_knows_the_width_of_the_data():
    X = np.random.default_rng(0).normal(size=(100_000, 2))
    assert plan(X, bandwidth=0.5, memory_limit=2 * GIB).engine == "fourier"
    assert plan(X, bandwidth=1e-4, memory_limit=2 * GIB).engine == "tiled"


def test_tiles_that_will_be_passed_over_cost_nothing():
    X = np.random.default_rng(0).normal(size=(50_000, 2))
    wide, narrow = (plan(X, bandwidth=b, engine="tiled").product_seconds for b in (1.0, 0.0005))
    assert narrow < 0.2 * wide


def test_a_plan_for_a_shape_reads_the_bandwidth_when_the_data_come():
    X = np.random.default_rng(0).normal(size=(300, 2)) * 100
    built = plan((300, 2)).build(X.tolist())
    assert built.kernel == plan(X).kernel


def test_choice_does_not_depend_on_the_speed_of_the_machine(monkeypatch):
    monkeypatch.setattr("softkern.planning._machine_speed", lambda: 9.0)
    slow = plan((20_000, 5), memory_limit=GIB)
    monkeypatch.setattr("softkern.planning._machine_speed", lambda: 0.2)
    fast = plan((20_000, 5), memory_limit=GIB)
    assert slow.engine == fast.engine
    assert slow.product_seconds == pytest.approx(45 * fast.product_seconds)


def test_patience():
    assert plan((100_000, 30), memory_limit=GIB, patience=1e9).engine == "tiled"
    assert plan((100_000, 30), memory_limit=GIB, patience=1.0).engine == "nystroem"


@pytest.mark.parametrize(
    ("engine", "operator"),
    [
        ("dense", DenseOperator),
        ("tiled", TiledOperator),
        ("fourier", FourierOperator),
        ("nystroem", NystroemOperator),
    ],
)
def test_build(engine, operator):
    X = np.random.default_rng(0).normal(size=(200, 2))
    chosen = plan(X, engine=engine, bandwidth=2.0)
    built = chosen.build(X)
    assert type(built) is operator
    assert built.kernel == Gaussian(2.0)
    assert set(ENGINES) == {"dense", "tiled", "fourier", "nystroem"}


def test_bandwidth_rule_is_read_from_the_data():
    X = np.random.default_rng(0).normal(size=(300, 2)) * [1, 100]
    bandwidth = plan(X).kernel.bandwidth
    assert bandwidth[1] > 20 * bandwidth[0]


def test_explains_itself():
    text = str(plan((1_000_000, 50), memory_limit=8 * GIB))
    assert "n = 1,000,000, d = 50" in text
    for engine in ENGINES:
        assert engine in text
    assert "at most 3 columns, not 50" in text
    assert "over the memory limit of 8 GiB" in text
    assert len(re.findall("▸", text)) == 1
    assert "nan" not in text


def test_memory_is_refused_before_the_work():
    X = np.zeros((200_000, 5), dtype=np.float32)
    X[:, 0] = np.arange(200_000)
    chosen = plan(X, engine="dense", bandwidth=1.0, memory_limit=GIB)
    with pytest.raises(MemoryError, match=r"'dense' needs 149 GiB.*use engine='tiled'"):
        chosen.build(X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plan((10, 2), engine="quantum"), "'quantum' is unknown; give 'auto' or one of"),
        (lambda: plan((10, 4), engine="fourier"), "at most 3 columns, not 4"),
        (lambda: plan((10, 0)), r"must be \(n, d\)"),
        (lambda: plan((10,)), r"must be \(n, d\)"),
        (lambda: plan((10, 2), columns=0), "columns=0"),
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


def test_degenerate_data_can_be_planned():
    assert plan(np.ones((2000, 2)), bandwidth=1.0).engine
    assert plan(np.random.default_rng(0).normal(size=(3000, 2)), bandwidth=1e-200).engine


def test_sparse_data_are_priced_by_what_they_hold():
    rows, columns = np.random.default_rng(0).integers(0, 20_000, size=(2, 10_000))
    X = sp.csr_array((np.ones(10_000), (rows, columns)), shape=(20_000, 50_000))
    assert plan(X, kernel="linear", memory_limit=GIB).engine == "tiled"


def test_precomputed():
    gram = np.eye(30)
    assert plan(gram, kernel="precomputed").engine == "dense"


def test_available_memory_is_sensible():
    assert 16 * 2**20 < available_memory() < 2**50


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "case",
    [
        ("dense", 6000, 3, 1.0, 4, "float64"),
        ("dense", 6000, 3, 1.0, 4, "float32"),
        ("tiled", 40_000, 5, 1.0, 1, "float32"),
        ("tiled", 100_000, 3, 0.02, 2, "float64"),
        ("tiled", 100_000, 8, 0.02, 1, "float32"),
        ("fourier", 100_000, 2, 0.01, 3, "float64"),
        ("fourier", 60_000, 3, 0.2, 1, "float32"),
        ("nystroem", 40_000, 8, 2.0, 4, "float64"),
        ("nystroem", 40_000, 8, 2.0, 4, "float32"),
    ],
    ids=str,
)
def test_memory_stays_under_the_promise(case):
    promised, taken = measure(*case)
    assert 0 < taken <= promised
    n, dtype = case[1], np.dtype(case[-1])
    if case[0] != "dense":
        assert taken * 2**20 < 0.5 * n * n * dtype.itemsize
