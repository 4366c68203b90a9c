"""What the parts of the calibration share: rows of its tables, stopwatch, constants set for a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple


class CostRow(NamedTuple):
    """A cost constant, and what it is on this machine."""

    constant: str
    value: float
    measured: float
    unit: str
    power: int = 1  # of seconds in the unit: 1 of times, −1 of rates, 0 of plain numbers

    @property
    def ratio(self) -> float:
        """How many times the constant's this machine's is; of rates, how many times slower."""
        if self.power < 0:
            return self.value / self.measured
        return self.measured / self.value


class Row(NamedTuple):
    """A value of a tuned constant, and what was measured with it."""

    constant: str
    value: str  # "▸" marks the one in the code
    measured: str
    evidence: str  # what was measured, on how much
    verdict: str = ""  # where the evidence contradicts the value in the code


def best(run: Callable[[], object], repeats: int = 3, budget: float = 0.4) -> float:
    """Seconds of the quickest of a few runs, of more where they are short: others use the machine."""
    times: list[float] = []
    while len(times) < repeats or (sum(times) < budget and len(times) < 100):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


@contextmanager
def patched(module: Any, **values: Any) -> Iterator[None]:
    """Module constants, or functions, with other values for a while."""
    before = {name: getattr(module, name) for name in values}
    try:
        for name, value in values.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def mark(value: Any, current: Any) -> str:
    """The value as text, marked where it is the one in the code."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f"▸ {text}" if value == current else f"  {text}"
