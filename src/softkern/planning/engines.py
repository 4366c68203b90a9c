"""The engines that `plan` chooses from, their prices for a problem, and the choice by these.

`ENGINES` is the table of all engines by name. `register` adds one, for instance your own.
"""

from __future__ import annotations

import inspect
import timeit
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from softkern._utils.text import bytes_in_words
from softkern.operators.base import KernelOperator, ProblemSize
from softkern.operators.blocked import BlockedOperator
from softkern.operators.dense import DenseOperator
from softkern.operators.features import FeatureOperator
from softkern.operators.fourier import FourierOperator
from softkern.operators.gpu.devices import free_memory, unavailable_reason
from softkern.operators.gpu.operator import GpuOperator
from softkern.operators.low_rank import DEFAULT_RANK, NystroemOperator
from softkern.operators.precomputed import PrecomputedOperator
from softkern.operators.tiled import TiledOperator
from softkern.operators.work import Cost
from softkern.planning import costs

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

PROBE_REFERENCE = 1.45e-4  # of `machine_speed` on the reference machine
# Parameters of operators that are not options of their engine
COMMON = {"self", "kernel", "X", "sample_weight", "random_state", "points"}


@cache
def machine_speed() -> float:
    """How many times longer this machine takes than the reference machine, measured once.

    By multiplications and additions in the cache, which every operator does. NumPy's exponential
    is ten times as fast on some processors.
    """
    values = np.linspace(-1, 0, 2**14)
    out = np.empty_like(values)

    def probe() -> None:
        np.multiply(values, values, out=out)
        np.add(out, values, out=out)

    seconds = min(timeit.repeat(probe, number=32, repeat=8))
    return float(np.clip(seconds / PROBE_REFERENCE, 0.1, 10.0))


@dataclass(frozen=True)
class Engine:
    """An operator, and what `plan` needs to know before it builds one.

    Further parameters of the operator's constructor are options of the engine, which
    ``plan(engine_params=...)`` passes on to the constructor and to the functions below.
    """

    operator: type[KernelOperator]  # its `engine` is the name
    cost: Callable[..., Cost]  # cost(problem, **options), on the reference machine
    # Whether the engine serves new points; otherwise an exact engine without the matrix does
    predicts: bool = True
    # What this machine lacks for the engine, or None
    unavailable_reason: Callable[..., str | None] = lambda **options: None
    # Free bytes on the engine's own device, or None
    device_memory: Callable[..., int | None] = lambda **options: None
    # Cost of a low-rank approximation of the operator, factor_cost(problem, rank)
    factor_cost: Callable[[ProblemSize, int], Cost] = costs.low_rank_cost
    # Seconds on this machine per second on the machine of `cost`
    speed: Callable[[], float] = lambda: machine_speed()

    @property
    def name(self) -> str:
        """Name of the operator."""
        return self.operator.engine

    @property
    def is_exact(self) -> bool:
        """Whether the error is known before the operator is built."""
        return self.operator.error_is_known

    @cached_property
    def _parameters(self) -> tuple[str, ...]:
        return tuple(inspect.signature(self.operator.__init__).parameters)

    @property
    def option_names(self) -> tuple[str, ...]:
        """Parameters of the constructor beyond kernel, data, weights and seed."""
        return tuple(name for name in self._parameters if name not in COMMON)

    def known(self, options: dict[str, Any]) -> dict[str, Any]:
        """Select the options that the engine has."""
        return {name: options[name] for name in options if name in self.option_names}

    def check_options(self, options: dict[str, Any], requested: str) -> None:
        """Raise a ValueError for an option that the engine, chosen as `requested`, has not."""
        unknown = next((name for name in options if name not in self.option_names), None)
        if unknown is None:
            return
        which = f"engine={self.name!r}"
        if requested != self.name:
            which += f" (chosen by engine={requested!r})"
        others = [key for key, other in ENGINES.items() if unknown in other.option_names]
        remedy = f"engine={' or '.join(map(repr, others))} does" if others else "no engine does"
        raise ValueError(
            f"{which} does not know the option {unknown!r} of engine_params; {remedy}."
        )

    def unsupported_reason(self, problem: ProblemSize, options: dict[str, Any]) -> str | None:
        """Return why the engine cannot be used for a problem on this machine, or None."""
        reason = self.operator.unsupported_reason(problem)
        return reason or self.unavailable_reason(**self.known(options))

    def price(
        self, problem: ProblemSize, options: dict[str, Any], limit: int, rank: int = 0
    ) -> Price:
        """Return the price for a problem. `rank` is that of a low-rank factor, 0 for none."""
        reason = self.unsupported_reason(problem, options)
        if reason is not None:
            return Price(self, reason)
        options = self.known(options)
        cost = self.cost(problem, **options)
        cost = replace(cost, memory=cost.memory + LOOP_ARRAYS * problem.vectors)
        obstacle, free = "", self.device_memory(**options)
        is_crowded = free is not None and cost.device > MEMORY_SHARE * free
        if is_crowded:
            obstacle = "over the memory that is free on its device"
        elif cost.memory > limit:
            obstacle = f"over the memory limit of {bytes_in_words(limit)}"
        price = Price(self, obstacle, cost, cost.total(problem.products), is_crowded)
        if not rank or not self.is_exact:
            return price
        factor = self.factor_cost(problem, rank)
        faster = cost.setup + EXACT_STEPS * cost.product + factor.total(problem.products)
        if cost.memory + factor.memory > limit or price.seconds <= FACTOR_GAIN * faster:
            return price
        return replace(price, seconds=faster, factor=factor, rank=rank)

    def build(
        self, kernel: Any, X: Any, sample_weight: Any = None, random_state: Any = 0, **options: Any
    ) -> KernelOperator:
        """Build the operator. Weights and seed are for operators that select rows."""
        if "random_state" in self._parameters:
            options |= {"sample_weight": sample_weight, "random_state": random_state}
        return self.operator(kernel, X, **options)


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


