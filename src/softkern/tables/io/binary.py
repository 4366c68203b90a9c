"""Tables of Parquet and NPY. A plain file is read where it lies, and need not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from softkern.tables.io.bytes import damaged, in_memory, is_plain
from softkern.tables.io.reader import Format, Reader, Style, TableError, unique_names
from softkern.tables.preparation.cells import without_words

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PARQUET_DAMAGE", "npy_rows", "npy_table", "npy_values", "parquet_table"]

# What a damaged file makes pyarrow raise beyond errors of its own
PARQUET_DAMAGE = (OSError, ValueError, TypeError, LookupError, RuntimeError, OverflowError)


def parquet_table(raw: BinaryIO, path: str, name: str, packed: str, form: Format) -> Reader:
    """Open a Parquet file."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise TableError(
            f"{name} is Parquet, which needs pyarrow: pip install 'softkern[parquet]'."
        ) from None
    try:
        file = pq.ParquetFile(path if is_plain(path, packed) else in_memory(raw, name))
        names = [str(column) for column in file.schema_arrow.names]
        raw.close()
    except MemoryError as error:
        raise MemoryError(f"{name} does not fit") from error
    except (pa.ArrowException, *PARQUET_DAMAGE) as error:
        raise damaged(name, "a Parquet file") from error
    notes: list[str] = []
    columns = unique_names(names, notes)
    reader = Reader(name, f"Parquet{packed}", columns, notes, style=Style(".parquet"))

    def chunks(
        rows: int | None, kept: Sequence[str], words: Sequence[str]
    ) -> Iterator[pd.DataFrame]:
        try:
            if rows == 0:
                yield table_of(file.read(), kept)
                return
            for batch in file.iter_batches(rows or reader.rows_at_once()):
                yield table_of(pa.Table.from_batches([batch]), kept)
        except MemoryError as error:
            raise MemoryError(f"{name} does not fit") from error
        except (pa.ArrowException, *PARQUET_DAMAGE) as error:
            raise damaged(name, "a Parquet file") from error

    def table_of(part: Any, kept: Sequence[str]) -> pd.DataFrame:
        table = part.to_pandas(ignore_metadata=True)  # an index of pandas' is a column like others
        return without_words(table.set_axis(columns, axis=1), form.marks(), kept)

    reader._chunks = chunks
    return reader


def npy_table(raw: BinaryIO, path: str, name: str, packed: str, form: Format) -> Reader:
    """Open a NumPy array file."""
    file = path if is_plain(path, packed) else in_memory(raw, name)
    values, columns = npy_values(file, name)
    raw.close()
    reader = Reader(name, f"NPY{packed}", columns, [])

    def chunks(
        rows: int | None, kept: Sequence[str], words: Sequence[str]
    ) -> Iterator[pd.DataFrame]:
        step = len(values) if rows == 0 else rows or reader.rows_at_once()
        for start in range(0, max(len(values), 1), max(step, 1)):
            table = npy_rows(values, columns, slice(start, start + step))
            yield without_words(table, form.marks(), kept)

    reader._chunks = chunks
    return reader


def npy_values(file: str | BinaryIO, name: str) -> tuple[np.ndarray[Any, Any], list[str]]:
    """The array of a file, where it lies if it has a path, and names of its columns."""
    try:  # pickled objects are code, and never read
        where: Any = "r" if isinstance(file, str) else None
        values = np.load(file, mmap_mode=where, allow_pickle=False)
    except MemoryError as error:
        raise MemoryError(f"{name} does not fit") from error
    except Exception as error:  # whatever a damaged header makes its parser raise
        raise damaged(name, "an NPY file") from error
    if values.dtype.names is None:
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or values.dtype.kind not in "biuf":
            raise TableError(
                f"{name} holds an array of shape {values.shape} and type {values.dtype}; give one "
                "of numbers, with one row a point."
            )
        return values, [f"x{i + 1}" for i in range(values.shape[1])]
    columns = list(values.dtype.names)
    if values.ndim != 1 or any(values.dtype[column].shape for column in columns):
        raise TableError(
            f"{name} holds records of shape {values.shape} and type {values.dtype}; give one "
            "row a point and one value a field."
        )
    return values, columns


def npy_rows(values: np.ndarray[Any, Any], columns: list[str], rows: slice) -> pd.DataFrame:
    """Some rows of such an array as a table of its own."""
    import pandas as pd

    part = np.array(values[rows])
    return pd.DataFrame(part, columns=None if part.dtype.names else columns)
