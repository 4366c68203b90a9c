// Event handlers, and the start.

const REST = 80; // milliseconds after which a slider counts as resting
let waiting = false;
let resting = 0;

function update() {
  relabel();
  describe();
  // drawing may take longer than the interval between slider events
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    drawPoints();
    legend();
    if (tree) {
      drawTree();
      drawHistogram();
    }
    if (pinned >= 0) show(pinned);
    clearTimeout(resting);
    resting = setTimeout(labelTables, REST);
  });
}

function listenToSliders() {
  const choose = (change) => {
    // the numbers now refer to other clusters
    state.hidden.clear();
    Object.assign(state, change);
    update();
  };
  if (tree) {
    byId("alpha").addEventListener("input", (event) => choose({ level: Number(event.target.value), number: null }));
    byId("own").addEventListener("click", () => choose({ level: null, number: null }));
    byId("number")?.addEventListener("input", (event) => choose({ level: null, number: Number(event.target.value) }));
  }
  byId("rejected").addEventListener("input", (event) => {
    state.rejected = Number(event.target.value);
    update();
  });
}

function listenToAxes() {
  for (const name of ["across", "up"]) {
    const select = byId(name);
    select.append(...axes.map((axis, k) => element("option", { text: axis.name, value: k })));
    select.addEventListener("change", () => showAxes({ [name]: Number(select.value) }));
    byId(`log-${name}`).addEventListener("change", (event) => {
      state.logarithmic[name] = event.target.checked;
      showAxes({});
    });
  }
  const view = byId("view");
  if (view) {
    view.append(element("option", { text: "two columns of your choice", value: "" }));
    view.append(...data.views.map(({ name }, k) => element("option", { text: name, value: k })));
    view.addEventListener("change", () => {
      const [across, up] = view.value === "" ? [0, Math.min(1, axes.length - 1)] : data.views[view.value].axes;
      showAxes({ across, up });
    });
  }
  offerColors();
}

function showAxes(change) {
  for (const name of Object.keys(change)) state.logarithmic[name] = false;
  Object.assign(state, change);
  const found = data.views.findIndex(({ axes: [across, up] }) => across === state.across && up === state.up);
  for (const name of ["across", "up"]) {
    byId(name).value = String(state[name]);
    const check = byId(`log-${name}`);
    check.checked = state.logarithmic[name];
    check.disabled = axes[state[name]].isDate || !axes[state[name]].values.some((value) => value > 0);
  }
  if (byId("view")) {
    byId("view").value = found < 0 ? "" : String(found);
    byId("view-help").textContent = found < 0 ? "" : `${data.views[found].help}.`;
    byId("view-help").hidden = found < 0;
  }
  drawPoints();
  frame(usualRange);
  show(pinned);
}

function listenToKeys(plot) {
  const keys = {
    ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1],
    "+": [0, 0, 0.8], "=": [0, 0, 0.8], "-": [0, 0, 1.25],
  };
  plot.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "0") frame(range);
    else if (event.key === "Home") frame(usualRange);
    else if (event.key in keys) move(...keys[event.key]);
    else return;
    event.preventDefault();
  });
  // the wheel scrolls the page until the chart is clicked
  const wheel = views.points.doc.get_model_by_name("wheel");
  plot.addEventListener("pointerdown", () => plot.focus({ preventScroll: true }));
  plot.addEventListener("focusin", () => (wheel.active = true));
  plot.addEventListener("focusout", () => (wheel.active = false));
}

