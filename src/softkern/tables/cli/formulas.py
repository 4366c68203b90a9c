"""Escapes text in CSV that a spreadsheet would execute as a formula, and restores it.

A cell that begins with one of `STARTS` gets an apostrophe before it, which spreadsheets read as
"this is text". Numbers are left alone, also those written as text, such as ``-1.234,50 €``: they
contain no letter with which a formula could call a function.
"""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

STARTS = "=+\\-@\t\r\n＝＋－＠"  # as within the brackets of a pattern
FORMULA = re.compile(f"[{STARTS}]", re.DOTALL)
NUMBER = re.compile(r"[+-][\d\s.,'’%€$£¥]*(e[+-]?\d+)?", re.IGNORECASE)


def escape_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with formulas escaped in text and column names."""
    changed = {}
    for k, (_, column) in enumerate(table.items()):
        if column.dtype.kind not in "biufM" and any(map(_is_formula, column.to_numpy(object))):
            changed[k] = column.astype(object).map(_escaped)
    columns = [changed.get(k, column) for k, (_, column) in enumerate(table.items())]
    names = [_escaped(name) for name in table.columns]
    if not changed and names == list(table.columns):
        return table
    return pd.concat(columns, axis=1, keys=range(len(columns))).set_axis(names, axis=1)


def unescape_formulas(text: Any) -> Any:
    """Return a cell as it was before `escape_formulas`."""
    is_escaped = isinstance(text, str) and text.startswith("'") and _is_formula(text[1:])
    return text[1:] if is_escaped else text


def _is_formula(value: Any) -> bool:
    if not isinstance(value, str) or not FORMULA.match(value):
        return False
    return not NUMBER.fullmatch(value)


def _escaped(value: Any) -> Any:
    return f"'{value}" if _is_formula(value) else value
