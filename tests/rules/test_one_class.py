"""One-class SVMs as centers: any membership rule works with them, and ties are resolved."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from softkern.kernels import Gaussian
from softkern.operators.dense import DenseOperator
from softkern.operators.geometry import Geometry
from softkern.rules.base import Centers, Rule
from softkern.rules.one_class import (
    FORMULATIONS,
    OCSVM,
    SVDD,
    Hard,
    Margins,
    Mixture,
)
from softkern.rules.possibilistic import Possibilistic, estimate_eta
from softkern.solvers.alternate import alternate
from softkern.solvers.dual import OneClassCenters
from softkern.solvers.initialization import seed_mass


def one_class_centers(operator, nu, formulation="svdd"):
    return OneClassCenters(operator, nu, FORMULATIONS[formulation], tol=1e-9)


@pytest.mark.parametrize("nu", [0.7, 1.0])
def test_possibilistic_memberships_of_one_class_centers(nu):
    # a combination of rules that no model uses
    X, y = make_blobs(120, centers=[[0, 0], [7, 0]], random_state=0)
    operator, weight = DenseOperator(Gaussian(2.0), X), np.ones(120)
    rule = one_class_centers(operator, nu)
    start = rule.centers(seed_mass(operator, weight, 2, np.random.RandomState(0)), weight, None)
    distances = operator.geometry(start.coefficients, start.product).distances
    nearest = (distances == distances.min(axis=1, keepdims=True)).astype(float)
    eta = estimate_eta(distances, nearest, weight, 0.3)
    solution = alternate(
        operator,
        Rule(Possibilistic(eta), rule),
        start,
        sample_weight=weight,
        tol=1e-6,
        max_iter=200,
        cycles=True,
    )
    assert solution.converged
    assert adjusted_rand_score(y, solution.memberships.argmax(axis=1)) == 1
    # the centers are the SVMs of the memberships, and the memberships follow from the centers
    again = rule.centers(solution.memberships, weight, None)
    assert again.coefficients == pytest.approx(solution.coefficients, abs=1e-4)
    literal = np.exp(-operator.squared_distances(solution.coefficients) / eta)
    assert solution.memberships == pytest.approx(literal, rel=1e-9)


@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_cluster_without_weight_keeps_its_svm(name):
    X = np.random.default_rng(0).normal(size=(40, 2))
    operator, weight = DenseOperator(Gaussian(1.0), X), np.ones(40)
    rule = one_class_centers(operator, 0.5, name)
    mass = np.random.default_rng(1).uniform(size=(40, 2))
    first = rule.centers(mass, weight, None)
    assert first.shares == pytest.approx(mass.sum(axis=0) / 40)
    assert first.coefficients.sum(axis=0) == pytest.approx(1)
    assert first.margins.totals == pytest.approx(0.5 * mass.sum(axis=0))
    second = rule.centers(mass * [1, 0], weight, first)
    assert second.coefficients[:, 1] == pytest.approx(first.coefficients[:, 1], abs=1e-6)
    assert second.shares[1] == 0


def test_formulations_equal_equations_12_and_13():
    rng = np.random.default_rng(0)
    product, norms, diag = rng.uniform(size=(30, 2)), np.array([0.7, 0.9]), 1.3
    geometry = Geometry(product, norms, diag - 2 * product + norms)
    margins = Margins(np.array([0.2, 0.3]), np.array([0.4, 0.5]), np.array([11.0, 19.0]))
    centers = Centers(product, shares=np.array([0.4, 0.6]), margins=margins)
    weight = rng.uniform(1, 2, 30)
    for formulation, similarity in (
        (SVDD, np.exp(-geometry.distances / 0.5)),
        (OCSVM, np.exp((product - margins.offset) * margins.totals / 0.5)),
    ):
        joint = centers.shares * similarity
        found = Mixture(formulation, 0.5).evaluate(geometry, centers, weight)
        assert found.memberships == pytest.approx(joint / joint.sum(axis=1, keepdims=True))
        assert found.objective == pytest.approx(-weight @ np.log(joint.sum(axis=1)))
        # a term that is equal for all clusters, such as K(x, x), changes no membership
        moved = Geometry(product, norms, geometry.distances - diag)
        logs = Mixture(formulation, 0.5).log_memberships(moved, centers)
        assert np.exp(logs) == pytest.approx(found.memberships)


def test_ties_within_the_error_go_to_the_first_cluster():
    distances = np.array([[1.0, 1.0 - 1e-9], [1.0, 0.5], [2.0 + 1e-9, 2.0]])
    geometry = Geometry(-distances, np.zeros(2), distances)
    centers = Centers(distances)
    rule = Hard(SVDD, 1e-8, lambda row: np.abs(np.arange(3.0) - row)[:, None])
    found = rule.evaluate(geometry, centers, np.ones(3))
    assert found.memberships.argmax(axis=1).tolist() == [0, 1, 0]
    assert Hard(SVDD, 0.0).log_memberships(geometry, centers).argmax(axis=1).tolist() == [1, 1, 1]


def test_an_empty_cluster_receives_the_point_furthest_from_its_center():
    distances = np.array([[1.0, 9.0], [4.0, 9.0], [0.0, 9.0]])
    rule = Hard(SVDD, 0.0, lambda row: np.abs(np.arange(3.0) - row)[:, None])
    geometry = Geometry(-distances, np.zeros(2), distances)
    found = rule.evaluate(geometry, Centers(distances), np.ones(3))
    assert found.memberships[:, 1].sum() == 0
    assert found.mass[:, 1].tolist() == [0, 1, 0]
    assert (rule.reseeded, found.rule.reseeded) == (0, 1)
    # a cluster keeps its last point
    one = Hard(SVDD, 0.0, lambda row: np.zeros((1, 1))).evaluate(
        Geometry(np.zeros((1, 2)), np.zeros(2), np.array([[1.0, 2.0]])), Centers(None), np.ones(1)
    )
    assert one.mass.tolist() == [[1, 1]]
