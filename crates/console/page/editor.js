// Where SQL is typed: completion from the server's parser, and a mark where a statement is wrong.

import { ask, database } from "./ask.js";
import { el } from "./dom.js";

export class Editor {
  constructor(named, run) {
    this.named = named;
    this.text = el("textarea", { id: "sql", spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-label": "SQL",
      "aria-describedby": "keys", input: () => this.typed(), scroll: () => (this.under.scrollTop = this.text.scrollTop),
      keydown: (event) => this.key(event, run), blur: () => this.close() });
    this.under = el("pre", { class: "under", "aria-hidden": "true" });
    this.list = el("ul", { class: "offers", role: "listbox", "aria-label": "Completions", hidden: true });
    this.node = el("div", { class: "editor" }, this.under, this.text, this.list);
    this.offers = [];
  }

  get value() {
    return this.text.value;
  }

  set value(text) {
    this.text.value = text;
    this.mark(null);
  }

  // Something is wrong at this place.
  mark(place) {
    const text = this.value;
    if (place === null) return this.under.replaceChildren();
    const rest = text.slice(place);
    const length = Math.max(1, (/^[\w$]+/.exec(rest) ?? [rest.slice(0, 1)])[0].length);
    this.under.replaceChildren(text.slice(0, place), el("mark", {}, text.slice(place, place + length) || " "), text.slice(place + length));
    // (Nothing is selected: what is selected is run alone.)
    this.text.setSelectionRange(place, place);
    this.text.focus();
  }

  typed() {
    this.mark(null);
    if (!this.list.hidden) this.complete();
  }

  async complete() {
    const { selectionStart: cursor, value: text } = this.text;
    const told = await ask("POST", database(this.named()) + "/console/complete", { text, cursor }).catch(() => null);
    if (!told || this.text.value !== text || this.text.selectionStart !== cursor) return;
    this.from = told.start;
    this.offers = told.candidates;
    this.choose(0);
  }

  choose(at) {
    this.chosen = at;
    this.list.hidden = !this.offers.length;
    this.list.replaceChildren(...this.offers.map((offer, place) =>
      el("li", { role: "option", "aria-selected": String(place === at), mousedown: (event) => {
        event.preventDefault();
        this.accept(place);
      } }, offer)));
    this.list.children[at]?.scrollIntoView({ block: "nearest" });
  }

  accept(at) {
    this.text.setRangeText(this.offers[at], this.from, this.text.selectionStart, "end");
    this.close();
  }

  close() {
    this.list.hidden = true;
  }

  key(event, run) {
    const { key, ctrlKey, metaKey } = event;
    if (key === "Enter" && (ctrlKey || metaKey)) run();
    else if (key === " " && ctrlKey) this.complete();
    else if (this.list.hidden) return;
    else if (key === "Escape") this.close();
    else if (key === "Enter" || key === "Tab") this.accept(this.chosen);
    else if (key === "ArrowDown" || key === "ArrowUp") {
      const count = this.offers.length;
      this.choose((this.chosen + (key === "ArrowDown" ? 1 : count - 1)) % count);
    } else return;
    event.preventDefault();
  }
}
