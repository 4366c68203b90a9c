"""Preparation of tables: from columns as people keep them to numbers on one scale.

A raw table holds row numbers, identifiers, yes/no columns, codes and amounts with long tails, and
each of them can dominate the result. `recognize` finds the kind of every column, `ColumnScaler`
scales columns and takes logarithms of skewed ones, `NearestRowImputer` fills missing cells from the
nearest rows, `NumberFormat` parses numbers such as "$1,234.50", and `TablePreparation` combines
them into a scikit-learn transformer, used by `softkern.cluster` and `softkern analyze` alike.
Results do not depend on the order of rows, on the unit of a column, or on how often the whole
table is repeated; only whole numbers that increase evenly with the rows are recognized by order.
"""

from __future__ import annotations

from softkern.tables.preparation.formats import NumberFormat
from softkern.tables.preparation.imputation import NearestRowImputer
from softkern.tables.preparation.kinds import Column, ColumnKind, column_notes, recognize
from softkern.tables.preparation.notes import Note
from softkern.tables.preparation.scaling import ColumnScaler
from softkern.tables.preparation.skew import SignedLog
from softkern.tables.preparation.transformer import PreparedTable, TablePreparation

__all__ = [
    "Column",
    "ColumnKind",
    "ColumnScaler",
    "NearestRowImputer",
    "Note",
    "NumberFormat",
    "PreparedTable",
    "SignedLog",
    "TablePreparation",
    "column_notes",
    "recognize",
]
