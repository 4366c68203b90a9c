// The reader's choices, and the resulting clusters: the model's, those of a level of the density
// tree, or a given number of clusters.

const { colors, neutral, markers, scale } = data.style;
const NEUTRAL = colors.length; // index of the neutral tone, followed by those of the color scale

const state = {
  level: null, // a step of the alpha slider
  number: null, // a step of the slider by number of clusters; then no level is chosen
  rejected: data.rejection.start,
  across: data.start[0],
  up: data.start[1],
  logarithmic: { across: false, up: false },
  color: "", // the clusters; or "axis 3", "known 0"
  hidden: new Set(), // labels
};
const own = { labels: numbers.labels, sizes: data.sizes, noise: data.noise, nodes: null };
const current = { ...own };

function relabel() {
  if (state.number !== null) Object.assign(current, ofNumber(tree.numbers[state.number]));
  else if (state.level !== null) Object.assign(current, ofLevel(state.level));
  else Object.assign(current, own);
}

function ofLevel(k) {
  const { labels: nodes, sizes } = tree.flat.cut(k);
  const labels = new Int32Array(count);
  for (let i = 0; i < count; i++) labels[i] = tree.steps[i] > k ? nodes[tree.node[i]] : -1;
  return { labels, sizes, noise: tree.noise[k], nodes };
}

// Pieces that are too small are in no cluster.
function ofNumber({ names, sizes }) {
  const labels = Int32Array.from(tree.parts, (part) => names[part]);
  const inside = sizes.reduce((sum, size) => sum + size, 0);
  return { labels, sizes, noise: data.n - inside, nodes: null };
}

const clusterCount = () => {
  let found = 0;
  for (const size of current.sizes) if (size > 0) found++;
  return found;
};

const isRejected = (i) => numbers.outlierRank[i] <= data.rejection.cutoffs[state.rejected];

function labelName(label) {
  if (label < 0) return "no cluster";
  return data.isDetector ? "all rows" : `cluster ${label}`;
}

// exact, so that it can be given to the model, except the model's level, which has many digits
const levelName = (k) =>
  `level ${k === tree.ownStep ? `${short(tree.levels[k])}, the model’s own` : tree.levels[k]}`;

// Markers of clusters, or of the values of a column
const toneOf = (label) => (label < 0 ? NEUTRAL : label % colors.length);
const colorOf = (label) => (label < 0 ? neutral : colors[toneOf(label)]);
const markerOf = (label) => (label < 0 ? "x" : markers[label % markers.length]);

function chosenCut() {
  if (state.number !== null) return "Chosen number of clusters";
  return state.level === null ? "The model’s clusters" : `Cut at ${levelName(state.level)}`;
}

function describe() {
  const rejected = data.rejection.counts[state.rejected];
  const share = rejected ? `${percent(rejected / data.n)}: ${plural(rejected, "row")}` : "rows: none";
  const parts = [];
  if (!data.isDetector) {
    parts.push(`${chosenCut()}: ${plural(clusterCount(), "cluster")}`);
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
  if (tree) describeCut();
}

function describeCut() {
  const level = state.level === null ? "a level" : levelName(state.level);
  byId("alpha-value").textContent = level;
  byId("alpha").setAttribute("aria-valuetext", state.level === null ? "no cut" : level);
  const isOwn = state.level === null && state.number === null;
  byId("own").setAttribute("aria-pressed", String(isOwn));
  for (const note of document.querySelectorAll(".of-own")) note.hidden = isOwn;
  if (!byId("number")) return;
  const wanted = state.number === null ? "a number of clusters" : plural(tree.numbers[state.number].sizes.length, "cluster");
  byId("number-value").textContent = wanted;
  byId("number").setAttribute("aria-valuetext", state.number === null ? "none chosen" : wanted);
}
