"""Encode values of the data for the page: text of bounded length, and arrays as bytes."""

from __future__ import annotations

import base64
import re
from datetime import datetime, time
from typing import Any

import numpy as np

from softkern._utils import text as formatting

# runs of words in Hebrew, Arabic and related scripts
_LETTERS = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
RIGHT_TO_LEFT = re.compile(f"([{_LETTERS}](?:[{_LETTERS}\\s]*[{_LETTERS}])?)")
MAX_LENGTH = 60  # characters of a name from the data


def shorten(value: Any, longest: int = MAX_LENGTH) -> str:
    """Return a name or value of the data as text of bounded length; midnight is a date."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    if isinstance(value, datetime) and value.time() == time():
        text = f"{value:%Y-%m-%d}"
    return formatting.shorten(text, longest)


def isolate_right_to_left(sentence: str) -> str:
    """Keep numbers behind names that are written from right to left.

    Browsers would treat a number after an Arabic name as part of it and move it to the front.
    """
    return RIGHT_TO_LEFT.sub("\\1\N{LEFT-TO-RIGHT MARK}", sentence)


def pack(values: Any, dtype: Any = np.float32) -> dict[str, str]:
    """Return the type of an array and its bytes in base64."""
    array = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    return {"type": np.dtype(dtype).name, "bytes": base64.b64encode(array.tobytes()).decode()}
