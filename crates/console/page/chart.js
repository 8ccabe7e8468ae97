// Rows as a drawing: lines, bars, points, or how often values come. What fits is guessed from the columns, and chosen by hand.

import { counted, el, svg } from "./dom.js";

const WIDTH = 720;
const HEIGHT = 300;
const LEFT = 70;
const BOTTOM = 40;
const TOP = 12;
// No more bars are told apart; of lines and points all are drawn.
const BARS = 60;
const BINS = 30;
const NUMBER = /^(smallint|integer|bigint|numeric|real|double precision)/;
const TIME = /^(date|timestamp|time)/;

const is = (kind) => (column) => kind.test(column.type);

// What shows these columns: { kind, x, y }, columns by their places; null: nothing does.
export function guess(columns) {
  const numbers = columns.map((column, at) => (is(NUMBER)(column) ? at : -1)).filter((at) => at >= 0);
  const time = columns.findIndex(is(TIME));
  const text = columns.findIndex((column) => !is(NUMBER)(column) && !is(TIME)(column));
  if (!numbers.length) return null;
  if (time >= 0) return { kind: "line", x: time, y: numbers[0] };
  if (text >= 0) return { kind: "bar", x: text, y: numbers[0] };
  if (numbers.length > 1) return { kind: "scatter", x: numbers[0], y: numbers[1] };
  return { kind: "histogram", x: numbers[0], y: numbers[0] };
}

export class Chart {
  // `count`: how many rows there are, of which these are the first.
  constructor(columns, rows, count) {
    Object.assign(this, { columns, rows, count });
    const guessed = guess(columns) ?? { kind: "bar", x: 0, y: 0 };
    const choice = (label, options, chosen) => el("label", {}, label + " ", el("select", { class: label.toLowerCase(), change: () => this.draw() },
      ...options.map(([value, name]) => el("option", { value, selected: value === chosen }, name))));
    const names = columns.map(({ name }, at) => [at, name]);
    this.kind = choice("Kind", ["line", "bar", "scatter", "histogram"].map((kind) => [kind, kind]), guessed.kind);
    this.x = choice("X", names, guessed.x);
    this.y = choice("Y", names, guessed.y);
    this.place = el("div", { class: "drawing" });
    this.node = el("figure", { class: "chart" }, el("div", { class: "bar" }, this.kind, this.x, this.y), this.place);
    this.draw();
  }

  draw() {
    const [kind, x, y] = [this.kind, this.x, this.y].map((label) => label.lastChild.value);
    this.y.hidden = kind === "histogram";
    const drawn = DRAW[kind](this.points(+x), this.points(+y), this.columns[x], this.columns[y]);
    const [across, up] = [this.columns[x].name, kind === "histogram" ? "rows" : this.columns[y].name];
    const said = `${kind}: ${up} by ${across}`;
    const part = this.count > this.rows.length ? ` (the first ${counted(this.rows.length)} rows)` : "";
    if (!drawn) return this.place.replaceChildren(el("p", { role: "status" }, "These columns have nothing to draw so."));
    const node = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": said + part }, ...drawn);
    this.place.replaceChildren(node, el("figcaption", {}, said + part));
  }

  points(at) {
    return this.rows.map((row) => (row[at] !== null && typeof row[at] === "object" ? row[at].text : row[at]));
  }
}

// A text as a place on an axis; NaN: it is none.
function number(text, column) {
  if (text === null) return NaN;
  if (!is(TIME)(column)) return Number(text);
  const [, date, time, zone] = /^(\d{4,}-\d\d-\d\d)?[ T]?(\d\d:\d\d:\d\d(?:\.\d+)?)?([+-]\d\d(?::\d\d)?)?$/.exec(text) ?? [];
  // (What has no zone is drawn as it is said.)
  return date || time ? Date.parse(`${date ?? "1970-01-01"}T${time ?? "00:00:00"}${zone ? zone.padEnd(6, ":00") : "Z"}`) : NaN;
}

