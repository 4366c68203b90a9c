"""Pictures of fitted models: matplotlib Display classes, in scikit-learn's style.

Each class holds what it draws as plain arrays, so that it can be drawn again; `from_estimator`
(or `from_results`) computes them from a fitted model's public attributes and draws them, and
`plot` draws into the axes given. matplotlib is imported when something is drawn, not before.
"""

from softkern.display.boundaries import BoundaryDisplay
from softkern.display.memberships import MembershipDisplay, MembershipHistogramDisplay
from softkern.display.ranking import RankDisplay
from softkern.display.spectral import AMSDisplay, EigenspaceDisplay
from softkern.display.tree import AlphaTreeDisplay

__all__ = [
    "AMSDisplay",
    "AlphaTreeDisplay",
    "BoundaryDisplay",
    "EigenspaceDisplay",
    "MembershipDisplay",
    "MembershipHistogramDisplay",
    "RankDisplay",
]
