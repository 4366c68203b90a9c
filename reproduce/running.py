"""Run checks one after another and store each result as soon as it is available."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from rich.progress import Progress

import softkern
from reproduce.checks import UNTESTED, Check, Setting
from reproduce.registry import code_digest, select
from reproduce.store import Record, Store
from reproduce.verified import Unavailable

__all__ = ["Result", "reproduce"]

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True)
class Result:
    """A check with its stored record.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [result] = reproduce(["filippone2007"], Store(folder), ids=["2007-T2"], quick=True)
    >>> result.check.id, result.verdict, result.is_expected
    ('2007-T2', 'contradicts', True)
    """

    paper: str
    check: Check
    record: Record
    is_new: bool = True

    @property
    def verdict(self) -> str:
        """The verdict, computed by the rule of the check."""
        return UNTESTED if self.record.unavailable else self.check.judge(self.record.entries)

    @property
    def is_expected(self) -> bool:
        """Whether the verdict is the expected one, or the data are not available."""
        return bool(self.record.unavailable) or self.verdict == self.check.expected


def reproduce(
    papers: Sequence[str],
    store: Store,
    *,
    ids: Sequence[str] = (),
    quick: bool = False,
    again: bool = False,
    seed: int = 0,
    n_jobs: int = 1,
    progress: Progress | None = None,
    report: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Run the checks of papers, store their results, and skip finished checks.

    Parameters
    ----------
    papers : sequence of str
        Names from `PAPERS`.
    store : Store
        Folder of the results.
    ids : sequence of str, default=()
        Run only these checks.
    quick : bool, default=False
        Use few random draws.
    again : bool, default=False
        Also rerun finished checks.
    seed, n_jobs
        As in `Setting`.
    progress : rich.progress.Progress, default=None
        Shows how many checks are done.
    report : callable, default=None
        Called with every result.

    Returns
    -------
    results : list of Result
        One per check.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(pathlib.Path(folder))
    ...     first = reproduce(["filippone2007"], store, ids=["2007-T2"], quick=True)
    ...     second = reproduce(["filippone2007"], store, ids=["2007-T2"], quick=True)
    >>> first[0].verdict, first[0].is_new, second[0].is_new
    ('contradicts', True, False)
    """
    selected = select(list(papers), list(ids))
    progress = progress or Progress(disable=True)
    task = progress.add_task("checks", total=sum(map(len, selected.values())))
    results: list[Result] = []
    for paper, checks in selected.items():
        code, shared = code_digest(paper), dict[str, Any]()
        for check in checks:
            is_done = not again and store.is_done(check, quick, seed, code)
            record = store.read(check.id) if is_done else None
            if record is not None:
                result = Result(paper, check, record, is_new=False)
            else:
                setting = Setting(quick, seed, n_jobs, shared, progress)
                result = Result(paper, check, _run(check, setting, store, code))
            results.append(result)
            if report is not None:
                report(result)
            progress.advance(task)
    return results


def _run(check: Check, setting: Setting, store: Store, code: str) -> Record:
    start = time.perf_counter()
    measured, unavailable = None, ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some checks provoke collapses and cycles
        try:
            measured = check.run(setting)
        except Unavailable as error:
            unavailable = str(error)
    record = Record(
        id=check.id,
        quick=setting.quick,
        seed=setting.seed,
        date=datetime.now(UTC).date().isoformat(),
        seconds=round(time.perf_counter() - start, 1),
        code=code,
        versions=_versions(),
        entries=[] if measured is None else measured.entries,
        why="" if measured is None else measured.why,
        draws=0 if measured is None else measured.draws,
        tried={} if measured is None else measured.tried,
        experiments=[] if measured is None else measured.experiments,
        data=list(setting.used.values()),
        unavailable=unavailable,
    )
    return store.write(record, measured)


def _versions() -> dict[str, str]:
    versions = {"softkern": softkern.__version__, "Python": platform.python_version()}
    return versions | {name: version(name) for name in PACKAGES}
