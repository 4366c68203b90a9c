"""The report: one self-contained HTML page on a fitted model and its data.

`write_report` gathers what the page shows (`contents`, `levels`, `explanations`), draws empty
figures (`figures`), and fills the template (`page`, with `page.html`, `style.css`). In the browser
`tree.js` cuts the alpha tree, `script.js` fills the figures, and `explain.js` adds why rows are
listed. The page asks the network for nothing.
"""

from softkern.report.page import write_report

__all__ = ["write_report"]
