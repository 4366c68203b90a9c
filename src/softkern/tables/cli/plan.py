"""`softkern plan`: the engines for a problem size, their cost, and whether the choice fits."""

from __future__ import annotations

import numpy as np
import typer

import softkern
from softkern._utils.text import seconds_in_words
from softkern.density_tree.bandwidth_search import FEW_COLUMNS
from softkern.planning import Plan
from softkern.tables.cli.models import MODELS
from softkern.tables.cli.options import PlanSettings
from softkern.tables.cli.printer import Printer

# Products of the tree by the number of columns, of five clusters and of one, of 12,000 rows, with
# logarithms and the evidence of splits: levels of n points between neighbors cost as much as a
# product with n new points, and in more columns neighbors are further apart.
TREE_COLUMNS, TREE_PRODUCTS = (1, 2, 3, 5, 10), (2.0, 6.0, 11.0, 17.0, 20.0)
ROW_SECONDS = 5e-5  # for every row: its neighbors, and the tree of them


def plan(settings: PlanSettings) -> None:
    """Print the plan. Raise a MemoryError where the chosen engine exceeds the memory limit."""
    limit = None if settings.memory is None else int(settings.memory * 2**30)

    def plan_for(clusters: int) -> Plan:
        size, engine = (settings.n, settings.d), settings.engine
        try:
            return softkern.plan(size, n_vectors=clusters, engine=engine, memory_limit=limit)
        except ValueError as error:  # no such engine, or one that cannot compute this
            raise typer.BadParameter(str(error)) from error

    chosen = plan_for(settings.clusters)
    Printer(False).line(f"{chosen}\n\n{_describe_tree(plan_for(1))}")
    chosen.require_memory()


def _describe_tree(one: Plan) -> str:
    """Return how long the density tree takes beyond a plan for one vector."""
    columns, most = one.problem.d, MODELS["alpha-cut"].most_columns
    if most is not None and columns > most:
        return f"no density tree: {columns} columns are too many for it (up to {most})"
    used = "used by auto" if columns <= FEW_COLUMNS else "--model alpha-cut, not auto"
    return f"the density tree: about {seconds_in_words(tree_seconds(one))} more ({used})"


def tree_seconds(one: Plan) -> float:
    """Return the expected time of the density tree, from a plan of one vector."""
    products = float(np.interp(one.problem.d, TREE_COLUMNS, TREE_PRODUCTS))
    return products * one.prediction_seconds + ROW_SECONDS * one.problem.n * one.chosen.speed
