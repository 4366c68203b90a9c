"""Reads NPY and Parquet files. A plain file is mapped or read in batches: it may exceed memory."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from softkern.rows import row_slices
from softkern.tables.io.bytes import TableBytes, naming_damage
from softkern.tables.io.reader import Format, Reader, Style, TableError, Tables, unique_names

PARQUET = "a Parquet file"


class NpyReader(Reader):
    """An open NPY file."""

    def __init__(self, data: TableBytes, form: Format) -> None:
        super().__init__(data.name, form)
        self._values, self.columns = load_npy(data.file(), data.name)
        self.kind = f"NPY{data.suffix}"

    def _parts(self, rows: int | None) -> Tables:
        n = max(len(self._values), 1)
        for part in row_slices(n, rows or n):
            yield pd.DataFrame(np.array(self._values[part]), columns=self.columns)


class ParquetReader(Reader):
    """An open Parquet file."""

    def __init__(self, data: TableBytes, form: Format) -> None:
        super().__init__(data.name, form)
        self.kind, self.style = f"Parquet{data.suffix}", Style(".parquet")
        parquet = import_parquet(f"{data.name} is Parquet, which")
        with naming_damage(data.name, PARQUET):
            self._data = parquet.ParquetFile(data.file())
            names = [str(column) for column in self._data.schema_arrow.names]
        self.columns = unique_names(names, self.notes)

    def _parts(self, rows: int | None) -> Tables:
        with naming_damage(self.name, PARQUET):
            parts = [self._data.read()] if rows is None else self._data.iter_batches(rows)
            for part in parts:
                table = part.to_pandas(ignore_metadata=True)  # its index is an ordinary column
                yield table.set_axis(self.columns, axis=1)


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


def import_parquet(needed_by: str) -> Any:
    """Return pyarrow's module for Parquet."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise TableError(f"{needed_by} needs pyarrow: pip install 'softkern[parquet]'.") from None
    return parquet
