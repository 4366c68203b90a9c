"""The two scales of outlier scores: laws of the functions that combine them."""

import numpy as np
import pytest

from softkern.kernels import Gaussian, Laplacian
from softkern.models.two_scale_scores import (
    combine_scales,
    isolated_rows,
    log_background_density,
    median_distance,
    robust_location_scale,
    widen_kernel,
)
from softkern.rows import Rows


def test_duplicates_are_subtracted_from_the_wide_density():
    wide, narrow = np.array([0.5, 0.5, 0.012]), np.array([0.1, 0.004, 0.004])
    left = np.exp(log_background_density(np.log(wide), np.log(narrow), 0.01))
    assert left == pytest.approx([0.49, 0.496, 0.008])


def test_background_density_is_finite_at_any_distance():
    logs = np.array([-1e5, -1e300, -np.inf])
    density = log_background_density(logs, 9 * np.maximum(logs, -1e300), 0.01)
    assert np.array_equal(density, logs)
    alone = log_background_density(np.log([0.001]), np.log([0.001]), 0.01)  # only itself
    assert np.isfinite(alone).all()


def test_the_score_increases_with_either_scale():
    standards = np.array([[3.0, 2.0], [1.0, 0.5]])
    ladder, middle = np.linspace(0, 50, 200), np.full(200, 1.0)
    assert np.all(np.diff(combine_scales(ladder, middle, standards)) >= 0)
    assert np.all(np.diff(combine_scales(middle, ladder, standards)) >= 0)
    assert combine_scales(np.array([3.0]), np.array([1.0]), standards) == 0


def test_location_and_scale_treat_weights_as_repeated_values():
    values, counts = np.random.default_rng(0).normal(size=50), np.arange(50) % 4
    assert robust_location_scale(values, counts) == robust_location_scale(
        np.repeat(values, counts), np.ones(counts.sum())
    )
    assert robust_location_scale(np.ones(5), np.ones(5))[1] > 0
    assert robust_location_scale(np.full(3, np.inf), np.ones(3)) == (0.0, 1.0)


def test_not_all_rows_are_isolated():
    assert not isolated_rows(np.full(4, 0.005), np.zeros(4)).any()
    assert isolated_rows(np.array([0.5, 0.011]), np.array([0.01, 0.01])).tolist() == [False, True]


@pytest.mark.parametrize("kernel", [Gaussian(0.1), Gaussian([0.1, 0.3]), Laplacian(0.2)])
def test_a_widened_kernel_has_the_given_median_distance(kernel):
    X = np.random.default_rng(0).normal(size=(200, 2))
    distance = median_distance(kernel, Rows(X), 0)
    wide = widen_kernel(kernel, distance, 2.0)
    assert median_distance(wide, Rows(X), 0) == pytest.approx(2)
    assert widen_kernel(kernel, 1.0, 2.0) == kernel  # never narrower
    twice = median_distance(kernel, Rows(np.repeat(X, 2, axis=0)), 0)
    assert twice == pytest.approx(distance)
