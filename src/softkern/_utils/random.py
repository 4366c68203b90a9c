"""Seeds for samples, initializations and sub-models.

A `random_state` that is used directly in several places ties every result to the order of the
draws. A fit therefore reduces it to one integer (`fixed_seed`) and derives all others from that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

SEEDS = 2**31 - 1  # seeds are below this number


def as_random_state(random_state: Any) -> Any:
    """Return a RandomState for an int, a RandomState, a Generator or None (NumPy's global one)."""
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(SEEDS))
    return check_random_state(random_state)


def child_seed(random_state: Any) -> int:
    """Draw one integer seed; the same one for the same integer."""
    return int(as_random_state(random_state).randint(SEEDS))


def fixed_seed(random_state: Any) -> int:
    """Return an integer as it is, and a single draw from anything else."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return child_seed(random_state)
