"""What the alpha tree costs, by what it asks for."""

import numpy as np
import pytest

from softkern import AlphaCutClustering, plan
from softkern.density_tree import landscape
from softkern.density_tree.cost import COLUMNS, PRODUCTS, tree_seconds

LOGARITHM, SINGLE = 2.0, 2 / 3  # of a product: exact levels, and those in single precision


@pytest.mark.parametrize("d", [2, 5])
def test_the_tree_asks_for_as_many_points_as_counted(d, monkeypatch):
    asked = {}

    def spy(X, pairs, counts, level, evaluate, screen=None):
        products = 2.0  # for the evidence

        def counted(levels, worth):
            def of(points):
                nonlocal products
                products += worth * len(points) / len(X)
                return levels(points)

            return of

        low = None if screen is None else counted(screen, SINGLE)
        found = spanning(X, pairs, counts, level, counted(evaluate, LOGARITHM), low)
        asked[len(X)] = products  # the last tree of all rows is the model's own
        return found

    spanning = landscape.spanning_segments
    monkeypatch.setattr(landscape, "spanning_segments", spy)
    X = np.random.default_rng(0).normal(size=(4000, d))
    AlphaCutClustering().fit(X)
    assert 0.5 < asked[4000] / np.interp(d, COLUMNS, PRODUCTS) < 2


def test_a_plan_knows_what_new_points_cost():
    dense, tiled = (plan((20_000, 5), engine=engine) for engine in ("dense", "tiled"))
    # a matrix is of no use for points that are not in it
    assert dense.prediction_seconds == tiled.prediction_seconds == tiled.product_seconds
    assert dense.prediction_seconds > dense.product_seconds
    assert tree_seconds(dense) > 10 * tiled.product_seconds
    assert tree_seconds(plan((40_000, 5))) > 3 * tree_seconds(plan((20_000, 5)))
