"""Public names imported when first used, so that one model does not wait for all the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["importer"]


def importer(package: str, homes: Mapping[str, str | None]) -> Callable[[str], Any]:
    """The `__getattr__` of a package that finds public names in their modules.

    Parameters
    ----------
    package : str
    homes : dict
        Every public name and the module of the package that it lives in; None for a public module.

    Examples
    --------
    >>> find = importer("softkern", {"OneClassPCM": "models.one_class_pcm", "kernels": None})
    >>> find("OneClassPCM").__name__, find("kernels").__name__
    ('OneClassPCM', 'softkern.kernels')
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        if home is None:
            return import_module(f"{package}.{name}")
        return getattr(import_module(f"{package}.{home}"), name)

    return find
