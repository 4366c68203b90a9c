import softkern

project = "softkern"
author = "The softkern developers"
copyright = "2026, the softkern developers"
version = release = softkern.__version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_parser"]
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
exclude_patterns = ["_build"]
myst_heading_anchors = 2  # the papers' pages link to their checks
html_theme = "alabaster"
html_theme_options = {"description": "Soft clusters, outliers and overlap points with kernels"}
extlinks: dict[str, tuple[str, str]] = {"doi": ("https://doi.org/%s", "doi:%s")}
extensions.append("sphinx.ext.extlinks")
