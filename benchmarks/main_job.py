"""Measure the command line: --help, analyze on 100,000 × 2 rows, score on a million rows.

    python benchmarks/main_job.py              # the promised sizes
    python benchmarks/main_job.py --rows 20000 --new 200000

Every command runs in a separate process. Seconds are wall-clock time, and peak memory includes the
libraries (see benchmarks/peak.py). Promised on 2 cores: --help below 0.4 s, analyze below 60 s, score
below 1 GiB, the page below 8 MB.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

# Runs a command in this process, then prints its peak memory.
CODE = (
    "import sys; sys.path.insert(0, sys.argv[1]); from softkern.tables.cli import run; "
    "code = run(sys.argv[2:]); from peak import high_water; "
    "sys.stderr.write(f'\\n{high_water()}'); sys.exit(code)"
)


def points(n: int, seed: int) -> np.ndarray:
    """Generate four clusters in noise, (n, 2)."""
    r = np.random.default_rng(seed)
    part = n // 5
    groups = [c + 0.6 * r.normal(size=(part, 2)) for c in ([0, 0], [5, 0], [1, 6], [7, 6])]
    return np.concatenate([*groups, r.uniform(-4, 11, (n - 4 * part, 2))])


def write(path: Path, n: int, seed: int) -> None:
    table = pd.DataFrame(points(n, seed), columns=["x", "y"])
    table.insert(0, "id", [f"p{i}" for i in range(n)])
    table.to_csv(path, index=False)


def timed(*arguments: str) -> tuple[float, float]:
    """Return the seconds and MiB of a command."""
    command = [sys.executable, "-c", CODE, str(Path(__file__).parent), *arguments]
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(done.stderr)
    return seconds, float(done.stderr.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--new", type=int, default=1_000_000)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, new, out = folder / "data.csv", folder / "new.csv", folder / "out"
        write(data, options.rows, 0)
        write(new, options.new, 1)
        best = min((timed("--help") for _ in range(5)), key=lambda pair: pair[0])
        rows.append(("--help", *best, ""))
        timed("plan", "10", "2")  # fill the cache of compiled code
        spent = timed("analyze", str(data), "--id", "id", "-o", str(out), "-q")
        page = (out / "report.html").stat().st_size / 1e6
        rows.append((f"analyze, {options.rows:,} × 2", *spent, f"report {page:.2f} MB"))
        spent = timed(
            "score", str(out / "model.safetensors"), str(new), "-o", str(folder / "s.csv"), "-q"
        )
        rate = options.new / spent[0]
        rows.append((f"score, {options.new:,} rows", *spent, f"{rate:,.0f} rows/s"))
    print(f"{'command':<26}{'seconds':>9}{'peak MiB':>10}")
    for what, seconds, memory, more in rows:
        print(f"{what:<26}{seconds:>9.2f}{memory:>10.0f}  {more}")


if __name__ == "__main__":
    main()
