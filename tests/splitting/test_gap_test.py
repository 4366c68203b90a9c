import numpy as np
import pytest
from scipy.stats import norm

from softkern.splitting.gap_test import excess_mass, gap_depth
from softkern.splitting.settings import SPLITTING

CRITICAL = SPLITTING.critical_depth


def compute_excess_mass_slowly(values, levels):
    """Compute it from all intervals and all pairs of disjoint intervals, at every level."""
    x = np.sort(values)
    n, largest = len(x), 0.0
    for level in levels:
        held = np.full((n, n), -np.inf)
        for i in range(n):
            for j in range(i, n):
                held[i, j] = (j - i + 1) / n - level * (x[j] - x[i])
        one = held.max()
        two = max(held[: k + 1, : k + 1].max() + held[k + 1 :, k + 1 :].max() for k in range(n - 1))
        largest = max(largest, two - one)
    return largest


def test_evenly_spaced_points_have_one_mode():
    assert excess_mass(np.linspace(0, 1, 500)) < 0.01
    assert excess_mass(norm.ppf((np.arange(500) + 0.5) / 500)) < 0.01


def test_the_excess_mass_of_two_distant_clusters_is_one_half():
    even = np.linspace(0, 1, 200)
    assert excess_mass(np.r_[even, even + 50]) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("seed", range(4))
def test_the_levels_evaluated_are_nearly_as_good_as_all(seed):
    generator = np.random.default_rng(seed)
    values = np.r_[generator.normal(size=15), generator.normal(4, 1, 15)]
    literal = compute_excess_mass_slowly(values, np.geomspace(1e-3, 30, 200))
    assert 0.9 * literal <= excess_mass(values) <= 1.02 * literal


@pytest.mark.parametrize("seed", range(4))
def test_offset_unit_and_direction_do_not_matter(seed):
    values = np.random.default_rng(seed).standard_t(3, 100)
    found = excess_mass(values)
    assert excess_mass(1e3 * values - 70) == pytest.approx(found, rel=1e-6)
    assert excess_mass(-values) == pytest.approx(found, rel=1e-6)
    assert excess_mass(values[::-1]) == found


def test_equal_points_have_no_gap():
    assert excess_mass(np.ones(20)) == 0
    assert excess_mass(np.ones(1)) == 0


def test_excess_mass_by_chance_falls_with_the_root_of_the_number_of_points():
    generator = np.random.default_rng(0)
    scaled = [
        np.sqrt(n) * np.mean([excess_mass(generator.uniform(size=n)) for _ in range(30)])
        for n in (100, 1600)
    ]
    assert scaled[1] == pytest.approx(scaled[0], rel=0.25)


def test_depth_does_not_depend_on_the_direction():
    places = np.r_[np.random.default_rng(0).normal(0, 1, 80), 5 + np.linspace(0, 2, 30)]
    above = np.arange(110) >= 80
    assert gap_depth(-places, ~above) == pytest.approx(gap_depth(places, above))


def test_a_small_cluster_beside_a_large_one_is_detected():
    generator = np.random.default_rng(0)
    places = np.r_[generator.normal(size=3000), generator.normal(7, 0.5, 20)]
    above = np.arange(3020) >= 3000
    assert 0.5 * excess_mass(places) * np.sqrt(len(places)) < CRITICAL  # not visible among all
    assert gap_depth(places, above) > CRITICAL


def test_a_cut_through_one_cluster_is_no_gap():
    generator = np.random.default_rng(1)
    for places in (generator.normal(size=1000), generator.uniform(-1, 1, 1000)):
        assert gap_depth(places, places > 0) < CRITICAL


def test_clusters_behind_the_two_do_not_count():
    generator = np.random.default_rng(2)
    near = generator.uniform(-1, 1, 400)
    places = np.r_[near, generator.normal(-30, 1, 60), generator.normal(30, 1, 60)]
    assert gap_depth(places, places > 0) == pytest.approx(gap_depth(near, near > 0), abs=0.3)
    assert gap_depth(places, places > 0) < CRITICAL


def test_the_gap_to_too_few_points_has_no_depth():
    places = np.r_[np.zeros(SPLITTING.min_cluster - 1), np.full(50, 9.0)]
    assert gap_depth(places, places > 1) == 0
