// Colors by cluster, by a numeric column, or by a categorical column, with the cross table of its
// values and the clusters.

const INNER = 0.98; // share of the rows covered by a color scale or the first view
const MISSING = 255; // code of an empty cell

function colored() {
  const [kind, k] = state.color.split(" ");
  if (kind === "axis") return { kind, ...axes[Number(k)] };
  if (kind === "known") return { kind, ...known[Number(k)] };
  return { kind: "clusters" };
}

// Range of the inner rows' values. Of a sample, without the top-ranked rows.
function innerEnds(values) {
  const isFew = data.outliers <= 0.05 * data.n;
  const cutoff = isFew ? data.rejection.cutoffs[data.rejection.start] : 0;
  const usual = values.filter(
    (value, i) => Number.isFinite(value) && numbers.sampled[i] && numbers.outlierRank[i] > cutoff,
  );
  const sorted = (usual.length ? usual : values.filter(Number.isFinite)).slice().sort();
  if (!sorted.length) return [0, 1];
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  return [at((1 - INNER) / 2), at((1 + INNER) / 2)];
}

// The color index and the marker of each row.
function marks() {
  const column = colored();
  const tone = new Float32Array(count);
  const marker = new Array(count);
  const [low, high] = column.kind === "axis" ? innerEnds(column.values) : [0, 1];
  for (let i = 0; i < count; i++) {
    const label = current.labels[i];
    marker[i] = markerOf(label);
    if (column.kind === "clusters") tone[i] = toneOf(label);
    else if (column.kind === "axis") {
      const share = high > low ? (column.values[i] - low) / (high - low) : 0.5;
      const step = Math.round(Math.min(Math.max(share, 0), 1) * (scale.length - 1));
      tone[i] = Number.isNaN(share) ? NEUTRAL : NEUTRAL + 1 + step;
    } else {
      const code = column.codes[i] < column.values.length ? column.codes[i] : -1;
      tone[i] = toneOf(code);
      marker[i] = markerOf(code);
    }
  }
  return { tone, marker };
}

function offerColors() {
  const select = byId("color");
  const group = (label, options) => {
    if (options.length) select.append(element("optgroup", { label }, ...options));
  };
  const option = (text, value) => element("option", { text, value });
  select.append(option(data.isDetector ? "nothing" : "cluster", ""));
  group("values", known.map(({ name }, k) => option(name, `known ${k}`)));
  group("numbers", axes.map(({ name }, k) => option(name, `axis ${k}`)));
  select.addEventListener("change", () => {
    state.color = select.value;
    drawPoints();
    legend();
    compare();
  });
}

// Legend of a colored column
function colorKey() {
  const column = colored();
  const shape = data.isDetector ? "" : " Shape: cluster.";
  byId("marks-help").textContent = {
    clusters: `${data.isDetector ? "" : "Color and shape: cluster. "}Fainter: lower membership.`,
    axis: `Color: ${column.name}.${shape}`,
    known: `Color and shape: ${column.name}.`,
  }[column.kind];
  const key = byId("key");
  key.hidden = column.kind === "clusters";
  if (key.hidden) return;
  const head = element("h3", { text: column.name });
  if (column.kind === "axis") {
    const [low, high] = innerEnds(column.values);
    const bar = element("div", { className: "ramp" });
    bar.style.background = `linear-gradient(to right, ${scale.join(", ")})`;
    const middle = (low + high) / 2;
    const places = [low, column.isDate && high - low > 3 ? Math.round(middle) : middle, high];
    const ends = places.map((value) => element("span", { text: formatValue(column, value, 4) }));
    const note = element("p", { className: "help", text: "Range of the inner 98 % of the rows." });
    key.replaceChildren(head, bar, element("div", { className: "ends" }, ...ends), note);
    return;
  }
  const lines = column.values.map((value, code) => keyLine(sign(code), value, column.counts[code]));
  if (column.rarer) {
    const rest = column.counts[column.values.length] ?? 0;
    lines.push(keyLine(sign(-1), `${plural(column.rarer, "rarer value")}`, rest));
  }
  if (column.missing) lines.push(keyLine(sign(-1), "empty", column.missing));
  key.replaceChildren(head, element("ul", { className: "legend" }, ...lines));
}

function keyLine(mark, name, number) {
  const size = element("span", { className: "count", text: whole(number) });
  return element("li", {}, mark, element("span", { className: "of", text: name, title: name }), size);
}

// Clusters × values over all rows, always for the model's clusters.
function compare() {
  const column = colored();
  const section = byId("compare");
  section.hidden = column.kind !== "known" || data.isDetector;
  if (section.hidden) return;
  byId("compare-heading").textContent = `Clusters and ${column.name}`;
  byId("compare-words").textContent = [
    column.ari === null
      ? "Nothing to compare: all rows are in one cluster, or have one value."
      : `Adjusted Rand index ${column.ari.toFixed(2)}: 1 if clusters and values agree, 0 if they agree only by chance.`,
    "Counts refer to all rows and the model’s clusters. Rows in no cluster are listed together.",
    column.missing ? `${plural(column.missing, "row")} without a value left out.` : "",
  ].join(" ").trim();
  const names = [...column.values, ...(column.rarer ? ["rarer"] : [])];
  const cell = (kind, text, more = {}) => element(kind, { text, ...more });
  const head = element(
    "tr", {}, cell("th", "cluster", { scope: "col", className: "name" }),
    ...names.map((text) => cell("th", text, { scope: "col", title: text })), cell("th", "all", { scope: "col" }),
  );
  const total = (counts) => counts.reduce((sum, one) => sum + one, 0);
  const line = (name, counts) => {
    const most = Math.max(...counts);
    return element(
      "tr", {}, cell("th", name, { scope: "row", className: "name" }),
      ...counts.map((one) => cell("td", one ? whole(one) : "·", { className: one && one === most ? "most" : "" })),
      cell("td", whole(total(counts))),
    );
  };
  const body = column.clusters.map((label, k) => line(labelName(label), column.cross[k]));
  body.push(line("all", column.counts));
  byId("compare-table").replaceChildren(element("thead", {}, head), element("tbody", {}, ...body));
  byId("compare-more").textContent = column.moreClusters ? `${plural(column.moreClusters, "smaller cluster")} not listed.` : "";
}
