// The console: who comes in, what he types, and what comes of it.

import { Refused, ask, database, onLeave } from "./ask.js";
import { el, kept } from "./dom.js";
import { Editor } from "./editor.js";
import { Grid } from "./grid.js";

const page = document.getElementById("page");
const HISTORY = 200;

async function begin() {
  // A secret that is good once stands in the address: it goes to the server, and out of what the browser remembers.
  const once = new URLSearchParams(location.hash.slice(1)).get("token");
  if (once) {
    history.replaceState(null, "", location.pathname);
    try {
      return show(await enter(once));
    } catch (refused) {
      return login(refused.message);
    }
  }
  if (!kept.get("csrf", "")) return login("");
  try {
    show(await ask("GET", "/console/session"));
  } catch (refused) {
    login(refused.problem?.gone ? refused.message : "");
  }
}

async function enter(token) {
  const who = await ask("POST", "/console/login", { token });
  kept.set("csrf", who.csrf);
  return who;
}

function login(why) {
  const token = el("input", { id: "token", type: "password", autocomplete: "off", placeholder: "cairn_\u2026" });
  const said = el("p", { class: "error", role: "alert" }, why);
  const form = el("form", { class: "login", submit: async (event) => {
    event.preventDefault();
    try {
      show(await enter(token.value));
    } catch (refused) {
      said.textContent = refused.message;
    }
  } }, el("h1", {}, "CairnDB"), el("label", { for: "token" }, "Token"), token, el("button", {}, "Log in"), said);
  page.replaceChildren(form);
  token.focus();
}

onLeave(() => {
  kept.set("csrf", "");
  login("The session has ended.");
});

