"""Values of the data as the page holds them: bounded text, and arrays as bytes."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from pandas.api.types import is_bool_dtype, is_complex_dtype, is_numeric_dtype

from softkern.words import shortened

__all__ = ["holds_numbers", "packed", "shorten"]

LONGEST = 60  # letters of a name from the data


def shorten(value: Any, longest: int = LONGEST) -> str:
    """A name or a value of the data as text of bounded length."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return shortened(text, longest)


def holds_numbers(kind: Any) -> bool:
    """Whether a column of this kind is one of numbers; yes and no are words."""
    return is_numeric_dtype(kind) and not is_bool_dtype(kind) and not is_complex_dtype(kind)


def packed(values: Any, dtype: Any = np.float32) -> dict[str, str]:
    """An array as its kind and its bytes in base64."""
    kept = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    return {"type": np.dtype(dtype).name, "bytes": base64.b64encode(kept.tobytes()).decode()}
