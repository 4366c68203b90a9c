"""Reads Parquet files. A plain file is read in batches, and need not fit into memory."""

from __future__ import annotations

from typing import Any

from softkern.tables.io.bytes import TableBytes, naming_damage
from softkern.tables.io.reader import Format, Names, Reader, Style, TableError, Tables, unique_names
from softkern.tables.preparation.cells import replace_words

PARQUET = "a Parquet file"


class ParquetReader(Reader):
    """An open Parquet file."""

    def __init__(self, data: TableBytes, form: Format) -> None:
        super().__init__(data.name, form)
        self.kind, self.style = f"Parquet{data.suffix}", Style(".parquet")
        parquet = import_parquet(f"{data.name} is Parquet, which")
        with naming_damage(data.name, PARQUET):
            self._file = parquet.ParquetFile(data.file())
            names = [str(column) for column in self._file.schema_arrow.names]
        self.columns = unique_names(names, self.notes)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def iter_tables(self, rows: int | None, text: Names, words: Names) -> Tables:
        """Yield tables of at most `rows` rows. For None, one table of all rows."""
        with naming_damage(self.name, PARQUET):
            parts = [self._file.read()] if rows is None else self._file.iter_batches(rows)
            for part in parts:
                table = part.to_pandas(ignore_metadata=True)  # its index is an ordinary column
                yield replace_words(table.set_axis(self.columns, axis=1), self.form.marks(), text)


def import_parquet(needed_by: str) -> Any:
    """Return pyarrow's module for Parquet."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise TableError(f"{needed_by} needs pyarrow: pip install 'softkern[parquet]'.") from None
    return parquet
