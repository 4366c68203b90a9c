"""The cost of the alpha tree, measured by the number of points that it evaluates."""

import numpy as np
import pytest

from softkern import AlphaCutClustering, plan
from softkern.density_tree import landscape
from softkern.tables.cli.plan import TREE_COLUMNS, TREE_PRODUCTS, tree_seconds

LOGARITHM, SINGLE = 2.0, 2 / 3  # products per exact level and per level in single precision


@pytest.mark.parametrize("d", [2, 5])
def test_the_tree_evaluates_the_expected_number_of_points(d, monkeypatch):
    evaluated = {}

    def count_products(X, pairs, counts, level, evaluate, screen=None):
        products = 2.0  # for the significance of splits

        def count(levels, worth):
            def evaluate_and_count(points):
                nonlocal products
                products += worth * len(points) / len(X)
                return levels(points)

            return evaluate_and_count

        low = None if screen is None else count(screen, SINGLE)
        found = spanning(X, pairs, counts, level, count(evaluate, LOGARITHM), low)
        evaluated[len(X)] = products  # the last tree of all rows is the tree of the model
        return found

    spanning = landscape.spanning_segments
    monkeypatch.setattr(landscape, "spanning_segments", count_products)
    X = np.random.default_rng(0).normal(size=(4000, d))
    AlphaCutClustering().fit(X)
    assert 0.5 < evaluated[4000] / np.interp(d, TREE_COLUMNS, TREE_PRODUCTS) < 2


def test_a_plan_estimates_the_cost_of_new_points():
    dense, tiled = (plan((20_000, 5), engine=engine) for engine in ("dense", "tiled"))
    # a stored kernel matrix does not help with new points
    assert dense.prediction_seconds == tiled.prediction_seconds == tiled.product_seconds
    assert dense.prediction_seconds > dense.product_seconds
    assert tree_seconds(dense) > 10 * tiled.product_seconds
    assert tree_seconds(plan((40_000, 5))) > 3 * tree_seconds(plan((20_000, 5)))
