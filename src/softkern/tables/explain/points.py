"""Why rows are outliers or in between: the columns that make them so, and what is usual there.

The part of a column in a row's outlyingness is what leaving it out would take off −log density,
less what it takes off for a usual row (`softkern.tables.explain.densities`); shares are of the
sum of these. `softkern.tables.explain.attribution` finds the columns,
`softkern.tables.explain.reasons` the words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.fitted import fitted_step
from softkern.kernels.bandwidths import select_bandwidth
from softkern.kernels.radial import Gaussian, Radial
from softkern.ranking import PointScores, Ranker
from softkern.rows import check_weights, priority_sample
from softkern.tables.explain.attribution import Calibrated, Causes, Named
from softkern.tables.explain.densities import Ellipsoids, KernelDensity
from softkern.tables.explain.reasons import Cause, Found, Reasons
from softkern.tables.explain.reference import Usual
from softkern.tables.explain.row_view import RowView, view_prepared, view_table
from softkern.tables.preparation import TablePreparation, preparation_of
from softkern.tables.text import grade

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "NO_COLUMN",
    "Explainer",
    "explain_points",
    "flagged_rows",
    "saved_explainer",
    "unusual_rows",
]

NO_COLUMN = "no column stands out"
UNUSUAL = 10  # rows that are explained where none is flagged
LEARNED_ROWS = 10_000  # typical rows that medians, spreads and covariances are taken from
REFERENCE_ROWS = 2_000  # and those of the kernel density
FEWEST_ROWS = 2  # that show what is usual
STANDARD_ROWS = 100  # typical rows that say how much a column usually takes off


def explain_points(
    model: Any,
    rows: Any = None,
    *,
    X: Any,
    new: Any = None,
    columns: int = 3,
    contamination: float | None = None,
) -> pd.DataFrame:
    """Say which columns make rows outliers, or put them between two clusters.

    Parameters
    ----------
    model : fitted soft model, or a pipeline that ends in one
        Anything that `softkern.rank_points` takes.
    rows : array of int or bool, default=None
        The rows to explain, by their place. By default those that are flagged as outliers or in
        between; where none is, the ten that are furthest out.
    X : DataFrame or array of shape (n, d)
        The table that the model was fitted on.
    new : DataFrame or array of shape (m, d), default=None
        Explain rows of this table, by what is usual in X.
    columns : int, default=3
        The most columns that are named for a row.
    contamination : float, default=None
        As in `rank_points`.

    Returns
    -------
    table : DataFrame
        One row for each row explained, furthest out first, then the most shared; its index is
        that of the table.

        row
            Its place in the table, from 0.
        outlier_score, grade
            Of `rank_points`, and in a word: mild, strong (from 6, one typical row in a million)
            or extreme (from 10); empty where the row is not flagged.
        between
            The two clusters of a row that is flagged as in between, such as "0 and 2".
        column_1, value_1, low_1, high_1, share_1, and so on
            The columns that make it so, the first one most: the value, the usual range (the inner
            nine tenths of the typical rows, of all or of its cluster; the inner half of those like
            it in a column that disagrees), and its share among all columns.
        why
            The same in words.

    Notes
    -----
    The share of a column is that of log f without it less log f, a usual row's aside. f is the
    density of the typical rows in the model's own kernel where that is a product over columns
    (rbf, laplacian), else in a Gaussian one: without a column it is exact, for the kernel's other
    factors are the density without it. It is taken from at most 2,000 rows, which their values
    choose. In many columns a kernel does not see that two of them disagree, so that a normal
    density of every cluster is asked as well, and the one in which a column stands out more is
    taken, for every row. The first column is then set aside and the others are asked again, as long
    as one is far out by itself or stands out as in one usual row of a hundred: two that are far
    out hide each other.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from softkern import OneClassPCM, explain_points
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"age": rng.normal(40, 5, 300), "height": rng.normal(170, 8, 300)})
    >>> X.loc[7, "age"] = 140
    >>> table = explain_points(OneClassPCM().fit(X), X=X)
    >>> table.loc[7, ["grade", "column_1"]].tolist()
    ['extreme', 'age']
    >>> print(table.loc[7, "why"])
    age 140, usual 32.6 to 48.2
    """
    _check_columns(columns)
    explainer = Explainer.of(model, X, contamination=contamination)
    if new is None:
        seen, points, ranks = explainer.seen, explainer.points, explainer.ranks
        index = getattr(X, "index", None)
    else:
        seen, points, ranks = explainer.read(new)
        index = getattr(new, "index", None)
    places = _places(rows, ranks)
    table = explainer.explain(seen, points, ranks, places, columns)
    if index is not None and not callable(index):
        table.index = index[places]
    return table


class Explainer:
    """What is usual in a table, for explaining its rows and others by it.

    Parameters
    ----------
    model : fitted model
    seen : RowView
        The rows that the model was fitted on, or a part of them.
    points : PointScores
        What the model says of them; `Ranker.read`.
    ranks : DataFrame
        What `rank_points` says of them.
    weight : array of shape (n,), default=None
    own_kernel : bool, default=True
        Whether `seen.values` are what the model's kernel sees.

    Examples
    --------
    >>> import numpy as np
    >>> from softkern import OneClassPCM
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> explainer = Explainer.of(OneClassPCM().fit(X), X)
    >>> explainer.explain(*explainer.read([[0.0, 9.0]]), [0], 1)["column_1"].tolist()
    ['x2']
    """

    def __init__(
        self,
        model: Any,
        seen: RowView,
        points: PointScores,
        ranks: pd.DataFrame,
        weight: Any = None,
        *,
        own_kernel: bool = True,
        ranker: Ranker | None = None,
        preparation: TablePreparation | None = None,
    ) -> None:
        self.seen, self.points, self.ranks = seen, points, ranks
        self._preparation = preparation
        self._ranker = Ranker(model) if ranker is None else ranker
        weight = check_weights(weight, len(seen))
        is_typical = (weight > 0) & ~ranks["is_outlier"].to_numpy(dtype=bool)
        if not is_typical.any():
            is_typical = weight > 0
        typical = np.flatnonzero(is_typical)
        labels = nearest_clusters(points)[typical]
        self._typical, self._weight = seen.take(typical), weight[typical]
        many, mass = priority_sample(self._typical.values, LEARNED_ROWS, self._weight)
        self.usual = Usual(self._typical, self._weight, labels, many)
        values, labels = self._typical.values[many], labels[many]
        some, some_mass = priority_sample(values, REFERENCE_ROWS, mass)
        kernel = _kernel(model, values[some], some_mass, own_kernel)
        standard = values[priority_sample(values, STANDARD_ROWS, mass)[0]]
        densities = (
            KernelDensity(kernel, values[some], some_mass / some_mass.max()),
            Ellipsoids.fit(values, mass, labels),
        )
        self._reasons = Reasons(self.usual, values, mass, labels)
        kernel_parts, normal_parts = (Calibrated.fit(density, standard) for density in densities)
        self._causes = Causes(kernel_parts, normal_parts, self._reasons.is_far)

    @classmethod
    def of(cls, model: Any, X: Any, *, contamination: float | None = None) -> Explainer:
        """Of a fitted model and the table that it was fitted on."""
        if X is None:
            raise ValueError("give X, the table that the model was fitted on: models keep none.")
        ranker = Ranker(model, contamination=contamination)
        last, _ = fitted_step(model)
        preparation = preparation_of(model)
        steps = len(getattr(model, "steps", ())) - (preparation is not None)
        seen = view_table(X, preparation)
        points = ranker.score_points()
        ranks = ranker.table(points)
        if len(seen) != len(ranks):
            raise ValueError(
                f"X has {len(seen)} rows, and the model was fitted on {len(ranks)}; give the table "
                "that it was fitted on."
            )
        weight = getattr(last, "sample_weight_", None)
        return cls(
            last,
            seen,
            points,
            ranks,
            weight,
            own_kernel=steps < 2,
            ranker=ranker,
            preparation=preparation,
        )

    def read(self, new: Any) -> tuple[RowView, PointScores, pd.DataFrame]:
        """Return new rows, their scores and their ranks, as `explain` takes them."""
        points = self._ranker.score_points(new)
        seen = view_table(new, self._preparation)
        return seen, points, self._ranker.table(points)

    def explain(
        self, seen: RowView, points: PointScores, ranks: pd.DataFrame, places: Any, columns: int = 3
    ) -> pd.DataFrame:
        """The table of `explain_points`, for the rows at these places."""
        import pandas as pd

        places = np.asarray(places, dtype=np.intp)
        rows = seen.take(places)
        nearest = nearest_clusters(points)[places]
        scores = ranks["outlier_score"].to_numpy()[places]
        is_outlier = ranks["is_outlier"].to_numpy(dtype=bool)[places]
        is_overlap = ranks["is_overlap"].to_numpy(dtype=bool)[places]
        pairs = [
            _pair(points.memberships[place]) if overlaps else None
            for place, overlaps in zip(places.tolist(), is_overlap, strict=True)
        ]
        is_between = [pair is not None and all(map(self._reasons.has, pair)) for pair in pairs]
        far = np.flatnonzero(~np.array(is_between, dtype=bool))
        named = self._causes.find(rows.values[far], nearest[far].tolist(), columns)
        causes = dict(zip(far.tolist(), named, strict=True))
        records = []
        for i, (place, pair) in enumerate(zip(places.tolist(), pairs, strict=True)):
            if pair is not None and is_between[i]:
                found = self._reasons.between(rows, i, *pair, columns)
                between = f"{pair[0]} and {pair[1]}"
            else:
                between = ""
                cluster = int(nearest[i])
                found = Found([], NO_COLUMN)
                if is_outlier[i] or self._stands_out(rows, i, causes[i], cluster):
                    found = self._reasons.outlier(rows, i, causes[i], cluster, columns)
            record: dict[str, Any] = {
                "row": place,
                "outlier_score": scores[i],
                "grade": grade(scores[i], bool(is_outlier[i])),
                "between": between,
            }
            for k in range(columns):
                cause = found.causes[k] if k < len(found.causes) else None
                record |= _cells(rows, i, cause, k + 1)
            records.append(record | {"why": found.words})
        return pd.DataFrame(records, columns=_names(columns))

    def _stands_out(self, rows: RowView, i: int, named: Named, cluster: int) -> bool:
        first = named.columns[0]
        return bool(named.parts[first] >= 1) or self._reasons.is_far(
            rows.values[i, first], first, cluster
        )


def nearest_clusters(points: PointScores) -> NDArray[np.int64]:
    """The cluster of every row; of noise, the one of highest membership, (n,)."""
    if points.memberships is None or np.ndim(points.memberships) < 2:
        return np.maximum(points.labels, 0)
    if points.memberships.shape[1] == 0:
        return np.zeros_like(points.labels)
    return np.where(points.labels < 0, np.argmax(points.memberships, axis=1), points.labels)


def _pair(memberships: Any) -> tuple[int, int] | None:
    """The two clusters of highest membership, the lower number first."""
    if np.ndim(memberships) == 0 or len(memberships) < 2:
        return None
    first, second = np.argsort(-memberships, kind="stable")[:2].tolist()
    return min(first, second), max(first, second)


def _kernel(model: Any, rows: Array, mass: Array, is_own: bool) -> Radial:
    """The model's kernel where it is a product over these columns, else a Gaussian one."""
    kernel = getattr(model, "kernel_", None)
    if is_own and isinstance(kernel, Radial):
        bandwidth = kernel.bandwidth
        if not isinstance(bandwidth, tuple) or len(bandwidth) == rows.shape[1]:
            return kernel
    if (rows == rows[0]).all():
        return Gaussian(1.0)  # where all rows are alike, any width says the same
    return Gaussian(select_bandwidth(rows, "auto", sample_weight=mass))


