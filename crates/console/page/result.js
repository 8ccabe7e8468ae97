// A statement that the server runs for this page, and its result, which it keeps while somebody looks at it.

import { ask, database } from "./ask.js";
import { counted, el } from "./dom.js";

// What is read of a long value at once.
export const VALUE_BYTES = 1 << 20;

export class Result {
  // Runs a statement to its end, or until `running` says that it is stopped; tells how far it is whenever there is more.
  async follow(name, asked, running = {}, tell = () => {}) {
    let told = await ask("POST", database(name) + "/console/run", asked);
    this.id = running.id = told.id;
    tell(told);
    if (running.stopped) await this.end();
    while (told.state === "running") {
      try {
        told = await ask("GET", `/console/results/${this.id}?seen=${told.rows}`);
      } catch (refused) {
        if (!running.stopped) throw refused;
        told = { ...told, state: "failed", error: { message: "stopped" } };
      }
      tell(told);
    }
    return told;
  }

  // Rows about this one: { from, data }.
  page(row) {
    return ask("GET", `/console/results/${this.id}?from=${row}`);
  }

  // A cell's text, as long as it is, or its beginning.
  async text(cell) {
    if (cell === null || typeof cell === "string") return cell;
    return (await ask("GET", `/console/results/${this.id}/value?at=${cell.at}&bytes=${Math.min(cell.bytes, VALUE_BYTES)}`)).text;
  }

  // Shows a cell whole.
  async show(cell, column) {
    const text = cell === null ? "NULL" : await this.text(cell);
    const dialog = el("dialog", { "aria-label": column.name, close: () => dialog.remove() },
      el("h2", {}, `${column.name}: ${column.type}`), el("pre", { tabindex: "0", dir: "auto" }, text),
      cell?.bytes > VALUE_BYTES ? el("p", {}, `The first MB of ${counted(cell.bytes)} bytes.`) : null,
      el("button", { click: () => dialog.close() }, "Close"));
    document.body.append(dialog);
    dialog.showModal();
  }

  // Nobody looks at it any more.
  end() {
    return this.id ? ask("DELETE", "/console/results/" + this.id).catch(() => {}) : null;
  }
}
