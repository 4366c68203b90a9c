"""The GPU engine.

Without a GPU, its tiles run on the CPU and a few of its compiled loops in Triton's interpreter.
"""

import importlib.util
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.datasets import make_blobs

import softkern
from softkern import planning
from softkern.kernels import Gaussian, Laplacian, Linear, Polynomial
from softkern.kernels.dot import Sigmoid
from softkern.kernels.wrapped import CallableKernel
from softkern.models import one_class_clusterer
from softkern.operators.base import ProblemSize
from softkern.operators.dense import DenseOperator
from softkern.operators.gpu import devices
from softkern.operators.gpu import operator as gpu_module
from softkern.operators.gpu.operator import GpuOperator
from softkern.operators.low_rank import NystroemOperator
from softkern.planning import engines
from softkern.planning.costs import gpu_cost
from tests.operators.contract import GaussianContract, OperatorContract

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'softkern[gpu]'")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
HAS_TRITON = importlib.util.find_spec("triton") is not None
on_a_gpu = pytest.mark.skipif(DEVICE == "cpu", reason="needs a CUDA device")
KERNELS = [Gaussian(1.5), Laplacian(2.0)]


class TestTiles(GaussianContract):
    """Kernel values are stored or computed in tiles, in the precision of the data."""

    def make(self, kernel, X):
        return GpuOperator(kernel, X, device=DEVICE)

    def uniform(self, engine, X):
        return engine.build(self.kernel, X, sample_weight=np.ones(len(X)), device=DEVICE)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Sigmoid(0.1), Laplacian(0.8)])
def test_other_kernels(kernel):
    contract = OperatorContract()
    contract.kernel = kernel
    contract.make = lambda kernel, X: GpuOperator(kernel, X, device=DEVICE)
    contract.test_equals_the_dense_product(3, np.dtype("float64"))
    contract.test_new_points(np.dtype("float64"))


@on_a_gpu
class TestFused(GaussianContract):
    """The compiled loops in single precision, even for few points."""

    @pytest.fixture(autouse=True)
    def use_loops_for_few_points(self, monkeypatch):
        monkeypatch.setattr(gpu_module, "GRAM_ROWS", 0)

    def make(self, kernel, X):
        return GpuOperator(kernel, X)

    def test_row_order_does_not_matter(self):
        X, A = self.data(2, np.float64), np.random.default_rng(7).uniform(size=(self.n, 2))
        shuffle = np.random.default_rng(6).permutation(self.n)
        one, two = self.make(self.kernel, X), self.make(self.kernel, X[shuffle])
        gap = np.abs((one @ A)[shuffle] - two @ A[shuffle])
        assert np.all(gap <= 2 * self.allowed(one, A))


@on_a_gpu
class TestFusedInDoublePrecision(GaussianContract):
    @pytest.fixture(autouse=True)
    def use_loops_for_few_points(self, monkeypatch):
        monkeypatch.setattr(gpu_module, "GRAM_ROWS", 0)

    def make(self, kernel, X):
        return GpuOperator(kernel, X, precision="float64")


@pytest.fixture
def interpreted(monkeypatch):
    """Run compiled loops on the device, or in the interpreter with small frames."""
    if not HAS_TRITON:
        pytest.skip("needs Triton")
    from softkern.operators.gpu import fused

    monkeypatch.setattr(gpu_module, "GRAM_ROWS", 0)
    if DEVICE == "cpu":
        monkeypatch.setenv("TRITON_INTERPRET", "1")
        monkeypatch.setattr(fused, "FRAME", 128)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("d", "columns"), [(2, 1), (2, 3), (12, 1)])
def test_loops_equal_the_dense_product(interpreted, kernel, d, columns):
    random = np.random.default_rng(0)
    X, A = random.normal(size=(200, d)) + 50, random.normal(size=(200, columns))
    operator = GpuOperator(kernel, X, device=DEVICE)
    error = np.abs(operator @ A - kernel.block(X, X) @ A)
    assert np.all(error <= operator.error * np.abs(A).sum(axis=0))
    assert type(operator._support).__name__ == "FusedPoints"


