"""What a release is checked for: the packages, a clean environment, and the lowest versions.

    python tools/release_check.py [package] [bare] [lowest]

All three by default. `package` builds dist/ and looks into it; `bare` installs the wheel without
extras and does with it what a new user does; `lowest` runs the tests with the lowest versions that
pyproject.toml names. Needs the packages build, twine and uv.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
# old versions are warned of what newer ones beside them will drop
TO_COME = [f"-Wignore::{kind}" for kind in ("DeprecationWarning", "PendingDeprecationWarning")]
LARGEST_WHEEL = 2**20  # bytes
EXTRAS = {  # what a bare installation is asked for, and the extra that its answer must name
    "report": "softkern analyze {data} -o {out}/page",
    "plot": (
        '{python} -c "import numpy, softkern as s; X = numpy.random.rand(40, 2); '
        's.display.MembershipDisplay.from_estimator(s.OneClassPCM().fit(X), X)"'
    ),
    "parquet": "softkern score {out}/demo/model.safetensors {data} -o {out}/scored.parquet",
    "gpu": "softkern plan 1000000 2 --engine gpu",
}


def main() -> int:
    """Run what is asked for; 1 where something is wrong."""
    steps = {"package": package, "bare": bare, "lowest": lowest}
    for name in sys.argv[1:] or steps:
        start = time.perf_counter()
        wrong = steps[name]()
        print(f"{name}: {wrong or 'good'} ({time.perf_counter() - start:.0f} s)", flush=True)
        if wrong:
            return 1
    return 0


def package() -> str:
    """Build the packages; what is wrong with them."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST)
    run(sys.executable, "-m", "twine", "check", "--strict", *DIST.iterdir())
    (wheel,), (source,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    others = [name for name in names if not name.startswith(("softkern/", "softkern-"))]
    strange = [name for name in names if "/tests/" in name or name.endswith((".csv", ".npy"))]
    with tarfile.open(source) as archive:
        members = {name.partition("/")[2] for name in archive.getnames()}
    print(f"wheel {wheel.stat().st_size / 1e3:.0f} kB, {len(names)} files")
    if others or strange:
        return f"the wheel holds {(others + strange)[:3]}"
    if wheel.stat().st_size > LARGEST_WHEEL:
        return "the wheel is larger than it should be"
    missing = {"tests/conftest.py", "LICENSE", "README.md", "pyproject.toml"} - members
    return f"the source archive lacks {sorted(missing)}" if missing else ""


def bare() -> str:
    """What a new user meets who installs the wheel alone."""
    (wheel,) = DIST.glob("*.whl")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        python = environment(out / "venv")
        run(python, "-m", "pip", "install", "--quiet", wheel)
        seconds = run(
            python, "-c", "import time; t = time.time(); import softkern; print(time.time() - t)"
        )
        print(f"import softkern: {1e3 * float(seconds):.0f} ms")
        run(python, "-c", "import numpy, softkern; softkern.cluster(numpy.random.rand(99, 2))")
        run(python.parent / "softkern", "demo", "--out", out / "demo")
        for extra, command in EXTRAS.items():
            words = command.format(data=out / "demo/data.csv", out=out, python=python)
            said = subprocess.run(
                words, shell=True, cwd=out, env=on_path(python), capture_output=True, text=True
            )
            if f"softkern[{extra}]" not in said.stdout + said.stderr:
                return f"{words}\ndoes not name softkern[{extra}]: {said.stdout}{said.stderr}"
    return ""


def lowest() -> str:
    """The tests with the lowest versions."""
    with tempfile.TemporaryDirectory() as folder:
        python = environment(Path(folder) / "venv")
        install = "pip", "install", "--quiet", "--python", python, "--resolution", "lowest-direct"
        run(sys.executable, "-m", "uv", *install, "--editable", f"{ROOT}[dev]")
        tests = subprocess.run(
            [python, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *TO_COME],
            cwd=ROOT,
            env={**on_path(python), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
    return "tests fail" if tests.returncode else ""


def environment(folder: Path) -> Path:
    """A new environment's Python."""
    venv.create(folder, with_pip=True)
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def on_path(python: Path) -> dict[str, str]:
    """The variables of a process that finds this environment's commands first."""
    return {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}


def run(*command: object) -> str:
    """What a command prints; an error where it fails."""
    return subprocess.run(
        [str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ).stdout


if __name__ == "__main__":
    sys.exit(main())
