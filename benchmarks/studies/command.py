"""Command lines of `defaults.py` and `soft.py`: named sections that print tables."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from studies.common import Result, failures, log, markdown

Measure = Callable[[Any], Result]


def list_sections(sections: Mapping[str, Measure]) -> None:
    """Print the names of the sections, and what they measure."""
    for name, measure in sections.items():
        print(f"{name:<15}{title_of(measure)}")


def title_of(measure: Measure) -> str:
    return (measure.__doc__ or "").splitlines()[0]


def chosen_sections(
    parser: argparse.ArgumentParser, names: list[str], known: Mapping[str, Any]
) -> list[str]:
    """Return the named sections, or all. Unknown names end the program."""
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"there is no section {', '.join(unknown)}; see --list")
    return names or list(known)


def show(name: str, measure: Measure, argument: Any, out: Path | None) -> None:
    """Run a section, print its tables and store its records."""
    log(f"{name}:")
    started = time.perf_counter()
    result = measure(argument)
    print(f"\n## {name}: {title_of(measure)}")
    for title, table in result.tables:
        print(f"\n{title}\n\n{markdown(table)}")
    for remark in (*result.remarks, *failures(result.records)):
        print(f"\n{remark}")
    print(f"\n({time.perf_counter() - started:.0f} s)", flush=True)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(result.records).to_csv(out / f"{name}.csv", index=False)
