"""Values of the data as the page holds them: bounded text, and arrays as bytes."""

from __future__ import annotations

import base64
import re
from datetime import datetime, time
from typing import Any

import numpy as np
from pandas.api.types import is_bool_dtype, is_complex_dtype, is_numeric_dtype

from softkern._utils import text as formatting

__all__ = ["holds_numbers", "in_order", "packed", "shorten"]

# Hebrew, Arabic and their neighbors: a run of words
_LETTERS = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
RIGHT_TO_LEFT = re.compile(f"([{_LETTERS}](?:[{_LETTERS}\\s]*[{_LETTERS}])?)")
LONGEST = 60  # letters of a name from the data


def shorten(value: Any, longest: int = LONGEST) -> str:
    """A name or a value of the data as text of bounded length; midnight is a day."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    if isinstance(value, datetime) and value.time() == time():
        text = f"{value:%Y-%m-%d}"
    return formatting.shorten(text, longest)


def in_order(sentence: str) -> str:
    """A sentence whose numbers stay behind names that are written from right to left.

    Browsers would take a number after an Arabic name for a part of it, and put it in front.
    """
    return RIGHT_TO_LEFT.sub("\\1\N{LEFT-TO-RIGHT MARK}", sentence)


def holds_numbers(kind: Any) -> bool:
    """Whether a column of this kind is one of numbers; yes and no are words."""
    return is_numeric_dtype(kind) and not is_bool_dtype(kind) and not is_complex_dtype(kind)


def packed(values: Any, dtype: Any = np.float32) -> dict[str, str]:
    """An array as its kind and its bytes in base64."""
    kept = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    return {"type": np.dtype(dtype).name, "bytes": base64.b64encode(kept.tobytes()).decode()}
