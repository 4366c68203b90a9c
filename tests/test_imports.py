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

# What each module, or each module of a folder, may import of softkern itself.
LOOP = {
    "operators.base",
    "alternate",
    "centres",
    "collapse",
    "memberships",
    "oneclass",
    "spectral",
    "spectral_scores",
    "tree",
}
ALLOWED = {
    "_colours": set(),
    "sampling": set(),
    "bandwidths": {"sampling"},
    "kernels": {"bandwidths"},
    "operators._tail": set(),
    "operators._features": set(),
    "operators.base": {"kernels", "operators._tail", "operators._features"},
    "operators.plan": {"kernels", "sampling", "operators.*"},
    "operators.__init__": {"operators.*"},
    "operators.*": {"kernels", "sampling", "operators.base"},
    # the mathematics knows operators, never the data, kernels or estimators
    "memberships": set(),
    "centres": set(),
    "tree": set(),
    "alternate": {"operators.base", "sweep"},
    "sweep": set(),
    "collapse": {"operators.base"},
    "oneclass": {"operators.base", "_pairs"},
    "_pairs": set(),
    "spectral": {"operators.base", "sampling"},
    "spectral_scores": set(),
    "validity": {"operators.base"},
    "models._html": {"_colours"},
    "models.*": {"kernels", "sampling", "bandwidths", "operators.*", "models.*", *LOOP},
    # what is built on fitted models knows their public attributes only
    "datasets": set(),
    "selection.spectral": {
        "kernels",
        "sampling",
        "models._spectral_search",
        "models._subset",
        "spectral_scores",
        "display.spectral",
    },
    "selection.*": {"selection.*", "operators.plan", "spectral", "validity"},
    "ranking": set(),
    "files": {"models.*", "operators.plan"},
    "display.*": {"_colours", "tree", "ranking", "display.*"},
    "report.*": {"_colours", "sampling", "ranking", "files", "report.*"},
    "tables.*": {"tables.*"},
    "preparation": {"bandwidths", "tables"},
    "cli.*": {"*"},
    "__init__": {"*"},
}
# Heavy packages live in one file each; numba in two, which hold compiled loops and nothing else.
HOMES = {
    "numba": {"operators._gaussian_tiles", "_pairs"},
    "llvmlite": {"operators._gaussian_tiles"},
    "finufft": {"operators.fourier"},
    "torch": {"operators.gpu"},
    "triton": {"operators.gpu"},
    "dask": {"operators.distributed"},
    "distributed": {"operators.distributed"},
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
    if module in ALLOWED:
        return ALLOWED[module]
    folder = module.rsplit(".", 1)[0] + ".*"
    assert folder in ALLOWED, f"{module} has no place in the layers; give it one"
    return ALLOWED[folder]


def matches(name: str, pattern: str) -> bool:
    return (
        pattern == "*"
        or name == pattern
        or (pattern.endswith(".*") and name.startswith(pattern[:-1]))
    )


@pytest.mark.parametrize("module", MODULES)
def test_layers(module):
    # a private helper of an operator belongs to that operator alone
    own = {"operators.tiled": {"operators._gaussian_tiles", "operators._features"}}.get(
        module, set()
    )
    for name in imports_of(module):
        if not name.startswith("softkern."):
            continue
        name = name.removeprefix("softkern.")
        permitted = allowed_for(module) | own
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
        "'rich', 'typer', 'skops'}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"


def test_public_names_exist():
    for name in softkern.__all__:
        assert hasattr(softkern, name)
