"""Checks run one after the other, and what each found kept as soon as it is found."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import softkern
from softkern._utils.progress import stage
from softkern.papers.checks import UNTESTED, Check, Setting
from softkern.papers.data import Unavailable
from softkern.papers.registry import code_of, select
from softkern.papers.store import Record, Store

__all__ = ["Result", "reproduce"]

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True)
class Result:
    """A check with what was found.

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
        """Computed from what was found, by the rule of the check."""
        return UNTESTED if self.record.unavailable else self.check.judge(self.record.entries)

    @property
    def is_expected(self) -> bool:
        """Whether the verdict is the expected one; a set that is not here says nothing."""
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
    report: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Run the checks of papers, keep what each finds, skip those that are done.

    Parameters
    ----------
    papers : sequence of str
        Names of `PAPERS`.
    store : Store
    ids : sequence of str, default=()
        Only these checks.
    quick : bool, default=False
        Fewer draws.
    again : bool, default=False
        Run also what is done.
    seed, n_jobs
        As of `Setting`.
    report : callable, default=None
        Told of every result as it comes.

    Returns
    -------
    results : list of Result

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
    chosen = select(list(papers), list(ids))
    total = sum(len(checks) for checks in chosen.values())
    results: list[Result] = []
    with stage("checks", total=total) as done:
        for paper, checks in chosen.items():
            code, shared = code_of(paper), dict[str, Any]()
            for check in checks:
                is_done = not again and store.is_done(check, quick, seed, code)
                kept = store.read(check.id) if is_done else None
                if kept is not None:
                    result = Result(paper, check, kept, is_new=False)
                else:
                    setting = Setting(quick, seed, n_jobs, shared)
                    result = Result(paper, check, _run(check, setting, store, code))
                results.append(result)
                if report is not None:
                    report(result)
                done(len(results))
    return results


def _run(check: Check, setting: Setting, store: Store, code: str) -> Record:
    start = time.perf_counter()
    measured, lacking = None, ""
    with stage(check.id), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # collapses and cycles are what some checks look at
        try:
            measured = check.run(setting)
        except Unavailable as error:
            lacking = str(error)
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
        unavailable=lacking,
    )
    return store.write(record, measured)


def _versions() -> dict[str, str]:
    found = {"softkern": softkern.__version__, "Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
