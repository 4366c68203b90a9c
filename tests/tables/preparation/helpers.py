"""Helpers for tests of prepared tables."""

import numpy as np
import pandas as pd

from softkern.models.state import from_state, to_state
from softkern.tables.preparation import PreparedTable, TablePreparation


def prepare(table: pd.DataFrame, **options) -> tuple[TablePreparation, PreparedTable]:
    """Fit a preparation to a table, and return it with the prepared table."""
    preparation = TablePreparation(**options)
    return preparation, preparation.fit_prepare(table)


def texts(notes) -> list[str]:
    """Return notes as text."""
    return [str(note) for note in notes]


def reload(preparation: TablePreparation) -> TablePreparation:
    """Convert the preparation to the state of a model file and back."""
    from sklearn.pipeline import Pipeline

    import softkern

    model = softkern.OneClassPCM().fit(np.arange(4.0)[:, None])
    pipeline = Pipeline([("preparation", preparation), ("model", model)])
    return from_state(to_state(pipeline))[0]
