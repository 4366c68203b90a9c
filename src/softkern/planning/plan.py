"""The choice of an engine, made and explained before any work is done.

Every engine has a cost model for the reference machine (`softkern.planning.costs`). The plan takes
the fastest engine that fits into memory. The choice uses reference times only, so that it is the
same on every machine and in every run. The times shown are scaled by a short measurement of this
machine. Estimators call `plan`, `build` the operator, and get the operator for new points from
`prediction_operator`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context

from softkern._utils.arrays import is_dask
from softkern._utils.memory import available_memory
from softkern._utils.random import fixed_seed
from softkern._utils.text import bytes_in_words, plural, seconds_in_words
from softkern._utils.threads import available_threads
from softkern.kernels import Kernel
from softkern.kernels.resolve import has_open_bandwidth, resolve
from softkern.operators.base import KernelOperator, ProblemSize
from softkern.operators.low_rank import NystroemOperator
from softkern.operators.work import Cost
from softkern.planning.engines import (
    ENGINES,
    FACTOR_TOLERANCE,
    LOW_RANK,
    MEMORY_SHARE,
    Candidate,
    choose,
    exact_engine,
    is_small,
    list_candidates,
    price_engines,
    rank_for,
)
from softkern.rows import Rows

SAMPLE = 1000  # rows that show cost models how the data are distributed
SURROGATE_ERROR = 0.05  # share of the trace that a low-rank surrogate may leave out

# A low-rank engine in place of an exact one
SLOW_SECONDS = 20.0  # of exact products, from which on a low-rank engine is tried
CHECKED_TRACE = 1e-5  # share of the trace that it may leave out
CHECKED_ROW = 1e-3  # share of a row's own kernel value that it may leave out
CHECKED_GAIN = 3.0  # by which it must be faster


@dataclass(frozen=True)
class Plan:
    """The engine chosen for a product, its cost, and why the others were not chosen.

    Made by `plan`. Printing it shows a table. The fields are saved with a model.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> chosen = plan(X, n_vectors=3)
    >>> operator = chosen.build(X)
    >>> chosen.prediction_operator(X[:50]).cross(X).shape
    (200, 50)
    """

    engine: str
    kernel: Kernel  # with its bandwidth
    problem: ProblemSize
    memory_limit: int | None = None  # bytes; None for problems too small to exceed any
    options: dict[str, Any] = field(default_factory=dict, hash=False)  # of the engine
    priced: tuple[Candidate, ...] = field(default=(), repr=False)  # empty for small problems
    approximation_error: float | None = None  # of the operator, once it was built
    # Low-rank surrogate that the loop iterates on where that saves time, and its largest rank
    surrogate: Cost | None = None
    surrogate_rank: int = 0
    # The exact plan that replaces a low-rank one whose factor, once it is built, leaves out more
    # than a sample of the data had shown
    fallback: Plan | None = field(default=None, compare=False, repr=False)
    # Arguments of `softkern.kernels.resolve` for the data, where the plan was made for a shape
    # and the bandwidth is a rule
    open_kernel: dict[str, Any] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Check that a plan that was read from a file has its own engine."""
        if self.priced and all(candidate.engine != self.engine for candidate in self.priced):
            raise ValueError(f"the plan does not price its engine {self.engine!r}.")

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """All engines, each with its cost or the reason why it cannot be used."""
        if self.priced:
            return self.priced
        prices = price_engines(self.problem, self.options, self.limit)
        return list_candidates(prices, prices[self.engine])

    @property
    def limit(self) -> int:
        """Bytes that may be used, by default a share of the available memory."""
        if self.memory_limit is not None:
            return self.memory_limit
        return int(MEMORY_SHARE * available_memory())

    @property
    def chosen(self) -> Candidate:
        """The chosen engine with its cost."""
        return next(c for c in self.candidates if c.engine == self.engine)

    @property
    def _cost(self) -> Cost:
        assert self.chosen.cost is not None
        return self.chosen.cost

    @property
    def memory(self) -> int:
        """Promised peak memory beyond the data, with the loop's own arrays, in bytes."""
        return self._cost.memory + (0 if self.surrogate is None else self.surrogate.memory)

    @property
    def device_memory(self) -> int:
        """Promised peak memory on the engine's own device; 0 where it has none."""
        return self._cost.device

    @property
    def setup_seconds(self) -> float:
        """Expected time to build the operator."""
        return self._cost.setup * self.chosen.speed

    @property
    def product_seconds(self) -> float:
        """Expected time of one product K @ A."""
        return self._cost.product * self.chosen.speed

    @property
    def prediction_seconds(self) -> float:
        """Expected time of the same product for as many new points."""
        if self.engine not in ENGINES or ENGINES[self.engine].predicts:
            return self.product_seconds
        name = exact_engine(self.problem).name
        exact = next(c for c in self.candidates if c.engine == name)
        assert exact.cost is not None
        return exact.cost.product * exact.speed

    def build(self, X: Any, sample_weight: Any = None, random_state: Any = 0) -> KernelOperator:
        """Build the operator for the data (n, d) that the plan was made for.

        Weights and seed are for operators that select rows. Raises a MemoryError before any work
        where it would not fit.
        """
        random_state = fixed_seed(random_state)
        rows = Rows.of(X, sample_weight)
        if rows.X.shape != (self.problem.n, self.problem.d):
            raise ValueError(
                f"the plan was made for shape ({self.problem.n}, {self.problem.d}), not "
                f"{rows.shape}."
            )
        if self.memory_limit is not None:
            self.require_memory()
        with config_context(assume_finite=True):
            kernel = self.kernel
            if self.open_kernel is not None:
                kernel = resolve(X=rows, **self.open_kernel, random_state=random_state)
            operator = ENGINES[self.engine].build(
                kernel, rows, rows.weight, random_state, **self.options
            )
            if self.fallback is not None:
                of_row = operator.error - operator.attainable_error
                if operator.approximation_error > CHECKED_TRACE or of_row > CHECKED_ROW:
                    return self.fallback.build(rows, random_state=random_state)
            if self.surrogate is not None:
                factor = NystroemOperator(
                    operator.kernel,
                    rows,
                    rank=self.surrogate_rank,
                    trace_tolerance=FACTOR_TOLERANCE,
                    random_state=random_state,
                    points=operator.points,
                )
                if factor.approximation_error <= SURROGATE_ERROR:
                    operator.surrogate = factor
        return operator

    def prediction_operator(self, support: Any, kernel: Kernel | None = None) -> KernelOperator:
        """Build the operator that serves new points over stored support points (n, d).

        It is of the same engine where that serves new points (for Dask data, of the local engine),
        else exact and without the matrix. `kernel` replaces the plan's own.
        """
        kernel = self.kernel if kernel is None else kernel
        problem, options = ProblemSize.of(support, kernel), dict[str, Any]()
        engine = ENGINES.get(self.options.get("local", self.engine))
        if engine is not None and engine.predicts:
            problem, options = problem.with_extent(support), engine.known(self.options)
        if engine is None or not engine.predicts or engine.unsupported_reason(problem, options):
            engine, options = exact_engine(problem), {}
        with config_context(assume_finite=True):
            return engine.build(kernel, Rows(support), **options)  # validated by the fit

    @property
    def shortage(self) -> str | None:
        """Why the plan does not fit into the memory limit; None where it does."""
        if self.memory_limit is None or self.memory <= self.memory_limit:
            return None
        costs = {c.engine: c.cost for c in self.candidates if c.cost is not None}
        others = [name for name, cost in costs.items() if cost.memory <= self.memory_limit]
        remedy = f"use engine={' or '.join(map(repr, others))}" if others else "use fewer rows"
        return (
            f"engine={self.engine!r} needs {bytes_in_words(self.memory)} for n = "
            f"{self.problem.n:,}, and {bytes_in_words(self.memory_limit)} may be used; {remedy}."
        )

    def require_memory(self) -> None:
        """Raise a MemoryError that names the alternatives where the plan does not fit."""
        shortage = self.shortage
        if shortage is not None:
            raise MemoryError(shortage)

    def __str__(self) -> str:
        """Return a heading and a table of all engines, the chosen one marked."""
        problem, shortage = self.problem, self.shortage
        heading = [
            f"K @ A for n = {problem.n:,}, d = {problem.d}, {plural(problem.n_vectors, 'vector')}, "
            f"{np.dtype(problem.dtype)}, {type(self.kernel).__name__} kernel, "
            f"{plural(problem.products, 'product')}, {plural(problem.threads, 'thread')}, up to "
            f"{bytes_in_words(self.limit)}"
        ]
        if self.approximation_error:
            heading.append(f"{self.approximation_error:.2g} of the trace is left out")
        if self.surrogate is not None:
            memory = bytes_in_words(self.surrogate.memory)
            heading.append(f"most steps use a low-rank surrogate of {memory}")
        chosen = "▸ " if shortage is None else "✗ "
        table = [("engine", "memory", "set-up", "product", "")]
        for candidate in self.candidates:
            mark = chosen if candidate.engine == self.engine else "  "
            memory = setup = product = "–"
            if (cost := candidate.cost) is not None:
                memory = bytes_in_words(cost.memory)
                memory += f" + {bytes_in_words(cost.device)} device" if cost.device else ""
                setup = seconds_in_words(cost.setup * candidate.speed)
                product = seconds_in_words(cost.product * candidate.speed)
            table.append((mark + candidate.engine, memory, setup, product, candidate.reason))
        widths = [max(len(row[k]) for row in table) for k in range(4)]
        lines = ["; ".join(heading)]
        for engine, *figures, reason in table:
            cells = [text.rjust(width) for text, width in zip(figures, widths[1:], strict=True)]
            lines.append("  ".join([engine.ljust(widths[0]), *cells, reason]).rstrip())
        if shortage is not None:
            lines.append(f"Does not fit into memory: {shortage}")
        return "\n".join(lines)


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
    surrogate: bool = False,
) -> Plan:
    """Choose how K @ A will be computed, and estimate its cost.

    Parameters
    ----------
    X_or_shape : array or CSR matrix of shape (n, d), Dask array or dataframe, or the tuple (n, d)
        With the data, the bandwidth and the width of the data in bandwidths are known, and with
        them the size of a Fourier grid. With a shape they are estimated.
    kernel : str, callable or softkern.kernels.Kernel, default="rbf"
        Kernel, by name, as a function of two arrays, or as an object.
    kernel_params : dict, default=None
        Parameters of a kernel that is given by name or as a function.
    bandwidth : str, float or array of shape (d,), default="auto"
        Bandwidth of the kernel, or a rule that chooses it. See `softkern.kernels.select_bandwidth`.
    n_vectors : int, default=1
        Columns of A, usually the number of clusters.
    products : int, default=20
        Expected number of products.
    engine : {"auto", "dense", "tiled", "fourier", "nystroem"} or a registered one, default="auto"
        ``"auto"`` takes the fastest engine whose error is known beforehand and that fits into
        memory. Where that takes more than 20 seconds and a sample of the data shows that a
        low-rank factor leaves out at most 1e-5 of the trace, it takes that factor, which is
        checked once it is built (otherwise `Plan.fallback` replaces it). Where all of these would
        take longer than `patience`, it takes the fastest of all engines.
        ``"tiled"`` is the exact engine without the matrix that supports the kernel: ``"tiled"``,
        ``"features"`` or ``"blocked"``. A precomputed kernel has the engine ``"precomputed"``.
        For Dask data, ``"nystroem"`` (or ``"distributed"``) uses landmarks, and any exact engine
        multiplies all pairs of rows, block by block.
    engine_params : dict, default=None
        Options of the engine: ``threads`` (tiled), ``tolerance`` (fourier), ``rank``,
        ``trace_tolerance``, ``row_tolerance`` and ``landmarks`` (nystroem). For Dask data also
        ``sample_rows``, and ``local``, the engine of every block.
    dtype : dtype, default=None
        Type of the data, where only their shape is given.
    sample_weight : array of shape (n,), default=None
        Weights of the samples, for rules that choose the bandwidth.
    memory_limit : int, default=None
        Bytes that may be used. None is 80 % of the available memory.
    patience : float, default=600.0
        Seconds on the reference machine beyond which approximate engines are chosen too.
    random_state : int, RandomState or None, default=0
        Random seed of the sample from which the bandwidth is chosen.
    surrogate : bool, default=False
        Whether the products are those of a loop that can iterate on a low-rank surrogate, with
        few exact products. The plan uses it where that saves time.

    Returns
    -------
    plan : Plan
        The chosen engine with its cost, and the other candidates.

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
    named = {"kernel": kernel, "kernel_params": kernel_params, "bandwidth": bandwidth}
    work: dict[str, Any] = {"n_vectors": n_vectors, "products": products}
    if is_dask(X_or_shape):
        from softkern.dask.plan import plan_chunks

        work |= {"engine": engine, "engine_params": engine_params, "memory_limit": memory_limit}
        work |= {"sample_weight": sample_weight, "random_state": random_state}
        return plan_chunks(X_or_shape, **named, **work)
    rows, open_kernel = None, None
    if not isinstance(X_or_shape, tuple):
        rows = Rows.of(X_or_shape, sample_weight)
        with config_context(assume_finite=True):
            kernel = resolve(X=rows, **named, random_state=random_state)
            kernel.check(rows.X)
        problem = ProblemSize.of(rows.X, kernel).with_extent(rows.X)
    else:
        if len(X_or_shape) != 2 or min(X_or_shape) < 1:
            raise ValueError(f"the shape must be (n, d) with n, d ≥ 1, got {X_or_shape!r}.")
        if isinstance(bandwidth, str) and has_open_bandwidth(kernel, kernel_params):
            open_kernel, named = named, {**named, "bandwidth": 1.0}
        n, d = map(int, X_or_shape)
        problem = ProblemSize(n, d, resolve(**named), dtype=np.dtype(dtype or np.float64))
    problem = replace(problem, **work, threads=available_threads())
    options = dict(engine_params or {})
    draft = Plan("dense", problem.kernel, problem, memory_limit, options, open_kernel=open_kernel)
    if engine == "auto" and not options and memory_limit is None and is_small(problem):
        return draft
    if rows is not None:
        problem = problem.with_sample(rows, SAMPLE, random_state)
    return _compare_engines(draft, problem, engine, patience, surrogate)


def _compare_engines(
    draft: Plan, problem: ProblemSize, engine: str, patience: float, surrogate: bool
) -> Plan:
    """Complete a plan with the requested or best engine.

    The problem may hold a sample of the data, which a plan does not store.
    """
    options, limit = draft.options, draft.limit
    prices = price_engines(problem, options, limit, surrogate)
    if engine == "auto":
        price = choose(prices, patience)
    elif engine == ("tiled" if problem.kernel.takes_points else "dense"):
        price = prices[exact_engine(problem).name]
    else:
        price = prices[engine]
    price.require(problem.n)
    price.engine.check_options(options, engine)
    exact = replace(
        draft,
        engine=price.engine.name,
        memory_limit=limit,
        priced=list_candidates(prices, price, is_requested=engine != "auto"),
        surrogate=price.factor,
        surrogate_rank=price.rank,
    )
    is_slow = price.seconds > SLOW_SECONDS and price.engine.is_exact
    if engine != "auto" or options or not is_slow or prices[LOW_RANK].cost is None:
        return exact
    return _low_rank_plan(exact, problem, price.seconds) or exact


def _low_rank_plan(exact: Plan, problem: ProblemSize, seconds: float) -> Plan | None:
    """The plan of a low-rank engine whose error is checked once it is built, where one suffices.

    `seconds` is the time of the exact plan.
    """
    rank = rank_for(problem, CHECKED_TRACE, SAMPLE)
    if rank is None:
        return None
    options = {"rank": rank, "trace_tolerance": CHECKED_TRACE, "row_tolerance": CHECKED_ROW}
    price = ENGINES[LOW_RANK].price(problem, options, exact.limit)
    if price.obstacle or CHECKED_GAIN * price.seconds > seconds:
        return None
    reason = f"leaves out at most {CHECKED_TRACE:g} of the trace, which is checked once it is built"
    chosen = Candidate(LOW_RANK, price.cost, reason, price.engine.speed())
    failed = replace(chosen, reason="left out more than a sample of the data had shown")
    slower = replace(exact.chosen, reason=f"{seconds / price.seconds:.3g} × the time")
    by_name = {candidate.engine: candidate for candidate in exact.candidates}
    return replace(
        exact,
        engine=LOW_RANK,
        priced=tuple((by_name | {LOW_RANK: chosen, exact.engine: slower}).values()),
        options=options,
        surrogate=None,
        surrogate_rank=0,
        fallback=replace(exact, priced=tuple((by_name | {LOW_RANK: failed}).values())),
    )
