"""Measure chunked data on a cluster of processes: time by rows and by workers, and memory.

    python benchmarks/scaling.py scaling [rows ...]     # three models; 10⁶ to 10⁷ by default
    python benchmarks/scaling.py workers                # one product, two workers against one
    python benchmarks/scaling.py steps [rows]           # seconds of a map and of a sum, for the cost model
    python benchmarks/scaling.py folder FOLDER          # 20 Parquet files of 500,000 rows

Chunks with d = 10 columns and eight clusters are generated whenever they are needed, so that no worker
stores the data. Each worker is a process with one thread. Its peak memory is reported by the operating
system. Times are wall-clock times of everything a user waits for, and ratios are from one run.
"""

from __future__ import annotations

import logging
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import softkern as sk
from softkern.dask.cluster import compute
from softkern.dask.plan import build, plan_chunks
from softkern.dask.rows import ChunkedRows

D, GROUPS = 10, 8
LANDMARKS = 500
CHUNK = 250_000
ROWS = (1_000_000, 3_000_000, 10_000_000)
WIDE = 8.0  # bandwidth: half of the distance between clusters
MODELS: dict[str, Callable[[], Any]] = {
    "OneClassPCM": lambda: sk.OneClassPCM(**_options()),
    "FuzzyCMeans(8)": lambda: sk.FuzzyCMeans(GROUPS, n_init=2, tol=1e-4, **_options()),
    "SoftKernelSpectralClustering(8)": lambda: sk.SoftKernelSpectralClustering(
        GROUPS, bandwidth=WIDE / 2
    ),
}


def _options() -> dict[str, Any]:
    return {"bandwidth": WIDE, "engine": "nystroem", "engine_params": {"rank": LANDMARKS}}


def main() -> None:
    what, *given = sys.argv[1:] or ["scaling"]
    if what == "scaling":
        scaling([int(float(number)) for number in given] or list(ROWS))
    elif what == "workers":
        workers()
    elif what == "steps":
        steps(int(float(given[0])) if given else 1_000_000)
    else:
        folder(Path(given[0]))


def data(rows: int, dtype: Any = np.float64) -> Any:
    """Generate eight clusters at least 16 apart, chunk by chunk."""
    return da.map_blocks(
        _made, chunks=(_sizes(rows), (D,)), dtype=dtype, meta=np.empty((0, 0), dtype), kind=dtype
    )


def _sizes(rows: int) -> tuple[int, ...]:
    whole, rest = divmod(rows, CHUNK)
    return (CHUNK,) * whole + ((rest,) if rest else ())


def _made(kind: Any, block_info: Any = None) -> np.ndarray:
    (start, stop), _ = block_info[None]["array-location"]
    generator = np.random.default_rng(start)
    X = generator.standard_normal((stop - start, D), dtype=kind)
    group = generator.integers(0, GROUPS, stop - start)
    X[np.arange(len(X)), group] += 12
    return X


@contextmanager
def cluster(count: int) -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            memory_limit="2GiB",
            dashboard_address=None,
            silence_logs=logging.ERROR,
        ) as local,
        Client(local) as client,
    ):
        yield client


def peak(client: Client) -> float:
    """Return the peak GiB of the largest worker."""
    return max(client.run(_own_peak).values()) / 2**20


def _own_peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB


def scaling(sizes: list[int]) -> None:
    """Fit growing data on two workers, every fit on a new cluster."""
    print("| model | rows | fit, s | iterations | labels of all, s | largest worker, GiB |")
    print("|---|---|---|---|---|---|")
    for name, make in MODELS.items():
        times = []
        for rows in sizes:
            with cluster(2) as client:
                start = time.perf_counter()
                model = make().fit(data(rows))
                times.append(time.perf_counter() - start)
                start = time.perf_counter()
                answer = model.predict(data(rows))
                compute((answer == 0).sum())
                read = time.perf_counter() - start
                print(
                    f"| {name} | {rows:,} | {times[-1]:.1f} | {model.n_iter_} | {read:.1f} | "
                    f"{peak(client):.2f} |",
                    flush=True,
                )
        if len(times) > 1:
            exponent = np.log(times[-1] / times[0]) / np.log(sizes[-1] / sizes[0])
            print(f"| {name} | exponent {exponent:.2f} | | | | |", flush=True)


def workers() -> None:
    """Measure one exact product of 200,000 rows on one and on two workers."""
    rows, seconds = 200_000, {}
    for count in (1, 2):
        with cluster(count):
            X = data(rows).rechunk((20_000, -1))
            table = ChunkedRows.of(X, size=1000)
            operator = build(plan_chunks(table, bandwidth=WIDE, engine="tiled"), table)
            ones = da.ones((rows, 1), chunks=(X.chunks[0], 1))
            compute((operator @ ones)[:40_000].sum())  # warm-up
            start = time.perf_counter()
            compute((operator @ ones).sum())
            seconds[count] = time.perf_counter() - start
    ratio = seconds[1] / seconds[2]
    print(f"one worker {seconds[1]:.1f} s, two {seconds[2]:.1f} s: {ratio:.2f} times")


def steps(rows: int) -> None:
    """Measure the two halves of an iteration on two workers, for the cost model."""
    with cluster(2):
        table = ChunkedRows.of(data(rows), size=5000)
        options = {"bandwidth": WIDE, "engine": "nystroem", "engine_params": {"rank": LANDMARKS}}
        operator: Any = build(plan_chunks(table, **options), table)
        print("| columns | sum over chunks, s | map over chunks, s | pairs a second and core |")
        print("|---|---|---|---|")
        for columns in (1, 8):
            A = da.full((rows, columns), 1 / rows, chunks=(table.X.chunks[0], columns))
            start = time.perf_counter()
            operator.on_landmarks(A)
            summed = time.perf_counter() - start
            start = time.perf_counter()
            compute(operator.geometry(A).distances.sum())
            mapped = time.perf_counter() - start
            pairs = 2 * rows * LANDMARKS / (summed + mapped) / 2
            print(f"| {columns} | {summed:.2f} | {mapped:.2f} | {pairs:.2e} |", flush=True)


def folder(place: Path) -> None:
    """Write 20 Parquet files of 500,000 rows, for timing `softkern analyze FOLDER`."""
    import pandas as pd

    place.mkdir(parents=True, exist_ok=True)
    for k in range(20):
        X = _made(np.float64, {None: {"array-location": [(k * 500_000, (k + 1) * 500_000), None]}})
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(D)])
        frame.to_parquet(place / f"part-{k:02d}.parquet", index=False)
    print(f"wrote {place}; now: time softkern analyze {place} --out results --no-report")


if __name__ == "__main__":
    main()
