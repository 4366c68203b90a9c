"""What a rule of the loop is: a membership rule and a center rule, each an immutable value.

A membership rule turns the geometry of points and centers into memberships, and says how much of
every point goes into every center; a center rule turns these masses into coefficients. Any of the
one goes with any of the other. What changes from step to step is in the values that they return
(`Evaluation`, `Centers`), never in the rules.
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
    """How points lie to centers; `softkern.operators.geometry` has the class.

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.kernels import Gaussian
    >>> from softkern.operators import DenseOperator
    >>> from softkern.rules.centers import Mean
    >>> from softkern.rules.fuzzy import Fuzzy
    >>> operator = DenseOperator(Gaussian(1.0), np.array([[0.0], [0.5], [4.0]]))
    >>> centers = Mean().centers(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.ones(3), None)
    >>> geometry = operator.geometry(centers.coefficients)
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
        """Squared lengths of the centers, (c,)."""

    @property
    def distances(self) -> AnyArray:
        """Squared distances to them, (n, c)."""


@dataclass(frozen=True)
class Centers:
    """Centers as coefficients over the support, and what their rule knows of them.

    Attributes
    ----------
    coefficients : array of shape (n, c)
        Columns sum to one.
    product : array of shape (n, c) or None
        K @ coefficients, where the rule has it already.
    shares : array of shape (c,) or None
        The part of all weight that each center was made of.
    margins : object or None
        Of one-class machines, see `softkern.rules.one_class`.

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
        """The same of some centers, or of all in another order."""
        return Centers(
            self.coefficients[:, order],
            None if self.product is None else self.product[:, order],
            None if self.shares is None else self.shares[order],
            None if self.margins is None else self.margins.take(order),
        )


@dataclass(frozen=True)
class Evaluation:
    """What a membership rule makes of a geometry.

    Attributes
    ----------
    memberships : array of shape (n, c)
    mass : array of shape (n, c)
        What every point adds to every center; each column in a unit of its own, where the rule
        says so.
    objective : float
        Which the loop brings down.
    rule : MembershipRule
        The rule of the next step.

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.kernels import Gaussian
    >>> from softkern.operators import DenseOperator
    >>> from softkern.rules.centers import Mean
    >>> from softkern.rules.fuzzy import Fuzzy
    >>> operator = DenseOperator(Gaussian(1.0), np.array([[0.0], [0.5], [4.0]]))
    >>> centers = Mean().centers(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.ones(3), None)
    >>> geometry = operator.geometry(centers.coefficients)
    >>> Fuzzy(2.0).evaluate(geometry, centers, np.ones(3)).memberships.round(2)
    array([[0.97, 0.03],
           [0.97, 0.03],
           [0.  , 1.  ]])
    """

    memberships: AnyArray
    mass: AnyArray
    objective: float
    rule: MembershipRule


class MembershipRule(Protocol):
    """D² → U.

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.kernels import Gaussian
    >>> from softkern.operators import DenseOperator
    >>> from softkern.rules.centers import Mean
    >>> from softkern.rules.fuzzy import Fuzzy
    >>> operator = DenseOperator(Gaussian(1.0), np.array([[0.0], [0.5], [4.0]]))
    >>> centers = Mean().centers(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.ones(3), None)
    >>> geometry = operator.geometry(centers.coefficients)
    >>> np.exp(Fuzzy(2.0).log_memberships(geometry, centers)).sum(axis=1)
    array([1., 1., 1.])
    """

    def evaluate(self, geometry: Geometry, centers: Centers, weight: AnyArray) -> Evaluation:
        """Memberships, masses and objective of the points of the loop, with weights (n,)."""

    def log_memberships(self, geometry: Geometry, centers: Centers) -> AnyArray:
        """Logarithms of the memberships of any points, (m, c)."""


class CenterRule(Protocol):
    """Masses → A.

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
        """Centers of the masses (n, c); `previous` are those of the step before, to start from."""


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
        """The rule on another operator, with the difference (n, c) between K @ A and its product.

        It may solve less accurately.
        """

    def with_product(self, centers: Centers, product: AnyArray) -> Centers:
        """Update centers by their product K @ A, (n, c)."""

    def error(self, centers: Centers) -> float:
        """How far centers are from the rule's own for the same masses."""


@dataclass(frozen=True)
class Rule:
    """A membership rule and a center rule: what makes one model of the loop another.

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
        """Whether it is all array operations, wherever arrays live; a solver stays on the host."""
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
