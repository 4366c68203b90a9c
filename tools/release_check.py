"""Check a release: packages, a clean installation, and the lowest supported versions.

    python tools/release_check.py [package] [bare] [lowest]

The default is all three. `package` builds dist/ and checks its contents. `bare` installs the wheel
without extras and runs the first steps of a new user. `lowest` runs the tests with the lowest
versions in pyproject.toml. Requires the packages build, twine and uv.
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
# old versions use features that newer dependencies will drop
DEPRECATIONS = [f"-Wignore::{kind}" for kind in ("DeprecationWarning", "PendingDeprecationWarning")]
MAX_WHEEL = 2**20  # bytes
EXTRAS = {  # commands that fail without an extra; the message must name it
    "report": "softkern analyze {data} -o {out}/page",
    "plot": (
        '{python} -c "import numpy, softkern as s; X = numpy.random.rand(40, 2); '
        's.display.MembershipDisplay.from_estimator(s.OneClassPCM().fit(X), X)"'
    ),
    "parquet": "softkern score {out}/demo/model.safetensors {data} -o {out}/scored.parquet",
    "gpu": "softkern plan 1000000 2 --engine gpu",
}


def main() -> int:
    """Run the steps. Returns 1 if one fails."""
    steps = {"package": package, "bare": bare, "lowest": lowest}
    for name in sys.argv[1:] or steps:
        start = time.perf_counter()
        problem = steps[name]()
        print(f"{name}: {problem or 'good'} ({time.perf_counter() - start:.0f} s)", flush=True)
        if problem:
            return 1
    return 0


def package() -> str:
    """Build and check the packages. Returns the problem, if any."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST)
    run(sys.executable, "-m", "twine", "check", "--strict", *DIST.iterdir())
    (wheel,), (source,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    others = [name for name in names if not name.startswith(("softkern/", "softkern-"))]
    unwanted = [name for name in names if "/tests/" in name or name.endswith((".csv", ".npy"))]
    with tarfile.open(source) as archive:
        members = {name.partition("/")[2] for name in archive.getnames()}
    print(f"wheel {wheel.stat().st_size / 1e3:.0f} kB, {len(names)} files")
    if others or unwanted:
        return f"the wheel contains {(others + unwanted)[:3]}"
    if wheel.stat().st_size > MAX_WHEEL:
        return "the wheel is larger than it should be"
    missing = {"tests/conftest.py", "LICENSE", "README.md", "pyproject.toml"} - members
    return f"the source archive lacks {sorted(missing)}" if missing else ""


def bare() -> str:
    """Install the wheel without extras and use it. Returns the problem, if any."""
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
            done = subprocess.run(
                words, shell=True, cwd=out, env=on_path(python), capture_output=True, text=True
            )
            if f"softkern[{extra}]" not in done.stdout + done.stderr:
                return f"{words}\ndoes not name softkern[{extra}]: {done.stdout}{done.stderr}"
    return ""


def lowest() -> str:
    """Run the tests with the lowest versions. Returns the problem, if any."""
    with tempfile.TemporaryDirectory() as folder:
        python = environment(Path(folder) / "venv")
        install = "pip", "install", "--quiet", "--python", python, "--resolution", "lowest-direct"
        run(sys.executable, "-m", "uv", *install, "--editable", f"{ROOT}[dev]")
        tests = subprocess.run(
            [python, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *DEPRECATIONS],
            cwd=ROOT,
            env={**on_path(python), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
    return "tests fail" if tests.returncode else ""


def environment(folder: Path) -> Path:
    """Create a virtual environment. Returns its Python."""
    venv.create(folder, with_pip=True)
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def on_path(python: Path) -> dict[str, str]:
    """Return environment variables with this environment first on the path."""
    return {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}


def run(*command: object) -> str:
    """Return the output of a command. Raises if it fails."""
    return subprocess.run(
        [str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ).stdout


if __name__ == "__main__":
    sys.exit(main())
