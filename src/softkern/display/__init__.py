"""Plots of fitted models: matplotlib Display classes in the style of scikit-learn.

`from_estimator` computes what is needed from a fitted model and plots it. The display stores the
arrays, and `plot` draws them again into other axes. matplotlib is imported when the first plot is
drawn.
"""

from softkern.display.levels import AlphaTreeDisplay, MembershipHistogramDisplay
from softkern.display.planes import BoundaryDisplay, MembershipDisplay
from softkern.display.ranking import RankDisplay
from softkern.display.spectral import EigenspaceDisplay

__all__ = [
    "AlphaTreeDisplay",
    "BoundaryDisplay",
    "EigenspaceDisplay",
    "MembershipDisplay",
    "MembershipHistogramDisplay",
    "RankDisplay",
]
