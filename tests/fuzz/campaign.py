"""Fit many hostile arrays and sum up what came out: `make fuzz N=10000`."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.fuzz.arrays import WELL, Case, as_record, draw, outcome


def tried(seed: int) -> tuple[Case, str, str, float]:
    case, start = draw(seed), time.perf_counter()
    return (case, *outcome(case), time.perf_counter() - start)


def _general(detail: str) -> str:
    """The place, and the message with numbers left out."""
    place, _, message = detail.partition(" ")
    return f"{place} {re.sub('[-+]?[.0-9][-+.e0-9]*', '…', message)}"[:150]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fits", type=int, nargs="?", default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, help="cases that failed, a line of JSON each")
    parser.add_argument("--all", action="store_true", help="sum up refusals as well")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.fits)
    words: Counter[str] = Counter()
    places: Counter[tuple[str, str]] = Counter()
    failed, slowest, longest = [], None, 0.0
    with ProcessPoolExecutor(options.workers) as pool:
        for case, word, detail, seconds in pool.map(tried, seeds, chunksize=20):
            words[word] += 1
            if seconds > longest:
                slowest, longest = case, seconds
            if word not in WELL or options.all:
                places[word, _general(detail)] += 1
            if word not in WELL:
                failed.append(as_record(case))
    print(f"{options.fits} fits, the slowest {longest:.1f} s: {slowest}")
    for word, count in words.most_common():
        print(f"{count:8} {word}")
    for (word, place), count in places.most_common():
        print(f"{count:8} {word}: {place}")
    if options.out:
        options.out.write_text("".join(json.dumps(record) + "\n" for record in failed))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
