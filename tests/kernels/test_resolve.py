import numpy as np
import pytest
from sklearn.metrics.pairwise import kernel_metrics, laplacian_kernel, pairwise_kernels

from softkern.kernels import Gaussian, Laplacian, Linear
from softkern.kernels.resolve import has_open_bandwidth, resolve
from softkern.kernels.wrapped import CallableKernel, Precomputed


@pytest.fixture
def X():
    return np.random.default_rng(0).uniform(size=(50, 3))  # chi² requires nonnegative values


@pytest.mark.parametrize("name", sorted(set(kernel_metrics()) - {"rbf", "laplacian"}))
def test_defaults_equal_those_of_scikit_learn(name, X):
    expected = pairwise_kernels(X, X[:7], metric=name)
    assert resolve(name).block(X, X[:7]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("chi2", {"gamma": 0.4}),
        ("laplacian", {"gamma": 0.4}),
        ("poly", {"gamma": 0.4, "degree": 2, "coef0": 0.5}),
        ("polynomial", {"degree": 4}),
        ("rbf", {"gamma": 0.4}),
        ("sigmoid", {"gamma": 0.4, "coef0": -1}),
    ],
)
def test_parameters_have_the_meaning_of_scikit_learn(name, params, X):
    kernel = resolve(name, kernel_params=params)
    expected = pairwise_kernels(X, X[:7], metric=name, **params)
    assert kernel.block(X, X[:7]) == pytest.approx(expected, rel=1e-12)
    small = X.astype(np.float32)
    assert kernel.block(small, small).dtype == np.float32


def test_gaussian_and_rbf_are_the_same(X):
    assert resolve("gaussian", X) == resolve("rbf", X)
    params = {"gamma": 2.0}
    assert resolve("gaussian", kernel_params=params) == resolve("rbf", kernel_params=params)
    assert resolve("gaussian", kernel_params=params) == Gaussian(0.5)


def test_open_bandwidth():
    assert all(has_open_bandwidth(name) for name in ("rbf", "gaussian", "laplacian"))
    assert not has_open_bandwidth("rbf", {"gamma": 1.0})
    for kernel in ("linear", "chi2", Gaussian(1.0), laplacian_kernel, None):
        assert not has_open_bandwidth(kernel)


def test_resolve_passes_values_through():
    assert resolve(Linear()) == Linear()
    assert resolve("precomputed") == Precomputed()
    assert isinstance(resolve(lambda X, Y: X @ Y.T), CallableKernel)


@pytest.mark.parametrize("bandwidth", [2.0, "median", [1.0, 2.0, 3.0]])
@pytest.mark.parametrize(
    ("kernel", "params", "message"),
    [
        ("linear", None, "no effect on kernel='linear'; leave bandwidth='auto' or take kernel"),
        ("poly", None, "no effect on kernel='poly'"),
        ("chi2", None, "no effect on kernel='chi2'"),
        ("precomputed", None, "no effect on kernel='precomputed'"),
        (laplacian_kernel, None, "no effect on kernel=<function laplacian_kernel"),
        (Linear(), None, r"no effect on kernel=Linear\(\)"),
        (Laplacian(1.0), None, "no effect on kernel=Laplacian.* set it in that kernel"),
        ("rbf", {"gamma": 1.0}, "or gamma=1.0, not both"),
        ("laplacian", {"gamma": 1.0}, "or gamma=1.0, not both"),
    ],
)
def test_a_bandwidth_without_effect_is_an_error(kernel, params, message, bandwidth, X):
    with pytest.raises(ValueError, match=message) as error:
        resolve(kernel, X, bandwidth=bandwidth, kernel_params=params)
    assert f"bandwidth={bandwidth!r}" in str(error.value)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "chi2", "poly", "sigmoid"])
@pytest.mark.parametrize("gamma", ["scale", [1.0], 1j, np.nan])
def test_gamma_must_be_a_number(name, gamma):
    with pytest.raises(ValueError, match="gamma must be a") as error:
        resolve(name, kernel_params={"gamma": gamma})
    assert repr(gamma) in str(error.value)


@pytest.mark.parametrize("kernel", ["nope", 3, None, ["rbf"]])
def test_unknown_kernels(kernel, X):
    with pytest.raises(ValueError, match="is unknown; give") as error:
        resolve(kernel, X, bandwidth=2.0)
    for name in {"gaussian", "precomputed", *kernel_metrics()}:
        assert repr(name) in str(error.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: resolve("rbf"), "depends on the data; pass X"),
        (lambda: resolve("rbf", kernel_params={"gamma": -1.0}), "gamma must be a positive number"),
        (lambda: resolve("rbf", kernel_params={"gamma": None}), "gamma must be a positive number"),
        (
            lambda: resolve("rbf", bandwidth=1.0, kernel_params={"degree": 2}),
            "no parameter 'degree'",
        ),
        (lambda: resolve("poly", kernel_params={"power": 2}), "no parameter 'power'"),
        (lambda: resolve("linear", kernel_params={"gamma": 2}), "'gamma'; it takes none"),
        (lambda: resolve(Linear(), kernel_params={"a": 1}), "cannot change"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
