"""Words for messages, shared by all that write some."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

__all__ = ["count", "named", "nearest", "one_line", "quoted", "shortened", "unknown"]

JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"


def count(number: int, noun: str) -> str:
    """A number with its noun, in the plural where there is not one.

    Examples
    --------
    >>> count(1, "row"), count(3000, "row")
    ('1 row', '3,000 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def one_line(text: str) -> str:
    r"""A text of several lines with blanks between them instead, as names of columns are said.

    Examples
    --------
    >>> one_line("Revenue\r\n (EUR)")
    'Revenue (EUR)'
    """
    parts = re.split(r"[\r\n]+", text)
    return text if len(parts) == 1 else " ".join(filter(None, map(str.strip, parts)))


def shortened(text: str, most: int = 60) -> str:
    """Text of at most so many letters; both ends of a longer one, for names often begin alike.

    Examples
    --------
    >>> shortened("temperature of the room, morning", 20), shortened("short", 20)
    ('temperature o…orning', 'short')
    """
    if len(text) <= most:
        return text
    end = (most - 1) // 3
    return f"{text[: most - 1 - end]}…{text[len(text) - end :]}"


def quoted(text: Any, most: int = 60) -> str:
    r"""A name or value from the data, safe to show: printable, on one line, not too long.

    Examples
    --------
    >>> quoted("two\nlines"), quoted("no\N{NO-BREAK SPACE}break")
    ('two lines', 'no break')
    """
    return shortened("".join(map(_printable, one_line(str(text)))), most)


def _printable(letter: str) -> str:
    """The letter, or its code; joiners hold emoji and some scripts together."""
    if letter.isprintable() or letter in JOINERS:
        return letter
    return " " if unicodedata.category(letter) == "Zs" else f"\\x{ord(letter):02x}"


def named(columns: Sequence[Any], most: int = 5) -> str:
    """A few column names for a message."""
    more = f" and {len(columns) - most} more" if len(columns) > most else ""
    return ", ".join(f"'{quoted(column)}'" for column in columns[:most]) + more


def nearest(name: Any, names: Sequence[Any]) -> str:
    """The name that was probably meant, empty where none is near.

    Examples
    --------
    >>> nearest("Revnue", ["revenue", "region"]), nearest("x", ["revenue"])
    ('revenue', '')
    """
    plain = {str(known).strip().casefold(): str(known) for known in reversed(names)}
    found = get_close_matches(str(name).strip().casefold(), plain, n=1)
    return plain[found[0]] if found else ""


def unknown(lacking: Sequence[Any], names: Sequence[Any]) -> str:
    """Names that are not there, what was probably meant, and what is there; the end of a message.

    Examples
    --------
    >>> unknown(["Revnue"], ["revenue", "region"])
    "'Revnue' (did you mean 'revenue'?); its columns are 'revenue', 'region'."
    """
    words = []
    for name in lacking[:5]:
        meant = nearest(name, names)
        words.append(f"'{quoted(name)}'" + (f" (did you mean '{quoted(meant)}'?)" if meant else ""))
    more = f" and {len(lacking) - 5} more" if len(lacking) > 5 else ""
    return f"{', '.join(words)}{more}; its columns are {named(names, 12)}."
