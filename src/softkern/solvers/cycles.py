"""Detection of cycles of a loop that need not decrease its objective, by Brent's method.

A state is marked after 1, 2, 4, … steps. A later state that equals the marked one closes a cycle,
of which the best state is the result.
"""

from __future__ import annotations

from typing import Any

from softkern._utils.arrays import column_changes, namespace
from softkern._utils.typing import AnyArray

# A state equals an earlier one if it is this much nearer to it than to the last one. A damped
# oscillation that slow would need thousands of steps to decay.
SAME_STATE = 1e-3


class CycleWatch:
    """Compares states, of `memberships` (n, c) and an `objective`, with a marked one."""

    best: Any  # state since the mark

    def __init__(self, weight: AnyArray) -> None:
        self.weight = weight
        self.mark: AnyArray | None = None
        self.last: AnyArray | None = None
        self.age = 0
        self.reach = 1

    def period(self, state: Any) -> int:
        """Return the number of steps since the mark if this is the marked state, else zero."""
        if self.mark is not None:
            self.age += 1
            change = self._gap(state, self.last)
            if self.age > 1 and self._gap(state, self.mark) <= SAME_STATE * change:
                self.best = min(self.best, state, key=lambda one: one.objective)
                return self.age
        if self.mark is None or self.age == self.reach:
            self.mark, self.age, self.reach = state.memberships, 0, 2 * self.reach
        if self.age == 0 or state.objective < self.best.objective:
            self.best = state
        self.last = state.memberships
        return 0

    def _gap(self, state: Any, other: Any) -> float:
        changes = column_changes(state.memberships, other, self.weight)
        return float(namespace(changes).sum(changes))
