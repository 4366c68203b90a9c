"""Plots of fitted models: matplotlib Display classes in the style of scikit-learn.

`from_estimator` (or `from_results`) computes what is needed from a fitted model and plots it. The
display keeps the arrays, and `plot` draws them again into other axes. matplotlib is imported when
the first plot is drawn.
"""

from softkern.display.boundaries import BoundaryDisplay
from softkern.display.memberships import MembershipDisplay, MembershipHistogramDisplay
from softkern.display.ranking import RankDisplay
from softkern.display.spectral import EigenspaceDisplay
from softkern.display.tree import AlphaTreeDisplay

__all__ = [
    "AlphaTreeDisplay",
    "BoundaryDisplay",
    "EigenspaceDisplay",
    "MembershipDisplay",
    "MembershipHistogramDisplay",
    "RankDisplay",
]
