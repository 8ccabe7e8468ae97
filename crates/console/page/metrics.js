// What the server counts, as plots that move: one look a second.

import { ask } from "./ask.js";
import { bytes, el, looking, problem, svg } from "./dom.js";

const EVERY_MS = 1000;
const KEPT = 120;
const [WIDTH, HEIGHT] = [240, 60];

const plain = (value) => value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 2 : 0 });
const each = (value) => plain(value) + "/s";
const ms = (value) => plain(value * 1000) + " ms";
const bytesEach = (value) => bytes(value) + "/s";
const part = (value) => plain(value * 100) + " %";

// Each has a title, how a value is told, and what it is: of two looks and the seconds between them.
const rate = (name) => ({ now, before, seconds }) => (now.sum(name) - before.sum(name)) / seconds;
const gauge = (name) => ({ now }) => now.sum(name);
const quantile = (name, of) => ({ now, before }) => now.quantile(before, name, of);
const PLOTS = [
  ["Commits", each, rate("cairn_commits_total")],
  ["Commits that wait, p50", ms, quantile("cairn_commit_seconds", 0.5)],
  ["Commits that wait, p99", ms, quantile("cairn_commit_seconds", 0.99)],
  ["Conflicts", each, rate("cairn_conflicts_total")],
  ["Syncs of the log", each, rate("cairn_log_syncs_total")],
  ["Syncs of the log, p99", ms, quantile("cairn_log_sync_seconds", 0.99)],
  ["Log written", bytesEach, rate("cairn_log_written_bytes_total")],
  ["Log that a recovery reads", bytes, gauge("cairn_log_live_bytes")],
  ["Checkpoints", each, rate("cairn_checkpoints_total")],
  ["Commits slowed", part, rate("cairn_backpressure_seconds_total")],
  ["Found in the cache", part, ({ now, before }) => {
    const [hits, misses] = ["cairn_cache_hits_total", "cairn_cache_misses_total"].map((name) => now.sum(name) - before.sum(name));
    return hits + misses > 0 ? hits / (hits + misses) : NaN;
  }],
  ["Changed pages in memory", bytes, gauge("cairn_cache_dirty_bytes")],
  ["Pages read", each, rate("cairn_pages_read_total")],
  ["Pages written", each, rate("cairn_pages_written_total")],
  ["Spilled to disk", bytesEach, rate("cairn_spilled_bytes_total")],
  ["Requests over HTTP", each, rate("cairn_http_requests_total")],
  ["Requests over HTTP, p99", ms, quantile("cairn_http_request_seconds", 0.99)],
  ["Connections over HTTP", plain, gauge("cairn_http_connections")],
  ["Requests that wait for a thread", plain, gauge("cairn_sched_queue_depth")],
  ["Sessions", plain, gauge("cairn_sessions")],
];

// One look: what is told in Prometheus' form, of one database where it is of one.
export class Look {
  constructor(text, database) {
    this.at = performance.now();
    this.lines = new Map();
    for (const line of text.split("\n")) {
      const [, name, labels = "", value] = /^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (!name) continue;
      const of = Object.fromEntries([...labels.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key, text]));
      if (of.database !== undefined && of.database !== database) continue;
      if (!this.lines.has(name)) this.lines.set(name, []);
      this.lines.get(name).push([of, Number(value)]);
    }
  }

  sum(name) {
    return (this.lines.get(name) ?? []).reduce((sum, [, value]) => sum + value, 0);
  }

  // Of what came between two looks: within its bucket a value is taken to lie anywhere. NaN: nothing came.
  quantile(before, name, of) {
    const counts = (look) => new Map((look.lines.get(name + "_bucket") ?? []).map(([{ le }, value]) => [le, value]));
    const [now, then] = [counts(this), counts(before)];
    const buckets = [...now].map(([le, count]) => [le === "+Inf" ? Infinity : Number(le), count - (then.get(le) ?? 0)]).sort(([a], [b]) => a - b);
    const all = buckets.at(-1)?.[1] ?? 0;
    let [low, below] = [0, 0];
    for (const [high, count] of buckets) {
      if (all > 0 && count >= of * all) return high === Infinity ? low : low + ((high - low) * (of * all - below)) / Math.max(1, count - below);
      [low, below] = [high, count];
    }
    return NaN;
  }
}

class Plot {
  constructor([title, told, of]) {
    Object.assign(this, { title, told, of, values: [] });
    this.line = svg("path", { class: "line" });
    this.drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", preserveAspectRatio: "none" }, this.line);
    this.now = el("output", {});
    this.node = el("figure", { class: "plot" }, el("figcaption", {}, title, " ", this.now), this.drawing);
    this.name("");
  }

  name(value) {
    this.now.textContent = value;
    this.drawing.setAttribute("aria-label", `${this.title} ${value}`);
  }

  take(looks) {
    const value = this.of(looks);
    this.values.push(value);
    if (this.values.length > KEPT) this.values.shift();
    const most = Math.max(...this.values.filter(Number.isFinite), 0) || 1;
    const x = (at) => (WIDTH * (KEPT - this.values.length + at)) / (KEPT - 1);
    let d = "";
    this.values.forEach((value, at) => {
      if (Number.isFinite(value)) d += `${d && Number.isFinite(this.values[at - 1]) ? "L" : "M"}${x(at).toFixed(1)} ${(HEIGHT - 2 - (value / most) * (HEIGHT - 4)).toFixed(1)}`;
    });
    this.line.setAttribute("d", d);
    this.name(Number.isFinite(value) ? this.told(value) : "\u2013");
  }
}

export function metrics({ database }) {
  const said = el("div", {});
  const place = el("div", { class: "plots" });
  const node = el("section", { "aria-label": "Metrics" }, said, place);
  let [plots, before, of] = [[], null, null];

  async function look() {
    try {
      if (of !== database()) {
        [of, before, plots] = [database(), null, PLOTS.map((plot) => new Plot(plot))];
        place.replaceChildren(...plots.map((plot) => plot.node));
      }
      const now = new Look((await ask("GET", "/metrics")).text, of);
      if (before) plots.forEach((plot) => plot.take({ now, before, seconds: (now.at - before.at) / 1000 }));
      before = now;
      said.replaceChildren();
    } catch (refused) {
      before = null;
      said.replaceChildren(problem(refused.problem ?? { message: String(refused) }));
    }
  }

  return looking(node, look, EVERY_MS, () => (before = null));
}
