"""What the columns of a table are, and how they come to one scale.

A table that nobody prepared holds row numbers, identifiers, yes/no columns, codes and amounts with
long tails, and each of them can decide an answer by itself. `recognize` says what every column is;
`Scaling` takes skewed ones by their logarithm and divides all by their robust spread; `Neighbors`
fills in missing cells from the rows that are nearest in the columns that both rows have;
`Writing` is how a column writes its numbers ("$1,234.50", "12,5 %");
`Preparation` does all of it, for `softkern analyze` and `softkern.cluster` alike. What they
learned is plain data, so that it travels in a model's file and does the same to new rows. Neither
the order of the rows nor the unit of a column matters, nor how often the whole table is repeated;
only whole numbers that rise evenly through the table are an identifier by their order.
"""

from __future__ import annotations

from softkern.tables.preparation.formats import Writing
from softkern.tables.preparation.imputation import Neighbors
from softkern.tables.preparation.kinds import Column, Kind, describe, recognize, repeats
from softkern.tables.preparation.scaling import Scaling
from softkern.tables.preparation.skew import Bend
from softkern.tables.preparation.transformer import Preparation, Prepared

__all__ = [
    "Bend",
    "Column",
    "Kind",
    "Neighbors",
    "Preparation",
    "Prepared",
    "Scaling",
    "Writing",
    "describe",
    "recognize",
    "repeats",
]
