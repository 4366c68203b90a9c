// Labels at each level of the density tree, as AlphaTree.labels_at computes them. tree.py
// describes the arrays.
"use strict";

class FlatTree {
  // order: points in a row; gaps: for each neighboring pair, how many levels are below its
  // saddle; rank: of each point's height, equal heights alike; above[k]: the first rank whose
  // height is over level k; weight, rows: of each point, null where all are one.
  constructor({ order, gaps, rank, above, weight, rows }) {
    Object.assign(this, { order, gaps, rank, above, weight, rows });
    const n = order.length;
    this.component = new Int32Array(n);
    this.mass = new Float64Array(n);
    this.peak = new Int32Array(n);
    this.size = new Float64Array(n);
    this.labels = new Int32Array(n);
  }

  // Labels of all points at level k, −1 for noise, and each cluster's number of rows.
  cut(k) {
    const { order, gaps, rank, component, mass, peak, size, labels } = this;
    const n = order.length;
    const first = this.above[k];
    let count = 0;
    for (let place = 0; place < n; place++) {
      if (place > 0 && gaps[place - 1] <= k) count++;
      component[order[place]] = count;
    }
    const seen = new Int32Array(count + 1).fill(-1);
    // In the order of the points, so that sums and ties equal those of NumPy.
    const smallest = new Int32Array(count + 1).fill(-1);
    let parts = 0;
    for (let v = 0; v < n; v++) {
      const c = component[v];
      if (smallest[c] < 0) smallest[c] = v;
      if (rank[v] < first) continue;
      if (seen[c] < 0) {
        seen[c] = parts;
        mass[parts] = size[parts] = 0;
        peak[parts] = -1;
        parts++;
      }
      const part = seen[c];
      mass[part] += this.weight ? this.weight[v] : 1;
      size[part] += this.rows ? this.rows[v] : 1;
      if (rank[v] > peak[part]) peak[part] = rank[v];
    }
    const name = this.#numbers(parts, seen, smallest);
    const sizes = new Float64Array(parts);
    for (let part = 0; part < parts; part++) sizes[name[part]] = size[part];
    for (let v = 0; v < n; v++) labels[v] = rank[v] < first ? -1 : name[seen[component[v]]];
    return { labels, sizes };
  }

  // Numbers by decreasing mass, then decreasing peak, then the first point: three stable sorts
  // by counting, the last key first, because at a high level there are as many parts as points.
  #numbers(parts, seen, smallest) {
    const firsts = new Int32Array(parts);
    for (let c = 0; c < seen.length; c++) if (seen[c] >= 0) firsts[seen[c]] = smallest[c];
    const byFirst = new Int32Array(this.order.length).fill(-1);
    for (let part = 0; part < parts; part++) byFirst[firsts[part]] = part;
    let sorted = byFirst.filter((part) => part >= 0);

    const ranks = this.order.length;
    sorted = countingSort(sorted, ranks, (part) => ranks - 1 - this.peak[part]);

    const rounded = new Float64Array(parts);
    for (let part = 0; part < parts; part++) rounded[part] = roundEven(this.mass[part] * 1e9);
    const place = new Map();
    for (const value of rounded.slice().sort().reverse()) {
      if (!place.has(value)) place.set(value, place.size);
    }
    sorted = countingSort(sorted, place.size, (part) => place.get(rounded[part]));

    const name = new Int32Array(parts);
    for (let number = 0; number < parts; number++) name[sorted[number]] = number;
    return name;
  }
}

// Round half to even, as NumPy does.
function roundEven(value) {
  const down = Math.floor(value);
  if (value - down !== 0.5) return Math.round(value);
  return down % 2 === 0 ? down : down + 1;
}

function countingSort(items, keys, key) {
  const start = new Int32Array(keys + 1);
  for (const item of items) start[key(item) + 1]++;
  for (let k = 0; k < keys; k++) start[k + 1] += start[k];
  const sorted = new Int32Array(items.length);
  for (const item of items) sorted[start[key(item)]++] = item;
  return sorted;
}
