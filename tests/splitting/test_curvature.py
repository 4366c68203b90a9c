import numpy as np
import pytest

from softkern.splitting.curvature import is_curved
from softkern.splitting.mixture import fit_mixture
from softkern.splitting.observations import make_continuous
from softkern.splitting.settings import SPLITTING
from softkern.splitting.split import split


def rotate(X, generator):
    """Rotate the points at random."""
    return X @ np.linalg.qr(generator.normal(size=(X.shape[1], X.shape[1])))[0]


def draw_arc(generator, n, d, span, width=0.1):
    """Draw points along an arc in two columns, noise in the others. Return the angles too."""
    angle = generator.uniform(0, span, n)
    X = width * generator.normal(size=(n, d))
    X[:, :2] += np.column_stack([np.cos(angle), np.sin(angle)])
    return X, angle


def is_one_curve(X, is_above):
    mixture = fit_mixture(X, is_above.astype(int), 1)
    way = mixture.centers[1] - mixture.centers[0]
    return is_curved(X @ mixture.whitening, way, is_above)


@pytest.mark.parametrize("d", [3, 6])
@pytest.mark.parametrize("span", [np.pi, 1.5 * np.pi, 2 * np.pi])
def test_halves_of_arcs_and_rings_are_one_curve(span, d):
    generator = np.random.default_rng(d)
    X, angle = draw_arc(generator, 600, d, span)
    assert is_one_curve(rotate(X, generator), angle > span / 2)


@pytest.mark.parametrize(("n", "d"), [(60, 4), (300, 10), (100, 60)])
def test_normal_clusters_are_not_one_curve(n, d):
    generator = np.random.default_rng(n)
    is_above = np.arange(n) % 2 == 0
    X = generator.normal(size=(n, d))
    X[is_above, 0] += 4
    assert not is_one_curve(rotate(X, generator), is_above)


def test_halves_far_apart_are_not_one_curve():
    """The coordinates across the line between the halves of a ring still depend on its distance."""
    X, angle = draw_arc(np.random.default_rng(0), 600, 4, 2 * np.pi)
    is_above = angle > np.pi
    near, far = (
        X - np.outer(is_above, [0, gap, 0, 0]) for gap in (0, 2 * SPLITTING.curve_distance)
    )
    assert is_one_curve(near, is_above)
    assert not is_one_curve(far, is_above)


def test_the_order_of_the_halves_does_not_matter():
    X, angle = draw_arc(np.random.default_rng(0), 300, 4, 2 * np.pi)
    assert is_one_curve(X, angle > np.pi) == is_one_curve(X, angle <= np.pi)


@pytest.mark.parametrize("n", [200, 600])
@pytest.mark.parametrize("d", [4, 6])
def test_rings_are_not_split(n, d):
    generator = np.random.default_rng(n + d)
    X = rotate(draw_arc(generator, n, d, 2 * np.pi)[0], generator)
    assert split(make_continuous(X)).max() == 0
