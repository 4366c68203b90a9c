"""The engines that `plan` chooses from: one `Engine` per operator, with all that a plan needs.

`ENGINES` is the table of all engines by name. `register` adds one, for instance your own.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from softkern.operators.base import KernelOperator, ProblemSize
from softkern.operators.blocked import BlockedOperator
from softkern.operators.dense import DenseOperator
from softkern.operators.features import FeatureOperator
from softkern.operators.fourier import FourierOperator
from softkern.operators.gpu.devices import free_memory, unavailable_reason
from softkern.operators.gpu.operator import GpuOperator
from softkern.operators.low_rank import NystroemOperator
from softkern.operators.precomputed import PrecomputedOperator
from softkern.operators.tiled import TiledOperator
from softkern.operators.work import Cost
from softkern.planning import costs

PROBE_REFERENCE = 1.45e-4  # seconds of `_probe` on the reference machine
# Parameters of operators that are not options of their engine
COMMON = {"self", "kernel", "X", "sample_weight", "random_state", "points"}


@cache
def machine_speed() -> float:
    """How many times longer this machine takes than the reference machine, measured once."""
    return float(np.clip(min(_probe() for _ in range(8)) / PROBE_REFERENCE, 0.1, 10.0))


def _probe() -> float:
    """Seconds of multiplications and additions in the cache, which every operator does.

    Not NumPy's exponential, which is ten times as fast on some processors.
    """
    values = np.linspace(-1, 0, 2**14)
    out = np.empty_like(values)
    start = time.perf_counter()
    for _ in range(32):
        np.multiply(values, values, out=out)
        np.add(out, values, out=out)
    return time.perf_counter() - start


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

    def unsupported_reason(self, problem: ProblemSize, options: dict[str, Any]) -> str | None:
        """Return why the engine cannot be used for a problem on this machine, or None."""
        reason = self.operator.unsupported_reason(problem)
        return reason or self.unavailable_reason(**self.known(options))

    def build(
        self, kernel: Any, X: Any, sample_weight: Any = None, random_state: Any = 0, **options: Any
    ) -> KernelOperator:
        """Build the operator. Weights and seed are for operators that select rows."""
        if "random_state" in self._parameters:
            options |= {"sample_weight": sample_weight, "random_state": random_state}
        return self.operator(kernel, X, **options)


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
