"""Scores of samples by the spectral models, and those of the 2015 paper.

Overlap and outlier points of the paper (Mall, Langone and Suykens 2015) are detected by section 3.1
and scored by eqs. 4 and 5: functions of projections, soft memberships and similarities.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from softkern._utils.typing import Array
from softkern.models.point_scores import PointScores
from softkern.models.spectral_search import COVERED
from softkern.rows import row_slices
from softkern.rules.memberships import fuzzy, log_fuzzy
from softkern.rules.projections import labels_by, prototype_distances

Mask = NDArray[np.bool_]

BLOCK = 2**22  # distances held at once
VARIANTS = ("2015", "2015-corrected", "2015-absolute")  # of eq. 5: as printed, and corrected


class SpectralScores(PointScores):
    """Scores of samples and their positions in the eigenspace, from one product with `rows`."""

    model: Any
    rows: Any

    @cached_property
    def _product(self) -> Array:
        """Products with the coefficients of the projections and of the degree, (m, n_clusters)."""
        model = self.model
        return np.asarray(self.rows @ np.column_stack([model.dual_coef_, model._degree_coef]))

    @cached_property
    def projections(self) -> Array:
        """e = K(X, support) α + b, (m, n_clusters − 1)."""
        return self._product[:, :-1].astype(np.float64) + self.model.bias_

    @cached_property
    def log_similarity(self) -> Array:
        """Logarithm of the mean kernel value with the training samples, (m,)."""
        model, degree = self.model, self._product[:, -1:]
        if not model.kernel_.decays:
            return model._log_share(degree[:, 0])
        logs = model._log_product(self.rows, model._degree_coef[:, None], degree)[:, 0]
        return np.asarray(logs.astype(np.float64) - np.log(model._total_weight))

    @cached_property
    def mean_similarity(self) -> Array:
        """Mean kernel value with the training samples, (m,)."""
        return np.exp(self.log_similarity)

    @cached_property
    def memberships(self) -> Array:
        """Memberships, (m, n_clusters)."""
        return np.exp(self.log_memberships).astype(self.model.sample_weight_.dtype)

    @cached_property
    def labels(self) -> NDArray[np.int_]:
        """Clusters of the largest membership, (m,)."""
        return np.argmax(self.memberships, axis=1)

    @cached_property
    def outlier_scores(self) -> Array:
        """−log of the mean similarity, (m,)."""
        return -self.log_similarity

    @cached_property
    def log_memberships(self) -> Array:
        """Soft memberships in both models: overlap scores are their ratio."""
        return log_fuzzy(prototype_distances(self.projections, self.model.prototypes_), m=2)

    @cached_property
    def soft_memberships(self) -> Array:
        """Soft memberships, (m, n_clusters)."""
        return np.asarray(fuzzy(prototype_distances(self.projections, self.model.prototypes_), m=2))


class HardScores(SpectralScores):
    """Scores of samples that belong to one cluster each, by their codes."""

    @cached_property
    def memberships(self) -> Array:
        """One for the sample's cluster, zero for the others, (m, n_clusters)."""
        model = self.model
        labels = labels_by(self.projections, model.codes_, model.assignment)
        return np.eye(model.n_clusters_, dtype=model.sample_weight_.dtype)[labels]


def detect(
    memberships: Array, similarity: Array, *, outliers_first: bool = True
) -> tuple[Mask, Mask]:
    """Return masks of the outliers and overlap points of section 3.1, (n,) each.

    An outlier is a point of low mean similarity to the training points, an overlap point one of
    the others without a membership above 0.5. In the paper's order an outlier must have such a
    membership as well: a far point, whose projection is the bias, is then an overlap point where
    the bias lies between clusters.
    """
    top = memberships.max(axis=1)
    outlier = similarity < COVERED
    overlap = top < 0.5
    if outliers_first:
        return outlier, overlap & ~outlier
    return outlier & (top > 0.5), overlap


def overlap_score(
    projections: Array,
    memberships: Array,
    prototypes: Array,
    similarity: Array,
    all_projections: Array,
    all_labels: Array,
    weight: Array | None = None,
) -> Array:
    """Compute eq. 4, Δ_k Δ_ω / S, (m,); the lower, the more influential an overlap point.

    Δ_k = Σ_p ‖e − s_p‖ m_p is the distance to the prototypes; Δ_ω = Σ_p m_p Δ(p) that to all
    points of every cluster p, the n_p distances sorted and weighted by n_p, ..., 1 over
    n_p (n_p + 1)/2; S the summed similarity to all points, including the point itself. Where it is
    zero the score is the largest number there is. `weight` is how often each of all points counts.
    """
    weight = np.ones(len(all_labels)) if weight is None else np.asarray(weight, np.float64)
    to_prototypes = (cdist(projections, prototypes) * memberships).sum(axis=1)
    to_points = np.zeros(len(projections))
    for p in range(len(prototypes)):
        is_member = (all_labels == p) & (weight > 0)
        members, mass = all_projections[is_member], weight[is_member]
        if not len(members):
            continue
        total = mass.sum()
        for part in row_slices(len(projections), max(1, BLOCK // len(members))):
            distances = cdist(projections[part], members)
            order = np.argsort(distances, axis=1)
            counted = mass[order]
            # w equal rows after C others have the weights total − C, ..., total − C − w + 1
            counted *= total + 0.5 - np.cumsum(counted, axis=1) + counted / 2
            ordered = np.take_along_axis(distances, order, axis=1)
            value = (ordered * counted).sum(axis=1) / (total * (total + 1) / 2)
            to_points[part] += memberships[part, p] * value
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        score = to_prototypes * to_points / np.maximum(similarity, np.finfo(np.float64).tiny)
    return np.asarray(np.minimum(score, largest))


def outlier_score(
    projections: Array, memberships: Array, prototypes: Array, bias: Array, variant: str
) -> Array:
    """Compute eq. 5, 1 − Σ_p (‖e − s_p‖ − ‖b − s_p‖) m_p of m points, (m,).

    As printed the sign is wrong: a point of no similarity to any other, e = b, scores 1, and one
    that is nearer to the clusters scores more. Corrected, 1 + Σ_p (...) m_p, it scores less, but
    for points on the far side of b; absolute, 1 − |Σ_p (...) m_p|, these too, and no score is
    above one, as in the paper's table. All saturate at 1 far away; the models rank by the
    logarithm of the degree.
    """
    gaps = cdist(projections, prototypes) - cdist(bias[None], prototypes)
    distance = (gaps * memberships).sum(axis=1)
    if variant == "2015-absolute":
        distance = np.abs(distance)
    return np.asarray(1 + distance if variant == "2015-corrected" else 1 - distance)
