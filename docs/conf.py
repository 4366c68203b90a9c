import sys
from pathlib import Path

from sphinx.application import Sphinx

import softkern

sys.path.append(str(Path(__file__).parent / "_extensions"))

project = "softkern"
author = "The softkern developers"
copyright = "2026, the softkern developers"
version = release = softkern.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.extlinks",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "run",
]
exclude_patterns = ["_build"]
default_role = "py:obj"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
templates_path = ["_templates"]
autosummary_generate = True
autodoc_typehints = "none"  # docstrings say more
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
extlinks: dict[str, tuple[str, str]] = {"doi": ("https://doi.org/%s", "doi:%s")}

html_theme = "pydata_sphinx_theme"
html_title = "softkern"
html_static_path = ["_static"]
html_css_files = ["softkern.css"]
html_theme_options = {
    "logo": {"text": "softkern"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_show_sourcelink = False
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
# one page, without chapters to choose from
html_sidebars = {
    page: []
    for page in (
        "start",
        "which",
        "reference",
        "benchmarks",
        "comparison",
        "design",
        "changelog",
        "gallery/**",
    )
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "doc_module": ("softkern",),
    "backreferences_dir": "gallery/backreferences",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": False,
    "image_srcset": ["2x"],
    "capture_repr": ("_repr_html_",),  # tables and models, not what matplotlib returns
}


def chapters_of_papers(_app: Sphinx, name: str, source: list[str]) -> None:
    """Add the pages of the papers below their summary; `python -m reproduce` writes them plain."""
    if name == "papers/index":
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def setup(app: Sphinx) -> None:
    app.connect("source-read", chapters_of_papers)
