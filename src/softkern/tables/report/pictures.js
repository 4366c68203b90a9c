// The charts: rows, histogram and tree. Empty figures come from figures.py and are filled here
// whenever a choice changes.

const views = {};
const drawn = { x: null, y: null, tone: null }; // in the chart of the rows
const size = Math.max(3.5, Math.min(8, 180 / Math.sqrt(count) + 2));
const FAINTEST = 0.2; // opacity at membership 0
// markers fill different parts of their square
const LARGER = { triangle: 1.3, inverted_triangle: 1.3, diamond: 1.25, plus: 1.25, star: 1.45, square: 0.92 };

async function embed(name) {
  await Bokeh.embed.embed_item(figures[name], byId(name));
  const doc = Bokeh.documents[Bokeh.documents.length - 1];
  const find = (what) => doc.get_model_by_name(what);
  const source = find({ points: "points", histogram: "bars", tree: "lines" }[name]);
  views[name] = { doc, source, figure: find(`${name} figure`) };
}

function drawPoints() {
  const { tone, marker } = marks();
  const isClusters = colored().kind === "clusters";
  paintOpen(isClusters);
  const alpha = new Float32Array(count);
  const line = new Float32Array(count);
  const filled = new Float32Array(count).fill(NaN);
  const open = new Float32Array(count).fill(NaN);
  for (let i = 0; i < count; i++) {
    const label = current.labels[i];
    // colors of a column are easier to read at full opacity
    alpha[i] = isClusters ? FAINTEST + (0.95 - FAINTEST) * numbers.membership[i] : 0.85;
    line[i] = isClusters ? NEUTRAL : tone[i];
    if (state.hidden.has(label)) continue;
    if (isRejected(i)) {
      open[i] = size;
      marker[i] = "circle";
    } else if (label < 0 && isClusters) open[i] = 0.75 * size;
    else {
      if (marker[i] === "x") marker[i] = "circle"; // a cross cannot be filled
      filled[i] = size * (LARGER[marker[i]] ?? 1);
    }
  }
  const [x, y] = [placesOf("across"), placesOf("up")];
  Object.assign(drawn, { x, y, tone });
  views.points.source.data = { x, y, tone, line, alpha, filled, open, marker };
  markFar();
}

// Rejected rows have one color, which draws faster, unless a column is shown.
function paintOpen(isClusters) {
  const { glyph } = views.points.doc.get_model_by_name("open glyph");
  views.points.byColumn ??= glyph.line_color;
  const wanted = isClusters ? { value: neutral } : views.points.byColumn;
  if ("value" in glyph.line_color !== isClusters) glyph.line_color = wanted;
}

// The level drawn as a line: the slider's, or the model's.
function shownLevel() {
  if (state.level !== null) return tree.levels[state.level];
  return tree && state.number === null ? tree.own : null;
}

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
  const step = state.level ?? (shownLevel() === null ? null : tree.ownStep);
  const lines = { x0: [], y0: [], x1: [], y1: [], tone: [], width: [], alpha: [] };
  const add = (line, y0, y1, label) => {
    lines.x0.push(line.x0);
    lines.x1.push(line.x1);
    lines.y0.push(y0);
    lines.y1.push(y1);
    lines.tone.push(toneOf(label));
    lines.width.push(1.5 + 8 * Math.sqrt(line.share));
    lines.alpha.push(label < 0 ? 0.55 : 0.95);
  };
  for (const line of tree.lines) {
    if (state.level === null) add(line, line.y0, line.y1, labelAbove(line));
    else if (line.y1 <= step) add(line, line.y0, line.y1, -1);
    else {
      if (line.y0 < step) add(line, line.y0, step, -1);
      add(line, Math.max(line.y0, step), line.y1, current.nodes[line.peak]);
    }
  }
  views.tree.source.data = lines;
  const cut = views.tree.doc.get_model_by_name("tree cut");
  cut.setv({ visible: step !== null, location: step ?? 0 });
}

// The cluster of all tips above a line of the tree, −1 for several.
function labelAbove({ tips: [first, last] }) {
  const names = state.number === null ? null : tree.numbers[state.number].names;
  const labels = tree.tips.slice(first, last + 1).map(({ own, part }) => (names ? names[part] : own));
  return labels.every((label) => label === labels[0]) ? labels[0] : -1;
}

function drawSplits() {
  const splits = tree.lines.filter((line) => line.is_split && line.x0 !== line.x1); // the bars
  const dots = Math.max(4, Math.min(11, 160 / splits.length));
  views.tree.doc.get_model_by_name("split glyph").glyph.setv({ size: { value: dots }, line_width: { value: dots / 4 } });
  views.tree.doc.get_model_by_name("splits").data = {
    x: splits.map((line) => (line.x0 + line.x1) / 2),
    y: splits.map((line) => line.y0),
  };
}

// Colors of lines and text, from the page's style
function paint() {
  const style = getComputedStyle(document.documentElement);
  const [ink, soft, line, mark, card] = ["ink", "soft", "line", "mark", "card"].map((name) =>
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
  const find = (name, what) => views[name].doc.get_model_by_name(what);
  find("points", "ring glyph").glyph.line_color = { value: mark };
  find("points", "far glyph").glyph.line_color = { value: ink };
  find("histogram", "histogram cut").line_color = mark;
  if (!tree) return;
  find("tree", "tree cut").line_color = mark;
  find("tree", "split glyph").glyph.setv({ fill_color: { value: ink }, line_color: { value: card } });
}