# The table


def _names(columns: int) -> list[str]:
    causes = [
        f"{name}_{k}"
        for k in range(1, columns + 1)
        for name in ("column", "value", "low", "high", "share")
    ]
    return ["row", "outlier_score", "grade", "between", *causes, "why"]


def _cells(rows: RowView, i: int, cause: Cause | None, k: int) -> dict[str, Any]:
    if cause is None:
        return {
            f"column_{k}": "",
            f"value_{k}": None,
            f"low_{k}": np.nan,
            f"high_{k}": np.nan,
            f"share_{k}": np.nan,
        }
    j = cause.column
    return {
        f"column_{k}": rows.names[j],
        f"value_{k}": rows.value(i, j),
        f"low_{k}": cause.usual.low,
        f"high_{k}": cause.usual.high,
        f"share_{k}": cause.share,
    }


def _check_columns(columns: int) -> None:
    if columns != int(columns) or columns < 1:
        raise ValueError(f"columns={columns!r} must be a whole number from 1.")


def _places(rows: Any, ranks: pd.DataFrame) -> NDArray[np.intp]:
    """The rows asked for, or those that are flagged, or the most unusual ones."""
    n = len(ranks)
    if rows is None:
        return flagged_rows(ranks)
    asked = np.atleast_1d(np.asarray(rows))
    if asked.dtype == bool:
        if asked.shape != (n,):
            raise ValueError(f"rows has {asked.size} truth values, but the table has {n} rows.")
        return np.flatnonzero(asked)
    if asked.ndim != 1 or asked.dtype.kind not in "iu":
        raise ValueError(f"rows={rows!r} must be whole numbers or truth values.")
    bad = asked[(asked < -n) | (asked >= n)]
    if bad.size:
        raise IndexError(f"rows has {bad[0]}, but the table has rows 0 to {n - 1}.")
    return np.where(asked < 0, asked + n, asked).astype(np.intp)


