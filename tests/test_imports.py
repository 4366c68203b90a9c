"""Who may import whom: the layers of the design, read from the source."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import softkern

SOURCE = Path(softkern.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in SOURCE.rglob("*.py")
)

# What each module, or each module of a folder, may import of softkern itself; the first that fits.
EVERYWHERE = {
    "_typing",
    "_arrays",
    "_compiled",
    "_lazy",
    "_memory",
    "_neighbours",
    "_threads",
    "exceptions",
    "progress",
    "words",
}
BELOW_MODELS = {
    "chunks",
    "rows",
    "kernels*",
    "operators.base",
    "planning",
    "rules*",
    "solvers*",
    "alpha_tree*",
    "metrics*",
    "splitting*",
}
ALLOWED = {
    **{name: set() for name in (*EVERYWHERE, "_colours", "fitted", "rows")},
    "chunks*": {"chunks*", "rows"},
    "kernels*": {"rows", "kernels*"},
    # one operator a file, none knows another; what several share is private or below
    "operators.__init__": {"operators*"},
    "operators*": {
        "chunks",
        "kernels*",
        "rows",
        "operators.base",
        "operators.geometry",
        "operators.logs",
        "operators.ordering",
        "operators.work",
        "operators._gaussian_tiles",
        "operators._gpu_kernels",
        "operators._gpu_neighbours",
        "operators._gpu_points",
        "operators._gram",
    },
    "planning": {"chunks", "kernels*", "rows", "operators*"},
    # arrays only; then what runs the rules, which knows operators but no data and no kernels
    "rules*": {"rules*"},
    "solvers*": {"operators.base", "rules*", "rows", "solvers*"},
    "metrics*": {"operators.base", "rows", "rules*", "metrics*"},
    "splitting*": {"splitting*", "rows"},
    "alpha_tree*": {"kernels*", "operators.base", "planning", "rows", "alpha_tree*"},
    "columns*": {"columns*", "kernels*", "rows"},
    "comparison*": {"columns*", "comparison*"},
    "models*": {"_colours", "columns*", "fitted", "models*", *BELOW_MODELS},
    # what is built on fitted models knows their public names and fitted attributes only
    "datasets*": {"datasets*"},
    "selection*": {"kernels*", "metrics*", "models", "planning", "rows", "selection*"},
    "ranking": {"chunks", "rows"},
    "files": {"models.state"},
    "explain*": {"columns*", "explain*", "fitted", "kernels*", "ranking", "rows"},
    "display*": {"_colours", "alpha_tree*", "fitted", "ranking", "display*"},
    "report*": {
        "_colours",
        "alpha_tree*",
        "explain*",
        "files",
        "fitted",
        "ranking",
        "report*",
        "rows",
    },
    # the papers use what users use
    "papers*": {
        "__version__",
        "datasets*",
        "display*",
        "files",
        "kernels",
        "metrics*",
        "models",
        "papers*",
        "selection*",
    },
    "cli*": {"*"},
    "__init__": {"*"},
}
CHUNKS = {f"chunks.{name}" for name in ("asking", "cluster", "rows", "tables")}
CHUNKS |= {"operators.distributed"}
# Heavy packages live in one file each; numba in two: compiled loops; Dask where chunks are.
HOMES = {
    "numba": {"_compiled", "operators._gaussian_tiles"},
    "llvmlite": {"operators._gaussian_tiles"},
    "finufft": {"operators.fourier"},
    "torch": {"operators.gpu", "operators._gpu_neighbours", "operators._gpu_points"},
    "triton": {"operators._gpu_points", "operators._gpu_kernels"},
    "dask": CHUNKS,
    "distributed": CHUNKS,
}


def imports_of(module: str) -> set[str]:
    path = SOURCE.joinpath(*module.split(".")).with_suffix(".py")
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            is_package = node.module == "softkern"
            found |= names if is_package else {str(node.module)}
    return found


def allowed_for(module: str) -> set[str]:
    for pattern, allowed in ALLOWED.items():
        if matches(module, pattern):
            return allowed
    raise AssertionError(f"{module} has no place in the layers; give it one")


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern names the module or, with a star, the folder that it lies in."""
    folder = pattern.removesuffix("*")
    is_inside = pattern.endswith("*") and (not folder or f"{name}.".startswith(f"{folder}."))
    return name == pattern or is_inside


@pytest.mark.parametrize("module", MODULES)
def test_layers(module):
    for name in imports_of(module):
        if name.startswith("softkern."):
            name = name.removeprefix("softkern.")
            permitted = allowed_for(module) | EVERYWHERE
            assert any(matches(name, pattern) for pattern in permitted), f"{module} imports {name}"


@pytest.mark.parametrize("module", MODULES)
def test_heavy_packages_have_one_home(module):
    for name in imports_of(module):
        package = name.split(".")[0]
        assert module in HOMES.get(package, {module}), f"{module} imports {package}"


def test_import_is_light():
    code = (
        "import sys, sklearn.metrics.pairwise, sklearn.neighbors; before = set(sys.modules); "
        "import softkern; [getattr(softkern, name) for name in softkern.__all__]; "
        "added = {name.split('.')[0] for name in set(sys.modules) - before}; "
        "print(sorted(added & {'numba', 'finufft', 'matplotlib', 'pandas', 'torch', 'dask', "
        "'rich', 'typer'}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"


def test_a_first_fit_waits_for_little_of_scikit_learn():
    code = (
        "import sys, numpy as np, softkern; X = np.random.default_rng(0).normal(size=(60, 2)); "
        "softkern.OneClassPCM().fit(X); softkern.FuzzyCMeans().fit(X); "
        "print(sorted(set(sys.modules) & {'sklearn.metrics', 'sklearn.neighbors', "
        "'sklearn.cluster', 'sklearn.mixture', 'softkern.splitting.recursion', "
        "'softkern.models.automatic', 'matplotlib', 'rich', 'finufft'}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"


def test_public_names_exist():
    for name in softkern.__all__:
        assert hasattr(softkern, name)
