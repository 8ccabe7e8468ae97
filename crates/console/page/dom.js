// Elements. Whatever comes from a database or a person goes in as text, never as markup.

// An element of a name, with these attributes (functions are listeners) and children (strings are texts).
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(key, value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value != null) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
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
