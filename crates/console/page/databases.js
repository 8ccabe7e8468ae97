// The databases that there are: how large, in which mode, and what a crash may take of one; copies of them, and checks.

import { ask, database as path, rows } from "./ask.js";
import { bytes, counted, el, list, problem } from "./dom.js";

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
  const said = el("div", { role: "status" });
  const node = el("section", { "aria-label": "Databases" }, el("div", { class: "bar" }, el("button", { click: () => show() }, "Look again")), place, said);

  // A button that does something with a database, once at a time.
  function does(name, title, work) {
    const button = el("button", { "aria-label": `${title} ${name}`, click: async () => {
      button.disabled = true;
      said.textContent = `${title} ${name} \u2026`;
      try {
        said.replaceChildren(await work());
      } catch (refused) {
        said.replaceChildren(problem(refused.problem ?? { message: String(refused) }));
      }
      button.disabled = false;
    } }, title);
    return button;
  }

  async function copy(name) {
    const { path: from } = await ask("POST", path(name) + "/console/copy");
    el("a", { href: from, download: name + ".cairn" }).click();
    return el("p", {}, `A copy of ${name} is made, as it is now, and saved by the browser.`);
  }

  async function verify(name) {
    const { wrong, pages, entries, indexes, notes, ms } = await ask("POST", path(name) + "/console/verify");
    if (wrong) return problem(wrong);
    const right = `${name}: every page, checksum and order is right: ${counted(pages)} pages, ${counted(entries)} entries, ${counted(indexes)} indexes (${counted(ms)} ms).`;
    return el("div", {}, el("p", {}, right), ...notes.map((note) => el("p", {}, note)));
  }

  async function facts(name) {
    try {
      const [[size, mode, reads]] = await rows(name, FACTS);
      const work = el("span", { class: "bar" }, does(name, "Back up", () => copy(name)), does(name, "Verify", () => verify(name)));
      return [name, bytes(size), mode, LOST[mode] ?? "", reads === "on" ? "read only" : "read and write", work];
    } catch (refused) {
      return [name, "", "", "", refused.message, ""];
    }
  }

  async function show() {
    const told = await Promise.all(names.map(facts));
    place.replaceChildren(list("Sizes and modes", ["Database", "Size", "Durability", "A crash may lose", "Access", "Now"], told));
  }

  return { node, show };
}
