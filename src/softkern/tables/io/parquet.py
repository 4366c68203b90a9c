"""Reads Parquet files. A plain file is read in batches, and need not fit into memory."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pandas as pd

from softkern.tables.io.bytes import TableBytes, damaged
from softkern.tables.io.reader import Format, Names, Reader, Style, TableError, Tables, unique_names
from softkern.tables.preparation.cells import replace_words

__all__ = ["ParquetReader", "import_parquet", "naming_damage"]


class ParquetReader(Reader):
    """An open Parquet file."""

    def __init__(self, data: TableBytes, form: Format) -> None:
        parquet = import_parquet(f"{data.name} is Parquet, which")
        file = data.path if data.is_plain else io.BytesIO(data.read())
        with naming_damage(data.name):
            self._file = parquet.ParquetFile(file)
            names = [str(column) for column in self._file.schema_arrow.names]
        data.close()
        self._form = form
        notes: list[str] = []
        columns = unique_names(names, notes)
        kind = f"Parquet{data.suffix}"
        super().__init__(data.name, kind, columns, notes, style=Style(".parquet"))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def iter_tables(self, rows: int | None, text: Names, words: Names) -> Tables:
        """Yield tables of at most `rows` rows. For None, one table of all rows."""
        import pyarrow as pa

        with naming_damage(self.name):
            if rows is None:
                yield self._table(self._file.read(), text)
                return
            for batch in self._file.iter_batches(rows):
                yield self._table(pa.Table.from_batches([batch]), text)

    def _table(self, part: Any, text: Sequence[str]) -> pd.DataFrame:
        table = part.to_pandas(ignore_metadata=True)  # an index of pandas is an ordinary column
        return replace_words(table.set_axis(self.columns, axis=1), self._form.marks(), text)


def import_parquet(needed_by: str) -> Any:
    """Return pyarrow's module for Parquet."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise TableError(f"{needed_by} needs pyarrow: pip install 'softkern[parquet]'.") from None
    return parquet


@contextmanager
def naming_damage(name: str) -> Iterator[None]:
    """Name the file in the errors that a damaged one makes pyarrow raise."""
    from pyarrow import ArrowException

    try:
        yield
    except MemoryError as error:
        raise MemoryError(f"{name} does not fit") from error
    except (
        *(ArrowException, OSError, ValueError, TypeError),
        *(LookupError, RuntimeError, OverflowError),
    ) as error:
        raise damaged(name, "a Parquet file") from error
