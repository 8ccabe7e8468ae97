// A row as a form. A field is a text or NULL, which are two things; of a new row also what the table has for it.

import { el, problem } from "./dom.js";

// Opens it; `save` is given what has changed, and tells what is in its way: { error, texts }, texts being the row as it is by now.
export function form({ title, columns, texts, at, save }) {
  const fields = columns.map((column, place) => new Field(column, texts && texts[place]));
  const said = el("div", {});
  const changed = () => fields.filter((field) => field.hasChanged());
  const write = async (event) => {
    event.preventDefault();
    const changes = changed();
    if (texts && !changes.length) return dialog.close();
    fields.forEach((field) => field.tell(""));
    saves.disabled = true;
    try {
      const wrong = await save(changes.map(({ column, value, old }) => ({ column, value, old })));
      if (!wrong) return dialog.close();
      wrong.texts?.forEach((text, place) => fields[place].renew(text));
      show(wrong.error);
    } catch (refused) {
      show(refused.problem ?? { message: String(refused) });
    } finally {
      saves.disabled = false;
    }
  };
  const show = (error) => {
    said.replaceChildren(problem(error));
    const field = fields.find(({ column }) => column.name === error.column);
    field?.tell(error.message);
    (field?.area ?? saves).focus();
    said.scrollIntoView({ block: "nearest" });
  };
  const saves = el("button", { class: "main" }, texts ? "Save" : "Insert");
  const dialog = el("dialog", { class: "form", "aria-label": title, close: () => dialog.remove(),
    keydown: (event) => event.key === "Enter" && event.ctrlKey && saves.click() },
    el("form", { submit: write }, el("h2", {}, title), ...fields.map(({ node }) => node), said,
      el("div", { class: "bar" }, saves, el("button", { type: "button", click: () => dialog.close() }, "Cancel"), el("small", {}, "Ctrl+Enter saves, Escape leaves"))));
  document.body.append(dialog);
  dialog.showModal();
  (fields[at] ?? fields[0])?.area.focus();
}

let count = 0;

class Field {
  // `text`: null is NULL; undefined a new row's; an object one that is too long to be changed here.
  constructor(column, text) {
    this.column = column;
    this.isNew = text === undefined;
    const id = "field" + ++count;
    const isLong = text !== null && typeof text === "object";
    const isFixed = column.isFixed || isLong;
    const otherwise = column.otherwise ?? (column.isFixed ? "generated" : "NULL");
    this.area = el("textarea", { id, rows: 1, spellcheck: "false", dir: "auto", disabled: isFixed, "aria-describedby": id + "-said",
      placeholder: this.isNew ? otherwise : null, input: () => (this.kind.value = "text") });
    const kinds = [["text", "text"], ["null", "NULL"], ...(this.isNew ? [["default", "default"]] : [])];
    this.kind = el("select", { "aria-label": column.name + " is", disabled: isFixed, change: () => this.kind.value !== "text" && (this.area.value = "") },
      ...kinds.map(([value, name]) => el("option", { value }, name)));
    this.said = el("small", { id: id + "-said" });
    this.node = el("div", { class: "field" },
      el("label", { for: id }, column.name, el("small", {}, ` ${column.type}${column.isKey ? ", key" : ""}${column.isNotNull ? ", not NULL" : ""}`)),
      this.area, this.kind, this.said);
    this.begin(isLong ? text.text + "\u2026" : text);
    if (isLong) this.tell("too long to be changed here", false);
  }

  begin(text) {
    this.old = text;
    this.kind.value = this.isNew ? "default" : text === null ? "null" : "text";
    this.area.value = text ?? "";
    this.area.rows = Math.min(8, this.area.value.split("\n").length + Math.floor(this.area.value.length / 80));
    // (A browser has no carriage returns there: what nobody has touched is not written.)
    this.begun = this.area.value;
    if (text?.includes("\r")) this.tell("has carriage returns, which are newlines once it is changed", false);
  }

  get value() {
    return this.kind.value === "text" ? this.area.value : null;
  }

  hasChanged() {
    if (this.area.disabled) return false;
    if (this.isNew) return this.kind.value !== "default";
    return this.kind.value !== (this.old === null ? "null" : "text") || this.area.value !== this.begun;
  }

  // The row has another value by now: who has not changed it sees that, who has is told.
  renew(text) {
    if (this.area.disabled || text === this.old) return;
    if (!this.hasChanged()) this.begin(text);
    this.old = text;
    this.tell("somebody else has written: " + (text === null ? "NULL" : text.length > 200 ? text.slice(0, 200) + "\u2026" : text));
  }

  tell(text, isWrong = true) {
    this.said.textContent = text;
    if (text && isWrong) this.area.setAttribute("aria-invalid", "true");
    else this.area.removeAttribute("aria-invalid");
  }
}
