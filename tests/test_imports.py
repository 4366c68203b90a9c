"""The layers of the design: which module may import which, checked in the source."""

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

# Modules of softkern that each module or folder may import. The first matching pattern counts.
EVERYWHERE = {"_utils*", "exceptions"}
BELOW_MODELS = {
    "rows",
    "kernels*",
    "operators.base",
    "planning*",
    "rules*",
    "solvers*",
    "density_tree*",
    "metrics*",
    "splitting*",
}
ALLOWED = {
    "_utils*": set(),
    "exceptions": set(),
    "fitted": set(),
    "rows": set(),
    "dask*": {"dask*", "kernels*", "models*", "operators*", "planning*", "ranking*", "rows"},
    "kernels*": {"rows", "kernels*"},
    # one operator per file; only the given matrix knows another, which forms it
    "operators.__init__": {"operators*"},
    "operators.precomputed": {"kernels*", "operators.base", "operators.dense"},
    "operators*": {
        "kernels*",
        "rows",
        "operators.base",
        "operators.geometry",
        "operators.log_sums",
        "operators.ordering",
        "operators.work",
        "operators._gaussian_tiles",
        "operators.gpu*",
    },
    "planning*": {"kernels*", "rows", "operators*", "planning*"},
    # rules use arrays only, and solvers use rules and operators, but no data and no kernels
    "rules*": {"rules*"},
    "solvers*": {"operators.base", "rules*", "rows", "solvers*"},
    "metrics*": {"operators.base", "rows", "rules*", "metrics*"},
    "splitting*": {"splitting*", "rows"},
    "density_tree*": {
        "kernels*",
        "operators.base",
        "planning*",
        "rows",
        "density_tree*",
        "splitting*",
        "solvers*",
    },
    "tables.preparation*": {"tables.preparation*", "tables.text", "kernels*", "rows"},
    "tables.text": {"tables.preparation*", "tables.explain*"},
    "tables.compare*": {"tables.preparation*", "tables.compare*", "tables.text"},
    # preparation of tables, by one lazy import
    "models.auto": {"tables.preparation", "fitted", "models*", *BELOW_MODELS},
    "models*": {"fitted", "models*", *BELOW_MODELS},
    # modules for fitted models use only their public names and fitted attributes
    "datasets": set(),
    "selection*": {"kernels*", "metrics*", "models.spectral_search", "rows", "selection*"},
    "ranking*": {"rows", "models.point_scores", "ranking*"},
    "files": {"models.state"},
    "tables.explain*": {
        "tables.preparation*",
        "tables.text",
        "tables.explain*",
        "fitted",
        "kernels*",
        "ranking*",
        "rows",
    },
    "display*": {"density_tree*", "fitted", "ranking*", "display*"},
    "tables.report*": {
        "density_tree*",
        "tables.explain*",
        "files",
        "fitted",
        "ranking*",
        "tables.report*",
        "rows",
    },
    "tables.io*": {"tables.io*", "tables.preparation*", "rows"},
    "tables.cli*": {"*"},
    "tables.__init__": set(),
    "__init__": {"*"},
}
# Public functions dispatch Dask data to the Dask folder in their first lines.
DASK_HOOKS = {"models.base", "models._array_dispatch", "planning.plan", "ranking.table"}
DASK = {module for module in MODULES if module.startswith("dask.")}
# Modules that may import heavy packages.
GPU = "operators.gpu"
HOMES = {
    "numba": {"_utils.jit", "operators._gaussian_tiles"},
    "llvmlite": {"operators._gaussian_tiles"},
    "finufft": {"operators.fourier"},
    "torch": {f"{GPU}.{name}" for name in ("devices", "frames", "fused", "tiled")},
    "triton": {f"{GPU}.kernels"},
    "dask": DASK,
    "distributed": DASK,
}


# Names that folders outside the package may import: public ones only.
PUBLIC = {"__version__", "selection", *softkern.__all__}


def imports_of(module: str) -> set[str]:
    return imports_in(SOURCE.joinpath(*module.split(".")).with_suffix(".py"))


def imports_in(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
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
    """Return whether a pattern is the module or, with a star, its folder."""
    folder = pattern.removesuffix("*")
    is_inside = pattern.endswith("*") and (not folder or f"{name}.".startswith(f"{folder}."))
    return name == pattern or is_inside


@pytest.mark.parametrize("module", MODULES)
def test_layers(module):
    for name in imports_of(module):
        if name.startswith("softkern."):
            name = name.removeprefix("softkern.")
            permitted = allowed_for(module) | EVERYWHERE
            if module in DASK_HOOKS:
                permitted |= {"dask*"}
            assert any(matches(name, pattern) for pattern in permitted), f"{module} imports {name}"


def test_reproduce_uses_public_names():
    for path in (Path(__file__).parents[1] / "reproduce").rglob("*.py"):
        for name in imports_in(path):
            if name.startswith("softkern."):
                name = name.removeprefix("softkern.")
                assert any(matches(name, pattern) for pattern in PUBLIC), f"{path} imports {name}"


@pytest.mark.parametrize("module", MODULES)
def test_heavy_packages_have_one_home(module):
    for name in imports_of(module):
        package = name.split(".")[0]
        assert module in HOMES.get(package, {module}), f"{module} imports {package}"


@pytest.mark.parametrize("module", sorted(DASK_HOOKS))
def test_hooks_import_the_dask_folder_when_called(module):
    path = SOURCE.joinpath(*module.split(".")).with_suffix(".py")
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            assert not str(node.module).startswith("softkern.dask"), f"{module} imports Dask early"


@pytest.mark.parametrize("module", MODULES)
def test_private_parts_of_scikit_learn_have_one_home(module):
    path = SOURCE.joinpath(*module.split(".")).with_suffix(".py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("sklearn"):
            parts = [*str(node.module).split("."), *(alias.name for alias in node.names)]
            is_private = any(part.startswith("_") for part in parts)
            assert not is_private or module == "_utils.sklearn_compat", f"{module}: {parts}"


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


def test_a_first_fit_imports_little_of_scikit_learn():
    code = (
        "import sys, numpy as np, softkern; X = np.random.default_rng(0).normal(size=(60, 2)); "
        "softkern.OneClassPCM().fit(X); softkern.FuzzyCMeans().fit(X); "
        "print(sorted(set(sys.modules) & {'sklearn.metrics', 'sklearn.neighbors', "
        "'sklearn.cluster', 'sklearn.mixture', 'softkern.splitting.split', "
        "'softkern.models.auto', 'matplotlib', 'rich', 'finufft'}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"


def test_public_names_exist():
    for name in softkern.__all__:
        assert hasattr(softkern, name)
