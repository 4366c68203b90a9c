// The unpacked data of the page, and text formatting. Values from the data enter the document as
// text, never as HTML.

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("report-data").textContent);
const figures = JSON.parse(byId("report-figures").textContent);

const KINDS = {
  float32: Float32Array, float64: Float64Array, int32: Int32Array, uint16: Uint16Array, uint8: Uint8Array,
};

function unpack(item) {
  const text = atob(item.bytes);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new KINDS[item.type](bytes.buffer);
}

const numbers = Object.fromEntries(
  ["rows", "sampled", "labels", "membership", "outlierScore", "outlierRank", "overlapScore", "overlapRank"]
    .map((name) => [name, unpack(data[name])]),
);
const count = numbers.rows.length; // of drawn rows

const axes = data.axes.map(({ name, base, unit, values, isDate = false }) => ({
  name,
  isDate,
  values: Float64Array.from(unpack(values), (value) => value * unit + base),
}));
const typicality = data.typicality && unpack(data.typicality);
const scores = { "outlier score": numbers.outlierScore, membership: numbers.membership, typicality };
for (const [name, values] of Object.entries(scores)) {
  if (values) axes.push({ name, values: Float64Array.from(values) });
}
const known = data.known.map((column) => ({ ...column, codes: unpack(column.codes) }));

let tree = null;
if (data.tree) {
  const arrays = { ...data.tree };
  for (const name of ["order", "gaps", "rank", "above", "weight", "rows", "node", "steps", "parts"]) {
    arrays[name] = arrays[name] && unpack(arrays[name]);
  }
  tree = { ...arrays, flat: new FlatTree(arrays) };
}

// Text

const whole = (value) => value.toLocaleString("en");
const short = (value, digits = 5) => {
  if (Number.isNaN(value)) return "–";
  return Number.isFinite(value) ? String(Number(value.toPrecision(digits))) : "∞";
};
const percent = (part) => `${short(Number((100 * part).toPrecision(2)))} %`;
const plural = (number, word) => `${whole(number)} ${word}${number === 1 ? "" : "s"}`;

// Small pieces of the document

function element(name, { text, className, ...attributes } = {}, ...children) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function download(name, blob) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const fileName = (ending) =>
  `${document.title.replace(/[^\p{L}\p{N}]+/gu, "_").slice(0, 60) || "report"}_${ending}`;
