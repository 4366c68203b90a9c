"""Words for messages, shared by all that write some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["count", "named", "quoted"]


def count(number: int, noun: str) -> str:
    """A number with its noun, in the plural where there is not one.

    Examples
    --------
    >>> count(1, "row"), count(3000, "row")
    ('1 row', '3,000 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def quoted(text: Any, most: int = 60) -> str:
    """A name or value from the data, safe to show: printable, on one line, not too long."""
    shown = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(text))
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def named(columns: Sequence[Any], most: int = 5) -> str:
    """A few column names for a message."""
    more = f" and {len(columns) - most} more" if len(columns) > most else ""
    return ", ".join(f"'{quoted(column)}'" for column in columns[:most]) + more
