"""A clustering that takes tables as they are, and says what it did to their columns.

The table is prepared by `softkern.tables.preparation.Preparation`, as `softkern analyze` does it;
the model itself sees numbers without gaps. `AutoClustering` is the one that extends it.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softkern._utils.sklearn_compat import check_columns
from softkern._utils.typing import Array
from softkern.dask import is_chunked
from softkern.dask.fit import fit_tables
from softkern.models.base import SAMPLE_ATTRIBUTES, SoftModel
from softkern.models.clusterer import Clusterer
from softkern.models.point_scores import PointScores
from softkern.models.state_schema import TEXTS, Instance, Spec
from softkern.rows import check_weights
from softkern.tables.preparation.cells import as_table
from softkern.tables.preparation.transformer import Preparation, Prepared

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TableClustering"]


class TableClustering(Clusterer, SoftModel):
    """Base of clusterings with the parameter `prepare`; see the module's docstring."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"prepare": ["boolean", dict]}
    _fitted: ClassVar[dict[str, Spec]] = {
        "preparation_": Instance("Preparation", nullable=True),
        "notes_": TEXTS,
    }
    prepare: Any
    verbose: Any

    @abstractmethod
    def _score_numbers(self, X: Array) -> PointScores:
        """Score samples of prepared numbers."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or DataFrame of shape (n, d), also Dask's
            Numbers without gaps, or with `prepare` any table.
        y : ignored
        sample_weight : array of shape (n,), default=None
            A weight of two counts a row twice. What columns are is judged by the rows that have a
            weight, each once.
        """
        self._validate_params()
        self.preparation_: Preparation | None = None
        self.notes_: list[str] = []
        options = self.prepare if isinstance(self.prepare, dict) else {}
        if not (self.prepare or isinstance(self.prepare, dict)):
            return super().fit(X, y, sample_weight)
        for name in SAMPLE_ATTRIBUTES:  # of an earlier fit
            self.__dict__.pop(name, None)
        if is_chunked(X):
            fit_tables(self, X, sample_weight)
            return self
        table = as_table(X)
        weight = check_weights(sample_weight, len(table))
        is_used = weight > 0
        preparation, prepared = Preparation.fit(
            table if is_used.all() else table[is_used], **options
        )
        self.notes_ = [note for note in (prepared.missing_note, *prepared.notes) if note]
        self._tell(self.notes_)
        if not is_used.all():
            prepared = preparation.apply(table)
        values, is_blank = _with_blanks(prepared)
        super().fit(values, sample_weight=np.where(is_blank, 0.0, weight))
        self.preparation_ = preparation
        check_columns(self, X, reset=True)
        self._store_scores(self._without(is_blank, PointScores.fitted(self)))
        return self

    def score_points(self, X: Any) -> PointScores:
        """Compute labels, memberships and scores of samples; see `SoftModel.score_points`.

        Columns of a table that was prepared are known by name, in any order; those of an array by
        their place.
        """
        check_is_fitted(self)
        if self.preparation_ is None:
            return self._score_numbers(self._check_new(X))
        values, is_blank = _with_blanks(self.preparation_.apply(self._named(X)))
        return self._without(is_blank, self._score_numbers(values))

    def on_numbers(self) -> Self:
        """The same fitted model, of the numbers that `preparation_` makes of a table."""
        check_is_fitted(self)
        if self.preparation_ is None:
            return self
        model = copy.copy(self)
        model.prepare, model.preparation_ = False, None
        model.n_features_in_ = len(self.preparation_.features)
        if hasattr(model, "feature_names_in_"):
            del model.feature_names_in_
        return model

    def _named(self, X: Any) -> pd.DataFrame:
        table = as_table(X)
        if not hasattr(X, "columns"):
            check_columns(self, X, reset=False)
            table = table.set_axis(getattr(self, "feature_names_in_", table.columns), axis=1)
        return table

    def _without(self, is_blank: Array, scores: PointScores) -> PointScores:
        """Return results in which rows without any value are in no cluster and no outliers."""
        if not is_blank.any():
            return scores
        usual = getattr(self, "sample_outlier_scores_", None)  # of a fit to Dask dataframes
        usual = self.outlier_scores_[self.sample_weight_ > 0] if usual is None else usual
        least = usual.min()
        return PointScores(
            memberships=np.where(is_blank[:, None], 0, scores.memberships),
            labels=np.where(is_blank, -1, scores.labels),
            outlier_scores=np.where(is_blank, least, scores.outlier_scores),
            overlap_scores=np.where(is_blank, 0, scores.overlap_scores),
        )

    def _tell(self, lines: Sequence[str]) -> None:
        """Show lines where the user asked for them."""
        if self.verbose:
            from rich import get_console

            for line in lines:
                get_console().print(line, markup=False, highlight=False)


def _with_blanks(prepared: Prepared) -> tuple[Array, Array]:
    """Prepared numbers of all rows of a table, (n, d), and which of them are blank, (n,).

    Rows that the preparation leaves out are at every column's middle.
    """
    values = np.zeros((len(prepared.kept), prepared.values.shape[1]))
    values[prepared.kept] = prepared.values
    return values, ~prepared.kept
