// Selected row, and the ranked tables with all columns: sorted by a click on a heading, searched,
// and saved as CSV.

let pinned = -1;

function valuesOf(i) {
  return axes.slice(0, data.features).map((axis) => [axis.name, formatValue(axis, axis.values[i], 7)]);
}

function show(i) {
  for (const row of document.querySelectorAll("tr[data-place]")) {
    row.classList.toggle("on", Number(row.dataset.place) === i);
  }
  const ring = views.points.doc.get_model_by_name("ring");
  const point = byId("point");
  if (i < 0) {
    if (ring.data.x.length) ring.data = { x: [], y: [] };
    point.replaceChildren(element("p", { text: "Point at a row to see its values here." }));
    return;
  }
  ring.data = { x: [drawn.x[i]], y: [drawn.y[i]] };
  const facts = [
    ...(data.isDetector ? [] : [["cluster", labelName(current.labels[i])]]),
    ["membership", short(numbers.membership[i])],
    ...(typicality ? [["typicality", short(typicality[i])]] : []),
    ["outlier rank", `${whole(numbers.outlierRank[i])} of ${whole(data.n)}`],
    ...(data.isDetector ? [] : [["overlap score", short(numbers.overlapScore[i])]]),
    ...valuesOf(i),
  ];
  const lines = facts.map(([name, value]) =>
    element("tr", {}, element("td", { text: name, title: name }), element("td", { text: value })),
  );
  point.replaceChildren(element("h3", { text: `Row ${data.ids[i]}` }), element("table", {}, ...lines));
}

// Ranking columns: heading, whether it is text, and the value of the row at a place.
function columnsOf(name) {
  const isOutliers = name === "outliers";
  const words = new Map(data.tables[name].map((place, k) => [place, data.why[name][k]]));
  const why = (key) => (i) => words.get(i)?.[key] ?? "";
  const rank = isOutliers ? numbers.outlierRank : numbers.overlapRank;
  const score = isOutliers ? numbers.outlierScore : numbers.overlapScore;
  const found = [
    { head: "rank", value: (i) => rank[i] },
    { head: "row", isText: true, value: (i) => data.ids[i] },
  ];
  // reasons first: on a phone the rest needs scrolling
  const what = isOutliers ? "grade" : "between";
  // omit the grade if no row is flagged
  if (data.why[name].some((row) => row[what])) found.push({ head: what, isText: true, value: why(what) });
  found.push({ head: "why", isText: true, isLong: true, value: why("why") });
  if (!data.isDetector) found.push({ head: "cluster", isText: true, isLabel: true, value: (i) => current.labels[i] });
  found.push({ head: `${isOutliers ? "outlier" : "overlap"} score`, value: (i) => Number(short(score[i])) });
  data.cells.columns.forEach((head, k) => {
    const cells = data.tables[name].map((i) => data.cells.rows[i][k]);
    const isText = cells.some((cell) => typeof cell === "string");
    found.push({ head, isText, isTheirs: true, value: (i) => data.cells.rows[i][k] });
  });
  return found;
}

const classOf = ({ isLong, isLabel, isText, isTheirs }) =>
  isLong ? "why" : `${isText ? "name" : ""}${isLabel ? " label" : ""}${isTheirs ? " theirs" : ""}`.trim();
const cellText = (value) => (value === null ? "" : typeof value === "number" ? short(value, 7) : String(value));

