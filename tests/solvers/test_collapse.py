"""The collapse ratio: equality with its definition, and prediction of the iteration."""

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning

from softkern import CollapseWarning, FuzzyCMeans, OutlierFuzzyCMeans, plan
from softkern.datasets import make_ring_outliers
from softkern.exceptions import ParameterWarning
from softkern.solvers.collapse import SAFE_RATIO, collapse_eigenvalue, largest_m, ratio_at

IRIS = load_iris().data


def operator(X, bandwidth=1.0, **options):
    bandwidth = "auto" if options.get("kernel") == "linear" else bandwidth
    return plan(X, bandwidth=bandwidth, **options).build(X)


def collapse_ratio(operator, m, *, sample_weight=None, q=0.0, plain=False):
    weight = np.ones(operator.shape[0]) if sample_weight is None else sample_weight
    return ratio_at(m, collapse_eigenvalue(operator, weight, 0.0 if plain else q), plain)


def compute_reference(X, sigma, m, *, q=0.0, plain=False, weight=None):
    """Evaluate the printed formula: ρ = 2p/(m−1) λ_max(D⁻¹ H K diag(a) H)."""
    n = len(X)
    K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * sigma**2))
    weight = np.ones(n) if weight is None else weight
    a = weight / weight.sum()
    for _ in range(2000 if q and not plain else 1):
        D = 1 - 2 * K @ a + a @ K @ a
        if q and not plain:
            a = weight / (D ** (1 / (q + 1))) ** q
            a /= a.sum()
    H = np.eye(n) - np.outer(np.ones(n), a)
    top = np.linalg.eigvals(np.diag(1 / D) @ H @ K @ np.diag(a) @ H).real.max()
    return 2 * (1 if plain else m) / (m - 1) * top


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
@pytest.mark.parametrize(
    "options", [{}, {"q": 1.0}, {"q": 2.0}, {"q": 1.0, "plain": True}], ids=str
)
def test_agrees_with_the_definition(sigma, options):
    X = IRIS[::3]
    weight = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    for m in (1.5, 2.0):
        value = collapse_ratio(operator(X, sigma), m, sample_weight=weight, **options)
        assert value == pytest.approx(
            compute_reference(X, sigma, m, weight=weight, **options), rel=1e-5
        )


def test_acceptance():
    assert collapse_ratio(operator(IRIS), 2.0, q=1.0) == pytest.approx(1.6125, abs=5e-5)


@pytest.mark.parametrize("engine", ["dense", "tiled", "fourier", "nystroem"])
def test_engines_and_dtypes_agree(engine):
    X = make_ring_outliers(random_state=0)[0]
    expected = compute_reference(X, 2.0, 2.0)
    assert collapse_ratio(operator(X, 2.0, engine=engine), 2.0) == pytest.approx(expected, rel=1e-3)
    single = operator(X.astype(np.float32), 2.0, engine=engine)
    assert collapse_ratio(single, 2.0) == pytest.approx(expected, rel=1e-3)


def test_weights_are_repeated_rows_and_order_does_not_matter():
    X = IRIS[::2]
    counts = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = collapse_ratio(operator(X), 2.0, sample_weight=counts, q=1.0)
    repeated = collapse_ratio(operator(np.repeat(X, counts, axis=0)[::-1]), 2.0, q=1.0)
    assert weighted == pytest.approx(repeated, rel=1e-6)


@pytest.mark.parametrize("q", [3.0, 5.0, 10.0])
@pytest.mark.parametrize("X", [IRIS, make_ring_outliers(random_state=0)[0]], ids=["iris", "ring"])
def test_a_common_center_on_one_point_is_not_used(X, q):
    """The outlier weights move the center there. The ratio is then that of the plain mean."""
    plain = collapse_ratio(operator(X, kernel="linear"), 2.0)
    assert collapse_ratio(operator(X, kernel="linear"), 2.0, q=q) == pytest.approx(plain, rel=1e-9)
    assert plain > SAFE_RATIO
    counts = np.random.default_rng(0).integers(1, 3, len(X))
    weighted = collapse_ratio(operator(X, kernel="linear"), 2.0, sample_weight=counts, q=q)
    repeated = np.repeat(X, counts, axis=0)[::-1]
    expected = collapse_ratio(operator(repeated, kernel="linear"), 2.0, q=q)
    assert weighted == pytest.approx(expected, rel=1e-6)
    assert weighted > SAFE_RATIO


@pytest.mark.parametrize("cls", [FuzzyCMeans, OutlierFuzzyCMeans])
@pytest.mark.parametrize("n_clusters", [2, 4])
def test_memberships_collapse_if_the_ratio_is_below_one(cls, n_clusters):
    """Just below one, memberships return to 1/c. Just above one, they do not."""
    X = make_blobs(80, 2, centers=3, cluster_std=2.0, random_state=0)[0]
    q = 1.0 if cls is OutlierFuzzyCMeans else 0.0
    ratio = collapse_ratio(operator(X, 1.2), 2.0, q=q)
    start = 1 / n_clusters + 0.01 * np.random.default_rng(0).normal(size=(80, n_clusters))
    ends = []
    for goal in (0.9, 1.1):
        m = find_m(ratio, goal)
        model = cls(n_clusters, m=m, bandwidth=1.2, init=start, tol=1e-9, max_iter=3000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (CollapseWarning, ConvergenceWarning, ParameterWarning))
            ends.append(np.abs(model.fit(X).memberships_ - 1 / n_clusters).max())
    assert ends[0] < 1e-3 < 0.05 < ends[1]


def find_m(ratio, goal):
    """Return the m at which the ratio is the goal, given the ratio at m = 2."""
    eigenvalue = ratio / 4
    return 1 / (1 - 2 * eigenvalue / goal)


@pytest.mark.parametrize("plain", [False, True])
def test_largest_m_is_the_largest_safe_value(plain):
    X = np.random.default_rng(0).normal(size=(80, 2))
    narrow = operator(X, 0.3)
    ratio = collapse_ratio(narrow, 2.0, plain=plain)
    assert ratio < 1
    eigenvalue = collapse_eigenvalue(narrow, np.ones(80))
    m = largest_m(eigenvalue, 2.0, plain)
    assert collapse_ratio(narrow, m, plain=plain) == pytest.approx(SAFE_RATIO, rel=1e-5)
    assert collapse_ratio(narrow, m, plain=plain) > SAFE_RATIO * (1 - 1e-7)
    assert largest_m(1.3 / (2 if plain else 4), 2.0, plain) == 2.0
    assert largest_m(0.0, 2.0, plain) > 1


def test_degenerate_data():
    same = np.ones((20, 2))
    assert collapse_ratio(operator(same), 2.0, q=1.0) == 0
    assert collapse_ratio(operator(np.array([[0.0], [1.0]])), 2.0) == pytest.approx(4)
    on_center = np.array([[-1.0], [0.0], [1.0]] * 5)
    assert np.isfinite(collapse_ratio(operator(on_center), 2.0, q=1.0))
