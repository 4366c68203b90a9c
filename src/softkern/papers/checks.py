"""What a check is, what it may find, and how a verdict follows from that.

A check says what a paper prints, measures it, and is judged by a rule: the verdict is computed
from the entries measured, so that nobody can type one. The expected verdict stands beside it, and
a difference between the two is news.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sklearn.utils import Bunch
from sklearn.utils.parallel import Parallel, delayed

from softkern._utils.progress import stage
from softkern.papers.data import Described, described, load

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
    """One printed value or one part of a claim, and what was measured.

    Attributes
    ----------
    what, printed, ours, spread : str
        As the page shows them.
    holds : bool or None
        Whether the acceptance is met; None where this entry is shown and not judged.

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
        if self.holds is not None:  # NumPy's truth cannot be written
            object.__setattr__(self, "holds", bool(self.holds))


@dataclass(frozen=True)
class Experiment:
    """A table that explains what the entries show."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    says: str  # what follows from it, in a sentence


@dataclass(frozen=True)
class Picture:
    """A figure of the paper, drawn again."""

    title: str
    printed: str  # what the printed one shows
    figure: Any = field(repr=False)  # a matplotlib Figure


@dataclass(frozen=True)
class Measured:
    """What a check found.

    Attributes
    ----------
    entries : list of Entry
    why : str
        The verdict's reason in one sentence, with numbers that were measured.
    draws : int
        Random draws behind each value.
    tried : dict of str to int
        Parameters that were found by scanning, and how many settings were tried.
    experiments : list of Experiment
    pictures : list of Picture

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


# Rules by which entries become a verdict

Judge = Callable[[Sequence[Entry]], str]


def by_parts(entries: Sequence[Entry]) -> str:
    """All parts hold, some do, or none does.

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
    """A claim of "always": one clear exception contradicts it.

    Examples
    --------
    >>> throughout([Entry("a", "1", "1", holds=True), Entry("b", "2", "3", holds=False)])
    'contradicts'
    """
    verdict = by_parts(entries)
    return CONTRADICTS if verdict == PARTLY else verdict


def within_reach(entries: Sequence[Entry]) -> str:
    """Of values that hang on a parameter which the paper does not give.

    Where they follow from a rule that the paper names, all of them, they reproduce. Else nothing
    can be said: a parameter that was fitted to the printed value tests nothing.

    Examples
    --------
    >>> within_reach([Entry("a", "1", "5", holds=False)])
    'cannot be tested'
    """
    return REPRODUCES if by_parts(entries) == REPRODUCES else UNTESTED


class Setting:
    """How a check is run, and the data that it asked for.

    Parameters
    ----------
    quick : bool, default=False
        Fewer draws, for a look within minutes.
    seed : int, default=0
    n_jobs : int, default=1
        Processes for draws.
    shared : dict, default=None
        What checks of one run compute once for all of them.

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
    ) -> None:
        self.quick, self.seed, self.n_jobs = quick, seed, n_jobs
        self.used: dict[str, Described] = {}
        self._shared = {} if shared is None else shared

    def draws(self, quick: int, full: int) -> int:
        """How many draws to make."""
        return quick if self.quick else full

    def data(self, name: str) -> Bunch:
        """A real set by name, checked; `Unavailable` where it cannot be had."""
        found = load(name)
        self.used[name] = described(found)
        return found

    def once(self, name: str, compute: Callable[[], Any]) -> Any:
        """What several checks look at, computed by the first that asks."""
        if name not in self._shared:
            used, self.used = self.used, {}
            self._shared[name] = compute(), self.used
            self.used = used
        answer, used = self._shared[name]
        self.used.update(used)
        return answer

    def each(
        self, function: Callable[..., Any], cases: Iterable[Sequence[Any]], name: str
    ) -> list[Any]:
        """``function(*case)`` of every case, in their order, several at once."""
        cases = list(cases)
        found = []
        with stage(name, total=len(cases)) as done:
            jobs = (delayed(_quietly)(function, *case) for case in cases)
            for answer in Parallel(self.n_jobs, return_as="generator")(jobs):
                found.append(answer)
                done(len(found))
        return found


def _quietly(function: Callable[..., Any], *case: Any) -> Any:
    with warnings.catch_warnings():  # another process has filters of its own
        warnings.simplefilter("ignore")
        return function(*case)


@dataclass(frozen=True)
class Check:
    """One claim of a paper, how it is measured, and what is expected.

    Attributes
    ----------
    id : str
        Such as "2007-F1a": year, then table T, figure F or claim C.
    claim : str
        What the paper prints.
    acceptance : str
        In words, what `judge` and the entries compute.
    run : callable
        ``run(setting)`` gives what was measured.
    expected : str
        The verdict that is expected.
    judge : callable, default=by_parts
        From entries to a verdict.
    sets : tuple of str
        Real data sets that it needs.
    reading : str
        Why the acceptance is read so where it could be read otherwise, and what was chosen after
        a look at results.

    Examples
    --------
    >>> from softkern.papers import checks_of
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
