"""Replace the center of a `OneClassPCM` by one on fewer support points, within an error bound."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from softkern._utils.typing import Array
from softkern.planning import plan

FIRST_RANK = 32


def reduce_center(model: Any, tolerance: float, random_state: Any) -> Any:
    """Return a copy of the model on as few support points as the tolerance allows."""
    reduced = copy.copy(model)  # without caches
    for landmarks in _candidates(model, tolerance, random_state):
        factor = _factor(model, rank=None, landmarks=landmarks)
        rows, points, columns = factor.compressed(model._columns, nonnegative=True)
        weights = columns[:, 0]
        inner = model._stored_operator().cross(points) @ model._columns  # ⟨v, Φ(point)⟩
        norm = model.plan_.prediction_operator(points, model.kernel_).squared_norms(weights)[0]
        error = float(_bound(model, model._norms[0] - 2 * weights @ inner[:, 0] + norm))
        if error <= tolerance:
            reduced.support_, reduced.dual_coef_ = model.support_[rows], weights
            reduced._support, reduced.reduction_error_ = points, error
            reduced._inlier_coef = np.where(model._inlier_coef[rows] > 0, weights, 0)
            break
    return reduced


def _bound(model: Any, gap: Array) -> Array:
    """2 ‖v − v_S‖ √K(x, x) / η, from the squared distance of the centers."""
    largest = np.sqrt(float(model.kernel_.diag(model._support).max()))
    return 2 * np.sqrt(np.maximum(gap, 0)) * largest / model.eta_


def _factor(model: Any, random_state: Any = 0, **options: Any) -> Any:
    """Return a partial Cholesky factor of the kernel matrix between support points."""
    options = {"trace_tolerance": 0.0, **options}
    points = model._support
    chosen = plan(points, kernel=model.kernel_, engine="nystroem", engine_params=options)
    return chosen.build(points, sample_weight=model.dual_coef_, random_state=random_state)


def _candidates(model: Any, tolerance: float, random_state: Any) -> Iterator[Array]:
    """Yield growing sets of support points, the first about large enough for the tolerance."""
    rank, size = FIRST_RANK, model._support.shape[0]
    while rank < size:
        rank = min(2 * rank, size)
        factor = _factor(model, random_state, rank=rank)
        image = factor.image(model._columns)[:, 0]
        # squared distance that is left after each landmark, with free coefficients
        bounds = _bound(model, model._norms[0] - np.cumsum(np.square(image)))
        enough = np.flatnonzero(bounds <= 0.9 * tolerance)
        if enough.size:
            count = enough[0] + 1
            while count < factor.rank:
                yield factor.landmarks[:count]
                count = int(1.2 * count) + 1
            yield factor.landmarks
