"""Facts that the preparation of a table reports, as data.

`softkern.tables.text` renders them for the terminal, the report page and notebooks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["MISSING_KINDS", "Note", "merge_notes"]

MISSING_KINDS = ("missing values", "rows without values")


@dataclass(frozen=True)
class Note:
    """One fact about the columns or rows of a table.

    Attributes
    ----------
    kind : str
        What the note reports, for example "constant", "skewed" or "missing values".
    columns : list of str
        Columns that it is about, empty if it is about rows.
    values : dict
        Details, for example the number of rows.

    Examples
    --------
    >>> print(Note("constant", ["one"]))
    left out 'one': it has one value
    """

    kind: str
    columns: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the note as text, with parameters spelled as in Python."""
        from softkern.tables.text import note_text

        return note_text(self)


def merge_notes(notes: Iterable[Note]) -> list[Note]:
    """Merge notes that state the same of several columns, in the order of their first column."""
    merged: list[Note] = []
    for note in notes:
        for k, other in enumerate(merged):
            if (other.kind, other.values) == (note.kind, note.values):
                merged[k] = replace(other, columns=[*other.columns, *note.columns])
                break
        else:
            merged.append(note)
    return merged
