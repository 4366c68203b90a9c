// What the reader has chosen, and the clusters that follow from it: the model's own, those of a
// level of the alpha tree, or as many as were asked for.

const { colours, neutral, markers, scale } = data.style;
const NEUTRAL = colours.length; // its number among the tones; those of the scale follow

const state = {
  level: null, // a step of the alpha slider
  number: null, // a step of the slider by number of clusters, which chooses the level
  rejected: data.rejection.start,
  across: data.start[0],
  up: data.start[1],
  logarithmic: { across: false, up: false },
  colour: "", // the clusters; or "axis 3", "known 0"
  hidden: new Set(), // labels
};
const own = { labels: numbers.labels, sizes: data.sizes, noise: data.noise, nodes: null };
const current = { ...own };

function relabel() {
  if (state.level === null) {
    Object.assign(current, own);
    return;
  }
  const k = state.level;
  const { labels: nodes, sizes } = tree.flat.cut(k);
  const kept = state.number === null ? null : withoutSmall(sizes, tree.least);
  const nameOf = (label) => (label < 0 || !kept ? label : kept.names[label]);
  const labels = new Int32Array(count);
  for (let i = 0; i < count; i++) labels[i] = tree.steps[i] > k ? nameOf(nodes[tree.node[i]]) : -1;
  Object.assign(current, {
    labels,
    sizes: kept ? kept.sizes : sizes,
    noise: tree.noise[k] + (kept ? kept.lost : 0),
    nodes: kept ? nodes.map(nameOf) : nodes,
  });
}

// New numbers for the clusters that are large enough, −1 for the others.
function withoutSmall(sizes, least) {
  const names = new Int32Array(sizes.length).fill(-1);
  const large = [];
  let lost = 0;
  sizes.forEach((size, label) => {
    if (size >= least) names[label] = large.push(size) - 1;
    else lost += size;
  });
  return { names, sizes: large, lost };
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

// exact, so that it can be given to the model; save for the model's own, which has many digits
const levelName = (k) =>
  `level ${k === tree.ownStep ? `${short(tree.levels[k])}, the model’s own` : tree.levels[k]}`;

// The marks of clusters, or of values of a column
const toneOf = (label) => (label < 0 ? NEUTRAL : label % colours.length);
const colourOf = (label) => (label < 0 ? neutral : colours[toneOf(label)]);
const markerOf = (label) => (label < 0 ? "x" : markers[label % markers.length]);

function describe() {
  const rejected = data.rejection.counts[state.rejected];
  const share = rejected ? `${percent(rejected / data.n)}: ${plural(rejected, "row")}` : "rows: none";
  const parts = [];
  if (!data.isDetector) {
    let lead = state.level === null ? "The model’s own clusters" : `Cut at ${levelName(state.level)}`;
    if (state.number !== null) lead += `, pieces of ${plural(tree.least, "row")} and more`;
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
  if (tree) describeCut();
}

function describeCut() {
  const level = state.level === null ? "a level" : levelName(state.level);
  byId("alpha-value").textContent = level;
  byId("alpha").setAttribute("aria-valuetext", state.level === null ? "no cut" : level);
  byId("own").setAttribute("aria-pressed", String(state.level === null));
  if (!byId("number")) return;
  const asked = state.number === null ? "a number of clusters" : plural(tree.numbers[state.number].clusters, "cluster");
  byId("number-value").textContent = asked;
  byId("number").setAttribute("aria-valuetext", state.number === null ? "none asked for" : asked);
}
