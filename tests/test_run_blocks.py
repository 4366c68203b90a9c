"""Code blocks in the documentation: one session per page, and errors stop the build."""

import runpy
from pathlib import Path

import pytest

pytest.importorskip("sphinx")
EXTENSION = Path(__file__).parent.parent / "docs" / "_extensions" / "run.py"


@pytest.fixture(scope="module")
def printed_by():
    return runpy.run_path(str(EXTENSION))["printed_by"]


def test_blocks_of_a_page_share_names(printed_by):
    session = {}
    assert printed_by("x = 2", "page:1", session) == ""
    assert printed_by("print(x + 1)\nprint()", "page:2", session) == "3"


def test_warnings_are_errors(printed_by):
    with pytest.raises(UserWarning, match="beware"):
        printed_by("import warnings; warnings.warn('beware')", "page:1", {})


def test_blocks_run_in_a_temporary_folder(printed_by, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "from pathlib import Path\nPath('model').touch()\nprint(Path('model').exists())"
    assert printed_by(code, "page:1", {}) == "True"
    with pytest.raises(ZeroDivisionError):
        printed_by("1 / 0", "page:1", {})
    assert Path.cwd() == tmp_path
    assert not list(tmp_path.iterdir())
