"""The report: one self-contained HTML page on a fitted model and its data.

`write_report` collects the data (`data`, with `axes`, `tree` and `columns`), creates empty figures
(`figures`), and fills the template (`page`). In the browser `data.js` unpacks the data and
`tree.js` cuts the tree. `chosen.js` holds the reader's choices, `color.js`, `legend.js`,
`frame.js`, `pictures.js` and `tables.js` draw, `save.js` saves the picture, and `script.js` handles
events.
"""

from softkern.tables.report.page import write_report

__all__ = ["write_report"]
