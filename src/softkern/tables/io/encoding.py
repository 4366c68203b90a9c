"""Detects the encoding of a text: by its byte order mark, else UTF-8, else cp1252 with a note.

Programs on Windows write CSV in an 8-bit encoding of their country. Its bytes are not UTF-8, but
short texts do not show which encoding it is: cp1252 is the most frequent, and the note quotes a
word of the text, by which a reader sees whether it is right. A statistical detector such as
charset-normalizer guesses among all of them, and so differs from file to file.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable

from softkern._utils.text import quote
from softkern.tables.io.bytes import TableBytes
from softkern.tables.io.reader import TableError

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
WESTERN = "cp1252"
# control characters, and bytes that are not letters in cp1252
NO_LETTERS = re.compile(rb"[\x00-\x08\x0b\x0e-\x19\x1b-\x1f\x7f\x81\x8d\x8f\x90\x9d]")
HIGH = re.compile(rb"[\x80-\xff]")
SEQUENCES = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
WORD = re.compile(rb'[^\s,;|"]*[\x80-\xff][^\s,;|"]*')
ZEROS = 0.8  # least share of zeros in every second byte of UTF-16


def detect_encoding(data: TableBytes, is_utf8: bool, given: str | None, notes: list[str]) -> str:
    """Return the encoding, the given one if there is one, and add notes on it."""
    if given is not None:
        try:
            return codecs.lookup(given).name
        except LookupError:
            raise TableError(f"there is no encoding {quote(given)!r}.") from None
    head = data.head
    for mark, name in MARKS:
        if head.startswith(mark):
            return name
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros = head[start::2].count(0)
        if zeros > ZEROS * len(head) / 2 and not head[1 - start :: 2].count(0):
            notes.append(f"read as {name}, by its bytes (--encoding names another)")
            return name
    word = "" if is_utf8 else _western_word(data.pieces())
    if not word:  # if it is not UTF-8, the reader names the byte and the line
        return "utf-8"
    notes.append(
        f"it is not UTF-8: read as {WESTERN}, in which a word of it is '{quote(word, 30)}' "
        "(--encoding names another, such as cp1250, cp1251 or mac-roman)"
    )
    return WESTERN


def _western_word(pieces: Iterable[bytes]) -> str:
    """Return a word with letters of cp1252, or "" if the text cannot be cp1252.

    If most letters beyond ASCII are sequences of UTF-8, the text is UTF-8 with damaged bytes.
    """
    word, lone, sequences = b"", 0, 0
    for piece in pieces:
        if NO_LETTERS.search(piece):
            return ""
        rest, found = SEQUENCES.subn(b"", piece)
        high = len(HIGH.findall(rest))
        lone, sequences = lone + high, sequences + found
        if high and not word and (shown := WORD.search(rest)):
            word = shown[0]
    return word.decode(WESTERN) if lone > 2 * sequences else ""


def without_mark(encoding: str, head: bytes) -> str:
    """Return the encoding for a piece of the text without a byte order mark."""
    if encoding == "utf-16":
        return "utf-16-be" if head.startswith(codecs.BOM_UTF16_BE) else "utf-16-le"
    return "utf-8" if encoding == "utf-8-sig" else encoding
