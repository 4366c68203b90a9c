"""The clusters of every alpha cut at once."""

from softkern.density_tree.tree import AlphaTree, histogram_valley

__all__ = ["AlphaTree", "histogram_valley"]
