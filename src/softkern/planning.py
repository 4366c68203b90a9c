"""Which operator, at what cost: chosen and explained before any work is done.

Every operator says what a workload would cost it on the reference machine (`KernelOperator.cost`);
the plan takes the quickest that fits into memory. The choice uses reference times only, so that it
is the same on every machine and in every run; the times shown are scaled by a short measurement of
the machine at hand. Estimators call `plan`, print it where asked, and `build` the operator from it.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from softkern.kernels import Gaussian, Kernel, resolve
from softkern.kernels.resolve import has_open_bandwidth
from softkern.operators.base import Cost, KernelOperator, Workload, available_threads
from softkern.operators.dense import DenseOperator
from softkern.operators.fourier import FourierOperator
from softkern.operators.nystroem import NystroemOperator
from softkern.operators.tiled import TiledOperator
from softkern.rows import priority_sample

__all__ = ["Candidate", "Plan", "plan"]

ENGINES: dict[str, type[KernelOperator]] = {
    operator.engine: operator
    for operator in (DenseOperator, TiledOperator, FourierOperator, NystroemOperator)
}
APPROXIMATE = {NystroemOperator.engine}  # whose error is known only afterwards
MEMORY_SHARE = 0.8  # of what is available
SAMPLE = 1000  # rows that tell an operator's cost model how the data lie
PROBE_REFERENCE = 2.11e-4  # seconds of `_probe` on the reference machine


@dataclass(frozen=True)
class Candidate:
    """One engine's offer: its cost, or the reason why it cannot be taken."""

    engine: str
    cost: Cost | None
    reason: str


@dataclass(frozen=True)
class Plan:
    """The engine chosen for a product, its price, and why the others were not.

    Made by `plan`; printing it gives a table.

    Attributes
    ----------
    engine : str
    kernel : softkern.kernels.Kernel
    work : Workload
    candidates : tuple of Candidate
    memory_limit : int
        Bytes.
    speed : float
        Times of this machine over those of the reference machine.
    words : dict or None
        What `softkern.kernels.resolve` is to be asked when the data come, where the plan was
        made for a shape and the bandwidth is a rule.
    """

    engine: str
    kernel: Kernel
    work: Workload
    candidates: tuple[Candidate, ...]
    memory_limit: int
    speed: float = 1.0
    words: dict[str, Any] | None = field(default=None, compare=False)

    @property
    def chosen(self) -> Candidate:
        """The offer that was taken."""
        return next(c for c in self.candidates if c.engine == self.engine)

    @property
    def memory(self) -> int:
        """Promised peak memory beyond the data, in bytes."""
        assert self.chosen.cost is not None
        return self.chosen.cost.memory

    @property
    def setup_seconds(self) -> float:
        """Expected time to build the operator."""
        assert self.chosen.cost is not None
        return self.chosen.cost.setup * self.speed

    @property
    def product_seconds(self) -> float:
        """Expected time of one K @ A."""
        assert self.chosen.cost is not None
        return self.chosen.cost.product * self.speed

    def build(self, X: Any, **options: Any) -> KernelOperator:
        """The operator, for the data that the plan was made for.

        Raises a MemoryError before any work where it would not fit.
        """
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        if X.shape != (self.work.n, self.work.d):
            raise ValueError(
                f"the plan was made for shape ({self.work.n}, {self.work.d}), not {X.shape}."
            )
        self.require_memory()
        kernel = self.kernel
        if self.words is not None:  # made for a shape: the bandwidth is still to be read
            kernel = resolve(X=X, **self.words)
        return ENGINES[self.engine](kernel, X, **options)

    def require_memory(self) -> None:
        """Raise a MemoryError, with the alternatives named, where the plan does not fit."""
        if self.memory <= self.memory_limit:
            return
        others = [
            c.engine
            for c in self.candidates
            if c.cost is not None and c.cost.memory <= self.memory_limit
        ]
        remedy = f"use engine={' or '.join(map(repr, others))}" if others else "use fewer rows"
        raise MemoryError(
            f"engine={self.engine!r} needs {_bytes(self.memory)} for n = {self.work.n:,}, and "
            f"{_bytes(self.memory_limit)} may be used; {remedy}."
        )

    def __str__(self) -> str:
        work = self.work
        head = (
            f"K @ A for n = {work.n:,}, d = {work.d}, {work.columns} "
            f"column{'s' if work.columns > 1 else ''}, {np.dtype(work.dtype)}, "
            f"{type(self.kernel).__name__} kernel, {work.iterations} "
            f"product{'s' if work.iterations > 1 else ''}, {work.threads} "
            f"thread{'s' if work.threads > 1 else ''}, up to {_bytes(self.memory_limit)}"
        )
        rows = [("engine", "memory", "set-up", "product", "")]
        for candidate in self.candidates:
            mark = "▸ " if candidate.engine == self.engine else "  "
            cost = candidate.cost
            figures = ("–", "–", "–")
            if cost is not None:
                figures = (
                    _bytes(cost.memory),
                    _seconds(cost.setup * self.speed),
                    _seconds(cost.product * self.speed),
                )
            rows.append((mark + candidate.engine, *figures, candidate.reason))
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        lines = [
            "  ".join(
                [row[0].ljust(widths[0]), *(row[k].rjust(widths[k]) for k in (1, 2, 3)), row[4]]
            ).rstrip()
            for row in rows
        ]
        return "\n".join([head, *lines])


