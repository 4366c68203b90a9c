"""The bytes of a table, from a file or standard input, out of gzip, bzip2, xz or zip."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from softkern._utils.text import plural, quote
from softkern.tables.io.reader import TableError

WORKBOOK = "workbook"  # used as a packing: a zip that is a table itself
HEAD = 2**20  # bytes from which the kind of a file is detected
IN_MEMORY = 2**26  # bytes up to which a file is kept in memory, so that it is read once
PACKINGS: tuple[tuple[bytes, str, Callable[..., Any]], ...] = (
    (b"\x1f\x8b", "gzip", gzip.open),
    (b"BZh", "bzip2", bz2.open),
    (b"\xfd7zXZ\x00", "xz", lzma.open),
)
ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # the second is an empty zip
ZSTD = b"\x28\xb5\x2f\xfd"
OFFICE = {
    "xl/workbook.bin": "a binary workbook (.xlsb); save it",
    "content.xml": "an OpenDocument file (.ods); save it",
    "[Content_Types].xml": "an office document; save its table",
}


class TableBytes:
    """The decompressed bytes of a file, or of standard input for the path "-".

    `head` holds the first bytes, all of them unless `is_cut`. A stream that is longer can be read
    only once (`can_reopen`), as its first rows need not wait for the others. `packing` is "gzip",
    "bzip2", "xz", "zip", `WORKBOOK`, or "".
    """

    def __init__(self, path: str, name: str) -> None:
        self.path, self.name = path, name
        self.is_file = path != "-" and Path(path).is_file()
        self._stream: BinaryIO | None = None  # from its beginning, if it cannot be opened again
        most = IN_MEMORY if self.is_file else HEAD
        with naming_errors(name), ExitStack() as self._files:
            stream, self.packing = self._decompress(self._open_raw())
            start = stream.read(most)
            self._whole = start if len(start) < most else None
            self.can_reopen = self.is_file or self._whole is not None
            if not self.can_reopen:
                self._stream = _buffer(stream, head=start)
                self._files = self._files.pop_all()  # it stays open
        self.head = start[:HEAD]
        self.is_cut = self._whole is None or len(start) > HEAD
        self.suffix = f", {self.packing}" if self.packing else ""  # in the description of a table

    def open(self, end: int | None = None) -> BinaryIO:
        """Return the bytes from the beginning, up to `end`."""
        if self._whole is not None:
            return io.BytesIO(self._whole[:end])
        stream, self._stream = self._stream, None
        with naming_errors(self.name):
            stream = stream or self._decompress(self._open_raw())[0]
        return stream if end is None else _buffer(stream, length=end)

    def pieces(self) -> Iterator[bytes]:
        """Yield all bytes piece by piece, or the head of what can be read only once."""
        stream = self.open() if self.can_reopen else io.BytesIO(self.head)
        with naming_errors(self.name):
            yield from iter(lambda: stream.read(HEAD), b"")

    def read(self) -> bytes:
        """Return all bytes, and keep them."""
        if self._whole is None:
            with naming_errors(self.name):
                self._whole = self.open().read()
            self.close()
        return self._whole

    def file(self) -> str | BinaryIO:
        """Return the path of a file that is not packed, and need not fit into memory, or bytes."""
        return self.path if self.is_file and not self.packing else io.BytesIO(self.read())

    def close(self) -> None:
        """Close all files. Standard input stays open."""
        self._files.close()

    def _open_raw(self) -> BinaryIO:
        if self.path == "-":
            if sys.stdin is None:  # closed by the parent process
                raise TableError("standard input is closed.")
            return sys.stdin.buffer
        if Path(self.path).is_dir():
            raise TableError(f"{quote(self.path)} is a folder; give a file.")
        try:
            return self._files.enter_context(open(self.path, "rb"))
        except FileNotFoundError:
            raise TableError(f"there is no file {quote(self.path)}.") from None
        except OSError as error:
            raise TableError(f"{quote(self.path)} cannot be read: {error.strerror}.") from error

    def _decompress(self, raw: Any) -> tuple[BinaryIO, str]:
        """Return the stream within a packed one, and the packing. A workbook stays packed."""
        if not self.is_file:  # a pipe returns few bytes at a time, and standard input stays open
            raw = _buffer(raw)
        start = raw.peek(6)
        if start.startswith(ZSTD):
            raise TableError(f"{self.name} is packed by zstd, which is not supported; unpack it.")
        for mark, packing, opener in PACKINGS:
            if start.startswith(mark):
                return self._files.enter_context(opener(raw)), packing
        if not start.startswith(ZIP):
            return raw, ""
        packed = raw if raw.seekable() else io.BytesIO(raw.read())
        archive = self._files.enter_context(zipfile.ZipFile(packed))
        members = [info for info in archive.infolist() if not info.is_dir()]
        names = {info.filename for info in members}
        if "xl/workbook.xml" in names:
            packed.seek(0)
            return packed, WORKBOOK
        for part, what in OFFICE.items():
            if part in names and (part != "content.xml" or "mimetype" in names):
                raise TableError(f"{self.name} is {what} as .xlsx or CSV.")
        if len(members) != 1:
            few = ", ".join(map(quote, sorted(names)[:3])) + ", …" * (len(names) > 3)
            raise TableError(
                f"{self.name} is a zip of {plural(len(members), 'file')} ({few}); unpack it and "
                "give one of them."
            )
        return cast(BinaryIO, self._files.enter_context(archive.open(members[0]))), "zip"


class _Section(io.RawIOBase):
    """Some bytes and the stream that continues them, up to a length."""

    def __init__(self, head: bytes, rest: BinaryIO, length: int) -> None:
        self._head, self._rest, self._left = head, rest, length

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = min(len(buffer), self._left)
        if self._head:
            part, self._head = self._head[:size], self._head[size:]
        else:
            part = self._rest.read(size)
        self._left -= len(part)
        buffer[: len(part)] = part
        return len(part)


def _buffer(stream: BinaryIO, head: bytes = b"", length: int = sys.maxsize) -> BinaryIO:
    return io.BufferedReader(_Section(head, stream, length), HEAD)


@contextmanager
def naming_errors(name: str) -> Iterator[None]:
    """Name the file in the errors that a damaged stream causes."""
    try:
        yield
    except (OSError, EOFError, zipfile.BadZipFile, lzma.LZMAError, zlib.error) as error:
        raise TableError(f"{name} cannot be read: {quote(error, 200).rstrip('. ')}.") from error


@contextmanager
def naming_damage(name: str, what: str) -> Iterator[None]:
    """Name the file in the errors of a library, which may raise any type for a damaged file."""
    try:
        yield
    except MemoryError as error:
        raise MemoryError(f"{name} does not fit") from error
    except Exception as error:
        raise TableError(
            f"{name} begins as {what} and cannot be read: it is damaged, or of an unknown version. "
            "Fetch or write it again, or give it as CSV."
        ) from error
