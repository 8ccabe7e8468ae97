// A query whose rows change where they stand, marked as they do.

import { database as path, stream } from "./ask.js";
import { counted, el, kept, problem } from "./dom.js";

// How many rows are shown.
const SHOWN = 500;

export function live({ database }) {
  const text = el("textarea", { id: "watched", spellcheck: "false", "aria-label": "Query that is watched", rows: 3 });
  text.value = kept.get("watched", "");
  const begins = el("button", { id: "watch", click: () => begin() }, "Watch");
  const stops = el("button", { disabled: true, click: () => end("Stopped.") }, "Stop");
  const said = el("span", { id: "watching", role: "status" });
  const place = el("div", {});
  const node = el("section", { class: "live", "aria-label": "Live query" }, text, el("div", { class: "bar" }, begins, stops, said), place);
  let over = null;

  function end(why) {
    over?.abort();
    over = null;
    begins.disabled = false;
    stops.disabled = true;
    said.textContent = why;
  }

  async function begin() {
    end("");
    const own = (over = new AbortController());
    begins.disabled = true;
    stops.disabled = false;
    kept.set("watched", text.value);
    place.replaceChildren();
    let rows = null;
    let why = "The server has ended it.";
    try {
      const body = { sql: text.value };
      await stream(path(database()) + "/live", body, own.signal, (event, told) => {
        if (event === "columns") {
          rows = new Rows(told);
          place.replaceChildren(rows.node);
        } else if (event === "result" || event === "change") {
          rows.take(told, event === "change");
          said.textContent = `${counted(rows.count)} rows${rows.count > SHOWN ? `, ${SHOWN} of them shown` : ""}; ${rows.changes} changes.`;
        } else if (event === "error") {
          place.append(problem(told));
        } else if (event === "end") {
          why = `The server has ended it: ${told.message}.`;
        }
      });
      if (over === own) end(why);
    } catch (refused) {
      if (over !== own) return;
      place.append(problem(refused.problem ?? { message: String(refused) }));
      end("");
    }
  }

  return { node, hide: () => over && end("Stopped, for nobody looked.") };
}

// A table whose rows are known again by their key, or by all that is in them.
class Rows {
  constructor({ columns, key }) {
    this.key = key?.length ? (row) => JSON.stringify(key.map((at) => row[at])) : (row) => JSON.stringify(row);
    this.known = new Map();
    this.count = this.changes = 0;
    this.body = el("tbody", {});
    this.node = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows" },
      el("table", {}, el("thead", {}, el("tr", {}, ...columns.map(({ name }) => el("th", { scope: "col" }, name)))), this.body));
  }

  take({ added, removed, updated, more }, isChange) {
    if (isChange && !more) this.changes++;
    this.count += added.length - removed.length;
    for (const row of removed) this.remove(this.key(row));
    for (const [old, row] of updated) this.update(this.key(old), row);
    for (const row of added) this.add(row, isChange);
  }

  add(row, isMarked) {
    if (this.body.children.length >= SHOWN) return;
    const node = el("tr", {}, ...row.map((cell) => el("td", {}, shown(cell))));
    if (isMarked) mark(node);
    const key = this.key(row);
    // (Without a key there may be several that are alike.)
    this.known.set(key, [...(this.known.get(key) ?? []), node]);
    this.body.append(node);
  }

  remove(key) {
    const nodes = this.known.get(key);
    nodes?.pop().remove();
    if (!nodes?.length) this.known.delete(key);
  }

  update(key, row) {
    const nodes = this.known.get(key);
    if (!nodes) return;
    const node = nodes.pop();
    if (!nodes.length) this.known.delete(key);
    row.forEach((cell, at) => {
      const text = shown(cell);
      if (node.children[at].textContent === text) return;
      node.children[at].textContent = text;
      mark(node.children[at]);
    });
    const now = this.key(row);
    this.known.set(now, [...(this.known.get(now) ?? []), node]);
  }
}

const shown = (cell) => (cell === null ? "NULL" : typeof cell === "object" ? JSON.stringify(cell) : String(cell));

function mark(node) {
  node.classList.remove("changed");
  // (Read, so that the browser begins the mark anew.)
  void node.offsetWidth;
  node.classList.add("changed");
}
