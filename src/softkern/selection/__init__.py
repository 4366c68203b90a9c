"""Choosing without labels: stability of outliers, numbers of clusters, bandwidths."""

from softkern.selection.stability import StabilityResult, stability_score

__all__ = ["StabilityResult", "stability_score"]
