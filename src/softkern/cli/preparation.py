"""The preparation of tables, with its options named as the command line names them."""

from __future__ import annotations

from typing import ClassVar

from softkern.columns.cells import Say
from softkern.columns.preparation import Preparation

__all__ = ["CommandPreparation", "option"]


def option(name: str, value: str = "") -> str:
    """An option as it is typed.

    Examples
    --------
    >>> option("missing", "drop"), option("one_hot"), option("na", "not known")
    ('--missing drop', '--one-hot', "--na 'not known'")
    """
    shown = value if value.isalnum() or value in (",", ".") or value.lstrip("-").isdigit() else ""
    words = [f"--{name.replace('_', '-')}", *([shown or repr(value)] if value else [])]
    return " ".join(words)


class CommandPreparation(Preparation):
    """As `Preparation`; its messages say what to type."""

    _say: ClassVar[Say] = staticmethod(option)
