"""The directive `run`: code that is run when the site is built, with what it prints and draws.

    ```{run}
    :alt: what the picture shows, for those who cannot see it

    print(1 + 1)
    ```

A page is a session: its blocks share their names, in their order. Warnings are errors.
"""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import traceback
import warnings
from pathlib import Path

import matplotlib
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

matplotlib.use("Agg")
from matplotlib import pyplot as plt

FOLDER = "pictures"  # of what is drawn, in docs/
PIXELS = 100  # of the page to an inch of a figure; pictures have twice as many


class Run(SphinxDirective):
    """Runs its content and shows it, with what came of it."""

    has_content = True
    option_spec = {  # noqa: RUF012 - as docutils asks for it
        "alt": directives.unchanged,
        "hide-code": directives.flag,
        "as-table": directives.flag,  # lines are not wrapped
    }

    def run(self) -> list[nodes.Node]:
        session = self.env.temp_data.setdefault("session", {"__name__": "__main__"})
        code = "\n".join(self.content)
        plt.close("all")
        try:
            printed = printed_by(code, f"{self.env.docname}:{self.lineno}", session)
        except Exception as error:
            raise self.error(f"{error!r}\n{traceback.format_exc()}") from error
        shown = [] if "hide-code" in self.options else [nodes.literal_block(code, code)]
        if printed:
            kind = "as-table" if "as-table" in self.options else "as-text"
            shown.append(nodes.literal_block(printed, printed, classes=["printed", kind]))
            shown[-1]["language"] = "none"
        for block in shown:
            block.setdefault("language", "python")
        return [*shown, *self.pictures()]

    def pictures(self) -> list[nodes.Node]:
        """The open figures, kept and closed."""
        figures = [plt.figure(number) for number in plt.get_fignums()]
        if figures and "alt" not in self.options:
            raise self.error("a block that draws needs :alt:, what its picture shows")
        return [self.picture(figure) for figure in figures]

    def picture(self, figure: plt.Figure) -> nodes.Node:
        drawn = self.env.temp_data["drawn"] = self.env.temp_data.get("drawn", 0) + 1
        name = f"{FOLDER}/{self.env.docname.replace('/', '_')}_{drawn}.png"
        path = Path(self.env.srcdir) / name
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, dpi=2 * PIXELS, bbox_inches="tight")
        plt.close(figure)
        width = plt.imread(path).shape[1] // 2
        return nodes.image(uri=f"/{name}", alt=self.options["alt"], width=f"{width}px")


def printed_by(code: str, name: str, session: dict[str, object]) -> str:
    """What the code prints, run among the session's names, in a folder of its own."""
    out, home = io.StringIO(), Path.cwd()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(out),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        os.chdir(folder)
        try:
            exec(compile(code, name, "exec"), session)
        finally:
            os.chdir(home)
    return out.getvalue().rstrip()


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directive known."""
    app.add_directive("run", Run)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
