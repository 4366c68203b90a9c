"""In which encoding a text is written: what its mark says, else UTF-8, else cp1252, which is said.

Programs on Windows write CSV in an 8-bit encoding of their country. Its bytes are no UTF-8, but
nothing in them tells one from another: cp1252 is the most usual, and a word of the text shows
whether it was meant. Called by the reader of text.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable

from softkern._utils.text import quote
from softkern.tables.io.reader import Format, TableError

__all__ = ["encoding_of", "one_piece"]

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
WESTERN = "cp1252"
# control characters, and bytes that cp1252 gives no letter
NO_LETTERS = re.compile(rb"[\x00-\x08\x0b\x0e-\x19\x1b-\x1f\x7f\x81\x8d\x8f\x90\x9d]")
HIGH = re.compile(rb"[\x80-\xff]")
SEQUENCES = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
WORD = re.compile(rb'[^\s,;|"]*[\x80-\xff][^\s,;|"]*')
ZEROS = 0.8  # share of every second byte, of text in UTF-16


def encoding_of(
    head: bytes, is_utf8: bool, pieces: Callable[[], Iterable[bytes]], form: Format
) -> tuple[str, list[str]]:
    r"""The encoding, and what to say of it.

    Parameters
    ----------
    head : bytes
        The beginning.
    is_utf8 : bool
        Whether all that is known of the text is.
    pieces : callable
        Gives all that is known of the text, where it is not UTF-8.
    form : Format

    Examples
    --------
    >>> text = "Größe;Ort\n3;Köln\n".encode("cp1252")
    >>> encoding_of(text, False, lambda: [text], Format())
    ('cp1252', ["it is not UTF-8: read as cp1252, in which a word of it is 'Größe' ..."])
    """
    if form.encoding is not None:
        try:
            return codecs.lookup(form.encoding).name, []
        except LookupError:
            raise TableError(f"there is no encoding {quote(form.encoding)!r}.") from None
    marked = next((word for mark, word in MARKS if head.startswith(mark)), "")
    if marked:
        return marked, []
    for start, word in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros = head[start::2].count(0)
        if zeros > ZEROS * len(head) / 2 and not head[1 - start :: 2].count(0):
            return word, [f"read as {word}, by its bytes (--encoding names another)"]
    if is_utf8:
        return "utf-8", []
    word = _western_word(pieces())
    if not word:  # the reader says which byte of which line
        return "utf-8", []
    return WESTERN, [
        f"it is not UTF-8: read as {WESTERN}, in which a word of it is '{quote(word, 30)}' "
        "(--encoding names another, such as cp1250, cp1251 or mac-roman)"
    ]


def _western_word(pieces: Iterable[bytes]) -> str:
    """A word with letters of cp1252; empty where the text cannot be that.

    It is not where most letters beyond ASCII are sequences of UTF-8: then some bytes are broken.
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


def one_piece(encoding: str, head: bytes) -> str:
    """The encoding for a piece of the text that has no mark at its beginning."""
    if encoding == "utf-16":
        return "utf-16-be" if head.startswith(codecs.BOM_UTF16_BE) else "utf-16-le"
    return "utf-8" if encoding == "utf-8-sig" else encoding
