"""Faults at random moments: after a fault, results are the complete old or new ones.

    python -m tests.fuzz.faults 100

A run replaces the results of forty rows by those of sixty. Afterwards the folder holds one of the
two, complete. Only a kill within the milliseconds in which files are moved may leave no results
(`run.json` is missing). Runs are forks of this process, which has imported everything, so that
faults hit the work and not the imports. Faults at the start of the program use a new process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import softkern
from softkern.tables.cli import main as program
from softkern.tables.cli import run

OLD, NEW = 40, 60
SECONDS = 60  # a run that takes longer counts as hung
NOBODY = 65534
MESSAGES = "messages.txt"
Start = Callable[[], None]


class Place:
    """A folder with two tables and the results of the first table."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out = folder, folder / "out"
        rng = np.random.default_rng(0)
        for n in (OLD, NEW):
            X = np.concatenate([rng.normal(size=(n // 2, 2)), rng.normal(size=(n // 2, 2)) + 9])
            pd.DataFrame(X, columns=["a", "b"]).to_csv(folder / f"{n}.csv", index=False)
        assert run([*self.command(NEW), "-q"]) == 0  # in this process, to import everything
        assert self.wait(self.fork(self.command(OLD))) == 0
        assert self.state() == "old"
        shutil.copytree(self.out, folder / "backup")

    def restore(self, exists: bool = True) -> None:
        """Restore the old results, or none."""
        shutil.rmtree(self.out, ignore_errors=True)
        if exists:
            shutil.copytree(self.folder / "backup", self.out)

    def command(self, n: int, force: bool = True) -> list[str]:
        """Return the command line that analyzes the table of n rows."""
        table = str(self.folder / f"{n}.csv")
        forced = ["--force"] if force else []
        return ["analyze", table, "-o", str(self.out), "--no-report", *forced]

    def fork(self, arguments: list[str], prepare: Start = lambda: None) -> int:
        """Run the program in a child process, and return its id."""
        sys.stdout.flush()  # otherwise the child prints the buffer as well
        child = os.fork()
        if child:
            return child
        code = 99
        try:
            os.setpgid(0, 0)
            messages = os.open(self.folder / MESSAGES, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
            os.dup2(messages, 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            sys.argv = ["softkern", *arguments]
            prepare()
            program()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        finally:
            os._exit(code)
        raise AssertionError

    def wait(self, child: int) -> int:
        """Return the exit code: negative for a signal, 124 for a child that hung."""
        for _ in range(SECONDS * 100):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return 124

    def messages(self) -> str:
        """Return and clear what runs wrote to standard error."""
        path = self.folder / MESSAGES
        text = path.read_text(errors="replace") if path.exists() else ""
        path.unlink(missing_ok=True)
        return text

    def state(self) -> str:
        """Return "old", "new", "none" (no run.json), or a description of the inconsistency."""
        if not (self.out / "run.json").exists():
            return "none"
        try:
            record = json.loads((self.out / "run.json").read_text())
            rows = {
                "run.json": int(record["input"]["rows"]),
                "points.csv": len(pd.read_csv(self.out / "points.csv")),
                "model": len(softkern.load(self.out / "model.safetensors").sample_weight_),
                "clusters.csv": int(self._rows_of_clusters()),
            }
        except Exception as error:
            return f"broken: {type(error).__name__}: {error}"
        names = {OLD: "old", NEW: "new"}
        states = {names.get(count, str(count)) for count in rows.values()}
        return states.pop() if len(states) == 1 else f"mixed: {rows}"

    def _rows_of_clusters(self) -> int:
        table = pd.read_csv(self.out / "clusters.csv")
        return int(table.drop_duplicates("cluster")["rows"].sum())


def _kill_with(number: int) -> Callable[[Place, random.Random, float], int]:
    def kill(place: Place, rng: random.Random, usual: float) -> int:
        child = place.fork(place.command(NEW))
        time.sleep(rng.uniform(0, 1.1 * usual))
        os.kill(child, number)
        return place.wait(child)

    return kill


def _kill_during_moves(place: Place, rng: random.Random, usual: float) -> int:
    """Kill the run as soon as it moves files."""
    child = place.fork(place.command(NEW))
    while not list(place.out.glob(".softkern-*.tmp/before")):
        if os.waitpid(child, os.WNOHANG)[0]:
            return 0
    os.kill(child, signal.SIGKILL)
    return place.wait(child)


def _full_disk(place: Place, rng: random.Random, usual: float) -> int:
    """Limit the size of files."""
    largest = int(10 ** rng.uniform(2, 5))
    limits = (largest, largest)
    return place.wait(
        place.fork(place.command(NEW), lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits))
    )


def _little_memory(place: Place, rng: random.Random, usual: float) -> int:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = used + int(10 ** rng.uniform(5, 8.3))
    return place.wait(
        place.fork(place.command(NEW), lambda: resource.setrlimit(resource.RLIMIT_AS, (most,) * 2))
    )


def _read_only(place: Place, rng: random.Random, usual: float) -> int:
    """Run as a user who may not write into the folder."""
    place.folder.chmod(0o755)
    return place.wait(place.fork(place.command(NEW), _as_nobody))


def _as_nobody() -> None:
    os.open(os.devnull, os.O_RDONLY)
    if os.getuid() == 0:
        os.setuid(NOBODY)


def _closed_output(place: Place, rng: random.Random, usual: float) -> int:
    return place.wait(place.fork(place.command(NEW), lambda: os.close(1)))


def _two_at_once(place: Place, rng: random.Random, usual: float) -> int:
    """Two runs at the same time: the last one wins."""
    first = place.fork(place.command(NEW))
    time.sleep(rng.uniform(0, 0.2 * usual))
    second = place.fork(place.command(OLD))
    return place.wait(first) or place.wait(second)


def _two_into_nothing(place: Place, rng: random.Random, usual: float) -> int:
    """Two runs without --force and without old results: one succeeds, the other reports it."""
    place.restore(exists=False)
    children = [place.fork(place.command(n, force=False)) for n in (OLD, NEW)]
    codes = sorted(place.wait(child) for child in children)
    return 0 if codes == [0, 4] else 99


def _bare_program(place: Place, rng: random.Random, usual: float) -> int:
    """Run a new process without a home folder and numba cache, in the C locale."""
    bare = {"LC_ALL": "C", "PYTHONUTF8": "0", "HOME": "/nonexistent", "NUMBA_CACHE_DIR": "/proc/x"}
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    with (place.folder / MESSAGES).open("ab") as messages:
        command = [sys.executable, "-m", "softkern.tables.cli", *place.command(NEW)]
        try:
            return subprocess.run(
                command,
                env=inherited | bare,
                stdout=subprocess.DEVNULL,
                stderr=messages,
                timeout=SECONDS,
            ).returncode
        except subprocess.TimeoutExpired:
            return 124


FAULTS: dict[str, Callable[[Place, random.Random, float], int]] = {
    "SIGKILL": _kill_with(signal.SIGKILL),
    "SIGKILL among moves": _kill_during_moves,
    "SIGTERM": _kill_with(signal.SIGTERM),
    "SIGINT": _kill_with(signal.SIGINT),
    "full disk": _full_disk,
    "little memory": _little_memory,
    "read-only folder": _read_only,
    "closed output": _closed_output,
    "two at once": _two_at_once,
    "two into nothing": _two_into_nothing,
    "bare program": _bare_program,
}
MAY_LACK = ("SIGKILL", "SIGKILL among moves")  # these may leave no results


def run_fault(place: Place, name: str, seed: int, usual: float) -> tuple[str, int, str]:
    """Return the state of the folder after a fault, the exit code, and the problem, if any."""
    place.restore()
    code = FAULTS[name](place, random.Random(f"{name} {seed}"), usual)
    state, messages = place.state(), place.messages()
    wrong = ""
    if state not in ("old", "new") and not (state == "none" and name in MAY_LACK):
        wrong = state
    elif "Traceback" in messages or code in (1, 99, 124):
        wrong = f"exit {code}: {messages.strip()[-300:]}"
    elif state == "old" and code == 0 and name not in ("two at once", "two into nothing"):
        wrong = "a successful run left the old results"
    elif state == "none":  # the next run must succeed
        again = place.wait(place.fork(place.command(NEW)))
        wrong = "" if again == 0 and place.state() == "new" else f"afterwards: exit {again}"
        place.messages()
    return state.split(":")[0], code, wrong


def campaign(times: int, names: list[str]) -> int:
    """Repeat every fault, print a table, and return how many runs went wrong."""
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        start = time.perf_counter()
        place.wait(place.fork(place.command(NEW)))
        usual = time.perf_counter() - start
        print(f"a run takes {usual:.2f} s\n{'fault':22}{'old':>6}{'new':>6}{'none':>6}  exit codes")
        for name in names:
            runs = [run_fault(place, name, seed, usual) for seed in range(times)]
            states = Counter(state for state, _, _ in runs)
            codes = Counter(code for _, code, _ in runs)
            counts = "".join(f"{states[word]:6}" for word in ("old", "new", "none"))
            print(f"{name:22}{counts}  {dict(sorted(codes.items()))}", flush=True)
            for wrong in {wrong for _, _, wrong in runs if wrong}:
                print(f"  WRONG: {wrong}", flush=True)
            bad += sum(bool(wrong) for _, _, wrong in runs)
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("times", type=int, nargs="?", default=20)
    parser.add_argument("--fault", choices=list(FAULTS), action="append")
    options = parser.parse_args()
    return bool(campaign(options.times, options.fault or list(FAULTS)))


if __name__ == "__main__":
    sys.exit(main())
