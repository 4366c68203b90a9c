"""Bytes from a path or standard input, out of gzip, bzip2, xz or zip."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from softkern._utils.text import plural, quote
from softkern.tables.io.reader import TableError

__all__ = [
    "HEAD",
    "WORKBOOK",
    "Survey",
    "broken",
    "damaged",
    "in_memory",
    "is_plain",
    "naming",
    "open_bytes",
    "peek",
    "pieces_of",
    "survey",
    "unpacked",
    "up_to",
]

WORKBOOK = "workbook"  # in place of a packing's name: a zip that is a table itself
HEAD = 2**20  # bytes from which a file's kind is found
PACKINGS: tuple[tuple[bytes, str, Callable[..., Any]], ...] = (
    (b"\x1f\x8b", "gzip", gzip.open),
    (b"BZh", "bzip2", bz2.open),
    (b"\xfd7zXZ\x00", "xz", lzma.open),
)


def open_bytes(path: str) -> BinaryIO:
    """Open a file, or standard input for "-"."""
    if path == "-":
        if sys.stdin is None:  # closed by whoever started the program
            raise TableError("standard input is closed.")
        return cast(BinaryIO, sys.stdin.buffer)
    if Path(path).is_dir():
        raise TableError(f"{quote(path)} is a folder; give a file.")
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise TableError(f"there is no file {quote(path)}.") from None
    except OSError as error:
        raise TableError(f"{quote(path)} cannot be read: {error.strerror}.") from error


class _Replayed(io.RawIOBase):
    """A stream whose first bytes were looked at, from its beginning; closes what it reads from."""

    def __init__(self, head: bytes, rest: BinaryIO, below: BinaryIO | None) -> None:
        self._head, self._rest, self._below = head, rest, below

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._head:
            part, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        else:
            part = self._rest.read(len(buffer))
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        if not self.closed:
            super().close()
            for stream in (self._rest, self._below):
                if stream is not None and stream is not getattr(sys.stdin, "buffer", None):
                    stream.close()


def peek(raw: BinaryIO, name: str) -> bytes:
    """The first bytes of a stream of `unpacked`."""
    with naming(name):
        return cast(io.BufferedReader, raw).peek(HEAD)[:HEAD]


class _Part(io.RawIOBase):
    """The first so many bytes of a stream, which it closes."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream, self._left = stream, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._stream.read(min(len(buffer), self._left))
        self._left -= len(part)
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._stream.close()


def up_to(stream: BinaryIO, size: int | None) -> BinaryIO:
    """The first so many bytes of a stream; all of them without a number."""
    return stream if size is None else cast(BinaryIO, io.BufferedReader(_Part(stream, size), HEAD))


def pieces_of(stream: BinaryIO) -> Iterator[bytes]:
    """A stream piece by piece, closed at the end."""
    with stream:
        yield from iter(lambda: stream.read(HEAD), b"")


@dataclass(frozen=True)
class Survey:
    """A stream looked through: its size, its last bytes, and whether all of it is UTF-8."""

    size: int
    tail: bytes
    is_utf8: bool


def survey(stream: BinaryIO, name: str, is_cut: bool = False) -> Survey:
    """Look through a stream once; one that `is_cut` may end within a letter."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    size, tail, is_utf8 = 0, b"", True
    with naming(name):
        for piece in pieces_of(stream):
            size += len(piece)
            tail = (tail + piece)[-HEAD:]
            try:
                decoder.decode(piece if is_utf8 else b"")
            except UnicodeDecodeError:
                is_utf8 = False
    if is_utf8 and not is_cut:
        is_utf8 = not decoder.getstate()[0]  # nothing is left of a letter
    return Survey(size, tail, is_utf8)


def _buffered(stream: BinaryIO, below: BinaryIO | None = None) -> BinaryIO:
    """The stream with its first bytes in the buffer, whether or not it can seek."""
    parts, size = [], 0
    while size < HEAD and (part := stream.read(HEAD - size)):
        parts.append(part)
        size += len(part)
    head = b"".join(parts)
    return cast(BinaryIO, io.BufferedReader(_Replayed(head, stream, below), HEAD))


def unpacked(raw: BinaryIO, name: str) -> tuple[BinaryIO, str]:
    """The stream within gzip, bzip2, xz or zip, and the packing's name; `WORKBOOK` for Excel's."""
    with naming(name):
        stream = _buffered(raw)
        head = peek(stream, name)
        try:
            if head.startswith(b"\x28\xb5\x2f\xfd"):
                raise TableError(f"{name} is packed by zstd, which is not read; unpack it first.")
            for mark, packing, unpack in PACKINGS:
                if head.startswith(mark):
                    return _buffered(unpack(stream), stream), f", {packing}"
            if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):  # the latter is empty
                whole = io.BytesIO(stream.read())
                member = _zip_member(whole, name)
                if member is not None:
                    return _buffered(member, stream), ", zip"
                whole.seek(0)
                return _buffered(cast(BinaryIO, whole), stream), WORKBOOK
        except BaseException:
            stream.close()
            raise
        return stream, ""


def _zip_member(stream: BinaryIO, name: str) -> BinaryIO | None:
    """The one file of a zip; None where the zip itself is a workbook."""
    archive = zipfile.ZipFile(io.BytesIO(stream.read()))
    members = [info for info in archive.infolist() if not info.is_dir()]
    names = {info.filename for info in members}
    if "xl/workbook.xml" in names:
        return None
    if "xl/workbook.bin" in names:
        raise TableError(f"{name} is a binary workbook (.xlsb); save it as .xlsx or CSV.")
    if "content.xml" in names and "mimetype" in names:
        raise TableError(f"{name} is an OpenDocument file (.ods); save it as .xlsx or CSV.")
    if "[Content_Types].xml" in names:
        raise TableError(f"{name} is an office document; save its table as .xlsx or CSV.")
    if len(members) != 1:
        few = ", ".join(quote(name) for name in sorted(names)[:3]) + ", …" * (len(names) > 3)
        raise TableError(
            f"{name} is a zip of {plural(len(members), 'file')} ({few}); unpack it and give one "
            "of them."
        )
    return cast(BinaryIO, archive.open(members[0]))


def broken(name: str, error: Exception) -> TableError:
    """Return the error for a file that cannot be read."""
    return TableError(f"{name} cannot be read: {quote(error, 200).rstrip('. ')}.")


def damaged(name: str, what: str) -> TableError:
    """For files of programs, of whose insides a library's words would say nothing to a user."""
    return TableError(
        f"{name} begins as {what} and cannot be read: it is damaged, or of a kind that is not "
        "known here. Fetch or write it again, or give it as CSV."
    )


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Name the file in whatever a broken one makes its reader raise."""
    try:
        yield
    except (OSError, EOFError, zipfile.BadZipFile, lzma.LZMAError, zlib.error) as error:
        raise broken(name, error) from error


def is_plain(path: str, packed: str) -> bool:
    """Whether the file itself can be read at any place, so that it need not fit into memory."""
    return not packed and Path(path).is_file()


def in_memory(raw: BinaryIO, name: str) -> io.BytesIO:
    """Read a whole stream into memory."""
    with naming(name):
        return io.BytesIO(raw.read())
