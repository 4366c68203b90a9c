"""Reads NPY files. A plain file is mapped, and need not fit into memory."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from softkern.tables.io.bytes import TableBytes, naming_damage
from softkern.tables.io.reader import Format, Names, Reader, TableError, Tables
from softkern.tables.preparation.cells import replace_words


class NpyReader(Reader):
    """An open NPY file."""

    def __init__(self, data: TableBytes, form: Format) -> None:
        super().__init__(data.name, form)
        self._values, self.columns = load_npy(data.file(), data.name)
        self.kind = f"NPY{data.suffix}"

    def iter_tables(self, rows: int | None, text: Names, words: Names) -> Tables:
        """Yield tables of at most `rows` rows. For None, one table of all rows."""
        n = len(self._values)
        step = max(1, n if rows is None else rows)
        for start in range(0, max(n, 1), step):
            table = npy_rows(self._values, self.columns, slice(start, start + step))
            yield replace_words(table, self.form.marks(), text)


def load_npy(file: str | BinaryIO, name: str) -> tuple[np.ndarray[Any, Any], list[str]]:
    """Return the array of a file, mapped where it has a path, and names of its columns."""
    mode: Any = "r" if isinstance(file, str) else None
    with naming_damage(name, "an NPY file"):  # pickled objects are code, and never read
        values = np.load(file, mmap_mode=mode, allow_pickle=False)
    if values.dtype.names is None:
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or values.dtype.kind not in "biuf":
            raise TableError(
                f"{name} holds an array of shape {values.shape} and type {values.dtype}; give an "
                "array of numbers with one row per sample."
            )
        return values, [f"x{i + 1}" for i in range(values.shape[1])]
    columns = list(values.dtype.names)
    if values.ndim != 1 or any(values.dtype[column].shape for column in columns):
        raise TableError(
            f"{name} holds records of shape {values.shape} and type {values.dtype}; give one "
            "record per sample with one value per field."
        )
    return values, columns


def npy_rows(values: np.ndarray[Any, Any], columns: list[str], rows: slice) -> pd.DataFrame:
    """Return some rows of such an array as a table."""
    part = np.array(values[rows])
    return pd.DataFrame(part, columns=None if part.dtype.names else columns)
