"""Formatting of names, numbers and values in messages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"


def plural(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is one."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def bytes_in_words(count: float) -> str:
    """Return a number of bytes in its usual unit, in three digits."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.3g} {unit}" if count < 999.5 else f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"


def seconds_in_words(seconds: float) -> str:
    """Return a time in its usual unit, in two digits, such as '12 ms', '75 s' or '2.5 h'."""
    if seconds < 0.9995:
        return f"{seconds * 1e3:.2g} ms" if seconds < 0.0995 else f"{seconds * 1e3:.0f} ms"
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 9.95 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"


def one_line(text: str) -> str:
    """Join the lines of a text by blanks."""
    parts = re.split(r"[\r\n]+", text)
    return text if len(parts) == 1 else " ".join(filter(None, map(str.strip, parts)))


def shorten(text: str, most: int = 60) -> str:
    """Return at most `most` characters: both ends of a longer text, as names often begin alike."""
    if len(text) <= most:
        return text
    end = (most - 1) // 3
    return f"{text[: most - 1 - end]}…{text[len(text) - end :]}"


def quote(text: Any, most: int = 60) -> str:
    """Return a name or value from the data, printable, on one line and not too long."""
    return shorten("".join(map(_printable, one_line(str(text)))), most)


def _printable(letter: str) -> str:
    """Return the letter or its code. Joiners stay: emoji and some scripts need them."""
    if letter.isprintable() or letter in JOINERS:
        return letter
    return " " if unicodedata.category(letter) == "Zs" else f"\\x{ord(letter):02x}"


def quote_list(names: Sequence[Any], most: int = 5) -> str:
    """Return the first few names in quotes and the number of the others."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f"'{quote(name)}'" for name in names[:most]) + more


def closest_match(name: Any, names: Sequence[Any]) -> str:
    """Return the name that was probably meant, or an empty text."""
    plain = {str(candidate).strip().casefold(): str(candidate) for candidate in reversed(names)}
    matches = get_close_matches(str(name).strip().casefold(), plain, n=1)
    return plain[matches[0]] if matches else ""


def unknown_names(missing: Sequence[Any], names: Sequence[Any]) -> str:
    """Return the end of a message about missing columns, with the likely and the existing names."""
    words = []
    for name in missing[:5]:
        match = closest_match(name, names)
        words.append(f"'{quote(name)}'" + (f" (did you mean '{quote(match)}'?)" if match else ""))
    more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
    return f"{', '.join(words)}{more}; its columns are {quote_list(names, 12)}."
