"""Model selection without labels: number of clusters, bandwidth, stability of outliers."""

from softkern.selection.n_clusters import suggest_n_clusters, validity_scorer
from softkern.selection.spectral import (
    SpectralSearch,
    average_membership_strength,
    balanced_line_fit,
    select_spectral,
)
from softkern.selection.stability import StabilityResult, stability_score, stability_scores

__all__ = [
    "SpectralSearch",
    "StabilityResult",
    "average_membership_strength",
    "balanced_line_fit",
    "select_spectral",
    "stability_score",
    "stability_scores",
    "suggest_n_clusters",
    "validity_scorer",
]
