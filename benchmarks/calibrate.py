"""Measure the tuned constants again, and print the results next to their values.

    python benchmarks/calibrate.py                 # all, about ten minutes
    python benchmarks/calibrate.py costs           # cost constants of the engines
    python benchmarks/calibrate.py answers         # tuned constants of the default results
    python benchmarks/calibrate.py splits          # constants of splitting
    python benchmarks/calibrate.py tiled ranking   # some parts; --list names them
    python benchmarks/calibrate.py unmeasured      # constants without a measurement
    python benchmarks/calibrate.py --full          # more draws and larger data sets

Costs are measured on this machine. A ratio of two means twice the time of the reference machine, and
"✗" marks constants that differ from the others by more than a factor of two, where the plan would
choose the wrong engine. Answers are results with other values of a constant, on data with known
clusters or outliers. "▸" marks the value in the code, and the last column reports evidence against it.
Nothing is changed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from statistics import median

from calibration.answers import ANSWERS
from calibration.costs import COSTS
from calibration.rows import CostRow, Row
from calibration.splits import SPLITS

from softkern._utils.threads import available_threads
from softkern.planning.engines import machine_speed

FAR = 2.0  # multiple of the median ratio


def show_costs(rows: list[CostRow]) -> None:
    usual = usual_ratio(rows)
    for row in rows:
        expected = usual if row.power else 1.0
        is_far = not expected / FAR <= row.ratio <= expected * FAR
        note = "  ✗ not above zero" if row.measured <= 0 else "  ✗" if is_far else ""
        figures = f"{row.value:>10.3g}{row.measured:>11.3g}{row.ratio:>8.2f}"
        print(f"  {row.constant:<28}{figures}  {row.unit}{note}")


def usual_ratio(rows: list[CostRow]) -> float:
    """Return the median ratio: how much slower this machine is than the reference."""
    ratios = [row.ratio for row in rows if row.power and row.ratio > 0]
    return median(ratios) if ratios else 1.0


def show_answers(rows: list[Row]) -> None:
    before = ""
    for constant, value, measured, evidence, verdict in rows:
        if (constant, evidence) != before:
            print(f"  {constant}: {evidence}")
        before = (constant, evidence)
        print(f"    {value:<32} {measured}" + (f"  ✗ {verdict}" if verdict else ""))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="costs, answers, splits, or names of parts")
    parser.add_argument("--full", action="store_true", help="more draws and larger sets")
    parser.add_argument("--list", action="store_true", help="names of the parts")
    options = parser.parse_args()
    parts = {**COSTS, **ANSWERS, **SPLITS}
    if options.list:
        print(
            "\n".join(f"{name:<14}{part.__doc__.splitlines()[0]}" for name, part in parts.items())
        )
        return
    groups = {
        "costs": list(COSTS),
        "answers": [name for name in ANSWERS if name != "unmeasured"],
        "splits": list(SPLITS),
    }
    wanted = [name for part in options.parts or groups for name in groups.get(part, [part])]
    unknown = [name for name in wanted if name not in parts]
    if unknown:
        parser.error(f"there is no part {', '.join(unknown)}; see --list")
    warnings.simplefilter("ignore")
    load = os.getloadavg()[0]
    print(f"{available_threads()} threads, load {load:.1f}")
    costs: list[CostRow] = []
    for name in wanted:
        start = time.perf_counter()
        rows = parts[name](options.full)
        spent = time.perf_counter() - start
        if isinstance(rows[0], CostRow):
            costs += rows
            print(f"{name} measured, {spent:.0f} s", file=sys.stderr, flush=True)
        else:
            print(f"\n{name}: {parts[name].__doc__} ({spent:.0f} s)")
            show_answers(rows)
    if costs:
        print(f"\n  {'constant':<28}{'in code':>10}{'here':>11}{'ratio':>8}  unit")
        show_costs(costs)
        print(f"  usual ratio {usual_ratio(costs):.2f}; plan scales by {machine_speed():.2f}")


if __name__ == "__main__":
    main()
