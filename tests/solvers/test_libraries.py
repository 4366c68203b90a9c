"""The whole loop with arrays of any library, including arrays that NumPy cannot read."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from softkern._utils.arrays import namespace
from softkern.kernels import Gaussian
from softkern.operators.dense import DenseOperator
from softkern.operators.geometry import Geometry, center_norms, squared_distances
from softkern.rules.base import Centers, Rule
from softkern.rules.centers import Mean
from softkern.rules.fuzzy import Fuzzy
from softkern.rules.possibilistic import Possibilistic
from softkern.solvers.alternate import alternate
from softkern.solvers.steps import STOPPING, CycleWatch, Step, measured_change

X = make_blobs(60, 2, centers=[[0, 0], [5, 5]], random_state=0)[0]
WEIGHT = np.random.default_rng(0).integers(1, 3, 60).astype(float)
START = np.random.default_rng(1).uniform(size=(60, 2))
START /= START.sum(axis=0)


@dataclass
class LibraryOperator:
    """The part of an operator that the loop uses, with arrays of any library."""

    gram: object
    diag: object
    features: None = None
    on_device: bool = False  # the arrays are passed in
    surrogate: None = None

    def geometry(self, A, product=None):
        product = namespace(A).matmul(self.gram, A) if product is None else product
        norms = center_norms(A, product)
        return Geometry(product, norms, squared_distances(self.diag, product, norms, True))


def make_rules(to_array):
    return {
        "fuzzy": Fuzzy(2.0),
        "outlier fuzzy": Fuzzy(2.0, 1.0, float(WEIGHT.sum())),
        "possibilistic": Possibilistic(to_array(np.array([0.5, 0.5]))),
    }


@pytest.mark.parametrize(
    ("name", "stopping"),  # all measures of change with one rule, as they do not depend on it
    [
        *(("fuzzy", stopping) for stopping in STOPPING),
        ("outlier fuzzy", "relative"),
        ("possibilistic", "objective"),
    ],
)
def test_the_loop_runs_in_the_library_of_its_arrays(name, stopping, library):
    to_array, to_numpy = library
    options = {"tol": 1e-6, "max_iter": 5, "stopping": stopping}
    dense = DenseOperator(Gaussian(2.0), X)
    rule = Rule(make_rules(np.asarray)[name], Mean())
    expected = alternate(dense, rule, Centers(START), sample_weight=WEIGHT, **options)
    operator = LibraryOperator(to_array(dense.gram), to_array(dense.diag()))
    rule = Rule(make_rules(to_array)[name], Mean())
    start = Centers(to_array(START))
    found = alternate(operator, rule, start, sample_weight=to_array(WEIGHT), **options)
    assert type(found.coefficients) is type(to_array(START))
    assert found.n_iter == expected.n_iter
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    np.testing.assert_allclose(to_numpy(found.memberships), expected.memberships, atol=1e-8)


@pytest.mark.parametrize("stopping", STOPPING)
def test_measures_of_change(stopping, library):
    to_array, _ = library
    changes, tops = np.array([0.2, 0.4]), np.array([0.5, 0.0])
    objectives = [3.0, 2.0]
    found = measured_change(
        Step(2.0, to_array(changes), to_array(tops)), objectives, 10.0, stopping
    )
    tiny = np.finfo(float).tiny
    literal = {
        "relative": (changes / np.maximum(tops, tiny)).mean() / 10,
        "mean": 0.03,
        "sum": 0.6,
        "objective": 0.5,
    }
    assert found == pytest.approx(literal[stopping])


@dataclass
class State:
    memberships: object
    objective: float


def test_cycles(library):
    to_array, _ = library
    watch = CycleWatch(to_array(np.ones(3)))
    states = [State(to_array(np.full((3, 1), float(k % 2))), float(k % 2)) for k in range(8)]
    periods = [watch.period(state) for state in states]
    assert any(period == 2 for period in periods)
    assert watch.best.objective == 0.0