async function show(who) {
  const names = (await ask("GET", "/db")).databases;
  const choice = el("select", { id: "database", "aria-label": "Database" }, ...names.map((name) => el("option", { value: name }, name)));
  const results = el("section", { class: "results", "aria-label": "Results" });
  const editor = new Editor(() => choice.value, () => run());
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
  const save = (name, text, most) => {
    kept.set(name, [text, ...kept.get(name, []).filter((other) => other !== text)].slice(0, most));
    remember();
  };
  const leave = async () => {
    await ask("POST", "/console/logout").catch(() => {});
    kept.set("csrf", "");
    login("");
  };
  page.replaceChildren(
    el("header", {}, el("h1", {}, "CairnDB"), choice, past, el("span", { class: "grow" }), el("span", { class: "who" }, who.name || "everybody"),
      el("button", { click: leave }, "Log out")),
    el("section", { class: "query", "aria-label": "Query" }, editor.node,
      el("div", { class: "bar" }, runs, stops, el("button", { click: () => editor.value.trim() && save("saved", editor.value, HISTORY) }, "Save"),
        el("small", { id: "keys" }, "Ctrl+Enter runs what is selected, or all; Ctrl+Space completes"))),
    results);
  remember();
  editor.text.focus();

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
    old.forEach((id) => ask("DELETE", "/console/results/" + id).catch(() => {}));
    old = [];
    save("history", editor.value, HISTORY);
    try {
      // (Where there is no semicolon there are no two, and nothing has to be asked.)
      const { statements } = text.includes(";") ? await ask("POST", "/console/statements", { text }) : { statements: [[0, text.length]] };
      for (const [begins, ends] of statements) {
        if (running.stopped) break;
        const statement = text.slice(begins, ends);
        const panel = new Panel(statement);
        results.append(panel.node);
        const told = await panel.follow(choice.value, running);
        if (panel.id) old.push(panel.id);
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
}

function problem({ message, detail, hint, sqlstate }) {
  return el("div", { class: "error", role: "alert" }, el("p", {}, (sqlstate ? sqlstate + ": " : "") + message),
    detail && el("p", {}, detail), hint && el("p", {}, hint));
}

// A statement and what comes of it.
class Panel {
  constructor(statement) {
    this.statement = statement;
    this.line = el("p", { class: "told", role: "status" });
    this.body = el("div", {});
    this.node = el("article", {}, el("pre", { class: "statement" }, statement.length > 300 ? statement.slice(0, 300) + "\u2026" : statement), this.line, this.body);
  }

  async follow(name, running) {
    let told = await ask("POST", database(name) + "/console/run", { sql: this.statement });
    this.id = running.id = told.id;
    this.tell(told);
    if (running.stopped) await ask("DELETE", "/console/results/" + this.id);
    while (told.state === "running") {
      try {
        told = await ask("GET", `/console/results/${this.id}?seen=${told.rows}`);
      } catch (refused) {
        if (!running.stopped) throw refused;
        told = { ...told, state: "failed", error: { message: "stopped" } };
      }
      this.tell(told);
    }
    return told;
  }

  tell(told) {
    const { state, command, affected, columns, rows, ms, why, error } = told;
    if (columns && !this.grid) this.begin(columns, told);
    this.grid?.grow(rows);
    const count = columns ? rows.toLocaleString("en") + (rows === 1 ? " row" : " rows") : affected ? affected.toLocaleString("en") : "";
    this.line.textContent = [state === "running" ? "running" : command, count, ms + " ms", why].filter(Boolean).join(" \u00b7 ");
    if (state === "failed") this.body.append(problem(error));
    if ((state === "done" || state === "cut") && columns) this.offer(told);
  }

  begin(columns, told) {
    const fetch = (row) => ask("GET", `/console/results/${this.id}?from=${row}`);
    this.grid = new Grid(columns, fetch, (cell, column) => this.open(cell, column));
    this.grid.take(told);
    this.body.append(this.grid.node);
    this.grid.count = told.rows;
    this.grid.draw();
  }

  offer({ columns, data }) {
    const plan = columns.length === 1 && columns[0].name === "QUERY PLAN" && planOf(data[0]?.[0]);
    if (plan) return this.grid.node.replaceWith(plan);
    this.node.append(el("div", { class: "bar" }, ...["csv", "json", "arrow"].map((form) =>
      el("button", { class: form, click: async () => {
        try {
          const { path } = await ask("POST", `/console/results/${this.id}/download`, { form });
          el("a", { href: path, download: "" }).click();
        } catch (refused) {
          this.body.append(problem(refused.problem));
        }
      } }, form.toUpperCase()))));
  }

  async open(cell, column) {
    const long = cell !== null && typeof cell === "object";
    const text = cell === null ? "NULL" : long ? (await ask("GET", `/console/results/${this.id}/value?at=${cell.at}&bytes=${Math.min(cell.bytes, 1 << 20)}`)).text : cell;
    const dialog = el("dialog", { "aria-label": column.name, close: () => dialog.remove() }, el("h2", {}, `${column.name}: ${column.type}`), el("pre", { tabindex: "0", dir: "auto" }, text),
      long && cell.bytes > 1 << 20 ? el("p", {}, `The first MB of ${cell.bytes.toLocaleString("en")} bytes.`) : null, el("button", { click: () => dialog.close() }, "Close"));
    document.body.append(dialog);
    dialog.showModal();
  }
}

// What EXPLAIN (FORMAT JSON) tells, as a tree; null: it is something else.
function planOf(text) {
  let told;
  try {
    told = JSON.parse(text)[0];
  } catch {
    return null;
  }
  if (!told?.Plan) return null;
  const whole = told.Plan["Actual Total Time"] || 1;
  const branch = (plan) => {
    const time = plan["Actual Total Time"];
    const rows = plan["Actual Rows"] == null ? `${plan["Plan Rows"]} rows estimated` : `${plan["Actual Rows"]} rows (${plan["Plan Rows"]} estimated)`;
    const spilt = Object.entries(plan).filter(([key]) => /Spill|Disk|Temp/.test(key)).map(([key, value]) => `${key} ${value}`);
    const name = [plan["Node Type"], plan["Relation Name"], plan["Index Name"]].filter(Boolean).join(" ");
    const meter = time == null ? null : el("meter", { min: "0", max: String(whole), value: String(time), "aria-label": "part of the time" });
    return el("li", {}, el("span", {}, el("strong", {}, name), " ", [rows, time == null ? null : `${time} ms`, ...spilt].filter(Boolean).join(" \u00b7 "), " ", meter),
      plan.Plans ? el("ul", {}, ...plan.Plans.map(branch)) : null);
  };
  return el("ul", { class: "plan" }, branch(told.Plan));
}

addEventListener("hashchange", begin);
begin();
