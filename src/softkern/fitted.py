"""What pictures and pages read off any fitted model, each thing in one place.

Called by the notebook's picture (`models.html`), `softkern.display` and `softkern.report`; knows
models by their public attributes only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softkern._typing import Array

__all__ = ["fitted_step", "histogram_bins", "level_of", "typicality_of"]

BINS = (10, 60)  # fewest and most of a histogram


def fitted_step(model: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The fitted model, at the end of a pipeline where it is one, and what makes X its input."""
    steps = model[:-1] if hasattr(model, "steps") and len(model.steps) > 1 else None
    model = model[-1] if hasattr(model, "steps") else model
    check_is_fitted(model)
    return model, (lambda X: X) if steps is None else steps.transform


def typicality_of(model: Any, X: Any = None) -> tuple[str, Array] | None:
    """What levels cut, of the training points or of new ones, (m,) or (m, c), and its name.

    The typicality where a model has one beside its memberships; None where it has neither.
    """
    for name in ("typicality", "memberships"):
        found = getattr(model, f"{name}_" if X is None else name, None)
        if found is not None:
            return name.removesuffix("s"), np.asarray(found if X is None else found(X))
    return None


def level_of(model: Any) -> float | None:
    """The model's `alpha_`; None where it has none, or cuts nothing off."""
    alpha = getattr(model, "alpha_", None)
    return float(alpha) if alpha else None


def histogram_bins(count: int) -> int:
    """The square root of the number of points, within limits."""
    return int(np.clip(np.sqrt(count), *BINS))
