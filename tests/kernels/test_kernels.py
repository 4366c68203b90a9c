import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import kernel_metrics, laplacian_kernel, rbf_kernel

from softkern import kernels
from softkern.kernels import (
    CallableKernel,
    Gaussian,
    Laplacian,
    Linear,
    PairwiseKernel,
    Polynomial,
    Precomputed,
    Sigmoid,
    resolve,
)

ALL = [
    Gaussian(0.7),
    Gaussian([0.5, 1.0, 2.0]),
    Laplacian(1.5),
    Laplacian([0.5, 1.0, 2.0]),
    Linear(),
    Polynomial(2, coef0=0.5),
    Sigmoid(0.3, -0.1),
    PairwiseKernel("cosine"),
    PairwiseKernel("chi2", {"gamma": 0.5}),
    CallableKernel(rbf_kernel, {"gamma": 0.2}),
]
every = pytest.mark.parametrize("kernel", ALL, ids=[repr(k).split(" at 0x")[0] for k in ALL])


@pytest.fixture
def X():
    return np.random.default_rng(0).uniform(size=(150, 3))  # chi² wants no negative values


def literal(kernel, x, y):
    """The formula of the docstring, for two points."""
    if isinstance(kernel, Gaussian):
        return np.exp(-np.sum(((x - y) / kernel.bandwidth) ** 2) / 2)
    if isinstance(kernel, Laplacian):
        return np.exp(-np.sum(np.abs(x - y) / kernel.bandwidth))
    if isinstance(kernel, Linear):
        return x @ y
    if isinstance(kernel, Polynomial):
        return (kernel.gamma * x @ y + kernel.coef0) ** kernel.degree
    if isinstance(kernel, Sigmoid):
        return np.tanh(kernel.gamma * x @ y + kernel.coef0)
    if isinstance(kernel, PairwiseKernel) and kernel.name == "cosine":
        return x @ y / np.sqrt((x @ x) * (y @ y))
    if isinstance(kernel, PairwiseKernel):
        return np.exp(-kernel.params["gamma"] * np.sum((x - y) ** 2 / (x + y)))
    return np.exp(-0.2 * np.sum((x - y) ** 2))


@every
def test_block_is_the_formula(kernel, X):
    block = kernel.block(X[:4], X[4:9])
    expected = [[literal(kernel, x, y) for y in X[4:9]] for x in X[:4]]
    assert block == pytest.approx(np.array(expected), rel=1e-12)


@every
def test_diag_is_the_diagonal(kernel, X):
    assert kernel.diag(X) == pytest.approx(kernel.block(X, X).diagonal(), rel=1e-12)


@every
def test_symmetric(kernel, X):
    assert kernel.block(X, X[:9]) == pytest.approx(kernel.block(X[:9], X).T, rel=1e-12)


@every
def test_dtype_is_kept(kernel, X):
    small = X.astype(np.float32)
    assert kernel.block(small, small[:5]).dtype == np.float32
    assert kernel.diag(small).dtype == np.float32


@every
def test_value_object(kernel):
    copy = pickle.loads(pickle.dumps(kernel))
    assert copy == kernel
    assert hash(copy) == hash(kernel)
    with pytest.raises(AttributeError):
        kernel.bandwidth = 3.0  # immutable; kernels without a bandwidth get none


@every
def test_semidefinite_where_it_says_so(kernel, X):
    smallest = np.linalg.eigvalsh(kernel.block(X, X))[0]
    if kernel.is_positive_semidefinite:
        assert smallest > -1e-9
    if isinstance(kernel, Sigmoid):
        assert not kernel.is_positive_semidefinite


@every
def test_shift_invariant_where_it_says_so(kernel, X):
    moved = kernel.block(X[:5] + 10, X[5:9] + 10)
    same = np.allclose(moved, kernel.block(X[:5], X[5:9]), rtol=1e-8)
    assert same == (kernel.is_shift_invariant or isinstance(kernel, CallableKernel))


@every
def test_features_give_the_kernel(kernel, X):
    features = kernel.features(X)
    if features is not None:
        assert features @ features.T == pytest.approx(kernel.block(X, X), rel=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian([0.5, 1, 2]),
        Laplacian(0.5),
        Linear(),
        Polynomial(),
        Sigmoid(),
        PairwiseKernel("cosine"),
    ],
    ids=repr,
)
def test_sparse_is_dense(kernel, X):
    X = np.where(X > 0.5, X, 0)
    sparse = sp.csr_matrix(X)
    assert kernel.block(sparse, sparse[:7]) == pytest.approx(kernel.block(X, X[:7]), rel=1e-9)
    assert kernel.diag(sparse) == pytest.approx(kernel.diag(X), rel=1e-9)


