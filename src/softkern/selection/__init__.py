"""Model selection without labels: number of clusters, bandwidth, stability of outliers."""

from softkern.selection.n_clusters import suggest_n_clusters, validity_scorer
from softkern.selection.spectral import average_membership_strength, select_spectral
from softkern.selection.stability import stability_score

__all__ = [
    "average_membership_strength",
    "select_spectral",
    "stability_score",
    "suggest_n_clusters",
    "validity_scorer",
]
