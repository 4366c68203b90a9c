import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from softkern.splitting.mixture import fit_mixture


def draw_clusters(n, d, distance, seed=0, count=2):
    """Draw correlated clusters with centers along different columns. Return their labels too."""
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % count
    mixing = np.eye(d) + 0.5 * np.triu(generator.normal(size=(d, d)), 1) / np.sqrt(d)
    X = generator.normal(size=(n, d)) @ mixing
    X[np.arange(n), labels] += distance
    return X, labels


def perturb(labels, share, seed=0):
    """Replace a share of the labels by random ones."""
    generator = np.random.default_rng(seed)
    anew = generator.integers(0, labels.max() + 1, len(labels))
    return np.where(generator.uniform(size=len(labels)) < share, anew, labels)


def distance(mixture):
    """Return the distance between the first two centers in units of the clusters' spread."""
    return np.linalg.norm(mixture.centers[0] - mixture.centers[1])


@pytest.mark.parametrize(("d", "count"), [(2, 2), (5, 3), (30, 4)])
def test_clusters_are_recovered_from_a_poor_initialization(d, count):
    X, labels = draw_clusters(800, d, 8.0, count=count)
    mixture = fit_mixture(X, perturb(labels, 0.5))
    assert mixture.count == count
    assert adjusted_rand_score(labels, mixture.labels) > 0.98
    assert np.exp(mixture.log_shares) == pytest.approx(np.full(count, 1 / count), abs=0.03)


def test_whitened_clusters_are_spherical():
    X, labels = draw_clusters(4000, 5, 8.0, count=3)
    mixture = fit_mixture(X, labels)
    mapped = X @ mixture.whitening
    within = mapped - mixture.centers[mixture.labels]
    assert within.T @ within / len(X) == pytest.approx(np.eye(5), abs=0.05)
    for group in range(3):
        middle = mapped[mixture.labels == group].mean(axis=0)
        assert middle == pytest.approx(mixture.centers[group], abs=0.05)


def test_whitened_distance_equals_the_mahalanobis_distance():
    X, labels = draw_clusters(4000, 4, 8.0)
    mixture = fit_mixture(X, labels)
    within = X - np.stack([X[labels == c].mean(axis=0) for c in (0, 1)])[labels]
    way = X[labels == 0].mean(axis=0) - X[labels == 1].mean(axis=0)
    expected = np.sqrt(way @ np.linalg.solve(within.T @ within / len(X), way))
    assert distance(mixture) == pytest.approx(expected, rel=0.02)
    places = mixture.positions(mixture.centers, 0, 1)
    assert places == pytest.approx([distance(mixture) / 2, -distance(mixture) / 2])


def test_more_columns_than_rows():
    X, labels = draw_clusters(60, 200, 12.0)
    mixture = fit_mixture(X, labels)
    assert mixture.count == 2
    assert np.isfinite(X @ mixture.whitening).all()
    assert adjusted_rand_score(labels, mixture.labels) > 0.9


def test_fitted_points_are_assigned_like_new_ones():
    X, labels = draw_clusters(500, 6, 5.0)
    mixture = fit_mixture(X, labels)
    likeliest = np.argmax(mixture.log_ratios(X @ mixture.whitening), axis=1)
    assert (likeliest == mixture.labels).all()


def test_unit_of_a_column_does_not_matter():
    X, labels = draw_clusters(500, 6, 5.0)
    units = np.array([1, 2, 0.5, 3, 1, 0.2])
    one, two = fit_mixture(X, labels), fit_mixture(X * units, labels)
    assert (one.labels == two.labels).all()
    assert distance(two) == pytest.approx(distance(one), rel=1e-5)


def test_no_mixture_where_a_cluster_vanishes():
    X, labels = draw_clusters(200, 3, 5.0)
    assert fit_mixture(X, np.where(np.arange(200) == 0, 2, labels)) is None


def test_a_constant_column_is_ignored():
    X, labels = draw_clusters(300, 3, 6.0)
    mixture = fit_mixture(np.column_stack([X, np.zeros(300)]), labels)
    assert (mixture.labels == fit_mixture(X, labels).labels).all()


def test_chance_correlations_do_not_widen_gaps():
    """The mixture of scikit-learn has no shrinkage: the clusters of few rows seem too far apart."""
    X, labels = draw_clusters(90, 60, 3.0)
    peer = GaussianMixture(
        2,
        covariance_type="tied",
        means_init=[X[labels == c].mean(axis=0) for c in (0, 1)],
        random_state=0,
    ).fit(X)
    way = peer.means_[0] - peer.means_[1]
    many, labels_of_many = draw_clusters(9000, 60, 3.0)
    expected = distance(fit_mixture(many, labels_of_many))
    assert distance(fit_mixture(X, labels)) < 1.2 * expected
    assert np.sqrt(way @ peer.precisions_ @ way) > 1.5 * expected
