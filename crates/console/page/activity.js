// What runs, and is stopped here; what was run, and took the most time.

import { ask } from "./ask.js";
import { counted, el, list, looking, problem } from "./dom.js";

const EVERY_MS = 2000;

const took = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

export function activity() {
  const said = el("div", {});
  const running = el("div", {});
  const ran = el("div", {});
  const node = el("section", { "aria-label": "Activity" }, said,
    el("h2", {}, "Sessions, and what they run"), running, el("h2", {}, "What took the most time"), ran);

  async function cancel(which) {
    try {
      await ask("POST", "/console/activity/cancel", which);
    } catch (refused) {
      said.replaceChildren(problem(refused.problem));
    }
    look();
  }

  function stop({ process, id, state, statement }) {
    if (state !== "active") return "";
    return el("button", { "aria-label": "Stop " + statement, click: () => cancel(id ? { id } : { process }) }, "Stop");
  }

  async function look() {
    try {
      const { sessions, statements } = await ask("GET", "/console/activity");
      // (Whoever is about to press a button presses that which he sees.)
      if (!running.contains(document.activeElement)) {
        running.replaceChildren(list("Sessions", ["Database", "User", "Client", "State", "Time", "Statement", "Stop"], sessions.map((session) =>
          [session.database, session.user, [session.application, session.client].filter(Boolean).join(" "),
            [session.state, session.waits_for].filter(Boolean).join(", "), took(session.ms), session.statement, stop(session)])));
      }
      ran.replaceChildren(list("Statements", ["Database", "User", "Calls", "Rows", "Time", "Longest", "Statement"], statements.map((one) =>
        [one.database, one.user, counted(one.calls), counted(one.rows), took(one.total_ms), took(one.max_ms), one.statement])));
      said.replaceChildren();
    } catch (refused) {
      said.replaceChildren(problem(refused.problem ?? { message: String(refused) }));
    }
  }

  return looking(node, look, EVERY_MS);
}
