"""The loop, with rules that have known iterates."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from softkern.kernels import Linear
from softkern.operators.dense import DenseOperator
from softkern.operators.geometry import Geometry
from softkern.rules.base import Centers, Evaluation, Rule
from softkern.solvers.alternate import alternate, anneal
from softkern.solvers.initialization import least_scattered
from softkern.solvers.steps import Solution


@dataclass(frozen=True)
class Walk:
    """Memberships that follow a list of states. The coefficients count the steps."""

    states: tuple
    seen: list = field(default_factory=list, compare=False)  # products in the order of steps

    def evaluate(self, geometry, centers, weight):
        self.seen.append(geometry.product[0, 0])
        state = float(self.states[self.step(centers) % len(self.states)])
        return Evaluation(np.full((2, 1), state), np.ones((2, 1)), state, self)

    def log_memberships(self, geometry, centers):
        raise NotImplementedError

    def step(self, centers):
        return int(centers.coefficients[0, 0]) - 1


@dataclass(frozen=True)
class Count:
    """Coefficients that count the steps. `product` replaces K @ A if it is given."""

    product: float | None = None

    def centers(self, mass, weight, previous):
        product = None if self.product is None else np.full((2, 1), self.product)
        return Centers(previous.coefficients + 1, product)


START = Centers(np.ones((2, 1)))


@pytest.fixture
def operator():
    return DenseOperator(Linear(), np.eye(2))


def run(operator, walk, product=None, **options):
    options = {"sample_weight": np.ones(2), "tol": 1e-6, "max_iter": 100, **options}
    return alternate(operator, Rule(walk, Count(product)), START, **options)


def test_the_loop_ends_with_a_membership_step(operator):
    walk = Walk((0.5, 0.9, 0.9))
    end = run(operator, walk)
    assert end.converged
    assert end.n_iter == 3
    assert end.history["objective"] == [0.5, 0.9, 0.9]
    assert end.coefficients[0, 0] == 3  # the centers of the last memberships
    assert end.geometry.product == pytest.approx(end.coefficients)
    assert end.rule.memberships is walk


def test_a_product_returned_by_the_rule_is_used(operator):
    walk = Walk((0.5, 0.9, 0.9))
    run(operator, walk, product=-7.0)
    assert walk.seen == [1, -7, -7]


@pytest.mark.parametrize(
    ("stopping", "change"),
    [("relative", 0.5), ("mean", 0.2), ("sum", 0.4), ("objective", 0.5)],
)
def test_stopping_measures(operator, stopping, change):
    end = run(operator, Walk((0.2, 0.4)), stopping=stopping, max_iter=2)
    assert end.history["change"] == [np.inf, pytest.approx(change)]
    assert not end.converged


@pytest.mark.parametrize("period", [2, 3, 12])
@pytest.mark.parametrize("lead", [0, 5, 40])
def test_the_loop_stops_at_the_best_state_of_a_cycle(operator, period, lead):
    lead_in = np.linspace(5, 6, lead).tolist()
    ring = [1.0 + (k * 7 % period) / period for k in range(period)]
    walk = Walk((*lead_in, *ring * 200))
    end = run(operator, walk, cycles=True, max_iter=500)
    assert end.cycle % period == 0
    assert end.cycle > 0
    assert not end.converged
    assert end.n_iter <= 3 * (lead + period) + 3
    assert end.objective == end.memberships[0, 0] == min(ring)
    assert walk.states[walk.step(end.centers)] == min(ring)  # the centers of that state
    assert run(operator, Walk(tuple(ring)), max_iter=50).n_iter == 50  # only with cycles=True


def test_slow_convergence_is_no_cycle(operator):
    for states in (
        [1 + 0.97**k for k in range(600)],  # from above
        [1 + (-0.97) ** k for k in range(600)],  # from both sides
    ):
        end = run(operator, Walk(tuple(states)), cycles=True, max_iter=600)
        assert end.converged
        assert end.cycle == 0


def test_loop_without_convergence_ends_at_max_iter(operator):
    end = run(operator, Walk((0.1, 0.2, 0.3, 0.4)), max_iter=3)
    assert not end.converged
    assert end.memberships[0, 0] == 0.3


@dataclass(frozen=True)
class Cooled:
    """Halves the distance to the scale in every step."""

    scale: float = 1.0
    at: float = 0.0

    def evaluate(self, geometry, centers, weight):
        at = self.at + (self.scale - self.at) / 2
        return Evaluation(np.full((2, 1), at), np.ones((2, 1)), at, replace(self, at=at))

    def log_memberships(self, geometry, centers):
        raise NotImplementedError


OPTIONS = {"sample_weight": np.ones(2), "tol": 1e-3, "max_iter": 50, "stopping": "mean"}


def test_annealing_continues_at_the_last_state(operator):
    end = anneal(operator, Rule(Cooled(), Count()), START, [4.0, 2.0, 1.0], **OPTIONS)
    assert end.memberships[0, 0] == pytest.approx(1.0, abs=0.01)
    scales = end.history["scale"]
    assert sorted(set(scales), reverse=True) == [4.0, 2.0, 1.0]
    assert len(scales) == len(end.history["objective"]) == len(end.history["change"]) == end.n_iter
    second = scales.index(2.0)
    assert end.history["objective"][second] == pytest.approx(3.0, abs=0.02)  # from 4, not from 0
    assert end.rule.memberships.scale == 1.0
    assert end.converged


def test_annealing_shows_one_progress_bar(operator, capsys):
    anneal(operator, Rule(Cooled(), Count()), START, [4.0, 2.0], verbose=True, **OPTIONS)
    shown = capsys.readouterr().out
    assert "iteration 2/2" in shown
    assert "scale 2.0e+00, goal 2.0e+00" in shown


def test_the_least_scattered_of_several_solutions():
    weight, memberships = np.array([1.0, 2.0]), np.array([[1.0, 0.0], [0.5, 0.5]])
    runs = [
        Solution(None, START, Geometry(None, None, np.full((2, 2), value / 3)), memberships, -value)
        for value in (3.0, 1.0, 0.99999, 0.99)
    ]
    assert least_scattered(iter(runs), weight) is runs[3]
    assert least_scattered(runs[:3], weight) is runs[1]  # the next is the same but for rounding
    assert least_scattered(runs[:1], weight) is runs[0]
    assert least_scattered([runs[1], runs[1]], weight) is runs[1]
    assert least_scattered(runs[2:0:-1], weight) is runs[2]
