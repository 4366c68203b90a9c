"""Membership strength, line fit and the search over numbers of clusters and bandwidths."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris, make_blobs

from softkern import (
    KernelSpectralClustering,
    OneClassPCM,
    SoftKernelSpectralClustering,
)
from softkern.exceptions import SpectrumWarning
from softkern.kernels import Gaussian, select_bandwidth
from softkern.models import spectral_search
from softkern.models.spectral_search import SpectralSearch, line_fit
from softkern.rows import Rows
from softkern.rules import projections
from softkern.selection import average_membership_strength, select_spectral
from tests.draws import blobs

IRIS = load_iris().data


def balanced_line_fit(model, X=None, weight=None):
    """Return the line fit of a fitted model, for the training samples or for new ones."""
    if X is None:
        parts = model.projections_, model.labels_, model.mean_similarity_
        weight = model.sample_weight_ if weight is None else weight
    else:
        parts = model.projections(X), model.predict(X), model.mean_similarity(X)
        weight = np.ones(len(X))
    projections, labels, similarity = parts
    return line_fit(projections, labels, len(model.prototypes_), similarity, weight)


@pytest.fixture(scope="module")
def X():
    return make_blobs(180, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)[0]


def test_acceptance_iris():
    model = SoftKernelSpectralClustering(3, bandwidth=1.0, assignment="codebook").fit(IRIS)
    plain = average_membership_strength(model, covered=False)
    assert plain == pytest.approx(0.922425, abs=5e-7)
    assert average_membership_strength(model) <= plain


def test_only_plain_strength_rises_as_the_bandwidth_falls(X):
    with pytest.warns(SpectrumWarning):
        narrow = SoftKernelSpectralClustering(3, bandwidth=0.1).fit(X)
    wide = SoftKernelSpectralClustering(3, bandwidth=1.0).fit(X)
    assert average_membership_strength(narrow, covered=False) > 0.9
    assert average_membership_strength(narrow) < 0.5
    assert average_membership_strength(wide) > 0.95


def test_new_points_and_weights(X):
    model = SoftKernelSpectralClustering(3, bandwidth=1.0).fit(X)
    counts = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = average_membership_strength(model, X, sample_weight=counts)
    repeated = average_membership_strength(model, np.repeat(X, counts, axis=0))
    assert weighted == pytest.approx(repeated)
    assert balanced_line_fit(model, X) == pytest.approx(balanced_line_fit(model))
    assert balanced_line_fit(model, weight=counts) == pytest.approx(
        balanced_line_fit(model, np.repeat(X, counts, axis=0)), rel=1e-6
    )


def test_default_weights_are_those_of_the_fit(X):
    counts = np.random.default_rng(0).integers(0, 4, len(X)) + np.arange(len(X)) % 3
    weighted = SoftKernelSpectralClustering(3, bandwidth=1.0).fit(X, sample_weight=counts)
    repeated = SoftKernelSpectralClustering(3, bandwidth=1.0).fit(np.repeat(X, counts, axis=0))
    for covered in (True, False):
        assert average_membership_strength(weighted, covered=covered) == pytest.approx(
            average_membership_strength(repeated, covered=covered), rel=1e-8
        )
    assert balanced_line_fit(weighted) == pytest.approx(balanced_line_fit(repeated), rel=1e-6)


def test_bandwidth_rules(X):
    result = select_spectral(X, [2, 3], ["global", 1.0, "median"])
    assert result.bandwidths[0] == pytest.approx(select_bandwidth(X, "global"))
    assert result.bandwidths[1:] == [1.0, select_bandwidth(X, "median")]
    with pytest.raises(ValueError, match="'wide' is no rule"):
        select_spectral(X, [2, 3], ["wide"])
    with pytest.raises(ValueError, match="'gamma': 0.5.* has no bandwidth"):
        select_spectral(X, [2, 3], [1.0], kernel_params={"gamma": 0.5})


def test_is_at_edge_reports_a_best_bandwidth_at_the_edge(X):
    assert not select_spectral(X, [3], [0.2, 1.0, 5.0]).is_at_edge
    assert select_spectral(X, [3], [1.0, 5.0]).is_at_edge
    assert not select_spectral(X, [3], [1.0]).is_at_edge


def test_line_fit_prefers_the_true_number(X):
    fits = [balanced_line_fit(KernelSpectralClustering(k, bandwidth=1.0).fit(X)) for k in (2, 3, 5)]
    assert np.argmax(fits) == 1


def test_models_without_strength_are_rejected(X):
    one = OneClassPCM().fit(X)
    with pytest.raises(TypeError, match="only one cluster"):
        average_membership_strength(one)
    from softkern import FuzzyCMeans

    fuzzy = FuzzyCMeans(3).fit(X)
    with pytest.raises(TypeError, match="Use covered=False"):
        average_membership_strength(fuzzy)
    assert 0.5 < average_membership_strength(fuzzy, covered=False) <= 1


def test_search_equals_the_fit_of_every_pair(X, monkeypatch):
    monkeypatch.setattr(spectral_search, "STARTS", projections.KMEANS_STARTS)
    result = select_spectral(X, [2, 3, 4], [0.8, 1.2, 2.0])
    assert result.strength.shape == (3, 3)
    for i, k in enumerate([2, 3, 4]):
        for j, bandwidth in enumerate([0.8, 1.2, 2.0]):
            model = SoftKernelSpectralClustering(k, bandwidth=bandwidth).fit(X)
            found = result.strength[i, j], result.plain[i, j], result.fit[i, j]
            assert found[0] == pytest.approx(average_membership_strength(model), abs=1e-6)
            plain = average_membership_strength(model, covered=False)
            assert found[1] == pytest.approx(plain, abs=1e-6)
            hard = KernelSpectralClustering(k, bandwidth=bandwidth).fit(X)
            assert found[2] == pytest.approx(balanced_line_fit(hard), abs=1e-6)
    assert result.best[0] == 3
    assert result.contrast.max() == result.table.contrast[0]


@pytest.mark.parametrize(("d", "n_clusters"), [(2, 2), (2, 5), (5, 5), (10, 2), (30, 5)])
def test_finds_the_number_of_blobs_in_any_dimension(d, n_clusters):
    assert select_spectral(blobs(n_clusters, d, d), range(2, 9)).best[0] == n_clusters


def test_one_cluster_has_no_contrast():
    rng = np.random.default_rng(0)
    for d in (2, 8):
        result = select_spectral(rng.normal(size=(250, d)), range(2, 7))
        assert np.nanmax(result.contrast) < 0.4


def test_the_number_of_clusters_follows_from_the_contrasts():
    def place(contrast):
        ones = np.ones((len(contrast), 1))
        return SpectralSearch(
            np.arange(len(contrast)), [None], ones, contrast[:, None], ones, ones
        ).best[0]

    assert place(np.array([0.95, 0.99, 1.0, 0.96, 0.7])) == 3  # all separated: the finest
    assert place(np.array([0.2, 0.8, 0.78])) == 1  # the highest
    assert place(np.array([0.1, 0.25, 0.1, 0.3])) == 1  # none separated: the fewest


def test_all_local_maxima_are_returned():
    # three clusters that consist of three clusters: both nine and three are maxima
    centers = [[20 * a + 3 * np.cos(t), 20 * b + 3 * np.sin(t)]
               for a, b in ((0, 0), (1, 0), (0, 1)) for t in (0, 2.1, 4.2)]  # fmt: skip
    X = make_blobs(450, centers=centers, cluster_std=0.5, random_state=0)[0]
    result = select_spectral(X, range(2, 12), np.geomspace(0.5, 20, 8))
    assert {3, 9} <= set(result.maxima.n_clusters)
    assert result.maxima.contrast.is_monotonic_decreasing
    assert result.best[0] == 9  # the largest number with separated clusters
    assert set(result.maxima.columns) == set(result.table.columns) - {"is_maximum"}


def test_the_estimator_makes_the_same_search(X, monkeypatch):
    monkeypatch.setattr("softkern.models.spectral_base.MAX_CLUSTERS", 6)
    model = SoftKernelSpectralClustering("auto").fit(X)
    result = select_spectral(X, range(2, 7))
    k, bandwidth = result.best
    assert isinstance(model.search_, SpectralSearch)
    assert model.n_clusters_ == k
    assert model.bandwidth_ == pytest.approx(bandwidth)
    assert model.search_.strength == pytest.approx(result.strength, nan_ok=True)


def test_engines_agree(X):
    dense = select_spectral(X, [2, 3], [0.8, 2.0])
    tiled = select_spectral(X, [2, 3], [0.8, 2.0], engine="tiled", engine_params={"threads": 1})
    assert tiled.strength == pytest.approx(dense.strength, abs=1e-6)
    with pytest.raises(ValueError, match="rank"):
        select_spectral(X, [2, 3], engine="tiled", engine_params={"rank": 9})


def test_order_and_units_do_not_matter(X):
    order = np.random.default_rng(0).permutation(len(X))
    one = select_spectral(X, range(2, 6))
    two = select_spectral(X[order] * [1000, 1e-3], range(2, 6))
    assert one.strength == pytest.approx(two.strength, nan_ok=True, abs=1e-6)


@pytest.mark.parametrize(("name", "k"), [("seeds", 3), ("wine", 3), ("iris", 3)])
def test_numbers_of_the_paper(name, k):
    from reproduce.datasets import load_dataset

    try:
        X = load_dataset(name).data.to_numpy(float)
    except (FileNotFoundError, ConnectionError):
        pytest.skip(f"needs {name}; set SOFTKERN_DATA to the folder that holds it")
    widths = select_bandwidth(X, "median") * 2.0 ** np.arange(-3.5, 0.6, 0.25)
    assert select_spectral(X, range(2, 7), widths).strongest[0] == k


def test_other_kernels(X):
    K = np.exp(-cdist(X, X, "sqeuclidean") / 2)
    assert select_spectral(K, range(2, 6), kernel="precomputed").best == (3, None)
    with pytest.raises(ValueError, match="dense array, got a sparse matrix"):
        select_spectral(sp.csr_matrix(K), range(2, 6), kernel="precomputed")
    result = select_spectral(np.abs(X), range(2, 4), kernel="cosine")
    assert result.bandwidths == [None]
    with pytest.raises(ValueError, match="has no bandwidth"):
        select_spectral(X, bandwidths=[1.0], kernel="cosine")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_clusters_range": []}, "integers ≥ 2"),
        ({"n_clusters_range": [1, 2]}, "integers ≥ 2"),
        ({"n_clusters_range": [2.5]}, "integers ≥ 2"),
        ({"n_clusters_range": [300]}, "only 180 training samples"),
        ({"n_clusters_range": [20], "n_train": 10}, "only 10 training samples"),
        ({"bandwidths": []}, "bandwidths is empty"),
        ({"bandwidths": [-1.0]}, "bandwidth must be positive"),
        ({"assignment": "other"}, "assignment='other' must be"),
    ],
)
def test_bad_arguments(X, arguments, message):
    with pytest.raises(ValueError, match=message):
        select_spectral(X, **arguments)


def test_no_valid_pair(X):
    result = select_spectral(X, [3], [1e-7])
    with pytest.raises(ValueError, match="none of the 1 bandwidths tried"):
        result.best  # noqa: B018


def test_validation_samples(X):
    """The strength is that of a model of the training samples, on the validation samples."""
    found = select_spectral(X, [3], [1.5], n_train=100, n_validation=60)
    chosen = spectral_search.training_rows(Gaussian(1.5), Rows(X), 160, "random", 0)
    first, validation = spectral_search._split(chosen, 60, 0)
    assert len(first.rows) == 100
    assert len(validation.rows) == 60
    assert not set(first.rows) & set(validation.rows)
    model = SoftKernelSpectralClustering(3, bandwidth=1.5).fit(X[first.rows])
    expected = average_membership_strength(model, X[validation.rows])
    assert found.strength[0, 0] == pytest.approx(expected, abs=1e-6)


def test_validation_samples_of_a_gram_matrix(X):
    gram = Gaussian(1.5).block(X, X)
    found = select_spectral(gram, [3], kernel="precomputed", n_train=100, n_validation=60)
    assert found.strength[0, 0] > 0.9


@pytest.mark.parametrize("n_validation", [0, 180, -3])
def test_bad_number_of_validation_samples(X, n_validation):
    with pytest.raises(ValueError, match=r"n_validation=-?\d+ must be between 1 and 179"):
        select_spectral(X, [3], [1.5], n_validation=n_validation)


@pytest.mark.parametrize("scale", ["unit", "degree"])
def test_scale_of_eigenvectors(X, scale):
    """Σ w α² or Σ w d α² is one. Labels of separated clusters do not depend on the scale."""
    model = SoftKernelSpectralClustering(3, bandwidth=1.5, eigenvector_scale=scale).fit(X)
    alpha, points = model.dual_coef_, X[model.support_]
    degree = np.exp(-cdist(points, points, "sqeuclidean") / (2 * 1.5**2)).sum(axis=1)
    per_row = degree if scale == "degree" else np.ones(len(points))
    assert per_row @ alpha**2 == pytest.approx(1)
    unit = SoftKernelSpectralClustering(3, bandwidth=1.5).fit(X)
    assert np.array_equal(model.labels_, unit.labels_)
    with pytest.raises(ValueError, match="eigenvector_scale"):
        select_spectral(X, [3], [1.5], eigenvector_scale="none")


def test_ties_of_code_words_raise_a_warning():
    """In clusters that are mirror images of each other, every code word occurs twice."""
    E = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, 1.0]])
    assert projections.tied_words(E, np.ones(5), 2) == 2
    assert projections.tied_words(E, np.ones(5), 1) == 0
    assert projections.codebook(E, np.ones(5), 2).tolist() == [[1, 1], [-1, -1]]
    side = np.array([[0.0, 0.0], [0.3, 0.1], [0.1, 0.4]])
    X = np.concatenate([side + shift for shift in ([0, 0], [9, 0], [0, 9], [9, 9])])
    with pytest.warns(SpectrumWarning, match="as frequent as the last"):
        SoftKernelSpectralClustering(3, bandwidth=3.0, assignment="codebook").fit(X)
