"""Which operator, at what cost: chosen and explained before any work is done.

Every operator says what a workload would cost it on the reference machine (`KernelOperator.cost`);
the plan takes the quickest that fits into memory. The choice uses reference times only, so that it
is the same on every machine and in every run; the times shown are scaled by a short measurement of
the machine at hand (`KernelOperator.speed`). Estimators call `plan`, print it where asked, `build`
the operator from it, and ask it for the operator `over` the support that they keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.utils import check_array

from softkern._utils.arrays import is_dask
from softkern._utils.memory import available_memory
from softkern._utils.random import fixed_seed
from softkern._utils.text import plural
from softkern.kernels import Kernel, resolve
from softkern.kernels.resolve import has_open_bandwidth
from softkern.operators.base import (
    Cost,
    KernelOperator,
    ProblemSize,
    available_threads,
)
from softkern.operators.blocked import BlockedOperator
from softkern.operators.dense import DenseOperator
from softkern.operators.features import FeatureOperator
from softkern.operators.fourier import FourierOperator
from softkern.operators.gpu.operator import GpuOperator
from softkern.operators.low_rank import DEFAULT_RANK, NystroemOperator
from softkern.operators.precomputed import PrecomputedOperator
from softkern.operators.tiled import TiledOperator
from softkern.rows import Rows

__all__ = [
    "ENGINES",
    "Candidate",
    "Plan",
    "available_memory",
    "plan",
    "register",
    "seconds_in_words",
]

ENGINES: dict[str, type[KernelOperator]] = {}
# Exact, and without the matrix: the first that takes a kernel is what "tiled" means for it, and
# what serves new points where the engine of the training points does not.
WITHOUT_MATRIX: tuple[type[KernelOperator], ...] = (FeatureOperator, TiledOperator, BlockedOperator)
MEMORY_SHARE = 0.8  # of what is available
SAMPLE = 1000  # rows that show an operator's cost model how the data lie
EXACT_STEPS = 8  # of the engine, where a loop runs ahead on a low-rank factor
AHEAD_GAIN = 1.5  # times quicker that it must be
AHEAD_TOLERANCE = 1e-3  # share of the trace at which the factor is good enough
IMPATIENCE = 20.0  # seconds that exact products take, from which on a factor of low rank will do
CERTIFIED = 1e-5  # share of the trace that it may leave out
CERTIFIED_OF_A_ROW = 1e-3  # and of a row's own kernel value
CERTIFIED_GAIN = 3.0  # times quicker that it must be
RANK_SAMPLE = 250  # rows whose eigenvalues show which rank that takes
AHEAD_ERROR = 0.05  # share of the trace that the factor may leave out
LOOP_ARRAYS = 5  # of the shape of A: product, distances, memberships old and new, coefficients


def register(operator: type[KernelOperator]) -> type[KernelOperator]:
    """Make an engine known under its name to `plan` and to every estimator.

    For operators of optional dependencies, and of one's own.

    Parameters
    ----------
    operator : subclass of softkern.operators.KernelOperator

    Returns
    -------
    The same class, so that this is a decorator as well.

    Examples
    --------
    >>> from softkern.operators import BlockedOperator
    >>> class Mine(BlockedOperator):
    ...     engine = "mine"
    >>> register(Mine).engine
    'mine'
    >>> plan((1000, 2), engine="mine").engine
    'mine'
    >>> del ENGINES["mine"]
    """
    missing = sorted(getattr(operator, "__abstractmethods__", ()))
    if missing or not getattr(operator, "engine", ""):
        raise TypeError(f"{operator.__name__} must implement {', '.join(missing or ['engine'])}.")
    ENGINES[operator.engine] = operator
    return operator


for _operator in (
    DenseOperator,
    TiledOperator,
    FourierOperator,
    GpuOperator,
    NystroemOperator,
    FeatureOperator,
    BlockedOperator,
    PrecomputedOperator,
):
    register(_operator)


def serving(engine: str, engine_params: dict[str, Any] | None) -> dict[str, Any]:
    """Parameters of an engine where it serves new points, else those of ``"auto"``."""
    known = ENGINES.get(engine)
    if known is None or not known.supports_prediction:
        return {"engine": "auto"}
    return {"engine": engine, "engine_params": engine_params}


@dataclass(frozen=True)
class Candidate:
    """One engine's offer: its cost, or the reason why it cannot be taken.

    Examples
    --------
    >>> offers = plan((1000, 2)).candidates
    >>> [offer.engine for offer in offers if offer.cost is not None][:2]
    ['dense', 'tiled']
    """

    engine: str
    cost: Cost | None  # with the loop's arrays, on the reference machine
    reason: str
    speed: float = 1.0  # times of this machine over those of the reference machine


@dataclass(frozen=True)
class Plan:
    """The engine chosen for a product, its price, and why the others were not.

    Made by `plan`; printing it gives a table.

    Attributes
    ----------
    engine : str
    kernel : softkern.kernels.Kernel
    work : ProblemSize
    candidates : tuple of Candidate
    memory_limit : int
        Bytes.
    options : dict
        Of the engine, as `plan` was given them.
    approximation_error : float or None
        `KernelOperator.approximation_error` of the operator that was built, where one was.
    unresolved : dict or None
        Arguments of `softkern.kernels.resolve` for the data to come, where the plan was made for
        a shape and the bandwidth is a rule.
    ahead : Cost or None
        Of the low-rank factor that the loop runs ahead on, where that pays.
    ahead_rank : int
        Its rank, at most.
    instead : Plan or None
        The exact plan that takes the place of this one where a factor, once it is built, leaves
        out more than a sample of the data had shown.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> chosen = plan(X, n_vectors=3)
    >>> operator = chosen.build(X)
    >>> chosen.over(X[:50]).cross(X).shape
    (200, 50)
    """

    engine: str
    kernel: Kernel
    work: ProblemSize
    candidates: tuple[Candidate, ...]
    memory_limit: int
    options: dict[str, Any] = field(default_factory=dict, hash=False)
    approximation_error: float | None = None
    unresolved: dict[str, Any] | None = field(default=None, compare=False)
    ahead: Cost | None = None
    ahead_rank: int = 0
    instead: Plan | None = field(default=None, compare=False, repr=False)

    @property
    def chosen(self) -> Candidate:
        """The offer that was taken."""
        return next(c for c in self.candidates if c.engine == self.engine)

    @property
    def _cost(self) -> Cost:
        assert self.chosen.cost is not None
        return self.chosen.cost

    @property
    def memory(self) -> int:
        """Promised peak memory beyond the data, the loop's own arrays included, in bytes."""
        return self._cost.memory + (0 if self.ahead is None else self.ahead.memory)

    @property
    def device_memory(self) -> int:
        """The same on the engine's own device; 0 where it has none."""
        return self._cost.device

    @property
    def setup_seconds(self) -> float:
        """Expected time to build the operator."""
        return self._cost.setup * self.chosen.speed

    @property
    def product_seconds(self) -> float:
        """Expected time of one K @ A."""
        return self._cost.product * self.chosen.speed

    @property
    def serving_seconds(self) -> float:
        """Expected time of the same product for as many new points."""
        engine = ENGINES.get(self.engine)
        if engine is not None and engine.supports_prediction:
            return self.product_seconds
        served = _without_matrix(self.work)
        known = next((c for c in self.candidates if c.engine == served.engine and c.cost), None)
        if known is not None and known.cost is not None:
            return known.cost.product * known.speed
        return served.cost(self.work).product * served.speed()

    def build(self, X: Any, sample_weight: Any = None, random_state: Any = 0) -> KernelOperator:
        """The operator, for the data that the plan was made for.

        Raises a MemoryError before any work where it would not fit.
        """
        random_state = fixed_seed(random_state)
        rows = _checked(X, sample_weight)
        if rows.shape != (self.work.n, self.work.d):
            raise ValueError(
                f"the plan was made for shape ({self.work.n}, {self.work.d}), not {rows.shape}."
            )
        self.require_memory()
        chance = {"sample_weight": rows.weight, "random_state": random_state}
        with config_context(assume_finite=True):
            kernel = self.kernel
            if self.unresolved is not None:
                kernel = resolve(X=rows, **self.unresolved, random_state=random_state)
            operator = ENGINES[self.engine].of(kernel, rows, **chance, **self.options)
        if self.instead is not None and not _is_certified(operator):
            return self.instead.build(rows, random_state=random_state)
        if self.ahead is not None:
            operator = _with_factor(operator, rank=self.ahead_rank, **chance)
        return operator

    def over(self, support: Any, kernel: Kernel | None = None) -> KernelOperator:
        """The operator that serves new points over a stored support.

        Of the same engine where it serves new points, else exact and without the matrix. `kernel`
        takes the place of the plan's own.
        """
        kernel = self.kernel if kernel is None else kernel
        engine = self.options.get("local", self.engine)
        return LocalOperator(kernel, engine, self.options)(support)

    @property
    def shortage(self) -> str | None:
        """Why the plan cannot be carried out within the memory limit; None where it can."""
        if self.memory <= self.memory_limit:
            return None
        others = [
            c.engine
            for c in self.candidates
            if c.cost is not None and c.cost.memory <= self.memory_limit
        ]
        remedy = f"use engine={' or '.join(map(repr, others))}" if others else "use fewer rows"
        return (
            f"engine={self.engine!r} needs {_bytes(self.memory)} for n = {self.work.n:,}, and "
            f"{_bytes(self.memory_limit)} may be used; {remedy}."
        )

    def require_memory(self) -> None:
        """Raise a MemoryError, with the alternatives named, where the plan does not fit."""
        if self.shortage is not None:
            raise MemoryError(self.shortage)

    def __str__(self) -> str:
        work = self.work
        head = (
            f"K @ A for n = {work.n:,}, d = {work.d}, {plural(work.n_vectors, 'vector')}, "
            f"{np.dtype(work.dtype)}, {type(self.kernel).__name__} kernel, "
            f"{plural(work.products, 'product')}, {plural(work.threads, 'thread')}, up to "
            f"{_bytes(self.memory_limit)}"
        )
        if self.approximation_error:
            head += f"; {self.approximation_error:.2g} of the trace is left out"
        if self.ahead is not None:
            head += f"; most steps run ahead on a low-rank factor of {_bytes(self.ahead.memory)}"
        rows = [("engine", "memory", "set-up", "product", "")]
        shortage = self.shortage
        chosen = "▸ " if shortage is None else "✗ "
        for candidate in self.candidates:
            mark = chosen if candidate.engine == self.engine else "  "
            cost = candidate.cost
            figures = ("–", "–", "–")
            if cost is not None:
                memory = _bytes(cost.memory)
                figures = (
                    f"{memory} + {_bytes(cost.device)} device" if cost.device else memory,
                    seconds_in_words(cost.setup * candidate.speed),
                    seconds_in_words(cost.product * candidate.speed),
                )
            rows.append((mark + candidate.engine, *figures, candidate.reason))
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        lines = [
            "  ".join(
                [row[0].ljust(widths[0]), *(row[k].rjust(widths[k]) for k in (1, 2, 3)), row[4]]
            ).rstrip()
            for row in rows
        ]
        end = [] if shortage is None else [f"Does not fit into memory: {shortage}"]
        return "\n".join([head, *lines, *end])


