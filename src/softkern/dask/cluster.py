"""Running Dask computations on local threads or on a cluster.

As usual with Dask, a `distributed.Client` in the session selects the cluster. Dask recomputes the
chunks of a lost worker. It would wait forever for a cluster without workers or for a lost
scheduler, and fail late where workers run another version of softkern. `cluster_watchdog` turns
these cases into a `ClusterError`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from softkern.exceptions import ClusterError

CONNECT_SECONDS = 10
POLL_SECONDS = 0.5  # between two checks of the cluster
VERSION = "__import__('softkern').__version__"
PATIENCE_SECONDS = 30.0  # without any worker


def compute(*values: Any) -> tuple[Any, ...]:
    """Compute lazy values in one pass over the chunks, and return them in this process."""
    import dask

    with cluster_watchdog():
        results: tuple[Any, ...] = dask.compute(*values)
    return results


def compute_each(tasks: Sequence[Callable[[], Any]], report: Callable[[float], None]) -> list[Any]:
    """Call each function as one task, and `report` how many are done.

    Unlike `distributed.as_completed`, this also works with local threads.
    """
    from dask import delayed
    from dask.system import CPU_COUNT

    batch = 2 * (worker_threads() or CPU_COUNT)
    results: list[Any] = []
    for start in range(0, len(tasks), batch):
        results += compute(*(delayed(task)() for task in tasks[start : start + batch]))
        report(len(results))
    return results


def merge_parts(parts: Sequence[Any], merge: Callable[[Sequence[Any]], Any], width: int) -> Any:
    """Merge lazy parts on the workers, `width` of them per task, and return the result."""
    from dask import delayed

    parts = list(parts)
    while len(parts) > 1:
        groups = (parts[k : k + width] for k in range(0, len(parts), width))
        parts = [delayed(merge)(group) for group in groups]
    return compute(parts[0])[0]


@contextmanager
def connect(address: str | None) -> Iterator[None]:
    """Use this Dask scheduler inside the context, for None the current one."""
    if address is None:
        yield
        return
    try:
        import dask
        from distributed import Client
    except ImportError:
        raise ClusterError("a cluster needs distributed: pip install 'softkern[dask]'.") from None
    try:  # a client that fails must not become the default of the session
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"no Dask scheduler answers at {address!r}; start one (dask scheduler), or correct the "
            "address, for example tcp://host:8786."
        ) from error
    with client, dask.config.set(scheduler=client):
        yield


def persist(array: Any) -> Any:
    """Compute a Dask array once and keep its chunks where they were computed."""
    client = _client()
    return array.persist() if client is None else client.persist(array)


def broadcast(value: Any) -> Any:
    """Send a value that many tasks need to every worker once."""
    from dask import delayed

    return delayed(value, pure=False, traverse=False)


def worker_threads() -> int | None:
    """Return the number of threads of all workers, or None without a cluster."""
    client = _client()
    return None if client is None else sum(client.nthreads().values())


@contextmanager
def cluster_watchdog() -> Iterator[None]:
    """Raise a `ClusterError` inside the context when the cluster cannot go on.

    Tasks are not fused: persisted chunks keep the names of the tasks that made them, and Dask warns
    of deadlocks when the same name later means tasks that were fused differently.
    """
    import dask
    from dask.base import get_scheduler

    client = _client()
    if client is None or isinstance(get_scheduler(), _WatchedScheduler):
        yield
        return
    watched = _WatchedScheduler(client)
    watched.check_versions()
    with dask.config.set(scheduler=watched, array_optimize=False):
        yield


def _client() -> Any:
    """Return the client of the current cluster, or None where local threads compute."""
    if "distributed" not in sys.modules:
        return None
    from dask.base import get_scheduler
    from distributed import Client

    scheduler = get_scheduler()
    client = getattr(scheduler, "client", None) or getattr(scheduler, "__self__", None)
    return client if isinstance(client, Client) else None


class _WatchedScheduler:
    """Dask scheduler function that computes on a cluster and checks it while waiting."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.address = client.scheduler.address if client.scheduler is not None else "?"
        self.last_worker = time.monotonic()  # when there last was a worker

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as None: Dask sends its settings to new workers, where there is no client."""
        return type(None), ()

    def __call__(self, graph: Any, keys: Any, **options: Any) -> Any:
        from concurrent.futures import CancelledError

        from distributed import wait
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        self.check()
        self.last_worker = time.monotonic()
        try:
            futures = self.client.get(graph, keys, sync=False, **options)
            while True:
                try:
                    wait(futures, timeout=POLL_SECONDS)
                    return self.client.gather(futures)
                except TimeoutError:
                    self.check()
        except (CancelledError, FutureCancelledError, CommClosedError) as error:
            raise self._lost() from error
        except KilledWorker as error:
            raise ClusterError(
                f"workers of {self.address} died repeatedly on the same chunk, most likely because "
                "they ran out of memory; use smaller chunks (X.rechunk) or larger workers."
            ) from error

    def check(self) -> None:
        """Raise a `ClusterError` where no worker or no scheduler is left."""
        if self.client.status != "running":
            raise self._lost()
        try:
            has_workers = bool(self.client.nthreads())
        except (OSError, TimeoutError) as error:
            raise self._lost() from error
        now = time.monotonic()
        if has_workers:
            self.last_worker = now
        elif now - self.last_worker > PATIENCE_SECONDS:
            raise ClusterError(
                f"{self.address} has had no worker for {PATIENCE_SECONDS:g} seconds; start some "
                f"(dask worker {self.address}) and fit again."
            )

    def _lost(self) -> ClusterError:
        return ClusterError(
            f"the Dask scheduler {self.address} is gone; start it again, connect a new client and "
            "fit again."
        )

    def check_versions(self) -> None:
        """Raise a `ClusterError` if a process of the cluster runs another version of softkern."""
        self.check()
        own = str(sys.modules["softkern"].__version__)
        # eval exists everywhere; a function of this package would not where it is not installed
        versions = self.client.run(eval, VERSION, on_error="return")
        try:
            versions[self.address] = self.client.run_on_scheduler(eval, VERSION)
        except ImportError as error:
            versions[self.address] = error
        others = {name: version for name, version in versions.items() if version != own}
        if others:
            name, version = next(iter(others.items()))
            has = f"version {version}" if isinstance(version, str) else f"none ({version})"
            raise ClusterError(
                f"{len(others)} of the {len(versions)} processes of the cluster "
                f"{'has' if len(others) == 1 else 'have'} another softkern than this one: "
                f"{name} has {has}, here it is {own}. Install the same version everywhere."
            )
