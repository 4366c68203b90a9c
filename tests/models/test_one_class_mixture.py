"""Soft and hard one-class clustering: contract, acceptance values, limits and laws."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score

from reproduce.accuracy import majority_accuracy
from reproduce.datasets import load_dataset
from softkern import CollapseWarning, OneClassKMeans, OneClassMixture
from softkern.exceptions import ReseedWarning
from softkern.kernels import Gaussian
from softkern.models.one_class_mixture import cooling
from softkern.operators.dense import DenseOperator
from softkern.operators.tiled import TiledOperator
from softkern.solvers.collapse import principal_variance
from tests.models.contract import ModelContract

# name: how columns are scaled, τ, ν, classes (the configurations that reproduce the paper)
SETS = {
    "iris": (None, 0.85, 0.97, 3),
    "wbc": (None, 0.002, 0.99, 2),
    "wine": ("std", 0.01, 0.98, 3),
    "pima_tr": ("max", 0.1, 0.69, 2),
    "biomed": ("std", 0.002, 0.95, 2),
}


class TestOneClassMixture(ModelContract):
    n_clusters = 3

    def make(self, **params):
        return OneClassMixture(**{"n_clusters": self.n_clusters, "n_init": 1, **params})

    def test_scikit_learn_checks(self):
        self.n_clusters = 2  # the check of sparse data expects two columns of predict_proba
        super().test_scikit_learn_checks()


class TestOneClassMixtureOfMargins(TestOneClassMixture):
    """The formulation of the paper, for one engine, as the engines are tested above."""

    engines = ("dense",)
    test_scikit_learn_checks = None  # the same parameters and data are checked above

    def make(self, **params):
        return super().make(**{"formulation": "ocsvm", **params})


def load_configured(name):
    try:
        found = load_dataset(name)
    except (FileNotFoundError, ConnectionError) as error:
        pytest.skip(str(error))
    scaling, tau, nu, n_clusters = SETS[name]
    X = found.data.to_numpy(float)
    if scaling == "std":
        X = X / X.std(axis=0, ddof=1)
    elif scaling == "max":
        X = X / X.max(axis=0)
    return X, found.target, {"bandwidth": 1 / np.sqrt(2 * tau), "nu": nu, "n_clusters": n_clusters}


def start_weights(n, c):
    i, k = np.arange(n)[:, None], np.arange(c)
    return ((37 * i + 61 * k + 11 * i * k) % 101 + 1) / 102


def accuracy(labels, y):
    """Return the accuracy in percent, with the most frequent class of each cluster."""
    return 100 * majority_accuracy(y, labels)


@pytest.mark.parametrize(
    ("name", "value", "soft", "annealed"),
    [
        ("iris", -1167.292457, 93.33, 92.67),
        ("wbc", -7461.569505, 97.07, 97.07),
        ("wine", -636.950919, 96.63, 96.07),
        ("pima_tr", -95.705136, 76.0, 70.0),
        ("biomed", -124.229393, 85.05, 84.02),
    ],
)
@pytest.mark.filterwarnings("ignore::softkern.CollapseWarning")  # σ = 1 is soft for the last two
def test_acceptance(name, value, soft, annealed):
    X, y, params = load_configured(name)
    params |= {"formulation": "ocsvm", "init": start_weights(len(X), params["n_clusters"])}
    params |= {"stopping": "objective", "tol": 1e-9, "max_iter": 500}
    model = OneClassMixture(scale=1.0, **params).fit(X)
    assert model.converged_
    assert -model.objective_ == pytest.approx(value, rel=1e-8)
    assert accuracy(model.labels_, y) == pytest.approx(soft, abs=0.005)
    cooled = OneClassMixture(annealing=(5, 0.1, 0.95), **params | {"tol": 1e-6}).fit(X)
    assert accuracy(cooled.labels_, y) == pytest.approx(annealed, abs=0.005)
    assert cooled.scale_ == pytest.approx(5 * 0.95**76)


def solve_reference_dual(K, w, nu, linear):
    """Minimize ½ αᵀKα + linearᵀα by most violating pairs. Return α, Kα and the margin."""
    alpha = nu * w
    gradient = K @ alpha + linear
    for _ in range(200_000):
        up = np.where(alpha < w * (1 - 1e-15), gradient, np.inf)
        down = np.where(alpha > 0, gradient, -np.inf)
        i, j = np.argmin(up), np.argmax(down)
        if down[j] - up[i] < 1e-13:
            break
        step = (down[j] - up[i]) / (K[i, i] + K[j, j] - 2 * K[i, j])
        step = min(step, w[i] - alpha[i], alpha[j])
        alpha[i] += step
        alpha[j] -= step
        gradient += step * (K[:, i] - K[:, j])
    return alpha, K @ alpha, (up.min() + down.max()) / 2


def run_reference(K, start, nu, scale, formulation, steps):
    """Follow the loop of the paper formula by formula. Return z and f_LL."""
    n, c = start.shape
    z, gamma = start, np.full(c, 1 / c)
    for _ in range(steps):
        similarity = np.empty((n, c))
        for k in range(c):
            total = nu * z[:, k].sum()
            linear = -total / 2 * np.diag(K) if formulation == "svdd" else np.zeros(n)
            alpha, field, margin = solve_reference_dual(K, z[:, k], nu, linear)
            if formulation == "svdd":
                a = alpha / total
                distances = np.diag(K) - 2 * field / total + a @ K @ a
                similarity[:, k] = np.exp(-distances / scale)
            else:
                similarity[:, k] = np.exp((field - margin) / scale)
        z = gamma * similarity / (gamma * similarity).sum(axis=1, keepdims=True)
        value = np.log((gamma * similarity).sum(axis=1)).sum()
        gamma = z.mean(axis=0)
    return z, value


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize(("formulation", "scale"), [("svdd", 0.15), ("ocsvm", 0.4)])
def test_agrees_with_a_loop_of_the_formulas(kernel, formulation, scale):
    X = np.random.default_rng(0).normal(size=(24, 2)) + 3 * (np.arange(24) % 2)[:, None]
    K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * 1.5**2)) if kernel == "rbf" else X @ X.T
    scale *= 1.0 if kernel == "rbf" else 20.0
    start = start_weights(24, 2)
    with pytest.warns(ConvergenceWarning):
        model = OneClassMixture(
            formulation=formulation,
            nu=0.6,
            scale=scale,
            init=start,
            kernel=kernel,
            bandwidth=1.5 if kernel == "rbf" else "auto",
            tol=1e-12,
            max_iter=4,
        ).fit(X)
    z, value = run_reference(K, start, 0.6, scale, formulation, 4)
    assert model.memberships_ == pytest.approx(z, abs=1e-8)
    assert -model.objective_ == pytest.approx(value, rel=1e-8)


def test_both_formulations_have_the_same_depth():
    # R² − D² = 2 (G − ρ) for kernels with a constant diagonal
    X = make_blobs(80, 2, centers=2, random_state=0)[0]
    spheres = OneClassMixture(nu=0.5, tol=1e-9, random_state=1).fit(X)
    depth = spheres.decision_function(X)
    spheres.formulation = "ocsvm"
    assert depth == pytest.approx(2 * spheres.decision_function(X), abs=1e-8)
    # points outside have at most the share ν of the weight of their cluster
    outside = (spheres.memberships_ * (depth < -1e-6)).sum(axis=0)
    assert np.all(outside <= 0.5 * spheres.memberships_.sum(axis=0) + 1e-6)


def test_nu_of_one_is_expectation_maximization():
    # for Gaussians of variance σ/2 in input space, with the linear kernel. f_LL then increases
    X = make_blobs(120, 3, centers=3, random_state=4)[0]
    params = {"nu": 1.0, "kernel": "linear", "scale": 3.0, "tol": 1e-10, "max_iter": 2000}
    model = OneClassMixture(3, init=start_weights(120, 3), **params).fit(X)
    z = start_weights(120, 3)
    gamma = np.full(3, 1 / 3)
    for _ in range(3000):
        centers = (z / z.sum(axis=0)).T @ X
        joint = gamma * np.exp(-cdist(X, centers, "sqeuclidean") / 3.0)
        z = joint / joint.sum(axis=1, keepdims=True)
        gamma = z.mean(axis=0)
    assert model.memberships_ == pytest.approx(z, abs=1e-6)
    assert model.dual_coef_.T @ X == pytest.approx(centers, abs=1e-6)
    assert np.all(np.diff(model.history_["objective"]) <= 1e-9)


@pytest.mark.parametrize(("formulation", "margin"), [("svdd", 0.03), ("ocsvm", 0.5)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # slow near that scale
def test_clusters_become_equal_at_the_critical_scale(formulation, margin):
    X = make_blobs(60, 2, centers=2, cluster_std=2.0, random_state=2)[0]
    params = {"formulation": formulation, "nu": 1.0, "init": start_weights(60, 2)}
    params |= {"tol": 1e-6, "max_iter": 1000, "bandwidth": 3.0}
    critical = OneClassMixture(**params).fit(X).critical_scale_
    with pytest.warns(CollapseWarning, match="same memberships .*Decrease the scale"):
        OneClassMixture(scale=(1 + margin) * critical, **params).fit(X)
    below = OneClassMixture(scale=(1 - margin) * critical, **params).fit(X)
    assert np.ptp(below.memberships_[:, 0]) > 0.05


def test_principal_variance():
    X = np.random.default_rng(0).normal(size=(40, 3))
    weight = np.random.default_rng(1).integers(0, 3, 40).astype(float)
    kernel = Gaussian(1.2)
    K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * 1.2**2))
    K = np.repeat(np.repeat(K, weight.astype(int), axis=0), weight.astype(int), axis=1)
    centered = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    values = np.linalg.eigvalsh(centered)[::-1] / len(K)
    for operator in (DenseOperator(kernel, X), TiledOperator(kernel, X)):
        assert principal_variance(operator, weight) == pytest.approx(values[0], rel=1e-9)
    assert principal_variance(DenseOperator(kernel, X[:2]), np.ones(2)) > 0
    assert principal_variance(DenseOperator(kernel, X[:1]), np.ones(1)) == 0


def test_scale_makes_memberships_soft_or_hard():
    X, y = make_blobs(120, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)
    hard = OneClassMixture(3, scale=1e-4).fit(X)
    assert adjusted_rand_score(y, hard.labels_) == 1
    assert np.abs(hard.memberships_ - np.round(hard.memberships_)).max() < 1e-6
    soft = OneClassMixture(3).fit(X)
    assert adjusted_rand_score(y, soft.labels_) == 1
    assert soft.scale_ == pytest.approx(0.1 * soft.critical_scale_)
    far = np.array([[1e3, 0.0], [1e6, 1e6]])
    assert soft.predict_proba(far).sum(axis=1) == pytest.approx(1)
    assert np.all(np.diff(soft.outlier_scores([[0.0, 0.0], *far])) > 0)
    assert soft.overlap_scores([[3.0, 0.0]]) > 0.1 > soft.overlap_scores([[0.0, 0.0]])


@pytest.mark.parametrize("init", ["k-means++", "random", "gmm"])
def test_initializations_follow_the_weighted_data(init):
    X, y = make_blobs(60, 2, centers=[[0, 0], [5, 1]], random_state=3)
    params = {"init": init, "n_init": 2, "tol": 1e-7}
    model = OneClassMixture(**params).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    order = np.random.default_rng(0).permutation(60)
    shuffled = OneClassMixture(**params).fit(X[order])
    assert shuffled.memberships(X) == pytest.approx(model.memberships_, abs=1e-6)
    counts = np.random.default_rng(1).integers(0, 4, 60)
    weighted = OneClassMixture(**params).fit(X, sample_weight=counts)
    repeated = OneClassMixture(**params).fit(np.repeat(X, counts, axis=0))
    assert weighted.memberships(X) == pytest.approx(repeated.memberships(X), abs=1e-6)


def test_initializations_depend_on_the_seed():
    X = np.random.default_rng(0).normal(size=(50, 2))
    for init in ("k-means++", "random"):
        firsts = [
            OneClassMixture(init=init, n_init=1, random_state=seed).fit(X).history_["objective"][0]
            for seed in (0, 1)
        ]
        assert firsts[0] != firsts[1]


def test_cycle_raises_a_warning():
    X, _, params = load_configured("pima_tr")
    with pytest.warns(ConvergenceWarning, match="entered a cycle of"):
        model = OneClassMixture(formulation="ocsvm", n_init=1, **params).fit(X)
    assert model.converged_ is False
    assert model.n_iter_ < 40
    values = model.history_["objective"]
    assert model.objective_ == min(values[-5:]) < max(values[-5:]) - 100
    assert model.memberships(X) == pytest.approx(model.memberships_, abs=1e-9)
    assert np.array_equal(model.predict(X), model.labels_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # one ends in a cycle
def test_annealing_does_not_depend_on_the_initialization():
    X, y, params = load_configured("iris")
    params |= {"formulation": "ocsvm", "init": "k-means++", "n_init": 1}
    reached = {
        annealing: [
            accuracy(
                OneClassMixture(scale=1.0, annealing=annealing, random_state=s, **params)
                .fit(X)
                .labels_,
                y,
            )
            for s in range(5, 10)
        ]
        for annealing in (None, (5, 0.5, 0.8))
    }
    assert np.ptp(reached[5, 0.5, 0.8]) < 1 < np.ptp(reached[None])


@pytest.mark.parametrize("formulation", ["svdd", "ocsvm"])
@pytest.mark.parametrize("name", ["iris", "wine", "blobs"])
def test_automatic_annealing_gives_the_same_clusters_from_any_initialization(name, formulation):
    if name == "blobs":  # two blobs overlap: without annealing there are two partitions
        X, n_clusters = make_blobs(150, 2, centers=4, cluster_std=1.5, random_state=1)[0], 4
    else:
        X, _, params = load_configured(name)
        n_clusters = params["n_clusters"]
    params = {"formulation": formulation, "annealing": "auto", "n_init": 1, "tol": 1e-3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        models = [OneClassMixture(n_clusters, random_state=s, **params).fit(X) for s in range(5)]
    assert min(adjusted_rand_score(models[0].labels_, m.labels_) for m in models) > 0.98
    assert np.unique(models[0].labels_).size == n_clusters
    scales = models[0].history_["scale"]
    assert scales[0] == pytest.approx(0.9 * models[0].critical_scale_)
    assert scales[-1] == models[0].scale_ == pytest.approx(0.1 * models[0].critical_scale_)


def test_automatic_annealing_ends_at_the_given_scale():
    X = make_blobs(90, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)[0]
    critical = OneClassMixture(3).fit(X).critical_scale_
    for share in (0.3, 2.0):  # above the start of the schedule, it is the only scale
        model = OneClassMixture(3, annealing="auto", scale=share * critical, n_init=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CollapseWarning)
            assert model.fit(X).scale_ == share * critical
    assert set(model.history_["scale"]) == {model.scale_}


def test_history_of_annealing():
    X, y = make_blobs(120, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)
    model = OneClassMixture(3, annealing=(0.2, 0.02, 0.7)).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    scales = model.history_["scale"]
    assert len(scales) == model.n_iter_
    assert scales[0] == 0.2
    assert scales[-1] == model.scale_ > 0.02 > 0.7 * model.scale_
    assert np.all(np.diff(scales) <= 0)


def test_clusters_that_do_not_separate_raise_a_warning():
    X = make_blobs(300, 2, centers=3, cluster_std=0.8, random_state=3)[0]
    critical = OneClassMixture(3).fit(X).critical_scale_
    schedule = (1.2 * critical, 0.1 * critical, 0.8)
    params = {"annealing": schedule, "init": "random", "n_init": 1}
    with pytest.warns(CollapseWarning, match="coincide. Use fewer clusters"):
        model = OneClassMixture(3, **params).fit(X)
    assert np.unique(model.labels_).size == 2


def test_cooling():
    assert len(cooling((5, 0.1, 0.95))) == 77
    assert cooling((5, 0.1, 0.95))[-1] > 0.1
    assert cooling((1.0, 0.25, 0.5)) == [1.0, 0.5]


def test_empty_cluster_raises_a_warning():
    X, y = make_blobs(80, centers=[[0, 0], [9, 0]], random_state=0)
    start = np.stack([y == 0, y == 1, np.full(80, 0.5)], axis=1).astype(float)
    with pytest.warns(CollapseWarning, match="Cluster 2 has lost all samples"):
        model = OneClassMixture(3, nu=1.0, scale=1e-3, init=start, bandwidth=3.0).fit(X)
    assert model.cluster_weights_ == pytest.approx([0.5, 0.5, 0])
    assert adjusted_rand_score(y, model.labels_) == 1
    assert np.isfinite(model.memberships(X * 100)).all()
    assert np.isfinite(model.outlier_scores_).all()


def test_precomputed_and_sparse():
    X = np.abs(make_blobs(60, 3, centers=2, random_state=0)[0])
    K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * 2.0**2))
    params = {"init": start_weights(60, 2), "scale": 0.2, "tol": 1e-9}
    direct = OneClassMixture(bandwidth=2.0, **params).fit(X)
    given = OneClassMixture(kernel="precomputed", **params).fit(K)
    assert given.memberships_ == pytest.approx(direct.memberships_, abs=1e-8)
    assert given.memberships(K[:5]) == pytest.approx(direct.memberships_[:5], abs=1e-8)
    sparse = OneClassMixture(bandwidth=2.0, **params).fit(sp.csr_matrix(X))
    assert sparse.memberships_ == pytest.approx(direct.memberships_, abs=1e-8)
    assert OneClassMixture(kernel="precomputed").fit(K).memberships_.shape == (60, 2)
    with pytest.raises(ValueError, match="needs the data as a dense array"):
        OneClassMixture(kernel="precomputed", init="gmm").fit(K)
    with pytest.raises(ValueError, match="dense array, not kernel values or a sparse"):
        OneClassMixture(init="gmm").fit(sp.csr_matrix(X))


@pytest.mark.parametrize("formulation", ["svdd", "ocsvm"])
@pytest.mark.filterwarnings("ignore::softkern.CollapseWarning")
def test_degenerate_data(formulation):
    same = OneClassMixture(formulation=formulation, bandwidth=1.0).fit(np.full((9, 2), 3.0))
    assert same.memberships_.sum(axis=1) == pytest.approx(1)
    one = OneClassMixture(1, formulation=formulation, bandwidth=1.0).fit([[1.0, 2.0]])
    assert one.memberships_ == pytest.approx(1)
    X = np.random.default_rng(0).normal(size=(40, 2))
    alone = OneClassMixture(1, formulation=formulation, nu=1.0).fit(X)
    assert alone.memberships_ == pytest.approx(1)
    assert alone.overlap_scores_ == pytest.approx(0)
    X[0] = 1e8
    assert np.isfinite(
        OneClassMixture(formulation=formulation, bandwidth=1.0).fit(X).memberships_
    ).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"nu": 0.0}, "nu"),
        ({"nu": 1.01}, "nu"),
        ({"n_clusters": 51}, "cannot form 51 clusters from"),
        ({"scale": 0.0}, "scale"),
        ({"formulation": "svc"}, "formulation"),
        ({"init": "kmeans"}, "init"),
        ({"stopping": "absolute"}, "stopping"),
        ({"init": np.ones((3, 2))}, "init has shape"),
        ({"init": -np.ones((50, 2))}, "nonnegative"),
        ({"annealing": (0.1, 5, 0.95)}, "start=0.1 must be above stop=5"),
        ({"annealing": (5, 5, 0.95)}, "has no step"),
        ({"annealing": (5, 0.1, 1.05)}, "does not cool: factor=1.05"),
        ({"annealing": (5, 0.1, 1.0)}, "does not cool"),
        ({"annealing": (5, 0.1)}, "three numbers"),
        ({"annealing": "abc"}, "annealing"),
        ({"annealing": (1, 1e-300, 0.999999)}, "690,775,183 steps"),
        ({"kernel": "sigmoid"}, "not positive semidefinite"),
        ({"kernel": "precomputed"}, "not positive semidefinite"),
    ],
)
def test_bad_parameters_of_the_mixture(params, message):
    X = np.random.default_rng(0).normal(size=(50, 2))
    if params.get("kernel") == "precomputed":
        X = -cdist(X, X)
    with pytest.raises(ValueError, match=message):
        OneClassMixture(**params).fit(X)


def test_before_fit():
    with pytest.raises(NotFittedError):
        OneClassMixture().predict_proba([[0.0, 0.0]])
    with pytest.raises(NotFittedError):
        OneClassMixture().decision_function([[0.0, 0.0]])


@pytest.mark.parametrize("formulation", ["svdd", "ocsvm"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # it ends in a cycle
def test_predictions_do_not_need_the_diagonal_of_new_points(formulation):
    X = make_blobs(60, 2, centers=2, random_state=0)[0]
    params = {"init": start_weights(60, 2), "formulation": formulation, "nu": 1.0}
    given = OneClassMixture(kernel="precomputed", **params).fit(X @ X.T)
    points = OneClassMixture(kernel="linear", **params).fit(X)
    new = X[:9] + 0.3
    assert given.memberships(new @ X.T) == pytest.approx(points.memberships(new), abs=1e-6)
    with pytest.raises(ValueError, match="predict and memberships do not need"):
        given.outlier_scores(new @ X.T)
    if formulation == "svdd":
        with pytest.raises(ValueError, match="normalize the matrix"):
            given.decision_function(new @ X.T)
    else:
        depth = points.decision_function(new)
        assert given.decision_function(new @ X.T) == pytest.approx(depth, abs=1e-6)


def test_float32_finds_clusters_with_a_wide_kernel():
    X = make_blobs(110, centers=[[0, 0], [8, 8], [0, 9]], random_state=0)[0]
    double, single = (OneClassMixture(3, bandwidth=200).fit(X.astype(t)) for t in ("f8", "f4"))
    assert single.scale_ == pytest.approx(double.scale_, rel=1e-3)
    assert np.array_equal(single.labels_, double.labels_)


def test_equal_samples_raise_a_warning():
    with pytest.warns(CollapseWarning, match="All samples coincide"):
        OneClassMixture(2, bandwidth=1.0).fit(np.ones((9, 2)))


def test_unit_of_the_data_does_not_change_ranks():
    X = make_blobs(110, centers=[[0, 0], [8, 8], [0, 9]], random_state=0)[0]
    one, tiny = (
        OneClassMixture(3, kernel="linear", nu=0.5, tol=1e-8).fit(X * unit).outlier_scores_
        for unit in (1.0, 1e-9)
    )
    assert tiny == pytest.approx(one, rel=1e-4)


@pytest.mark.filterwarnings("ignore::softkern.CollapseWarning")
def test_very_large_weights_and_very_small_nu():
    X = make_blobs(60, centers=[[0, 0], [8, 8]], random_state=0)[0]
    weight = np.random.default_rng(0).uniform(0.5, 2, 60)
    one, huge = (
        OneClassMixture(bandwidth=4.0).fit(X, sample_weight=weight * unit) for unit in (1, 1e160)
    )
    assert huge.memberships_ == pytest.approx(one.memberships_, abs=1e-9)
    assert np.isfinite(OneClassMixture(nu=1e-300, bandwidth=4.0).fit(X).memberships_).all()


def test_warning_names_the_stopping_measure():
    X = make_blobs(60, 2, centers=2, cluster_std=3.0, random_state=0)[0]
    params = {"init": start_weights(60, 2), "max_iter": 2, "tol": 1e-12}
    with pytest.warns(ConvergenceWarning, match="change of objective"):
        OneClassMixture(stopping="objective", **params).fit(X)
    with pytest.warns(ConvergenceWarning, match="change of memberships"):
        OneClassMixture(**params).fit(X)


# The hard clustering


class TestOneClassKMeans(ModelContract):
    n_clusters = 3

    def make(self, **params):
        return OneClassKMeans(**{"n_clusters": self.n_clusters, "n_init": 2, **params})

    def test_scikit_learn_checks(self):
        self.n_clusters = 2  # the check of sparse data expects two columns of predict_proba
        super().test_scikit_learn_checks()


class TestOneClassKMeansFromPoints(TestOneClassKMeans):
    """Initialization by k-means++, for one engine, as the engines are tested above."""

    engines = ("dense",)
    test_scikit_learn_checks = None  # the same parameters and data are checked above

    def make(self, **params):
        return super().make(**{"init": "k-means++", **params})


def one_hot(labels):
    return (labels[:, None] == np.arange(labels.max() + 1)).astype(float)


def test_nu_of_one_is_k_means():
    X = make_blobs(150, 3, centers=4, cluster_std=2.5, random_state=1)[0]
    peer = KMeans(4, init=X[:4], n_init=1, tol=0, max_iter=100).fit(X)
    start = np.zeros((150, 4))
    start[np.arange(4), np.arange(4)] = 1
    model = OneClassKMeans(4, nu=1.0, kernel="linear", init=start).fit(X)
    assert np.array_equal(model.labels_, peer.labels_)
    assert model.dual_coef_.T @ X == pytest.approx(peer.cluster_centers_)
    assert model.objective_ == pytest.approx(peer.inertia_)
    assert np.all(np.diff(model.history_["objective"]) <= 1e-9)


@pytest.mark.parametrize("formulation", ["svdd", "ocsvm"])
def test_hard_clustering_agrees_with_a_loop_of_the_formulas(formulation):
    X = make_blobs(40, 2, centers=2, cluster_std=2.0, random_state=0)[0]
    K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * 3.0**2))
    labels = np.random.default_rng(0).integers(0, 2, 40)
    model = OneClassKMeans(
        nu=0.5, formulation=formulation, init=one_hot(labels), bandwidth=3.0, tol=1e-6
    ).fit(X)
    for _ in range(50):
        depth = np.empty((40, 2))
        for k in range(2):
            weights = (labels == k).astype(float)
            total = 0.5 * weights.sum()
            alpha, field, margin = solve_reference_dual(K, weights, 0.5, np.zeros(40))
            norm = alpha @ field / total**2
            depth[:, k] = 2 * field / total - norm if formulation == "svdd" else field - margin
        labels = depth.argmax(axis=1)
    assert np.array_equal(model.labels_, labels)
    # the result is a fixed point: the one-class SVMs of the clusters give the clusters
    again = OneClassKMeans(
        nu=0.5, formulation=formulation, init=model.memberships_, bandwidth=3.0
    ).fit(X)
    assert np.array_equal(again.labels_, model.labels_)
    assert again.n_iter_ == 2


def test_hard_clustering_is_the_limit_of_the_mixture():
    X = make_blobs(120, 2, centers=3, random_state=5)[0]
    hard = OneClassKMeans(3, bandwidth=3.0).fit(X)
    soft = OneClassMixture(3, scale=1e-6, init=hard.memberships_, bandwidth=3.0).fit(X)
    assert np.array_equal(soft.labels_, hard.labels_)


@pytest.mark.parametrize(
    ("name", "printed"),
    [("wbc", 97.1), ("wine", 96.1), ("pima_tr", 70.0), ("biomed", 83.0), ("iris", 91.6)],
)
def test_accuracies_of_table_2_after_k_means(name, printed):
    X, y, params = load_configured(name)
    start = one_hot(KMeans(params["n_clusters"], n_init=5, random_state=0).fit_predict(X))
    model = OneClassKMeans(formulation="ocsvm", init=start, **params).fit(X)
    assert accuracy(model.labels_, y) == pytest.approx(printed, abs=2.0)


def test_empty_clusters_are_reseeded():
    X, y = make_blobs(90, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    start = np.stack([y == 0, y == 1, y == 0], axis=1).astype(float)  # one cluster twice
    with pytest.warns(ReseedWarning, match="restarted at the sample furthest"):
        model = OneClassKMeans(3, bandwidth=6.0, init=start).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    weights = np.random.default_rng(0).integers(1, 4, 90)
    with pytest.warns(ReseedWarning):
        weighted = OneClassKMeans(3, bandwidth=6.0, init=start).fit(X, sample_weight=weights)
    rows = np.repeat(np.arange(90), weights)
    with pytest.warns(ReseedWarning):
        repeated = OneClassKMeans(3, bandwidth=6.0, init=start[rows]).fit(X[rows])
    assert np.array_equal(weighted.predict(X), repeated.predict(X))


@pytest.mark.filterwarnings("ignore::softkern.CollapseWarning")
@pytest.mark.filterwarnings("ignore::softkern.exceptions.ReseedWarning")
def test_hard_cycle_raises_a_warning():
    X, _, params = load_configured("pima_tr")
    params |= {"formulation": "ocsvm", "init": "k-means++", "n_init": 1}
    with pytest.warns(ConvergenceWarning, match="entered a cycle of"):
        model = OneClassKMeans(**params).fit(X)
    assert model.converged_ is False
    assert model.n_iter_ < 100
    assert model.objective_ in model.history_["objective"]
    assert np.array_equal(model.predict(X), model.labels_)


@pytest.mark.filterwarnings("ignore::softkern.CollapseWarning")
@pytest.mark.filterwarnings("ignore::softkern.exceptions.ReseedWarning")
def test_fewer_distinct_points_than_clusters():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0)
    for init in ("random", "k-means++", "k-means", "gmm"):
        model = OneClassKMeans(3, bandwidth=1.0, init=init).fit(X)
        assert np.unique(model.labels_).size == 2
        assert model.radius_ == pytest.approx(np.zeros(3), abs=1e-6)
        assert np.array_equal(model.predict(X), model.labels_)


def test_scores():
    X, y = make_blobs(100, centers=[[0, 0], [8, 0]], random_state=0)
    model = OneClassKMeans(2).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert np.array_equal(model.memberships_, one_hot(model.labels_))
    middle, inside = model.overlap_scores([[4.0, 0.0], [0.0, 0.0]])
    assert middle > 0.5 > inside
    assert model.overlap_scores(X) == pytest.approx(model.overlap_scores_, abs=1e-9)
    assert np.all(np.diff(model.outlier_scores([[0.0, 0.0], [0.0, 9.0], [0.0, 900.0]])) > 0)
    alone = OneClassKMeans(1).fit(X)
    assert alone.overlap_scores_ == pytest.approx(0)


def test_hard_clustering_of_precomputed_and_sparse_data():
    X = np.abs(make_blobs(60, 3, centers=2, random_state=0)[0])
    K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * 2.0**2))
    direct = OneClassKMeans(bandwidth=2.0).fit(X)
    given = OneClassKMeans(kernel="precomputed").fit(K)
    assert adjusted_rand_score(given.labels_, direct.labels_) == 1
    sparse = OneClassKMeans(bandwidth=2.0).fit(sp.csr_matrix(X))
    assert adjusted_rand_score(sparse.labels_, direct.labels_) == 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"nu": 0.0}, "nu"),
        ({"nu": 2.0}, "nu"),
        ({"n_clusters": 51}, "cannot form 51 clusters from"),
        ({"init": "kmeans"}, "init"),
        ({"init": np.zeros((50, 2))}, "no column may be all zero"),
        ({"kernel": "sigmoid"}, "not positive semidefinite"),
    ],
)
def test_bad_parameters_of_the_hard_clustering(params, message):
    X = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(ValueError, match=message):
        OneClassKMeans(**params).fit(X)


def test_hard_clustering_before_fit():
    with pytest.raises(NotFittedError):
        OneClassKMeans().overlap_scores([[0.0, 0.0]])


EIGHT = [[0.276191], [-6.335314], [-4.191137], [-2.269595], [-0.666785], [2.213519], [0.337411]]


@pytest.mark.filterwarnings("ignore::softkern.CollapseWarning")
@pytest.mark.filterwarnings("ignore::softkern.exceptions.ReseedWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("X", "params"),
    [
        ([*EIGHT, [-1.280081]], {"n_clusters": 5, "kernel": "linear", "formulation": "ocsvm"}),
        ([[0.0, 1.0], [2.0, 3.0]] * 4, {"n_clusters": 3, "kernel": "linear"}),
        ([[i * 1.0, i % 3] for i in range(30)], {"n_clusters": 3, "bandwidth": 1e9}),
    ],
)
def test_reseeding_leaves_no_empty_cluster(X, params):
    model = OneClassKMeans(**params).fit(X)
    assert np.isfinite(model.radius_).all()
    assert np.array_equal(model.predict(X), model.labels_)


@pytest.mark.filterwarnings("ignore::softkern.CollapseWarning")
@pytest.mark.filterwarnings("ignore::softkern.exceptions.ReseedWarning")
@pytest.mark.parametrize(
    ("X", "params"),
    [
        ([[0, 1], [2, -1], [2, 1], [-1, -1], [0, -1]], {"n_clusters": 2, "nu": 0.1}),
        (np.ones((10, 2)), {"n_clusters": 3}),
    ],
)
def test_ties_go_to_the_first_cluster_for_training_and_new_points(X, params):
    X = np.asarray(X, dtype=float)
    model = OneClassKMeans(kernel="linear", formulation="ocsvm", **params).fit(X)
    assert np.array_equal(model.predict(X), model.labels_)


def test_hard_predictions_do_not_need_the_diagonal_of_new_points():
    X = make_blobs(60, 2, centers=3, random_state=0)[0]
    given = OneClassKMeans(3, kernel="precomputed").fit(X @ X.T)
    points = OneClassKMeans(3, kernel="linear").fit(X)
    new = X[:9] + 0.3
    assert adjusted_rand_score(given.predict(new @ X.T), points.predict(new)) == 1
    with pytest.raises(ValueError, match="predict and memberships do not need"):
        given.outlier_scores(new @ X.T)
