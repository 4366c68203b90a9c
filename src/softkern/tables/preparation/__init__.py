"""Preparation of raw tables: columns of any kind become numbers on one scale.

A raw table holds row numbers, identifiers, yes/no columns, codes and amounts with long tails, and
each of them can dominate the result. `TablePreparation`, a scikit-learn transformer, recognizes the
kind of every column, parses numbers such as "$1,234.50", scales columns, takes logarithms of skewed
ones and imputes missing cells, for `softkern.cluster` and `softkern analyze` alike.
Results do not depend on the order of rows, on the unit of a column, or on how often the whole
table is repeated. Only whole numbers that increase evenly with the rows are recognized by order.
"""

from __future__ import annotations

from softkern.tables.preparation.kinds import column_notes, recognize
from softkern.tables.preparation.transformer import PreparedTable, TablePreparation

__all__ = ["PreparedTable", "TablePreparation", "column_notes", "recognize"]
