"""How loops are compiled: kept on the disk for the next time, where there is a place to keep them.

Called by the files that hold compiled loops.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from softkern._utils.memory import address_space

__all__ = ["compiled", "compiled_later"]

ROOM = 2**28  # bytes of address space that the compiler may take; without, it ends the program


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that compiles a function when it is first called.

    Examples
    --------
    >>> @compiled(nogil=True)
    ... def twice(x):
    ...     return 2 * x
    >>> twice(21)
    42
    """
    if address_space() < ROOM:
        raise MemoryError(
            f"compiled loops may need {ROOM // 2**20} MiB of address space, and "
            f"{max(address_space(), 0) / 2**20:.0f} MiB are left; raise ulimit -v."
        )
    from numba import njit

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:  # neither the package's folder nor the user's own can be written
            return njit(**options)(function)

    return decorate


def compiled_later(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a function that other compiled ones do not call: until then numba waits too.

    Examples
    --------
    >>> @compiled_later
    ... def half(x):
    ...     return x / 2
    >>> half(21)
    10.5
    """
    loop = cache(lambda: compiled(nogil=True)(function))

    @wraps(function)
    def call(*arguments: Any) -> Any:
        return loop()(*arguments)

    return call
