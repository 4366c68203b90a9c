"""How long the alpha tree will take: in products, of which a plan knows the time.

The tree asks for levels on the way between neighbors. How many of them it asks for grows with the
columns, since neighbors are then further apart; each is a new point, of which n cost as much as a
product that serves new points, and logarithms and the evidence of splits are within the numbers
below. They were counted on five groups and on one, of 12,000 rows.
"""

from __future__ import annotations

import numpy as np

from softkern.planning import Plan

__all__ = ["tree_seconds"]

COLUMNS, PRODUCTS = (1, 2, 3, 5, 10), (2.0, 6.0, 11.0, 17.0, 20.0)
ROW_SECONDS = 5e-5  # for every row: its neighbors, and the tree of them


def tree_seconds(plan: Plan) -> float:
    """Expected time of the tree of a plan of one vector.

    Examples
    --------
    >>> from softkern import plan
    >>> tree_seconds(plan((20_000, 5))) > tree_seconds(plan((20_000, 2)))
    True
    """
    products = float(np.interp(plan.problem.d, COLUMNS, PRODUCTS))
    return products * plan.prediction_seconds + ROW_SECONDS * plan.problem.n * plan.chosen.speed
