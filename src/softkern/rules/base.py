"""Rules of the loop: a membership rule and a center rule, each an immutable value.

A membership rule turns the geometry of points and centers into memberships and into masses, the
part of every point in every center. A center rule turns masses into coefficients. Any membership
rule can be combined with any center rule. Whatever changes from step to step is in the values that
they return (`Evaluation`, `Centers`), never in the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from softkern._utils.typing import AnyArray

__all__ = [
    "CenterRule",
    "Centers",
    "Evaluation",
    "Geometry",
    "MembershipRule",
    "Rule",
    "SolverRule",
]


class Geometry(Protocol):
    """Similarities and distances of points to centers, see `softkern.operators.geometry`.

    Examples
    --------
    >>> import numpy as np
    >>> from softkern import plan
    >>> X, A = np.array([[0.0], [0.5], [4.0]]), np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]])
    >>> geometry = plan(X, bandwidth=1.0).build(X).geometry(A)
    >>> geometry.product.round(2)
    array([[0.94, 0.  ],
           [0.94, 0.  ],
           [0.  , 1.  ]])
    """

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
    """Centers as coefficients over the support.

    Attributes
    ----------
    coefficients : array of shape (n, c)
        A, with columns that sum to one.
    product : array of shape (n, c) or None
        K @ A, if the center rule computed it.
    shares : array of shape (c,) or None
        Share of the total weight in each center.
    margins : object or None
        Margins of one-class SVMs, see `softkern.rules.one_class`.

    Examples
    --------
    >>> import numpy as np
    >>> centers = Centers(np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]]))
    >>> centers.take([1]).coefficients.ravel()
    array([0., 0., 1.])
    """

    coefficients: AnyArray
    product: AnyArray | None = None
    shares: AnyArray | None = None
    margins: Any = None

    def take(self, order: AnyArray) -> Centers:
        """Return some of the centers, or all in another order."""
        return Centers(
            self.coefficients[:, order],
            None if self.product is None else self.product[:, order],
            None if self.shares is None else self.shares[order],
            None if self.margins is None else self.margins.take(order),
        )


@dataclass(frozen=True)
class Evaluation:
    """Result of a membership rule.

    Attributes
    ----------
    memberships : array of shape (n, c)
        U.
    mass : array of shape (n, c)
        Part of every point in every center. The rule may scale each column.
    objective : float
        Value that the loop minimizes.
    rule : MembershipRule
        Rule of the next step.

    Examples
    --------
    >>> import numpy as np
    >>> from softkern import plan
    >>> from softkern.rules.fuzzy import Fuzzy
    >>> X, A = np.array([[0.0], [0.5], [4.0]]), np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]])
    >>> geometry = plan(X, bandwidth=1.0).build(X).geometry(A)
    >>> Fuzzy(2.0).evaluate(geometry, Centers(A), np.ones(3)).memberships.round(2)
    array([[0.97, 0.03],
           [0.97, 0.03],
           [0.  , 1.  ]])
    """

    memberships: AnyArray
    mass: AnyArray
    objective: float
    rule: MembershipRule


class MembershipRule(Protocol):
    """Rule D² → U.

    Examples
    --------
    >>> import numpy as np
    >>> from softkern import plan
    >>> from softkern.rules.fuzzy import Fuzzy
    >>> X, A = np.array([[0.0], [0.5], [4.0]]), np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]])
    >>> geometry = plan(X, bandwidth=1.0).build(X).geometry(A)
    >>> np.exp(Fuzzy(2.0).log_memberships(geometry, Centers(A))).sum(axis=1)
    array([1., 1., 1.])
    """

    def evaluate(self, geometry: Geometry, centers: Centers, weight: AnyArray) -> Evaluation:
        """Return memberships, masses and objective of the training points of weights (n,)."""

    def log_memberships(self, geometry: Geometry, centers: Centers) -> AnyArray:
        """Return the logarithms of the memberships of any points, (m, c)."""


class CenterRule(Protocol):
    """Rule masses → A.

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.rules.centers import Mean
    >>> masses = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
    >>> Mean().centers(masses, np.ones(3), None).coefficients
    array([[0.25, 0.  ],
           [0.75, 0.  ],
           [0.  , 1.  ]])
    """

    def centers(self, mass: AnyArray, weight: AnyArray, previous: Centers | None) -> Centers:
        """Return centers of the masses (n, c); `previous` are those of the last step."""


@runtime_checkable
class SolverRule(CenterRule, Protocol):
    """A center rule that computes products with K itself, on an operator that can be exchanged.

    Examples
    --------
    >>> from softkern.rules.centers import Mean
    >>> isinstance(Mean(), SolverRule)
    False
    """

    def on_operator(self, operator: Any, correction: AnyArray | None) -> SolverRule:
        """Return the rule on another operator, given K @ A minus its product, (n, c).

        It may solve less accurately.
        """

    def with_product(self, centers: Centers, product: AnyArray) -> Centers:
        """Return the centers updated by their product K @ A, (n, c)."""

    def error(self, centers: Centers) -> float:
        """Return how far centers are from those of the rule for the same masses."""


@dataclass(frozen=True)
class Rule:
    """A membership rule and a center rule, which together define a model of the loop.

    Examples
    --------
    >>> from softkern.rules.centers import Mean
    >>> from softkern.rules.fuzzy import Fuzzy
    >>> Rule(Fuzzy(2.0), Mean()).goes_anywhere
    True
    """

    memberships: MembershipRule
    centers: CenterRule

    @property
    def goes_anywhere(self) -> bool:
        """Whether the rule runs on arrays of any library; rules with a solver need NumPy."""
        return bool(getattr(self.centers, "goes_anywhere", False))

    def __post_init__(self) -> None:
        for part, needed in (
            (self.memberships, ("evaluate", "log_memberships")),
            (self.centers, ("centers",)),
        ):
            missing = [name for name in needed if not callable(getattr(part, name, None))]
            if missing:
                raise TypeError(
                    f"{type(part).__name__} must implement {', '.join(needed)} to be part of a "
                    f"rule; missing {', '.join(missing)}."
                )
