// Tokens that let do nothing but what this session's token does: listed, made, revoked.

import { ask } from "./ask.js";
import { copy, el, list, problem } from "./dom.js";

export function tokens({ who, names }) {
  const may = who.scopes.includes("tokens") && !who.trusts_all;
  const place = el("div", {});
  const said = el("div", { role: "status" });
  const name = el("input", { id: "token-name", required: true, autocomplete: "off" });
  const scopes = who.scopes.filter((scope) => scope !== "tokens").map((scope) => el("input", { type: "checkbox", value: scope, id: "scope-" + scope }));
  const databases = el("input", { id: "token-databases", placeholder: "all that this token has", list: "token-names", autocomplete: "off" });
  const collections = el("input", { id: "token-collections", placeholder: "all that this token has", autocomplete: "off" });
  const expires = el("input", { id: "token-expires", type: "date" });
  const labeled = (text, input) => el("div", { class: "field" }, el("label", { for: input.id }, text), input);
  const form = el("form", { class: "token", "aria-label": "A new token", submit: create, hidden: true }, el("h2", {}, "A new token"), labeled("Name", name),
    el("fieldset", {}, el("legend", {}, "It lets"), ...scopes.map((input) => el("label", {}, input, " ", input.value))),
    labeled("Databases, with commas between", databases), el("datalist", { id: "token-names" }, ...names.map((name) => el("option", { value: name }))),
    labeled("Collections, with commas between", collections), labeled("Until the beginning of this day (UTC)", expires), el("div", { class: "bar" }, el("button", { class: "main" }, "Make the token")));
  const node = el("section", { "aria-label": "Tokens" }, said, place, form);

  const wrong = (refused) => said.replaceChildren(problem(refused.problem ?? { message: String(refused) }));
  const listed = (input) => input.value.split(",").map((name) => name.trim()).filter(Boolean);

  async function create(event) {
    event.preventDefault();
    try {
      const { secret } = await ask("POST", "/console/tokens", {
        name: name.value, scopes: scopes.filter((input) => input.checked).map((input) => input.value), databases: listed(databases), collections: listed(collections),
        expires: expires.value ? Date.parse(expires.value + "T00:00:00Z") / 1000 : null,
      });
      said.replaceChildren();
      tell(name.value, secret);
      form.reset();
      await show();
    } catch (refused) {
      wrong(refused);
    }
  }

  // The secret is here, and nowhere once this is closed.
  function tell(name, secret) {
    const dialog = el("dialog", { "aria-label": "The secret of " + name, close: () => dialog.remove() }, el("h2", {}, "The secret of " + name),
      el("p", {}, "It is shown this once: nobody can look it up."), el("pre", { class: "secret", tabindex: "0", "aria-label": "Secret" }, secret),
      el("div", { class: "bar" }, el("button", { click: () => copy(secret) }, "Copy"), el("button", { click: () => dialog.close() }, "Close")));
    document.body.append(dialog);
    dialog.showModal();
  }

  function revoke(name) {
    const dialog = el("dialog", { "aria-label": "Revoke " + name, close: () => dialog.remove() }, el("p", {}, `Revoke ${name}? Whoever uses it is refused from then on.`),
      el("div", { class: "bar" }, el("button", { class: "main", click: async () => {
        dialog.close();
        try {
          await ask("POST", "/console/tokens/revoke", { name });
          said.replaceChildren(el("p", {}, name + " is revoked."));
          await show();
        } catch (refused) {
          wrong(refused);
        }
      } }, "Revoke"), el("button", { click: () => dialog.close() }, "Cancel")));
    document.body.append(dialog);
    dialog.showModal();
  }

  async function show() {
    if (who.trusts_all) return place.replaceChildren(el("p", {}, "Whoever reaches this server is trusted: it asks for no tokens."));
    if (!may) return place.replaceChildren(el("p", {}, "The token of this session makes no others. Who owns the folder gives that: cairn token create .. --scopes ..,tokens"));
    try {
      const { tokens } = await ask("GET", "/console/tokens");
      form.hidden = tokens === null;
      if (tokens === null) return place.replaceChildren(el("p", {}, "The configuration of the server has its tokens."));
      const until = ({ expires, has_expired }) => (expires === null ? "it is revoked" : new Date(expires * 1000).toISOString().slice(0, 16).replace("T", " ") + (has_expired ? " (over)" : ""));
      place.replaceChildren(list("Tokens", ["Name", "Lets", "Databases", "Collections", "Until", "Now"], tokens.map((token) =>
        [token.name, token.scopes.join(", "), token.databases.join(", ") || "all", token.collections.join(", ") || "all", until(token),
          el("button", { "aria-label": "Revoke " + token.name, click: () => revoke(token.name) }, "Revoke")])));
    } catch (refused) {
      wrong(refused);
    }
  }

  return { node, show };
}
