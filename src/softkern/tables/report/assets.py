"""Files of this folder that pages are made of, and templates that escape what is put into them."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

__all__ = ["asset", "template"]


def asset(name: str) -> str:
    """The text of a file beside this one."""
    return files("softkern.tables.report").joinpath(name).read_text(encoding="utf-8")


def template(name: str, **filters: Any) -> Any:
    """A template to render; all values are escaped, and one that is missing is an error."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= filters
    return environment.from_string(asset(name))
