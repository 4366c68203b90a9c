// The list of clusters with their counts, which add up to all rows. A click hides a cluster. A
// double click, or a click with Alt, isolates it, and a second one shows all.

const LISTED = 60; // clusters
const SVG = "http://www.w3.org/2000/svg";

const SHAPES = {
  circle: "M8 2a6 6 0 1 0 .01 0z",
  square: "M3 3h10v10H3z",
  triangle: "M8 2l6.5 11.5h-13z",
  diamond: "M8 1l5 7-5 7-5-7z",
  inverted_triangle: "M8 14L1.5 2.5h13z",
  plus: "M6 2h4v4h4v4h-4v4H6v-4H2V6h4z",
  star: "M8 1l1.9 4.8 5.1.3-4 3.2 1.3 5L8 11.5l-4.3 2.8 1.3-5-4-3.2 5.1-.3z",
  x: "M3 3l10 10M13 3L3 13",
};

function sign(label, { hollow = false, color = colorOf(label) } = {}) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", SHAPES[hollow ? "circle" : markerOf(label)]);
  path.setAttribute("fill", hollow ? "none" : color);
  path.setAttribute("stroke", color);
  path.setAttribute("stroke-width", hollow || label < 0 ? "2" : "1");
  svg.append(path);
  return svg;
}

// Entries with their row counts: single clusters, the smaller ones together, noise.
function groups() {
  const found = [];
  const rest = { labels: [], rows: 0 };
  current.sizes.forEach((size, label) => {
    if (!size) return;
    if (found.length < LISTED) found.push({ name: labelName(label), labels: [label], rows: size });
    else {
      rest.labels.push(label);
      rest.rows += size;
    }
  });
  if (rest.labels.length) found.push({ name: plural(rest.labels.length, "smaller cluster"), ...rest });
  if (current.noise) found.push({ name: labelName(-1), labels: [-1], rows: current.noise });
  return found;
}

function legend() {
  colorKey();
  const isKey = colored().kind === "clusters";
  const isShape = colored().kind !== "known";
  const listed = groups();
  const rejected = data.rejection.counts[state.rejected];
  const entries = listed.map((group) => {
    const mark = group.labels.length > 1 ? "…" : sign(group.labels[0], isKey ? {} : { color: neutral });
    const button = element(
      "button",
      {
        type: "button",
        "aria-pressed": String(!isHidden(group)),
        "aria-label": `${group.name}, ${plural(group.rows, "row")}`,
        title: "click: hide; double click: alone",
      },
      ...(isShape ? [mark] : []), element("span", { className: "of", text: group.name }),
      element("span", { className: "count", text: whole(group.rows) }),
    );
    button.dataset.label = group.labels[0];
    return element("li", {}, button);
  });
  if (listed.length > 1) entries.push(element("li", { className: "sum" }, ...line("all rows", data.n)));
  if (rejected) entries.push(element("li", { className: "part" }, sign(-1, { hollow: true }), ...line("of these rejected", rejected)));
  byId("legend").replaceChildren(...entries);
  byId("legend-help").hidden = listed.length < 2;
}

const line = (name, number) => [
  element("span", { className: "of", text: name }), element("span", { className: "count", text: whole(number) }),
];

const isHidden = (group) => group.labels.every((label) => state.hidden.has(label));

function toggle(group) {
  const change = isHidden(group) ? "delete" : "add";
  for (const label of group.labels) state.hidden[change](label);
}

function isolate(group) {
  const others = groups().filter(({ labels }) => labels[0] !== group.labels[0]);
  const isAlone = !isHidden(group) && others.every(isHidden);
  state.hidden.clear();
  if (!isAlone) for (const { labels } of others) for (const label of labels) state.hidden.add(label);
}

function listenToLegend() {
  const act = (event, change) => {
    const button = event.target.closest("button");
    if (!button) return;
    change(groups().find(({ labels }) => labels[0] === Number(button.dataset.label)));
    drawPoints();
    // keep the buttons, or a double click would hit another one
    const all = groups();
    for (const one of byId("legend").querySelectorAll("button")) {
      const shown = all.find(({ labels }) => labels[0] === Number(one.dataset.label));
      one.setAttribute("aria-pressed", String(!isHidden(shown)));
    }
  };
  byId("legend").addEventListener("click", (event) => act(event, event.altKey ? isolate : toggle));
  byId("legend").addEventListener("keydown", (event) => {
    if (!event.altKey || event.key !== "Enter") return;
    event.preventDefault();
    act(event, isolate);
  });
  // its two clicks have hidden the cluster and shown it again
  byId("legend").addEventListener("dblclick", (event) => act(event, isolate));
}
