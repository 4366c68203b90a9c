"""How loops are compiled: kept on the disk for the next time, where there is a place to keep them.

Called by the files that hold compiled loops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from softkern._memory import address_space

ROOM = 2**28  # bytes of address space that the compiler may take; without, it ends the program
if address_space() < ROOM:
    raise MemoryError(
        f"compiled loops may need {ROOM // 2**20} MiB of address space, and "
        f"{max(address_space(), 0) / 2**20:.0f} MiB are left; raise ulimit -v."
    )

from numba import njit  # noqa: E402

__all__ = ["compiled"]


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

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:  # neither the package's folder nor the user's own can be written
            return njit(**options)(function)

    return decorate
