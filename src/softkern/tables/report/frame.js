// The visible part of the chart: at first the inner 98 % of the rows and what is near them. Arrows
// at the edge mark rows farther out. A click on one widens the view to it.

const NEAR = 0.5; // distance of further rows in the first view, as a share of the inner rows' range
const MARGIN = 0.05; // around the rows, as a share of the range
const TICKS = 7; // minimum on a logarithmic axis, with finer steps if whole powers are fewer
const MOST_TICKS = 6; // about, on a linear axis
const LETTER = 7; // width in pixels
let chosenFrame = usualRange; // the reader's last choice
let farRows = []; // outside the first view

const LOWEST = Number.NEGATIVE_INFINITY;

// Positions along an axis. Values without a logarithm are below all others.
function placesOf(name) {
  const { values } = axes[state[name]];
  if (!state.logarithmic[name]) return values;
  return values.map((value) => (value > 0 ? Math.log10(value) : Number.isNaN(value) ? NaN : LOWEST));
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

function usualRange(values) {
  const [low, high] = innerEnds(values);
  if (!(high > low)) return range(values);
  const reach = NEAR * (high - low);
  return range(values.filter((value) => value >= low - reach && value <= high + reach));
}

// Axes of similar ranges share one scale, so that shapes are true.
function frame(choose = chosenFrame) {
  chosenFrame = choose;
  const { figure } = views.points;
  const { x, y } = drawn;
  const ranges = [choose(x), choose(y)];
  const spans = ranges.map(([low, high]) => (high - low) * (1 + 2 * MARGIN));
  const pixels = [figure.inner_width || 600, figure.inner_height || 500];
  if (Math.max(...spans) < 3 * Math.min(...spans)) {
    const unit = Math.max(spans[0] / pixels[0], spans[1] / pixels[1]);
    spans[0] = unit * pixels[0];
    spans[1] = unit * pixels[1];
  }
  [figure.x_range, figure.y_range].forEach((axis, k) => {
    const middle = (ranges[k][0] + ranges[k][1]) / 2;
    const [start, end] = [middle - spans[k] / 2, middle + spans[k] / 2];
    axis.setv({ start, end, reset_start: start, reset_end: end });
  });
  if (choose === usualRange) farRows = outsideRows();
  const reachable = farRows.filter(hasPlace).length;
  byId("everything").hidden = choose !== usualRange || reachable === 0;
  byId("everything").textContent = `Show all rows: ${whole(reachable)} far outside`;
  nameAxes();
  markFar();
}

const hasPlace = (i) => drawn.x[i] !== LOWEST && drawn.y[i] !== LOWEST;

function sides(i) {
  const { x_range, y_range } = views.points.figure;
  const side = (value, axis) => (value < axis.start ? -1 : value > axis.end ? 1 : 0);
  return [side(drawn.x[i], x_range), side(drawn.y[i], y_range)];
}

function outsideRows() {
  const found = [];
  for (let i = 0; i < count; i++) {
    const [across, up] = sides(i);
    if (across || up) found.push(i);
  }
  return found;
}

// Arrows at the edge for the far rows that are not in view.
function markFar() {
  const { figure, doc } = views.points;
  const { x_range, y_range } = figure;
  const clip = (value, axis, pixels) => {
    const inset = (11 * (axis.end - axis.start)) / (pixels || 500);
    return Math.min(Math.max(value, axis.start + inset), axis.end - inset);
  };
  const arrows = { x: [], y: [], angle: [], tone: [], place: [] };
  for (const i of farRows) {
    const [across, up] = sides(i);
    if ((!across && !up) || state.hidden.has(current.labels[i])) continue;
    arrows.x.push(clip(drawn.x[i], x_range, figure.inner_width));
    arrows.y.push(clip(drawn.y[i], y_range, figure.inner_height));
    arrows.angle.push(Math.atan2(-across, up));
    arrows.tone.push(drawn.tone[i]);
    arrows.place.push(i);
  }
  const far = doc.get_model_by_name("far");
  if (arrows.x.length || far.data.x.length) far.data = arrows;
}

// The narrowest view that contains the inner rows and this one.
function widenTo(i) {
  const { figure } = views.points;
  [[figure.x_range, drawn.x], [figure.y_range, drawn.y]].forEach(([axis, values]) => {
    const value = values[i];
    if (!Number.isFinite(value)) return;
    const extra = 2 * MARGIN * (Math.max(axis.end, value) - Math.min(axis.start, value));
    if (value < axis.start) axis.start = value - extra;
    if (value > axis.end) axis.end = value + extra;
  });
}

function move(across, up, zoom = 1) {
  const { figure } = views.points;
  [[figure.x_range, across], [figure.y_range, up]].forEach(([axis, share]) => {
    const span = axis.end - axis.start;
    const middle = axis.start + span / 2 + share * span;
    axis.setv({ start: middle - (span * zoom) / 2, end: middle + (span * zoom) / 2 });
  });
}

// Logarithmic axes hold powers of ten. Ticks are labeled with the numbers.

function logarithmicTicks(start, end) {
  const steps = end - start > 2.5 ? [1] : end - start > 0.8 ? [1, 2, 5] : [1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9];
  const every = Math.max(1, Math.ceil((end - start) / TICKS));
  const ticks = new Map();
  for (let power = Math.floor(start); power <= Math.ceil(end); power++) {
    if (power % every) continue;
    for (const step of steps) ticks.set(power + Math.log10(step), short(step * 10 ** power));
  }
  return ticks;
}

// Shorten a name to the available width.
function fitting(text, pixels) {
  const letters = Math.max(12, Math.floor((pixels || 400) / LETTER));
  return text.length > letters ? `${text.slice(0, letters - 1)}…` : text;
}

// Ticks of date and logarithmic axes. Bokeh chooses those of linear axes.
function ownTicks(name, { start, end }, pixels) {
  if (state.logarithmic[name]) return logarithmicTicks(start, end);
  const most = Math.max(2, Math.min(TICKS, (pixels || 400) / (name === "up" ? 40 : 80)));
  return axes[state[name]].isDate ? dateTicks(start, end, most) : new Map();
}

// Number of tick labels that fit along an axis.
function roomForTicks(name, { start, end }, pixels) {
  if (name === "up") return MOST_TICKS;
  const letters = Math.max(short(start, 3).length, short(end, 3).length);
  return Math.max(2, Math.min(MOST_TICKS, Math.floor((pixels || 400) / (LETTER * (letters + 2)))));
}

function nameAxes() {
  const { figure, doc } = views.points;
  const both = [
    ["across", figure.below[0], figure.x_range, figure.inner_width],
    ["up", figure.left[0], figure.y_range, figure.inner_height],
  ];
  for (const [name, axis, shown, pixels] of both) {
    const isLog = state.logarithmic[name];
    const names = ownTicks(name, shown, pixels);
    const kind = doc.get_model_by_name(`${names.size ? "fixed" : "basic"} ticker ${name}`);
    if (names.size) kind.ticks = [...names.keys()];
    else kind.desired_num_ticks = roomForTicks(name, shown, pixels);
    axis.setv({
      axis_label: fitting(`${axes[state[name]].name}${isLog ? " (logarithmic)" : ""}`, pixels),
      ticker: kind,
      major_label_overrides: names,
    });
  }
}

function listenToFrame() {
  const { figure } = views.points;
  let isWaiting = false;
  const follow = () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      if (["across", "up"].some((name) => state.logarithmic[name] || axes[state[name]].isDate)) nameAxes();
      markFar();
    });
  };
  figure.x_range.change.connect(follow);
  figure.y_range.change.connect(follow);
}
