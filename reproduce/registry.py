"""List the papers and look up their checks. A paper's module is imported on first use."""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from reproduce.checks import Check

__all__ = ["PAPERS", "Paper", "checks_of", "code_digest", "select"]


@dataclass(frozen=True)
class Paper:
    """A paper whose claims are rerun.

    Examples
    --------
    >>> PAPERS["shen2004"].title
    'Fuzzy kernel clustering with outliers'
    """

    name: str
    authors: str
    title: str
    source: str
    link: str


PAPERS = {
    paper.name: paper
    for paper in (
        Paper(
            "filippone2007",
            "M. Filippone, F. Masulli, S. Rovetta",
            "Possibilistic clustering in feature space",
            "WILF 2007",
            "https://doi.org/10.1007/978-3-540-73400-0_27",
        ),
        Paper(
            "filippone2010",
            "M. Filippone, F. Masulli, S. Rovetta",
            "Applying the possibilistic c-means algorithm in kernel-induced spaces",
            "IEEE Trans. Fuzzy Systems 18(3), 2010",
            "https://doi.org/10.1109/TFUZZ.2010.2043440",
        ),
        Paper(
            "bicego2009",
            "M. Bicego, M. A. T. Figueiredo",
            "Soft clustering using weighted one-class support vector machines",
            "Pattern Recognition 42(1), 2009",
            "https://doi.org/10.1016/j.patcog.2008.07.004",
        ),
        Paper(
            "shen2004",
            "H.-B. Shen, S.-T. Wang, X.-J. Wu",
            "Fuzzy kernel clustering with outliers",
            "Journal of Software 15(7), 2004 (in Chinese)",
            "http://www.jos.org.cn/1000-9825/15/1021.htm",
        ),
        Paper(
            "mall2015",
            "R. Mall, R. Langone, J. A. K. Suykens",
            "Ranking overlap and outlier points in data using soft kernel spectral clustering",
            "ESANN 2015",
            "https://www.esann.org/proceedings/2015",
        ),
    )
}


def checks_of(paper: str) -> list[Check]:
    """Return the checks of a paper, in the order of its tables and figures.

    Examples
    --------
    >>> [check.id for check in checks_of("filippone2007")]
    ['2007-F1a', '2007-F1b', '2007-T1', '2007-T2']
    """
    if paper not in PAPERS:
        raise ValueError(f"unknown paper {paper!r}.{_suggest(paper, list(PAPERS))}")
    return list(import_module(f"reproduce.{paper}").CHECKS)


def code_digest(paper: str) -> str:
    """Hash the source of a paper's checks, so that a changed check is rerun."""
    file = Path(str(import_module(f"reproduce.{paper}").__file__))
    files = sorted(file.parent.glob("*.py")) if file.name == "__init__.py" else [file]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def select(papers: list[str], ids: list[str]) -> dict[str, list[Check]]:
    """Return the checks by paper: all, or those whose id starts with a given one.

    Examples
    --------
    >>> [check.id for check in select(["filippone2007"], ["2007-F1"])["filippone2007"]]
    ['2007-F1a', '2007-F1b']
    """
    selected = {paper: checks_of(paper) for paper in papers}
    if not ids:
        return selected
    all_ids = [check.id for checks in selected.values() for check in checks]
    for id in ids:
        if not any(_matches(name, id) for name in all_ids):
            raise ValueError(f"unknown check {id!r}.{_suggest(id, all_ids)}")
    some = {
        paper: [check for check in checks if any(_matches(check.id, id) for id in ids)]
        for paper, checks in selected.items()
    }
    return {paper: checks for paper, checks in some.items() if checks}


def _matches(id: str, given: str) -> bool:
    rest = id.casefold().removeprefix(given.casefold())
    return id.casefold().startswith(given.casefold()) and (not rest or rest.isalpha())


def _suggest(name: str, valid: list[str]) -> str:
    close = difflib.get_close_matches(name, valid, 1)
    guess = f" Did you mean {close[0]}?" if close else ""
    return f"{guess} Choose from {', '.join(valid)}."
