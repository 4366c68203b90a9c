"""Blocks of code in the pages: run in one session a page, and what goes wrong stops the build."""

import runpy
from pathlib import Path

import pytest

pytest.importorskip("sphinx")
EXTENSION = Path(__file__).parent.parent / "docs" / "_extensions" / "run.py"


@pytest.fixture(scope="module")
def printed_by():
    return runpy.run_path(str(EXTENSION))["printed_by"]


def test_names_stay_for_the_next_block(printed_by):
    session = {}
    assert printed_by("x = 2", "page:1", session) == ""
    assert printed_by("print(x + 1)\nprint()", "page:2", session) == "3"


def test_warnings_are_errors(printed_by):
    with pytest.raises(UserWarning, match="beware"):
        printed_by("import warnings; warnings.warn('beware')", "page:1", {})


def test_files_are_left_nowhere(printed_by, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "from pathlib import Path\nPath('model').touch()\nprint(Path('model').exists())"
    assert printed_by(code, "page:1", {}) == "True"
    with pytest.raises(ZeroDivisionError):
        printed_by("1 / 0", "page:1", {})
    assert Path.cwd() == tmp_path
    assert not list(tmp_path.iterdir())
