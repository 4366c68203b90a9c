"""The page of `softkern compare`: sentences and tables without scripts, all escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from softkern.tables.report.assets import asset, template


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
    shown = [part for part in parts if part.rows]
    page = template("comparison.html").render(
        title=title, lead=lead, notes=notes, parts=shown, style=asset("style.css")
    )
    path.write_text(page, encoding="utf-8", errors="replace")
