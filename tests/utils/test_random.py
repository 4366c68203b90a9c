"""Seeds and random generators."""

import numpy as np
import pytest

from softkern import AlphaCutClustering, AutoClustering, FuzzyCMeans, OneClassMixture, OneClassPCM
from softkern._utils.random import SEEDS, as_random_state, child_seed, fixed_seed
from softkern.kernels import select_bandwidth

MODELS = [
    AutoClustering(),
    AlphaCutClustering(),
    FuzzyCMeans(3, init="random"),
    OneClassMixture(3),
    OneClassPCM(),
]


def test_an_integer_always_gives_the_same_seeds():
    assert child_seed(3) == np.random.RandomState(3).randint(2**31 - 1)
    assert as_random_state(3).randint(SEEDS, size=4)[0] == child_seed(3)
    assert fixed_seed(np.int64(3)) == 3


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_generator_returns_a_new_seed_in_every_draw(make):
    generator = make(0)
    drawn = [fixed_seed(generator) for _ in range(20)]
    assert len(set(drawn)) == 20
    again = make(0)
    assert [child_seed(again) for _ in range(20)] == drawn


def test_none_uses_the_global_state_of_numpy():
    np.random.seed(5)  # noqa: NPY002
    first = fixed_seed(None)
    np.random.seed(5)  # noqa: NPY002
    assert fixed_seed(None) == first
    assert as_random_state(None) is np.random.mtrand._rand


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_fit_draws_once_from_a_generator(model):
    """Otherwise sub-models and samples would depend on the order in which they draw."""
    X = np.random.default_rng(0).normal(size=(90, 3)) + np.repeat([[0], [6], [12]], 30, axis=0)
    generator, other = np.random.RandomState(3), np.random.RandomState(3)
    fitted = model.set_params(random_state=generator).fit(X)
    seed = fixed_seed(other)
    assert generator.randint(2**31) == other.randint(2**31)
    same = model.set_params(random_state=seed).fit(X)
    assert (fitted.outlier_scores_ == same.outlier_scores_).all()


def test_a_bandwidth_draws_once_from_a_generator():
    X = np.random.default_rng(0).normal(size=(5000, 3))
    other = np.random.RandomState(3)
    wide = select_bandwidth(X, "within", random_state=np.random.RandomState(3))
    assert (wide == select_bandwidth(X, "within", random_state=fixed_seed(other))).all()
