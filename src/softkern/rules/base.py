"""Rules of the loop: a membership rule and a center rule, each an immutable value.

A membership rule turns the geometry of points and centers into memberships and into masses, the
part of every point in every center. A center rule turns masses into coefficients. Any membership
rule can be combined with any center rule. Whatever changes from step to step is in the values that
they return (`Evaluation`, `Centers`), never in the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from softkern._utils.typing import AnyArray


class Geometry(Protocol):
    """Similarities and distances of points to centers. See `softkern.operators.geometry`."""

    @property
    def product(self) -> AnyArray:
        """K @ A, (n, c)."""

    @property
    def norms(self) -> AnyArray:
        """Squared norms of the centers, (c,)."""

    @property
    def distances(self) -> AnyArray:
        """Squared distances to the centers, (n, c)."""


@dataclass(frozen=True)
class Centers:
    """Centers as coefficients over the support."""

    coefficients: AnyArray  # A (n, c), with columns that sum to one
    product: AnyArray | None = None  # K @ A (n, c), if the center rule computed it
    shares: AnyArray | None = None  # (c,), of the total weight in each center
    margins: Any = None  # of one-class SVMs, see `softkern.rules.one_class`


@dataclass(frozen=True)
class Evaluation:
    """Result of a membership rule."""

    memberships: AnyArray  # U (n, c)
    mass: AnyArray  # (n, c), part of every point in every center. Columns have any scale.
    objective: float  # that the loop minimizes
    rule: MembershipRule  # of the next step


class MembershipRule(Protocol):
    """Rule D² → U."""

    def evaluate(self, geometry: Geometry, centers: Centers, weight: AnyArray) -> Evaluation:
        """Return memberships, masses and objective of the training points of weights (n,)."""

    def log_memberships(self, geometry: Geometry, centers: Centers) -> AnyArray:
        """Return the logarithms of the memberships of any points, (m, c)."""


class CenterRule(Protocol):
    """Rule masses → A. A rule that runs on arrays of any library has ``goes_anywhere = True``."""

    def centers(self, mass: AnyArray, weight: AnyArray, previous: Centers | None) -> Centers:
        """Return centers of the masses (n, c). `previous` are those of the last step."""


@dataclass(frozen=True)
class Rule:
    """A membership rule and a center rule, which together define a model of the loop."""

    memberships: MembershipRule
    centers: CenterRule

    def __post_init__(self) -> None:
        both = (self.memberships, ("evaluate", "log_memberships")), (self.centers, ("centers",))
        for part, needed in both:
            for name in needed:
                if not hasattr(part, name):
                    raise TypeError(
                        f"{type(part).__name__} must implement {', '.join(needed)} to be part of a "
                        f"rule; missing {name}."
                    )
