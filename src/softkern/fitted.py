"""Facts about any fitted model for displays and reports, from public attributes only."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softkern._utils.typing import Array


def fitted_step(model: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the fitted model at the end of a pipeline, and the transformation of its input."""
    steps = getattr(model, "steps", [])
    transform = model[:-1].transform if len(steps) > 1 else lambda X: X
    model = model[-1] if steps else model
    check_is_fitted(model)
    return model, transform


def choice_of(model: Any) -> dict[str, Any] | None:
    """Return which model `AutoClustering` chose and why, in plain values. None for other models.

    `taken` ("one cluster" for one), `reason`, and `compared`, one dictionary per model with
    `model`, `clusters`, `separation`, `stability` (None where unknown) and `taken`.
    """
    if not hasattr(model, "comparison_"):
        return None
    compared = [
        {name: None if value != value else value for name, value in row.items()}  # NaN is unknown
        for row in model.comparison_.to_dict("records")
    ]
    taken, reason = next(row["model"] for row in compared if row["taken"]), model.reason_
    if model.n_clusters_ == 1:
        taken, reason = "one cluster", "as asked for" if model.n_clusters == 1 else reason
    return {"taken": taken, "reason": reason, "compared": compared}


def as_sample_of(model: Any, n_rows: int) -> Any:
    """Return a copy of a fitted model whose training rows are a sample of `n_rows` rows.

    Ranking then expects outliers by chance among all of these rows, not among the sample alone.
    """
    weight = np.asarray(model.sample_weight_, dtype=np.float64)
    model = copy.copy(model)
    model.sample_row_weights_ = weight * (n_rows / weight.sum())
    model.sample_outlier_scores_ = np.asarray(model.outlier_scores_)
    return model


def with_tree(model: Any) -> Any:
    """Return the model that has an alpha tree, this one or its `model_`, or None."""
    candidates = (model, getattr(model, "model_", None))
    return next((one for one in candidates if hasattr(one, "tree_")), None)


def typicality_of(model: Any, X: Any = None) -> tuple[str, Array] | None:
    """Return the name and values of what levels cut, (m,) or (m, c), of training or new samples.

    That is the typicality where a model has one, else its memberships. None without either.
    """
    for name in ("typicality", "memberships"):
        part = getattr(model, f"{name}_" if X is None else name, None)
        if part is not None:
            return name.removesuffix("s"), np.asarray(part if X is None else part(X))
    return None


def level_of(model: Any) -> float | None:
    """Return the level `alpha_` of a model, None without one or where it is zero."""
    alpha = getattr(model, "alpha_", None)
    return float(alpha) if alpha else None


def histogram_bins(count: int) -> int:
    """Return the square root of the number of samples, from 10 to 60."""
    return int(np.clip(np.sqrt(count), 10, 60))
