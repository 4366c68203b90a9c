"""Rules: every array library, equality with the formulas, and rejection of wrong parts."""

from dataclasses import dataclass

import numpy as np
import pytest

from softkern.rules.base import Centers, Rule
from softkern.rules.centers import Mean, mass_of_logs
from softkern.rules.fuzzy import Fuzzy, fuzzy_rows
from softkern.rules.one_class import OCSVM, SVDD, Margins, Mixture
from softkern.rules.possibilistic import Possibilistic, estimate_eta

RNG = np.random.default_rng(1)
G = RNG.uniform(size=(50, 3))
D = 1.3 - 2 * G + 1.0  # K(x, x) = 1.3, ‖center‖² = 1
W = RNG.uniform(0.5, 2, size=50)
ETA = np.array([0.5, 1.0, 2.0])
OFFSET, TOTALS = np.array([0.1, 0.2, 0.3]), np.array([5.0, 7.0, 9.0])


@dataclass(frozen=True)
class Distances:
    product: object
    norms: object
    distances: object


def geometry(to_array):
    return Distances(to_array(G), to_array(np.ones(3)), to_array(D))


def centers(to_array):
    margins = Margins(to_array(OFFSET), to_array(OFFSET), to_array(TOTALS))
    return Centers(to_array(G), shares=to_array(np.array([0.2, 0.5, 0.3])), margins=margins)


RULES = {
    "possibilistic": lambda a: Possibilistic(a(ETA)),
    "possibilistic, η updated": lambda a: Possibilistic(a(ETA), 1.0, True),
    "fuzzy": lambda a: Fuzzy(2.0),
    "fuzzy near one": lambda a: Fuzzy(1.05),
    "outlier fuzzy": lambda a: Fuzzy(2.0, 1.0, 50.0),
    "outlier fuzzy, plain": lambda a: Fuzzy(2.0, 1.0, 50.0, plain=True),
    "mixture, svdd": lambda a: Mixture(SVDD, 0.5),
    "mixture, ocsvm": lambda a: Mixture(OCSVM, 0.5),
}


@pytest.mark.parametrize("name", RULES)
def test_values_are_equal_in_every_array_library(name, library):
    to_array, to_numpy = library
    expected = RULES[name](np.asarray).evaluate(geometry(np.asarray), centers(np.asarray), W)
    rule = RULES[name](to_array)
    found = rule.evaluate(geometry(to_array), centers(to_array), to_array(W))
    assert type(found.memberships) is type(found.mass) is type(to_array(D))
    np.testing.assert_allclose(to_numpy(found.memberships), expected.memberships, rtol=1e-12)
    np.testing.assert_allclose(to_numpy(found.mass), expected.mass, rtol=1e-12)
    assert found.objective == pytest.approx(expected.objective, rel=1e-12)
    logs = rule.log_memberships(geometry(to_array), centers(to_array))
    np.testing.assert_allclose(np.exp(to_numpy(logs)), expected.memberships, rtol=1e-10)
    made = Mean().centers(found.mass, to_array(W), None)
    assert type(made.coefficients) is type(to_array(D))
    np.testing.assert_allclose(to_numpy(made.coefficients).sum(axis=0), 1)


def test_possibilistic_objective_equals_equation_14():
    found = Possibilistic(ETA).evaluate(geometry(np.asarray), centers(np.asarray), W)
    u = np.exp(-D / ETA)
    literal = (W[:, None] * (u * D + ETA * (u * np.log(u) - u))).sum()
    assert found.objective == pytest.approx(literal, rel=1e-12)
    np.testing.assert_allclose(
        estimate_eta(D, u, W, 2.0),
        2 * (W[:, None] * u * D).sum(axis=0) / (W[:, None] * u).sum(axis=0),
    )


def test_fuzzy_objective_and_mass_equal_the_formulas():
    found = Fuzzy(2.5).evaluate(geometry(np.asarray), centers(np.asarray), W)
    u = found.memberships
    np.testing.assert_allclose(found.mass, W[:, None] * u**2.5)
    assert found.objective == pytest.approx((W[:, None] * u**2.5 * D).sum())


def test_outlier_objective_equals_equation_9():
    rule = Fuzzy(2.0, 1.5, 50.0)
    found = rule.evaluate(geometry(np.asarray), centers(np.asarray), W)
    spread = (found.memberships**2 * D).sum(axis=1)
    w = spread ** (1 / 2.5)
    w *= 50 / (W @ w)
    assert found.objective == pytest.approx((W * spread / w**1.5).sum())
    mass = W[:, None] * found.memberships**2 / (w**1.5)[:, None]
    np.testing.assert_allclose(found.mass / found.mass.sum(axis=0), mass / mass.sum(axis=0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_mass_that_underflows_still_has_a_center(dtype):
    far = Distances(G, np.ones(2), np.array([[1.0, 50.0], [1.0, 60.0]], dtype=dtype))
    mass = Fuzzy(1.001).evaluate(far, None, np.ones(2, dtype=dtype)).mass
    made = Mean().centers(mass, np.ones(2, dtype=dtype), None).coefficients
    np.testing.assert_allclose(made.sum(axis=0), 1, rtol=1e-6)
    assert made[0, 1] > 0.99
    assert mass_of_logs(np.array([[-1e6], [-1e6]]), np.ones(2)).sum() == 2


@pytest.mark.parametrize("m", [1.3, 2.0, 3.0])
def test_rows_of_a_sweep_equal_the_rule(m):
    expected = Fuzzy(m).evaluate(geometry(np.asarray), centers(np.asarray), W)
    U, mass, objective = fuzzy_rows(D.T.copy(), m, W)
    np.testing.assert_allclose(U.T, expected.memberships)
    np.testing.assert_allclose(mass.T, expected.mass)
    assert W @ objective == pytest.approx(expected.objective)


def test_rules_are_immutable():
    rule = Possibilistic(ETA, 1.0, update_eta=True)
    following = rule.evaluate(geometry(np.asarray), centers(np.asarray), W).rule
    assert rule.eta is ETA
    assert following.eta is not ETA
    with pytest.raises(AttributeError):
        rule.eta = 1.0


def test_unsuitable_parts_are_named_in_the_error():
    with pytest.raises(TypeError, match=r"Mean must implement evaluate.*missing evaluate"):
        Rule(Mean(), Mean())
    with pytest.raises(TypeError, match="Fuzzy must implement centers to be part of a rule"):
        Rule(Fuzzy(2.0), Fuzzy(2.0))


def test_a_cluster_without_mass_keeps_its_center():
    """Points on centers belong to no other cluster, so that a cluster may become empty."""
    weight, mass = np.array([1.0, 3.0]), np.array([[1.0, 0.0], [1.0, 0.0]])
    previous = Centers(np.array([[0.5, 0.9], [0.5, 0.1]]))
    centers = Mean().centers(mass, weight, previous)
    assert centers.coefficients.tolist() == [[0.5, 0.9], [0.5, 0.1]]
    assert centers.shares.tolist() == [0.5, 0.0]
    assert Mean().centers(mass, weight, None).coefficients.tolist() == [[0.5, 0.25], [0.5, 0.75]]
    assert not mass_of_logs(np.full((2, 1), -np.inf), weight).any()
