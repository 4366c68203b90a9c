"""Concurrent fits and predictions, in threads and processes, equal sequential ones."""

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.datasets import make_blobs

import softkern

X = make_blobs(120, 2, centers=[[0, 0], [7, 7]], random_state=0)[0]
CASES = [
    ("AlphaCutClustering", {}),
    ("AutoClustering", {}),
    ("FuzzyCMeans", {}),
    ("KernelSpectralClustering", {"bandwidth": 1.0}),
    ("OneClassMixture", {"engine": "tiled"}),
    ("OneClassPCM", {"engine": "fourier"}),
    ("PossibilisticCMeans", {"engine": "nystroem"}),
    ("WeightedSVDD", {"engine": "tiled"}),
]


def make(name, params):
    return getattr(softkern, name)(**params)


def results(model):
    return model.predict(X), model.memberships(X), model.outlier_scores(X)


@pytest.fixture(scope="module")
def alone():
    return [results(make(*case).fit(X)) for case in CASES]


def assert_same(concurrent, alone):
    for one, two in zip(concurrent, alone, strict=True):
        assert np.array_equal(one[0], two[0])
        for first, second in zip(one[1:], two[1:], strict=True):
            # a library may sum in another order with another number of threads
            assert first == pytest.approx(second, rel=1e-9, abs=1e-9)


def test_fits_in_threads(alone):
    with ThreadPoolExecutor(8) as pool:
        concurrent = pool.map(lambda case: results(make(*case).fit(X)), CASES * 3)
        assert_same(concurrent, alone * 3)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_workers_of_joblib(alone, backend):
    with Parallel(2, backend=backend) as parallel:
        fitted = parallel(delayed(make(*case).fit)(X) for case in CASES)
    assert_same(map(results, fitted), alone)


def fitted_results(case):
    return results(make(*case).fit(X))


@pytest.mark.parametrize(
    "how", sorted({"fork", "spawn"} & set(multiprocessing.get_all_start_methods()))
)
def test_processes_started_after_compiled_loops(alone, how):
    """A forked process inherits loops and locks, but not their threads."""
    if how == "fork" and os.environ.get("SOFTKERN_ENGINE") == "gpu":
        pytest.skip("CUDA does not work in forks, and engine='gpu' is requested")
    with ProcessPoolExecutor(1, multiprocessing.get_context(how)) as pool:
        concurrent = pool.map(fitted_results, CASES, timeout=120)
        assert_same(concurrent, alone)


FORKED = """
import multiprocessing, sys
import numpy as np
from softkern import OneClassPCM

X = np.random.default_rng(0).normal(size=(3000, 10))

def fitted():
    assert len(OneClassPCM().fit(X).outlier_scores_) == 3000

if __name__ == "__main__":
    fitted()  # threads of OpenMP are there now
    child = multiprocessing.get_context("fork").Process(target=fitted)
    child.start()
    child.join(60)
    child.kill()
    sys.exit(child.exitcode)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_a_fork_does_not_wait_for_threads_of_its_parent():
    environment = os.environ | {"OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", FORKED], env=environment, timeout=120)
    assert done.returncode == 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_one_model_predicts_in_many_threads(case, alone):
    """Objects that are built when first needed are built by one thread or by each of them."""
    model = make(*case).fit(X)
    model.__dict__.pop("_operators", None)
    with ThreadPoolExecutor(8) as pool:
        concurrent = list(pool.map(lambda _: model.outlier_scores(X), range(16)))
    for scores in concurrent:
        assert scores == pytest.approx(alone[CASES.index(case)][2], rel=1e-9, abs=1e-9)
