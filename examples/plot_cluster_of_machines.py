"""A fit on a Dask cluster
=======================

This example starts a Dask scheduler and two workers on this machine with the usual shell
commands, fits three clusters to chunked data, and ranks the rows. The data stay on the workers.
Only what is plotted comes back.
"""

import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client

from softkern import FuzzyCMeans, rank_points

ROWS, CHUNK = 4_000, 1_000


def generate(block_info=None):
    """Generate a chunk of three clusters in the plane, with two outliers."""
    (start, stop), _ = block_info[None]["array-location"]
    generator = np.random.default_rng(start)
    centers = np.array([[0, 0], [9, 0], [4, 8.0]])
    X = centers[generator.integers(0, 3, stop - start)] + generator.normal(size=(stop - start, 2))
    X[:2] = generator.normal(size=(2, 2)) + np.array([[20, 20], [-15, 12]])
    return X


with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
dask, address = str(Path(sys.executable).with_name("dask")), f"tcp://127.0.0.1:{port}"
commands = [
    [dask, "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"],
    *[[dask, "worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]] * 2,
]
place = tempfile.TemporaryDirectory()
processes = [
    subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=place.name) for command in commands
]
try:
    with Client(address, timeout=60) as client:
        client.wait_for_workers(2, timeout=60)
        chunks = (CHUNK,) * (ROWS // CHUNK), (2,)
        X = da.map_blocks(generate, chunks=chunks, dtype=float, meta=np.empty((0, 0)))
        model = FuzzyCMeans(3, engine_params={"sample_rows": 500}).fit(X)
        top = rank_points(model, n_top=20).top
        print(f"sizes {np.bincount(model.labels_.compute()).tolist()}")
        print(top[["label", "outlier_score", "outlier_rank", "is_outlier"]].head(8).to_string())
        shown = np.arange(0, ROWS, 2)
        sample, memberships = X[shown].compute(), model.memberships_[shown].compute()
        far = X[top.index[top["is_outlier"]].to_numpy()].compute()
finally:
    for process in reversed(processes):
        process.terminate()
        process.wait(30)
    place.cleanup()

figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
axes.scatter(*sample.T, c=memberships, s=4)
axes.scatter(*far.T, s=60, facecolors="none", edgecolors="#d55e00", label="outliers")
axes.set(title=f"{ROWS:,} rows in {X.numblocks[0]} chunks, memberships of three clusters as colors")
axes.legend(frameon=False)
plt.show()