@dataclass(frozen=True)
class LocalOperator:
    """Makes operators over points of this machine, of an engine where it serves new points.

    Else exact and without the matrix.

    Examples
    --------
    >>> from softkern.kernels import Gaussian
    >>> LocalOperator(Gaussian(1.0))(np.zeros((3, 2))).engine
    'tiled'
    """

    kernel: Kernel
    engine: str = "auto"
    options: dict[str, Any] = field(default_factory=dict, hash=False)

    def __call__(self, support: Any) -> KernelOperator:
        work = _work_at(support, self.kernel)
        engine, options = ENGINES.get(self.engine), self.options
        is_there = engine is not None and _refusal(engine, work, options) is None
        if engine is None or not engine.supports_prediction or not is_there:
            engine, options = _without_matrix(work), {}
        with config_context(assume_finite=True):
            return engine.of(self.kernel, support, **_known(engine, options))


def plan(
    X_or_shape: Any,
    *,
    kernel: Any = "rbf",
    kernel_params: dict[str, Any] | None = None,
    bandwidth: str | float | ArrayLike = "auto",
    n_vectors: int = 1,
    products: int = 20,
    engine: str = "auto",
    engine_params: dict[str, Any] | None = None,
    dtype: Any = None,
    sample_weight: Any = None,
    memory_limit: int | None = None,
    patience: float = 600.0,
    random_state: Any = 0,
    ahead: bool = False,
) -> Plan:
    """Choose how K @ A will be computed, and say beforehand what it will cost.

    Parameters
    ----------
    X_or_shape : array or CSR matrix of shape (n, d), Dask array or dataframe, or the tuple (n, d)
        With the data at hand the bandwidth and the width of the data in bandwidths are known, and
        with them the size of a Fourier grid; with a shape they are guessed.
    kernel, kernel_params, bandwidth, sample_weight, random_state
        As in `softkern.kernels.resolve`.
    n_vectors : int, default=1
        Columns of A: clusters, usually.
    products : int, default=20
        Products that will be asked for.
    engine : {"auto", "dense", "tiled", "fourier", "nystroem"} or a registered one, default="auto"
        Of Dask data, ``"nystroem"`` (or ``"distributed"``) goes through landmarks and any exact
        one multiplies all pairs of rows, block by block.
        ``"auto"`` takes the quickest engine whose error is known beforehand and that fits into
        memory. Where that takes more than 20 seconds and a sample of the data shows that a
        low-rank factor leaves out at most 1e-5 of the trace, it is that factor, checked when it is
        built (`Plan.instead` takes its place otherwise). Where all of these would take longer than
        `patience`, the quickest of all.
        ``"tiled"`` is the exact engine without the matrix that fits the kernel: ``"tiled"``,
        ``"features"`` or ``"blocked"``. A precomputed kernel has the engine ``"precomputed"``.
    engine_params : dict, default=None
        Options of the engine: ``threads`` (tiled), ``tolerance`` (fourier), ``rank``,
        ``trace_tolerance``, ``row_tolerance`` and ``landmarks`` (nystroem). Of Dask data also
        ``sample_rows``, and ``local``, the engine of every block.
    dtype : dtype, default=None
        Of the data, where only their shape is given.
    memory_limit : int, default=None
        Bytes that may be used; by default four fifths of what is available.
    patience : float, default=600.0
        Seconds on the reference machine.
    ahead : bool, default=False
        Whether the products are those of a loop that can run ahead on a low-rank factor, with few
        products left to the engine (`softkern.solvers.surrogate`). It will where it saves time.

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
    random_state = fixed_seed(random_state)
    if engine == "distributed" and not is_dask(X_or_shape):
        raise ValueError(f"engine={engine!r} needs X as a Dask array or dataframe.")
    if engine not in ("auto", "distributed", *ENGINES):
        raise ValueError(f"engine={engine!r} is unknown; give 'auto' or one of {list(ENGINES)}.")
    if n_vectors < 1 or products < 1:
        raise ValueError(f"n_vectors={n_vectors!r} and products={products!r} must be at least 1.")
    if is_dask(X_or_shape):
        from softkern.dask.plan import plan_chunks

        return plan_chunks(
            X_or_shape,
            kernel=kernel,
            kernel_params=kernel_params,
            bandwidth=bandwidth,
            n_vectors=n_vectors,
            products=products,
            engine=engine,
            engine_params=engine_params,
            memory_limit=memory_limit,
            sample_weight=sample_weight,
            random_state=random_state,
        )
    limit = int(MEMORY_SHARE * available_memory()) if memory_limit is None else int(memory_limit)
    options = dict(engine_params or {})
    unresolved = None
    if isinstance(X_or_shape, tuple):
        work = _work_of_shape(X_or_shape, kernel, kernel_params, bandwidth, dtype)
        if isinstance(bandwidth, str) and has_open_bandwidth(kernel, kernel_params):
            unresolved = {"kernel": kernel, "kernel_params": kernel_params, "bandwidth": bandwidth}
    else:
        work = _work_of_data(
            X_or_shape, kernel, kernel_params, bandwidth, sample_weight, random_state
        )
    work = replace(work, n_vectors=n_vectors, products=products, threads=available_threads())
    refusals = {name: _refusal(operator, work, options) for name, operator in ENGINES.items()}
    costs = {
        name: _cost_with_loop(operator, work, options)
        for name, operator in ENGINES.items()
        if refusals[name] is None
    }
    if not costs:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in refusals.items())
        raise ValueError(f"no engine can do this. {reasons}.")
    can_run_ahead = ahead and NystroemOperator.engine in costs
    rank = _ahead_rank(work) if can_run_ahead else 0
    factors = {
        name: (ENGINES[name].factor_cost(work, rank) or NystroemOperator.cost(work, rank=rank))
        if can_run_ahead
        else None
        for name in costs
    }
    times = {name: _time(name, cost, work, factors[name], limit) for name, cost in costs.items()}
    crowded = {name for name, cost in costs.items() if _is_crowded(ENGINES[name], cost, options)}
    fitting = [name for name in costs if costs[name].memory <= limit and name not in crowded]
    taken = _choose(costs, times, fitting, patience) if engine == "auto" else _meant(engine, work)
    if taken not in costs:
        raise ValueError(f"engine={taken!r} cannot be used here: {refusals[taken]}.")
    _check_options(options, taken, engine)
    if taken in crowded:
        raise MemoryError(
            f"engine={taken!r} needs {_bytes(costs[taken].device)} on its device for n = "
            f"{work.n:,}, more than is free there; use another engine, or fewer rows."
        )
    candidates = tuple(
        _candidate(name, refusals[name], costs, times, limit, taken, engine != "auto")
        if name not in crowded
        else Candidate(name, costs[name], "over the memory that is free on its device")
        for name in ENGINES
    )
    factor = factors[taken]
    if not _runs_ahead(taken, costs[taken], work, factor, limit):
        factor, rank = None, 0
    exact = Plan(
        taken,
        work.kernel,
        replace(work, sample=None),  # a plan is kept: without the data
        candidates,
        limit,
        options,
        unresolved=unresolved,
        ahead=factor,
        ahead_rank=rank,
    )
    is_slow = times[taken] > IMPATIENCE and ENGINES[taken].error_is_known
    if engine != "auto" or options or not is_slow or NystroemOperator.engine not in costs:
        return exact
    return _certified(exact, work, times[taken]) or exact


def _refusal(
    operator: type[KernelOperator], work: ProblemSize, options: dict[str, Any]
) -> str | None:
    """Why an operator cannot do the work here, or None."""
    return operator.refusal(work) or operator.missing(**_known(operator, options))


def _known(operator: type[KernelOperator], options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in options if name in operator.option_names()}


def _certified(exact: Plan, work: ProblemSize, seconds: float) -> Plan | None:
    """The plan of a low-rank factor whose error is checked when it is built, where one is enough.

    `seconds` is what the exact plan takes.
    """
    name = NystroemOperator.engine
    rank = _rank_for(work, CERTIFIED, SAMPLE)
    if rank is None:
        return None
    options: dict[str, Any] = {
        "rank": rank,
        "trace_tolerance": CERTIFIED,
        "row_tolerance": CERTIFIED_OF_A_ROW,
    }
    cost = _cost_with_loop(NystroemOperator, work, options)
    if cost.memory > exact.memory_limit or CERTIFIED_GAIN * _total(cost, work) > seconds:
        return None
    reason = f"leaves out at most {CERTIFIED:g} of the trace, which is checked when it is built"
    taken = Candidate(name, cost, reason, NystroemOperator.speed())
    failed = replace(taken, reason="left out more than a sample of the data had shown")

    slower = replace(exact.chosen, reason=f"{seconds / _total(cost, work):.3g} × the time")

    def among(*changed: Candidate) -> tuple[Candidate, ...]:
        by_name = {candidate.engine: candidate for candidate in (*exact.candidates, *changed)}
        return tuple(by_name.values())

    return replace(
        exact,
        engine=name,
        candidates=among(taken, slower),
        options=options,
        ahead=None,
        ahead_rank=0,
        instead=replace(exact, candidates=among(failed)),
    )


def _without_matrix(work: ProblemSize) -> type[KernelOperator]:
    """The exact operator without the matrix that fits; that of the matrix where it is given."""
    if not work.kernel.takes_points:
        return PrecomputedOperator
    return next(operator for operator in WITHOUT_MATRIX if operator.refusal(work) is None)


def _meant(engine: str, work: ProblemSize) -> str:
    """The engine that a public name stands for, given the kernel."""
    if engine == DenseOperator.engine and not work.kernel.takes_points:
        return PrecomputedOperator.engine
    if engine == TiledOperator.engine and work.kernel.takes_points:
        return _without_matrix(work).engine
    return engine


def _check_options(options: dict[str, Any], taken: str, asked: str) -> None:
    """Refuse an option that the chosen engine does not know."""
    for name in options:
        if name in ENGINES[taken].option_names():
            continue
        chosen = f"engine={taken!r}"
        if asked != taken:
            chosen += f" (chosen by engine={asked!r})"
        others = [key for key, operator in ENGINES.items() if name in operator.option_names()]
        remedy = f"engine={' or '.join(map(repr, others))} does" if others else "no engine does"
        raise ValueError(f"{chosen} does not know the option {name!r} of engine_params; {remedy}.")


def _cost_with_loop(
    operator: type[KernelOperator], work: ProblemSize, options: dict[str, Any]
) -> Cost:
    """The operator's cost with the options that it knows, and the arrays of the loop around it."""
    cost = operator.cost(work, **_known(operator, options))
    return replace(cost, memory=cost.memory + LOOP_ARRAYS * work.vectors)


