"""Measure the defaults: clusters, outliers and overlap points, compared with other libraries.

    python benchmarks/defaults.py                          # all sections, at most about an hour
    python benchmarks/defaults.py structureless power      # some; --list names them
    python benchmarks/defaults.py --quick                  # fewer draws, fewer and smaller data sets
    python benchmarks/defaults.py --out DIR                # also write every measurement as CSV
    python benchmarks/defaults.py --minutes 120            # more draws, within the time limit

`softkern.cluster(X)`, `AlphaCutClustering()` and `OneClassPCM()` are measured in one process with the
methods of `peers.py`. The seed of every draw depends only on section, family, rows, columns and number,
so that draws do not depend on what else is run. Sections repeat their cells in a fixed order until all
draws are made or their time is over, so that a slow machine makes fewer draws, not different ones. In
the adjusted Rand index, noise is a class. It is never counted as a cluster.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from families import TUNED_ON
from studies.clusters import families, power, real_tables, shapes, structureless, times
from studies.command import chosen_sections, list_sections, show
from studies.common import Result, Run
from studies.outliers import between, flags, outliers
from studies.tried import tried


class Section(NamedTuple):
    """A section, and its share of the time."""

    measure: Callable[[Run], Result]
    share: float


SECTIONS: dict[str, Section] = {
    "table": Section(tried, 0.1),
    "structureless": Section(structureless, 0.25),
    "power": Section(power, 0.2),
    "families": Section(families, 0.12),
    "shapes": Section(shapes, 0.05),
    "real": Section(real_tables, 0.05),
    "outliers": Section(outliers, 0.08),
    "flags": Section(flags, 0.08),
    "between": Section(between, 0.03),
    "time": Section(times, 0.04),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sections", nargs="*", help="some of the sections; all if none is named")
    parser.add_argument("--quick", action="store_true", help="fewer draws, fewer and smaller sets")
    parser.add_argument(
        "--minutes",
        type=float,
        default=55.0,
        help="for all sections together; each has its part, alone too",
    )
    parser.add_argument("--out", type=Path, help="folder for the measurements, as CSV")
    parser.add_argument("--list", action="store_true", help="names of the sections")
    options = parser.parse_args()
    if options.list:
        list_sections({name: section.measure for name, section in SECTIONS.items()})
        return
    names = chosen_sections(parser, options.sections, SECTIONS)
    warnings.simplefilter("ignore")  # collapse and convergence
    print(TUNED_ON)
    for name in names:
        section = SECTIONS[name]
        run = Run(options.quick, section.share * options.minutes)
        show(name, section.measure, run, options.out)


if __name__ == "__main__":
    main()
