// Collections, their documents as a list with a filter, and their rules.

import { ask, database as path, send } from "./ask.js";
import { counted, el, problem } from "./dom.js";
import { Editor, collectionPath } from "./document.js";
import { parsed, written } from "./json.js";

const PAGE = 50;
const IDS = ["text", "uuid", "bigint"];
const RULES = ["list", "view", "create", "update", "delete"];

export function documents({ database, who }) {
  const choice = el("select", { id: "collection", "aria-label": "Collection", change: () => find() });
  const filter = el("input", { id: "wanted", "aria-label": "Filter", placeholder: '{"open": true}', spellcheck: "false" });
  const sort = el("input", { id: "sort", "aria-label": "Sort", placeholder: "-at, name", size: 10 });
  const mayWrite = who.scopes.includes("write");
  const said = el("span", { id: "found", role: "status" });
  const rows = el("tbody", {});
  const more = el("button", { hidden: true, click: () => page().catch(fail) }, "More");
  const one = el("div", {});
  const rules = el("div", {});
  const wrong = el("div", {});
  const node = el("section", { class: "documents", "aria-label": "Documents" },
    el("form", { class: "bar", submit: (event) => (event.preventDefault(), find()) }, choice, filter, sort, el("button", {}, "Find"),
      mayWrite && el("button", { type: "button", click: () => open(null) }, "New document"),
      who.scopes.includes("manage") && el("button", { type: "button", click: () => make() }, "New collection"),
      who.scopes.includes("manage") && el("button", { type: "button", click: () => showRules().catch(fail) }, "Rules"), said), wrong, rules,
    el("div", { class: "beside" }, el("div", {}, el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Found" },
      el("table", {}, el("thead", {}, el("tr", {}, ...["Id", "Version", "Document"].map((name) => el("th", { scope: "col" }, name)))), rows)), more), one));
  let [of, next, asked] = [null, null, 0];

  const fail = (refused) => wrong.replaceChildren(problem(refused.problem ?? { message: refused.message }));
  const collection = () => collectionPath(of, choice.value);

  // `wanted`: the collection to look at first.
  async function load(wanted) {
    of = database();
    try {
      const { collections } = await ask("GET", path(of) + "/collections");
      choice.replaceChildren(...collections.map((name) => el("option", {}, name)));
      if (collections.includes(wanted)) choice.value = wanted;
      if (collections.length) return find();
      clear();
      said.textContent = "There are no collections yet.";
    } catch (refused) {
      fail(refused);
    }
  }

  // (Who has saved a document goes on with it.)
  function clear(isSaved) {
    [wrong, rows, ...(isSaved ? [] : [rules, one])].forEach((place) => place.replaceChildren());
    next = null;
    more.hidden = true;
  }

  function find(isSaved = false) {
    clear(isSaved);
    asked++;
    return page().catch(fail);
  }

  async function page() {
    const own = asked;
    const question = { limit: PAGE, count: !next, sort: sort.value.split(",").map((path) => path.trim()).filter(Boolean), ...(next && { after: next }) };
    // (The filter is sent as it is typed, so that its numbers keep their digits.)
    const wanted = filter.value.trim();
    if (wanted) parsed(wanted);
    const text = JSON.stringify(question);
    const { text: told } = await send("POST", collection() + "/query", wanted ? `${text.slice(0, -1)},"filter":${wanted}}` : text);
    if (own !== asked) return;
    const found = parsed(told);
    rows.append(...found.documents.map(({ id, version, doc }) => el("tr", {}, el("td", {}, el("button", { class: "link", click: () => open(id) }, id)),
      el("td", {}, version.text), el("td", { class: "short", dir: "auto" }, written(doc).slice(0, 200)))));
    next = found.next;
    more.hidden = !next;
    if (found.count) said.textContent = `${counted(found.count.text)} documents`;
  }

  async function open(id) {
    wrong.replaceChildren();
    const editor = new Editor(collection(), id, mayWrite, (written) => find(written !== null));
    try {
      if (id === null) editor.show("{}");
      else await editor.read();
      one.replaceChildren(editor.node);
      editor.node.querySelector("input, textarea:not([hidden])")?.focus();
    } catch (refused) {
      fail(refused);
    }
  }

  function make() {
    const name = el("input", { id: "new-name", required: true, autocomplete: "off", spellcheck: "false" });
    const ids = el("select", { id: "new-ids" }, ...IDS.map((kind) => el("option", {}, kind)));
    const feed = el("input", { id: "new-feed", type: "checkbox", checked: true });
    const told = el("div", {});
    const create = async (event) => {
      event.preventDefault();
      try {
        await ask("PUT", collectionPath(of, name.value), { ids: ids.value, change_feed: feed.checked });
        dialog.close();
        await load(name.value);
      } catch (refused) {
        told.replaceChildren(problem(refused.problem ?? { message: refused.message }));
      }
    };
    const dialog = el("dialog", { "aria-label": "A new collection", close: () => dialog.remove() }, el("form", { class: "token", submit: create }, el("h2", {}, "A new collection"),
      el("div", { class: "field" }, el("label", { for: "new-name" }, "Name"), name), el("div", { class: "field" }, el("label", { for: "new-ids" }, "Ids are of the type"), ids),
      el("div", { class: "field" }, el("label", { for: "new-feed" }, "Keeps a change feed"), feed), told,
      el("div", { class: "bar" }, el("button", { class: "main" }, "Make the collection"), el("button", { type: "button", click: () => dialog.close() }, "Cancel"))));
    document.body.append(dialog);
    dialog.showModal();
  }

  async function showRules() {
    if (rules.children.length) return rules.replaceChildren();
    const [at, name] = [collection() + "/rules", choice.value];
    const are = await ask("GET", at);
    const areas = RULES.map((rule) => el("textarea", { id: "rule-" + rule, rows: 2, spellcheck: "false", placeholder: "nobody may" }));
    areas.forEach((area, at) => (area.value = are[RULES[at]] ?? ""));
    const told = el("div", { role: "status" });
    const save = async (event) => {
      event.preventDefault();
      try {
        await ask("PUT", at, Object.fromEntries(RULES.map((rule, at) => [rule, areas[at].value.trim() || null])));
        told.replaceChildren(el("p", {}, "The rules are set."));
      } catch (refused) {
        told.replaceChildren(problem(refused.problem ?? { message: refused.message }));
      }
    };
    rules.replaceChildren(el("form", { class: "rules", "aria-label": "Rules of " + name, submit: save }, el("h2", {}, `What who shows a JSON Web Token may do with ${name}`),
      ...RULES.map((rule, at) => el("div", { class: "field" }, el("label", { for: "rule-" + rule }, rule), areas[at])), told, el("div", { class: "bar" }, el("button", {}, "Set rules"))));
    areas[0].focus();
  }

  return { node, show: () => of !== database() && load() };
}
