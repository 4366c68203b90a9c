"""Templates of the pages, which escape all values, and the page of `softkern compare`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any


def asset(name: str) -> str:
    """Return the text of a file in this folder."""
    return files("softkern.tables.report").joinpath(name).read_text(encoding="utf-8")


def template(name: str, **filters: Any) -> Any:
    """Return a template that escapes values and raises for missing ones."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= filters
    # JSON is escaped, too: it has no character that could end a script element
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment.from_string(asset(name))


@dataclass(frozen=True)
class Part:
    """One table of the page. Numbers from 0 to 1 are drawn as bars."""

    heading: str
    head: Sequence[str]
    rows: Sequence[Sequence[str | float]]
    help: str = ""


def write_comparison(
    path: Path, title: str, lead: Sequence[str], notes: Sequence[str], parts: Sequence[Part]
) -> None:
    """Write one self-contained HTML page without empty tables."""
    page = template("comparison.html").render(
        title=title, lead=lead, notes=notes, parts=parts, style=asset("style.css")
    )
    path.write_text(page, encoding="utf-8", errors="replace")
