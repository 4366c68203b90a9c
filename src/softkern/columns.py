"""What the columns of a table are, and how they come to one scale.

A table that nobody prepared holds row numbers, identifiers, yes/no columns, codes and amounts with
long tails, and each of them can decide an answer by itself. `recognise` says what every column is;
`Scaling` takes skewed ones by their logarithm and divides all by their robust spread; `Neighbours`
fills in missing cells from the rows that are nearest in the columns that both rows have. What they
learned is plain data, so that it travels in a model's file and does the same to new rows. None of
it depends on the order of the rows, nor on how often the whole table is repeated, save where a
column that counts upwards is taken for an identifier. Called by the command line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import kolmogorov

from softkern._typing import Array
from softkern.kernels.bandwidths import FEWEST_STEPS, robust_spread
from softkern.rows import distinct_rows, priority_sample, row_slices
from softkern.words import count, named

__all__ = ["Bend", "Column", "Kind", "Neighbours", "Scaling", "describe", "recognise", "repeats"]

Kind = Literal[
    "empty", "constant", "row number", "identifier", "date", "two values", "codes", "skewed",
    "number",
]  # fmt: skip
NO_FEATURES = {"empty", "constant", "row number", "identifier", "date"}

LARGEST_WHOLE = 2.0**53  # beyond it, floats cannot tell whole numbers apart
FEWEST_NUMBERED = 20  # rows from which whole numbers without a gap are no coincidence
FEWEST_COUNTED = 3  # the same, where the name says that they count
REPEATS_BY_CHANCE = 10.0  # expected, from which their absence is no chance (e^−10)
NEIGHBOURS_APART = 10  # values whose reach gives the density of whole numbers
EVEN = 0.05  # level of the test of numbers that are spread evenly
FEWEST_DIGITS = 5  # of identifiers that are spread over all numbers of their length
NAMES_FIRST = {"id", "uid", "uuid", "guid"}  # first or last word of an identifier's name
NAMES_LAST = {"rowid", "index", "idx", "nr", "no", "number", "key", "serial"}
NAMELESS = re.compile(r"column 1|Unnamed: 0")  # what readers call a first column without a name

SHAPE_POINTS = 64  # quantiles that stand for a column's shape
TRIMMED = 0.01  # share at each end that the shape does not look at: far values are no shape
FEWEST_SHAPED = 30  # distinct values from which a shape can be seen
LONG_TAIL = 3.0  # from the median to the 95 % quantile, in lengths of the other side
LEAST_GROUP = 4  # of the quantiles, that make a group of their own
GROUPS = 5  # normal groups that a column may hold
GROUP_COST = 3.0  # log-likelihood of these points that another group must gain
BEND_GAIN = 5.0  # the same, that a logarithm must gain
BEND_TIE = 1.0  # bends that are this near to the best are as good; the slightest is taken
UNITS = 4.0 ** np.arange(1, -7, -1)  # in which the logarithm sets in, in spreads of the column
FENCE = 5.0  # lengths from the median to the 10 % quantile, below which values are no origin

DONOR_ROWS = 1000  # rows that missing cells are filled in from
DONOR_CELLS = 100_000  # the same, for wide tables: a model's file stays small
DONOR_DIGITS = 6  # after the point, in spreads
NEIGHBOURS = 5
FILLED_AT_ONCE = 4096  # rows, whose distances to all donors are in memory
PLURAL = {"has": "have", "holds": "hold", "is": "are", "numbers": "number"}


@dataclass(frozen=True)
class Bend:
    """x by its logarithm beyond `origin`, and as it is before it.

    asinh((s x − origin) / unit) where that is positive, (s x − origin) / unit elsewhere, with
    s = ±1 the side of the long tail. A value below all others stays as far away as it is.

    Examples
    --------
    >>> import numpy as np
    >>> bend = Bend(1.0, origin=0.0, unit=1.0)
    >>> bend.forward(np.array([-999.0, 0.0, 1e4])).round(1)
    array([-999. ,    0. ,    9.9])
    >>> bend.backward(bend.forward(np.array([-7.0, 1e9]))).round(3).tolist()
    [-7.0, 1000000000.0]
    """

    sign: float
    origin: float
    unit: float

    def forward(self, x: Array) -> Array:
        """From the column's unit."""
        z = (self.sign * x - self.origin) / self.unit
        return np.asarray(self.sign * np.where(z > 0, np.arcsinh(np.maximum(z, 0)), z))

    def backward(self, y: Array) -> Array:
        """To the column's unit."""
        z = self.sign * y
        z = np.where(z > 0, np.sinh(np.maximum(z, 0)), z)
        return np.asarray(self.sign * (self.origin + self.unit * z))

    def log_slope(self, x: Array) -> Array:
        """Logarithm of the derivative."""
        z = np.maximum((self.sign * x - self.origin) / self.unit, 0)
        return np.asarray(-np.log(self.unit) - 0.5 * np.log1p(z**2))