def _rank_for(work: ProblemSize, tolerance: float, size: int) -> int | None:
    """The rank of a factor that leaves out this share of the trace, as a sample of the data says.

    Twice what the best factor of the sample needs; None where that is no small part of the sample,
    which shows no rank near its own size.
    """
    if work.sample is None or len(work.sample) < size:
        return None
    rows = work.sample[:: len(work.sample) // size]
    values = np.linalg.eigvalsh(work.kernel.with_bandwidth(1.0).block(rows, rows))
    needed = int((np.cumsum(np.maximum(values, 0)) > tolerance * values.sum()).sum())
    return 2 * needed if needed < len(rows) / 2 else None


def _ahead_rank(work: ProblemSize) -> int:
    """Of the low-rank factor that a loop may run ahead on; it may need twice what is shown."""
    shown = _rank_for(work, AHEAD_TOLERANCE, RANK_SAMPLE)
    return DEFAULT_RANK if shown is None else min(2 * shown, DEFAULT_RANK)


def _is_certified(operator: KernelOperator) -> bool:
    """Whether a factor leaves out as little as its plan said, of the trace and of every row."""
    of_a_row = operator.error - operator.attainable_error
    return operator.approximation_error <= CERTIFIED and of_a_row <= CERTIFIED_OF_A_ROW


def _with_factor(operator: KernelOperator, rank: int, **chance: Any) -> KernelOperator:
    """The operator with a low-rank surrogate, unless the factor leaves out too much."""
    factor = NystroemOperator(
        operator.kernel,
        operator.X,
        rank=rank,
        trace_tolerance=AHEAD_TOLERANCE,
        points=operator.points,
        **chance,
    )
    if factor.approximation_error > AHEAD_ERROR:
        return operator
    return operator.with_surrogate(factor)


def _total(cost: Cost, work: ProblemSize) -> float:
    return cost.setup + work.products * cost.product


def _ahead_total(cost: Cost, work: ProblemSize, factor: Cost) -> float:
    return cost.setup + EXACT_STEPS * cost.product + _total(factor, work)


def _runs_ahead(name: str, cost: Cost, work: ProblemSize, factor: Cost | None, limit: int) -> bool:
    """Whether a loop on this engine is quicker when most steps are on the factor."""
    if factor is None or not ENGINES[name].error_is_known or cost.memory + factor.memory > limit:
        return False
    return _total(cost, work) > AHEAD_GAIN * _ahead_total(cost, work, factor)


def _time(name: str, cost: Cost, work: ProblemSize, factor: Cost | None, limit: int) -> float:
    """Seconds of all products on the reference machine."""
    if factor is not None and _runs_ahead(name, cost, work, factor, limit):
        return _ahead_total(cost, work, factor)
    return _total(cost, work)


def _is_crowded(operator: type[KernelOperator], cost: Cost, options: dict[str, Any]) -> bool:
    """Whether the operator's own device has too little memory left."""
    free = operator.device_memory(**_known(operator, options))
    return free is not None and cost.device > MEMORY_SHARE * free


def _choose(
    costs: dict[str, Cost], times: dict[str, float], fitting: Sequence[str], patience: float
) -> str:
    if not fitting:
        return min(costs, key=lambda name: costs[name].memory)
    known = [name for name in fitting if ENGINES[name].error_is_known]
    if known:
        best = min(known, key=times.__getitem__)
        if times[best] <= patience:
            return best
    return min(fitting, key=times.__getitem__)


def _candidate(
    name: str,
    refusal: str | None,
    costs: dict[str, Cost],
    times: dict[str, float],
    limit: int,
    taken: str,
    is_asked: bool,
) -> Candidate:
    if refusal is not None:
        return Candidate(name, None, refusal)
    cost, speed = costs[name], ENGINES[name].speed()
    slower = times[name] / max(times[taken], 1e-9)
    if cost.memory > limit:
        reason = f"over the memory limit of {_bytes(limit)}"
    elif name == taken:
        reason = "as asked" if is_asked else "chosen"
    elif ENGINES[taken].error_is_known and not ENGINES[name].error_is_known:
        reason = "its error is known only afterwards"
    else:
        reason = f"{slower:.3g} × the time" if slower >= 1 else "not asked for"
    return Candidate(name, cost, reason, speed)


def _work_of_shape(
    shape: tuple[int, ...], kernel: Any, params: Any, bandwidth: Any, dtype: Any
) -> ProblemSize:
    if len(shape) != 2 or min(shape) < 1:
        raise ValueError(f"the shape must be (n, d) with n, d ≥ 1, got {shape!r}.")
    is_open = isinstance(bandwidth, str) and has_open_bandwidth(kernel, params)
    chosen = resolve(kernel, bandwidth=1.0 if is_open else bandwidth, kernel_params=params)
    return ProblemSize(int(shape[0]), int(shape[1]), chosen, dtype=np.dtype(dtype or np.float64))


def _work_of_data(
    X: Any, kernel: Any, params: Any, bandwidth: Any, sample_weight: Any, random_state: Any
) -> ProblemSize:
    rows = _checked(X, sample_weight)
    with config_context(assume_finite=True):
        chosen = resolve(
            kernel, rows, bandwidth=bandwidth, kernel_params=params, random_state=random_state
        )
        chosen.check(rows.X)
    work = _work_at(rows.X, chosen)
    if work.extent is None:
        return work
    index, _ = rows.reweighted().sample(SAMPLE, random_state)
    return replace(work, sample=chosen.scaled(rows.X[index], rows.X.min(axis=0)))


def _checked(X: Any, sample_weight: Any) -> Rows:
    """Rows as they are, and an array with its weights checked."""
    if not isinstance(X, Rows):
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    return Rows.of(X, sample_weight)


def _work_at(X: Any, kernel: Kernel) -> ProblemSize:
    """The workload of checked data, with their width where the kernel has bandwidths."""
    work = ProblemSize.of(X, kernel)
    if not kernel.has_bandwidth or work.is_sparse:
        return work
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    return replace(work, extent=tuple(kernel.scaled(high[None], low)[0].tolist()))


def _bytes(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.3g} {unit}" if count < 999.5 else f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"


def seconds_in_words(seconds: float) -> str:
    """A time in its usual unit, in two digits.

    Examples
    --------
    >>> seconds_in_words(0.0123), seconds_in_words(75.4), seconds_in_words(9000)
    ('12 ms', '75 s', '2.5 h')
    """
    if seconds < 0.9995:
        return f"{seconds * 1e3:.2g} ms" if seconds < 0.0995 else f"{seconds * 1e3:.0f} ms"
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 9.95 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
