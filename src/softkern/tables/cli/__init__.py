"""The command line of softkern."""

from softkern.tables.cli.commands import main, run

__all__ = ["main", "run"]
