// Adds to the ranked tables why each row is there, as soon as script.js has filled them. Rows are
// known by their place among the shown ones, so that the order of a table does not matter.
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("report-data").textContent);
  const CELLS = {
    outliers: ["grade", "why"],
    overlaps: ["between", "why"],
  };
  const BEFORE = { outliers: "outlier score", overlaps: "overlap score" }; // the column that precedes

  function cell(kind, name, text) {
    const made = document.createElement(kind);
    made.textContent = text;
    made.className = name === "why" ? "why" : "name";
    return made;
  }

  function explain(name) {
    const table = byId(`${name}-table`);
    if (!table || !table.tHead) return;
    const words = new Map(data.tables[name].map((place, k) => [String(place), data.why[name][k]]));
    const heads = [...table.tHead.rows[0].cells];
    const after = heads.findIndex((head) => head.textContent === BEFORE[name]);
    heads[after].after(
      ...CELLS[name].map((column) => {
        const head = cell("th", column, column);
        head.scope = "col";
        return head;
      }),
    );
    for (const row of table.tBodies[0].rows) {
      const found = words.get(row.dataset.place) ?? {};
      row.cells[after].after(...CELLS[name].map((column) => cell("td", column, found[column] ?? "")));
    }
  }

  window.softkernReport.ready.then(() => Object.keys(CELLS).forEach(explain));
})();
