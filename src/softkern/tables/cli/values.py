"""Parsers of option values. Each raises an `OptionError` that names the value and what is valid."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from softkern._utils.text import closest_match
from softkern.tables.cli.errors import OptionError

MOST_MEMORY = 10**9  # GiB


def parse_share(word: str | float) -> float:
    """Return a share of the rows."""
    text = str(word).strip()
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 < value <= 0.5:
        nothing = "; 0 flags nothing: leave it out" if value == 0 else ""
        raise OptionError(f"{word} must be a share of the rows, such as 0.05, up to 0.5{nothing}.")
    return value


def parse_clusters(word: str | int) -> int | None:
    """Return a number of clusters, None for "auto"."""
    text = str(word)
    if text == "auto":
        return None
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise OptionError(f"{word!r} must be a whole number from 1, or auto.")
    return int(text)


def parse_separator(word: str) -> str:
    r"""Return the character between fields."""
    mark = {"tab": "\t", r"\t": "\t"}.get(word, word)
    if len(mark) != 1 or not mark.isascii() or mark in '"\r\n\0':
        raise OptionError(f"{word!r} must be one character, or tab; no quote, no line break.")
    return mark


def parse_decimal(word: str) -> str:
    """Return the decimal point, "." or ","."""
    if word not in (".", ","):
        raise OptionError(f"{word!r} must be . or ,")
    return word


def integer_parser(low: int, high: int) -> Callable[[str | int], int]:
    """Return a parser of whole numbers from `low` to `high`."""

    def parse(word: str | int) -> int:
        text = str(word).strip().replace(",", "")
        if not (text.isascii() and text.removeprefix("-").isdigit() and low <= int(text) <= high):
            raise OptionError(
                f"{word} must be a whole number from {low:,} to {high:,}, such as {max(low, 10):,}."
            )
        return int(text)

    return parse


def parse_memory(word: str | float) -> float:
    """Return a number of GiB."""
    try:
        value = float(word)
    except ValueError:
        value = -1.0
    if not 0 <= value <= MOST_MEMORY:
        raise OptionError(f"{word} must be a number from 0 to {MOST_MEMORY:,}, such as 8.")
    return value


def choice_parser(names: Sequence[str]) -> Callable[[str], str]:
    """Return a parser that accepts one of several words."""

    def parse(word: str) -> str:
        if word in names:
            return names[names.index(word)]
        meant = closest_match(word, names)
        guess = f"; did you mean {meant}?" if meant else "."
        raise OptionError(f"{word} must be one of {', '.join(names)}{guess}")

    return parse