@dataclass(frozen=True)
class Column:
    """What a column of numbers is.

    Attributes
    ----------
    name : str
    kind : str
        "number", "skewed", "two values" or "codes" for a feature; "row number", "identifier",
        "date", "constant" or "empty" for what is none.
    reason : str
        Why, in words that follow the column's name.
    bend : Bend or None
        The logarithm by which a skewed column is taken.
    """

    name: str
    kind: Kind
    reason: str = ""
    bend: Bend | None = None

    @property
    def is_feature(self) -> bool:
        """Whether it measures something."""
        return self.kind not in NO_FEATURES


def recognise(
    X: Any, names: Sequence[str] | None = None, *, features: Collection[str] = ()
) -> list[Column]:
    """What every column of a table is.

    Parameters
    ----------
    X : array of shape (n, d)
        Numbers; NaN where a cell is missing.
    names : sequence of str, default=None
        Those of the columns. A name such as "customer_id" is a hint, never needed.
    features : collection of str, default=()
        Names of columns that are features whatever they look like.

    Returns
    -------
    columns : list of Column

    Notes
    -----
    Whole numbers are an identifier where no two different rows share one although many would by
    chance, where they are spread evenly over all numbers of so many digits or rise evenly through
    the table, or where the name says so. Rows that repeat another one are looked at once.

    A column is skewed where its tail is more than three times as long as its other side, and where
    up to five normal groups describe it better in logarithms than as it is: two groups far apart,
    or a few far values, are not.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([
    ...     np.arange(300), rng.normal(size=300), rng.lognormal(size=300), rng.integers(2, size=300)
    ... ])
    >>> [column.kind for column in recognise(X)]
    ['row number', 'number', 'skewed', 'two values']
    """
    X = np.asarray(X, dtype=np.float64)
    names = [f"column {j}" for j in range(X.shape[1])] if names is None else list(names)
    if len(X) == 0:
        return [Column(name, "empty", "has no value") for name in names]
    index, _ = distinct_rows(X)
    rows = X[np.sort(index)]  # the first of every copy, in the order of the table
    return [_column(rows[:, j], name, name in features) for j, name in enumerate(names)]


def _column(x: Array, name: str, is_feature: bool) -> Column:
    present = x[~np.isnan(x)]
    if present.size == 0:
        return Column(name, "empty", "has no value")
    values, counts = np.unique(present, return_counts=True)
    if values.size == 1:
        return Column(name, "constant", "has one value")
    found = None if is_feature else _no_feature(x, present, values, name)
    if found is not None:
        return found
    if values.size < FEWEST_STEPS and values.size < x.size:
        if values.size == 2:
            return Column(name, "two values", "has two values")
        return Column(name, "codes", f"has {values.size} values")
    bend = _bend(values, counts)
    return Column(name, "number") if bend is None else Column(name, "skewed", "is skewed", bend)


# Row numbers, identifiers, dates


def _no_feature(x: Array, present: Array, values: Array, name: str) -> Column | None:
    """A column of numbers that measure nothing; None for one that may."""
    if not _are_whole(values):
        return None
    if why := _numbering(values, present.size, x.size, name):
        return Column(name, "row number", why)
    if why := _dates(values):
        return Column(name, "date", why)
    if why := _identifier(present, values, x.size, name):
        return Column(name, "identifier", why)
    return None


def _numbering(values: Array, n_present: int, n: int, name: str) -> str:
    """Why the values number the rows; empty where they do not."""
    if not n == n_present == values.size:
        return ""
    if values[-1] - values[0] != n - 1:
        return ""
    counts_by_name = bool(NAMELESS.fullmatch(name) or _is_identifier_name(name))
    is_counter = counts_by_name and values[0] in (0, 1) and n >= FEWEST_COUNTED
    return "numbers the rows" if is_counter or n >= FEWEST_NUMBERED else ""


def _identifier(x: Array, values: Array, n: int, name: str) -> str:
    """Why the values name the rows; empty where they do not."""
    if n < FEWEST_NUMBERED:
        return ""
    if _is_identifier_name(name) and values.size >= FEWEST_NUMBERED:
        return "holds whole numbers and is named as an identifier"
    if x.size < n or values.size < n:
        return ""
    if _repeats_by_chance(values) > REPEATS_BY_CHANCE:
        return "holds whole numbers, another one in every row"
    if not _is_even(values):
        return ""
    step = np.diff(x)
    if (step > 0).all() or (step < 0).all():
        return "holds whole numbers that run evenly through the table"
    return "holds random numbers of so many digits" if _fills_its_digits(values) else ""


