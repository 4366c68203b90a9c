import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import skew
from sklearn.preprocessing import PowerTransformer

from softkern.splitting.observations import find_power, least_skewed

COLUMNS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.uniform(-1, 1, n),
    "skewed": lambda rng, n: rng.lognormal(0, 1.5, n) - 1,
    "skewed down": lambda rng, n: 1 - rng.lognormal(0, 1, n),
    "very skewed": lambda rng, n: rng.exponential(size=n) ** 4 - 0.2,
    "tails": lambda rng, n: rng.standard_t(1, n),
    "far": lambda rng, n: np.sinh(5 * rng.normal(size=n)),
    "above zero": lambda rng, n: 0.5 + rng.gamma(2, size=n),
    "below zero": lambda rng, n: -0.5 - rng.gamma(2, size=n),
    "crowded at the top": lambda rng, n: rng.uniform(size=n) ** 0.1 - 0.9,
    "ties": lambda rng, n: rng.gamma(1, 10, n).round() / 10 - 1,
}


def search_power(x):
    """Maximize the printed likelihood of one column by a search."""

    def transform_column(power):
        above, below = x[x >= 0], x[x < 0]
        up = ((above + 1) ** power - 1) / power if power else np.log(above + 1)
        p = 2 - power
        down = -((1 - below) ** p - 1) / p if p else -np.log(1 - below)
        return np.concatenate([up, down])

    def loss(power):
        change = (power - 1) * np.sum(np.sign(x) * np.log(np.abs(x) + 1))
        return len(x) / 2 * np.log(np.var(transform_column(power))) - change

    coarse = np.linspace(-20, 22, 421)
    best = coarse[np.argmin([loss(power) for power in coarse])]
    return minimize_scalar(loss, bounds=(best - 0.1, best + 0.1), method="bounded").x


@pytest.mark.parametrize("n", [21, 60, 700])
def test_power_equals_that_of_a_search(n):
    rng = np.random.default_rng(n)
    for make in COLUMNS.values():
        x = make(rng, n)
        assert find_power(x, x) == pytest.approx(search_power(x), abs=1e-3)


def test_columns_are_transformed_like_in_scikit_learn():
    rng = np.random.default_rng(0)
    for x in [make(rng, n) for make in COLUMNS.values() for n in (30, 200, 45)]:
        peer = PowerTransformer().fit(x[:, None])
        assert find_power(x, x) == pytest.approx(peer.lambdas_[0], abs=1e-3)
        expected = peer.transform(x[:, None])[:, 0]
        assert least_skewed(x, x) == pytest.approx(expected, abs=1e-3, rel=1e-3)


def test_power_is_that_of_the_inner_values():
    x = np.random.default_rng(0).lognormal(size=300) - 1
    alone, beside = least_skewed(x, x), least_skewed(np.append(x, 1e6), x)
    assert beside[:-1] == pytest.approx(alone, abs=1e-9)
    assert np.isfinite(beside).all()


@pytest.mark.parametrize("far", [1e8, 1e100, 1e300])
def test_no_value_overflows(far):
    rng = np.random.default_rng(0)
    x = -(np.abs(rng.normal(size=50)) ** 0.02)  # its power is large
    x = np.append(x - np.median(x), [-far, far])
    with np.errstate(over="raise"):
        image = least_skewed(x, x[:-2])
    assert np.isfinite(image).all()
    assert (np.diff(image[np.argsort(x)]) >= 0).all()


def test_a_constant_column_becomes_zero():
    constant = np.full(30, 2.0)
    assert (least_skewed(constant, constant) == 0).all()
    assert least_skewed(np.arange(30.0), np.arange(30.0)).std() == pytest.approx(1)


def test_a_symmetric_column_is_only_scaled():
    x = np.linspace(-1, 1, 101)
    assert find_power(x, x) == pytest.approx(1, abs=1e-6)
    assert least_skewed(x, x) == pytest.approx(x / x.std())


def test_a_skewed_column_becomes_symmetric():
    x = np.random.default_rng(0).lognormal(size=1000) - 1
    assert abs(skew(least_skewed(x, x))) < 0.3 < 3 < skew(x)
