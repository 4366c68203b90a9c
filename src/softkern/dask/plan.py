"""The plan and the operator of Dask data: through landmarks, or all pairs of rows.

Kernel and bandwidth come from the subsample. Called by `softkern.plan` and by `softkern.dask.fit`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from softkern._utils.memory import available_memory
from softkern._utils.threads import available_threads
from softkern.dask.cluster import worker_threads
from softkern.dask.operator import DistributedNystroem, DistributedOperator
from softkern.dask.rows import ChunkedRows
from softkern.kernels.resolve import resolve
from softkern.operators.base import ProblemSize
from softkern.operators.low_rank import DEFAULT_RANK, NystroemOperator
from softkern.operators.work import Cost
from softkern.planning.engines import ENGINES, MEMORY_SHARE, Candidate, machine_speed, rank_for
from softkern.planning.plan import SAMPLE, Plan, plan
from softkern.rows import Rows

ENGINE = DistributedOperator.engine
TASK_SECONDS = 1e-3  # Dask's own work per task
PAIR_SECONDS = 5e-9  # one kernel value on one core ...
VECTOR_SECONDS = 3e-10  # ... and its part in the product with one vector
TRACE_ERROR = 0.01  # share of the trace that the default number of landmarks may leave out
OPTIONS = ("rank", "local", "sample_rows")  # of engine_params, beside those of the local engine


def plan_chunks(
    X: Any,
    *,
    n_vectors: int = 1,
    products: int = 20,
    engine: str = "auto",
    engine_params: dict[str, Any] | None = None,
    memory_limit: int | None = None,
    sample_weight: Any = None,
    random_state: Any = 0,
    **named: Any,
) -> Plan:
    """Plan products over Dask data, given as such or as `ChunkedRows`.

    Landmarks are used where requested, or where a subsample shows that they suffice. `named` are
    the kernel, its parameters and its bandwidth, as in `softkern.plan`.
    """
    rows = X if isinstance(X, ChunkedRows) else ChunkedRows.of(X, sample_weight)
    sample, options = rows.subsample, dict(engine_params or {})
    checked = Rows.of(sample.X, sample.weight)
    kernel = resolve(X=checked, **named, random_state=random_state)
    kernel.check(sample.X)
    problem = ProblemSize.of(sample.X, kernel).with_extent(sample.X)
    problem = problem.with_sample(checked, SAMPLE, random_state)
    if not kernel.takes_points:
        raise ValueError(
            f"engine={ENGINE!r} cannot be used here: it needs points, and a precomputed kernel "
            "has none."
        )
    threads = worker_threads() or available_threads()
    n = int(rows.X.shape[0])
    problem = replace(problem, n=n, n_vectors=n_vectors, products=products, threads=threads)
    is_requested = engine in (ENGINE, NystroemOperator.engine) or "rank" in options
    if is_requested or (engine == "auto" and rank_for(problem, TRACE_ERROR, SAMPLE) is not None):
        rank = options.pop("rank", DEFAULT_RANK)
    else:
        rank = None
    if rank is None and engine in ENGINES:
        options["local"] = engine
    used = ENGINES.get(engine if rank is None else NystroemOperator.engine)
    known = {*OPTIONS, *(used.option_names if used is not None else ())}
    unknown = sorted(set(options) - known)
    if unknown:
        raise ValueError(
            f"Unknown option {unknown[0]!r} in engine_params for Dask data; use "
            f"{', '.join(sorted(known))}."
        )
    cost = _cost(problem, len(rows.X.chunks[0]), rank)
    how = "all pairs of rows" if rank is None else f"through {rank} landmarks"
    chosen = Candidate(ENGINE, cost, how, machine_speed())
    limit = int(MEMORY_SHARE * available_memory()) if memory_limit is None else memory_limit
    options, problem = {"rank": rank, **options}, replace(problem, sample=None)
    return Plan(ENGINE, kernel, problem, limit, options, (chosen,))


def _cost(problem: ProblemSize, chunks: int, rank: int | None) -> Cost:
    """Cost of products with all pairs of rows, or through landmarks, on all workers' threads.

    The memory is that of a worker for one chunk, and without landmarks that of the model, which
    then holds all rows.
    """
    others = problem.n if rank is None else 2 * rank
    tasks = chunks**2 if rank is None else 2 * chunks
    seconds = problem.n * others * (PAIR_SECONDS + VECTOR_SECONDS * problem.n_vectors)
    rows = -(-problem.n // max(1, chunks))
    memory = problem.itemsize * rows * (2 * problem.d + 4 * problem.n_vectors)
    if rank is None:
        memory += problem.n * (problem.d + problem.n_vectors) * problem.itemsize
    return Cost(memory, 0.0, seconds / max(1, problem.threads) + tasks * TASK_SECONDS)


def build(chosen: Plan, rows: ChunkedRows, random_state: Any = 0) -> DistributedOperator:
    """Build the operator of a plan for Dask data, or raise a MemoryError."""
    chosen.require_memory()
    kernel, sample, rank = chosen.kernel, rows.subsample, chosen.options["rank"]
    local = replace(chosen, priced=()).prediction_operator  # sent to the workers
    if rank is None:
        one = plan(sample.X, kernel=kernel, products=chosen.problem.products, surrogate=True)
        small = one.build(sample.X, sample.weight, random_state)
        return DistributedOperator(kernel, rows, local, small)
    options = {k: v for k, v in chosen.options.items() if k not in OPTIONS}
    factor = NystroemOperator(
        kernel,
        sample.X,
        rank=rank,
        sample_weight=sample.weight,
        random_state=random_state,
        **options,
    )
    return DistributedNystroem(kernel, rows, local, factor)