def _are_whole(values: Array) -> bool:
    return bool(np.abs(values).max() < LARGEST_WHOLE and (values % 1 == 0).all())


def _is_identifier_name(name: str) -> bool:
    """Whether a name such as "id", "customer_no" or "CustomerID" is that of an identifier."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    words = [word.lower() for word in words]
    return bool(words) and (
        words[0] in NAMES_FIRST or words[-1] in NAMES_FIRST or words[-1] in NAMES_LAST
    )


def _repeats_by_chance(values: Array) -> float:
    """Pairs of equal values that whole numbers so dense would hold by chance: Σ p² n²/2.

    The density is that of the nearest values; multiples of ten are as good as whole numbers.
    """
    steps = np.diff(values)
    unit = float(np.gcd.reduce(steps.astype(np.int64)))
    apart = min(NEIGHBOURS_APART, values.size - 1)
    reach = (values[apart:] - values[:-apart]) / unit
    return float((apart / (2 * reach)).sum())


def _is_even(values: Array) -> bool:
    """Whether sorted values are spread evenly from the first to the last (Kolmogorov, Smirnov)."""
    inner = (values[1:-1] - values[0]) / (values[-1] - values[0])
    if inner.size == 0:
        return False
    expected = np.arange(1, inner.size + 1) / (inner.size + 1)
    distance = np.abs(inner - expected).max()
    return bool(kolmogorov(np.sqrt(inner.size) * distance) > EVEN)


def _fills_its_digits(values: Array) -> bool:
    """Whether values reach from the least to the greatest number of their digits."""
    digits = len(str(int(values[-1])))
    lowest, highest = 10.0 ** (digits - 1), 10.0**digits
    if digits < FEWEST_DIGITS or values[0] < 0:
        return False
    near = 5 * (values[-1] - values[0]) / values.size  # e^−5 that the end lies further off
    return bool(highest - values[-1] < near and min(values[0], abs(values[0] - lowest)) < near)


def _dates(values: Array) -> str:
    """Why the values are dates written as numbers, such as 20240131; empty where they are none."""
    if values.size < FEWEST_NUMBERED:
        return ""
    year, month, day = values // 10_000, values // 100 % 100, values % 100
    parts = ((year, 1800, 2199), (month, 1, 12), (day, 1, 31))
    are_dates = all(low <= part.min() and part.max() <= high for part, low, high in parts)
    return "holds dates written as numbers" if are_dates else ""


# Shapes


def _bend(values: Array, counts: Array) -> Bend | None:
    """The logarithm that makes a skewed column plain; None where it had better be left."""
    if values.size < FEWEST_STEPS or counts.sum() < FEWEST_SHAPED:
        return None
    shape = _quantiles(values, counts, np.linspace(TRIMMED, 1 - TRIMMED, SHAPE_POINTS))
    sign, origin, spread = _long_side(values, counts)
    if sign == 0:
        return None
    bends = [Bend(sign, origin, unit) for unit in (spread * UNITS).tolist()]
    bent = np.array([_likelihood(bend.forward(shape)) + bend.log_slope(shape).sum()
                     for bend in bends])  # fmt: skip
    if not bent.max() > _likelihood(shape) + BEND_GAIN:
        return None
    return bends[int(np.argmax(bent >= bent.max() - BEND_TIE))]


def _quantiles(values: Array, counts: Array, shares: Array) -> Array:
    """Quantiles of sorted values, each spread as far as half the way to its nearest neighbour.

    So a rounded column has no ties, and nothing lies in the gap between two groups.
    """
    gaps = np.diff(values)
    half = 0.5 * np.minimum(np.append(gaps, gaps[-1]), np.insert(gaps, 0, gaps[0]))
    reached = np.cumsum(counts) / counts.sum()
    place = np.minimum(np.searchsorted(reached, shares), values.size - 1)
    within = 1 - (reached[place] - shares) * counts.sum() / counts[place]  # 0 to 1 of its copies
    return np.asarray(values[place] + half[place] * (2 * within - 1))


def _long_side(values: Array, counts: Array) -> tuple[float, float, float]:
    """The side of the long tail (0: none), the value where the other side ends, and a spread."""
    low, ten, middle, ninety, high = _quantiles(
        values, counts, np.array([0.05, 0.1, 0.5, 0.9, 0.95])
    )
    # a value that is far below all others, such as -999, is not where the column begins
    first = values[np.searchsorted(values, middle - FENCE * (middle - ten))]
    last = values[np.searchsorted(values, middle + FENCE * (ninety - middle), "right") - 1]
    below, above = middle - max(low, first), min(high, last) - middle
    if high - middle > LONG_TAIL * below:
        return 1.0, float(first), float(high - max(low, first)) / 4
    if middle - low > LONG_TAIL * above:
        return -1.0, float(-last), float(min(high, last) - low) / 4
    return 0.0, 0.0, 0.0


def _likelihood(points: Array) -> float:
    """Log-likelihood of sorted points under one to five normal groups, each a stretch of them.

    Σ over groups of m (log(m/n) − log s), without constants, at the best cuts; every further
    group costs as much as its parameters could gain by chance.
    """
    n = points.size
    points = points - points.mean()
    sums, squares = (np.concatenate([[0.0], np.cumsum(p)]) for p in (points, points**2))
    size = np.arange(n + 1)[None, :] - np.arange(n + 1)[:, None]  # of the group from i to j
    with np.errstate(all="ignore"):
        mean = (sums[None, :] - sums[:, None]) / size
        variance = (squares[None, :] - squares[:, None]) / size - mean**2
        rounding = 1e-14 * squares[-1] / n
        group = size * (np.log(size / n) - 0.5 * np.log(np.maximum(variance, rounding)))
    group[size < LEAST_GROUP] = -np.inf
    best = reached = group[0]  # of the points up to j, in one group
    total = best[-1]
    for further in range(1, GROUPS):
        reached = (reached[:, None] + group).max(axis=0)
        total = max(total, reached[-1] - further * GROUP_COST)
    return float(total)


# One scale


@dataclass(frozen=True)
class Scaling:
    """Columns by their logarithm where they are skewed, then (x − centre) / spread.

    Attributes
    ----------
    bends : tuple of Bend or None
    centre, spread : tuples of float

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).lognormal(size=(500, 2)) * [1, 1000]
    >>> scaling = Scaling.fit(X, recognise(X))
    >>> Z = scaling.forward(X)
    >>> bool(np.allclose(Z.std(axis=0), 1, atol=0.2) and np.allclose(scaling.backward(Z), X))
    True
    """

    bends: tuple[Bend | None, ...]
    centre: tuple[float, ...]
    spread: tuple[float, ...]

    @classmethod
    def fit(cls, X: Array, columns: Sequence[Column], how: str = "robust") -> Scaling:
        """Learn from a table (n, d) whose missing cells are NaN.

        `how` is "robust", by median and `robust_spread`, for which the values of a column of few
        of them are one spread apart; or "standard", by mean and standard deviation.
        """
        bends = tuple(column.bend for column in columns)
        bent = _bent(X, bends)
        unit = np.nanmax(np.abs(bent), axis=0)
        unit[~(unit > 0)] = 1.0
        bent /= unit  # squares of large values would overflow
        if how == "standard":
            centre, spread = np.nanmean(bent, axis=0), np.nanstd(bent, axis=0)
        else:
            centre, spread = np.nanmedian(bent, axis=0), _spreads(bent)
        spread = np.where(spread > 0, spread, 1.0)
        return cls(bends, tuple((centre * unit).tolist()), tuple((spread * unit).tolist()))

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Scaling:
        """From what `dataclasses.asdict` made of it."""
        bends = tuple(None if bend is None else Bend(**bend) for bend in saved["bends"])
        return cls(bends, tuple(saved["centre"]), tuple(saved["spread"]))

    def forward(self, X: Array) -> Array:
        """What a model sees, (n, d)."""
        return np.asarray((_bent(X, self.bends) - self.centre) / self.spread)

    def backward(self, Z: Array) -> Array:
        """The data's own units again."""
        X = np.asarray(Z) * self.spread + self.centre
        for j, bend in enumerate(self.bends):
            if bend is not None:
                X[:, j] = bend.backward(X[:, j])
        return X


