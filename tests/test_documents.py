"""The documents: their examples run, and what they name exists."""

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
NAMES = re.compile(r"`(softkern(?:\.\w+)+)")
DIRECTIVES = re.compile(r"^\.\. auto\w+:: (softkern[\w.]*)", re.MULTILINE)
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


def test_reference_names_exist():
    found = DIRECTIVES.findall((ROOT / "docs" / "reference.rst").read_text(encoding="utf-8"))
    assert found
    for name in found:
        resolve_name(name)
