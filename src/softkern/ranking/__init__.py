"""Rank samples of any soft model: the strongest outliers, and the points between clusters.

Models measure outliers in units of their own: minus the log of a similarity, a squared distance, a
margin. `Calibration` learns their distribution from the training samples, and turns a score into a
surprisal, −log10 of the share of typical samples that lie at least that far out: 3 is one in a
thousand, for any model. `rank_points` makes the table. `Ranker` stores the calibration for
samples that come in chunks.
"""

from softkern.models.point_scores import PointScores
from softkern.ranking.calibration import Calibration
from softkern.ranking.table import RANKS, Ranker, flagged_points, rank_points

__all__ = ["RANKS", "Calibration", "PointScores", "Ranker", "flagged_points", "rank_points"]
