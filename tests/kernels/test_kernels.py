import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import kernel_metrics, pairwise_kernels, rbf_kernel

from softkern import OneClassPCM, kernels
from softkern.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial
from softkern.kernels.dot import Sigmoid
from softkern.kernels.wrapped import CallableKernel, PairwiseKernel, Precomputed

ALL = [
    Gaussian(0.7),
    Gaussian([0.5, 1.0, 2.0]),
    Laplacian(1.5),
    Laplacian([0.5, 1.0, 2.0]),
    Linear(),
    Polynomial(2, coef0=0.5, gamma=0.7),
    Polynomial(),
    Sigmoid(0.3, -0.1),
    Sigmoid(),
    PairwiseKernel("cosine"),
    PairwiseKernel("chi2", {"gamma": 0.5}),
    CallableKernel(rbf_kernel, {"gamma": 0.2}),
]
every = pytest.mark.parametrize("kernel", ALL, ids=[repr(k).split(" at 0x")[0] for k in ALL])


@pytest.fixture
def X():
    return np.random.default_rng(0).uniform(size=(150, 3))  # chi² requires nonnegative values


def evaluate_formula(kernel, x, y):
    """Evaluate the formula of the docstring for two points."""
    if isinstance(kernel, Gaussian):
        return np.exp(-np.sum(((x - y) / kernel.bandwidth) ** 2) / 2)
    if isinstance(kernel, Laplacian):
        return np.exp(-np.sum(np.abs(x - y) / kernel.bandwidth))
    if isinstance(kernel, Linear):
        return x @ y
    if isinstance(kernel, Polynomial):
        return ((kernel.gamma or 1 / 3) * x @ y + kernel.coef0) ** kernel.degree
    if isinstance(kernel, Sigmoid):
        return np.tanh((kernel.gamma or 1 / 3) * x @ y + kernel.coef0)
    if isinstance(kernel, PairwiseKernel) and kernel.name == "cosine":
        return x @ y / np.sqrt((x @ x) * (y @ y))
    if isinstance(kernel, PairwiseKernel):
        return np.exp(-kernel.params["gamma"] * np.sum((x - y) ** 2 / (x + y)))
    return np.exp(-0.2 * np.sum((x - y) ** 2))


@every
def test_block_equals_the_formula(kernel, X):
    block = kernel.block(X[:4], X[4:9])
    expected = [[evaluate_formula(kernel, x, y) for y in X[4:9]] for x in X[:4]]
    assert block == pytest.approx(np.array(expected), rel=1e-12)


@every
def test_diag_equals_the_diagonal(kernel, X):
    assert kernel.diag(X) == pytest.approx(kernel.block(X, X).diagonal(), rel=1e-12)


@every
def test_symmetric(kernel, X):
    assert kernel.block(X, X[:9]) == pytest.approx(kernel.block(X[:9], X).T, rel=1e-12)


@every
def test_dtype_is_preserved(kernel, X):
    small = X.astype(np.float32)
    assert kernel.block(small, small[:5]).dtype == np.float32
    assert kernel.diag(small).dtype == np.float32


@every
def test_kernels_are_immutable_and_compare_by_value(kernel):
    copy = pickle.loads(pickle.dumps(kernel))
    assert copy == kernel
    assert hash(copy) == hash(kernel)
    with pytest.raises(AttributeError):
        kernel.bandwidth = 3.0  # immutable; kernels without a bandwidth get none


@every
def test_declared_semidefinite_kernels_are_semidefinite(kernel, X):
    smallest = np.linalg.eigvalsh(kernel.block(X, X))[0]
    if kernel.is_positive_semidefinite:
        assert smallest > -1e-9
    if isinstance(kernel, Sigmoid):
        assert not kernel.is_positive_semidefinite


@every
def test_declared_constant_diagonals_are_constant(kernel, X):
    is_constant = np.ptp(kernel.block(X, X).diagonal()) < 1e-12
    assert is_constant or not kernel.constant_diagonal


@every
def test_no_value_exceeds_the_bound(kernel, X):
    wide = np.vstack([X, 100 * X])
    if kernel.bound is not None:
        assert np.abs(kernel.block(wide, wide)).max() <= kernel.bound * (1 + 1e-12)
    else:
        assert isinstance(kernel, CallableKernel) or np.abs(kernel.block(wide, wide)).max() > 2


