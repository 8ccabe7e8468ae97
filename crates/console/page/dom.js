// Elements. Whatever comes from a database or a person goes in as text, never as markup.

// An element of a name, with these attributes (functions are listeners) and children (strings are texts).
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(key, value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value != null) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child != null && child !== false));
  return node;
}

// The same for drawings.
export function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// What went wrong, as the server tells it.
export function problem({ message, detail, hint, sqlstate }) {
  return el("div", { class: "error", role: "alert" }, el("p", {}, (sqlstate ? sqlstate + ": " : "") + message),
    detail && el("p", {}, detail), hint && el("p", {}, hint));
}

// A table of texts; of cells that are elements, those.
export function list(label, head, rows) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    el("table", {}, el("thead", {}, el("tr", {}, ...head.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, cell instanceof Node ? cell : String(cell ?? ""))))))));
}

// (`toLocaleString` takes tens of milliseconds when it is called first.)
export const counted = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");

export const bytes = (count) => {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const at = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, count)) / 10)));
  return (count / 1024 ** at).toLocaleString("en", { maximumFractionDigits: at ? 1 : 0 }) + " " + units[at];
};

// Lays a text where others paste it from.
export async function copy(text) {
  // (Over plain HTTP from another machine a page has no clipboard of its own.)
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = el("textarea", { "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

// A view that looks again and again while it is shown.
export function looking(node, look, everyMs, forget = () => {}) {
  let timer = null;
  return {
    node,
    show() {
      look();
      timer ??= setInterval(look, everyMs);
    },
    hide() {
      clearInterval(timer);
      timer = null;
      forget();
    },
  };
}

// What is kept in this browser for this origin.
export const kept = {
  get(name, otherwise) {
    try {
      return JSON.parse(localStorage.getItem("cairn." + name)) ?? otherwise;
    } catch {
      return otherwise;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem("cairn." + name, JSON.stringify(value));
    } catch {
      // There is no more room: what is kept is a help, and nothing else.
    }
  },
};
