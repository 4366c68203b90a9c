"""Define a check, its result, and the rules that turn a result into a verdict.

A check names a claim of a paper and measures it. A rule computes the verdict from the measured
entries, so that no verdict is typed by hand. Each check also has an expected verdict, and a run
reports where the two differ.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.progress import Progress
from sklearn.utils import Bunch
from sklearn.utils.parallel import Parallel, delayed

from reproduce.verified import Description, describe, load

__all__ = [
    "CONTRADICTS",
    "PARTLY",
    "REPRODUCES",
    "UNTESTED",
    "VERDICTS",
    "Check",
    "Entry",
    "Experiment",
    "Measured",
    "Picture",
    "Setting",
    "by_parts",
    "throughout",
    "within_reach",
]

REPRODUCES, PARTLY, CONTRADICTS, UNTESTED = VERDICTS = (
    "reproduces",
    "partly",
    "contradicts",
    "cannot be tested",
)


@dataclass(frozen=True)
class Entry:
    """One printed value or one part of a claim, with our measured value.

    Attributes
    ----------
    what : str
        Name of the quantity.
    printed, ours : str
        Value in the paper, and the measured one.
    spread : str
        Range over the random draws.
    holds : bool or None
        Whether the acceptance criterion is met; None if the entry is shown only.

    Examples
    --------
    >>> entry = Entry("errors on Iris", printed="15", ours="16", holds=False)
    >>> entry.what, entry.holds
    ('errors on Iris', False)
    """

    what: str
    printed: str
    ours: str
    spread: str = ""
    holds: bool | None = None

    def __post_init__(self) -> None:
        if self.holds is not None:  # a NumPy bool cannot be written to JSON
            object.__setattr__(self, "holds", bool(self.holds))


@dataclass(frozen=True)
class Experiment:
    """A table that explains the entries."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    conclusion: str  # one sentence


@dataclass(frozen=True)
class Picture:
    """A figure of the paper, redrawn."""

    title: str
    printed: str  # description of the printed figure
    figure: Any = field(repr=False)  # a matplotlib Figure


@dataclass(frozen=True)
class Measured:
    """The measurements of a check.

    Attributes
    ----------
    entries : list of Entry
        The judged and the shown values.
    why : str
        The reason for the verdict in one sentence, with measured numbers.
    draws : int
        Number of random draws behind each value.
    tried : dict of str to int
        Parameters that were found by scanning, with the number of values tried.
    experiments : list of Experiment
        Tables that explain the entries.
    pictures : list of Picture
        Redrawn figures.

    Examples
    --------
    >>> entry = Entry("iterations, at most", printed="10", ours="4", holds=True)
    >>> Measured([entry], why="At most 4 iterations in 100 draws.", draws=100).draws
    100
    """

    entries: list[Entry]
    why: str
    draws: int = 1
    tried: dict[str, int] = field(default_factory=dict)
    experiments: list[Experiment] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)


# Rules that turn entries into a verdict

Judge = Callable[[Sequence[Entry]], str]


def by_parts(entries: Sequence[Entry]) -> str:
    """Judge by parts: all of them hold, some do, or none does.

    Examples
    --------
    >>> by_parts([Entry("a", "1", "1", holds=True), Entry("b", "2", "3", holds=False)])
    'partly'
    >>> by_parts([Entry("picture", "", "")])
    'cannot be tested'
    """
    judged = [entry.holds for entry in entries if entry.holds is not None]
    if not judged:
        return UNTESTED
    if all(judged):
        return REPRODUCES
    return PARTLY if any(judged) else CONTRADICTS


def throughout(entries: Sequence[Entry]) -> str:
    """Judge a claim of "always": one exception contradicts it.

    Examples
    --------
    >>> throughout([Entry("a", "1", "1", holds=True), Entry("b", "2", "3", holds=False)])
    'contradicts'
    """
    verdict = by_parts(entries)
    return CONTRADICTS if verdict == PARTLY else verdict