def test_loops_in_double_precision(interpreted):
    random = np.random.default_rng(0)
    X, a = random.normal(size=(150, 2)) + 50, random.normal(size=150)
    product = GpuOperator(KERNELS[0], X, device=DEVICE, precision="float64") @ a
    assert product == pytest.approx(KERNELS[0].block(X, X) @ a, rel=1e-12, abs=1e-12)


def test_loops_are_accurate_in_wide_frames(interpreted):
    """Two rows half a bandwidth apart, twenty thousand bandwidths from all others."""
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 2))
    X[:2] = [[1e4, 1e4], [1e4, 1e4 + 0.25]]
    kernel, A = Gaussian(0.5), random.uniform(size=(150, 2))
    operator, exact = GpuOperator(kernel, X, device=DEVICE), DenseOperator(kernel, X)
    assert operator @ A == pytest.approx(exact @ A, rel=1e-5)
    assert operator.log_product(A) == pytest.approx(exact.log_product(A), abs=1e-5, rel=1e-6)
    a = A[:, 0]
    others = exact.log_product_of_others(a, a)
    assert operator.log_product_of_others(a, a) == pytest.approx(others, abs=1e-5, rel=1e-6)


def test_loops_skip_far_frames(interpreted):
    from softkern.operators.gpu.fused import FusedPoints

    X = np.random.default_rng(0).normal(size=(300 if DEVICE == "cpu" else 3000, 2))
    X[len(X) // 2 :] += 1000
    points = torch.as_tensor(X, device=DEVICE)
    support = FusedPoints(Gaussian(1.0), points, "float32")
    lists = list(support._near(support._own_blocks, support._frames_of("all")))
    entries = sum(len(near) for _, _, near in lists)
    assert entries < len(support._own_blocks.low) * len(support.low)
    weights = torch.ones(len(X), 1, dtype=torch.float64, device=DEVICE)
    product = support.product(weights).cpu().numpy()[:, 0]
    assert product == pytest.approx(Gaussian(1.0).block(X, X).sum(axis=1), rel=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_logarithms_skip_frames_without_influence(interpreted, kernel):
    """Far from all points only the nearest frames count. The row itself may be left out."""
    from softkern.operators.gpu.fused import FusedPoints

    random = np.random.default_rng(0)
    X = random.normal(size=(300 if DEVICE == "cpu" else 5000, 2))
    X[len(X) // 2 :] += 300
    X[0] = [-500, 40]  # no other point of its frame is near
    a = random.uniform(size=len(X)) ** 8
    a[5:9] = 0
    support = FusedPoints(kernel, torch.as_tensor(X, device=DEVICE), "float32")
    queries = np.concatenate([X[:40], [[150.0, 160.0], [-1e4, 3e3], [1e9, 0]]])
    logs = kernel.log_block(queries, X)
    with np.errstate(divide="ignore"):
        weights = torch.as_tensor(np.log(a), device=DEVICE)
    here = torch.as_tensor(queries, device=DEVICE)
    found = support.logs(here, weights).cpu().numpy()
    assert found == pytest.approx(logsumexp(logs, b=a, axis=1), abs=1e-4, rel=1e-6)
    own = torch.arange(40, device=DEVICE)
    nothing = torch.full((40,), -torch.inf, dtype=torch.float64, device=DEVICE)
    found = support.logs(here[:40], weights, own, nothing).cpu().numpy()
    others = np.where(np.arange(len(X)) == np.arange(40)[:, None], 0, a)
    assert found == pytest.approx(logsumexp(logs[:40], b=others, axis=1), abs=1e-4, rel=1e-6)
    best = weights.new_zeros(len(support.low))
    listed = sum(
        len(near)
        for *_, near in support._near(support._own_blocks, support._frames_of("all"), (best, best))
    )
    assert listed < len(support._own_blocks.low) * len(support.low)


@pytest.mark.parametrize(("n", "d"), [(1, 2), (9, 3), (3000, 2), (5000, 12)])
def test_neighbors_on_the_device(n, d):
    X = np.random.default_rng(0).normal(size=(n, d)) * 3 + 40
    X[::50] += 1e5  # far rows are in a frame with near ones
    k = min(n, 11)
    near = GpuOperator(Gaussian(1.0), X[:1], device=DEVICE).near_rows(X, k)
    some = np.arange(n)[:: max(1, n // 200)]
    distance = np.linalg.norm(X[some, None] - X, axis=2)
    assert np.take_along_axis(distance, near[some], axis=1) == pytest.approx(
        np.sort(distance, axis=1)[:, :k], abs=1e-9
    )
    assert all(len(set(row)) == k for row in near.tolist())


def test_equal_neighbors_are_ordered_by_number():
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 2)), 3, axis=0)
    near = GpuOperator(Gaussian(1.0), X, device=DEVICE).near_rows(X, 3)
    assert np.array_equal(near, np.arange(12).reshape(4, 3).repeat(3, axis=0))


def test_devices_share_the_queries(interpreted):
    from softkern.operators.gpu.fused import SplitPoints

    X = np.random.default_rng(0).normal(size=(300, 2))
    points = torch.as_tensor(X, device=DEVICE)
    support = SplitPoints(Gaussian(1.0), points, "float32", [DEVICE, DEVICE])
    ones = torch.ones(300, 1, dtype=torch.float64, device=DEVICE)
    expected = Gaussian(1.0).block(X, X).sum(axis=1)
    assert support.product(ones).cpu().numpy()[:, 0] == pytest.approx(expected, rel=1e-5)
    new = support.product(ones, points[:140]).cpu().numpy()[:, 0]
    assert new == pytest.approx(expected[:140], rel=1e-5)
    blocks = [
        sum(len(starts) - 1 for _, starts, _ in part._own_lists["narrow"]) for part in support.parts
    ]
    assert min(blocks) >= 1  # both have work


def test_new_points_are_computed_in_parts(monkeypatch):
    monkeypatch.setattr(gpu_module, "ROWS_AT_ONCE", 7)
    X = np.random.default_rng(0).normal(size=(40, 3))
    operator = GpuOperator(Gaussian(1.0), X, device=DEVICE)
    A = np.random.default_rng(1).uniform(size=(40, 2))
    assert operator.cross(X[:30]) @ A == pytest.approx((operator @ A)[:30])


@pytest.mark.parametrize("n", [1, 5, 127, 129, 1500, 40_000])
@pytest.mark.parametrize("d", [1, 3])
def test_frames_contain_every_row_once(n, d):
    from softkern.operators.gpu.frames import in_frames

    points = torch.as_tensor(np.random.default_rng(0).normal(size=(n, d)), dtype=torch.float32)
    number, is_row = in_frames(points, 128)
    assert len(number) % 128 == 0
    assert len(number) <= 1.2 * n + 128
    assert torch.equal(number[is_row].sort().values, torch.arange(n))


def test_neighbors_are_in_the_same_frame():
    from softkern.operators.gpu.frames import in_frames

    X = np.random.default_rng(0).uniform(size=(20_000, 2))
    number, _ = in_frames(torch.as_tensor(X, dtype=torch.float32), 128)
    frames = X[number.numpy()].reshape(-1, 128, 2)
    widths = frames.max(axis=1) - frames.min(axis=1)
    assert widths.max() < 0.4
    assert widths.mean() < 0.15  # 157 equal squares would be 0.08 wide


def test_arrays_of_the_device_give_results_on_the_device():
    X = np.random.default_rng(0).normal(size=(40, 3))
    operator = GpuOperator(Gaussian(1.0), X, device=DEVICE)
    A = operator.to_device(np.ones((40, 2)))
    product = operator @ A
    assert isinstance(product, torch.Tensor)
    assert isinstance(operator @ A[:, 0], torch.Tensor)
    geometry = operator.geometry(A)
    assert isinstance(geometry.distances, torch.Tensor)
    host = DenseOperator(Gaussian(1.0), X).geometry(np.ones((40, 2)))
    assert geometry.distances.cpu().numpy() == pytest.approx(host.distances)
    new = operator.to_device(X[:7])
    assert (operator.cross(new) @ A).cpu().numpy() == pytest.approx(product[:7].cpu().numpy())
    with pytest.raises(ValueError, match=r"\(40,\) or \(40, c\)"):
        operator @ A[:7]
    with pytest.raises(ValueError, match="3 columns"):
        operator.cross(new[:, :2])


@pytest.mark.parametrize("keeps_gram", [True, False])
def test_tiles_are_halved_if_memory_is_insufficient(monkeypatch, keeps_gram):
    from softkern.operators.gpu.tiled import TiledPoints

    X = torch.as_tensor(np.random.default_rng(0).normal(size=(300, 2)))
    expected = Gaussian(1.0).block(X.numpy(), X.numpy()).sum(axis=1)
    points = TiledPoints(Gaussian(1.0), X, keeps_gram)
    values = TiledPoints._values

    def raise_if_large(self, rows):
        if len(rows) > most:
            raise torch.OutOfMemoryError("no room")
        return values(self, rows)

    monkeypatch.setattr(TiledPoints, "_values", raise_if_large)
    ones = torch.ones(300, 1, dtype=torch.float64)
    most = 100
    assert points.product(ones)[:, 0].numpy() == pytest.approx(expected)
    most = 0
    with pytest.raises(MemoryError, match="do not fit into the memory of cpu"):
        TiledPoints(Gaussian(1.0), X).product(ones)


def test_leave_one_out_sums_are_correct_after_running_out_of_memory(monkeypatch):
    """If a tile is computed again in halves, the positions of its rows stay correct."""
    from softkern.operators.gpu.tiled import TiledPoints

    random = np.random.default_rng(0)
    X = torch.as_tensor(random.normal(size=(400, 2)))
    log_a, log_left = (torch.as_tensor(random.normal(size=400)) for _ in range(2))
    own = torch.arange(400)
    expected = TiledPoints(Gaussian(1.0), X).logs(X, log_a, own, log_left)
    log_sum = torch.logsumexp

    def raise_if_large(terms, dim):
        if len(terms) > 100:
            raise torch.OutOfMemoryError("no room")
        return log_sum(terms, dim=dim)

    monkeypatch.setattr(torch, "logsumexp", raise_if_large)
    found = TiledPoints(Gaussian(1.0), X).logs(X, log_a, own, log_left)
    assert found.numpy() == pytest.approx(expected.numpy(), rel=1e-12)


def make_factor_on_device(X, rank, seed=0, **options):
    """Return the exact operator and a low-rank one on the same device."""
    exact = GpuOperator(Gaussian(2.0), X, device=DEVICE)
    options = {"trace_tolerance": 1e-8, "random_state": seed, **options}
    return exact, NystroemOperator(exact.kernel, X, rank, points=exact.points, **options)


def test_a_factor_on_the_device_approximates_the_matrix():
    random = np.random.default_rng(0)
    X, A = random.normal(size=(500, 2)), random.uniform(size=(500, 2))
    exact, factor = make_factor_on_device(X, 100)
    assert factor.on_device
    assert factor @ A == pytest.approx(exact @ A, rel=1e-6)
    assert factor.approximation_error <= 1e-8
    repeated, factor = make_factor_on_device(np.repeat(X[:3], 50, axis=0), 100)
    assert factor @ np.ones(150) == pytest.approx(repeated @ np.ones(150))


def test_a_factor_on_the_device_is_a_consistent_operator():
    """Entries, partial products, new points and distances belong to the same matrix."""
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    _, factor = make_factor_on_device(X, 5)  # a coarse approximation of the exact matrix
    matrix = factor @ np.eye(300)
    left = 300 - np.trace(matrix)
    assert factor.approximation_error == pytest.approx(left / 300, rel=1e-6)
    rows, A = np.arange(0, 300, 7), random.normal(size=(300, 2))
    assert factor.entries(rows, rows) == pytest.approx(matrix[np.ix_(rows, rows)], abs=1e-12)
    assert factor.partial_product(rows, A[rows]) == pytest.approx(matrix[:, rows] @ A[rows])
    assert factor.cross(X[:9]) @ A == pytest.approx(matrix[:9] @ A)
    host = NystroemOperator(factor.kernel, X, landmarks=factor.landmarks)
    assert factor.squared_distances(A) == pytest.approx(host.squared_distances(A))
    there = factor.geometry(factor.to_device(A)).distances
    assert there.cpu().numpy() == pytest.approx(host.squared_distances(A))
    index, _, weights = factor.compressed(A)
    order = np.argsort(index)
    assert weights[order] == pytest.approx(host.compressed(A)[2])


def test_a_factor_on_the_device_uses_the_seed_and_the_weights():
    X = np.random.default_rng(0).normal(size=(300, 3))
    landmarks = [make_factor_on_device(X, 20, seed)[1].landmarks for seed in (0, 1, 0)]
    assert set(landmarks[0]) != set(landmarks[1])
    assert (landmarks[0] == landmarks[2]).all()
    host = NystroemOperator(Gaussian(2.0), X, rank=20, trace_tolerance=1e-8)
    assert set(landmarks[0]) == set(host.landmarks)  # one implementation for both
    weight = np.where(np.arange(300) < 30, 1.0, 0.0)
    assert set(make_factor_on_device(X, 10, sample_weight=weight)[1].landmarks) <= set(range(30))


def test_a_loop_on_the_device_uses_the_surrogate(monkeypatch):
    """One-class SVMs solve their duals with the factor only, with the same result."""
    X = make_blobs(2100, 8, centers=3, cluster_std=2.0, random_state=0)[0]
    monkeypatch.setattr(one_class_clusterer, "LOW_RANK_FROM", 2000)
    monkeypatch.setattr(one_class_clusterer, "STARTS_ROWS", 500)
    monkeypatch.setattr(softkern.OneClassKMeans, "_low_rank_from", 2000)
    monkeypatch.setattr(engines, "FACTOR_GAIN", 0.0)
    options = {"n_init": 2, "tol": 1e-6}
    quick = softkern.OneClassKMeans(3, **options, engine="gpu", engine_params={"device": DEVICE})
    quick.fit(X)
    assert sum(quick.history_["low_rank_steps"]) > 0
    plain = softkern.OneClassKMeans(3, **options, engine="dense").fit(X)
    assert (quick.labels_ == plain.labels_).all()
    assert quick.objective_ == pytest.approx(plain.objective_, rel=1e-6)


# Unsupported input and devices


def test_unsupported_input_is_rejected():
    X = np.ones((5, 2))
    with pytest.raises(ValueError, match="not written for GPUs"):
        GpuOperator(CallableKernel(lambda X, Y: X @ Y.T), X, device="cpu")
    with pytest.raises(ValueError, match="dense array"):
        GpuOperator(Gaussian(1.0), sp.csr_array(X), device="cpu")
    with pytest.raises(ValueError, match="precision must be one of"):
        GpuOperator(Gaussian(1.0), X, device="cpu", precision="half")


def test_missing_devices_are_rejected(monkeypatch):
    with pytest.raises(ValueError, match="device='gpu0' is not known to PyTorch"):
        GpuOperator(Gaussian(1.0), np.ones((5, 2)), device="gpu0")
    monkeypatch.setattr(devices, "_has_device", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ValueError, match="'cuda:7' is not there; the last is 'cuda:1'"):
        GpuOperator(Gaussian(1.0), np.ones((5, 2)), device="cuda:7")


def test_computers_without_a_device(monkeypatch):
    monkeypatch.setattr(devices, "_has_device", lambda: False)
    with pytest.raises(ValueError, match="no CUDA device"):
        GpuOperator(Gaussian(1.0), np.ones((5, 2)))
    with pytest.raises(ValueError, match="no CUDA device"):
        softkern.OneClassPCM(engine="gpu").fit(np.random.default_rng(0).normal(size=(20, 2)))
    shown = str(softkern.plan((1000, 2)))
    assert "there is no CUDA device" in shown


def test_a_fork_of_a_process_that_uses_the_device(monkeypatch):
    """PyTorch does not support CUDA in the fork, so that another engine is chosen."""
    for name in ("_has_device", "is_forked"):
        monkeypatch.setattr(devices, name, lambda: True)
    monkeypatch.setattr(torch.cuda, "_is_in_bad_fork", lambda: True)
    assert softkern.plan((1_000_000, 10)).engine != "gpu"
    with pytest.raises(ValueError, match="a fork of uses CUDA already; start it by spawn"):
        softkern.plan((1000, 2), engine="gpu")


def test_computers_without_pytorch(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pip install 'softkern\[gpu\]'"):
        GpuOperator(Gaussian(1.0), np.ones((5, 2)))


def test_a_model_fitted_on_a_device_predicts_without_it(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 2))
    options = {"engine": "gpu", "engine_params": {"device": "cpu"}}
    model = softkern.OneClassPCM(**options).fit(X)
    expected = model.score_samples(X)
    gone = replace(planning.ENGINES["gpu"], unavailable_reason=lambda **options: "it is gone")
    monkeypatch.setitem(planning.ENGINES, "gpu", gone)
    model._operators = {}
    assert model.score_samples(X) == pytest.approx(expected)


def test_plan_chooses_the_device_for_many_rows(monkeypatch):
    monkeypatch.setattr(devices, "_has_device", lambda: True)
    monkeypatch.setattr("softkern.planning.costs.slowdown", lambda device: 1.0)
    free = 8 * 2**30
    engine = replace(planning.ENGINES["gpu"], device_memory=lambda **options: free)
    monkeypatch.setitem(planning.ENGINES, "gpu", engine)
    few = planning.plan((2000, 10), memory_limit=8 * 2**30)
    many = planning.plan((300_000, 10), memory_limit=8 * 2**30)
    assert few.engine != "gpu"
    assert many.engine == "gpu"
    assert many.device_memory > 300_000 * 10 * 8
    assert "device" in str(many)
    free = 2**20
    crowded = planning.plan((300_000, 10), memory_limit=8 * 2**30)
    assert crowded.engine != "gpu"
    assert "over the memory that is free on its device" in str(crowded)
    with pytest.raises(MemoryError, match="on its device for n = 300,000"):
        planning.plan((300_000, 10), engine="gpu")


def test_the_price_of_a_device_is_not_timed(monkeypatch):
    """The same engine is chosen in every run, even if the device is busy."""
    size = SimpleNamespace(multi_processor_count=66)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: size)
    monkeypatch.setattr(torch, "linspace", None)
    problem = ProblemSize(1_000_000, 10, Gaussian(1.0))
    slow = gpu_cost(problem).product
    size = SimpleNamespace(multi_processor_count=132)
    assert slow == pytest.approx(2 * gpu_cost(problem).product, rel=1e-2)


def test_torch_is_not_imported_without_a_device():
    code = (
        "import sys, softkern, numpy as np;"
        "softkern.plan((100, 2));"
        "softkern.OneClassPCM().fit(np.random.default_rng(0).normal(size=(50, 2)));"
        "sys.exit('torch' in sys.modules)"
    )
    if DEVICE == "cuda":
        pytest.skip("there is a device")
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