function fillTable(name) {
  const table = byId(`${name}-table`);
  if (!table) return;
  const columns = columnsOf(name);
  const headings = columns.map((column, k) => {
    const button = element("button", { type: "button", text: column.head, title: `${column.head}: sort` });
    button.addEventListener("click", () => sortTable(table, columns, k));
    return element("th", { scope: "col", className: classOf(column) }, button);
  });
  const rows = data.tables[name].map((i) => {
    const row = element("tr", { tabindex: "-1", "data-place": i });
    for (const column of columns) {
      const text = column.isLabel ? "" : cellText(column.value(i));
      row.append(element("td", { text, title: text, className: classOf(column) }));
    }
    row.addEventListener("pointerenter", () => show(i));
    row.addEventListener("pointerleave", () => show(pinned));
    row.addEventListener("focus", () => {
      keepTabStop(table, row);
      show((pinned = i));
    });
    return row;
  });
  table.replaceChildren(element("thead", {}, element("tr", {}, ...headings)), element("tbody", {}, ...rows));
  table.tBodies[0].addEventListener("keydown", moveThroughRows);
  byId(`${name}-search`).addEventListener("input", (event) => search(name, event.target.value));
  byId(`${name}-save`).addEventListener("click", () => {
    const places = shownPlaces(table);
    download(fileName(`${name}.csv`), new Blob([csv(columns, places)], { type: "text/csv" }));
  });
  search(name, "");
}

const shownPlaces = (table) => shownRows(table).map((row) => Number(row.dataset.place));

// Sort by this column, or reverse its order. Empty cells come last.
function sortTable(table, columns, k) {
  const heads = [...table.tHead.rows[0].cells];
  const direction = heads[k].getAttribute("aria-sort") === "ascending" ? -1 : 1;
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[k].setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
  const collator = new Intl.Collator("en", { numeric: true });
  const value = (row) => columns[k].value(Number(row.dataset.place));
  const isEmpty = (one) => one === null || one === "" || Number.isNaN(one);
  const sorted = [...table.tBodies[0].rows].sort((a, b) => {
    const [one, two] = [value(a), value(b)];
    if (isEmpty(one) || isEmpty(two)) return Number(isEmpty(one)) - Number(isEmpty(two));
    const isNumbers = typeof one === "number" && typeof two === "number";
    return direction * (isNumbers ? one - two : collator.compare(String(one), String(two)));
  });
  table.tBodies[0].append(...sorted);
  keepTabStop(table);
}

const shownRows = (table) => [...table.tBodies[0].rows].filter((row) => !row.hidden);

// One tab stop per table, at the last row. Arrow keys move between rows.
function keepTabStop(table, row = shownRows(table)[0]) {
  for (const other of table.tBodies[0].rows) other.tabIndex = other === row ? 0 : -1;
}

function moveThroughRows(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const rows = shownRows(event.currentTarget.parentElement);
  const at = rows.indexOf(event.target);
  const row = { ArrowDown: rows[at + 1], ArrowUp: rows[at - 1], Home: rows[0], End: rows.at(-1) }[event.key];
  if (!row) return;
  event.preventDefault();
  row.focus();
}

// Rows that contain every search word in any cell.
function search(name, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const { rows } = byId(`${name}-table`).tBodies[0];
  let found = 0;
  for (const row of rows) {
    const cells = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => cells.includes(word));
    if (!row.hidden) found++;
  }
  keepTabStop(byId(`${name}-table`));
  byId(`${name}-found`).textContent = words.length ? `${whole(found)} of ${plural(rows.length, "row")}` : plural(rows.length, "row");
}

function csv(columns, places) {
  const cell = (value) => {
    const text = value === null || Number.isNaN(value) ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns.map(({ head }) => cell(head))];
  for (const i of places) lines.push(columns.map(({ value }) => cell(value(i))));
  return `${lines.map((line) => line.join(",")).join("\r\n")}\r\n`;
}

function labelTables() {
  if (data.isDetector) return;
  for (const row of document.querySelectorAll("tr[data-place]")) {
    const label = current.labels[Number(row.dataset.place)];
    if (row.dataset.label === String(label)) continue;
    row.dataset.label = label;
    row.querySelector(".label").replaceChildren(sign(label), ` ${labelName(label)}`);
  }
}

// Cluster markers beside the descriptions.
function markClusters() {
  if (data.isDetector) return;
  for (const article of document.querySelectorAll("article[data-cluster]")) {
    article.querySelector(".swatch").replaceWith(sign(Number(article.dataset.cluster)));
  }
}
