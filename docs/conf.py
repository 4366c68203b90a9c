import re

from sphinx.application import Sphinx

import softkern

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
    "matplotlib.sphinxext.plot_directive",
]
exclude_patterns = ["_build"]
default_role = "code"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
autosummary_generate = True
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
# one page, without chapters to choose from
html_sidebars = {
    page: [] for page in ("start", "which", "benchmarks", "design", "changelog", "gallery/**")
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
}

plot_include_source = False
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 120)]
plot_rcparams = {"figure.constrained_layout.use": True, "savefig.bbox": "tight"}
plot_apply_rcparams = True

PLOTS = re.compile(r"^```\{plot\}[^\n]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


def plots_in_markdown(_app: Sphinx, _name: str, source: list[str]) -> None:
    """Hand ```{plot} blocks of markdown to docutils: myst cannot run that directive itself."""

    def as_rst(block: re.Match[str]) -> str:
        lines = (f"   {line}".rstrip() for line in block[1].splitlines())
        return "\n".join(["```{eval-rst}", ".. plot::", *lines, "```"])

    source[0] = PLOTS.sub(as_rst, source[0])


def setup(app: Sphinx) -> None:
    app.connect("source-read", plots_in_markdown)
