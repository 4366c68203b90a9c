"""KSC and SKSC: contract, acceptance values, equality with the printed papers, and laws."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs, make_circles
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score

from reproduce.datasets import load_dataset
from softkern import KernelSpectralClustering, SoftKernelSpectralClustering
from softkern.exceptions import ApproximationWarning, SpectrumWarning
from softkern.kernels import Gaussian
from softkern.models import spectral_search
from softkern.models.spectral_scores import overlap_score
from softkern.models.spectral_search import membership_strength
from softkern.models.subset import renyi_rows, training_rows
from softkern.rows import Rows
from tests.models.contract import ModelContract, recorded_products

IRIS = load_iris().data
BOTH = [KernelSpectralClustering, SoftKernelSpectralClustering]


def load_real(name):
    try:
        return load_dataset(name).data.to_numpy(float)
    except (FileNotFoundError, ConnectionError):
        pytest.skip(f"needs {name}; set SOFTKERN_DATA to the folder that holds it")


class SpectralContract(ModelContract):
    low_rank_agreement = 0.97  # the kernel is narrow, and the search may choose another bandwidth

    def test_scikit_learn_checks(self):
        # the check of sparse input requires two or four columns of predict_proba
        three, self.make = self.make, lambda: three(n_clusters=2)
        super().test_scikit_learn_checks()


class TestKernelSpectralClustering(SpectralContract):
    def make(self, **params):
        return KernelSpectralClustering(**{"n_clusters": 3, **params})


class TestSoftKernelSpectralClustering(SpectralContract):
    def make(self, **params):
        return SoftKernelSpectralClustering(**{"n_clusters": 3, **params})

    def test_scikit_learn_checks(self):
        # the search for a bandwidth takes most of the time and is tested in the class above
        searching, self.make = self.make, lambda **params: searching(bandwidth=1.0, **params)
        super().test_scikit_learn_checks()


def run_reference(X, sigma, k, assign):
    """Follow the printed KSC and SKSC. Return memberships, projections, bias and kernel matrix."""
    n = len(X)
    K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * sigma**2))
    d = K.sum(axis=1)
    M = np.eye(n) - np.outer(np.ones(n), 1 / d) / (1 / d).sum()
    values, vectors = np.linalg.eig(np.diag(1 / d) @ M @ K)
    alpha = vectors[:, np.argsort(-values.real)[: k - 1]].real
    alpha /= np.linalg.norm(alpha, axis=0)
    b = -(K @ alpha / d[:, None]).sum(axis=0) / (1 / d).sum()
    e = K @ alpha + b
    c = assign(e)
    s = np.array([e[c == p].mean(axis=0) for p in range(k)])
    m = np.empty((n, k))
    for i in range(n):
        distance = [1 - e[i] @ s[p] / np.linalg.norm(e[i]) / np.linalg.norm(s[p]) for p in range(k)]
        products = [np.prod([distance[j] for j in range(k) if j != p]) for p in range(k)]
        m[i] = np.array(products) / sum(products)
    return m, e, b, K


def sign_words(k):
    def assign(e):
        signs = [tuple(row) for row in np.where(e > 0, 1, -1)]
        words = sorted(set(signs), key=signs.count, reverse=True)[:k]
        return np.array(
            [int(np.argmin([np.not_equal(w, row).sum() for w in words])) for row in signs]
        )

    return assign


def same_partition(one, two):
    return adjusted_rand_score(one, two) == 1


# Acceptance


def test_acceptance_iris():
    model = SoftKernelSpectralClustering(3, bandwidth=1.0, assignment="codebook").fit(IRIS)
    assert model.eigenvalues_ == pytest.approx([0.97757107, 0.55498439], abs=5e-9)
    assert membership_strength(model.memberships_) == pytest.approx(0.922425, abs=5e-7)


@pytest.mark.parametrize("sigma", [0.6, 1.0])
def test_agrees_with_the_printed_papers(sigma):
    X = np.unique(IRIS, axis=0)
    m, e, b, K = run_reference(X, sigma, 3, sign_words(3))
    model = SoftKernelSpectralClustering(3, bandwidth=sigma, assignment="codebook").fit(X)
    assert np.sort(model.memberships_, axis=1) == pytest.approx(np.sort(m, axis=1), abs=1e-8)
    assert same_partition(model.labels_, m.argmax(axis=1))
    assert np.abs(model.projections_) == pytest.approx(np.abs(e), abs=1e-8)
    assert np.abs(model.bias_) == pytest.approx(np.abs(b), abs=1e-9)
    others = (K.sum(axis=1) - 1) / len(X)
    assert model.mean_similarity_ == pytest.approx(others, rel=1e-9)
    assert model.outlier_scores_ == pytest.approx(-np.log(others), rel=1e-9)


@pytest.mark.parametrize(
    ("name", "k", "overlap", "outliers", "sigmas"),
    [
        ("shapes/r15", 15, 11, 5, np.linspace(0.42, 0.46, 5)),
        ("shapes/aggregation", 5, 32, 0, np.linspace(4.6, 5.0, 5)),
    ],
)
def test_counts_of_table_one_are_reproduced_closely(name, k, overlap, outliers, sigmas):
    # found by scanning the bandwidth, which the paper does not give
    X = load_real(name)
    counts = []
    for sigma in sigmas:
        model = SoftKernelSpectralClustering(k, bandwidth=sigma).fit(X)
        is_outlier, is_overlap = model.detect()
        counts.append((int(is_overlap.sum()), int(is_outlier.sum())))
    gaps = [abs(a - overlap) + abs(b - outliers) for a, b in counts]
    assert min(gaps) <= 5, counts


# Laws


@pytest.mark.parametrize("name", ["shapes/r15"])
def test_permutations_and_seeds_do_not_change_results(name):
    X = load_real(name)
    first = SoftKernelSpectralClustering(15, bandwidth=0.5).fit(X)
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(X))
        model = SoftKernelSpectralClustering(15, bandwidth=0.5, random_state=seed).fit(X[order])
        assert same_partition(model.labels_, first.labels_[order])
        assert np.array_equal(model.memberships_, first.memberships_[order])


def test_rings_are_separated_for_training_and_new_points():
    X, y = make_circles(500, factor=0.3, noise=0.04, random_state=0)
    for Model in BOTH:
        model = Model(2, bandwidth=0.1).fit(X)
        assert same_partition(model.labels_, y)
        again, truth = make_circles(200, factor=0.3, noise=0.04, random_state=1)
        assert same_partition(model.predict(again), truth)


def test_rows_sum_to_one_and_hard_is_one_hot():
    soft, hard = (Model(3, bandwidth=1.0).fit(IRIS) for Model in BOTH[::-1])
    for model in (soft, hard):
        assert model.memberships_.sum(axis=1) == pytest.approx(np.ones(150))
        assert np.array_equal(model.predict_proba(IRIS[:5]), model.memberships(IRIS[:5]))
    assert set(np.unique(hard.memberships_)) == {0.0, 1.0}
    assert np.array_equal(hard.memberships_.argmax(axis=1), hard.labels_)


def test_clusters_are_numbered_by_size():
    X = make_blobs([20, 80, 50], centers=[[0, 0], [9, 0], [0, 9]], random_state=0)[0]
    model = SoftKernelSpectralClustering(3).fit(X)
    assert np.bincount(model.labels_).tolist() == [80, 50, 20]


@pytest.mark.parametrize("subset", ["renyi", "random"])
def test_a_subset_gives_the_clusters_of_all_rows(subset):
    X, y = make_blobs(3000, centers=[[0, 0], [8, 0], [0, 8], [8, 8]], random_state=0)
    options = {"n_clusters": 4, "bandwidth": 1.2}
    model = SoftKernelSpectralClustering(n_train=200, subset=subset, **options).fit(X)
    assert model.support_.size == 200
    assert model.dual_coef_.shape == (200, 3)
    assert adjusted_rand_score(y, model.labels_) == 1
    whole = SoftKernelSpectralClustering(**options).fit(X)
    names = [np.bincount(whole.labels_[model.labels_ == p]).argmax() for p in range(4)]
    assert np.abs(model.memberships_ - whole.memberships_[:, names]).mean() < 0.01
    # degrees refer to all data, not to the subset
    ratio = np.median(model.mean_similarity_ / whole.mean_similarity_)
    assert ratio == pytest.approx(1, abs=0.1)
    order = np.random.default_rng(0).permutation(3000)
    again = SoftKernelSpectralClustering(n_train=200, subset=subset, **options).fit(X[order])
    assert np.array_equal(np.sort(order[again.support_]), np.sort(model.support_))
    assert again.memberships_ == pytest.approx(model.memberships_[order], abs=1e-9)


def test_weights_are_repeated_rows_in_a_subset():
    X = make_blobs(600, centers=[[0, 0], [8, 0], [0, 8]], random_state=0)[0]
    counts = np.random.default_rng(0).integers(0, 4, 600)
    for subset in ("renyi", "random"):
        model = SoftKernelSpectralClustering(3, n_train=100, subset=subset)
        weighted = clone(model).fit(X, sample_weight=counts)
        repeated = clone(model).fit(np.repeat(X, counts, axis=0))
        assert weighted.memberships(X) == pytest.approx(repeated.memberships(X), abs=1e-8)


def test_renyi_subset_covers_more_than_a_random_one():
    X = np.random.default_rng(0).standard_t(3, size=(1500, 2))
    kernel = Gaussian(0.5)
    rows, mass, own = training_rows(kernel, Rows(X), 100, "renyi", 0)
    chance, weights, itself = training_rows(kernel, Rows(X), 100, "random", 0)
    assert np.array_equal(weights, itself)  # a sampled row represents itself only
    assert np.all(own <= mass)
    entropy = [-np.log(kernel.block(X[r], X[r]).mean()) for r in (rows, chance)]
    assert entropy[0] > entropy[1] + 0.5
    assert mass.sum() == pytest.approx(1500, rel=0.2)
    assert weights.sum() == pytest.approx(1500, rel=0.2)


@pytest.mark.parametrize("kept", [0, 2**23])  # similarities of swapped rows recomputed or stored
def test_renyi_swaps_equal_a_direct_computation(kept, monkeypatch):
    monkeypatch.setattr("softkern.models.subset.KEPT", kept)
    monkeypatch.setattr("softkern.models.subset.BATCH", 70)
    X = np.random.default_rng(0).standard_t(3, size=(300, 2))
    K = Gaussian(0.5).block(X, X)
    chosen = list(range(40))
    for offered in range(40, 300):
        sums = K[np.ix_(chosen, chosen)].sum(axis=1) - 1
        worst = int(np.argmax(sums))
        swapped = [*chosen[:worst], offered, *chosen[worst + 1 :]]
        if K[np.ix_(swapped, swapped)].sum() < K[np.ix_(chosen, chosen)].sum():
            chosen = swapped
    place = renyi_rows(Gaussian(0.5), X, np.arange(300), 40)
    assert place.tolist() == sorted(chosen)
    assert chosen != list(range(40))


def test_n_train_auto():
    X = make_blobs(4500, centers=[[0, 0], [9, 9]], random_state=0)[0]
    for given, used in ((4500, 2000), (300, 300)):
        model = SoftKernelSpectralClustering(2, subset="random", bandwidth=1.0).fit(X[:given])
        assert np.unique(model.support_).size == model.support_.size == used
    # a row of weight two and two equal rows are counted alike
    many = KernelSpectralClustering(2, bandwidth=1.0).fit(np.repeat(X[:2500], 2, axis=0))
    assert many.support_.size == 2500
    whole = KernelSpectralClustering(2, n_train=None, bandwidth=1.0, max_iter=60).fit(X)
    assert whole.support_.size == 4500


@pytest.mark.parametrize("Model", BOTH)
def test_a_low_rank_preserves_labels_and_most_ranks(Model):
    X = make_blobs(400, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)[0]
    exact = Model(3, bandwidth=1.0, engine="dense").fit(X)
    for rank, of_outliers, of_overlap in ((120, 0.999, 0.999), (30, 0.99, 0.85)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ApproximationWarning)
            low = Model(3, bandwidth=1.0, engine="nystroem", engine_params={"rank": rank}).fit(X)
        assert low.support_.size <= rank
        assert np.array_equal(low.predict(X), low.labels_)
        assert adjusted_rand_score(low.labels_, exact.labels_) > 0.97
        agreement = spearmanr(low.outlier_scores_, exact.outlier_scores_).statistic
        assert agreement > of_outliers
        assert spearmanr(low.overlap_scores_, exact.overlap_scores_).statistic > of_overlap


def test_gaussian_and_rbf_are_the_same():
    X, y = make_blobs(150, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    one, two = (SoftKernelSpectralClustering(3, kernel=k).fit(X) for k in ("rbf", "gaussian"))
    assert np.array_equal(one.memberships_, two.memberships_)
    assert same_partition(two.labels_, y)


def test_the_search_runs_on_the_fitted_engine():
    (fitting, _), other_products = recorded_products(KernelSpectralClustering(3), BLOBS)
    (given, _), _ = recorded_products(KernelSpectralClustering(3, bandwidth=1.0), BLOBS)
    assert other_products == []
    assert fitting >= given + 11  # one eigenproblem per bandwidth


def test_ranks_follow_the_distance_of_far_points():
    X = make_blobs(300, centers=[[0, 0], [8, 0], [0, 8]], random_state=0)[0]
    far = np.array([[20.0, 0], [60, 0], [1e3, 0], [1e6, 0]])
    for Model in BOTH:
        model = Model(3, bandwidth=1.0).fit(X)
        assert np.all(np.diff(model.outlier_scores(far)) > 0)
        assert model.detect(far)[0].all()
        assert not model.detect(far)[1].any()
    X[:4] = far
    model = SoftKernelSpectralClustering(3, bandwidth=1.0).fit(X)  # no far row is a cluster
    assert np.bincount(model.labels_).min() > 90
    assert np.array_equal(np.argsort(-model.outlier_scores_)[:4], [3, 2, 1, 0])
    # the printed eq. 5 reverses the order of outliers, the corrected one does not
    edge = np.array([[4.0 + t, 4.0 + t] for t in np.linspace(0.5, 4, 12)])
    isolation = model.outlier_scores(edge)
    printed = model.outlier_scores(edge, variant="2015")
    assert np.corrcoef(np.argsort(np.argsort(printed)), np.argsort(np.argsort(isolation)))[0, 1] < 0
    assert model.outlier_scores(edge, variant="2015-corrected") == pytest.approx(2 - printed)


def test_self_similarity_does_not_hide_outliers_of_small_sets():
    X = make_blobs(60, centers=[[0, 0], [6, 0]], random_state=0)[0]
    X[0] = [100.0, 100.0]  # including itself, its mean similarity would be 1/60 > 0.01
    model = SoftKernelSpectralClustering(2, bandwidth=1.0).fit(X)
    assert model.detect()[0][0]


BLOBS, GROUPS = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)


def draw_circle(radius, count):
    angle = np.arange(count) * 2 * np.pi / count + 0.3
    return radius * np.c_[np.cos(angle), np.sin(angle)]


@pytest.mark.parametrize(("radius", "count"), [(40, 3), (40, 10), (200, 2), (200, 5), (1e6, 2)])
def test_few_far_outliers_do_not_change_clusters(radius, count):
    X = np.vstack([BLOBS, draw_circle(radius, count)])
    for Model in BOTH:
        model = Model(3).fit(X)
        assert same_partition(model.labels_[:300], GROUPS)
        assert model.detect()[0][300:].all()


def test_far_outliers_do_not_change_clusters_of_a_subset():
    # a sampled row represents rows that were left out, but no row near an outlier
    X, y = make_blobs(3000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    X = np.vstack([X, draw_circle(200, 40)])
    for subset, bandwidth in (("random", "auto"), ("renyi", 1.5)):
        model = SoftKernelSpectralClustering(3, subset=subset, bandwidth=bandwidth, n_train=200)
        model.fit(X)
        assert (model.support_ >= 3000).any()
        assert same_partition(model.labels_[:3000], y)
        assert model.detect()[0][3000:].all()
        # scores of outliers do not depend on whether they were sampled
        assert model.outlier_scores_[3000:].min() > model.outlier_scores_[:3000].max()


@pytest.mark.parametrize("seed", range(2))
def test_heavy_tails_are_fitted(seed):
    rng = np.random.default_rng(seed)
    for X in (rng.standard_cauchy((200, 2)), rng.lognormal(0, 2, (200, 2))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpectrumWarning)  # tails may contain a cluster
            model = KernelSpectralClustering(2).fit(X)
        assert np.bincount(model.labels_).size == 2


def test_clusters_of_few_outliers_raise_a_warning():
    pairs = np.array([[200.0, 0], [200.3, 0], [-200, 0], [-200.3, 0]])
    X = np.vstack([BLOBS, pairs])
    with pytest.warns(SpectrumWarning, match="cluster 1, 2 .*lie close together .4 points"):
        SoftKernelSpectralClustering(3, bandwidth=1.0).fit(X)
    # the search avoids bandwidths at which a pair is a cluster
    assert same_partition(SoftKernelSpectralClustering(3).fit(X[:302]).labels_[:300], GROUPS)


def test_ambiguous_cuts_of_a_grid_raise_a_warning():
    X = np.array([[i, j] for i in range(12) for j in range(12)], dtype=float)
    with pytest.warns(SpectrumWarning, match="cut equally well in several directions"):
        model = SoftKernelSpectralClustering(2).fit(X)
    assert np.bincount(model.labels_).tolist() == [72, 72]


def test_printed_overlap_score_includes_the_point_itself():
    model = SoftKernelSpectralClustering(3, bandwidth=1.0).fit(IRIS)
    U, e, s = model.memberships_, model.projections_, model.prototypes_
    degree = model.mean_similarity(IRIS) * 150
    expected = overlap_score(e, U, s, degree, e, model.labels_)
    assert model.overlap_scores(IRIS, variant="2015") == pytest.approx(expected, rel=1e-9)
    # except for duplicates, the fitted similarity excludes the point itself
    assert degree.min() > model.mean_similarity_.min() * 150 + 0.999


def test_printed_overlap_score_of_weights_and_of_isolated_points():
    X = make_blobs(120, centers=[[0, 0], [5, 0], [0, 5]], random_state=0)[0]
    X[0] = [60.0, 60.0]
    counts = np.random.default_rng(0).integers(0, 4, 120)
    model = SoftKernelSpectralClustering(3, bandwidth=1.2)
    weighted = clone(model).fit(X, sample_weight=counts)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0))
    scores = weighted.overlap_scores(X, variant="2015")
    assert np.isfinite(scores).all()
    assert scores == pytest.approx(repeated.overlap_scores(X, variant="2015"), rel=1e-6)
    new = weighted.overlap_scores([[1e3, 0], [1e160, 0]], variant="2015")
    assert np.isfinite(new).all()


def test_points_beyond_the_floating_point_range():
    model = SoftKernelSpectralClustering(3, bandwidth=1.0).fit(BLOBS)
    far = np.array([[1e3, 0], [1e100, 0], [1e155, 0], [1e200, 1e200]])
    scores = model.outlier_scores(far)
    assert np.all(np.diff(scores[:3]) > 0)
    assert np.array_equal(scores[2:], [np.inf, np.inf])
    assert np.isfinite(model.memberships(far)).all()
    assert model.detect(far)[0].all()


def test_overlap_scores():
    X = make_blobs(300, centers=[[0, 0], [5, 0], [0, 5]], random_state=0)[0]
    model = SoftKernelSpectralClustering(3, bandwidth=1.2).fit(X)
    new = [[0.0, 0.0], [2.5, 0.0], [5.0, 0.0]]
    scores = model.overlap_scores(new)
    assert scores[1] > 0.5 > 0.2 > max(scores[0], scores[2])
    second, first = np.sort(model.memberships_, axis=1)[:, -2:].T
    assert model.overlap_scores_ == pytest.approx(second / first, rel=1e-9)
    assert model.overlap_scores(new, variant="2015").shape == (3,)
    assert KernelSpectralClustering(3, bandwidth=1.2).fit(X).overlap_scores(new) == pytest.approx(
        scores
    )
    for method, variant in ((model.overlap_scores, "eq4"), (model.outlier_scores, "eq5")):
        with pytest.raises(ValueError, match=f"variant='{variant}' is unknown; use one of"):
            method(new, variant=variant)


def test_auto_finds_the_number_of_clusters(monkeypatch):
    monkeypatch.setattr("softkern.models.spectral_base.MAX_CLUSTERS", 6)
    X = make_blobs(400, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=0)[0]
    model = SoftKernelSpectralClustering("auto").fit(X)
    assert model.n_clusters_ == 4
    assert model.n_clusters == "auto"
    assert {"n_clusters", "bandwidth", "contrast", "strength"} <= set(model.search_.table.columns)
    assert model.search_.maxima.n_clusters[0] == 4
    hard = KernelSpectralClustering("auto", bandwidth=1.5).fit(X)
    assert hard.n_clusters_ == 4
    assert hard.bandwidth_ == 1.5


# Other kernels and tables


def test_precomputed_kernel():
    X = make_blobs(90, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)[0]
    K = np.exp(-cdist(X, X, "sqeuclidean") / 2)
    direct = SoftKernelSpectralClustering(3, bandwidth=1.0).fit(X)
    given = SoftKernelSpectralClustering(3, kernel="precomputed").fit(K)
    assert given.memberships_ == pytest.approx(direct.memberships_, abs=1e-8)
    assert given.memberships(K[:7]) == pytest.approx(direct.memberships_[:7], abs=1e-8)
    assert given.outlier_scores_ == pytest.approx(direct.outlier_scores_, rel=1e-6)
    part = SoftKernelSpectralClustering(3, kernel="precomputed", n_train=40).fit(K)
    assert same_partition(part.labels_, direct.labels_)
    found = SoftKernelSpectralClustering("auto", kernel="precomputed").fit(K)
    assert found.n_clusters_ == 3
    order = np.random.default_rng(0).permutation(90)
    again = SoftKernelSpectralClustering(3, kernel="precomputed", n_train=40)
    again.fit(K[np.ix_(order, order)])
    assert set(order[again.support_]) == set(part.support_)
    assert again.memberships_ == pytest.approx(part.memberships_[order], abs=1e-8)


def test_sparse_documents_with_the_cosine():
    rng = np.random.default_rng(0)
    words = np.zeros((90, 60))
    for p in range(3):
        words[30 * p : 30 * p + 30, 20 * p : 20 * p + 20] = rng.poisson(1.0, size=(30, 20))
    words += rng.poisson(0.05, size=words.shape)
    words[5] = 0.0  # an empty document
    table = sp.csr_matrix(words)
    model = SoftKernelSpectralClustering(3, kernel="cosine").fit(table)
    is_filled = np.arange(90) != 5
    assert adjusted_rand_score(np.repeat([0, 1, 2], 30)[is_filled], model.labels_[is_filled]) > 0.9
    assert model.detect()[0][5]
    assert model.outlier_scores_.argmax() == 5
    assert np.isfinite(model.outlier_scores_).all()
    dense = SoftKernelSpectralClustering(3, kernel="cosine").fit(words)
    assert dense.memberships_ == pytest.approx(model.memberships_, abs=1e-8)
    assert SoftKernelSpectralClustering("auto", kernel="cosine").fit(table).n_clusters_ == 3


# Bad input


@pytest.mark.parametrize("Model", BOTH)
def test_bad_input(Model):
    X = make_blobs(40, random_state=0)[0]
    cases = [
        ({"n_clusters": 0}, X, "n_clusters"),
        ({"n_clusters": 50}, X, "cannot form 50 clusters from"),
        ({"n_train": 41}, X, "n_train=41 is more than the number of points.*n_train=None"),
        ({"n_clusters": 5, "n_train": 4, "bandwidth": 1.0}, X, "more than n_train=4"),
        ({"bandwidth": 1.0}, np.ones((9, 2)), "2 clusters need at least 2 different points"),
        ({}, np.ones((9, 2)), "at least two different points"),
        ({"n_clusters": 8, "bandwidth": 1e7}, X, "smaller bandwidth"),
        ({"kernel": "linear"}, X, "similarities that are not negative"),
        ({"assignment": "hamming"}, X, "assignment"),
        ({"subset": "first"}, X, "subset"),
        ({"kernel": "precomputed"}, X, "must be square"),
        ({"kernel": "precomputed"}, sp.csr_matrix(X @ X.T), "dense array, got a sparse matrix"),
        ({"n_clusters": 5}, np.repeat(X[:3], 4, axis=0), "5 different points, and there are 3"),
    ]
    for params, data, message in cases:
        with pytest.raises(ValueError, match=message):
            Model(**params).fit(data)
    with pytest.raises(NotFittedError):
        Model().outlier_scores(X)
    with pytest.raises(NotFittedError):
        Model().detect()


def test_a_tiny_bandwidth_raises_an_error_or_warning():
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(ValueError, match="there are 0 of 60; use a larger bandwidth"):
        SoftKernelSpectralClustering(3, bandwidth=1e-6).fit(X)
    with pytest.warns(SpectrumWarning, match="unconnected parts.*larger bandwidth"):
        SoftKernelSpectralClustering(3, bandwidth=0.03).fit(X)  # few pairs are similar


def test_repeated_points_and_disconnected_ones():
    X = np.repeat([[0.0, 0], [0.1, 0], [5, 5], [5, 5.1], [50, 50]], 4, axis=0)
    model = SoftKernelSpectralClustering(3, bandwidth=1.0).fit(X)
    assert same_partition(model.labels_, np.repeat([0, 0, 1, 1, 2], 4))
    assert np.isfinite(model.memberships_).all()
    assert not model.detect()[0].any()  # four equal points are similar to each other


def test_one_cluster_contains_everything():
    model = SoftKernelSpectralClustering(1).fit(IRIS)
    assert np.array_equal(model.memberships_, np.ones((150, 1)))
    assert model.projections_.shape == (150, 0)
    assert np.array_equal(model.overlap_scores_, np.zeros(150))


def test_no_convergence_raises_a_warning():
    X = np.random.default_rng(0).normal(size=(900, 2))
    with pytest.warns(ConvergenceWarning, match="max_iter=1 .*eigenvectors.*Increase max_iter"):
        SoftKernelSpectralClustering(4, bandwidth=0.5, max_iter=1).fit(X)


def test_ordinary_data_raise_no_warnings(monkeypatch):
    monkeypatch.setattr("softkern.models.spectral_base.MAX_CLUSTERS", 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SoftKernelSpectralClustering("auto").fit(IRIS)


def test_fractional_weights_with_a_subset():
    X = make_blobs(300, 2, centers=[[0, 0], [8, 8]], random_state=0)[0]
    weight = np.random.default_rng(0).uniform(0.01, 0.9, 300)
    for subset in ("random", "renyi"):
        model = SoftKernelSpectralClustering(2, bandwidth=1.0, n_train=60, subset=subset)
        assert np.isfinite(model.fit(X, sample_weight=weight).outlier_scores_).all()


@pytest.mark.parametrize("step", ["solve", "codes_of"])
def test_errors_in_the_search_are_not_hidden(step, monkeypatch):
    """Only bandwidths that are unsuitable for the data may be skipped in the search."""

    def fail(*args, **options):
        raise ValueError("a bug")

    monkeypatch.setattr(spectral_search, step, fail)
    with pytest.raises(ValueError, match="a bug"):
        SoftKernelSpectralClustering(2).fit(np.random.default_rng(0).normal(size=(40, 2)))
