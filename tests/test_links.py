"""The link checker of the documentation reports broken links only."""

import runpy
from pathlib import Path

import pytest

CHECK = runpy.run_path(str(Path(__file__).parent.parent / "tools" / "check_links.py"))


@pytest.mark.parametrize(
    ("link", "is_good"),
    [
        ("other.html", True),
        ("other.html#here", True),
        ("other.html?v=1#here", True),
        ("#top", True),
        ("picture.png#x", True),
        ("https://example.org/missing", True),
        ("other.html#there", False),
        ("missing.html", False),
        ("#bottom", False),
    ],
)
def test_links(tmp_path, capsys, link, is_good):
    (tmp_path / "index.html").write_text(f'<p id="top"><a href="{link}">x</a>', encoding="utf-8")
    (tmp_path / "other.html").write_text('<p id="here">', encoding="utf-8")
    (tmp_path / "picture.png").touch()
    assert CHECK["main"](tmp_path) == (not is_good)
    assert ("is broken" in capsys.readouterr().out) == (not is_good)
