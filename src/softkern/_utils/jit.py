"""Compilation of loops by numba, cached on disk where there is a place to write."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from softkern._utils.memory import address_space

ROOM = 2**28  # bytes of address space that the compiler may need; without, it ends the program


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function that is compiled when it is first called."""
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
    """As `compiled`, with numba imported at the first call; for loops that no other one calls."""
    loop = cache(lambda: compiled(nogil=True)(function))

    @wraps(function)
    def call(*arguments: Any) -> Any:
        return loop()(*arguments)

    return call
