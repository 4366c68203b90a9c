"""The weighted one-class dual: optimality, agreement with other solvers, limits, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.svm import OneClassSVM

from softkern.kernels import Gaussian, Laplacian, Linear, Polynomial
from softkern.kernels.wrapped import Precomputed
from softkern.operators.blocked import BlockedOperator
from softkern.operators.dense import DenseOperator
from softkern.operators.fourier import FourierOperator
from softkern.operators.low_rank import NystroemOperator
from softkern.operators.precomputed import PrecomputedOperator
from softkern.operators.tiled import TiledOperator
from softkern.rules.one_class import FORMULATIONS, SVDD, margin
from softkern.solvers.dual import solve_dual

KERNELS = (Gaussian(0.5), Gaussian(3.0), Laplacian(2.0), Linear(), Polynomial(2, 1.0, 0.5))


def compute_gap(K, alpha, weight, formulation):
    """Return the largest violation of the optimality conditions over all pairs, with Σ α = 1."""
    a = alpha / alpha.sum()
    field = K @ a - (K.diagonal() / 2 if formulation == "svdd" else 0)
    can_fall, can_rise = np.flatnonzero(alpha > 0), np.flatnonzero(alpha < weight)
    return max((field[i] - field[j] for i in can_fall for j in can_rise), default=0.0)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 40),
    d=st.integers(1, 3),
    seed=st.integers(0, 10_000),
    nu=st.floats(0.01, 1.0),
    kernel=st.sampled_from(KERNELS),
    formulation=st.sampled_from(["ocsvm", "svdd"]),
    repeats=st.booleans(),
    zeros=st.booleans(),
)
def test_optimality(n, d, seed, nu, kernel, formulation, repeats, zeros):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d))
    if repeats:
        X = X[generator.integers(0, n, n)]
    weight = generator.uniform(0.01, 2, (n, 2))
    if zeros:
        weight[1:] *= generator.integers(0, 2, (n - 1, 2))
    operator = DenseOperator(kernel, X)
    solution = solve_dual(operator, weight, nu, formulation=FORMULATIONS[formulation], tol=1e-9)
    alpha = solution.coefficients
    scale = np.abs(operator.gram).max()
    assert solution.converged.all()
    assert np.all((alpha >= 0) & (alpha <= weight))
    assert alpha.sum(axis=0) == pytest.approx(nu * weight.sum(axis=0), rel=1e-9)
    assert solution.product == pytest.approx(operator.gram @ alpha, abs=1e-10 * scale)
    for k in range(2):
        gap = compute_gap(operator.gram, alpha[:, k], weight[:, k], formulation)
        assert gap <= 1e-9 * solution.unit[k] + 1e-13 * scale


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # of SciPy, about its steps
@pytest.mark.parametrize("formulation", ["ocsvm", "svdd"])
def test_agrees_with_a_general_solver(formulation):
    generator = np.random.default_rng(0)
    X, weight = generator.normal(size=(12, 2)) + 1, generator.uniform(0.5, 1, 12)
    operator = DenseOperator(Linear(), X)
    K, total = operator.gram, 0.4 * weight.sum()
    linear = K.diagonal() * total if formulation == "svdd" else np.zeros(12)
    general = minimize(
        lambda a: a @ K @ a - linear @ a,
        weight * 0.4,
        jac=lambda a: 2 * K @ a - linear,
        bounds=[(0, w) for w in weight],
        constraints={"type": "eq", "fun": lambda a: a.sum() - total, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    solution = solve_dual(operator, weight, 0.4, formulation=FORMULATIONS[formulation], tol=1e-10)
    alpha = solution.coefficients[:, 0]
    assert alpha @ K @ alpha - linear @ alpha <= general.fun + 1e-9
    assert X.T @ alpha == pytest.approx(X.T @ general.x, abs=1e-4)
    reported = (alpha @ K @ alpha - linear @ alpha) / total**2
    assert solution.history["objective"][-1] == pytest.approx(reported)


@pytest.mark.parametrize("seed", range(20))
def test_agrees_with_scikit_learn(seed):
    # scikit-learn has kernel values in float32, so results agree to 2e-6. It does not support ν = 1
    generator = np.random.default_rng(seed)
    n, nu = int(generator.integers(30, 300)), float(generator.uniform(0.05, 0.9))
    X, weight = generator.normal(size=(n, 3)), generator.uniform(0.1, 2, n)
    gamma = float(generator.uniform(0.05, 1))
    peer = OneClassSVM(nu=nu, gamma=gamma, tol=1e-9).fit(X, sample_weight=weight)
    operator = TiledOperator(Gaussian(1 / np.sqrt(2 * gamma)), X)
    solution = solve_dual(operator, weight, nu, tol=1e-10)
    total = solution.coefficients.sum()
    theirs = peer.score_samples(X) / total
    assert solution.product[:, 0] / total == pytest.approx(theirs, abs=2e-6)
    assert solution.rho[0] / total == pytest.approx(peer.offset_[0] / total, abs=2e-6)


def make_problem(n=600, d=2, columns=3, seed=0):
    generator = np.random.default_rng(seed)
    return generator.normal(size=(n, d)), generator.uniform(size=(n, columns))


def test_nu_of_one_uses_all_of_the_weight():
    X, weight = make_problem(100)
    operator = DenseOperator(Gaussian(0.7), X)
    solution = solve_dual(operator, weight, 1)
    assert np.array_equal(solution.coefficients, weight)
    assert solution.product == pytest.approx(operator @ weight)
    assert solution.rho == pytest.approx(solution.product.max(axis=0))
    assert solution.n_iter == 1
    assert not solution.gap.any()


def test_margin_is_continuous_at_nu_of_one():
    X, weight = make_problem(300, columns=1)
    operator = DenseOperator(Gaussian(1.0), X)
    rho = [
        solve_dual(operator, weight, nu, tol=1e-10).rho[0] / (nu * weight.sum())
        for nu in (0.99, 0.999, 0.9999, 1.0)
    ]
    assert np.all(np.diff(np.abs(np.array(rho) - rho[-1])) <= 1e-12)
    assert rho[-2] == pytest.approx(rho[-1], rel=1e-3)


def test_columns_are_independent_problems():
    X, weight = make_problem(2500)
    operator = DenseOperator(Gaussian(0.8), X)
    together = solve_dual(operator, weight, 0.3, tol=1e-9)
    for k in range(3):
        alone = solve_dual(operator, weight[:, k], 0.3, tol=1e-9)
        assert together.rho[k] == pytest.approx(alone.rho[0], rel=1e-7)
        assert together.product[:, k] == pytest.approx(alone.product[:, 0], rel=1e-5)


def test_coefficients_scale_with_the_weights():
    X, weight = make_problem(200)
    operator = DenseOperator(Gaussian(0.8), X)
    one, two = (solve_dual(operator, scale * weight, 0.3, tol=1e-12) for scale in (1, 1000))
    assert two.coefficients == pytest.approx(1000 * one.coefficients, abs=1e-4)
    assert two.rho == pytest.approx(1000 * one.rho)
    assert two.squared_radius == pytest.approx(one.squared_radius)
    assert two.gap.max() <= 1e-12


def test_radius_is_the_distance_of_the_margin():
    X, weight = make_problem(400, columns=1)
    operator = DenseOperator(Gaussian(1.0), X)
    solution = solve_dual(operator, weight, 0.2, tol=1e-12)
    alpha = solution.coefficients[:, 0]
    distances = operator.squared_distances(alpha / alpha.sum())
    free = (alpha > 1e-9) & (alpha < weight[:, 0] - 1e-9)
    assert free.sum() > 2
    assert distances[free] == pytest.approx(solution.squared_radius[0], rel=1e-9)
    assert solution.product[free, 0] == pytest.approx(solution.rho[0], rel=1e-9)


def test_a_warm_start_is_faster_and_has_the_same_solution():
    X, weight = make_problem(3000)
    operator = DenseOperator(Gaussian(0.8), X)
    first = solve_dual(operator, weight, 0.3, tol=1e-9)
    again = solve_dual(operator, weight, 0.3, tol=1e-9, start=first)
    assert again.n_iter == 1
    near = weight * np.random.default_rng(1).uniform(0.99, 1.01, weight.shape)
    cold, warm = (solve_dual(operator, near, 0.3, tol=1e-9, start=start) for start in (None, first))
    assert warm.n_iter <= cold.n_iter
    assert warm.product == pytest.approx(cold.product, rel=1e-5)
    # also with another ν and weights that were zero before
    far = np.roll(weight, 7, axis=0) * (np.arange(3000) % 3 > 0)[:, None]
    cold, warm = (solve_dual(operator, far, 0.6, tol=1e-9, start=start) for start in (None, first))
    assert warm.product == pytest.approx(cold.product, rel=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [TiledOperator, FourierOperator, NystroemOperator])
def test_operators_agree(make, dtype):
    X, weight = make_problem(2500, columns=2)
    X = X.astype(dtype)
    reference = solve_dual(DenseOperator(Gaussian(1.0), X.astype(float)), weight, 0.2, tol=1e-8)
    operator = make(Gaussian(1.0), X)
    solution = solve_dual(operator, weight, 0.2, tol=1e-8)
    total = 0.2 * weight.sum(axis=0)
    assert solution.converged.all()
    assert solution.coefficients.dtype == solution.product.dtype == dtype
    error = 1e-4 if make is NystroemOperator or dtype == np.float32 else 1e-7
    if make is NystroemOperator and dtype == np.float32:
        error = 5e-4  # its gap ends at twice its attainable error, 6e-5
    assert solution.product / total == pytest.approx(reference.product / total, abs=error)
    assert solution.rho / total == pytest.approx(reference.rho / total, abs=error)


def test_float32_reaches_its_attainable_error():
    X, weight = make_problem(3000)
    operator = TiledOperator(Gaussian(1.0), X.astype(np.float32))
    solution = solve_dual(operator, weight, 0.2, tol=1e-12)
    exact = DenseOperator(Gaussian(1.0), X.astype(np.float32).astype(float))
    alpha = solution.coefficients.astype(float)
    bound = 8 * operator.attainable_error
    for k in range(3):
        field = exact @ alpha[:, k] / alpha[:, k].sum()
        high = field[alpha[:, k] > 0].max()
        low = field[alpha[:, k] < 0.999 * weight[:, k]].min()
        assert high - low <= bound


def test_partial_products_and_entries():
    X, weight = make_problem(500)
    index = np.array([3, 77, 200, 499])
    for make in (DenseOperator, TiledOperator, FourierOperator, NystroemOperator):
        operator = make(Gaussian(0.5), X)
        full = np.zeros_like(weight)
        full[index] = weight[index]
        tolerance = 2 * operator.error * full.sum()
        product = operator.partial_product(index, weight[index])
        assert product == pytest.approx(operator @ full, abs=tolerance)
        columns = operator @ np.eye(500)[:, index]
        assert operator.entries(index, index) == pytest.approx(columns[index], abs=tolerance)


def test_a_precomputed_matrix_gives_the_same_solution():
    X, weight = make_problem(200)
    K = Gaussian(1.0).block(X, X)
    given_matrix = solve_dual(PrecomputedOperator(Precomputed(), K), weight, 0.2, tol=1e-9)
    points = solve_dual(DenseOperator(Gaussian(1.0), X), weight, 0.2, tol=1e-9)
    assert given_matrix.rho == pytest.approx(points.rho)


def test_equal_points_and_one_point():
    for n in (1, 2, 50):
        operator = DenseOperator(Gaussian(1.0), np.ones((n, 2)))
        for nu in (0.1, 0.5, 1.0):
            solution = solve_dual(operator, np.ones(n), nu)
            assert solution.converged.all()
            assert solution.squared_radius[0] == pytest.approx(0, abs=1e-7)
            assert solution.coefficients.sum() == pytest.approx(nu * n)


def test_objective_never_rises():
    X, weight = make_problem(1500, d=5)
    for operator in (
        TiledOperator(Gaussian(0.3), X),
        TiledOperator(Gaussian(2.0), X),
        BlockedOperator(Linear(), X),
    ):
        solution = solve_dual(operator, weight, 0.1, formulation=SVDD, tol=1e-9)
        assert np.all(np.diff(solution.history["objective"]) <= 1e-12)
        assert len(solution.history["gap"]) == solution.n_iter


def test_stops_at_max_iter_and_reports_every_iteration():
    X, weight = make_problem(3000, d=5)
    reports = []
    solution = solve_dual(
        TiledOperator(Gaussian(0.5), X),
        weight,
        0.1,
        tol=1e-12,
        max_iter=2,
        report=lambda iteration, gap: reports.append((iteration, gap)),
    )
    assert solution.n_iter == 2
    assert not solution.converged.any()
    assert [gap for _, gap in reports] == solution.history["gap"]


def test_margin_without_points_on_it():
    values = np.array([1.0, 2.0, 4.0])
    assert margin(values, np.array([1.0, 1.0, 0.0]), np.ones(3)) == 3.0
    assert margin(values, np.ones(3), np.ones(3)) == 4.0
    # a point without weight has no influence
    assert margin(np.append(values, 9.0), np.append(np.ones(3), 0), np.append(np.ones(3), 0)) == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nu": 0.0}, "nu must lie in"),
        ({"nu": 1.5}, "nu must lie in"),
        ({"weights": np.zeros((20, 2))}, "the weights of column 0 are all zero"),
        ({"weights": -np.ones(20)}, "not negative"),
        ({"weights": np.full(20, np.inf)}, "finite"),
        ({"weights": np.ones(7)}, "shape"),
    ],
)
def test_bad_input(change, message):
    operator = DenseOperator(Gaussian(1.0), np.random.default_rng(0).normal(size=(20, 2)))
    case = {"weights": np.ones(20), "nu": 0.5, **change}
    with pytest.raises(ValueError, match=message):
        solve_dual(operator, **case)


@pytest.mark.parametrize("make", [TiledOperator, DenseOperator])
def test_many_points_on_the_margin_need_few_working_sets(make):
    # the 1300 points need 13 working sets, or 86 if these do not grow
    X = np.random.default_rng(0).normal(size=(2000, 3))
    operator = make(Gaussian(0.25), X)
    solution = solve_dual(operator, np.ones(2000), 0.1, tol=1e-6)
    assert solution.converged.all()
    alpha = solution.coefficients[:, 0]
    assert ((alpha > 0) & (alpha < 1)).sum() > 1200
    assert solution.n_iter < 40


@pytest.mark.parametrize("formulation", ["svdd", "ocsvm"])
def test_neither_small_nu_nor_large_weights_overflow(formulation):
    X, weight = make_problem(60)
    operator = DenseOperator(Gaussian(0.8), X)
    plain = solve_dual(operator, weight, 0.3, formulation=FORMULATIONS[formulation], tol=1e-12)
    for scale in (1e160, 1e-160):
        scaled = solve_dual(
            operator, scale * weight, 0.3, formulation=FORMULATIONS[formulation], tol=1e-12
        )
        assert scaled.converged.all()
        assert scaled.rho / scale == pytest.approx(plain.rho, rel=1e-9)
        assert scaled.squared_radius == pytest.approx(plain.squared_radius, rel=1e-9)
    least, small = (
        solve_dual(operator, weight, nu, formulation=FORMULATIONS[formulation], tol=1e-12)
        for nu in (1e-300, 1e-9)
    )
    assert np.isfinite(least.gap).all()
    assert least.squared_radius == pytest.approx(small.squared_radius)
