"""Operators in general: threads, logarithms, kernels of the user."""

import os
import subprocess
import sys

import joblib
import numpy as np
import pytest
from scipy.spatial import cKDTree
from sklearn.metrics.pairwise import euclidean_distances
from threadpoolctl import threadpool_limits

from softkern._utils.threads import available_threads
from softkern.kernels import Gaussian, Kernel, Laplacian
from softkern.operators.blocked import BlockedOperator
from softkern.operators.fourier import FourierOperator
from softkern.operators.tiled import TiledOperator


def test_threads_respect_limits():
    with threadpool_limits(3):
        assert available_threads() == min(3, joblib.cpu_count())
    with threadpool_limits(1):
        assert available_threads() == 1
    with threadpool_limits(1, user_api="openmp"):
        assert available_threads() == 1


def _threads():
    euclidean_distances(np.ones((2, 2)))
    return available_threads()


def test_threads_of_a_joblib_worker():
    with joblib.parallel_config("loky", n_jobs=2, inner_max_num_threads=1):
        counts = joblib.Parallel()(joblib.delayed(_threads)() for _ in range(4))
    assert counts == [1, 1, 1, 1]


def test_threads_respect_the_environment():
    code = (
        "import softkern.operators; from softkern._utils.threads import available_threads; "
        "print(available_threads())"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "1"


def test_limited_threads_print_no_warning(capfd):
    X = np.random.default_rng(0).normal(size=(3000, 2))
    with threadpool_limits(1):
        FourierOperator(Gaussian(0.5), X) @ np.ones(3000)
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""


@pytest.mark.parametrize("limit", [1, 2])
def test_trees_use_the_available_threads(limit, monkeypatch):
    used = []

    class Tree(cKDTree):
        def query(self, *arguments, workers=1, **options):
            used.append(workers)
            return super().query(*arguments, workers=workers, **options)

    monkeypatch.setattr("softkern.operators.log_sums.cKDTree", Tree)
    monkeypatch.setattr("softkern.operators.log_sums.available_threads", lambda: limit)
    X = np.random.default_rng(0).normal(size=(50, 2))
    BlockedOperator(Gaussian(1.0), X).cross(X + 100).log_product(np.ones(50))
    assert used == [limit]


def test_the_tree_of_the_whole_support_is_built_once(monkeypatch):
    built = []
    monkeypatch.setattr(
        "softkern.operators.log_sums.cKDTree", lambda points: built.append(1) or cKDTree(points)
    )
    X = np.random.default_rng(0).normal(size=(80, 2))
    operator = TiledOperator(Gaussian(1.0), X)
    a = np.ones(80)
    for _ in range(3):
        operator.cross(X + 50).log_product(a)
    assert len(built) == 1
    a[0] = 0  # another set of points
    operator.cross(X + 50).log_product(a)
    assert len(built) == 2


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplacian(0.5)])
def test_logarithms_far_from_the_origin(kernel):
    X = np.random.default_rng(0).normal(size=(60, 2)) + 1e8
    new = X[:3] + 40
    logs = BlockedOperator(kernel, X).cross(new).log_product(np.ones(60))
    near = BlockedOperator(kernel, X - 1e8).cross(new - 1e8).log_product(np.ones(60))
    assert logs == pytest.approx(near, rel=1e-9)


class Fivefold(Kernel):
    def block(self, X, Y):
        return 5 * Gaussian(1.0).block(X, Y)


class Waves(Kernel):
    """Neither a declared bound nor semidefinite."""

    is_positive_semidefinite = None

    def block(self, X, Y):
        return 7 * np.cos(3 * (X[:, :1] - Y[:, 0])) - 2


@pytest.mark.parametrize(("kernel", "largest"), [(Fivefold(), 5), (Waves(), 9)])
def test_the_error_of_a_user_kernel(kernel, largest):
    X = np.random.default_rng(0).normal(size=(500, 1)).astype(np.float32)
    operator = BlockedOperator(kernel, X)
    eps = float(np.finfo(np.float32).eps)
    assert 16 * eps * largest * 0.9 <= operator.error <= 16 * eps * largest * 4
    A = np.random.default_rng(1).normal(size=(500, 3)).astype(np.float32)
    exact = kernel.block(X.astype(float), X.astype(float)) @ A
    assert np.all(np.abs(operator @ A - exact) <= operator.error * np.abs(A).sum(axis=0))
