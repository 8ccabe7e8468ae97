// The databases that there are: how large, in which mode, and what a crash may take of one.

import { rows } from "./ask.js";
import { bytes, el, list } from "./dom.js";

// As docs/guarantees.md has it.
const LOST = {
  full: "nothing that was acknowledged",
  group: "nothing that was acknowledged",
  interval: "what was acknowledged in the last interval",
  off: "what no checkpoint or stronger commit has covered",
};
const FACTS = "SELECT pg_database_size(current_database()), current_setting('durability'), current_setting('transaction_read_only')";

export function databases({ names }) {
  const place = el("div", {});
  const node = el("section", { "aria-label": "Databases" }, el("div", { class: "bar" }, el("button", { click: () => show() }, "Look again")), place);

  async function facts(name) {
    try {
      const [[size, mode, reads]] = await rows(name, FACTS);
      return [name, bytes(size), mode, LOST[mode] ?? "", reads === "on" ? "read only" : "read and write"];
    } catch (refused) {
      return [name, "", "", "", refused.message];
    }
  }

  async function show() {
    const told = await Promise.all(names.map(facts));
    place.replaceChildren(list("Sizes and modes", ["Database", "Size", "Durability", "A crash may lose", "Access"], told));
  }

  return { node, show };
}
