"""The command line of softkern."""

from softkern.tables.cli.program import main, run

__all__ = ["main", "run"]