@every
def test_declared_decaying_kernels_vanish_far_away(kernel, X):
    far = np.abs(kernel.block(X[:5], np.eye(3) * 1e5)).max()
    assert (far < 1e-12) == (kernel.decays or isinstance(kernel, CallableKernel))


@every
def test_squared_kernel_has_squared_values(kernel, X):
    square = kernel.squared()
    if square is not None:
        assert square.block(X, X) == pytest.approx(kernel.block(X, X) ** 2, rel=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Laplacian(0.7)], ids=repr)
def test_log2_square_ratio_equals_that_of_the_integrals(kernel):
    x = np.linspace(-30, 30, 20_001)[:, None]
    values = kernel.block(x, np.zeros((1, 1)))
    halvings = np.log2(values.sum() / (values**2).sum())
    assert kernel.log2_square_ratio == pytest.approx(halvings, rel=1e-5)


@every
def test_restriction_to_rows_of_the_data(kernel, X):
    rows, others = np.array([3, 1]), np.array([0, 2, 5])
    assert kernel.takes_points
    assert kernel.restrict(X, rows) == pytest.approx(X[rows])
    assert kernel.restrict_new(X[:7], rows) == pytest.approx(X[:7])
    assert kernel.between(X, rows, others) == pytest.approx(
        kernel.block(X, X)[np.ix_(rows, others)]
    )


def test_restriction_to_rows_of_a_gram_matrix(X):
    gram = Linear().block(X, X)
    rows, others = np.array([3, 1]), np.array([0, 2, 5])
    kernel = Precomputed()
    assert not kernel.takes_points
    assert kernel.restrict(gram, rows) == pytest.approx(Linear().block(X[rows], X[rows]))
    assert kernel.restrict_new(gram[:7], rows) == pytest.approx(Linear().block(X[:7], X[rows]))
    assert kernel.between(gram, rows, others) == pytest.approx(Linear().between(X, rows, others))


class UserKernel(Kernel):
    """A kernel that defines only `block`. Its values grow and k(x, x) varies."""

    def block(self, X, Y):
        return np.exp(X.sum(axis=1)[:, None] + Y.sum(axis=1))


def test_properties_of_a_user_kernel_are_unknown_by_default(X):
    kernel = UserKernel()
    for stated in (kernel.constant_diagonal, kernel.decays, kernel.has_bandwidth):
        assert stated is False
    for unknown in (kernel.bound, kernel.squared(), kernel.log2_square_ratio, kernel.features(X)):
        assert unknown is None
    assert kernel.is_positive_semidefinite is None
    assert kernel.diag(X) == pytest.approx(kernel.block(X, X).diagonal())
    for method in (kernel.scaled, kernel.with_bandwidth):
        with pytest.raises(TypeError, match="no bandwidth"):
            method(X)


@every
def test_products_of_features_equal_the_kernel(kernel, X):
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
def test_sparse_and_dense_data_have_the_same_values(kernel, X):
    X = np.where(X > 0.5, X, 0)
    sparse = sp.csr_matrix(X)
    assert kernel.block(sparse, sparse[:7]) == pytest.approx(kernel.block(X, X[:7]), rel=1e-9)
    assert kernel.diag(sparse) == pytest.approx(kernel.diag(X), rel=1e-9)


def test_logarithm_of_negative_values():
    with pytest.raises(ValueError, match="negative values"):
        Linear().log_block(np.ones((1, 1)), -np.ones((1, 1)))


@every
def test_integer_data_give_values_of_floats(kernel):
    X = np.random.default_rng(0).integers(1, 9, size=(20, 3))
    assert kernel.block(X, X[:4]) == pytest.approx(
        kernel.block(X.astype(float), X[:4].astype(float))
    )


