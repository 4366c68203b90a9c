"""The report: one self-contained HTML page on a fitted model and its data.

`write_report` gathers what the page shows (`contents`, with `axes`, `levels`, `known`, `cells`, and
`explanations`), draws empty figures (`figures`), and fills the template (`page`, with `page.html`,
`style.css`). In the browser `data.js` unpacks it and `tree.js` cuts the alpha tree; `chosen.js`
holds what the reader chose, `color.js`, `legend.js`, `frame.js`, `pictures.js` and `tables.js`
show it, `save.js` saves the picture, and `script.js` listens. The page asks for nothing else.
"""

from softkern.tables.report.page import write_report

__all__ = ["write_report"]
