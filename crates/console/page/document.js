// One document, as a form or as its JSON, written only where it is still what was read; and what the change feed has of it.

import { database as of, send, step, stream } from "./ask.js";
import { el, problem } from "./dom.js";
import { isNumber, isObject, parsed, written } from "./json.js";

// How many versions are shown.
const VERSIONS = 200;

export const collectionPath = (name, collection) => `${of(name)}/collections/${step(collection)}`;

// `id` is null of a new one; `changed` is told when it was written or deleted.
export class Editor {
  constructor(collection, id, mayWrite, changed) {
    Object.assign(this, { collection, id, changed, etag: null });
    this.said = el("div", { role: "status" });
    this.place = el("div", {});
    this.text = el("textarea", { class: "json", spellcheck: "false", "aria-label": "JSON", rows: 16, readonly: !mayWrite });
    this.name = el("input", { id: "id", placeholder: "given by the server", "aria-label": "Id" });
    const tab = (name, does) => el("button", { click: does, "aria-pressed": "false" }, name);
    this.tabs = { form: tab("Form", () => this.turn("form")), json: tab("JSON", () => this.turn("json")) };
    const act = (name, does) => el("button", { click: () => does.call(this).catch((refused) => this.wrong(refused)) }, name);
    this.past = el("div", {});
    this.node = el("section", { class: "document", "aria-label": id === null ? "A new document" : "Document " + id },
      el("div", { class: "bar" }, el("h2", {}, id === null ? "A new document" : id), id === null && this.name, this.tabs.form, this.tabs.json,
        mayWrite && act("Save", this.save), mayWrite && id !== null && act("Delete", this.remove), id !== null && act("History", this.history)),
      this.said, this.place, this.past);
    this.node.addEventListener("keydown", (event) => mayWrite && event.key === "Enter" && event.ctrlKey && this.save().catch((refused) => this.wrong(refused)));
    this.mayWrite = mayWrite;
  }

  get path() {
    return `${this.collection}/documents/${step(this.id)}`;
  }

  async read() {
    if (this.id === "." || this.id === "..") throw new Error("a browser takes an id of dots out of a path: ask for it by SQL");
    const { text, etag } = await send("GET", this.path);
    this.etag = etag;
    this.show(text);
  }

  show(text) {
    this.text.value = written(parsed(text), "  ");
    this.turn(isObject(parsed(text)) ? "form" : "json");
  }

  wrong(refused) {
    this.said.replaceChildren(problem(refused.problem ?? { message: refused.message }));
  }

  // What is written there by now, as a text.
  now() {
    if (this.form) this.text.value = written(this.form.value(), "  ");
    return this.text.value;
  }

  turn(to) {
    try {
      const value = parsed(this.now());
      if (to === "form" && !isObject(value)) throw new Error("only an object is a form");
      this.form = to === "form" ? new Form(value, this.mayWrite) : null;
      this.place.replaceChildren(this.form ? this.form.node : this.text);
      for (const [name, tab] of Object.entries(this.tabs)) tab.setAttribute("aria-pressed", String(name === to));
      this.said.replaceChildren();
    } catch (refused) {
      this.wrong(refused);
    }
  }

  async save() {
    const text = this.now();
    parsed(text);
    this.said.replaceChildren();
    try {
      const isNew = this.id === null;
      if (isNew && this.name.value) this.id = this.name.value;
      const condition = this.etag ? { "If-Match": this.etag } : { "If-None-Match": "*" };
      const done = this.id === null ? await send("POST", this.collection + "/documents", text) : await send("PUT", this.path, text, condition);
      this.etag = done.etag;
      const { id, version } = JSON.parse(done.text);
      this.id = id;
      this.said.replaceChildren(el("p", {}, `Saved: version ${version}.`));
      this.changed(id);
    } catch (refused) {
      if (refused.problem?.status !== 412) throw refused;
      await this.conflict("nothing was written. What you typed is still here: save again to write it over that.");
    }
  }

  async remove() {
    const sure = el("dialog", { "aria-label": "Delete a document", close: () => sure.remove() }, el("p", {}, `Delete the document ${this.id}?`),
      el("div", { class: "bar" }, el("button", { class: "main", click: async () => {
        sure.close();
        try {
          await send("DELETE", this.path, undefined, { "If-Match": this.etag });
          this.changed(null);
        } catch (refused) {
          if (refused.problem?.status === 412) await this.conflict("it is not deleted.");
          else this.wrong(refused);
        }
      } }, "Delete"), el("button", { click: () => sure.close() }, "Cancel")));
    document.body.append(sure);
    sure.showModal();
  }

