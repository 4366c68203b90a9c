import numpy as np
import pytest

from softkern.splitting.curvature import is_curved
from softkern.splitting.mixture import fit_mixture
from softkern.splitting.observations import make_continuous
from softkern.splitting.settings import SPLITTING
from softkern.splitting.split import split


def turned(X, generator):
    """The same points in columns that have nothing to do with how they were drawn."""
    return X @ np.linalg.qr(generator.normal(size=(X.shape[1], X.shape[1])))[0]


def curve(generator, n, d, span, width=0.1):
    """Points along a part of a circle in two of the columns, the others noise; and their angles."""
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
    X, angle = curve(generator, 600, d, span)
    assert is_one_curve(turned(X, generator), angle > span / 2)


@pytest.mark.parametrize(("n", "d"), [(60, 4), (300, 10), (100, 60)])
def test_normal_clusters_are_no_curve(n, d):
    generator = np.random.default_rng(n)
    is_above = np.arange(n) % 2 == 0
    X = generator.normal(size=(n, d))
    X[is_above, 0] += 4
    assert not is_one_curve(turned(X, generator), is_above)


def test_halves_far_apart_are_no_curve():
    """Halves of a ring that are pulled apart: what is off the line still tells the distance."""
    X, angle = curve(np.random.default_rng(0), 600, 4, 2 * np.pi)
    is_above = angle > np.pi
    near, far = (
        X - np.outer(is_above, [0, gap, 0, 0]) for gap in (0, 2 * SPLITTING.curve_distance)
    )
    assert is_one_curve(near, is_above)
    assert not is_one_curve(far, is_above)


def test_the_order_of_the_groups_does_not_matter():
    X, angle = curve(np.random.default_rng(0), 300, 4, 2 * np.pi)
    assert is_one_curve(X, angle > np.pi) == is_one_curve(X, angle <= np.pi)


@pytest.mark.parametrize("n", [200, 600])
@pytest.mark.parametrize("d", [4, 6])
def test_rings_stay_whole(n, d):
    generator = np.random.default_rng(n + d)
    X = turned(curve(generator, n, d, 2 * np.pi)[0], generator)
    assert split(make_continuous(X)).max() == 0
