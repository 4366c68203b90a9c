// Fills the page: reads the packed data, relabels the rows as the sliders move, links the tables
// with the picture. Whatever comes from the data is put into the document as text, never as HTML.
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("report-data").textContent);
  const figures = JSON.parse(byId("report-figures").textContent);
  const { colours, neutral, markers } = data.style;
  const NEUTRAL = colours.length; // its number among the tones
  const LEGEND = 10; // clusters that are listed
  const COLUMNS = 4; // features in a ranked table
  const FAR = 5; // times the range of the other rows, from which on outliers are left outside
  const SVG = "http://www.w3.org/2000/svg";

  // Data

  const KINDS = { float32: Float32Array, float64: Float64Array, int32: Int32Array, uint16: Uint16Array };

  function unpack(item) {
    const text = atob(item.bytes);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new KINDS[item.type](bytes.buffer);
  }

  const numbers = Object.fromEntries(
    ["rows", "labels", "opacity", "membership", "outlierScore", "outlierRank", "overlapScore", "overlapRank"]
      .map((name) => [name, unpack(data[name])]),
  );
  const count = numbers.rows.length;
  const axes = data.axes.map(({ name, base, unit, values }) => ({
    name,
    values: Float64Array.from(unpack(values), (value) => value * unit + base),
  }));
  const typicality = data.typicality && unpack(data.typicality);
  const scores = { "outlier score": numbers.outlierScore, membership: numbers.membership, typicality };
  for (const [name, values] of Object.entries(scores)) {
    if (values) axes.push({ name, values: Float64Array.from(values) });
  }

  let tree = null;
  if (data.tree) {
    const arrays = { ...data.tree };
    for (const name of ["order", "gaps", "rank", "above", "weight", "rows", "node", "steps"]) {
      arrays[name] = arrays[name] && unpack(arrays[name]);
    }
    tree = { ...arrays, flat: new FlatTree(arrays) };
  }

  // What is chosen

  const state = { level: null, rejected: data.rejection.start, across: data.start[0], up: data.start[1] };
  const current = { labels: numbers.labels, sizes: data.sizes, noise: data.noise, nodes: null };
  const views = {};
  let pinned = -1;

  function relabel() {
    if (state.level === null) {
      Object.assign(current, { labels: numbers.labels, sizes: data.sizes, noise: data.noise, nodes: null });
      return;
    }
    const k = state.level;
    const { labels: nodes, sizes } = tree.flat.cut(k);
    const labels = new Int32Array(count);
    for (let i = 0; i < count; i++) labels[i] = tree.steps[i] > k ? nodes[tree.node[i]] : -1;
    Object.assign(current, { labels, sizes, noise: tree.noise[k], nodes });
  }

  // Words

  const whole = (value) => value.toLocaleString("en");
  const short = (value, digits = 5) => {
    if (Number.isNaN(value)) return "–";
    return Number.isFinite(value) ? String(Number(value.toPrecision(digits))) : "∞";
  };
  const percent = (part) => `${short(Number((100 * part).toPrecision(2)))} %`;
  // exact, so that it can be given to the model; save for the model's own, which has many digits
  const levelName = (k) =>
    `α = ${k === tree.ownStep ? `${short(tree.levels[k])}, the model’s level` : tree.levels[k]}`;
  const plural = (number, word) => `${whole(number)} ${word}${number === 1 ? "" : "s"}`;

  function labelName(label) {
    if (label < 0) return "no cluster";
    return data.isDetector ? "all rows" : `cluster ${label}`;
  }

  const toneOf = (label) => (label < 0 ? NEUTRAL : label % colours.length);
  const colourOf = (label) => (label < 0 ? neutral : colours[toneOf(label)]);
  const markerOf = (label) =>
    label < 0 ? "x" : markers[Math.floor(label / colours.length) % markers.length];
  const clusterCount = () => {
    let found = 0;
    for (const size of current.sizes) if (size > 0) found++;
    return found;
  };

  function describe() {
    const rejected = data.rejection.counts[state.rejected];
    const share = rejected ? `${percent(rejected / data.n)}: ${plural(rejected, "row")}` : "rows: none";
    const parts = [];
    if (!data.isDetector) {
      const lead = state.level === null ? "The model’s own clusters" : levelName(state.level);
      parts.push(`${lead}: ${plural(clusterCount(), "cluster")}`);
      const noise = `${whole(current.noise)} of ${plural(data.n, "row")} (${percent(current.noise / data.n)})`;
      if (tree || current.noise) parts.push(`${noise} are in no cluster`);
    }
    if (data.isDetector) parts.push(`${whole(rejected)} of ${plural(data.n, "row")} rejected as least typical`);
    else parts.push(`${rejected ? whole(rejected) : "none"} rejected as least typical`);
    const text = `${parts.join("; ")}.`;
    byId("state").textContent = text;
    byId("points").setAttribute("aria-label", `Scatter plot of ${plural(count, "row")}. ${text}`);
    byId("rejected-value").textContent = share;
    byId("rejected").setAttribute("aria-valuetext", share);
    if (!tree) return;
    const level = state.level === null ? "a level α" : levelName(state.level);
    byId("alpha-value").textContent = level;
    byId("alpha").setAttribute("aria-valuetext", state.level === null ? "no cut" : level);
    byId("own").setAttribute("aria-pressed", String(state.level === null));
  }

  // Small pieces of the document

  function element(name, { text, className, ...attributes } = {}, ...children) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  const SHAPES = {
    circle: "M8 2a6 6 0 1 0 .01 0z",
    square: "M3 3h10v10H3z",
    triangle: "M8 2l6.5 11.5h-13z",
    diamond: "M8 1l5 7-5 7-5-7z",
    inverted_triangle: "M8 14L1.5 2.5h13z",
    plus: "M8 2v12M2 8h12",
    x: "M3 3l10 10M13 3L3 13",
  };

  function sign(label, hollow = false) {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 16 16");
    svg.setAttribute("aria-hidden", "true");
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", SHAPES[hollow ? "circle" : markerOf(label)]);
    path.setAttribute("fill", hollow ? "none" : colourOf(label));
    path.setAttribute("stroke", colourOf(label));
    path.setAttribute("stroke-width", "2");
    svg.append(path);
    return svg;
  }

  function legend() {
    const entries = [];
    const add = (mark, name, number) => {
      const size = element("span", { className: "count", text: number });
      entries.push(element("li", {}, mark, element("span", { text: name }), size));
    };
    const rest = { clusters: 0, rows: 0 };
    let listed = 0;
    for (let label = 0; label < current.sizes.length; label++) {
      const size = current.sizes[label];
      if (!size) continue;
      if (listed++ < LEGEND) add(sign(label), labelName(label), whole(size));
      else {
        rest.clusters++;
        rest.rows += size;
      }
    }
    if (rest.clusters) add("…", `${whole(rest.clusters)} smaller clusters`, whole(rest.rows));
    if (current.noise) add(sign(-1), labelName(-1), whole(current.noise));
    const rejected = data.rejection.counts[state.rejected];
    if (rejected) add(sign(-1, true), "of these rejected", whole(rejected));
    byId("legend").replaceChildren(...entries);
  }

  // Figures

  const size = Math.max(3.5, Math.min(8, 180 / Math.sqrt(count) + 2));

  function drawPoints() {
    const tone = new Float32Array(count);
    const alpha = new Float32Array(count);
    const filled = new Float32Array(count).fill(NaN);
    const open = new Float32Array(count).fill(NaN);
    const marker = new Array(count);
    const cutoff = data.rejection.cutoffs[state.rejected];
    for (let i = 0; i < count; i++) {
      const label = current.labels[i];
      const isRejected = numbers.outlierRank[i] <= cutoff;
      tone[i] = toneOf(label);
      marker[i] = isRejected ? "circle" : markerOf(label);
      alpha[i] = 0.35 + 0.6 * numbers.opacity[i];
      if (isRejected) open[i] = size;
      else if (label < 0) open[i] = 0.75 * size;
      else filled[i] = size;
    }
    const [x, y] = [axes[state.across].values, axes[state.up].values];
    views.points.source.data = { x, y, tone, alpha, filled, open, marker };
  }

  function range(values) {
    let low = Infinity;
    let high = -Infinity;
    for (const value of values) {
      if (!Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    if (!(high >= low)) return [0, 1];
    return high > low ? [low, high] : [low - 0.5, high + 0.5];
  }

  // What an axis shows at first: all, unless outliers would press the others into a line.
  function usualRange(values) {
    const cutoff = data.rejection.cutoffs[data.rejection.start];
    const all = range(values);
    const most = range(values.filter((_, i) => numbers.outlierRank[i] > cutoff));
    return all[1] - all[0] > FAR * (most[1] - most[0]) ? most : all;
  }

  // Show the points; two axes of like ranges are drawn to one scale, so that shapes are true.
  function frame(choose) {
    const { figure } = views.points;
    const shown = [axes[state.across].values, axes[state.up].values];
    const [x, y] = shown.map(choose);
    const isOutside = (value, [low, high]) => value < low || value > high;
    const outside = shown[0].filter((_, i) => isOutside(shown[0][i], x) || isOutside(shown[1][i], y)).length;
    byId("everything").hidden = outside === 0;
    byId("everything").textContent = `Show all rows: ${whole(outside)} far outside`;
    const spans = [x, y].map(([low, high]) => (high - low) * 1.1);
    const pixels = [figure.inner_width || 600, figure.inner_height || 500];
    if (Math.max(...spans) < 3 * Math.min(...spans)) {
      const scale = Math.max(spans[0] / pixels[0], spans[1] / pixels[1]);
      spans[0] = scale * pixels[0];
      spans[1] = scale * pixels[1];
    }
    [[figure.x_range, x, spans[0]], [figure.y_range, y, spans[1]]].forEach(([axis, [low, high], span]) => {
      const start = (low + high - span) / 2;
      const end = (low + high + span) / 2;
      axis.setv({ start, end, reset_start: start, reset_end: end });
    });
    figure.below[0].axis_label = axes[state.across].name;
    figure.left[0].axis_label = axes[state.up].name;
  }

  function move(across, up, zoom = 1) {
    const { figure } = views.points;
    [[figure.x_range, across], [figure.y_range, up]].forEach(([axis, share]) => {
      const span = axis.end - axis.start;
      const middle = axis.start + span / 2 + share * span;
      axis.setv({ start: middle - (span * zoom) / 2, end: middle + (span * zoom) / 2 });
    });
  }

  // The level that is drawn as a line: the slider's, or the model's own where it cut at one.
  const shownLevel = () => (state.level === null ? tree && tree.own : tree.levels[state.level]);

  function drawHistogram() {
    const { edges, counts } = data.histogram;
    const level = shownLevel();
    const isNoise = counts.map((_, i) => level !== null && edges[i + 1] <= level);
    views.histogram.source.data = {
      left: edges.slice(0, -1),
      right: edges.slice(1),
      top: counts,
      tone: isNoise.map((noise) => (noise ? NEUTRAL : 0)),
      alpha: counts.map(() => 0.75),
    };
    const cut = views.histogram.doc.get_model_by_name("histogram cut");
    cut.setv({ visible: level !== null, location: level ?? 0 });
  }

  function drawTree() {
    const step = state.level ?? (tree.own === null ? null : tree.ownStep);
    const drawn = { x0: [], y0: [], x1: [], y1: [], tone: [], width: [], alpha: [] };
    const add = (line, y0, y1, label) => {
      drawn.x0.push(line.x0);
      drawn.x1.push(line.x1);
      drawn.y0.push(y0);
      drawn.y1.push(y1);
      drawn.tone.push(toneOf(label));
      drawn.width.push(1.5 + 8 * Math.sqrt(line.share));
      drawn.alpha.push(label < 0 ? 0.55 : 0.95);
    };
    for (const line of tree.lines) {
      if (state.level === null) add(line, line.y0, line.y1, Math.max(line.label, -1));
      else if (line.y1 <= step) add(line, line.y0, line.y1, -1);
      else {
        if (line.y0 < step) add(line, line.y0, step, -1);
        add(line, Math.max(line.y0, step), line.y1, current.nodes[line.peak]);
      }
    }
    views.tree.source.data = drawn;
    const cut = views.tree.doc.get_model_by_name("tree cut");
    cut.setv({ visible: step !== null, location: step ?? 0 });
  }

  async function embed(name) {
    await Bokeh.embed.embed_item(figures[name], byId(name));
    const doc = Bokeh.documents[Bokeh.documents.length - 1];
    const find = (what) => doc.get_model_by_name(what);
    const source = find({ points: "points", histogram: "bars", tree: "lines" }[name]);
    views[name] = { doc, source, figure: find(`${name} figure`) };
  }

  // Colours of lines and letters, as the page's own
  function paint() {
    const style = getComputedStyle(document.documentElement);
    const [ink, soft, line, mark] = ["ink", "soft", "line", "mark"].map((name) =>
      style.getPropertyValue(`--${name}`).trim(),
    );
    for (const { figure } of Object.values(views)) {
      for (const axis of [...figure.below, ...figure.left]) {
        axis.setv({
          axis_label_text_color: ink,
          axis_label_text_font_style: "normal",
          major_label_text_color: soft,
          axis_line_color: line,
          major_tick_line_color: line,
          minor_tick_line_color: null,
        });
      }
      for (const grid of figure.center) {
        if ("grid_line_color" in grid) grid.setv({ grid_line_color: line, grid_line_alpha: 0.6 });
      }
    }
    const ring = views.points.doc.get_model_by_name("ring glyph").glyph;
    ring.line_color = { value: mark };
    views.histogram.doc.get_model_by_name("histogram cut").line_color = mark;
    if (!tree) return;
    views.tree.doc.get_model_by_name("tree cut").line_color = mark;
    const split = views.tree.doc.get_model_by_name("split glyph").glyph;
    split.setv({ fill_color: { value: ink }, line_color: { value: style.getPropertyValue("--card").trim() } });
  }

  // One row, shown everywhere

  function valuesOf(i) {
    return axes.slice(0, data.features).map(({ name, values }) => [name, short(values[i], 7)]);
  }

  function show(i) {
    for (const row of document.querySelectorAll("tr[data-place]")) {
      row.classList.toggle("on", Number(row.dataset.place) === i);
    }
    const ring = views.points.doc.get_model_by_name("ring");
    const point = byId("point");
    if (i < 0) {
      if (ring.data.x.length) ring.data = { x: [], y: [] };
      point.replaceChildren(element("p", { text: "Point at a row to read it here." }));
      return;
    }
    ring.data = { x: [axes[state.across].values[i]], y: [axes[state.up].values[i]] };
    const facts = [
      ...(data.isDetector ? [] : [["cluster", labelName(current.labels[i])]]),
      ["membership", short(numbers.membership[i])],
      ...(typicality ? [["typicality", short(typicality[i])]] : []),
      ["outlier rank", `${whole(numbers.outlierRank[i])} of ${whole(data.n)}`],
      ...(data.isDetector ? [] : [["overlap score", short(numbers.overlapScore[i])]]),
      ...valuesOf(i),
    ];
    const lines = facts.map(([name, value]) =>
      element("tr", {}, element("td", { text: name }), element("td", { text: value })),
    );
    point.replaceChildren(element("h3", { text: `Row ${data.ids[i]}` }), element("table", {}, ...lines));
  }

  function fillTable(id, places, scoreName, score, rank) {
    const table = byId(id);
    if (!table) return;
    const names = axes.slice(0, Math.min(COLUMNS, data.features)).map(({ name }) => name);
    const head = ["rank", "row", "cluster", scoreName, ...names];
    const isName = (k) => (k === 1 || k === 2 ? "name" : "");
    const isCluster = (k) => k === 2 && data.isDetector; // which has none
    const headings = head
      .map((text, k) => element("th", { text, scope: "col", title: text, className: isName(k) }))
      .filter((_, k) => !isCluster(k));
    const rows = places.map((i) => {
      const row = element("tr", { tabindex: "0", "data-place": i });
      const cells = [whole(rank[i]), data.ids[i], "", short(score[i]), ...valuesOf(i).slice(0, COLUMNS).map(([, value]) => value)];
      cells.forEach((text, k) => {
        if (!isCluster(k)) row.append(element("td", { text, title: text, className: isName(k) }));
      });
      row.addEventListener("pointerenter", () => show(i));
      row.addEventListener("pointerleave", () => show(pinned));
      row.addEventListener("focus", () => show((pinned = i)));
      return row;
    });
    table.replaceChildren(element("thead", {}, element("tr", {}, ...headings)), element("tbody", {}, ...rows));
  }

  function labelTables() {
    if (data.isDetector) return;
    for (const row of document.querySelectorAll("tr[data-place]")) {
      const label = current.labels[Number(row.dataset.place)];
      if (row.dataset.label === String(label)) continue;
      row.dataset.label = label;
      const swatch = element("span", { className: "swatch" });
      swatch.style.background = colourOf(label);
      row.cells[2].replaceChildren(swatch, labelName(label));
    }
  }

  // What readers do

  let waiting = false;

  function update() {
    relabel();
    describe();
    // drawing takes longer than the slider's next event may be away
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      drawPoints();
      legend();
      labelTables();
      if (tree) {
        drawTree();
        drawHistogram();
      }
      show(pinned);
    });
  }

  function listen() {
    if (tree) {
      byId("alpha").addEventListener("input", (event) => {
        state.level = Number(event.target.value);
        update();
      });
      byId("own").addEventListener("click", () => {
        state.level = null;
        update();
      });
    }
    byId("rejected").addEventListener("input", (event) => {
      state.rejected = Number(event.target.value);
      update();
    });
    for (const name of ["across", "up"]) {
      const select = byId(name);
      select.append(...axes.map((axis, k) => element("option", { text: axis.name, value: k })));
      select.value = String(state[name]);
      select.addEventListener("change", () => {
        state[name] = Number(select.value);
        drawPoints();
        frame(usualRange);
        show(pinned);
      });
    }
    const keys = {
      ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1],
      "+": [0, 0, 0.8], "=": [0, 0, 0.8], "-": [0, 0, 1.25],
    };
    byId("everything").addEventListener("click", () => frame(range));
    const plot = byId("points");
    plot.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "0") frame(range);
      else if (event.key in keys) move(...keys[event.key]);
      else return;
      event.preventDefault();
    });
    listenToPoints(plot);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
    new ResizeObserver(() => setTimeout(() => frame(usualRange), 50)).observe(plot);
  }

  function listenToPoints(plot) {
    const tip = byId("tip");
    const { source, figure } = views.points;
    plot.addEventListener("pointermove", (event) => {
      const right = event.clientX > innerWidth / 2;
      tip.style.left = right ? "auto" : `${event.clientX + 14}px`;
      tip.style.right = right ? `${innerWidth - event.clientX + 14}px` : "auto";
      tip.style.top = `${event.clientY + 14}px`;
    });
    plot.addEventListener("pointerleave", () => {
      tip.hidden = true;
      show(pinned);
    });
    let hovered = -1;
    source.inspect.connect(() => {
      const [i = -1] = source.inspected.indices;
      if (i === hovered) return;
      hovered = i;
      tip.hidden = i < 0;
      if (i >= 0) {
        const label = data.isDetector ? "" : ` ${labelName(current.labels[i])},`;
        tip.textContent = `Row ${data.ids[i]}:${label} outlier rank ${whole(numbers.outlierRank[i])}`;
      }
      show(i < 0 ? pinned : i);
    });
    source.selected.properties.indices.change.connect(() => {
      const [i = -1] = source.selected.indices;
      show((pinned = i));
    });
    // a finger scrolls the page; it moves the picture only when that tool is chosen
    if (matchMedia("(pointer: coarse)").matches) figure.toolbar.gestures.pan.active = null;
  }

  async function start() {
    Bokeh.set_log_level("error");
    for (const name of Object.keys(figures)) await embed(name);
    if (tree) {
      const splits = tree.lines.filter((line) => line.isSplit);
      views.tree.doc.get_model_by_name("splits").data = {
        x: splits.map((line) => (line.x0 + line.x1) / 2),
        y: splits.map((line) => line.y0),
      };
    }
    views.histogram.figure.below[0].axis_label = data.histogram.name;
    paint();
    fillTable("outliers-table", data.tables.outliers, "outlier score", numbers.outlierScore, numbers.outlierRank);
    fillTable("overlaps-table", data.tables.overlaps, "overlap score", numbers.overlapScore, numbers.overlapRank);
    drawHistogram();
    listen();
    frame(usualRange);
    update();
  }

  // For tests and for the curious: what the page shows at this moment.
  window.softkernReport = {
    rows: numbers.rows,
    levels: tree ? tree.levels : [],
    state,
    labels: () => Array.from(current.labels),
    tree: tree && tree.flat,
    ready: start().then(() => true, (error) => {
      const trouble = byId("trouble");
      trouble.textContent = `The pictures could not be drawn: ${error.message}`;
      trouble.hidden = false;
      throw error;
    }),
  };
})();
