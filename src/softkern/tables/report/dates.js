// Date columns (days since 1970): formatting, and ticks of their axes.

const DAY = 86400000; // milliseconds

function dateName(day) {
  const moment = new Date(Math.round(day * 1440) * 60000);
  if (Number.isNaN(moment.getTime())) return short(day);
  const text = moment.toISOString().replace("T", " ");
  return text.slice(0, text.endsWith(" 00:00:00.000Z") ? -14 : -8);
}

// Format a value of a column.
const formatValue = ({ isDate }, value, digits) => (isDate && Number.isFinite(value) ? dateName(value) : short(value, digits));

const firstAtLeast = (steps, least) => steps.find((step) => step >= least) ?? Math.ceil(least);

// Whole years, months, days or hours between two days, about `wanted` of them.
function dateTicks(start, end, most) {
  const span = (end - start) / most;
  if (!(span > 0) || !Number.isFinite(new Date(end * DAY).getTime() - new Date(start * DAY).getTime())) return new Map();
  if (span < 25) return evenTicks(start, end, firstAtLeast([1 / 24, 1 / 4, 1 / 2, 1, 2, 5, 10, 20], span));
  const months = span < 300 ? firstAtLeast([1, 2, 3, 6, 12], span / 30) : 12 * firstAtLeast([1, 2, 5, 10, 20, 50], span / 365);
  const ticks = new Map();
  const first = new Date(start * DAY);
  const [year, month] = [first.getUTCFullYear(), first.getUTCMonth()];
  const before = Math.floor((12 * year + month) / months) * months;
  for (let k = before; ; k += months) {
    const moment = new Date(0);
    moment.setUTCFullYear(Math.floor(k / 12), k % 12, 1);
    const day = moment.getTime() / DAY;
    if (day > end) return ticks;
    const text = moment.toISOString().slice(0, 10);
    if (day >= start) ticks.set(day, months % 12 ? text.slice(0, -3) : text.slice(0, -6));
  }
}

function evenTicks(start, end, step) {
  const ticks = new Map();
  for (let k = Math.ceil(start / step); k * step <= end; k++) ticks.set(k * step, dateName(k * step));
  return ticks;
}
