"""Detection of cycles of a loop that need not decrease its objective, by Brent's method.

A state is marked after 1, 2, 4, … steps. A later state that equals the marked one closes a cycle,
of which the best state is the result.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from softkern._utils.arrays import column_changes, namespace
from softkern._utils.typing import AnyArray

__all__ = ["CycleWatch"]

# A state equals an earlier one if it is this much nearer to it than to the last one. A damped
# oscillation that slow would need thousands of steps to decay.
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
    """Compares states with a marked one, and keeps the best state since then."""

    best: S

    def __init__(self, weight: AnyArray) -> None:
        self.weight = weight
        self.mark: AnyArray | None = None
        self.last: AnyArray | None = None
        self.age = 0
        self.reach = 1

    def period(self, here: S) -> int:
        """Return the number of steps since the mark if this is the marked state, else zero."""
        if self.mark is not None:
            self.age += 1
            change = self._gap(here, self.last)
            if self.age > 1 and self._gap(here, self.mark) <= SAME_STATE * change:
                self.best = min(self.best, here, key=lambda state: state.objective)
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
