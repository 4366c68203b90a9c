"""How long the alpha tree will take, in products, whose time a plan estimates.

The tree needs levels at points between neighbors, more of them in more columns, where neighbors are
further apart. Levels of n new points cost as much as a product with new points. Logarithms and the
evidence of splits are included in the counts below, of five clusters and of one, of 12,000 rows.
"""

from __future__ import annotations

import numpy as np

from softkern.planning import Plan

COLUMNS, PRODUCTS = (1, 2, 3, 5, 10), (2.0, 6.0, 11.0, 17.0, 20.0)
ROW_SECONDS = 5e-5  # for every row: its neighbors, and the tree of them


def tree_seconds(plan: Plan) -> float:
    """Expected time of the tree, from a plan of one vector."""
    products = float(np.interp(plan.problem.d, COLUMNS, PRODUCTS))
    return products * plan.prediction_seconds + ROW_SECONDS * plan.problem.n * plan.chosen.speed
