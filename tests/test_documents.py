"""Documentation: examples run, and the names, links and paths in it exist."""

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
NAMES = re.compile(r"`(softkern(?:\.\w+)+)")
NAMED = re.compile(r"^   (softkern[\w.]*)$", re.MULTILINE)
PUBLIC = [
    "softkern",
    "softkern.datasets",
    "softkern.display",
    "softkern.exceptions",
    "softkern.kernels",
    "softkern.metrics.validity",
    "softkern.operators",
    "softkern.selection",
]
LINKS = re.compile(r"\]\(([^)#:]+)\)")
PATHS = re.compile(r"`((?:src|tests|benchmarks|examples|docs)/[\w./]+\.\w+)`")


def relative_name(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_examples_run(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    blocks = list(CODE.finditer(text))
    assert blocks
    names = {"__name__": "example"}
    for block in blocks:  # keep the line numbers of the document
        code = "\n" * text[: block.start(1)].count("\n") + block[1]
        exec(compile(code, document, "exec"), names)


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative_name)
def test_names_exist(document):
    text = CODE.sub("", document.read_text(encoding="utf-8"))
    for name in NAMES.findall(text):
        resolve_name(name)
    for path in LINKS.findall(text):
        assert (document.parent / path).exists(), path
    for path in PATHS.findall(text):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("document", sorted((ROOT / "docs").rglob("*.md")), ids=relative_name)
def test_code_blocks_are_run_by_sphinx(document):
    assert "```python" not in document.read_text(encoding="utf-8"), "it belongs in ```{run}"


def reference_names():
    """Return the names listed in the reference."""
    return NAMED.findall((ROOT / "docs" / "reference.rst").read_text(encoding="utf-8"))


def resolve_reference(name):
    """Return the object of a name, even if a module has the same name."""
    home, _, last = name.rpartition(".")
    return getattr(resolve_name(home), last)


@pytest.mark.parametrize("name", reference_names())
def test_reference_has_an_example(name):
    assert ">>> " in (resolve_reference(name).__doc__ or ""), (
        f"{name} needs an example in its docstring"
    )


@pytest.mark.parametrize("module", PUBLIC)
def test_reference_is_complete(module):
    documented = {name: id(resolve_reference(name)) for name in reference_names()}
    home = resolve_name(module)
    missing = [
        name
        for name in home.__all__
        if callable(getattr(home, name)) and id(getattr(home, name)) not in documented.values()
    ]
    assert not missing, f"docs/reference.rst lacks {missing} of {module}"
    listed = {name.rpartition(".")[2] for name in documented if name.rpartition(".")[0] == module}
    assert listed <= set(home.__all__), f"{module}.__all__ lacks {listed - set(home.__all__)}"
