"""Templates of the pages, which escape all values."""

from __future__ import annotations

from importlib.resources import files
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
