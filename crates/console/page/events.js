// What happens: the change feed of a collection or of another table, and what channels tell.

import { ask, database as path, rows, stream } from "./ask.js";
import { collectionPath } from "./document.js";
import { counted, el, kept, problem } from "./dom.js";
import { parsed, written } from "./json.js";

// Tables with a feed, collections among them: as SQL names them, and as collections are called.
const FEEDS = `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), CASE n.nspname WHEN 'public' THEN c.relname ELSE n.nspname || '.' || c.relname END FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind = 'r' AND 'change_feed=on' = ANY (c.reloptions) ORDER BY 1`;
// How many of them are shown.
const SHOWN = 500;

export function events({ database }) {
  const [feed, channels] = [changes(database), listening(database)];
  return {
    node: el("div", {}, feed.node, channels.node),
    show: () => feed.show(),
    hide() {
      feed.end("Stopped, for nobody looked.");
      channels.end("Stopped, for nobody looked.");
    },
  };
}

// A stream that begins and ends by buttons, and the table of what it has told: the newest stands first.
class Stream {
  // `begin(signal, told)` asks for it; `told` takes the cells of a row.
  constructor(name, label, head, begin) {
    this.begin = begin;
    this.begins = el("button", { type: "submit", id: name }, label);
    this.stops = el("button", { type: "button", disabled: true, "aria-label": "Stop: " + label, click: () => this.end("Stopped.") }, "Stop");
    this.said = el("span", { role: "status", id: name + "-said" });
    this.body = el("tbody", {});
    this.wrong = el("div", {});
    this.node = el("div", {}, this.wrong, el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label + ": what was told" },
      el("table", {}, el("thead", {}, el("tr", {}, ...head.map((name) => el("th", { scope: "col" }, name)))), this.body)));
  }

  end(why) {
    if (!this.over) return;
    this.over.abort();
    this.over = null;
    this.begins.disabled = false;
    this.stops.disabled = true;
    this.said.textContent = why;
  }

  async start() {
    this.end("");
    const own = (this.over = new AbortController());
    this.begins.disabled = true;
    this.stops.disabled = false;
    [this.wrong, this.body].forEach((place) => place.replaceChildren());
    let count = 0;
    const told = (cells) => {
      this.said.textContent = cells ? `${counted(++count)} told` : "Listening.";
      if (!cells) return;
      this.body.prepend(el("tr", { class: "changed" }, ...cells.map((cell) => el("td", { dir: "auto" }, cell))));
      if (count > SHOWN) this.body.lastChild.remove();
    };
    try {
      await this.begin(own.signal, told, (error) => this.wrong.replaceChildren(problem(error)));
      if (this.over === own) this.end("The server has ended it.");
    } catch (refused) {
      if (this.over !== own) return;
      this.wrong.replaceChildren(problem(refused.problem ?? { message: String(refused) }));
      this.end("");
    }
  }
}

// (It is of this browser's clock.)
const time = () => el("time", {}, new Date().toTimeString().slice(0, 8));

function changes(database) {
  const choice = el("select", { id: "followed", "aria-label": "Collection or table", change: () => (filter.disabled = isTable()) });
  const isTable = () => choice.selectedOptions[0]?.dataset.kind === "table";
  const filter = el("input", { id: "followed-filter", "aria-label": "Filter", placeholder: '{"open": true}', spellcheck: "false" });
  const feed = new Stream("follow", "Follow", ["Time", "Change", "Id", "Version", "Document or row"], async (signal, told, wrong) => {
    if (isTable()) return follow(choice.value, signal, told, wrong);
    const wanted = filter.value.trim();
    if (wanted) parsed(wanted);
    // (There are no headers of a stream before it tells something: it is as if it had begun.)
    told(null);
    const query = wanted ? "?filter=" + encodeURIComponent(wanted) : "";
    await stream(`${collectionPath(database(), choice.value)}/changes${query}`, undefined, signal, (event, data, text) => {
      if (event === "error" || event === "end") return wrong(data);
      const doc = parsed(text).doc;
      told([time(), event, data.id ?? "", String(data.version ?? ""), doc === undefined ? "" : written(doc).slice(0, 500)]);
    });
  });
  // (As above. Numbers keep their digits.)
  const follow = (table, signal, told, wrong) => {
    told(null);
    return stream(`${path(database())}/changes?table=${encodeURIComponent(table)}`, undefined, signal, (event, data, text) => {
      if (event === "error" || event === "end") return wrong(data);
      const { old, new: now } = parsed(text);
      const row = now ?? old;
      told([time(), event, "", "", row === undefined ? "" : written(row).slice(0, 500)]);
    });
  };
  const group = (label, kind, names) => names.length && el("optgroup", { label }, ...names.map((name) => el("option", { "data-kind": kind }, name)));
  const form = el("form", { class: "bar", submit: (event) => (event.preventDefault(), feed.start()) }, choice, filter, feed.begins, feed.stops, feed.said);
  let of = null;
  return {
    node: el("section", { class: "events", "aria-label": "Change feed" }, el("h2", {}, "Change feed of a collection or table"), form, feed.node),
    end: (why) => feed.end(why),
    async show() {
      if (of === database()) return;
      of = database();
      // (Who may not run SQL follows collections.)
      const [{ collections }, tables] = await Promise.all([ask("GET", path(of) + "/collections").catch(() => ({ collections: [] })), rows(of, FEEDS).catch(() => [])]);
      const groups = [group("Collections", "collection", collections), group("Tables", "table", tables.filter(([, name]) => !collections.includes(name)).map(([name]) => name))].filter(Boolean);
      choice.replaceChildren(...groups);
      feed.begins.disabled = !groups.length;
      filter.disabled = isTable();
    },
  };
}

function listening(database) {
  const channel = el("input", { id: "channel", "aria-label": "Channel", placeholder: "channel", value: kept.get("channel", "") });
  const payload = el("input", { id: "payload", "aria-label": "What is told", placeholder: "what is told" });
  const heard = new Stream("listen", "Listen", ["Time", "Channel", "What was told", "Process"], (signal, told, wrong) => {
    kept.set("channel", channel.value);
    return stream(path(database()) + "/console/listen", { channels: [channel.value] }, signal, (event, data) => {
      if (event === "error" || event === "end") return wrong(data);
      if (event === "listening") return told(null);
      if (data.missed) told([time(), data.channel, `${counted(data.missed)} before this were dropped`, ""]);
      told([time(), data.channel, data.payload, String(data.process)]);
    });
  });
  const said = el("span", { role: "status" });
  const notify = async (event) => {
    event.preventDefault();
    try {
      await rows(database(), "SELECT pg_notify($1, $2)", channel.value, payload.value);
      said.textContent = "Told.";
      payload.value = "";
    } catch (refused) {
      said.textContent = refused.message;
    }
  };
  return {
    node: el("section", { class: "events", "aria-label": "Channels" }, el("h2", {}, "Channels"),
      el("form", { class: "bar", submit: (event) => (event.preventDefault(), heard.start()) }, channel, heard.begins, heard.stops, heard.said),
      el("form", { class: "bar", submit: notify }, payload, el("button", { id: "notify" }, "Notify"), said), heard.node),
    end: (why) => heard.end(why),
  };
}
