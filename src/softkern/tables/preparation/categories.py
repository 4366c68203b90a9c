"""Text columns as codes: one number per value.

Text has no natural order. One indicator column per value would make a cluster of every value
and so decide the result alone. A single column of codes separates clusters only together with
other columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from softkern._utils.text import plural, quote
from softkern._utils.typing import Array
from softkern.exceptions import DataError
from softkern.tables.preparation.cells import to_words
from softkern.tables.preparation.notes import Note

MOST_CATEGORIES = 20
FARTHEST = 5.0  # spreads from a column's median at which values are clipped


def order_categories(text: pd.Series[Any], Z: Array) -> list[str]:
    """Return the values of a text column, ordered along the line that separates their rows most.

    Z holds the numeric columns on one scale, (n, d), NaN where a cell is missing.
    """
    words = to_words(text)
    values = sorted(words.dropna().unique().tolist())
    if not 2 <= len(values) <= MOST_CATEGORIES:
        raise DataError(
            f"'{quote(text.name)}' has {plural(len(values), 'value')}; categories are columns "
            f"with 2 to {MOST_CATEGORIES} values."
        )
    if len(values) == 2 or not Z.shape[1]:
        return values
    near = np.clip(np.nan_to_num(Z), -FARTHEST, FARTHEST)  # a few far rows do not place a value
    members = words.to_numpy(dtype=object)[:, None] == np.array(values, dtype=object)  # (n, k)
    size = members.sum(axis=0)
    means = (members.T.astype(np.float64) @ near) / size[:, None]
    means -= size @ means / size.sum()
    line = np.linalg.svd(np.sqrt(size)[:, None] * means, full_matrices=False)[2][0]
    line = line * np.sign(line[np.argmax(np.abs(line))])  # a line has two directions
    return [values[k] for k in np.argsort(means @ line, kind="stable")]


def encode(text: pd.Series[Any], values: Sequence[str]) -> tuple[Array, list[Note]]:
    """Return the code of every cell, (n,), NaN where it is missing, and a note on new values.

    A value that is not among `values` is halfway between the first and the last.
    """
    words = to_words(text)
    codes_by_word = {value: float(code) for code, value in enumerate(values)}
    codes = words.map(codes_by_word).to_numpy(dtype=np.float64, copy=True)
    is_new = np.isnan(codes) & text.notna().to_numpy()
    codes[is_new] = (len(values) - 1) / 2
    if not is_new.any():
        return codes, []
    details = {"rows": int(is_new.sum()), "example": quote(words[is_new].iloc[0])}
    return codes, [Note("new value", [str(text.name)], details)]
