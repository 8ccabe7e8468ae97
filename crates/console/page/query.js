// Statements, and what comes of them.

import { Refused, ask } from "./ask.js";
import { Chart } from "./chart.js";
import { copy, counted, el, kept, problem } from "./dom.js";
import { Editor } from "./editor.js";
import { Grid } from "./grid.js";
import { planOf } from "./plan.js";
import { Result } from "./result.js";

// How many texts are remembered.
const HISTORY = 200;
// How many rows are copied or drawn at most.
const ROWS = 10_000;

export function query({ database: named }) {
  const results = el("section", { class: "results", "aria-label": "Results" });
  const editor = new Editor(named, () => run());
  const runs = el("button", { id: "run", click: () => run() }, "Run");
  const stops = el("button", { id: "stop", disabled: true, click: () => stop() }, "Stop");
  const past = el("select", { id: "history", "aria-label": "History and saved queries", change: () => {
    if (past.value !== "") editor.value = past.value;
    past.selectedIndex = 0;
    editor.text.focus();
  } });
  const remember = () => {
    const group = (label, texts) => el("optgroup", { label }, ...texts.map((text) => el("option", { value: text }, text.slice(0, 80))));
    past.replaceChildren(el("option", { value: "" }, "History"), group("Saved", kept.get("saved", [])), group("Before", kept.get("history", [])));
  };
  const save = (name, text) => {
    kept.set(name, [text, ...kept.get(name, []).filter((other) => other !== text)].slice(0, HISTORY));
    remember();
  };
  const node = el("div", {},
    el("section", { class: "query", "aria-label": "Query" }, editor.node,
      el("div", { class: "bar" }, runs, stops, el("button", { click: () => editor.value.trim() && save("saved", editor.value) }, "Save"), past,
        el("small", { id: "keys" }, "Ctrl+Enter runs what is selected, or all; Ctrl+Space completes"))),
    results);
  remember();

  let running = null;
  function stop() {
    if (!running) return;
    running.stopped = true;
    if (running.id) ask("DELETE", "/console/results/" + running.id).catch(() => {});
  }

  let old = [];
  async function run() {
    if (running) return;
    const { selectionStart: from, selectionEnd: to } = editor.text;
    const start = from === to ? 0 : from;
    const text = from === to ? editor.value : editor.value.slice(from, to);
    if (!text.trim()) return;
    running = { stopped: false, id: null };
    runs.disabled = true;
    stops.disabled = false;
    editor.mark(null);
    results.replaceChildren();
    old.forEach((result) => result.end());
    old = [];
    save("history", editor.value);
    try {
      // (Where there is no semicolon there are no two, and nothing has to be asked.)
      const { statements } = text.includes(";") ? await ask("POST", "/console/statements", { text }) : { statements: [[0, text.length]] };
      for (const [begins, ends] of statements) {
        if (running.stopped) break;
        const statement = text.slice(begins, ends);
        const panel = new Panel(statement);
        old.push(panel.result);
        results.append(panel.node);
        const told = await panel.follow(named(), running);
        if (told.state === "failed") {
          const characters = [...statement].slice(0, (told.error.position ?? 1) - 1).join("").length;
          if (told.error.position) editor.mark(start + begins + characters);
          break;
        }
      }
    } catch (refused) {
      results.append(problem(refused instanceof Refused ? refused.problem : { message: String(refused) }));
    } finally {
      running = null;
      runs.disabled = false;
      stops.disabled = true;
    }
  }

  return {
    node,
    show(sql) {
      editor.text.focus();
      if (sql === undefined) return;
      editor.value = sql;
      editor.text.setSelectionRange(0, 0);
      run();
    },
  };
}

// A statement and what comes of it.
class Panel {
  constructor(statement) {
    this.statement = statement;
    this.result = new Result();
    this.line = el("p", { class: "told", role: "status" });
    this.body = el("div", {});
    const shown = statement.length > 300 ? statement.slice(0, 300) + "\u2026" : statement;
    this.node = el("article", {}, el("pre", { class: "statement", tabindex: "0", "aria-label": "Statement" }, shown), this.line, this.body);
  }

  follow(name, running) {
    return this.result.follow(name, { sql: this.statement }, running, (told) => this.tell(told));
  }

  tell(told) {
    const { state, command, affected, columns, rows, ms, why, error } = told;
    if (columns && !this.grid) this.begin(columns, told);
    this.grid?.grow(rows);
    const count = columns ? counted(rows) + (rows === 1 ? " row" : " rows") : affected ? counted(affected) : "";
    this.line.textContent = [state === "running" ? "running" : command, count, ms + " ms", why].filter(Boolean).join(" \u00b7 ");
    if (state === "failed") this.body.append(problem(error));
    if ((state === "done" || state === "cut") && columns) this.offer(told);
  }

  begin(columns, told) {
    this.grid = new Grid(columns, (row) => this.result.page(row), (cell, column) => this.result.show(cell, column));
    this.grid.failed = (refused) => (this.line.textContent = refused.message);
    this.grid.take(told);
    this.body.append(this.grid.node);
    this.grid.count = told.rows;
    this.grid.draw();
  }

  // The first rows.
  async rows() {
    const all = [];
    while (all.length < Math.min(ROWS, this.grid.count)) {
      const { from, data } = await this.result.page(all.length);
      const rest = data.slice(all.length - from);
      if (!rest.length) break;
      all.push(...rest);
    }
    return all.slice(0, ROWS);
  }

  offer({ columns, data, rows }) {
    const plan = columns.length === 1 && columns[0].name === "QUERY PLAN" && planOf(data[0]?.[0]);
    if (plan) return this.grid.node.replaceWith(plan);
    const said = el("span", { role: "status" });
    const offered = (name, does) => el("button", { click: () => does().catch((refused) => (said.textContent = refused.message)) }, name);
    const file = (form) => async () => {
      const { path } = await ask("POST", `/console/results/${this.result.id}/download`, { form });
      el("a", { href: path, download: "" }).click();
    };
    this.node.append(el("div", { class: "bar" },
      offered("CSV", file("csv")), offered("JSON", file("json")), offered("Arrow", file("arrow")),
      offered("Copy", async () => {
        const all = await this.rows();
        await copy(table(columns, all));
        said.textContent = `${counted(all.length)} of ${counted(rows)} rows are copied.`;
      }),
      rows > 0 && offered("Chart", async () => {
        this.chart ??= new Chart(columns, await this.rows(), rows);
        this.chart.node.isConnected ? this.chart.node.remove() : this.node.append(this.chart.node);
      }), said));
  }
}

// Rows as spreadsheets paste them: columns between tabs, in quotes where a value has a tab, a quote or more lines.
function table(columns, rows) {
  const text = (cell) => (cell === null ? "" : typeof cell === "object" ? cell.text + "\u2026" : cell);
  const quoted = (text) => (/["\t\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);
  return [columns.map(({ name }) => name), ...rows].map((row) => row.map((cell) => quoted(text(cell))).join("\t") + "\n").join("");
}
