from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from softkern.kernels import Gaussian, Laplacian

radial = pytest.mark.parametrize("radial", [Gaussian, Laplacian])


@pytest.fixture
def X():
    return np.random.default_rng(0).uniform(size=(150, 3))


@pytest.mark.parametrize("kernel", [Gaussian(0.01), Laplacian(0.001)], ids=repr)
def test_logarithm_does_not_underflow(kernel, X):
    assert kernel.block(X[:1], X[1:2] + 9)[0, 0] == 0
    assert np.isfinite(kernel.log_block(X[:1], X[1:2] + 9)[0, 0])
    near = type(kernel)(1.0)
    assert np.exp(near.log_block(X, X)) == pytest.approx(near.block(X, X), rel=1e-9)


def test_spectrum_equals_the_fourier_transform():
    x = np.linspace(-20, 20, 4001)
    values = Gaussian(1.0).block(x[:, None], np.zeros((1, 1)))[:, 0]
    for frequency in (0.0, 0.7, 2.0):
        integral = np.trapezoid(values * np.cos(frequency * x), x)
        assert Gaussian(1.0).spectrum(np.array(frequency)) == pytest.approx(integral, rel=1e-9)


def compute_exact_logarithm(kernel, X, Y):
    """Compute with fractions of the stored numbers and round only at the end."""
    bandwidth = [Fraction(b) for b in np.broadcast_to(kernel.bandwidth, (X.shape[1],)).tolist()]

    def distance(x, y):
        steps = [(Fraction(a) - Fraction(b)) / s for a, b, s in zip(x, y, bandwidth, strict=True)]
        if isinstance(kernel, Gaussian):
            return sum(step**2 for step in steps) / 2
        return sum(abs(step) for step in steps)

    return np.array([[-float(distance(x, y)) for y in Y.tolist()] for x in X.tolist()])


@radial
@pytest.mark.parametrize("columns", [1, 3, 20])  # by differences and by products
@pytest.mark.parametrize("offset", [0.0, 1e8, -1e12])
@pytest.mark.parametrize("is_per_column", [False, True])
def test_an_offset_does_not_reduce_accuracy(radial, columns, offset, is_per_column):
    generator = np.random.default_rng(0)
    X = offset + generator.integers(-3, 4, size=(12, columns)).astype(float)
    kernel = radial(generator.uniform(1.1, 2.9, columns) if is_per_column else 1.7)
    log = compute_exact_logarithm(kernel, X[:5], X)
    assert kernel.log_block(X[:5], X) == pytest.approx(log, rel=1e-14, abs=2e-14)
    assert kernel.block(X[:5], X) == pytest.approx(np.exp(log), rel=1e-13)


@radial
def test_distant_clusters_do_not_reduce_accuracy(radial):
    near = np.random.default_rng(0).integers(-3, 4, size=(6, 2)).astype(float)
    X = np.vstack([near, near + 1e9, near - 1e10])
    kernel = radial([0.3, 1.7])
    assert kernel.log_block(X, X) == pytest.approx(compute_exact_logarithm(kernel, X, X), rel=1e-14)


@radial
@pytest.mark.parametrize("unit", [1e-170, 1e140])
def test_units_neither_underflow_nor_overflow(radial, unit, X):
    expected = radial(0.7).block(X, X)
    assert radial(0.7 * unit).block(X * unit, X * unit) == pytest.approx(expected, rel=1e-12)


@radial
def test_scaled_subtracts_the_origin_before_dividing(radial):
    X = 1e8 + np.arange(6.0).reshape(3, 2)
    kernel = radial([0.3, 0.7])
    expected = (X - 1e8) / np.array([0.3, 0.7])
    assert np.array_equal(kernel.scaled(X, np.full(2, 1e8)), expected)
    assert kernel.scaled(X.astype(np.float32)).dtype == np.float64
    small = kernel.scaled(sp.csr_array(X - 1e8))
    assert small.toarray() == pytest.approx(expected)
    with pytest.raises(ValueError, match="origin"):
        kernel.scaled(sp.csr_array(X), np.ones(2))


@radial
def test_declared_properties(radial):
    kernel = radial(2.0)
    assert kernel.constant_diagonal
    assert kernel.bound == 1.0
    assert kernel.decays
    assert kernel.is_positive_semidefinite
    assert kernel.has_bandwidth
    assert kernel.with_bandwidth([1.0, 3.0]) == radial([1.0, 3.0])


@radial
@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_values_too_large_to_square(radial, wrap, X):
    X[3, 1] = -1e200
    with pytest.raises(ValueError, match=r"column 1 holds a value of size 1e\+200"):
        radial(1.0).check(wrap(X))
    radial(1e100).check(wrap(X))
    radial(1e-200).check(wrap(X[:3]))


@radial
@pytest.mark.parametrize("bandwidth", [1.7, (0.5, 2.0, 1e-3)])
def test_logarithms_of_columns_add_up_to_the_kernel(radial, bandwidth):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(5, 3)), rng.normal(size=(7, 3))
    logs = radial(bandwidth).column_logs(X, Y)
    assert logs.shape == (3, 5, 7)
    np.testing.assert_allclose(logs.sum(axis=0), radial(bandwidth).log_block(X, Y), rtol=1e-12)
    alone = radial(np.broadcast_to(bandwidth, 3)[1]).log_block(X[:, [1]], Y[:, [1]])
    np.testing.assert_allclose(logs[1], alone, rtol=1e-12)