function listenToPoints(plot) {
  const tip = byId("tip");
  const { source, figure, doc } = views.points;
  const far = doc.get_model_by_name("far");
  plot.addEventListener("pointermove", (event) => {
    const right = event.clientX > innerWidth / 2;
    tip.style.left = right ? "auto" : `${event.clientX + 14}px`;
    tip.style.right = right ? `${innerWidth - event.clientX + 14}px` : "auto";
    tip.style.top = `${event.clientY + 14}px`;
  });
  const hovered = { near: -1, far: -1 };
  const point = (kind, i, text) => {
    if (i === hovered[kind]) return;
    hovered[kind] = i;
    const shown = Math.max(hovered.near, hovered.far);
    tip.hidden = shown < 0;
    if (i >= 0) tip.textContent = text(i);
    show(shown < 0 ? pinned : shown);
  };
  plot.addEventListener("pointerleave", () => {
    hovered.near = hovered.far = -1;
    tip.hidden = true;
    show(pinned);
  });
  source.inspect.connect(() => point("near", source.inspected.indices[0] ?? -1, tipOf));
  far.inspect.connect(() => {
    const [k] = far.inspected.indices;
    point("far", k === undefined ? -1 : far.data.place[k], farTipOf);
  });
  source.selected.properties.indices.change.connect(() => {
    const [i = -1] = source.selected.indices;
    show((pinned = i));
  });
  far.selected.properties.indices.change.connect(() => {
    const [k] = far.selected.indices;
    if (k === undefined) return;
    pinned = far.data.place[k];
    far.selected.indices = [];
    widenTo(pinned);
    show(pinned);
  });
  // touch scrolls the page, and pans the chart only with that tool
  if (matchMedia("(pointer: coarse)").matches) figure.toolbar.gestures.pan.active = null;
}

function tipOf(i) {
  const label = data.isDetector ? "" : ` ${labelName(current.labels[i])},`;
  const column = colored();
  let value = "";
  if (column.kind === "axis") value = `, ${column.name} ${formatValue(column, column.values[i])}`;
  if (column.kind === "known") {
    const code = column.codes[i];
    value = `, ${column.name} ${code === MISSING ? "empty" : (column.values[code] ?? "a rarer value")}`;
  }
  return `Row ${data.ids[i]}:${label} outlier rank ${whole(numbers.outlierRank[i])}${value}`;
}

function farTipOf(i) {
  const [across, up] = sides(i);
  const where = [...(across ? [state.across] : []), ...(up ? [state.up] : [])]
    .map((axis) => `${axes[axis].name} ${formatValue(axes[axis], axes[axis].values[i])}`);
  if (!hasPlace(i)) return `Row ${data.ids[i]}: ${where.join(", ")}; it has no logarithm.`;
  return `Row ${data.ids[i]}, far outside: ${where.join(", ")}. Click to widen the view to it.`;
}

function listen() {
  const plot = byId("points");
  listenToSliders();
  listenToAxes();
  listenToLegend();
  listenToKeys(plot);
  listenToPoints(plot);
  listenToFrame();
  listenToPrinter();
  byId("everything").addEventListener("click", () => frame(range));
  byId("most").addEventListener("click", () => frame(usualRange));
  byId("save").addEventListener("click", savePicture);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  new ResizeObserver(() => setTimeout(frame, 50)).observe(plot);
}

async function start() {
  Bokeh.set_log_level("error");
  for (const name of Object.keys(figures)) await embed(name);
  if (tree) drawSplits();
  views.histogram.figure.below[0].axis_label = data.histogram.name;
  paint();
  fillTable("outliers");
  fillTable("overlaps");
  markClusters();
  drawHistogram();
  listen();
  showAxes({});
  update();
  labelTables();
}

// For tests: the current state of the page.
window.softkernReport = {
  rows: numbers.rows,
  levels: tree ? tree.levels : [],
  numbers: tree ? tree.numbers : [],
  state,
  labels: () => Array.from(current.labels),
  places: () => ({ x: drawn.x, y: drawn.y }),
  tree: tree && tree.flat,
  csv: (name) => csv(columnsOf(name), shownPlaces(byId(`${name}-table`))),
  picture: () => pictureCanvas().toDataURL("image/png"),
  ready: start().then(() => true, (error) => {
    const trouble = byId("trouble");
    trouble.textContent = `The charts could not be drawn: ${error.message}`;
    trouble.hidden = false;
    throw error;
  }),
};
