"""Count what the design promises: products by engine, and the size of the source.

    python benchmarks/architecture.py                 # working tree, and the products
    python benchmarks/architecture.py main HEAD       # source of several revisions side by side

Products: every model fits and predicts on a recording engine (`tests/models/contract.py`), and products
on other engines are listed. Source: places that test for an engine's name or for the precomputed
kernel's class, lines, and the median length of files and functions. `traces.py` counts the functions
of three calls.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
NAMED_ENGINES = r"engine ==\|engine_ ==\|isinstance(.*Precomputed"


def git(*arguments: str) -> str:
    """Return the output of git."""
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout


def sources(revision: str | None) -> list[str]:
    """Return the text of every Python file under src, of a revision or of the working tree."""
    if revision is None:
        return [path.read_text() for path in sorted((ROOT / "src").rglob("*.py"))]
    listed = git("ls-tree", "-r", "--name-only", revision, "src").splitlines()
    if not listed:
        sys.exit(f"{revision}: no such revision, or it has no src.")
    return [git("show", f"{revision}:{path}") for path in listed if path.endswith(".py")]


def shape(revision: str | None) -> dict[str, float]:
    """Count files, lines and functions of one state of the source."""
    texts = sources(revision)
    functions = [
        node.end_lineno - node.lineno + 1
        for text in texts
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    lines = [len(text.splitlines()) for text in texts]
    places = git("grep", "-n", NAMED_ENGINES, *([revision] if revision else []), "--", "src")
    return {
        "tests for an engine's name": len(places.splitlines()),
        "files": len(lines),
        "lines": sum(lines),
        "median lines of a file": median(lines),
        "longest file": max(lines),
        "functions": len(functions),
        "median lines of a function": median(functions),
        "longest function": max(functions),
    }


def show_shapes(revisions: list[str | None]) -> None:
    columns = [shape(revision) for revision in revisions]
    names = [revision or "working tree" for revision in revisions]
    print(f"{'source':<40}" + "".join(f"{name:>16}" for name in names))
    for what in columns[0]:
        print(f"{what:<40}" + "".join(f"{column[what]:>16,g}" for column in columns))


def show_products() -> None:
    """Count products on the recording engine and elsewhere, for every model."""
    sys.path.insert(0, str(ROOT))
    from ranking import models
    from sklearn.datasets import make_blobs

    from tests.models.contract import recorded_products

    X = make_blobs(150, 2, centers=[[0, 0], [6, 6], [0, 8]], random_state=0)[0]
    print(f"\n{'products':<32}{'fit':>8}{'predict':>9}  elsewhere")
    for name, model in models(3):
        (fitting, predicting), elsewhere = recorded_products(model, X)
        counts = Counter(elsewhere)
        others = ", ".join(f"{count} on {where}" for where, count in counts.items())
        print(f"{name:<32}{fitting:>8}{predicting:>9}  {others or 0}")


def main() -> None:
    revisions: list[str | None] = [*sys.argv[1:]] or [None]
    show_shapes(revisions)
    if revisions == [None]:
        show_products()


if __name__ == "__main__":
    main()