def test_parameters_are_copied():
    params = {"gamma": 0.5}
    kernel = PairwiseKernel("chi2", params)
    params["gamma"] = 9.0
    assert kernel.params == {"gamma": 0.5}


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
        (lambda: Polynomial(2, gamma=-1), "gamma must be a positive number"),
        (lambda: PairwiseKernel("nope"), "'nope' is unknown"),
        (lambda: Polynomial(gamma="scale"), "gamma must be a positive number, got 'scale'"),
        (lambda: Polynomial(coef0="a"), "coef0 must be a number, got 'a'"),
        (lambda: Sigmoid(gamma="auto"), "gamma must be a number, got 'auto'"),
        (lambda: Sigmoid(gamma=np.inf), "gamma must be a number, got inf"),
        (lambda: PairwiseKernel("chi2", {"gamma": "scale"}), "gamma must be a positive number"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


NAMES = sorted(kernel_metrics())
GIVEN = {
    "additive_chi2": {},
    "cosine": {},
    "linear": {},
    "poly": {"gamma": 0.3, "degree": 2, "coef0": 0.5},
    "polynomial": {"gamma": 0.3, "degree": 4, "coef0": 2},
    "sigmoid": {"gamma": -0.3, "coef0": 0.5},
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_default", [True, False])
def test_kernels_of_scikit_learn_by_name(name, is_default, X):
    params = {} if is_default else GIVEN.get(name, {"gamma": 0.3})
    kernel = PairwiseKernel(name, params)
    expected = pairwise_kernels(X, X[:9], metric=name, **params)
    assert kernel.block(X, X[:9]) == pytest.approx(expected, rel=1e-12)
    gram = kernel.block(X, X)
    assert kernel.diag(X) == pytest.approx(gram.diagonal(), abs=1e-12)
    if kernel.is_positive_semidefinite:
        assert np.linalg.eigvalsh(gram)[0] > -1e-9
    if kernel.bound is not None:
        assert np.abs(gram).max() <= kernel.bound + 1e-12
    assert (np.abs(kernel.block(X[:5], np.eye(3) * 1e5)).max() < 1e-12) == kernel.decays


def test_precomputed_computes_no_values():
    with pytest.raises(TypeError, match="no values beyond the matrix"):
        Precomputed().block(np.ones((2, 2)), np.ones((2, 2)))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X, Y: (X @ Y.T)[:1], "returned shape"),
        (lambda X, Y: X @ Y.T + X[:, :1], "not symmetric"),
        (lambda X, Y: np.full((len(X), len(Y)), np.nan), "returned nan for x ="),
        (lambda X, Y: np.full((len(X), len(Y)), 1j), "of type complex128"),
    ],
)
def test_callables_are_checked(function, message, X):
    with pytest.raises(ValueError, match=message):
        CallableKernel(function).check(X)


def test_all_exported_kernels_exist():
    for name in kernels.__all__:
        assert hasattr(kernels, name)


def _rbf(X, Y):
    return np.exp(-((X[:, None] - Y) ** 2).sum(axis=2))


def _changing(X, Y):
    X *= 2
    return _rbf(X, Y)


def _missing(X, Y):
    return np.where(X[:, :1] > 1, np.nan, _rbf(X, Y))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X, Y: 1e300 * _rbf(X, Y), "up to 1e[+]300, out of scale .* divide it by"),
        (lambda X, Y: 1e-310 * _rbf(X, Y), "up to 1e-310, out of scale .* multiply it by"),
        (lambda X, Y: _rbf(X, Y) + 0j, "values of type complex128"),
        (lambda X, Y: _rbf(X, Y).astype(str), "values of type <U"),
        (lambda X, Y: sp.csr_array(_rbf(X, Y)), "returned a csr_array"),
        (lambda X, Y: np.ma.masked_less(_rbf(X, Y), 0.1), "returned a MaskedArray"),
        (lambda X, Y: [[1.0], [1.0, 2.0]], "returned no table"),
        (lambda X, Y: None, r"returned shape \(\)"),
        (lambda X, Y: _rbf(Y, X), r"returned shape \(32, 1\) for X \(1, 2\)"),
        (_missing, r"returned nan for x = \[.*\] and y = \[.*\]; values must be finite"),
        (_changing, "read-only"),
    ],
)
def test_invalid_kernel_functions_are_rejected_before_the_fit(function, message):
    X = np.random.default_rng(0).normal(size=(60, 2))
    before = X.copy()
    with pytest.raises(ValueError, match=message):
        OneClassPCM(kernel=function).fit(X)
    assert np.array_equal(X, before)


def test_functions_are_called_in_blocks(monkeypatch):
    """A function may create d numbers per value, which might not fit into memory for all pairs."""
    monkeypatch.setattr("softkern.kernels.wrapped.MOST_VALUES", 500)
    block_sizes = []

    def record_size(X, Y):
        block_sizes.append(len(X) * len(Y))
        return _rbf(X, Y)

    X = np.random.default_rng(0).normal(size=(60, 2))
    assert np.array_equal(CallableKernel(record_size).block(X, X), _rbf(X, X))
    assert max(block_sizes) <= 500
    assert sum(block_sizes) == 3600
