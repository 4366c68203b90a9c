"""The prices of all engines for a problem, and the choice of one by them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softkern._utils.memory import available_memory
from softkern.operators.base import ProblemSize
from softkern.operators.low_rank import DEFAULT_RANK
from softkern.operators.work import Cost
from softkern.planning.engines import BUILT_IN, ENGINES, Engine
from softkern.planning.text import bytes_in_words

MEMORY_SHARE = 0.8  # of the available memory
LOOP_ARRAYS = 5  # of the shape of A: product, distances, memberships old and new, coefficients
LOW_RANK = "nystroem"
# The kernel matrix is the fastest up to these rows, these values per product of the loop, and
# these multiplications per product
SMALL_ROWS = 1000
SMALL_VALUES = 20_000
SMALL_MULTIPLICATIONS = 2_000_000

# Low-rank acceleration of an exact engine
EXACT_STEPS = 8  # expected exact products of an accelerated loop
FACTOR_GAIN = 1.5  # by which it must be faster
FACTOR_TOLERANCE = 1e-3  # share of the trace at which the factor is good enough
RANK_SAMPLE = 250  # rows whose eigenvalues show the rank


@dataclass(frozen=True)
class Candidate:
    """One engine with its cost, or the reason why it cannot be used."""

    engine: str
    cost: Cost | None  # with the loop's arrays, on the reference machine
    reason: str
    speed: float = 1.0  # seconds on this machine per second on the reference machine


def memory_limit_of_machine() -> int:
    """Bytes that a plan may use by default."""
    return int(MEMORY_SHARE * available_memory())


def is_small(problem: ProblemSize) -> bool:
    """Whether the kernel matrix in memory is the fastest, without comparing costs."""
    values = problem.n**2
    return (
        problem.n <= SMALL_ROWS
        and values <= SMALL_VALUES * problem.products
        and values * (1 + problem.n_vectors) <= SMALL_MULTIPLICATIONS
        and problem.kernel.takes_points
        and tuple(ENGINES) == BUILT_IN
        and ENGINES["features"].operator.unsupported_reason(problem) is not None
    )


class Prices:
    """Costs of all engines for a problem, seconds of all products, and reasons against engines."""

    def __init__(
        self, problem: ProblemSize, options: dict[str, Any], limit: int, accelerate: bool = False
    ) -> None:
        self.problem, self.limit = problem, limit
        self.reasons: dict[str, str] = {}
        self.costs: dict[str, Cost] = {}
        self.crowded: set[str] = set()  # too large for the memory of their device
        for name, engine in ENGINES.items():
            reason = engine.unsupported_reason(problem, options)
            if reason is not None:
                self.reasons[name] = reason
                continue
            self.costs[name] = cost = loop_cost(engine, problem, options)
            free = engine.device_memory(**engine.known(options))
            if free is not None and cost.device > MEMORY_SHARE * free:
                self.crowded.add(name)
        if not self.costs:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self.reasons.items())
            raise ValueError(f"no engine can do this. {reasons}.")
        self.rank = 0  # of a factor that accelerates the loop
        if accelerate and LOW_RANK in self.costs:
            # a factor may need twice the rank that the sample shows
            rank = rank_for(problem, FACTOR_TOLERANCE, RANK_SAMPLE)
            self.rank = DEFAULT_RANK if rank is None else min(2 * rank, DEFAULT_RANK)
        self.factors: dict[str, Cost] = {}  # of engines whose loop they make faster
        self.times = {name: self._seconds(name, cost) for name, cost in self.costs.items()}

    def _seconds(self, name: str, cost: Cost) -> float:
        """Seconds of all products on the reference machine, with a factor where that is faster."""
        products = self.problem.products
        engine, seconds = ENGINES[name], cost.total(products)
        if not self.rank or not engine.is_exact:
            return seconds
        factor = engine.factor_cost(self.problem, self.rank)
        faster = cost.setup + EXACT_STEPS * cost.product + factor.total(products)
        if cost.memory + factor.memory > self.limit or seconds <= FACTOR_GAIN * faster:
            return seconds
        self.factors[name] = factor
        return faster

    def choose(self, patience: float) -> str:
        """Return the fastest engine that fits, or the smallest one if none does.

        An exact engine is preferred unless it takes longer than `patience`.
        """
        fitting = {
            name: self.times[name]
            for name, cost in self.costs.items()
            if cost.memory <= self.limit and name not in self.crowded
        }
        if not fitting:
            return min(self.costs, key=lambda name: self.costs[name].memory)
        exact = {name: time for name, time in fitting.items() if ENGINES[name].is_exact} or fitting
        best = min(exact, key=exact.__getitem__)
        return best if exact[best] <= patience else min(fitting, key=fitting.__getitem__)

    def require(self, name: str) -> None:
        """Raise an error where an engine cannot be used."""
        if name not in self.costs:
            raise ValueError(f"engine={name!r} cannot be used here: {self.reasons[name]}.")
        if name in self.crowded:
            raise MemoryError(
                f"engine={name!r} needs {bytes_in_words(self.costs[name].device)} on its device "
                f"for n = {self.problem.n:,}, more than is free there; use another engine, or "
                "fewer rows."
            )

    def candidates(self, chosen: str, is_requested: bool) -> tuple[Candidate, ...]:
        """All engines with their costs, and the reasons beside the chosen one."""
        table = []
        for name, engine in ENGINES.items():
            if name in self.reasons:
                table.append(Candidate(name, None, self.reasons[name]))
            elif name in self.crowded:
                reason = "over the memory that is free on its device"
                table.append(Candidate(name, self.costs[name], reason))
            else:
                reason = self._reason(name, chosen, is_requested)
                table.append(Candidate(name, self.costs[name], reason, engine.speed()))
        return tuple(table)

    def _reason(self, name: str, chosen: str, is_requested: bool) -> str:
        if self.costs[name].memory > self.limit:
            return f"over the memory limit of {bytes_in_words(self.limit)}"
        if name == chosen:
            return "as requested" if is_requested else "chosen"
        if ENGINES[chosen].is_exact and not ENGINES[name].is_exact:
            return "its error is known only afterwards"
        slower = self.times[name] / max(self.times[chosen], 1e-9)
        return f"{slower:.3g} × the time" if slower >= 1 else "not requested"


def loop_cost(engine: Engine, problem: ProblemSize, options: dict[str, Any]) -> Cost:
    """Cost of an engine with the arrays of the loop."""
    cost = engine.cost(problem, **engine.known(options))
    return replace(cost, memory=cost.memory + LOOP_ARRAYS * problem.vectors)


def rank_for(problem: ProblemSize, tolerance: float, size: int) -> int | None:
    """Estimate the rank of a factor that leaves out this share of the trace, from a sample.

    Twice the rank that the best factor of the sample needs. None where that is no small part of
    the sample, which cannot show a rank near its own size.
    """
    if problem.sample is None or len(problem.sample) < size:
        return None
    rows = problem.sample[:: len(problem.sample) // size]
    values = np.linalg.eigvalsh(problem.kernel.with_bandwidth(1.0).block(rows, rows))
    needed = int((np.cumsum(np.maximum(values, 0)) > tolerance * values.sum()).sum())
    return 2 * needed if needed < len(rows) / 2 else None