def _bent(X: Array, bends: Sequence[Bend | None]) -> Array:
    bent = np.array(X, dtype=np.float64)
    for j, bend in enumerate(bends):
        if bend is not None:
            bent[:, j] = bend.forward(bent[:, j])
    return bent


def _spreads(X: Array) -> Array:
    """`robust_spread` of the cells that are there, (d,)."""
    has_holes = np.isnan(X).any(axis=0)
    spread = np.ones(X.shape[1])
    if not has_holes.all():
        spread[~has_holes] = robust_spread(X[:, ~has_holes])
    for j in np.flatnonzero(has_holes).tolist():
        spread[j] = robust_spread(X[~np.isnan(X[:, j]), j : j + 1])[0]
    return spread


# Missing cells


@dataclass(frozen=True)
class Neighbours:
    """Missing cells from the rows that are nearest in the columns that both rows have.

    The mean of the five nearest of up to 1,000 rows of the table, on the scale of `scaling`. Where
    no such row has a column in common, the column's mean over them.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[0.0, 1.0], [9.0, 5.0]], 20, axis=0) + np.arange(40)[:, None] / 1000
    >>> neighbours = Neighbours.fit(X, Scaling.fit(X, recognise(X)))
    >>> neighbours.fill(np.array([[0.0, np.nan], [np.nan, 5.0]])).round()
    array([[0., 1.],
           [9., 5.]])
    """

    scaling: Scaling
    donors: tuple[tuple[float | None, ...], ...]  # scaled; None where missing, as JSON has it

    @classmethod
    def fit(cls, X: Array, scaling: Scaling) -> Neighbours:
        """Keep a bounded sample of a table's rows, which does not depend on their order."""
        rows = X[~np.isnan(X).all(axis=1)]
        most = max(NEIGHBOURS, min(DONOR_ROWS, DONOR_CELLS // X.shape[1]))
        whole = rows[~np.isnan(rows).any(axis=1)]
        if len(whole) >= most:  # the more of its cells a row has, the more it can give
            rows = whole
        scaled = scaling.forward(rows).round(DONOR_DIGITS)
        # the sample looks at numbers only: a missing cell is its column's median there
        index, _ = priority_sample(np.where(np.isnan(scaled), 0.0, scaled), most)
        donors = scaled[index].astype(object)
        donors[np.isnan(scaled[index])] = None
        return cls(scaling, tuple(map(tuple, donors.tolist())))

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Neighbours:
        """From what `dataclasses.asdict` made of it."""
        return cls(Scaling.from_dict(saved["scaling"]), tuple(map(tuple, saved["donors"])))

    def fill(self, X: Array) -> Array:
        """The table in its own units, (n, d), with its missing cells filled in."""
        from sklearn.impute import KNNImputer

        is_missing = np.isnan(X)
        rows = np.flatnonzero(is_missing.any(axis=1))
        if rows.size == 0:
            return X
        donors = np.array(self.donors, dtype=np.float64)
        imputer = KNNImputer(n_neighbors=NEIGHBOURS, keep_empty_features=True).fit(donors)
        filled = X.copy()
        for block in row_slices(rows.size, FILLED_AT_ONCE):
            some = rows[block]
            scaled = imputer.transform(self.scaling.forward(X[some]))
            filled[some] = np.where(is_missing[some], self.scaling.backward(scaled), X[some])
        return filled


# Words


def describe(columns: Sequence[Column]) -> list[str]:
    """One line for each thing that was decided, with the columns that it is about.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.column_stack([np.arange(50), np.arange(50) % 2, np.arange(50) ** 2])
    >>> for line in describe(recognise(X, ["row", "member", "area"])):
    ...     print(line)
    left out 'row': it numbers the rows
    'member' has two values, which count as one spread apart
    """
    alike: dict[tuple[Kind, str], list[str]] = {}
    for column in columns:
        if column.kind != "number":
            alike.setdefault((column.kind, column.reason), []).append(column.name)
    return [_line(kind, reason, names) for (kind, reason), names in alike.items()]


def _line(kind: Kind, reason: str, names: Sequence[str]) -> str:
    is_one = len(names) == 1
    verb, rest = reason.split(" ", 1)
    said = f"{verb if is_one else PLURAL[verb]} {rest}"
    if kind in NO_FEATURES:
        return f"left out {named(names)}: {'it' if is_one else 'they'} {said}"
    what = {
        "two values": "which count as one spread apart",
        "codes": "which count as one spread from one to the next",
        "skewed": f"taken by {'its' if is_one else 'their'} logarithm",
    }
    return f"{named(names)} {said}, {what[kind]}"


def repeats(X: Array) -> str:
    """How many rows repeat an earlier one, in words; empty where none does.

    Examples
    --------
    >>> import numpy as np
    >>> repeats(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    '1 of 3 rows repeats another one'
    """
    copies = len(X) - len(distinct_rows(X)[0])
    if copies == 0:
        return ""
    verb = "repeats" if copies == 1 else "repeat"
    return f"{copies:,} of {count(len(X), 'row')} {verb} another one"
