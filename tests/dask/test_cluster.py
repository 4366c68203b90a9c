"""Fits on a cluster of processes: the same answer when a worker dies, an error when all do.

One cluster, started as the documentation says; what its tests do to it, they do in this order.
"""

import logging
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from softkern import FuzzyCMeans, OneClassPCM, rank_points
from softkern.dask import ChunkedRows, cluster, compute
from softkern.dask.operator import DistributedNystroem, DistributedOperator
from softkern.exceptions import ClusterError, DataError
from softkern.kernels import Laplacian
from softkern.operators import BlockedOperator
from softkern.tables.cli import run

pytestmark = pytest.mark.filterwarnings("ignore")  # what Dask says while its workers are killed
DOCS = Path(__file__).parents[2] / "docs" / "scaling.md"


def data():
    X = np.random.default_rng(0).normal(size=(900, 3))
    X[300:600, 0] += 9
    X[600:, 1] += 9
    return X


def chunked(X):
    return da.from_array(X, chunks=(300, 3))


def model():
    params = {"rank": 40, "sample_rows": 300}
    kernel = {"kernel": "laplacian", "bandwidth": 9.0}  # no worker waits for numba
    return FuzzyCMeans(3, m=1.5, **kernel, engine="nystroem", engine_params=params, tol=1e-3)


@pytest.fixture(scope="module")
def expected():
    with dask.config.set(scheduler="synchronous"):
        return model().fit(chunked(data())).memberships_.compute()


def commands():
    """Those of the documentation, which start a scheduler and workers by hand."""
    text = DOCS.read_text(encoding="utf-8")
    return re.findall(r"^    (dask (?:scheduler|worker) .*?)(?:  +#.*)?$", text, re.MULTILINE)


class ByHand:
    """A scheduler and workers that were started from the shell."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler, self.workers = (self.start(line, folder) for line in commands()[:2])

    def start(self, line, folder):
        words = line.replace("8786", self.port).replace("SCHEDULER", "127.0.0.1").split()
        program = [str(Path(sys.executable).with_name("dask")), *words[1:]]
        return subprocess.Popen(program, stderr=subprocess.DEVNULL, cwd=folder)


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory):
    made = ByHand(tmp_path_factory.mktemp("cluster"))
    yield made
    for process in (made.workers, made.scheduler):
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def client(by_hand):
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "5s"}),
        Client(by_hand.address, timeout=30) as found,
    ):
        found.wait_for_workers(2, timeout=30)
        yield found


def in_the_second_step(monkeypatch, act):
    """Do something while a fit is in its loop."""
    steps = []
    honest = DistributedNystroem.on_landmarks

    def on_landmarks(self, A):
        steps.append(1)
        if len(steps) == 2:
            act()
        return honest(self, A)

    monkeypatch.setattr(DistributedNystroem, "on_landmarks", on_landmarks)


def test_an_exact_product_outlives_what_it_was_made_of(client):
    X, kernel = chunked(data()), Laplacian(9.0)
    operator = DistributedOperator(kernel, ChunkedRows.of(X), partial(BlockedOperator, kernel))
    product = operator @ da.ones((900, 1), chunks=(300, 1))
    exact = kernel.block(data(), data()).sum(axis=1)
    assert compute(product[:, 0])[0] == pytest.approx(exact)


def test_names_of_tasks_mean_one_thing(monkeypatch):
    """Dask warns of deadlocks where one name stands for tasks that were fused in two ways."""
    said = []
    monkeypatch.setattr(logging.getLogger("distributed.scheduler"), "warning", said.append)
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=None) as local,
        Client(local),
    ):
        fitted = OneClassPCM(bandwidth=3.0, engine="tiled").fit(chunked(data()))
        fitted.outlier_scores_.compute()
        rank_points(fitted)
    assert not said


def test_the_same_as_on_one_machine_also_where_a_worker_is_killed(client, expected, monkeypatch):
    pids = client.run(os.getpid)
    assert len(pids) == 2

    def kill():
        threading.Timer(0.02, os.kill, (next(iter(pids.values())), signal.SIGKILL)).start()

    in_the_second_step(monkeypatch, kill)
    fitted = model().fit(chunked(data()))
    assert fitted.memberships_.compute() == pytest.approx(expected, abs=1e-9)


def test_settings_that_dask_sends_to_new_workers_do_not_hold_a_client(client):
    with cluster.cluster_watchdog():
        sent = pickle.loads(pickle.dumps(dask.config.global_config))
    assert sent["scheduler"] is None


def test_a_poisoned_chunk_is_named(client):
    X = data()
    X[407, 2] = np.nan
    with pytest.raises(DataError, match="nan in chunk 1, row 107 of it .row 407 of all., column 2"):
        model().fit(chunked(X))


def test_another_version_on_a_worker(client):
    worker = next(iter(client.nthreads()))
    line = "import softkern; softkern.__version__ = {!r}"
    own = sys.modules["softkern"].__version__
    client.run(exec, line.format("0.0.1"), workers=[worker])
    try:
        with pytest.raises(ClusterError, match=f"{worker} has version 0.0.1, here it is {own}"):
            model().fit(chunked(data()))
    finally:
        client.run(exec, line.format(own), workers=[worker])


def test_the_command_line_on_a_cluster(client, by_hand, tmp_path, capsys):
    frame = pd.DataFrame(data(), columns=["height", "weight", "age"])
    (tmp_path / "many").mkdir()
    for k in range(2):
        frame.iloc[k::2].to_parquet(tmp_path / "many" / f"{k}.parquet", index=False)
    where = [str(tmp_path / "many"), "-o", str(tmp_path / "results"), "--no-report"]
    assert run(["analyze", *where, "--model", "fuzzy", "--scheduler", by_hand.address]) == 0
    parts = [pd.read_parquet(tmp_path / "results" / f"points-0000{k}.parquet") for k in range(2)]
    assert [len(part) for part in parts] == [450, 450]
    assert "of all 900 rows" in capsys.readouterr().out


def test_all_workers_lost(client, by_hand, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 1.0)
    in_the_second_step(monkeypatch, by_hand.workers.terminate)
    began = time.monotonic()
    with pytest.raises(ClusterError, match="has had no worker for 1 seconds; start some"):
        model().fit(chunked(data()))
    assert time.monotonic() - began < 30


def test_a_scheduler_that_is_gone(client, by_hand):
    threading.Timer(0.5, by_hand.scheduler.kill).start()  # while the fit waits for workers
    with pytest.raises(ClusterError, match=f"{by_hand.address} is gone"):
        model().fit(chunked(data()))
