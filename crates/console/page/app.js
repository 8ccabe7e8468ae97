// The console: who comes in, and what he looks at.

import { activity } from "./activity.js";
import { ask, onLeave } from "./ask.js";
import { audit } from "./audit.js";
import { data } from "./data.js";
import { el, kept } from "./dom.js";
import { events } from "./events.js";
import { live } from "./live.js";
import { metrics } from "./metrics.js";
import { databases } from "./databases.js";
import { diagram } from "./diagram.js";
import { documents } from "./documents.js";
import { query } from "./query.js";
import { schema } from "./schema.js";
import { tokens } from "./tokens.js";

// What there is to look at. A view is made when it is first looked at; it is told when it comes into sight, and when it goes.
const VIEWS = { query, schema, diagram, data, documents, live, events, activity, metrics, databases, tokens, audit };

const page = document.getElementById("page");
let look = () => {};
let hidden = () => {};

async function begin() {
  // A secret that is good once stands in the address: it goes to the server, and out of what the browser remembers.
  const once = new URLSearchParams(location.hash.slice(1)).get("token");
  if (once) {
    history.replaceState(null, "", location.pathname);
    try {
      return show(await enter(once));
    } catch (refused) {
      return login(refused.message);
    }
  }
  if (!kept.get("csrf", "")) return login("");
  try {
    show(await ask("GET", "/console/session"));
  } catch (refused) {
    login(refused.problem?.gone ? refused.message : "");
  }
}

async function enter(token) {
  const who = await ask("POST", "/console/login", { token });
  kept.set("csrf", who.csrf);
  return who;
}

function login(why) {
  leave();
  const token = el("input", { id: "token", type: "password", autocomplete: "off", placeholder: "cairn_\u2026" });
  const said = el("p", { class: "error", role: "alert" }, why);
  const form = el("form", { class: "login", submit: async (event) => {
    event.preventDefault();
    try {
      show(await enter(token.value));
    } catch (refused) {
      said.textContent = refused.message;
    }
  } }, el("h1", {}, "CairnDB"), el("label", { for: "token" }, "Token"), token, el("button", {}, "Log in"), said);
  page.replaceChildren(form);
  token.focus();
}

function leave() {
  hidden();
  hidden = look = () => {};
}

onLeave(() => {
  kept.set("csrf", "");
  login("The session has ended.");
});

async function show(who) {
  leave();
  const names = (await ask("GET", "/db")).databases;
  const choice = el("select", { id: "database", "aria-label": "Database", change: () => look() },
    ...names.map((name) => el("option", { value: name }, name)));
  const links = Object.keys(VIEWS).map((name) => el("a", { href: "#" + name }, name[0].toUpperCase() + name.slice(1)));
  const place = el("div", { class: "view" });
  const context = {
    names,
    who,
    database: () => choice.value,
    // Goes to another view, to look at this there.
    go(name, what) {
      location.hash = name;
      look(what);
    },
  };
  const made = new Map();
  const out = async () => {
    await ask("POST", "/console/logout").catch(() => {});
    kept.set("csrf", "");
    login("");
  };
  look = (what) => {
    const name = Object.hasOwn(VIEWS, location.hash.slice(1)) ? location.hash.slice(1) : "query";
    links.forEach((link) => (link.hash === "#" + name ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current")));
    if (!made.has(name)) made.set(name, VIEWS[name](context));
    hidden();
    const view = made.get(name);
    hidden = () => view.hide?.();
    place.replaceChildren(view.node);
    view.show?.(what);
  };
  page.replaceChildren(
    el("header", {}, el("h1", {}, "CairnDB"), choice, el("nav", { "aria-label": "Views" }, ...links), el("span", { class: "grow" }),
      el("span", { class: "who" }, who.name || "everybody"), el("button", { click: out }, "Log out")),
    place);
  look();
}

addEventListener("hashchange", () => (location.hash.startsWith("#token=") ? begin() : look()));
begin();
