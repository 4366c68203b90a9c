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

__all__ = ["HEAD", "WORKBOOK", "TableBytes", "damaged", "naming_errors", "unreadable"]

WORKBOOK = "workbook"  # in place of a packing: a zip that is a table itself
HEAD = 2**20  # bytes from which the kind of a file is detected
IN_MEMORY = 2**26  # bytes up to which a text is kept in memory, so that its file is read once
PACKINGS: tuple[tuple[bytes, str, Callable[..., Any]], ...] = (
    (b"\x1f\x8b", "gzip", gzip.open),
    (b"BZh", "bzip2", bz2.open),
    (b"\xfd7zXZ\x00", "xz", lzma.open),
)
ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # the latter is empty
ZSTD = b"\x28\xb5\x2f\xfd"


class TableBytes:
    """The decompressed bytes of a table.

    Parameters
    ----------
    path : str
        A file; "-" for standard input.
    name : str
        What messages call it.

    Attributes
    ----------
    packing : str
        "gzip", "bzip2", "xz", "zip", `WORKBOOK`, or "".
    head : bytes
        The first bytes, all of them where `is_cut` is False.
    can_reopen : bool
        Whether `open` can be called more than once.
    """

    def __init__(self, path: str, name: str) -> None:
        self.path, self.name = path, name
        self.is_file = path != "-" and Path(path).is_file()
        self._files = ExitStack()
        self._whole: bytes | None = None
        self._next: BinaryIO | None
        try:
            with naming_errors(name):
                stream, self.packing = self._decompress(self._open_raw())
                self.head, self._next = self._peek(stream, HEAD)
        except BaseException:
            self.close()
            raise
        self.is_cut = len(self.head) == HEAD
        self.can_reopen = self.is_file or not self.is_cut
        if not self.is_cut:
            self._hold(self.head)

    @property
    def is_plain(self) -> bool:
        """Whether the file itself holds the table, which then need not fit into memory."""
        return not self.packing and self.is_file

    @property
    def suffix(self) -> str:
        """The packing as a kind of table shows it."""
        return f", {self.packing}" if self.packing else ""

    def keep(self) -> None:
        """Read a file of moderate size into memory, so that it is read only once.

        A stream is not: its first rows need not wait for the others.
        """
        if self._whole is not None or not self.is_file:
            return
        with naming_errors(self.name):
            start, self._next = self._peek(self.open(), IN_MEMORY)
        if len(start) < IN_MEMORY:
            self._hold(start)

    def open(self, end: int | None = None) -> BinaryIO:
        """Return the bytes from the beginning, up to `end`."""
        if self._whole is not None:
            return io.BytesIO(self._whole[:end])
        stream, self._next = self._next, None
        with naming_errors(self.name):
            stream = stream or self._decompress(self._open_raw())[0]
        return stream if end is None else _buffered(b"", stream, end)

    def pieces(self) -> Iterator[bytes]:
        """Yield all bytes piece by piece."""
        stream = self.open()
        with naming_errors(self.name):
            yield from iter(lambda: stream.read(HEAD), b"")

    def read(self) -> bytes:
        """Return all bytes, and keep them."""
        if self._whole is None:
            with naming_errors(self.name):
                self._hold(self.open().read())
        assert self._whole is not None
        return self._whole

    def close(self) -> None:
        """Close all files. Standard input stays open."""
        self._files.close()

    def _hold(self, whole: bytes) -> None:
        self._whole, self._next = whole, None
        self.close()

    def _peek(self, stream: BinaryIO, size: int) -> tuple[bytes, BinaryIO]:
        """Return the first bytes of a stream, and the stream from its beginning."""
        head = stream.read(size)
        if not self.is_file:
            return head, _buffered(head, stream)
        stream.seek(0)
        return head, stream

    def _open_raw(self) -> BinaryIO:
        if self.path == "-":
            if sys.stdin is None:  # closed by the parent process
                raise TableError("standard input is closed.")
            return _buffered(b"", sys.stdin.buffer)  # which is not closed with it
        if Path(self.path).is_dir():
            raise TableError(f"{quote(self.path)} is a folder; give a file.")
        try:
            return self._files.enter_context(open(self.path, "rb"))
        except FileNotFoundError:
            raise TableError(f"there is no file {quote(self.path)}.") from None
        except OSError as error:
            raise TableError(f"{quote(self.path)} cannot be read: {error.strerror}.") from error

    def _decompress(self, raw: BinaryIO) -> tuple[BinaryIO, str]:
        """Return the stream within a packed one, and the packing."""
        start, raw = self._peek(raw, 6)
        if start.startswith(ZSTD):
            raise TableError(f"{self.name} is packed by zstd, which is not supported; unpack it.")
        for mark, packing, opener in PACKINGS:
            if start.startswith(mark):
                return self._files.enter_context(opener(raw)), packing
        if not start.startswith(ZIP):
            return raw, ""
        archive = raw if raw.seekable() else io.BytesIO(raw.read())
        member = self._zip_member(archive)
        if member is not None:
            return self._files.enter_context(member), "zip"
        archive.seek(0)
        return archive, WORKBOOK

    def _zip_member(self, stream: BinaryIO) -> BinaryIO | None:
        """Return the one file of a zip; None where the zip itself is a workbook."""
        archive = self._files.enter_context(zipfile.ZipFile(stream))
        members = [info for info in archive.infolist() if not info.is_dir()]
        names = {info.filename for info in members}
        if "xl/workbook.xml" in names:
            return None
        other = None
        if "xl/workbook.bin" in names:
            other = "a binary workbook (.xlsb); save it"
        elif "content.xml" in names and "mimetype" in names:
            other = "an OpenDocument file (.ods); save it"
        elif "[Content_Types].xml" in names:
            other = "an office document; save its table"
        if other is not None:
            raise TableError(f"{self.name} is {other} as .xlsx or CSV.")
        if len(members) != 1:
            few = ", ".join(quote(name) for name in sorted(names)[:3]) + ", …" * (len(names) > 3)
            raise TableError(
                f"{self.name} is a zip of {plural(len(members), 'file')} ({few}); unpack it and "
                "give one of them."
            )
        return cast(BinaryIO, archive.open(members[0]))


class _Section(io.RawIOBase):
    """Some bytes and the stream that continues them, up to a length."""

    def __init__(self, head: bytes, rest: BinaryIO, length: int | None) -> None:
        self._head, self._rest, self._left = head, rest, length

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = len(buffer) if self._left is None else min(len(buffer), self._left)
        if self._head:
            part, self._head = self._head[:size], self._head[size:]
        else:
            part = self._rest.read(size)
        if self._left is not None:
            self._left -= len(part)
        buffer[: len(part)] = part
        return len(part)


def _buffered(head: bytes, rest: BinaryIO, length: int | None = None) -> BinaryIO:
    return io.BufferedReader(_Section(head, rest, length), HEAD)


def unreadable(name: str, error: Exception) -> TableError:
    """Return the error for a file that cannot be read."""
    return TableError(f"{name} cannot be read: {quote(error, 200).rstrip('. ')}.")


def damaged(name: str, what: str) -> TableError:
    """Return the error for a damaged file whose library raises messages that help no user."""
    return TableError(
        f"{name} begins as {what} and cannot be read: it is damaged, or of an unknown version. "
        "Fetch or write it again, or give it as CSV."
    )


@contextmanager
def naming_errors(name: str) -> Iterator[None]:
    """Name the file in the errors that a damaged one causes."""
    try:
        yield
    except (OSError, EOFError, zipfile.BadZipFile, lzma.LZMAError, zlib.error) as error:
        raise unreadable(name, error) from error
