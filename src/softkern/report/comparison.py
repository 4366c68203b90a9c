"""The page of `softkern compare`: sentences and tables, in the look of the report, without script.

All that comes from the data is text that the template escapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

__all__ = ["Part", "write_comparison"]


@dataclass(frozen=True)
class Part:
    """A table of the page; a number from 0 to 1 in a cell is drawn as a bar."""

    heading: str
    head: Sequence[str]
    rows: Sequence[Sequence[str | float]]
    help: str = ""


def write_comparison(
    path: Path, title: str, lead: Sequence[str], notes: Sequence[str], parts: Sequence[Part]
) -> None:
    """Write one self-contained HTML page; parts without rows are left out.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "compare.html"
    ...     write_comparison(page, "a <b>", ["one"], [], [Part("Drift", ["x"], [[0.5]])])
    ...     "a &lt;b&gt;" in page.read_text(encoding="utf-8")
    True
    """
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    page = environment.from_string(_asset("comparison.html")).render(
        title=title,
        lead=lead,
        notes=notes,
        parts=[part for part in parts if part.rows],
        style=Markup(_asset("style.css")),
    )
    path.write_text(page, encoding="utf-8")


def _asset(name: str) -> Any:
    return files("softkern.report").joinpath(name).read_text(encoding="utf-8")