ENGINES: dict[str, Engine] = {}


def register(
    operator: type[KernelOperator], cost: Callable[..., Cost], **facts: Any
) -> type[KernelOperator]:
    """Make an engine known by its name to `plan` and to every estimator.

    Parameters
    ----------
    operator : subclass of softkern.operators.KernelOperator
        The operator, with the name of the engine as its `engine`.
    cost : callable
        ``cost(problem, **options)`` returns the `Cost` on the reference machine.
    **facts
        Further fields of `Engine`, where they differ from its defaults.

    Returns
    -------
    operator : subclass of softkern.operators.KernelOperator
        The same class.

    Examples
    --------
    >>> from softkern import planning
    >>> from softkern.operators.blocked import BlockedOperator
    >>> class Mine(BlockedOperator):
    ...     engine = "mine"
    >>> planning.register(Mine, planning.costs.blocked_cost).engine
    'mine'
    >>> planning.plan((1000, 2), engine="mine").engine
    'mine'
    >>> del planning.ENGINES["mine"]
    """
    missing = sorted(getattr(operator, "__abstractmethods__", ()))
    if missing or not getattr(operator, "engine", ""):
        raise TypeError(f"{operator.__name__} must implement {', '.join(missing or ['engine'])}.")
    ENGINES[operator.engine] = Engine(operator, cost, **facts)
    return operator


register(DenseOperator, costs.dense_cost, predicts=False)
register(TiledOperator, costs.tiled_cost)
register(FourierOperator, costs.fourier_cost)
register(
    GpuOperator,
    costs.gpu_cost,
    unavailable_reason=unavailable_reason,
    device_memory=free_memory,
    factor_cost=costs.gpu_factor_cost,
    speed=lambda: 1.0,  # the cost knows the device
)
register(NystroemOperator, costs.low_rank_cost, predicts=False)
register(FeatureOperator, costs.feature_cost)
register(BlockedOperator, costs.blocked_cost)
register(PrecomputedOperator, costs.precomputed_cost)
BUILT_IN = tuple(ENGINES)


def exact_engine(problem: ProblemSize) -> Engine:
    """Return the exact engine without the matrix; "precomputed" where the kernel is a matrix.

    The engine name "tiled" selects it. It also serves new points where the engine of the
    training points does not.
    """
    if not problem.kernel.takes_points:
        return ENGINES["precomputed"]
    for name in ("features", "tiled"):
        if ENGINES[name].operator.unsupported_reason(problem) is None:
            return ENGINES[name]
    return ENGINES["blocked"]


def prediction_parameters(engine: str, engine_params: dict[str, Any] | None) -> dict[str, Any]:
    """Return an engine and its options where it serves new points, else ``"auto"``."""
    if engine not in ENGINES or not ENGINES[engine].predicts:
        return {"engine": "auto"}
    return {"engine": engine, "engine_params": engine_params}


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


# The choice by prices


@dataclass(frozen=True)
class Candidate:
    """One engine with its cost, or the reason why it cannot be used."""

    engine: str
    cost: Cost | None  # with the loop's arrays, on the reference machine
    reason: str
    speed: float = 1.0  # seconds on this machine per second on the reference machine


def price_engines(
    problem: ProblemSize, options: dict[str, Any], limit: int, accelerate: bool = False
) -> dict[str, Price]:
    """Price all engines, with a low-rank factor if `accelerate` where that is faster."""
    rank = 0
    if accelerate and ENGINES[LOW_RANK].unsupported_reason(problem, options) is None:
        shown = rank_for(problem, FACTOR_TOLERANCE, RANK_SAMPLE)
        # a factor may need twice the rank that the sample shows
        rank = DEFAULT_RANK if shown is None else min(2 * shown, DEFAULT_RANK)
    prices = {name: engine.price(problem, options, limit, rank) for name, engine in ENGINES.items()}
    if all(price.cost is None for price in prices.values()):
        reasons = "; ".join(f"{name}: {price.obstacle}" for name, price in prices.items())
        raise ValueError(f"no engine can do this. {reasons}.")
    return prices


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
