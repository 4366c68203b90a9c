"""The text of a plan: one line per engine with its memory, times and the reason of the choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from softkern._utils.text import plural

if TYPE_CHECKING:
    from softkern.planning.plan import Plan
    from softkern.planning.prices import Candidate


def plan_text(plan: Plan) -> str:
    """Return a heading and a table of all engines, the chosen one marked."""
    problem, shortage = plan.problem, plan.shortage
    heading = (
        f"K @ A for n = {problem.n:,}, d = {problem.d}, {plural(problem.n_vectors, 'vector')}, "
        f"{np.dtype(problem.dtype)}, {type(plan.kernel).__name__} kernel, "
        f"{plural(problem.products, 'product')}, {plural(problem.threads, 'thread')}, up to "
        f"{bytes_in_words(plan.limit)}"
    )
    chosen = "▸ " if shortage is None else "✗ "
    rows = [("engine", "memory", "set-up", "product", "")]
    for candidate in plan.candidates:
        mark = chosen if candidate.engine == plan.engine else "  "
        rows.append((mark + candidate.engine, *_figures(candidate), candidate.reason))
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(row[k].rjust(widths[k]) for k in (1, 2, 3)), row[4]]
        ).rstrip()
        for row in rows
    ]
    end = [] if shortage is None else [f"Does not fit into memory: {shortage}"]
    return "\n".join(["; ".join([heading, *plan.notes]), *lines, *end])


def _figures(candidate: Candidate) -> tuple[str, str, str]:
    """Memory, set-up time and time of a product, as text."""
    cost = candidate.cost
    if cost is None:
        return "–", "–", "–"
    memory = bytes_in_words(cost.memory)
    return (
        f"{memory} + {bytes_in_words(cost.device)} device" if cost.device else memory,
        seconds_in_words(cost.setup * candidate.speed),
        seconds_in_words(cost.product * candidate.speed),
    )


def bytes_in_words(count: float) -> str:
    """Return a number of bytes in its usual unit, in three digits."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.3g} {unit}" if count < 999.5 else f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"


def seconds_in_words(seconds: float) -> str:
    """Return a time in its usual unit, in two digits, such as '12 ms', '75 s' or '2.5 h'."""
    if seconds < 0.9995:
        return f"{seconds * 1e3:.2g} ms" if seconds < 0.0995 else f"{seconds * 1e3:.0f} ms"
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 9.95 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