// From the least to the greatest, which are apart.
function range(values, withZero) {
  let [low, high] = withZero ? [0, 0] : [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low === high) [low, high] = low === 0 ? [0, 1] : [low - Math.abs(low) / 2, high + Math.abs(high) / 2];
  return [low, high];
}

// Places of an axis that people read well: 1, 2 or 5 times a power of ten apart.
export function ticks(low, high, most = 6) {
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((step) => step >= rough);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, at) => (first + at) * step);
}

const short = (value) => (Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3)
  ? value.toExponential(1) : value.toLocaleString("en", { maximumFractionDigits: 4 }));
const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + "\u2026" : text);

function scale([low, high], from, to) {
  return (value) => from + ((value - low) / (high - low)) * (to - from);
}

function upward(across) {
  const y = scale(across, HEIGHT - BOTTOM, TOP);
  const marks = ticks(...across).flatMap((value) => [
    svg("line", { x1: LEFT, x2: WIDTH, y1: y(value), y2: y(value), class: "guide" }),
    svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, short(value))]);
  return [y, marks];
}

function across(range, column) {
  const x = scale(range, LEFT + 8, WIDTH - 8);
  const marks = is(TIME)(column)
    ? range.map((value, at) => svg("text", { x: x(value), y: HEIGHT - BOTTOM + 18, "text-anchor": at ? "end" : "start" },
      new Date(value).toISOString().slice(0, 19).replace("T", " ")))
    : ticks(...range).map((value) => svg("text", { x: x(value), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, short(value)));
  return [x, marks];
}

function placed(xs, ys, column, other) {
  const points = xs.map((x, at) => [number(x, column), number(ys[at], other)]);
  return points.filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
}

function bars(heights, labels) {
  const [y, marks] = upward(range(heights, true));
  const width = (WIDTH - LEFT - 8) / heights.length;
  const every = Math.ceil(heights.length / 12);
  const drawn = heights.flatMap((height, at) => {
    const [top, bottom] = [y(Math.max(0, height)), y(Math.min(0, height))];
    const bar = svg("rect", { x: LEFT + at * width + width * 0.1, width: width * 0.8, y: top, height: Math.max(0.5, bottom - top), class: "mark" },
      svg("title", {}, `${labels[at]}: ${short(height)}`));
    const label = at % every ? [] : [svg("text", { x: LEFT + (at + 0.5) * width, y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, cut(labels[at], 12))];
    return [bar, ...label];
  });
  return [...marks, ...drawn];
}

const DRAW = {
  line(xs, ys, column, other) {
    const points = placed(xs, ys, column, other).sort(([a], [b]) => a - b);
    if (!points.length) return null;
    const [x, below] = across(range(points.map(([x]) => x)), column);
    const [y, beside] = upward(range(points.map(([, y]) => y)));
    const d = points.map(([a, b], at) => `${at ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
    return [...beside, ...below, svg("path", { d, class: "line" })];
  },
  scatter(xs, ys, column, other) {
    const points = placed(xs, ys, column, other);
    if (!points.length) return null;
    const [x, below] = across(range(points.map(([x]) => x)), column);
    const [y, beside] = upward(range(points.map(([, y]) => y)));
    // (One path of many points is drawn much faster than as many circles.)
    const d = points.map(([a, b]) => `M${x(a).toFixed(1)} ${y(b).toFixed(1)}h0`).join("");
    return [...beside, ...below, svg("path", { d, class: "points" })];
  },
  bar(xs, ys, column, other) {
    const shown = xs.map((x, at) => [x ?? "NULL", number(ys[at], other)]).filter(([, y]) => Number.isFinite(y)).slice(0, BARS);
    return shown.length ? bars(shown.map(([, y]) => y), shown.map(([x]) => x)) : null;
  },
  histogram(xs, _, column) {
    const values = xs.map((x) => number(x, column)).filter(Number.isFinite);
    if (!values.length) return null;
    const [low, high] = range(values);
    const counts = new Array(BINS).fill(0);
    for (const value of values) counts[Math.min(BINS - 1, Math.floor(((value - low) / (high - low)) * BINS))]++;
    return bars(counts, counts.map((_, at) => short(low + (at * (high - low)) / BINS)));
  },
};
