"""A page as a list of blocks, written as HTML or as Markdown: one content, two forms."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Block", "Cell", "Heading", "Image", "Link", "Table", "Text", "as_html", "as_markdown"]

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  color: #1c1c1c; background: #fff; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.25rem; margin-top: 2.4rem;
  border-top: 1px solid #ccc; padding-top: 1rem; } h3 { font-size: 1rem; margin-bottom: .3rem; }
.wide { overflow-x: auto; } p { overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: .6rem 0; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .7rem .25rem 0;
  border-bottom: 1px solid #ddd; }
th { border-bottom: 2px solid #999; } td { font-variant-numeric: tabular-nums; }
img { max-width: 100%; height: auto; } figure { margin: 1rem 0; }
figcaption { font-size: .9rem; color: #444; }
@media (max-width: 40rem) { .stacked tr { display: block; padding: .4rem 0;
  border-bottom: 1px solid #ddd; } .stacked td { display: block; border: 0; padding: .1rem 0; }
  .stacked tr:first-child { display: none; } figure { overflow-x: auto; }
  figure img { max-width: none; width: 46rem; } table { font-size: .8rem; }
  th, td { padding-right: .45rem; } }
.verdict { display: inline-block; padding: 0 .5em; border-radius: .3em; color: #fff;
  white-space: nowrap; }
.reproduces { background: #00704f; } .partly { background: #8a5a00; }
.contradicts { background: #a33b00; } .cannot-be-tested, .not-run { background: #5f5f5f; }
a { color: #005a9c; } td a { white-space: nowrap; }
@media (prefers-color-scheme: dark) { body { color: #eee; background: #161616; }
  figcaption { color: #bbb; } th, td { border-color: #444; } a { color: #7cc0ff; }
  img { background: #fff; } }
"""


@dataclass(frozen=True)
class Link:
    """Text that leads somewhere."""

    text: str
    target: str


@dataclass(frozen=True)
class Verdict:
    """A verdict, which a page colors."""

    word: str


Cell = str | Link | Verdict


@dataclass(frozen=True)
class Heading:
    """A heading, which can be linked to by its text in small letters."""

    level: int
    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph of parts."""

    parts: tuple[Cell, ...]

    @classmethod
    def of(cls, *parts: Cell) -> Text:
        """A paragraph of these parts."""
        return cls(parts)


@dataclass(frozen=True)
class Table:
    """A table of cells; on a narrow screen it is moved sideways, or its cells are stacked."""

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    stacks: bool = False


@dataclass(frozen=True)
class Image:
    """A picture with what it shows."""

    file: str
    alt: str
    caption: str


Block = Heading | Text | Table | Image


def as_markdown(blocks: Sequence[Block]) -> str:
    r"""The page as Markdown.

    Examples
    --------
    >>> print(as_markdown([Heading(1, "Title"), Table(["a"], [["1 | 2"]])]))
    # Title
    <BLANKLINE>
    | a |
    |---|
    | 1 \| 2 |
    <BLANKLINE>
    """
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {_plain(block.text)}"
    if isinstance(block, Text):
        return "".join(map(_plain, block.parts))
    if isinstance(block, Image):
        return f"![{_plain(block.alt)}]({block.file})\n\n*{_plain(block.caption)}*"
    lines = [block.head, ["---"] * len(block.head), *block.rows]
    rows = [" | ".join(_plain(cell) for cell in line) for line in lines]
    rows[1] = "|".join(["---"] * len(block.head))
    return "\n".join(f"|{row}|" if i == 1 else f"| {row} |" for i, row in enumerate(rows))


def _plain(cell: Cell) -> str:
    if isinstance(cell, Link):
        return f"[{_plain(cell.text)}]({cell.target})"
    if isinstance(cell, Verdict):
        return f"**{cell.word}**"
    text = cell.replace("\\", "\\\\")
    for letter in "|*_<`":
        text = text.replace(letter, f"\\{letter}")
    return text


def as_html(title: str, blocks: Sequence[Block]) -> str:
    """The page as one HTML file; all that comes from elsewhere is escaped.

    Examples
    --------
    >>> "a &lt; b" in as_html("page", [Text.of("a < b")])
    True
    """
    body = "\n".join(_html(block) for block in blocks)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "img-src 'self' file: data:; style-src 'unsafe-inline'\">\n"
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n"
        "</body>\n</html>\n"
    )


def _html(block: Block) -> str:
    if isinstance(block, Heading):
        text = html.escape(block.text)
        return f'<h{block.level} id="{text.casefold()}">{text}</h{block.level}>'
    if isinstance(block, Text):
        return f"<p>{''.join(map(_marked, block.parts))}</p>"
    if isinstance(block, Image):
        file = html.escape(block.file)
        return (
            f'<figure><a href="{file}"><img src="{file}" alt="{html.escape(block.alt)}"></a>'
            f"<figcaption>{html.escape(block.caption)}</figcaption></figure>"
        )
    head = "".join(f"<th>{html.escape(name)}</th>" for name in block.head)
    rows = "\n".join(
        f"<tr>{''.join(f'<td>{_marked(cell)}</td>' for cell in row)}</tr>" for row in block.rows
    )
    kind = "wide stacked" if block.stacks else "wide"
    return f'<div class="{kind}"><table>\n<tr>{head}</tr>\n{rows}\n</table></div>'


def _marked(cell: Cell) -> str:
    if isinstance(cell, Link):
        target = cell.target.replace(".md", ".html") if ":" not in cell.target else cell.target
        return f'<a href="{html.escape(target)}">{html.escape(cell.text)}</a>'
    if isinstance(cell, Verdict):
        name = cell.word.replace(" ", "-")
        return f'<span class="verdict {name}">{html.escape(cell.word)}</span>'
    return html.escape(cell)
