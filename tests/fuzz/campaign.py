"""Run many fuzz cases and summarize the outcomes: `make fuzz N=10000 KIND=arrays`."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.fuzz import arrays, files, laws, tables
from tests.fuzz.outcomes import PASSED

KINDS: dict[str, Any] = {"arrays": arrays, "tables": tables, "files": files, "laws": laws}


def run_case(kind: str, seed: int) -> tuple[Any, str, str, float]:
    """Return the case of a seed, its outcome, details, and the seconds it took."""
    case, start = KINDS[kind].draw(seed), time.perf_counter()
    if kind == "files":
        with tempfile.TemporaryDirectory() as folder:
            result = files.outcome(case, Path(folder) / "model.safetensors")
    else:
        result = KINDS[kind].outcome(case)
    return (case, *result, time.perf_counter() - start)


def _general(detail: str) -> str:
    """Return the location and the message without numbers."""
    place, _, message = detail.partition(" ")
    return f"{place} {re.sub('[-+]?[.0-9][-+.e0-9]*', '…', message)}"[:150]


def campaign(kind: str, options: argparse.Namespace) -> int:
    """Run the cases of one kind, print a summary, and return how many failed."""
    seeds = range(options.first, options.first + options.cases)
    words: Counter[str] = Counter()
    places: Counter[tuple[str, str]] = Counter()
    failed, slowest, longest = [], None, 0.0
    with ProcessPoolExecutor(options.workers) as pool:
        names = [kind] * len(seeds)
        for case, word, detail, seconds in pool.map(run_case, names, seeds, chunksize=20):
            words[word] += 1
            if seconds > longest:
                slowest, longest = case, seconds
            if word not in PASSED or options.all:
                places[word, _general(detail)] += 1
            if word not in PASSED:
                failed.append(asdict(case))
    print(f"{options.cases} {kind}, the slowest {longest:.1f} s: {str(slowest)[:250]}")
    for word, count in words.most_common():
        print(f"{count:8} {word}")
    for (word, place), count in places.most_common():
        print(f"{count:8} {word}: {place}")
    if options.out:
        with options.out.open("a") as file:
            file.writelines(json.dumps(record) + "\n" for record in failed)
    return len(failed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=int, nargs="?", default=1000, help="cases of each kind")
    parser.add_argument("--kind", choices=[*KINDS, "all"], default="all")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument(
        "--out", type=Path, help="append failed cases to this file, one line of JSON per case"
    )
    parser.add_argument("--all", action="store_true", help="summarize rejections as well")
    options = parser.parse_args()
    kinds = list(KINDS) if options.kind == "all" else [options.kind]
    return bool(sum(campaign(kind, options) for kind in kinds))


if __name__ == "__main__":
    sys.exit(main())
