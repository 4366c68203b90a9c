"""Explanations of outliers and of rows between clusters.

`densities` has the part of every column, `attribution` chooses columns, `reasons` compares their
values with usual ranges, and `softkern.tables.text` renders the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.fitted import fitted_step
from softkern.kernels.bandwidths import select_bandwidth
from softkern.kernels.radial import Gaussian, Radial
from softkern.ranking import PointScores, Ranker, flagged_points
from softkern.rows import Rows, check_weights
from softkern.tables.explain.attribution import Attribution, CalibratedDensity
from softkern.tables.explain.densities import Ellipsoids, KernelDensity
from softkern.tables.explain.reasons import UsualValues, explain_between, explain_outlier
from softkern.tables.explain.row_view import RowView, check_training_rows, view_prepared, view_table
from softkern.tables.preparation.model import preparation_of
from softkern.tables.text import grade, reasons_text

UNUSUAL = 10  # rows that are explained if none is flagged
REFERENCE_ROWS = 2_000  # typical rows of the kernel density
FEWEST_ROWS = 2  # rows that show what is usual
CAUSE = ("column", "value", "low", "high", "share")  # cells of a column that explains a row
STANDARD_ROWS = 100  # typical rows that calibrate the parts of columns


def explain_points(
    model: Any,
    rows: Any = None,
    *,
    X: Any,
    new: Any = None,
    columns: int = 3,
    contamination: float | None = None,
) -> pd.DataFrame:
    """Explain which columns make rows outliers, or put them between two clusters.

    Parameters
    ----------
    model : fitted soft model, or a pipeline that ends in one
        Anything that `softkern.rank_points` takes.
    rows : array of int or bool, default=None
        Positions of the rows to explain. By default all that are flagged as outliers or between
        clusters. If there are none, the ten rows with the highest outlier scores.
    X : DataFrame or array of shape (n, d)
        The table that the model was fitted on.
    new : DataFrame or array of shape (m, d), default=None
        Explain rows of this table, compared with X.
    columns : int, default=3
        Most columns to name per row.
    contamination : float in (0, 0.5], default=None
        Share of the training weight to flag as outliers. See `rank_points`.

    Returns
    -------
    table : DataFrame
        One row per explained row, strongest outliers first, then rows between clusters. Its index
        is that of the table.

        row
            Position in the table, from 0.
        outlier_score, grade
            The score of `rank_points`, and its grade: mild, strong (from 6, one typical row in a
            million) or extreme (from 10), empty if the row is not flagged.
        between
            The two clusters of a row that is flagged as between clusters, such as "0 and 2".
        column_1, value_1, low_1, high_1, share_1, and so on
            The columns that explain the row, most important first: the value, the usual range
            (the inner nine tenths of typical rows, of all or of its cluster, or the inner half of
            similar rows for an unusual combination), and the share among all columns.
        why
            The same as text.

    Notes
    -----
    The share of a column is that of log f without it less log f, compared with a typical row. f is
    the density of at most 2,000 typical rows with the model's own kernel if that is a product over
    columns (rbf, laplacian), else with a Gaussian one. In many columns a kernel does not detect
    that two columns disagree, so a normal density of every cluster is evaluated too, and for every
    row the one in which a column stands out more is used. Two columns that are far out mask each
    other. The first column is therefore excluded and the others are evaluated again, as long as one
    is far out alone or stands out as in one of a hundred typical rows.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from softkern import OneClassPCM, explain_points
    >>> X = pd.DataFrame(np.random.default_rng(0).normal(40, 5, (300, 2)), columns=["age", "size"])
    >>> X.loc[7, "age"] = 140
    >>> table = explain_points(OneClassPCM().fit(X), X=X)
    >>> table.loc[7, ["grade", "column_1", "why"]].tolist()
    ['extreme', 'age', 'age 140, usual 32.1 to 47.4']
    """
    if columns != int(columns) or columns < 1:
        raise ValueError(f"columns={columns!r} must be a whole number from 1.")
    if X is None:
        raise ValueError("pass X, the table that the model was fitted on: models keep none.")
    ranker = Ranker(model, contamination=contamination)
    explainer = Explainer.of(model, X, ranker)
    view, points, ranks = explainer.rows, explainer.points, explainer.ranks
    if new is not None:
        points = ranker.score_points(new)
        view, ranks = view_table(new, preparation_of(model)), ranker.table(points)
    places = _positions(rows, ranks)
    table = explainer.explain(view, points, ranks, places, columns)
    shown = X if new is None else new
    if isinstance(shown, pd.DataFrame):
        table.index = shown.index[places]
    return table


class Explainer:
    """Explain rows by comparing them with the typical rows of a table.

    These are the `rows` that the model was fitted on, or a part of them, with their scores, their
    `ranks` by `rank_points`, and their weights. `own_kernel` is whether the model's kernel takes
    `rows.values`.
    """

    def __init__(
        self,
        model: Any,
        rows: RowView,
        points: PointScores,
        ranks: pd.DataFrame,
        weight: Any = None,
        *,
        own_kernel: bool = True,
    ) -> None:
        self.rows, self.points, self.ranks = rows, points, ranks
        weight = check_weights(weight, len(rows))
        is_typical = (weight > 0) & ~ranks["is_outlier"].to_numpy(dtype=bool)
        if not is_typical.any():
            is_typical = weight > 0
        labels, weight = nearest_clusters(points)[is_typical], weight[is_typical]
        typical = rows.take(is_typical)
        self._typical = UsualValues(typical, weight, labels)
        many, mass = self._typical.sample, self._typical.mass
        values = typical.values[many]
        sampled = Rows(values, mass)
        some, some_mass = sampled.sample(REFERENCE_ROWS)
        kernel = _kernel(model, values[some], some_mass, own_kernel)
        kernel_density = KernelDensity(kernel, values[some], some_mass / some_mass.max())
        standard = values[sampled.sample(STANDARD_ROWS)[0]]
        self._attribution = Attribution(
            CalibratedDensity(kernel_density, standard),
            CalibratedDensity(Ellipsoids.fit(values, mass, labels[many]), standard),
            self._typical.is_far,
        )

    @classmethod
    def of(cls, model: Any, X: Any, ranker: Ranker | None = None) -> Explainer:
        """Return the explainer of a fitted model and the table that it was fitted on."""
        ranker = ranker or Ranker(model)
        last, preparation = fitted_step(model)[0], preparation_of(model)
        steps = len(getattr(model, "steps", ())) - (preparation is not None)
        rows, points = view_table(X, preparation), ranker.score_points()
        check_training_rows(len(rows), len(points.labels))
        weight = getattr(last, "sample_weight_", None)
        return cls(last, rows, points, ranker.table(points), weight, own_kernel=steps < 2)

    def explain(
        self, rows: RowView, points: PointScores, ranks: pd.DataFrame, places: Any, columns: int = 3
    ) -> pd.DataFrame:
        """Return the table of `explain_points` for the rows at these positions."""
        places = np.asarray(places, dtype=np.intp)
        rows, ranks = rows.take(places), ranks.iloc[places]
        nearest = nearest_clusters(points)[places]
        pairs = [
            self._pair(points.memberships[place]) if overlaps else None
            for place, overlaps in zip(places, ranks["is_overlap"], strict=True)
        ]
        others = np.flatnonzero([pair is None for pair in pairs])
        attributions = iter(self._attribution.find(rows.values[others], nearest[others], columns))
        flags = zip(ranks["outlier_score"], ranks["is_outlier"], strict=True)
        records = []
        for i, (score, is_outlier) in enumerate(flags):
            x, pair, between = rows.values[i], pairs[i], ""
            if pair is not None:
                causes, reasons = explain_between(self._typical, x, pair, columns)
                between = "{} and {}".format(*pair)
            else:
                found = next(attributions)
                causes, reasons = explain_outlier(self._typical, x, found, is_outlier, columns)
            cells: list[Any] = []
            for j, usual, share in causes:
                cells += [rows.names[j], rows.value(i, j), usual.low, usual.high, share]
            cells += ["", None, np.nan, np.nan, np.nan] * (columns - len(causes))
            why = reasons_text(reasons, rows, i)
            records.append([places[i], score, grade(score, is_outlier), between, *cells, why])
        cells = [f"{name}_{k + 1}" for k in range(columns) for name in CAUSE]
        names = ["row", "outlier_score", "grade", "between", *cells, "why"]
        return pd.DataFrame(records, columns=names)

    def _pair(self, memberships: Any) -> tuple[int, int] | None:
        """Return the two clusters of highest membership, the lower number first, if they exist."""
        if np.ndim(memberships) == 0 or len(memberships) < 2:
            return None
        first, second = sorted(np.argsort(-memberships, kind="stable")[:2].tolist())
        medians = self._typical.medians
        return (first, second) if first in medians and second in medians else None


def nearest_clusters(points: PointScores) -> NDArray[np.int64]:
    """Return the cluster of every row, for noise the one of highest membership, (n,)."""
    labels, memberships = points.labels, points.memberships
    if np.ndim(memberships) < 2 or memberships.shape[1] == 0:  # a detector, or only noise
        return np.maximum(labels, 0)
    return np.where(labels < 0, np.argmax(memberships, axis=1), labels)


def _kernel(model: Any, rows: Array, mass: Array, is_own: bool) -> Radial:
    """Return the model's kernel if it is a product over these columns, else a Gaussian one."""
    kernel = getattr(model, "kernel_", None)
    # it has one bandwidth, or one per column
    if is_own and isinstance(kernel, Radial) and np.shape(kernel.bandwidth) in ((), rows.shape[1:]):
        return kernel
    if (rows == rows[0]).all():
        return Gaussian(1.0)  # any width gives the same result
    return Gaussian(select_bandwidth(rows, "auto", sample_weight=mass))


