"""After any fault, results are the old or the new ones. `faults.py` repeats this many times."""

import subprocess
import sys
from pathlib import Path

import pytest

FAULTS = ["SIGKILL", "full disk", "little memory", "two at once"]


@pytest.mark.skipif(sys.platform != "linux", reason="forks, limits and /proc")
def test_every_fault_once():
    options = [word for name in FAULTS for word in ("--fault", name)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.faults", "1", *options],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(f"\n{name}" in done.stdout for name in FAULTS)
    assert "WRONG" not in done.stdout
