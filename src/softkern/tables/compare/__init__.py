"""Compare two results (`compare_points`) and the columns of two tables (`drift`).

Nothing here prints or reads files: `softkern compare` does.
"""

from softkern.tables.compare.results import compare_points

__all__ = ["compare_points"]
