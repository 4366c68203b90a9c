"""Faults at random moments: whatever happens to a run, results are the old ones or the new ones.

    python -m tests.fuzz.faults 100

A run replaces results of forty rows by those of sixty. Afterwards the folder holds one of the two,
whole; or, after a kill in the very milliseconds in which files are moved, none that calls itself
one (`run.json` is missing). Runs are forks of this process, which has loaded everything, so that
moments fall into the work; what concerns the start of a program is a process of its own.
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
SECONDS = 60  # that a run may take before it counts as hung
NOBODY = 65534
MESSAGES = "messages.txt"
Start = Callable[[], None]


class Place:
    """A folder with two tables and the results of the first."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out = folder, folder / "out"
        rng = np.random.default_rng(0)
        for n in (OLD, NEW):
            X = np.concatenate([rng.normal(size=(n // 2, 2)), rng.normal(size=(n // 2, 2)) + 9])
            pd.DataFrame(X, columns=["a", "b"]).to_csv(folder / f"{n}.csv", index=False)
        assert run([*self.command(NEW), "-q"]) == 0  # here, so that all is loaded
        assert self.wait(self.forked(self.command(OLD))) == 0
        assert self.state() == "old"
        shutil.copytree(self.out, folder / "saved")

    def restore(self, exists: bool = True) -> None:
        """The old results again, or none."""
        shutil.rmtree(self.out, ignore_errors=True)
        if exists:
            shutil.copytree(self.folder / "saved", self.out)

    def command(self, n: int, force: bool = True) -> list[str]:
        """The command line that analyzes the table of so many rows."""
        table = str(self.folder / f"{n}.csv")
        forced = ["--force"] if force else []
        return ["analyze", table, "-o", str(self.out), "--no-report", *forced]

    def forked(self, arguments: list[str], prepare: Start = lambda: None) -> int:
        """A child that runs the program; its id."""
        sys.stdout.flush()  # or the child has it too
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
        """The exit code, negative for a signal; 124 where the child hung."""
        for _ in range(SECONDS * 100):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return 124

    def messages(self) -> str:
        """What runs wrote to standard error since the last time."""
        path = self.folder / MESSAGES
        text = path.read_text(errors="replace") if path.exists() else ""
        path.unlink(missing_ok=True)
        return text

    def state(self) -> str:
        """ "old" or "new", where all files say so; "none" without run.json; else what is mixed."""
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
        found = {names.get(count, str(count)) for count in rows.values()}
        return found.pop() if len(found) == 1 else f"mixed: {rows}"

    def _rows_of_clusters(self) -> int:
        table = pd.read_csv(self.out / "clusters.csv")
        return int(table.drop_duplicates("cluster")["rows"].sum())


def _killed(number: int) -> Callable[[Place, random.Random, float], int]:
    def killed(place: Place, rng: random.Random, usual: float) -> int:
        child = place.forked(place.command(NEW))
        time.sleep(rng.uniform(0, 1.1 * usual))
        os.kill(child, number)
        return place.wait(child)

    return killed


def _killed_among_moves(place: Place, rng: random.Random, usual: float) -> int:
    """As soon as files are being moved."""
    child = place.forked(place.command(NEW))
    while not list(place.out.glob(".softkern-*.tmp/before")):
        if os.waitpid(child, os.WNOHANG)[0]:
            return 0
    os.kill(child, signal.SIGKILL)
    return place.wait(child)


def _full_disk(place: Place, rng: random.Random, usual: float) -> int:
    """Files can only grow to a size that some of them need."""
    most = int(10 ** rng.uniform(2, 5))
    limits = (most, most)
    return place.wait(
        place.forked(place.command(NEW), lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits))
    )


def _little_memory(place: Place, rng: random.Random, usual: float) -> int:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = used + int(10 ** rng.uniform(5, 8.3))
    return place.wait(
        place.forked(
            place.command(NEW), lambda: resource.setrlimit(resource.RLIMIT_AS, (most,) * 2)
        )
    )


def _read_only(place: Place, rng: random.Random, usual: float) -> int:
    """The folder belongs to another, who lets nobody write."""
    place.folder.chmod(0o755)
    return place.wait(place.forked(place.command(NEW), _as_nobody))


def _as_nobody() -> None:
    os.open(os.devnull, os.O_RDONLY)
    if os.getuid() == 0:
        os.setuid(NOBODY)


def _closed_output(place: Place, rng: random.Random, usual: float) -> int:
    return place.wait(place.forked(place.command(NEW), lambda: os.close(1)))


def _two_at_once(place: Place, rng: random.Random, usual: float) -> int:
    """One brings the old rows, one the new; the last to come wins."""
    first = place.forked(place.command(NEW))
    time.sleep(rng.uniform(0, 0.2 * usual))
    second = place.forked(place.command(OLD))
    return place.wait(first) or place.wait(second)


def _two_into_nothing(place: Place, rng: random.Random, usual: float) -> int:
    """Without --force, where there is nothing yet: one of them wins, the other says so."""
    place.restore(exists=False)
    children = [place.forked(place.command(n, force=False)) for n in (OLD, NEW)]
    codes = sorted(place.wait(child) for child in children)
    return 0 if codes == [0, 4] else 99


def _bare_program(place: Place, rng: random.Random, usual: float) -> int:
    """A process with no home, no place for compiled loops, in the C locale."""
    bare = {"LC_ALL": "C", "PYTHONUTF8": "0", "HOME": "/nonexistent", "NUMBA_CACHE_DIR": "/proc/x"}
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    with (place.folder / MESSAGES).open("ab") as messages:
        command = [sys.executable, "-m", "softkern.tables.cli", *place.command(NEW)]
        try:
            return subprocess.run(
                command,
                env=kept | bare,
                stdout=subprocess.DEVNULL,
                stderr=messages,
                timeout=SECONDS,
            ).returncode
        except subprocess.TimeoutExpired:
            return 124


FAULTS: dict[str, Callable[[Place, random.Random, float], int]] = {
    "SIGKILL": _killed(signal.SIGKILL),
    "SIGKILL among moves": _killed_among_moves,
    "SIGTERM": _killed(signal.SIGTERM),
    "SIGINT": _killed(signal.SIGINT),
    "full disk": _full_disk,
    "little memory": _little_memory,
    "read-only folder": _read_only,
    "closed output": _closed_output,
    "two at once": _two_at_once,
    "two into nothing": _two_into_nothing,
    "bare program": _bare_program,
}
MAY_LACK = ("SIGKILL", "SIGKILL among moves")  # in the milliseconds of moving


def tried(place: Place, name: str, seed: int, usual: float) -> tuple[str, int, str]:
    """What the folder holds after a fault, the exit code, and what is wrong."""
    place.restore()
    code = FAULTS[name](place, random.Random(f"{name} {seed}"), usual)
    state, messages = place.state(), place.messages()
    wrong = ""
    if state not in ("old", "new") and not (state == "none" and name in MAY_LACK):
        wrong = state
    elif "Traceback" in messages or code in (1, 99, 124):
        wrong = f"exit {code}: {messages.strip()[-300:]}"
    elif state == "old" and code == 0 and name not in ("two at once", "two into nothing"):
        wrong = "a run that ended well left the old results"
    elif state == "none":  # the run after it must find its way
        again = place.wait(place.forked(place.command(NEW)))
        wrong = "" if again == 0 and place.state() == "new" else f"afterwards: exit {again}"
        place.messages()
    return state.split(":")[0], code, wrong


def campaign(times: int, names: list[str]) -> int:
    """Try every fault so many times and print a table; how many went wrong."""
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        start = time.perf_counter()
        place.wait(place.forked(place.command(NEW)))
        usual = time.perf_counter() - start
        print(f"a run takes {usual:.2f} s\n{'fault':22}{'old':>6}{'new':>6}{'none':>6}  exit codes")
        for name in names:
            found = [tried(place, name, seed, usual) for seed in range(times)]
            states = Counter(state for state, _, _ in found)
            codes = Counter(code for _, code, _ in found)
            counts = "".join(f"{states[word]:6}" for word in ("old", "new", "none"))
            print(f"{name:22}{counts}  {dict(sorted(codes.items()))}", flush=True)
            for wrong in {wrong for _, _, wrong in found if wrong}:
                print(f"  WRONG: {wrong}", flush=True)
            bad += sum(bool(wrong) for _, _, wrong in found)
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("times", type=int, nargs="?", default=20)
    parser.add_argument("--fault", choices=list(FAULTS), action="append")
    options = parser.parse_args()
    return bool(campaign(options.times, options.fault or list(FAULTS)))


if __name__ == "__main__":
    sys.exit(main())
