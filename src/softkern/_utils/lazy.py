"""Public names imported when first used, so that one model does not wait for all the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def importer(package: str, homes: Mapping[str, str | None]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package.

    `homes` maps each public name to its module in the package, and a public module to None.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        if home is None:
            return import_module(f"{package}.{name}")
        return getattr(import_module(f"{package}.{home}"), name)

    return find