def flagged_rows(ranks: pd.DataFrame) -> NDArray[np.intp]:
    """Places of the outliers, furthest first, then of rows in between; else of the furthest ten."""
    by_outlier = unusual_rows(ranks, len(ranks))
    by_overlap = np.argsort(ranks["overlap_rank"].to_numpy(), kind="stable")
    outliers = by_outlier[ranks["is_outlier"].to_numpy(dtype=bool)[by_outlier]]
    overlaps = by_overlap[ranks["is_overlap"].to_numpy(dtype=bool)[by_overlap]]
    flagged = np.concatenate([outliers, overlaps])
    return flagged if flagged.size else by_outlier[:UNUSUAL]


def unusual_rows(ranks: pd.DataFrame, most: int = UNUSUAL) -> NDArray[np.intp]:
    """Places of the rows that are furthest out, furthest first."""
    return np.argsort(ranks["outlier_rank"].to_numpy(), kind="stable")[:most]


def saved_explainer(model: Any, ranker: Ranker) -> Explainer | None:
    """Return an explainer for a model from a file, without its table; None if that is impossible.

    Typical rows are those from which missing cells are imputed, or the support of the model.
    """
    last, _ = fitted_step(model)
    preparation = preparation_of(model)
    if preparation is None:
        return None
    prepared = preparation.reference_rows()
    if prepared is None and last.kernel_.takes_points:
        prepared = preparation.prepare(_support(last))
    if prepared is None or len(prepared.values) < FEWEST_ROWS:
        return None
    points = ranker.score_points(prepared)
    return Explainer(last, view_prepared(prepared), points, ranker.table(points), ranker=ranker)


def _support(model: Any) -> Array:
    """Return rows that the model keeps, a sample of many."""
    rows = model.support_vectors_
    rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
    return rows[np.sort(priority_sample(rows, REFERENCE_ROWS)[0])]
