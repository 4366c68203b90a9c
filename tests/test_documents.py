"""The documents: their examples run, and what they name exists."""

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
    "softkern.tables.preparation",
    "softkern.tables.compare",
    "softkern.datasets",
    "softkern.display",
    "softkern.exceptions",
    "softkern.tables.explain",
    "softkern.files",
    "softkern.kernels",
    "softkern.metrics.accuracy",
    "softkern.metrics.validity",
    "softkern.operators",
    "softkern.planning",
    "softkern.ranking",
    "softkern.tables.report",
    "softkern.rows",
    "softkern.rules.base",
    "softkern.selection",
]
INSIDE = {"quiet", "Kind", "replacing", "warn"}  # a type, and what only the package uses
LINKS = re.compile(r"\]\(([^)#:]+)\)")
PATHS = re.compile(r"`((?:src|tests|benchmarks|examples|docs)/[\w./]+\.\w+)`")


def name_of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_examples_run(document, monkeypatch):
    from softkern import planning

    monkeypatch.setattr(planning, "ENGINES", dict(planning.ENGINES))
    text = (ROOT / document).read_text(encoding="utf-8")
    found = list(CODE.finditer(text))
    assert found
    names = {"__name__": "example"}
    for block in found:  # at its own lines of the document
        code = "\n" * text[: block.start(1)].count("\n") + block[1]
        exec(compile(code, document, "exec"), names)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_names_exist(document):
    text = CODE.sub("", document.read_text(encoding="utf-8"))
    for name in NAMES.findall(text):
        resolve_name(name)
    for path in LINKS.findall(text):
        assert (document.parent / path).exists(), path
    for path in PATHS.findall(text):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("document", sorted((ROOT / "docs").rglob("*.md")), ids=name_of)
def test_code_of_the_site_is_run(document):
    assert "```python" not in document.read_text(encoding="utf-8"), "it belongs in ```{run}"


def listed():
    """Names of the reference."""
    return NAMED.findall((ROOT / "docs" / "reference.rst").read_text(encoding="utf-8"))


def meant(name):
    """What a name of the reference stands for, also where a module has the same name."""
    home, _, last = name.rpartition(".")
    return getattr(resolve_name(home), last)


@pytest.mark.parametrize("name", listed())
def test_reference_has_an_example(name):
    assert ">>> " in (meant(name).__doc__ or ""), f"{name} needs an example in its docstring"


@pytest.mark.parametrize("module", PUBLIC)
def test_reference_is_complete(module):
    found = {id(meant(name)) for name in listed()}
    home = resolve_name(module)
    missing = [
        name
        for name in home.__all__
        if callable(getattr(home, name)) and id(getattr(home, name)) not in found
    ]
    assert not set(missing) - INSIDE, f"docs/reference.rst lacks {missing} of {module}"
