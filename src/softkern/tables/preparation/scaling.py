"""Columns on one scale, there and back.

Called by the command line and by `softkern.tables.preparation.imputation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softkern._utils.typing import Array
from softkern.kernels.spread import robust_spread
from softkern.rows import row_uniforms
from softkern.tables.preparation.kinds import Column
from softkern.tables.preparation.skew import Bend

__all__ = ["Scaling"]


@dataclass(frozen=True)
class Scaling:
    """Columns by their logarithm where they are skewed, then (x − center) / spread.

    Attributes
    ----------
    bends : tuple of Bend or None
    center, spread : tuples of float

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.tables.preparation import recognize
    >>> X = np.random.default_rng(0).lognormal(size=(500, 2)) * [1, 1000]
    >>> scaling = Scaling.fit(X, recognize(X))
    >>> Z = scaling.forward(X)
    >>> bool(np.allclose(Z.std(axis=0), 1, atol=0.2) and np.allclose(scaling.backward(Z), X))
    True
    """

    bends: tuple[Bend | None, ...]
    center: tuple[float, ...]
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
            center, spread = np.nanmean(bent, axis=0), np.nanstd(bent, axis=0)
        else:
            center, spread = np.nanmedian(bent, axis=0), _spreads(bent)
        spread = np.where(spread > 0, spread, 1.0)
        return cls(bends, tuple((center * unit).tolist()), tuple((spread * unit).tolist()))

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Scaling:
        """From what `dataclasses.asdict` made of it."""
        bends = tuple(None if bend is None else Bend(**bend) for bend in saved["bends"])
        return cls(bends, tuple(saved["center"]), tuple(saved["spread"]))

    def forward(self, X: Array) -> Array:
        """What a model sees, (n, d)."""
        return np.asarray((_bent(X, self.bends) - self.center) / self.spread)

    def backward(self, Z: Array) -> Array:
        """The data's own units again."""
        X = np.asarray(Z) * self.spread + self.center
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
    """`robust_spread` of the cells that are there, (d,); rows differ by all their columns."""
    has_holes = np.isnan(X).any(axis=0)
    spread = np.ones(X.shape[1])
    if not has_holes.all():
        spread[~has_holes] = robust_spread(X[:, ~has_holes])
    if has_holes.any():
        others = row_uniforms(np.where(np.isnan(X), np.nanmedian(X, axis=0), X))
    for j in np.flatnonzero(has_holes).tolist():
        there = ~np.isnan(X[:, j])
        spread[j] = robust_spread(np.column_stack([X[there, j], others[there]]))[0]
    return spread