def plan(
    X_or_shape: Any,
    *,
    kernel: Any = "rbf",
    kernel_params: dict[str, Any] | None = None,
    bandwidth: str | float | ArrayLike = "auto",
    columns: int = 1,
    engine: str = "auto",
    iterations: int = 20,
    dtype: Any = None,
    sample_weight: Any = None,
    memory_limit: int | None = None,
    patience: float = 600.0,
    random_state: Any = 0,
) -> Plan:
    """Choose how K @ A will be computed, and say beforehand what it will cost.

    Parameters
    ----------
    X_or_shape : array or CSR matrix of shape (n, d), or the tuple (n, d)
        With the data at hand the bandwidth and the width of the data in bandwidths are known, and
        with them the size of a Fourier grid; with a shape they are guessed.
    kernel, kernel_params, bandwidth, sample_weight, random_state
        As in `softkern.kernels.resolve`.
    columns : int, default=1
        Columns of A: clusters, usually.
    engine : {"auto", "dense", "tiled", "fourier", "nystroem"}, default="auto"
        ``"auto"`` takes the quickest engine whose error is known beforehand and that fits into
        memory; where all of these would take longer than `patience`, the quickest of all.
    iterations : int, default=20
        Products that will be asked for.
    dtype : dtype, default=None
        Of the data, where only their shape is given.
    memory_limit : int, default=None
        Bytes that may be used; by default four fifths of what is available.
    patience : float, default=600.0
        Seconds on the reference machine.

    Returns
    -------
    Plan

    Examples
    --------
    >>> chosen = plan((1_000_000, 2), memory_limit=8 * 2**30)
    >>> chosen.engine
    'fourier'
    >>> plan((1000, 2), memory_limit=8 * 2**30).engine
    'dense'
    """
    if engine != "auto" and engine not in ENGINES:
        raise ValueError(f"engine={engine!r} is unknown; give 'auto' or one of {list(ENGINES)}.")
    if columns < 1 or iterations < 1:
        raise ValueError(f"columns={columns!r} and iterations={iterations!r} must be at least 1.")
    words = None
    if isinstance(X_or_shape, tuple):
        work = _work_of_shape(X_or_shape, kernel, kernel_params, bandwidth, dtype)
        if isinstance(bandwidth, str) and not isinstance(kernel, Kernel):
            words = {"kernel": kernel, "kernel_params": kernel_params, "bandwidth": bandwidth}
    else:
        work = _work_of_data(
            X_or_shape, kernel, kernel_params, bandwidth, sample_weight, random_state
        )
    work = replace(work, columns=columns, iterations=iterations, threads=available_threads())
    limit = int(MEMORY_SHARE * available_memory()) if memory_limit is None else int(memory_limit)
    costs = {
        name: operator.cost(work)
        for name, operator in ENGINES.items()
        if operator.unfit(work) is None
    }
    if not costs:
        reasons = "; ".join(f"{name}: {op.unfit(work)}" for name, op in ENGINES.items())
        raise ValueError(f"no engine can do this. {reasons}.")
    taken = _choose(costs, work, limit, patience) if engine == "auto" else engine
    if taken not in costs:
        raise ValueError(f"engine={taken!r} cannot be used here: {ENGINES[taken].unfit(work)}.")
    candidates = tuple(
        _candidate(name, costs, work, limit, taken, engine != "auto") for name in ENGINES
    )
    return Plan(taken, work.kernel, work, candidates, limit, _machine_speed(), words)


