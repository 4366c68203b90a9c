"""Tests that every operator must pass.

The test class of an operator inherits `OperatorContract`, or `GaussianContract` if it supports the
Gaussian kernel, and defines how the operator is made.
"""

import pickle

import numpy as np
import pytest
from sklearn import config_context

from softkern.kernels import Gaussian
from softkern.planning import ENGINES

COLUMNS = (1, 8, 64)


class OperatorContract:
    """Tests for any kernel.

    A subclass defines `make` and overrides `kernel`, `dims`, `far`, `allowed`, `cross_allowed` or
    `distance_slack` if the defaults are not suitable.
    """

    dims = (1, 2, 3, 5, 17)
    n = 700
    far = 3e4
    kernel = Gaussian(0.8)

    def make(self, kernel, X):
        raise NotImplementedError

    # Data

    @pytest.fixture(params=["float32", "float64"])
    def dtype(self, request):
        return np.dtype(request.param)

    def data(self, d, dtype, n=None, seed=0):
        X = np.random.default_rng(seed).normal(size=(n or self.n, d))
        return (X + 5).astype(dtype)  # the offset must not matter

    def exact(self, X_new, X, A):
        return self.kernel.block(X_new.astype(float), X.astype(float)) @ A.astype(float)

    def allowed(self, operator, A):
        return operator.error * np.abs(A).sum(axis=0)

    # Tests

    @pytest.mark.parametrize("columns", COLUMNS)
    def test_equals_the_dense_product(self, columns, dtype):
        for d in self.dims:
            X = self.data(d, dtype)
            A = np.random.default_rng(1).normal(size=(len(X), columns)).astype(dtype)
            operator = self.make(self.kernel, X)
            product = operator @ A
            assert product.dtype == dtype
            assert np.all(np.abs(product - self.exact(X, X, A)) <= self.allowed(operator, A))

    def test_new_points(self, dtype):
        for d in self.dims:
            X, new = self.data(d, dtype), self.data(d, dtype, n=37, seed=2)
            A = np.random.default_rng(1).uniform(size=(len(X), 3)).astype(dtype)
            operator = self.make(self.kernel, X)
            cross = operator.cross(new)
            assert cross.shape == (37, len(X))
            product = cross @ A
            assert product.dtype == dtype
            error = np.abs(product - self.exact(new, X, A))
            assert np.all(error <= self.cross_allowed(operator, A))

    def cross_allowed(self, operator, A):
        return self.allowed(operator, A)

    def test_training_points_as_new_points(self, dtype):
        X = self.data(2, dtype)
        operator = self.make(self.kernel, X)
        A = np.random.default_rng(1).uniform(size=(len(X), 2))
        difference = np.abs(operator.cross(X) @ A - operator @ A)
        assert np.all(difference <= 2 * self.cross_allowed(operator, A))

    def test_symmetric(self, dtype):
        for d in self.dims:
            operator = self.make(self.kernel, self.data(d, dtype))
            u, v = np.random.default_rng(3).normal(size=(2, self.n))
            bound = 2 * operator.error * np.abs(u).sum() * np.abs(v).sum()
            assert abs(u @ (operator @ v) - v @ (operator @ u)) <= bound

    def test_vector_and_columns(self, dtype):
        operator = self.make(self.kernel, self.data(2, dtype))
        A = np.random.default_rng(4).uniform(size=(self.n, 5))
        product = operator @ A
        assert (operator @ A[:, 2]).shape == (self.n,)
        assert operator @ A[:, 2] == pytest.approx(
            product[:, 2], abs=2 * operator.error * A[:, 2].sum()
        )
        assert (operator @ A[:, :0]).shape == (self.n, 0)

    def test_columns_of_zeros(self, dtype):
        operator = self.make(self.kernel, self.data(2, dtype))
        A = np.zeros((self.n, 3))
        A[:, 1] = 1
        product = operator @ A
        assert not product[:, [0, 2]].any()
        assert product[:, 1].min() > 0

    def test_deterministic(self, dtype):
        X = self.data(2, dtype)
        A = np.random.default_rng(5).normal(size=(self.n, 3))
        one, two = self.make(self.kernel, X), self.make(self.kernel, X)
        assert np.array_equal(one @ A, two @ A)
        assert np.array_equal(one @ A, one @ A)

    def test_row_order_does_not_matter(self, dtype):
        X = self.data(2, dtype)
        shuffle = np.random.default_rng(6).permutation(self.n)
        A = np.random.default_rng(7).uniform(size=(self.n, 2))
        one, two = self.make(self.kernel, X), self.make(self.kernel, X[shuffle])
        largest = np.abs(self.kernel.diag(X)).max()
        rounding = 64 * np.finfo(dtype).eps * A.sum(axis=0) * largest
        assert np.all(np.abs((one @ A)[shuffle] - two @ A[shuffle]) <= rounding)

    def test_pickles(self, dtype):
        operator = self.make(self.kernel, self.data(2, dtype))
        A = np.ones((self.n, 2))
        before = operator @ A
        fresh = len(pickle.dumps(self.make(self.kernel, self.data(2, dtype))))
        operator.log_product_of_others(A[:, 0], A[:, 0])
        operator.cross(operator.X[:5] * 1) @ A
        assert len(pickle.dumps(operator)) <= fresh + 1000  # caches are not pickled
        copy = pickle.loads(pickle.dumps(operator))
        assert np.array_equal(copy @ A, before)
        assert copy.kernel == operator.kernel

    def test_derived_methods(self, dtype):
        X = self.data(2, dtype)
        operator = self.make(self.kernel, X)
        K = self.kernel.block(X.astype(float), X.astype(float))
        largest = np.abs(K).max()
        slack = 40 * self.n * operator.error * largest
        assert operator.shape == K.shape
        assert operator.diag() == pytest.approx(K.diagonal(), abs=1e-6 * largest)
        assert operator.columns([3, 5]) == pytest.approx(K[:, [3, 5]], abs=1e-5 * largest)
        assert operator.degree() == pytest.approx(K.sum(axis=1), abs=slack)

    def test_squared_distances(self, dtype):
        X, new = self.data(2, dtype), self.data(2, dtype, n=20, seed=9)
        operator = self.make(self.kernel, X)
        A = np.random.default_rng(8).uniform(size=(self.n, 3))
        A /= A.sum(axis=0)
        for rows, distances in (
            (X, operator.squared_distances(A)),
            (new, operator.cross(new).squared_distances(A)),
        ):
            # ‖Φ(x) − Σ a Φ(x_r)‖² = Σ Σ b_i b_j K(z_i, z_j) with z = (x, X), b = (1, −a)
            for i in (0, 7):
                points = np.vstack([rows[i : i + 1], X]).astype(float)
                K = self.kernel.block(points, points)
                for c in range(3):
                    b = np.concatenate([[1], -A[:, c]])
                    assert distances[i, c] == pytest.approx(
                        b @ K @ b, abs=4 * operator.error + self.distance_slack(operator)
                    )
        assert np.all(operator.squared_distances(A) >= 0)
        assert operator.squared_distances(A[:, 0]).shape == (self.n,)

    def distance_slack(self, operator):
        return 0.0

    def test_distances_to_rows(self, dtype):
        X = self.data(2, dtype)
        operator = self.make(self.kernel, X)
        K = self.kernel.block(X.astype(float), X.astype(float))
        index = np.array([4, 0, 9])
        expected = K.diagonal()[:, None] + K.diagonal()[index] - 2 * K[:, index]
        distances = operator.distances_to_rows(index)
        assert distances.dtype == dtype
        assert distances == pytest.approx(expected, abs=8 * np.finfo(dtype).eps * np.abs(K).max())
        assert np.all(distances >= 0)
        assert operator.distances_to_rows(3).shape == (self.n, 1)

    def test_entries_are_those_of_the_matrix_in_products(self, dtype):
        operator = self.make(self.kernel, self.data(2, dtype))
        every_row = np.arange(self.n)
        A = np.random.default_rng(1).normal(size=(self.n, 2)).astype(dtype)
        exact = operator.entries(every_row, every_row).astype(float) @ A
        error = np.abs(operator @ A - exact)
        assert np.all(error <= 4 * operator.attainable_error * np.abs(A).sum(axis=0))
        assert operator.attainable_error <= operator.error

    def test_partial_products_of_some_rows(self, dtype):
        operator = self.make(self.kernel, self.data(2, dtype))
        for count in (5, self.n - 3):
            index = np.random.default_rng(2).permutation(self.n)[:count]
            A = np.zeros((self.n, 3), dtype=dtype)
            A[index] = np.random.default_rng(3).normal(size=(count, 3))
            part, whole = operator.partial_product(index, A[index]), operator @ A
            assert np.all(np.abs(part - whole) <= 2 * operator.error * np.abs(A).sum(axis=0))

    def test_duplicates_are_one_row(self, dtype):
        X = self.data(2, dtype, n=40)
        X[7] = X[30]
        operator = self.make(self.kernel, X)
        weight = np.ones(40)
        weight[3] = 0
        rows = operator.support_rows.reweighted(weight)
        for index, total in (rows.distinct, rows.canonical):
            assert sorted(total.tolist()) == [1.0] * 37 + [2.0]
            assert set(index) | {7, 30} == set(range(40)) - {3}

    def test_operators_are_built_from_weights_and_options(self, dtype):
        X = self.data(2, dtype)
        cls = type(self.make(self.kernel, X))
        engine = ENGINES[cls.engine]
        assert not {"self", "kernel", "X", "sample_weight", "random_state"} & {*engine.option_names}
        operator = self.uniform(engine, X)
        assert type(operator) is cls
        assert operator @ np.ones(self.n) == pytest.approx(
            self.make(self.kernel, X) @ np.ones(self.n), rel=1e-3
        )

    def uniform(self, engine, X):
        return engine.build(self.kernel, X, sample_weight=np.ones(len(X)), random_state=1)

    def test_scans_for_nan_are_skipped_with_assume_finite(self):
        operator = self.make(self.kernel, self.data(2, np.float64))
        A = np.ones((self.n, 2))
        A[0, 0] = np.nan
        with config_context(assume_finite=True):
            operator._check_columns(A)
        with pytest.raises(ValueError, match="NaN"):
            operator._check_columns(A)

    def test_logarithm_of_a_column_of_zeros(self, dtype):
        operator = self.make(self.kernel, self.data(2, dtype))
        logs = operator.log_product(np.c_[np.ones(self.n), np.zeros(self.n)])
        assert np.isfinite(logs[:, 0]).all()
        assert np.isneginf(logs[:, 1]).all()

    def test_far_points_and_clusters_do_not_reduce_accuracy(self, dtype):
        X = self.data(2, dtype)
        X[: self.n // 2] += 200  # a second cluster, 250 bandwidths away
        X[0] = self.far
        operator = self.make(self.kernel, X)
        A = np.random.default_rng(2).uniform(size=(self.n, 2)).astype(dtype)
        assert np.all(np.abs(operator @ A - self.exact(X, X, A)) <= self.allowed(operator, A))

    def test_any_layout_of_the_data(self, dtype):
        X = self.data(2, dtype)
        a = np.ones(self.n)
        expected = self.make(self.kernel, X) @ a
        for layout in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
            layout.flags.writeable = False
            product = self.make(self.kernel, layout) @ a
            assert product == pytest.approx(expected, rel=float(32 * np.finfo(dtype).eps))
        assert self.make(self.kernel, X.tolist()) @ a == pytest.approx(expected, rel=1e-3)
        whole = self.make(self.kernel, np.arange(20).reshape(10, 2))
        assert whole.dtype == np.float64

    def test_few_points(self, dtype):
        for n in (1, 2, 5):
            X = self.data(2, dtype, n=n)
            operator = self.make(self.kernel, X)
            exact = self.exact(X, X, np.ones((n, 1)))
            assert operator @ np.ones((n, 1)) == pytest.approx(exact, abs=2 * n * operator.error)

    def test_equal_points(self, dtype):
        operator = self.make(self.kernel, np.full((50, 2), 3.0, dtype=dtype))
        value = self.kernel.diag(np.full((1, 2), 3.0))[0]
        assert operator @ np.ones(50) == pytest.approx(np.full(50, 50.0 * value), rel=1e-4)

    @pytest.mark.parametrize(
        ("A", "message"),
        [
            (np.ones(3), r"A has shape \(3,\); it must be"),
            (np.ones((3, 700)), r"it must be \(700,\) or \(700, c\)"),
            (np.ones((700, 1, 1)), "it must be"),
            (np.full(700, np.nan), "NaN or infinity"),
        ],
    )
    def test_bad_columns(self, A, message):
        operator = self.make(self.kernel, self.data(2, np.float64))
        with pytest.raises(ValueError, match=message):
            operator @ A

    def test_bad_data(self):
        X = self.data(2, np.float64)
        for bad in (np.nan, np.inf):
            with pytest.raises(ValueError, match="NaN|infinity"):
                self.make(self.kernel, np.where(X == X[3, 0], bad, X))
        with pytest.raises(ValueError, match="2D array"):
            self.make(self.kernel, X[:, 0])
        with pytest.raises(ValueError, match="2 values, one per column, but X has 1"):
            self.make(Gaussian([1.0, 2.0]), X[:, :1])
        with pytest.raises(TypeError, match="softkern.kernels.Kernel"):
            self.make("rbf", X)
        with pytest.raises(ValueError, match="X_new has 3 columns, but the support has 2"):
            self.make(self.kernel, X).cross(np.ones((4, 3)))


class GaussianContract(OperatorContract):
    """Tests for the Gaussian kernel, including accurate logarithms of far points."""

    def test_logarithms_follow_distance_far_away(self, dtype):
        X = self.data(2, dtype)
        operator = self.make(self.kernel, X)
        A = np.full((self.n, 2), 1 / self.n)
        direction = np.array([[1.0, 0.5]])
        new = (5 + np.array([[0.0], [5], [20], [40], [100], [1000]]) * direction).astype(dtype)
        logs = operator.cross(new).log_product(A)
        assert np.all(np.diff(logs[:, 0]) < 0)
        block = self.kernel.log_block(new[2:].astype(float), X.astype(float))
        top = block.max(axis=1)
        exact = top + np.log(np.exp(block - top[:, None]).mean(axis=1))
        assert logs[2:, 0] == pytest.approx(exact, rel=1e-4)
        near = operator.log_product(A[:, 0])
        product = operator @ A[:, 0]
        assert near == pytest.approx(np.log(product), abs=1e-3)
        with pytest.raises(ValueError, match="A ≥ 0"):
            operator.log_product(-A)

    def test_leave_one_out_sums(self, dtype):
        X = self.data(2, dtype)
        X[0], X[1] = [40, 5], [70, 5]  # isolated: all others are far away
        operator = self.make(self.kernel, X)
        a = np.random.default_rng(1).uniform(0.5, 1, self.n).astype(dtype)
        weight_left = np.where(np.arange(self.n) % 3 == 0, 0.25 * a, 0)
        weight_left[:2] = 0
        logs = operator.log_product_of_others(a, a - weight_left)
        block = self.kernel.log_block(X.astype(float), X.astype(float)) + np.log(a.astype(float))
        with np.errstate(divide="ignore"):
            np.fill_diagonal(block, np.log(weight_left.astype(float)))
        top = block.max(axis=1)
        exact = top + np.log(np.exp(block - top[:, None]).sum(axis=1))
        assert logs == pytest.approx(exact, rel=1e-3, abs=2e-2)
        assert logs[1] < logs[0] < logs[2:].min()

    def test_bandwidth_per_column(self, dtype):
        X = self.data(3, dtype)
        wide = self.make(Gaussian([0.8, 80, 8e-3]), (X * [1, 100, 0.01]).astype(dtype))
        operator = self.make(Gaussian(0.8), X)
        a = np.ones(self.n)
        assert wide @ a == pytest.approx(operator @ a, rel=1e-3, abs=4 * self.n * operator.error)