  // Somebody else was there first: what is there now is shown beside what is typed here.
  async conflict(what) {
    try {
      const { text, etag } = await send("GET", this.path);
      this.etag = etag;
      this.said.replaceChildren(problem({ message: "somebody else has changed the document meanwhile: " + what }),
        el("details", { open: true }, el("summary", {}, "It is this now"), el("pre", { class: "theirs", tabindex: "0", "aria-label": "The document as it is now" }, written(parsed(text), "  ")),
          el("button", { click: () => (this.form = null, this.show(text)) }, "Take that")));
    } catch (refused) {
      if (refused.problem?.status !== 404) throw refused;
      this.etag = null;
      this.said.replaceChildren(problem({ message: "somebody else has deleted the document meanwhile: save again to make it anew" }));
    }
  }

  // What the feed has: the newest stands first.
  async history() {
    const all = el("ol", { class: "history", reversed: true });
    const told = el("p", { role: "status" }, "\u2026");
    this.past.replaceChildren(el("h2", {}, "History"), told, all);
    let count = 0;
    await stream(this.path + "/console/history", undefined, undefined, (event, data, text) => {
      if (event === "end") return;
      if (event === "error") return this.past.append(problem(data));
      count++;
      const doc = event === "delete" || event === "truncate" ? null : written(parsed(text).doc, "  ");
      all.prepend(el("li", { value: count }, doc === null ? event === "truncate" ? "all were deleted" : "deleted" : el("details", {}, el("summary", {}, `${event}, version ${data.version}`),
        el("pre", { tabindex: "0", "aria-label": "Version " + data.version }, doc),
        this.mayWrite && el("button", { click: () => (this.form = null, this.show(doc)) }, "Take this"))));
      if (all.children.length > VERSIONS) all.lastChild.remove();
    });
    told.textContent = count ? `${count} changes${count > VERSIONS ? `, the last ${VERSIONS} of them` : ""}` : "The change feed has nothing of it any more.";
  }
}

const KINDS = ["text", "number", "true", "false", "null", "JSON"];
const kindOf = (value) => (typeof value === "string" ? "text" : isNumber(value) ? "number" : typeof value === "boolean" || value === null ? String(value) : "JSON");

// An object as fields: a field for each member, those of objects within in a frame. Arrays are JSON.
class Form {
  constructor(value, mayWrite, name) {
    this.mayWrite = mayWrite;
    this.members = [];
    this.fields = el("div", {});
    const [added, adds] = [el("input", { "aria-label": `Name of a new member${name ? " of " + name : ""}`, placeholder: "new member" }), el("button", { type: "button", click: () => {
      if (this.members.some((member) => member.name === added.value)) return added.focus();
      this.add(added.value, "").focus();
      added.value = "";
    } }, "Add")];
    this.node = el(name ? "fieldset" : "div", {}, name && el("legend", {}, name), this.fields, mayWrite && el("div", { class: "bar" }, added, adds));
    for (const [name, each] of Object.entries(value)) this.add(name, each);
  }

  add(name, value) {
    const member = isObject(value) && Object.keys(value).length ? new Form(value, this.mayWrite, name) : new Member(name, value, this.mayWrite);
    member.name = name;
    const row = el("div", { class: "member" }, member.node, this.mayWrite && el("button", { "aria-label": "Without " + name, click: () => {
      this.members = this.members.filter((other) => other !== member);
      row.remove();
    } }, "\u00d7"));
    this.members.push(member);
    this.fields.append(row);
    return member.area ?? row;
  }

  // (`fromEntries` has a member named `__proto__` as any other.)
  value() {
    return Object.fromEntries(this.members.map((member) => [member.name, member.value()]));
  }
}

let count = 0;

class Member {
  constructor(name, value, mayWrite) {
    const id = "member" + ++count;
    const kind = kindOf(value);
    const isWord = (kind) => ["true", "false", "null"].includes(kind);
    this.area = el("textarea", { id, rows: 1, spellcheck: "false", dir: "auto", readonly: !mayWrite, hidden: isWord(kind) });
    this.area.value = kind === "text" ? value : isWord(kind) ? "" : written(value, "  ");
    this.area.rows = Math.min(8, this.area.value.split("\n").length + Math.floor(this.area.value.length / 80));
    this.kind = el("select", { "aria-label": name + " is", disabled: !mayWrite, change: () => (this.area.hidden = isWord(this.kind.value)) }, ...KINDS.map((kind) => el("option", {}, kind)));
    this.kind.value = kind;
    // (A browser has no carriage returns there: what nobody has touched stays as it was.)
    Object.assign(this, { was: value, kindWas: kind, begun: this.area.value });
    this.node = el("div", { class: "field" }, el("label", { for: id }, name), this.area, this.kind);
    this.label = name;
  }

  value() {
    const [kind, text] = [this.kind.value, this.area.value];
    if (kind === this.kindWas && text === this.begun) return this.was;
    if (kind === "text") return text;
    try {
      const value = parsed(kind === "JSON" || kind === "number" ? text : kind);
      if (kind === "number" && !isNumber(value)) throw new Error(text + " is no number");
      return value;
    } catch (refused) {
      this.area.focus();
      throw new Error(`${this.label}: ${refused.message}`);
    }
  }
}