def _total(cost: Cost, work: Workload) -> float:
    return cost.setup + work.iterations * cost.product


def _choose(costs: dict[str, Cost], work: Workload, limit: int, patience: float) -> str:
    fitting = {name: cost for name, cost in costs.items() if cost.memory <= limit}
    if not fitting:
        return min(costs, key=lambda name: costs[name].memory)
    known = {name: cost for name, cost in fitting.items() if name not in APPROXIMATE}
    if known:
        best = min(known, key=lambda name: _total(known[name], work))
        if _total(known[best], work) <= patience:
            return best
    return min(fitting, key=lambda name: _total(fitting[name], work))


def _candidate(
    name: str, costs: dict[str, Cost], work: Workload, limit: int, taken: str, asked: bool
) -> Candidate:
    cost = costs.get(name)
    if cost is None:
        return Candidate(name, None, ENGINES[name].unfit(work) or "")
    if cost.memory > limit:
        return Candidate(name, cost, f"over the memory limit of {_bytes(limit)}")
    if name == taken:
        return Candidate(name, cost, "as asked" if asked else "chosen")
    if name in APPROXIMATE and taken not in APPROXIMATE:
        return Candidate(name, cost, "its error is known only afterwards")
    slower = _total(cost, work) / max(_total(costs[taken], work), 1e-9)
    return Candidate(name, cost, f"{slower:.3g} × the time" if slower >= 1 else "not asked for")


def _work_of_shape(
    shape: tuple[int, ...], kernel: Any, params: Any, bandwidth: Any, dtype: Any
) -> Workload:
    if len(shape) != 2 or min(shape) < 1:
        raise ValueError(f"the shape must be (n, d) with n, d ≥ 1, got {shape!r}.")
    is_open = isinstance(bandwidth, str) and has_open_bandwidth(kernel, params)
    known = 1.0 if is_open else bandwidth
    chosen = resolve(kernel, bandwidth=known, kernel_params=params)
    return Workload(int(shape[0]), int(shape[1]), chosen, dtype=np.dtype(dtype or np.float64))


def _work_of_data(
    X: Any, kernel: Any, params: Any, bandwidth: Any, sample_weight: Any, random_state: Any
) -> Workload:
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    chosen = resolve(
        kernel,
        X,
        bandwidth=bandwidth,
        kernel_params=params,
        sample_weight=sample_weight,
        random_state=random_state,
    )
    chosen.check(X)
    work = Workload.of(X, chosen)
    if not isinstance(chosen, Gaussian) or sp.issparse(X):
        return work
    width = X.max(axis=0).astype(np.float64) - X.min(axis=0)
    extent = tuple((width / np.asarray(chosen.bandwidth)).tolist())
    rows, _ = priority_sample(X, SAMPLE, None, random_state)
    return replace(work, extent=extent, sample=chosen.scaled(X[rows]))


def available_memory() -> int:
    """Bytes this process may still take, as the system and its container say."""
    free = _meminfo() or _physical()
    try:
        folder = Path("/sys/fs/cgroup")
        limit = int((folder / "memory.max").read_text())
        used = int((folder / "memory.current").read_text())
        lines = (folder / "memory.stat").read_text().splitlines()
        # pages of files that can be dropped are counted as used, and are not
        cached = next(int(line.split()[1]) for line in lines if line.startswith("inactive_file"))
        return min(free, limit - used + cached)
    except (OSError, ValueError, StopIteration):  # no container, or no limit ("max")
        return free


def _meminfo() -> int | None:
    try:
        with open("/proc/meminfo") as lines:
            fields = dict(line.split(":") for line in lines)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None


def _physical() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 4 * 2**30  # a system that does not tell: what a small laptop has


@cache
def _machine_speed() -> float:
    """How many times longer this machine takes than the reference machine, measured once."""
    return float(np.clip(min(_probe() for _ in range(8)) / PROBE_REFERENCE, 0.1, 10.0))


def _probe() -> float:
    """Seconds of what operators do most: exponentials."""
    values = np.linspace(-1, 0, 2**14)
    out = np.empty_like(values)
    start = time.perf_counter()
    for _ in range(16):
        np.exp(values, out=out)
    return time.perf_counter() - start


def _bytes(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.3g} {unit}" if count < 999.5 else f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"


def _seconds(seconds: float) -> str:
    if seconds < 0.9995:
        return f"{seconds * 1e3:.2g} ms" if seconds < 0.0995 else f"{seconds * 1e3:.0f} ms"
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 9.95 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
