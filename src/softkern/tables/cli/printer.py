"""Prints lines, notes and tables on the terminal. Text from the data is never markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import rich
from rich import progress as bars
from rich.console import Console
from rich.table import Table
from rich.text import Text

from softkern._utils.progress import progress_listener
from softkern._utils.text import quote

FILE_WIDTH = 120  # columns of output that is not a terminal
LONGEST_CELL, LONGEST_SENTENCE = 60, 400  # letters


class Printer:
    """Prints on standard output, or on standard error if results go to standard output."""

    def __init__(self, quiet: bool, to_stderr: bool = False) -> None:
        self.quiet = quiet
        # the same console as that on which models print their plan and progress
        self._console = Console(stderr=True) if to_stderr else rich.get_console()
        if not self._console.is_terminal:
            self._console.width = FILE_WIDTH

    def line(self, text: str = "", style: str = "") -> None:
        """Print one or more lines."""
        if not self.quiet:
            self._console.print(Text(text, style), soft_wrap=True)

    def notes(self, notes: Sequence[str]) -> None:
        """Print remarks on what was done."""
        for note in notes:
            self.line(f"  · {note}", "yellow")

    def progress(self, text: str) -> None:
        """Print a line that the next one overwrites. Only on a terminal."""
        if not self.quiet and self._console.is_terminal:
            self._console.print(Text(text, "dim"), end="\r")

    @contextmanager
    def stages(self) -> Iterator[None]:
        """Show a progress bar for every stage, with the time left. Only on a terminal."""
        if self.quiet or not self._console.is_terminal:
            yield
            return
        columns = (
            bars.SpinnerColumn(),
            bars.TextColumn("{task.description}", markup=False),
            bars.BarColumn(30),
            bars.TimeElapsedColumn(),
            TimeLeft(),
        )
        shown = bars.Progress(*columns, console=self._console, transient=True)
        with shown, progress_listener(_Bars(shown)):
            yield

    def table(
        self,
        head: Sequence[str],
        rows: Sequence[Sequence[Any]],
        title: str | None = None,
        wide: str | None = None,
        right: Sequence[str] = (),
    ) -> None:
        """Print a table. `wide` may have long text, the columns in `right` are right-aligned."""
        if self.quiet or not rows:
            return
        if title:  # the title of a rich table wraps at the width of the table
            self.line(title, "bold")
        shown = Table(box=rich.box.SIMPLE)
        for name in head:
            no_wrap = wide is not None and name != wide
            justify: Any = "right" if name in right else "left"
            shown.add_column(Text(quote(name, 24)), justify=justify, no_wrap=no_wrap)
        longest = [LONGEST_SENTENCE if name == wide else LONGEST_CELL for name in head]
        for row in rows:
            shown.add_row(
                *(Text(quote(cell, most)) for cell, most in zip(row, longest, strict=True))
            )
        self._console.print(shown)


class TimeLeft(bars.ProgressColumn):
    """The time left, for stages whose steps are counted."""

    max_refresh = 0.5

    def render(self, task: bars.Task) -> Text:
        """Return the time in words, or nothing."""
        left = task.time_remaining
        return Text("" if left is None else f"{timedelta(seconds=int(left))} left", "cyan")


class _Bars:
    """Shows stages as bars, nested ones below their parents."""

    def __init__(self, progress: bars.Progress) -> None:
        self._progress = progress

    def begin(self, name: str, total: float | None) -> Any:
        """Add a bar."""
        return self._progress.add_task("  " * len(self._progress.tasks) + name, total=total)

    def advance(self, task_id: Any, done: float) -> None:
        """Update a bar."""
        self._progress.update(task_id, completed=done)

    def end(self, task_id: Any) -> None:
        """Remove a bar."""
        self._progress.remove_task(task_id)
