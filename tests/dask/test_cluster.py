"""Fits on a cluster of processes: the same result when a worker dies, an error when all do.

The tests share one cluster, started by the commands of the documentation, and damage it in this
order.
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
from softkern.dask import cluster
from softkern.dask.cluster import compute
from softkern.dask.operator import DistributedNystroem, DistributedOperator
from softkern.dask.rows import ChunkedRows
from softkern.exceptions import ClusterError, DataError
from softkern.kernels import Laplacian
from softkern.operators.blocked import BlockedOperator
from softkern.tables.cli import run

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask warns while its workers are killed
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
    kernel = {"kernel": "laplacian", "bandwidth": 9.0}  # so that workers do not compile
    return FuzzyCMeans(3, m=1.5, **kernel, engine="nystroem", engine_params=params, tol=1e-3)


@pytest.fixture(scope="module")
def expected():
    with dask.config.set(scheduler="synchronous"):
        return model().fit(chunked(data())).memberships_.compute()


def read_commands():
    """Return the commands of the documentation that start a scheduler and workers."""
    text = DOCS.read_text(encoding="utf-8")
    return re.findall(r"^    (dask (?:scheduler|worker) .*?)(?:  +#.*)?$", text, re.MULTILINE)


class ShellCluster:
    """A scheduler and workers that are started from the shell."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler, self.workers = (self.start(line, folder) for line in read_commands()[:2])

    def start(self, line, folder):
        words = line.replace("8786", self.port).replace("SCHEDULER", "127.0.0.1").split()
        program = [str(Path(sys.executable).with_name("dask")), *words[1:]]
        return subprocess.Popen(program, stderr=subprocess.DEVNULL, cwd=folder)


@pytest.fixture(scope="module")
def shell_cluster(tmp_path_factory):
    made = ShellCluster(tmp_path_factory.mktemp("cluster"))
    yield made
    for process in (made.workers, made.scheduler):
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def client(shell_cluster):
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "5s"}),
        Client(shell_cluster.address, timeout=30) as connected,
    ):
        connected.wait_for_workers(2, timeout=30)
        yield connected


def call_in_second_step(monkeypatch, act):
    """Call a function in the second step of the loop of a fit."""
    steps = []
    original = DistributedNystroem.on_landmarks

    def on_landmarks(self, A):
        steps.append(1)
        if len(steps) == 2:
            act()
        return original(self, A)

    monkeypatch.setattr(DistributedNystroem, "on_landmarks", on_landmarks)


def test_exact_product_is_persisted(client):
    X, kernel = chunked(data()), Laplacian(9.0)
    rows, local = ChunkedRows.of(X), partial(BlockedOperator, kernel)
    operator = DistributedOperator(kernel, rows, local, local(rows.subsample.X))
    product = operator @ da.ones((900, 1), chunks=(300, 1))
    exact = kernel.block(data(), data()).sum(axis=1)
    assert compute(product[:, 0])[0] == pytest.approx(exact)


def test_task_names_are_unique(monkeypatch):
    """Dask warns of deadlocks if tasks that were fused in different ways have the same name."""
    messages = []
    monkeypatch.setattr(logging.getLogger("distributed.scheduler"), "warning", messages.append)
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=None) as local,
        Client(local),
    ):
        fitted = OneClassPCM(bandwidth=3.0, engine="tiled").fit(chunked(data()))
        fitted.outlier_scores_.compute()
        rank_points(fitted)
    assert not messages


def test_result_does_not_change_when_a_worker_is_killed(client, expected, monkeypatch):
    pids = client.run(os.getpid)
    assert len(pids) == 2

    def kill():
        threading.Timer(0.02, os.kill, (next(iter(pids.values())), signal.SIGKILL)).start()

    call_in_second_step(monkeypatch, kill)
    fitted = model().fit(chunked(data()))
    assert fitted.memberships_.compute() == pytest.approx(expected, abs=1e-9)


def test_settings_sent_to_new_workers_hold_no_client(client):
    with cluster.cluster_watchdog():
        sent = pickle.loads(pickle.dumps(dask.config.global_config))
    assert sent["scheduler"] is None


def test_invalid_value_is_located(client):
    X = data()
    X[407, 2] = np.nan
    with pytest.raises(DataError, match="nan in chunk 1, row 107 of it .row 407 of all., column 2"):
        model().fit(chunked(X))


def test_another_version_on_a_worker_is_an_error(client):
    worker = next(iter(client.nthreads()))
    line = "import softkern; softkern.__version__ = {!r}"
    own = sys.modules["softkern"].__version__
    client.run(exec, line.format("0.0.1"), workers=[worker])
    try:
        with pytest.raises(ClusterError, match=f"{worker} has version 0.0.1, here it is {own}"):
            model().fit(chunked(data()))
    finally:
        client.run(exec, line.format(own), workers=[worker])


def test_command_line_on_a_cluster(client, shell_cluster, tmp_path, capsys):
    frame = pd.DataFrame(data(), columns=["height", "weight", "age"])
    (tmp_path / "many").mkdir()
    for k in range(2):
        frame.iloc[k::2].to_parquet(tmp_path / "many" / f"{k}.parquet", index=False)
    where = [str(tmp_path / "many"), "-o", str(tmp_path / "results"), "--no-report"]
    assert run(["analyze", *where, "--model", "fuzzy", "--scheduler", shell_cluster.address]) == 0
    parts = [pd.read_parquet(tmp_path / "results" / f"points-0000{k}.parquet") for k in range(2)]
    assert [len(part) for part in parts] == [450, 450]
    assert "of all 900 rows" in capsys.readouterr().out


def test_loss_of_all_workers_is_an_error(client, shell_cluster, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 1.0)
    call_in_second_step(monkeypatch, shell_cluster.workers.terminate)
    began = time.monotonic()
    with pytest.raises(ClusterError, match="has had no worker for 1 seconds; start some"):
        model().fit(chunked(data()))
    assert time.monotonic() - began < 30


def test_loss_of_the_scheduler_is_an_error(client, shell_cluster):
    threading.Timer(0.5, shell_cluster.scheduler.kill).start()  # while the fit waits for workers
    with pytest.raises(ClusterError, match=f"{shell_cluster.address} is gone"):
        model().fit(chunked(data()))
