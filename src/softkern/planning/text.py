"""The text of a plan: one line per engine with its memory, times and the reason of the choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from softkern._utils.text import plural

if TYPE_CHECKING:
    from softkern.planning.plan import Plan


def plan_text(plan: Plan) -> str:
    """Return a heading and a table of all engines, the chosen one marked."""
    problem, shortage = plan.problem, plan.shortage
    heading = [
        f"K @ A for n = {problem.n:,}, d = {problem.d}, {plural(problem.n_vectors, 'vector')}, "
        f"{np.dtype(problem.dtype)}, {type(plan.kernel).__name__} kernel, "
        f"{plural(problem.products, 'product')}, {plural(problem.threads, 'thread')}, up to "
        f"{bytes_in_words(plan.limit)}"
    ]
    if plan.approximation_error:
        heading.append(f"{plan.approximation_error:.2g} of the trace is left out")
    if plan.surrogate is not None:
        memory = bytes_in_words(plan.surrogate.memory)
        heading.append(f"most steps use a low-rank surrogate of {memory}")
    chosen = "▸ " if shortage is None else "✗ "
    table = [("engine", "memory", "set-up", "product", "")]
    for candidate in plan.candidates:
        mark = chosen if candidate.engine == plan.engine else "  "
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
