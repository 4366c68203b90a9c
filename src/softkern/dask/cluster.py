"""Where chunks are computed: on this machine's threads, or on the cluster of the current client.

Whether there is a cluster is the user's choice, made as Dask has it: a `distributed.Client` in the
session, or none. A worker that is lost is Dask's own business, which computes its chunks again
elsewhere. What Dask would wait for without end is looked for here: a cluster without workers, a
scheduler that is gone, workers that have another version of this package.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from softkern.exceptions import ClusterError

__all__ = [
    "computed",
    "computed_one_by_one",
    "connected",
    "kept",
    "shared",
    "threads_of_workers",
    "watched",
]

CONNECT_SECONDS = 10
POLL_SECONDS = 0.5  # between two looks at the cluster
VERSION = "__import__('softkern').__version__"
PATIENCE_SECONDS = 30.0  # that a cluster may be without any worker


def computed(*values: Any) -> tuple[Any, ...]:
    """Lazy values as arrays and objects of this process, all from one pass over the chunks."""
    import dask

    with watched():
        found: tuple[Any, ...] = dask.compute(*values)
    return found


def computed_one_by_one(
    tasks: Sequence[Callable[[], Any]], done: Callable[[float], None]
) -> list[Any]:
    """What functions return, each a task of its own; `done` is told how many are.

    Examples
    --------
    >>> computed_one_by_one([lambda: 1, lambda: 2], done=lambda number: None)
    [1, 2]
    """
    from dask import delayed

    at_once = 2 * (threads_of_workers() or os.cpu_count() or 1)
    found: list[Any] = []
    for start in range(0, len(tasks), at_once):
        found += computed(*(delayed(_called)(task) for task in tasks[start : start + at_once]))
        done(len(found))
    return found


def _called(task: Callable[[], Any]) -> Any:
    return task()


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Within, the cluster of a scheduler computes; with None, whoever does already."""
    if address is None:
        yield
        return
    try:
        import dask
        from distributed import Client
    except ImportError:
        raise ClusterError("a cluster needs distributed: pip install 'softkern[dask]'.") from None
    try:  # one that fails must not be the session's own
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"no Dask scheduler answers at {address!r}; start one (dask scheduler), or correct the "
            "address, as tcp://host:8786."
        ) from error
    with client, dask.config.set(scheduler=client):
        yield


def kept(array: Any) -> Any:
    """The same Dask array, computed once and held where its chunks were made."""
    client = _client()
    return array.persist() if client is None else client.persist(array)


def shared(value: Any) -> Any:
    """A value that many tasks take, sent to every worker once."""
    from dask import delayed

    return delayed(value, pure=False, traverse=False)


def threads_of_workers() -> int | None:
    """Threads of all workers of the cluster, None where this machine computes."""
    client = _client()
    return None if client is None else sum(client.nthreads().values())


@contextmanager
def watched() -> Iterator[None]:
    """Within, whatever is computed ends with an error where the cluster cannot go on.

    Tasks are not fused: what is held on workers would remember them under names that mean other
    tasks wherever they were fused in another way, and Dask warns of deadlocks then.
    """
    client = _client()
    if client is None or isinstance(_scheduler(), _Watch):
        yield
        return
    import dask

    watch = _Watch(client)
    watch.check_versions()
    with dask.config.set(scheduler=watch, array_optimize=False):
        yield


def _scheduler() -> Any:
    from dask.base import get_scheduler

    return get_scheduler()


def _client() -> Any:
    """The client of the cluster that computes, None where this machine's threads do."""
    if "distributed" not in sys.modules:
        return None
    from distributed import Client

    scheduler = _scheduler()
    client = getattr(scheduler, "client", None) or getattr(scheduler, "__self__", None)
    return client if isinstance(client, Client) else None


class _Watch:
    """Computes on a cluster, as the client itself does, and looks at the cluster while waiting."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.address = client.scheduler.address if client.scheduler is not None else "?"
        self.seen = time.monotonic()  # when there last was a worker

    def __reduce__(self) -> tuple[Any, ...]:
        """Nothing: Dask sends its settings to workers that it starts, where this has no place."""
        return type(None), ()

    def __call__(self, graph: Any, keys: Any, **options: Any) -> Any:
        from concurrent.futures import CancelledError

        from distributed import wait
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        self.check()
        self.seen = time.monotonic()
        try:
            futures = self.client.get(graph, keys, sync=False, **options)
            while True:
                try:
                    wait(futures, timeout=POLL_SECONDS)
                    return self.client.gather(futures)
                except TimeoutError:
                    self.check()
        except (CancelledError, FutureCancelledError, CommClosedError) as error:
            raise ClusterError(self._gone()) from error
        except KilledWorker as error:
            raise ClusterError(
                f"workers of {self.address} died again and again over the same chunk, most likely "
                "for want of memory; use smaller chunks (X.rechunk) or larger workers."
            ) from error

    def check(self) -> None:
        """Raise where nobody is left to compute."""
        if self.client.status != "running":
            raise ClusterError(self._gone())
        try:
            has_workers = bool(self.client.nthreads())
        except (OSError, TimeoutError) as error:
            raise ClusterError(self._gone()) from error
        now = time.monotonic()
        if has_workers:
            self.seen = now
        elif now - self.seen > PATIENCE_SECONDS:
            raise ClusterError(
                f"{self.address} has had no worker for {PATIENCE_SECONDS:g} seconds; start some "
                f"(dask worker {self.address}) and fit again."
            )

    def _gone(self) -> str:
        return (
            f"the Dask scheduler {self.address} is gone; start it again, connect a new client and "
            "fit again."
        )

    def check_versions(self) -> None:
        """Refuse a scheduler and workers whose package is another one."""
        self.check()
        own = str(sys.modules["softkern"].__version__)
        # a function of this package would not be found by those that lack it; eval is
        found = self.client.run(eval, VERSION, on_error="return")
        try:
            found[self.address] = self.client.run_on_scheduler(eval, VERSION)
        except ImportError as error:
            found[self.address] = error
        others = {name: said for name, said in found.items() if said != own}
        if others:
            name, said = next(iter(others.items()))
            has = f"version {said}" if isinstance(said, str) else f"none ({said})"
            raise ClusterError(
                f"{len(others)} of the {len(found)} processes of the cluster "
                f"{'has' if len(others) == 1 else 'have'} another softkern than this one: "
                f"{name} has {has}, here it is {own}. Install the same version everywhere."
            )