def within_reach(entries: Sequence[Entry]) -> str:
    """Judge values that depend on a parameter which the paper does not give.

    They reproduce if all of them follow from a rule that the paper names. Otherwise they cannot be
    tested, because a parameter that was fitted to the printed value tests nothing.

    Examples
    --------
    >>> within_reach([Entry("a", "1", "5", holds=False)])
    'cannot be tested'
    """
    return REPRODUCES if by_parts(entries) == REPRODUCES else UNTESTED


class Setting:
    """The options of a run, and the data that a check loaded.

    Parameters
    ----------
    quick : bool, default=False
        Use few random draws.
    seed : int, default=0
        Random seed.
    n_jobs : int, default=1
        Number of processes for draws.
    shared : dict, default=None
        Cache for intermediate results that several checks of a paper use.
    progress : rich.progress.Progress, default=None
        Shows the draws of long computations.

    Examples
    --------
    >>> Setting(quick=True).draws(quick=3, full=100)
    3
    """

    def __init__(
        self,
        quick: bool = False,
        seed: int = 0,
        n_jobs: int = 1,
        shared: dict[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.quick, self.seed, self.n_jobs = quick, seed, n_jobs
        self.used: dict[str, Description] = {}
        self._shared = {} if shared is None else shared
        self._progress = progress or Progress(disable=True)

    def draws(self, quick: int, full: int) -> int:
        """Return the number of draws for this kind of run."""
        return quick if self.quick else full

    def data(self, name: str) -> Bunch:
        """Load a real data set by name. Raises `Unavailable` if it is not the paper's."""
        bunch = load(name)
        self.used[name] = describe(bunch)
        return bunch

    def once(self, name: str, compute: Callable[[], Any]) -> Any:
        """Compute a shared intermediate result, or return it from the cache."""
        if name not in self._shared:
            used, self.used = self.used, {}
            self._shared[name] = compute(), self.used
            self.used = used
        result, used = self._shared[name]
        self.used.update(used)
        return result

    def each(
        self, function: Callable[..., Any], cases: Iterable[Sequence[Any]], name: str
    ) -> list[Any]:
        """Return ``function(*case)`` for every case, in order, computed in parallel."""
        cases = list(cases)
        jobs = (delayed(_without_warnings)(function, *case) for case in cases)
        task = self._progress.add_task(name, total=len(cases))
        results = []
        for result in Parallel(self.n_jobs, return_as="generator")(jobs):
            results.append(result)
            self._progress.advance(task)
        self._progress.remove_task(task)
        return results


def _without_warnings(function: Callable[..., Any], *case: Any) -> Any:
    with warnings.catch_warnings():  # another process has its own filters
        warnings.simplefilter("ignore")
        return function(*case)


@dataclass(frozen=True)
class Check:
    """One claim of a paper, its measurement and its expected verdict.

    Attributes
    ----------
    id : str
        Year, then table T, figure F or claim C, for example "2007-F1a".
    claim : str
        The claim, without a full stop.
    acceptance : str
        The acceptance criterion in words.
    run : callable
        ``run(setting)`` returns a `Measured`.
    expected : str
        The expected verdict.
    judge : callable, default=by_parts
        Rule that turns entries into a verdict.
    sets : tuple of str
        Real data sets that the check needs.
    reading : str
        How an ambiguous claim was interpreted, and what was chosen after seeing results.

    Examples
    --------
    >>> from reproduce.registry import checks_of
    >>> check = checks_of("filippone2007")[2]
    >>> check.id, check.claim, check.expected
    ('2007-T1', 'Less than ten iterations are enough (section 5)', 'reproduces')
    """

    id: str
    claim: str
    acceptance: str
    run: Callable[[Setting], Measured] = field(repr=False)
    expected: str
    judge: Judge = field(default=by_parts, repr=False)
    sets: tuple[str, ...] = ()
    reading: str = ""
