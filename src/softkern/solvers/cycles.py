"""Cycles of a loop whose steps need not bring its objective down, found by Brent's rule.

A mark is set anew after 1, 2, 4, … steps; a state that comes back to the mark closes a cycle, and
the best state since the mark is the one to keep.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from softkern._utils.arrays import column_changes, namespace
from softkern._utils.typing import AnyArray

__all__ = ["CycleWatch"]

# A state is back when it is this much nearer to an earlier one than to the last; a damped
# oscillation this slow would need thousands of steps to die out.
SAME_STATE = 1e-3


class State(Protocol):
    """A state of the loop."""

    @property
    def memberships(self) -> AnyArray:
        """U (n, c)."""

    @property
    def objective(self) -> float:
        """Lower is better."""


S = TypeVar("S", bound=State)


class CycleWatch(Generic[S]):
    """Looks for a state that comes back, and keeps the best since the state it is compared with."""

    best: S

    def __init__(self, weight: AnyArray) -> None:
        self.weight = weight
        self.mark: AnyArray | None = None
        self.last: AnyArray | None = None
        self.age = 0
        self.reach = 1

    def period(self, here: S) -> int:
        """Steps since the mark where this is the marked state again, else zero."""
        if self.mark is not None:
            self.age += 1
            if self.age > 1 and self._gap(here, self.mark) <= SAME_STATE * self._gap(
                here, self.last
            ):
                return self.age
        if self.mark is None or self.age == self.reach:
            self.mark, self.age, self.reach = here.memberships, 0, 2 * self.reach
        if self.age == 0 or here.objective < self.best.objective:
            self.best = here
        self.last = here.memberships
        return 0

    def _gap(self, here: S, there: AnyArray | None) -> float:
        assert there is not None
        changes = column_changes(here.memberships, there, self.weight)
        return float(namespace(changes).sum(changes))
