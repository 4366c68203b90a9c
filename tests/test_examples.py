"""Gallery: every example has a title, an explanation and a figure, and runs offline."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_number_of_examples():
    assert len(EXAMPLES) >= 20


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_has_title_explanation_and_figure(example):
    assert example.name.startswith("plot_")  # otherwise it would be listed, but not run
    text = example.read_text(encoding="utf-8")
    title, line, blank, *explanation = ast.get_docstring(ast.parse(text)).split("\n")
    assert line == "=" * len(title)
    assert not blank
    assert len(" ".join(explanation)) > 80
    assert text.endswith("plt.show()\n")
    assert "fetch_" not in text


def test_figures_are_saved(tmp_path):
    example = ROOT / "examples" / "plot_first_look.py"
    command = [sys.executable, str(ROOT / "tools" / "draw_examples.py"), str(tmp_path)]
    subprocess.run([*command, str(example)], check=True, capture_output=True)
    assert (tmp_path / "first_look.png").read_bytes().startswith(b"\x89PNG")
