"""The prices of all engines for a problem, and the choice of one by them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
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


@dataclass(frozen=True)
class Price:
    """What an engine takes for a problem, and what speaks against it."""

    engine: Engine
    obstacle: str = ""  # why it cannot be used, or does not fit
    cost: Cost | None = None  # with the loop's arrays; None where it cannot be used
    seconds: float = np.inf  # of the set-up and all products, on the reference machine
    is_crowded: bool = False  # whether it exceeds the memory that is free on its device
    # Low-rank factor with which the loop is faster, and its rank
    factor: Cost | None = None
    rank: int = 0

    def require(self, n: int) -> None:
        """Raise an error where the engine cannot be used."""
        if self.cost is None:
            raise ValueError(f"engine={self.engine.name!r} cannot be used here: {self.obstacle}.")
        if self.is_crowded:
            raise MemoryError(
                f"engine={self.engine.name!r} needs {bytes_in_words(self.cost.device)} on its "
                f"device for n = {n:,}, more than is free there; use another engine, or fewer rows."
            )


def price_engines(
    problem: ProblemSize, options: dict[str, Any], limit: int, accelerate: bool = False
) -> dict[str, Price]:
    """Price all engines, with a low-rank factor if `accelerate` where that is faster."""
    rank = 0
    if accelerate and ENGINES[LOW_RANK].unsupported_reason(problem, options) is None:
        shown = rank_for(problem, FACTOR_TOLERANCE, RANK_SAMPLE)
        # a factor may need twice the rank that the sample shows
        rank = DEFAULT_RANK if shown is None else min(2 * shown, DEFAULT_RANK)
    prices = {
        name: _price(engine, problem, options, limit, rank) for name, engine in ENGINES.items()
    }
    if all(price.cost is None for price in prices.values()):
        reasons = "; ".join(f"{name}: {price.obstacle}" for name, price in prices.items())
        raise ValueError(f"no engine can do this. {reasons}.")
    return prices


def _price(
    engine: Engine, problem: ProblemSize, options: dict[str, Any], limit: int, rank: int
) -> Price:
    """Price an engine. `rank` is that of a low-rank factor, 0 for none."""
    reason = engine.unsupported_reason(problem, options)
    if reason is not None:
        return Price(engine, reason)
    cost = loop_cost(engine, problem, options)
    obstacle, free = "", engine.device_memory(**engine.known(options))
    is_crowded = free is not None and cost.device > MEMORY_SHARE * free
    if is_crowded:
        obstacle = "over the memory that is free on its device"
    elif cost.memory > limit:
        obstacle = f"over the memory limit of {bytes_in_words(limit)}"
    price = Price(engine, obstacle, cost, cost.total(problem.products), is_crowded)
    if not rank or not engine.is_exact:
        return price
    factor = engine.factor_cost(problem, rank)
    faster = cost.setup + EXACT_STEPS * cost.product + factor.total(problem.products)
    if cost.memory + factor.memory > limit or price.seconds <= FACTOR_GAIN * faster:
        return price
    return replace(price, seconds=faster, factor=factor, rank=rank)


def choose(prices: dict[str, Price], patience: float) -> Price:
    """Return the fastest engine that fits, or the smallest one if none does.

    An exact engine is preferred unless it takes longer than `patience`.
    """
    fitting = [price for price in prices.values() if not price.obstacle]
    if not fitting:
        usable = (price for price in prices.values() if price.cost is not None)
        return min(usable, key=attrgetter("cost.memory"))
    exact = [price for price in fitting if price.engine.is_exact]
    best = min(exact or fitting, key=attrgetter("seconds"))
    return best if best.seconds <= patience else min(fitting, key=attrgetter("seconds"))


def list_candidates(
    prices: dict[str, Price], chosen: Price, is_requested: bool = False
) -> tuple[Candidate, ...]:
    """Return all engines with their costs, and why they were chosen or not."""
    candidates = []
    for name, price in prices.items():
        slower = price.seconds / max(chosen.seconds, 1e-9)
        if price.obstacle:
            reason = price.obstacle
        elif price is chosen:
            reason = "as requested" if is_requested else "chosen"
        elif chosen.engine.is_exact and not price.engine.is_exact:
            reason = "its error is known only afterwards"
        else:
            reason = f"{slower:.3g} × the time" if slower >= 1 else "not requested"
        candidates.append(Candidate(name, price.cost, reason, price.engine.speed()))
    return tuple(candidates)


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
