"""The prices of all engines for a problem, and the choice of one by them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softkern._utils.memory import available_memory
from softkern.operators.base import ProblemSize
from softkern.operators.low_rank import DEFAULT_RANK
from softkern.operators.work import Cost
from softkern.planning.engines import BUILT_IN, ENGINES, exact_engine
from softkern.planning.text import bytes_in_words

__all__ = [
    "Candidate",
    "Prices",
    "is_small",
    "memory_limit_of_machine",
    "rank_for",
    "total_seconds",
    "with_loop",
]

MEMORY_SHARE = 0.8  # of the available memory
LOOP_ARRAYS = 5  # of the shape of A: product, distances, memberships old and new, coefficients
LOW_RANK = "nystroem"
# The kernel matrix is the fastest up to these rows, these values per product of the loop, and
# these multiplications per product
SMALL_ROWS = 1000
SMALL_VALUES = 20_000
SMALL_MULTIPLICATIONS = 2_000_000

# A low-rank surrogate of an exact engine
EXACT_STEPS = 8  # expected exact products of an accelerated loop
SURROGATE_GAIN = 1.5  # by which it must be faster
SURROGATE_TOLERANCE = 1e-3  # share of the trace at which the factor is good enough
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
    """Whether the kernel matrix in memory is the fastest, without a look at the other engines."""
    is_usual = problem.kernel.takes_points and tuple(ENGINES) == BUILT_IN
    values = problem.n**2
    is_small = problem.n <= SMALL_ROWS and values <= SMALL_VALUES * problem.products
    is_small &= values * (1 + problem.n_vectors) <= SMALL_MULTIPLICATIONS
    return is_small and is_usual and exact_engine(problem).name != "features"


class Prices:
    """The costs of all engines for a problem."""

    def __init__(
        self, problem: ProblemSize, options: dict[str, Any], limit: int, surrogate: bool = False
    ) -> None:
        self.problem, self.options, self.limit = problem, options, limit
        self.reasons: dict[str, str] = {}
        self.costs: dict[str, Cost] = {}
        for name, engine in ENGINES.items():
            reason = engine.unsupported_reason(problem, options)
            if reason is None:
                self.costs[name] = with_loop(engine.cost(problem, **engine.known(options)), problem)
            else:
                self.reasons[name] = reason
        if not self.costs:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self.reasons.items())
            raise ValueError(f"no engine can do this. {reasons}.")
        self.rank = _surrogate_rank(problem) if surrogate and LOW_RANK in self.costs else 0
        self.times = {name: self._seconds(name) for name in self.costs}
        self.crowded = {
            name
            for name, cost in self.costs.items()
            if ENGINES[name].is_crowded(cost, options, MEMORY_SHARE)
        }

    def factor(self, name: str) -> Cost | None:
        """Cost of a low-rank surrogate of an engine, where it makes the loop faster."""
        cost, engine = self.costs[name], ENGINES[name]
        if not self.rank or not engine.is_exact:
            return None
        factor = engine.factor_cost(self.problem, self.rank)
        if cost.memory + factor.memory > self.limit:
            return None
        is_faster = total_seconds(cost, self.problem) > SURROGATE_GAIN * self._with_factor(
            cost, factor
        )
        return factor if is_faster else None

    def _with_factor(self, cost: Cost, factor: Cost) -> float:
        return cost.setup + EXACT_STEPS * cost.product + total_seconds(factor, self.problem)

    def _seconds(self, name: str) -> float:
        """Seconds of all products on the reference machine."""
        cost, factor = self.costs[name], self.factor(name)
        return (
            total_seconds(cost, self.problem) if factor is None else self._with_factor(cost, factor)
        )

    def choose(self, patience: float) -> str:
        """Return the fastest engine that fits; the smallest one where none does."""
        fitting = [
            name
            for name, cost in self.costs.items()
            if cost.memory <= self.limit and name not in self.crowded
        ]
        if not fitting:
            return min(self.costs, key=lambda name: self.costs[name].memory)
        exact = [name for name in fitting if ENGINES[name].is_exact]
        best = min(exact, key=self.times.__getitem__) if exact else None
        if best is not None and self.times[best] <= patience:
            return best
        return min(fitting, key=self.times.__getitem__)

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

    def candidates(self, chosen: str, is_requested: bool) -> Iterable[Candidate]:
        """All engines with their costs, and reasons beside the chosen one."""
        for name in ENGINES:
            if name in self.reasons:
                yield Candidate(name, None, self.reasons[name])
            elif name in self.crowded:
                yield Candidate(
                    name, self.costs[name], "over the memory that is free on its device"
                )
            else:
                reason = self._reason(name, chosen, is_requested)
                yield Candidate(name, self.costs[name], reason, ENGINES[name].measured_speed())

    def _reason(self, name: str, chosen: str, is_requested: bool) -> str:
        if self.costs[name].memory > self.limit:
            return f"over the memory limit of {bytes_in_words(self.limit)}"
        if name == chosen:
            return "as requested" if is_requested else "chosen"
        if ENGINES[chosen].is_exact and not ENGINES[name].is_exact:
            return "its error is known only afterwards"
        slower = self.times[name] / max(self.times[chosen], 1e-9)
        return f"{slower:.3g} × the time" if slower >= 1 else "not requested"


def with_loop(cost: Cost, problem: ProblemSize) -> Cost:
    """Add the arrays of the loop to a cost."""
    return replace(cost, memory=cost.memory + LOOP_ARRAYS * problem.vectors)


def total_seconds(cost: Cost, problem: ProblemSize) -> float:
    """Seconds of the set-up and all products on the reference machine."""
    return cost.setup + problem.products * cost.product


def rank_for(problem: ProblemSize, tolerance: float, size: int) -> int | None:
    """Estimate the rank of a factor that leaves out this share of the trace, from a sample.

    Twice the rank that the best factor of the sample needs; None where that is no small part of
    the sample, which cannot show a rank near its own size.
    """
    if problem.sample is None or len(problem.sample) < size:
        return None
    rows = problem.sample[:: len(problem.sample) // size]
    values = np.linalg.eigvalsh(problem.kernel.with_bandwidth(1.0).block(rows, rows))
    needed = int((np.cumsum(np.maximum(values, 0)) > tolerance * values.sum()).sum())
    return 2 * needed if needed < len(rows) / 2 else None


def _surrogate_rank(problem: ProblemSize) -> int:
    """Largest rank of a surrogate; it may need twice the rank that the sample shows."""
    rank = rank_for(problem, SURROGATE_TOLERANCE, RANK_SAMPLE)
    return DEFAULT_RANK if rank is None else min(2 * rank, DEFAULT_RANK)