@pytest.mark.parametrize("kernel", [Gaussian(0.01), Laplacian(0.001)], ids=repr)
def test_logarithm_does_not_underflow(kernel, X):
    assert kernel.block(X[:1], X[1:2] + 9)[0, 0] == 0
    assert np.isfinite(kernel.log_block(X[:1], X[1:2] + 9)[0, 0])
    near = type(kernel)(1.0)
    assert np.exp(near.log_block(X, X)) == pytest.approx(near.block(X, X), rel=1e-9)


def test_logarithm_of_negative_values():
    with pytest.raises(ValueError, match="negative values"):
        Linear().log_block(np.ones((1, 1)), -np.ones((1, 1)))


@every
def test_whole_numbers_are_no_reason_to_round(kernel):
    X = np.random.default_rng(0).integers(1, 9, size=(20, 3))
    assert kernel.block(X, X[:4]) == pytest.approx(
        kernel.block(X.astype(float), X[:4].astype(float))
    )


def test_parameters_are_copied():
    params = {"gamma": 0.5}
    kernel = PairwiseKernel("chi2", params)
    params["gamma"] = 9.0
    assert kernel.params == {"gamma": 0.5}


def test_offset_costs_no_digits():
    X = np.random.default_rng(0).normal(size=(50, 2))
    assert Gaussian(0.3).block(X + 1e6, X + 1e6) == pytest.approx(
        Gaussian(0.3).block(X, X), abs=1e-7
    )


def test_spectrum_is_the_fourier_transform():
    x = np.linspace(-20, 20, 4001)
    values = Gaussian(1.0).block(x[:, None], np.zeros((1, 1)))[:, 0]
    for frequency in (0.0, 0.7, 2.0):
        integral = np.trapezoid(values * np.cos(frequency * x), x)
        assert Gaussian(1.0).spectrum(np.array(frequency)) == pytest.approx(integral, rel=1e-9)


@pytest.mark.parametrize("name", sorted(kernel_metrics()))
def test_every_scikit_learn_kernel_by_name(name, X):
    kernel = resolve(name, X)
    assert kernel.block(X, X[:3]).shape == (150, 3)


def test_resolve_agrees_with_scikit_learn(X):
    assert resolve("rbf", kernel_params={"gamma": 0.4}).block(X, X) == pytest.approx(
        rbf_kernel(X, gamma=0.4), rel=1e-9
    )
    assert resolve("laplacian", kernel_params={"gamma": 0.4}).block(X, X) == pytest.approx(
        laplacian_kernel(X, gamma=0.4), rel=1e-9
    )


def test_resolve_passes_values_through():
    assert resolve(Linear()) == Linear()
    assert resolve("precomputed") == Precomputed()
    assert isinstance(resolve(lambda X, Y: X @ Y.T), CallableKernel)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Gaussian(0.0), "positive and finite, got 0.0"),
        (lambda: Gaussian(-1.0), "positive and finite"),
        (lambda: Gaussian(np.nan), "positive and finite"),
        (lambda: Gaussian([1.0, 0.0]), "positive and finite"),
        (lambda: Gaussian([[1.0]]), "one number or one per column"),
        (
            lambda: Gaussian([1.0, 2.0]).block(np.ones((2, 3)), np.ones((2, 3))),
            "has 2 values.*3 col",
        ),
        (lambda: Polynomial(0), "degree must be"),
        (lambda: Polynomial(2.5), "degree must be"),
        (lambda: Polynomial(2, gamma=-1), "gamma must be positive"),
        (lambda: PairwiseKernel("nope"), "'nope' is unknown"),
        (lambda: resolve("nope"), "'nope' is unknown"),
        (lambda: resolve("rbf"), "read from the data; give X"),
        (lambda: resolve("rbf", bandwidth=2.0, kernel_params={"gamma": 1.0}), "not both"),
        (lambda: resolve("rbf", kernel_params={"gamma": -1.0}), "gamma must be positive"),
        (
            lambda: resolve("rbf", bandwidth=1.0, kernel_params={"degree": 2}),
            "no parameter 'degree'",
        ),
        (lambda: resolve("poly", kernel_params={"power": 2}), "no parameter 'power'"),
        (lambda: resolve(Linear(), kernel_params={"a": 1}), "cannot change"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_precomputed_has_no_values_of_its_own():
    with pytest.raises(TypeError, match="no values beyond the matrix"):
        Precomputed().block(np.ones((2, 2)), np.ones((2, 2)))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X, Y: (X @ Y.T)[:1], "returned shape"),
        (lambda X, Y: X @ Y.T + X[:, :1], "not symmetric"),
        (lambda X, Y: np.full((len(X), len(Y)), np.nan), "not finite"),
        (lambda X, Y: np.full((len(X), len(Y)), 1j), "not finite"),
    ],
)
def test_callables_are_checked(function, message, X):
    with pytest.raises(ValueError, match=message):
        CallableKernel(function).check(X)


def test_kernels_export_what_they_say():
    for name in kernels.__all__:
        assert hasattr(kernels, name)
