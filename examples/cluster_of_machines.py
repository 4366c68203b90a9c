"""A cluster started by hand from the shell, and a fit on it: the commands of docs/scaling.md.

    python examples/cluster_of_machines.py [folder]

Starts `dask scheduler` and two `dask worker` on this machine, fits `FuzzyCMeans` to rows in chunks,
and ranks them. Draws some of the rows with the clusters' shares and the rows furthest out. Writes
cluster_of_machines.png into the folder given (here by default).
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client

from softkern import FuzzyCMeans, rank_points

ROWS, CHUNK = 60_000, 15_000


def generate(block_info: dict | None = None) -> np.ndarray:
    """A chunk of three groups in the plane, with two rows far out in every chunk."""
    (start, stop), _ = block_info[None]["array-location"]
    generator = np.random.default_rng(start)
    centres = np.array([[0, 0], [9, 0], [4, 8.0]])
    X = centres[generator.integers(0, 3, stop - start)] + generator.normal(size=(stop - start, 2))
    X[:2] = generator.normal(size=(2, 2)) + np.array([[20, 20], [-15, 12]])
    return X


def main(folder: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    dask = str(Path(sys.executable).with_name("dask"))
    address = f"tcp://127.0.0.1:{port}"
    commands = [
        [dask, "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"],
        *[[dask, "worker", address, "--nthreads", "1", "--no-dashboard"]] * 2,
    ]
    with tempfile.TemporaryDirectory() as place:
        quiet = {"stderr": subprocess.DEVNULL, "cwd": place}
        processes = [subprocess.Popen(command, **quiet) for command in commands]
        try:
            with Client(address, timeout=60) as client:
                client.wait_for_workers(2, timeout=60)
                draw(folder, client)
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait(30)


def draw(folder: Path, client: Client) -> None:
    X = da.map_blocks(
        generate, chunks=((CHUNK,) * (ROWS // CHUNK), (2,)), dtype=float, meta=np.empty((0, 0))
    )
    model = FuzzyCMeans(3, engine_params={"sample_rows": 5000}).fit(X)
    top = rank_points(model, n_top=20).top
    print(f"{ROWS:,} rows on {len(client.nthreads())} workers: {model!r}")
    print(f"sizes {np.bincount(model.labels_.compute()).tolist()}, {model.n_iter_} iterations")
    print(top[["label", "outlier_score", "outlier_rank", "is_outlier"]].head(8).to_string())

    shown = np.arange(0, ROWS, 20)
    few, shares = X[shown].compute(), model.memberships_[shown].compute()
    far = X[top.index[top["is_outlier"]].to_numpy()].compute()
    figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
    axes.scatter(*few.T, c=shares, s=4)
    axes.scatter(*far.T, s=60, facecolors="none", edgecolors="#d55e00", label="outliers")
    axes.set(title=f"{ROWS:,} rows in {X.numblocks[0]} chunks, shares of three clusters as colours")
    axes.legend(frameon=False)
    path = folder / "cluster_of_machines.png"
    figure.savefig(path, dpi=120)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
