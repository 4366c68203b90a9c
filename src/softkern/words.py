"""Words for messages, shared by all that write some."""

from __future__ import annotations

__all__ = ["count"]


def count(number: int, noun: str) -> str:
    """A number with its noun, in the plural where there is not one.

    Examples
    --------
    >>> count(1, "row"), count(3000, "row")
    ('1 row', '3,000 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
