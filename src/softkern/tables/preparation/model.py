"""Fitted models that carry the preparation of their tables.

`AutoClustering` has it as `preparation_`. Any other model is the last step of a scikit-learn
pipeline that starts with it. Both take tables and `PreparedTable`, and both can be saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.pipeline import Pipeline

from softkern.exceptions import DataError
from softkern.tables.preparation.transformer import TablePreparation


def preparation_of(model: Any) -> TablePreparation | None:
    """Return the preparation that a fitted model carries, or None if it takes numbers only."""
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    return first if isinstance(first, TablePreparation) else getattr(model, "preparation_", None)


def attach_preparation(model: Any, preparation: TablePreparation) -> Any:
    """Return a fitted model that carries a preparation."""
    if preparation_of(model) is not None:
        return model
    steps = model.steps if isinstance(model, Pipeline) else [("model", model)]
    return Pipeline([("preparation", preparation), *steps])


def with_preparation(
    model: Any, columns: Sequence[str], decimal: str
) -> tuple[Any, TablePreparation]:
    """Return a fitted model and its preparation. A model of plain numbers gets a new one."""
    preparation = preparation_of(model)
    if preparation is not None:
        return model, preparation
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    names = getattr(first, "feature_names_in_", None)
    if names is None and len(columns) != first.n_features_in_:
        raise DataError(
            f"the model was fitted on {first.n_features_in_} columns without names, and the table "
            f"has {len(columns)}; leave only those columns in it, in their order."
        )
    preparation = TablePreparation.for_numbers(list(columns if names is None else names), decimal)
    if names is not None:
        preparation.set_output(transform="pandas")
    return attach_preparation(model, preparation), preparation
