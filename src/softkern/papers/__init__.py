"""The five papers, run again: every table, figure and claim as a check with a computed verdict.

`PAPERS` names them; `checks_of` gives a paper's checks, `reproduce` runs checks and stores what
they found, `write_pages` makes pages of that. The command is ``softkern reproduce``.
"""

from softkern.papers.checks import Check, Entry, Measured, Setting
from softkern.papers.pages import write_pages
from softkern.papers.registry import PAPERS, Paper, checks_of
from softkern.papers.running import Result, reproduce
from softkern.papers.store import Store

__all__ = [
    "PAPERS",
    "Check",
    "Entry",
    "Measured",
    "Paper",
    "Result",
    "Setting",
    "Store",
    "checks_of",
    "reproduce",
    "write_pages",
]
