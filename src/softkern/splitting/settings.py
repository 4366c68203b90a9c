"""Tuned constants of the splitting, in one place.

Values that decide how many clusters there are were calibrated on tables without clusters
(uniform, normal, heavy-tailed, skewed, correlated, rings, rounded, with repeated rows; 5 to 100
columns) and on normal clusters at known distances. ``benchmarks/calibrate.py`` repeats this:
``valleys`` for the critical depth, ``arms`` for curves, ``beyond`` for noise. Constants that only
bound rounding errors or block sizes stay in their modules.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SplitSettings:
    """Constants of `softkern.splitting`; see the comments beside the values."""

    # Size of the problem
    max_rows: int = 2000  # rows in which clusters are searched
    min_rows: int = 24  # smaller tables are not split
    min_cluster: int = 8  # rows of a cluster, below which a gap cannot be tested

    # Density gap between two clusters. A depth is √n times the dip statistic.
    critical_depth: float = 0.58  # fewer than 3 in 100 tables without clusters are split
    accept_above: float = 1.6  # times the critical depth: accepted without cross-fitting again
    merge_below: float = 0.75  # times the critical depth: two final clusters are merged
    near_share: float = 0.75  # of the smaller cluster, next to the cut, that is tested
    cross_fits: tuple[int, int] = (3, 8)  # divisions into folds, at least and at most
    clear_errors: float = 2.0  # standard errors from the critical depth that end cross-fitting
    folds: int = 5
    fold_steps: int = 8  # of expectation maximization without a fold

    # Proposals
    k_means: tuple[int, ...] = (8, 4, 3)  # numbers of clusters proposed, besides two
    rows_per_cluster: int = 15  # at least, to propose so many clusters
    cut_directions: int = 4  # directions that are cut in two
    principal: int = 10  # principal directions examined
    independent: int = 8  # independent components examined
    ica_components: int = 25  # principal directions in which independent components are searched
    direction_rows: int = 300  # rows that decide which directions are cut
    same_partition: float = 0.995  # share of rows in the same clusters: a repeated proposal
    far_rows: float = 2.0  # times the median length, to which longer rows are shortened

    # Curves. Shares of the variance of the distance from the cut explained by the position off
    # the line: below 0.1 between normal clusters, up to 0.28 between classes of real tables.
    curve_symmetric: float = 0.15  # by both sides of the line alike (rings)
    curve_total: float = 0.35  # by both sides and by one side (arcs)
    curve_distance: float = 6.0  # spreads between centers, beyond which nothing is a curve

    # Columns
    few_values: int = 20  # distinct values, up to which a column is discrete
    large_pile: float = 0.1  # share of rows at one value, above which it is discrete too
    outermost: float = 0.01  # share of values at each end that do not decide the power
    clear_gap: float = 0.6  # depth of a gap, above which a column is left untransformed

    # Noise: normal clusters have no row beyond it, t with 3 degrees of freedom 2 in 1,000.
    noise_share: float = 0.01  # of rows that may be noise
    noise_factor: float = 2.5  # times the distance that all other rows keep


SPLITTING = SplitSettings()
