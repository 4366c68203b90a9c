"""Shared by the parts of the calibration: table rows, timing, temporary constants."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple


class CostRow(NamedTuple):
    """A cost constant, and its value on this machine."""

    constant: str
    value: float
    measured: float
    unit: str
    power: int = 1  # power of seconds: 1 for times, −1 for rates, 0 for numbers

    @property
    def ratio(self) -> float:
        """Return how many times slower this machine is."""
        if self.power < 0:
            return self.value / self.measured
        return self.measured / self.value


class Row(NamedTuple):
    """A value of a tuned constant, and the measurement with it."""

    constant: str
    value: str  # "▸" marks the one in the code
    measured: str
    evidence: str  # measurement and its size
    verdict: str = ""  # evidence against the value in the code


def best(run: Callable[[], object], repeats: int = 3, budget: float = 0.4) -> float:
    """Return the seconds of the fastest of a few runs, of more if they are short."""
    times: list[float] = []
    while len(times) < repeats or (sum(times) < budget and len(times) < 100):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


@contextmanager
def patched(module: Any, **values: Any) -> Iterator[None]:
    """Set module constants or functions temporarily."""
    before = {name: getattr(module, name) for name in values}
    try:
        for name, value in values.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def mark(value: Any, current: Any) -> str:
    """Format a value, marked if it is the one in the code."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f"▸ {text}" if value == current else f"  {text}"
