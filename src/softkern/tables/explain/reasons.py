"""Why a row is an outlier or lies between clusters, as data that `softkern.tables.text` renders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from softkern._utils.typing import Array
from softkern.tables.explain.attribution import ColumnAttribution
from softkern.tables.explain.reference import FAR, UsualRange, UsualValues

HALFWAY = 0.25  # share of the way between two clusters, on both sides of its middle
DIFFERING = 1.0  # spreads between two clusters in a column that separates them


@dataclass(frozen=True)
class Reason:
    """A statement about columns of a row.

    - "outside": a value outside its usual range, of all rows or of a cluster
    - "combination": two values, usual alone; the range is that of the first near the second
    - "together": values that are usual alone, and unusual together
    - "between": values nearer to one of two clusters, or halfway (None); the ranges of all columns
      in the first one, and in the second one
    """

    kind: Literal["outside", "combination", "together", "between"]
    columns: tuple[int, ...]
    ranges: Sequence[UsualRange] = ()
    cluster: int | None = None
    clusters: Sequence[int] = ()


class Cause(NamedTuple):
    """A column that explains a row, its usual range, and its share among all columns."""

    column: int
    usual: UsualRange
    share: float


def explain_outlier(
    typical: UsualValues,
    x: Array,
    attribution: ColumnAttribution,
    cluster: int,
    is_flagged: bool,
    most: int,
) -> tuple[list[Cause], list[Reason]]:
    """Explain a row x, (d,), of a nearest cluster, if it is an outlier or a column stands out."""
    columns, first = list(attribution.columns), attribution.columns[0]
    is_far = typical.is_far(x[first], first, cluster)
    if not (is_flagged or is_far or attribution.parts[first] >= 1):
        return [], []
    usual: dict[int, UsualRange] = {}
    reasons: list[Reason] = []
    combination = None if is_far else _combination(typical, x, cluster, first, attribution.against)
    if combination is not None:
        reasons.append(combination)
        columns = [*combination.columns, *columns]
        usual = {columns[0]: combination.ranges[0], columns[1]: typical.range(columns[1])}
    elif not is_far and attribution.partner is not None:
        columns.insert(1, attribution.partner)
    columns = list(dict.fromkeys(columns))[: max(most, len(usual))]
    inside = []
    for j in columns:
        if j not in usual:
            usual[j], group = _clearest_range(typical, x[j], j, cluster)
            if usual[j].beyond(x[j]) > 0:
                reasons.append(Reason("outside", (j,), (usual[j],), group))
            else:
                inside.append(j)
    if inside:
        place = 0 if inside[0] == columns[0] else len(reasons)
        reasons.insert(place, Reason("together", tuple(inside)))
    shares = np.maximum(attribution.parts, 0)
    shares = shares / (shares.sum() or 1.0)
    return [Cause(j, usual[j], float(shares[j])) for j in columns[:most]], reasons


def _clearest_range(
    typical: UsualValues, scaled: float, j: int, cluster: int
) -> tuple[UsualRange, int | None]:
    """Return the usual range of all rows, or that of a cluster if a value is only outside of it."""
    for group in typical.groups(cluster):
        usual = typical.range(j, group)
        if usual.beyond(scaled) > 0:
            return usual, group
    return typical.range(j), None


def _combination(
    typical: UsualValues, x: Array, cluster: int, first: int, against: Sequence[int]
) -> Reason | None:
    """Find two columns, usual alone, where one is most unusual given the other."""
    best, least = None, FAR
    for j, other in [(first, k) for k in against] + [(k, first) for k in against[:1]]:
        for group in reversed(typical.groups(cluster)):
            usual = typical.given(j, other, x[other], group)
            beyond = usual.beyond(x[j])
            if beyond >= least and beyond > 2 * typical.range(j, group).beyond(x[j]):
                best, least = Reason("combination", (j, other), (usual,)), beyond
    return best


def explain_between(
    typical: UsualValues, x: Array, clusters: tuple[int, int], most: int
) -> tuple[list[Cause], list[Reason]]:
    """Explain a row x, (d,), between two clusters by the columns that separate these."""
    a, b = clusters
    ma, mb = typical.medians[a], typical.medians[b]
    apart = (mb - ma) / typical.within
    place = np.where(apart != 0, (x - ma) / np.where(mb == ma, 1.0, mb - ma), 0.5)
    # log density ratio of the two clusters in each column, with one width for both
    pull = apart**2 * (place - 0.5)
    separates = np.abs(apart) >= min(DIFFERING, np.abs(apart).max())
    is_half = np.abs(place - 0.5) <= HALFWAY
    by_pull = np.argsort(-np.abs(pull) * separates, kind="stable").tolist()
    by_gap = np.argsort(-np.abs(apart), kind="stable").tolist()
    to_a = [j for j in by_pull if separates[j] and place[j] < 0.5 and not is_half[j]]
    to_b = [j for j in by_pull if separates[j] and place[j] > 0.5 and not is_half[j]]
    half = [j for j in by_gap if separates[j] and is_half[j]]
    chosen = [*to_a[:1], *to_b[:1], *half[:1], *to_a[1:2], *to_b[1:2], *half[1:]][:most]
    weight = np.where(is_half, apart**2 / 4, np.abs(pull)) * separates
    shares = weight / (weight.sum() or 1.0)
    ranges = {j: (typical.range(j, a), typical.range(j, b)) for j in chosen}
    causes = [Cause(j, ranges[j][j in to_b], float(shares[j])) for j in chosen]
    reasons: list[Reason] = []
    for nearer, near in ((a, to_a), (b, to_b), (None, half)):
        columns = tuple(j for j in chosen if j in near)
        if columns:
            both = [ranges[j][side] for side in (0, 1) for j in columns]
            reasons.append(Reason("between", columns, both, nearer, clusters))
    return causes, reasons
