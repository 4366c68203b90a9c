"""The preparation of tables, with its options named as the command line names them."""

from __future__ import annotations

import shlex

from softkern.tables.preparation.transformer import Preparation

__all__ = ["CommandPreparation", "option"]


def option(name: str, value: str = "") -> str:
    """An option as it is typed.

    Examples
    --------
    >>> option("missing", "drop"), option("categories"), option("na", "?")
    ('--missing drop', '--categories', "--na '?'")
    """
    words = [f"--{name.replace('_', '-')}"]
    if value:
        words.append(value if value == "," else shlex.quote(value))
    return " ".join(words)


class CommandPreparation(Preparation):
    """As `Preparation`; its messages say what to type."""

    @staticmethod
    def _say(name: str, value: str) -> str:
        return option(name, value)
