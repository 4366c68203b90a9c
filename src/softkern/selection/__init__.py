"""Choosing without labels: stability of outliers, numbers of clusters, bandwidths."""

from softkern.selection.clusters import (
    fuzzy_silhouette_scorer,
    partition_coefficient_scorer,
    partition_entropy_scorer,
    suggest_n_clusters,
    xie_beni_scorer,
)
from softkern.selection.spectral import (
    SpectralSearch,
    average_membership_strength,
    balanced_line_fit,
    select_spectral,
)
from softkern.selection.stability import (
    StabilityResult,
    detection_accuracy,
    stability_score,
    stability_scores,
)

__all__ = [
    "SpectralSearch",
    "StabilityResult",
    "average_membership_strength",
    "balanced_line_fit",
    "detection_accuracy",
    "fuzzy_silhouette_scorer",
    "partition_coefficient_scorer",
    "partition_entropy_scorer",
    "select_spectral",
    "stability_score",
    "stability_scores",
    "suggest_n_clusters",
    "xie_beni_scorer",
]
