"""Values of options as they are typed: what each may be, and in which words it is refused."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

import typer

from softkern._utils.text import closest_match

__all__ = ["amount", "choice", "one_of", "share", "whole"]

Choice = TypeVar("Choice", bound=StrEnum)


def share(word: str | float) -> float:
    """A share of the rows, as 0.05 or 5%.

    Examples
    --------
    >>> share("0.05"), share("5%")
    (0.05, 0.05)
    """
    text = str(word).strip()
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 < value <= 0.5:
        nothing = "; 0 flags nothing: leave it out" if value == 0 else ""
        raise typer.BadParameter(
            f"{word} must be a share of the rows, such as 0.05, up to 0.5{nothing}."
        )
    return value


def whole(low: int, high: int) -> Callable[[str | int], int]:
    """What makes a whole number of a word.

    Examples
    --------
    >>> whole(1, 100)("7")
    7
    """

    def number(word: str | int) -> int:
        text = str(word).strip().replace(",", "")
        if not (text.isascii() and text.removeprefix("-").isdigit() and low <= int(text) <= high):
            raise typer.BadParameter(
                f"{word} must be a whole number from {low:,} to {high:,}, such as {max(low, 10):,}."
            )
        return int(text)

    return number


def amount(high: float) -> Callable[[str | float], float]:
    """What makes a number from 0 of a word."""

    def number(word: str | float) -> float:
        try:
            value = float(word)
        except ValueError:
            value = -1.0
        if not 0 <= value <= high:
            raise typer.BadParameter(f"{word} must be a number from 0 to {high:,.0f}, such as 8.")
        return value

    return number


def one_of(kind: type[Choice]) -> Callable[[str], Choice]:
    """What makes one of the words of `kind` of a word.

    Examples
    --------
    >>> from softkern.tables.cli.models import ModelName
    >>> one_of(ModelName)("fuzzy").value
    'fuzzy'
    """

    def chosen(word: str) -> Choice:
        if word in list(kind):
            return kind(word)
        names = [choice.value for choice in kind]
        meant = closest_match(word, names)
        guess = f"; did you mean {meant}?" if meant else "."
        raise typer.BadParameter(f"{word} must be one of {', '.join(names)}{guess}")

    return chosen


def choice(kind: type[StrEnum], help: str) -> Any:
    """An option that takes one of the words of `kind`."""
    names = [choice.value for choice in kind]
    return typer.Option(
        parser=one_of(kind), metavar="|".join(names), autocompletion=lambda: names, help=help
    )
