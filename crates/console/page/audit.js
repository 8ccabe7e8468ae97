// What the server keeps of who came and went, and of what was done, with a filter.

import { ask } from "./ask.js";
import { counted, el, kept, list, problem } from "./dom.js";

// How many of them are shown.
const SHOWN = 500;

export function audit() {
  const kind = el("select", { id: "audit-kind", "aria-label": "What happened", change: () => draw() });
  const text = el("input", { id: "audit-text", type: "search", placeholder: "With this text", "aria-label": "With this text", input: () => draw() });
  const said = el("span", { role: "status" });
  const place = el("div", {});
  const node = el("section", { class: "audit", "aria-label": "Audit" },
    el("div", { class: "bar" }, kind, text, el("button", { click: () => show() }, "Look again"), said), place);
  text.value = kept.get("audit", "");
  let events = [];

  // (Whatever a name or value has in it, the next one stands as it should.)
  const parts = (of) => Object.entries(of).flatMap(([name, value], at) => [(at ? "; " : "") + name + ": ", el("bdi", {}, value)]);
  const words = (of) => Object.entries(of).map(([name, value]) => `${name}: ${value}`).join("; ");

  function draw() {
    kept.set("audit", text.value);
    const wanted = text.value.toLowerCase();
    const found = events.filter((one) => (!kind.value || one.event === kind.value) && (one.time + " " + one.event + " " + one.text).toLowerCase().includes(wanted));
    said.textContent = `${counted(found.length)} of ${counted(events.length)}${found.length > SHOWN ? `, the last ${SHOWN} shown` : ""}`;
    place.replaceChildren(list("What happened", ["Time (UTC)", "What", "Of whom and what"], found.slice(0, SHOWN).map((one) =>
      [el("time", {}, one.time.slice(0, 19).replace("T", " ")), one.event.replaceAll("_", " "), el("span", {}, ...parts(one.of))])));
  }

  async function show() {
    try {
      events = (await ask("GET", "/audit")).events.map((one) => ({ ...one, text: words(one.of) }));
      const chosen = kind.value;
      const names = [...new Set(events.map(({ event }) => event))].sort();
      kind.replaceChildren(el("option", { value: "" }, "All that happened"), ...names.map((name) => el("option", { value: name }, name.replaceAll("_", " "))));
      kind.value = names.includes(chosen) ? chosen : "";
      draw();
    } catch (refused) {
      place.replaceChildren(problem(refused.problem ?? { message: String(refused) }));
    }
  }

  return { node, show };
}
