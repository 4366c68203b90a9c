"""Preparation of raw tables: columns of any kind become numbers on one scale.

Results do not depend on the order of rows, on the unit of a column, or on how often the whole table
is repeated. Only whole numbers that increase evenly with the rows are recognized by order.
"""

from __future__ import annotations

from softkern.tables.preparation.kinds import recognize
from softkern.tables.preparation.transformer import PreparedTable, TablePreparation

__all__ = ["PreparedTable", "TablePreparation", "recognize"]