def _positions(rows: Any, ranks: pd.DataFrame) -> NDArray[np.intp]:
    """Return the positions of the rows to explain."""
    n = len(ranks)
    if rows is None:
        return flagged_rows(ranks)
    given = np.atleast_1d(np.asarray(rows))
    if given.dtype == bool:
        if given.shape != (n,):
            raise ValueError(f"rows has {given.size} truth values, but the table has {n} rows.")
        return np.flatnonzero(given)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise ValueError(f"rows={rows!r} must be whole numbers or truth values.")
    bad = given[(given < -n) | (given >= n)]
    if bad.size:
        raise IndexError(f"rows has {bad[0]}, but the table has rows 0 to {n - 1}.")
    return np.where(given < 0, given + n, given).astype(np.intp)


def flagged_rows(ranks: pd.DataFrame) -> NDArray[np.intp]:
    """Return positions of outliers, strongest first, then of rows between clusters.

    If there are none, those of the ten highest outlier scores.
    """
    flagged = np.concatenate([flagged_points(ranks, kind) for kind in ("outlier", "overlap")])
    return flagged if flagged.size else unusual_rows(ranks)


def unusual_rows(ranks: pd.DataFrame) -> NDArray[np.intp]:
    """Return positions of the ten rows with the highest outlier scores, highest first."""
    return np.argsort(ranks["outlier_rank"].to_numpy(), kind="stable")[:UNUSUAL]


def saved_explainer(model: Any, preparation: Any, ranker: Ranker) -> Explainer | None:
    """Return an explainer for a model from a file, or None if it has no typical rows.

    Typical rows are those from which missing cells are imputed, or the support of the model.
    """
    last, _ = fitted_step(model)
    prepared = preparation.reference_rows()
    if prepared is None and last.kernel_.takes_points:
        support = last.support_vectors_
        values = np.asarray(support.toarray() if hasattr(support, "toarray") else support, float)
        prepared = preparation.prepare(values[np.sort(Rows(values).sample(REFERENCE_ROWS)[0])])
    if prepared is None or len(prepared.values) < FEWEST_ROWS:
        return None
    points = ranker.score_points(prepared)
    return Explainer(last, view_prepared(prepared), points, ranker.table(points))
