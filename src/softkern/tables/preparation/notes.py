"""Facts that the preparation of a table reports, as data.

`softkern.tables.text` renders them for the terminal, the report page and notebooks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

MISSING_KINDS = ("missing values", "rows without values")


@dataclass(frozen=True)
class Note:
    """One fact about the columns or rows of a table.

    Examples
    --------
    >>> print(Note("constant", ["one"]))
    left out 'one': it has one value
    """

    kind: str  # what the note reports, for example "constant", "skewed" or "missing values"
    columns: list[str] = field(default_factory=list)  # empty if it is about rows
    values: dict[str, Any] = field(default_factory=dict)  # details, such as the number of rows

    def __str__(self) -> str:
        """Return the note as text, with parameters spelled as in Python."""
        from softkern.tables.text import note_text

        return note_text(self)


def merge_notes(notes: Iterable[Note]) -> list[Note]:
    """Merge notes that state the same of several columns, in the order of their first column."""
    merged: dict[tuple[str, str], Note] = {}
    for note in notes:
        same = merged.setdefault((note.kind, repr(note.values)), replace(note, columns=[]))
        same.columns.extend(note.columns)
    return list(merged.values())
