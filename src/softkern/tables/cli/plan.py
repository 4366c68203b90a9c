"""`softkern plan`: the engines for a problem size, their cost, and whether the choice fits."""

from __future__ import annotations

import typer

from softkern import plan
from softkern.density_tree.bandwidth_search import FEW_COLUMNS
from softkern.density_tree.cost import tree_seconds
from softkern.planning import Plan, seconds_in_words
from softkern.tables.cli.models import MODELS
from softkern.tables.cli.options import PlanSettings
from softkern.tables.cli.printer import Printer


def show_plan(settings: PlanSettings) -> None:
    """Print the plan. Raise a MemoryError where the chosen engine exceeds the memory limit."""
    limit = None if settings.memory is None else int(settings.memory * 2**30)

    def plan_for(clusters: int) -> Plan:
        size = (settings.n, settings.d)
        try:
            return plan(size, n_vectors=clusters, engine=settings.engine, memory_limit=limit)
        except ValueError as error:  # no such engine, or one that cannot compute this
            raise typer.BadParameter(str(error)) from error

    chosen = plan_for(settings.clusters)
    one = chosen if settings.clusters == 1 else plan_for(1)
    Printer(False).line(f"{chosen}\n\n{_describe_tree(one)}")
    chosen.require_memory()


def _describe_tree(one: Plan) -> str:
    """Return how long the density tree takes beyond a plan for one vector."""
    columns, most = one.problem.d, MODELS["alpha-cut"].most_columns
    if most is not None and columns > most:
        return f"no density tree: {columns} columns are too many for it (up to {most})"
    used = "used by auto" if columns <= FEW_COLUMNS else "--model alpha-cut, not auto"
    return f"the density tree: about {seconds_in_words(tree_seconds(one))} more ({used})"
