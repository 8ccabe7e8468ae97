// JSON whose numbers keep their digits: a script's own numbers have some sixteen.

class Digits {
  constructor(text) {
    this.text = text;
  }
}

// What a text says. (A browser that does not tell how a number is written has it as it is for scripts.)
export const parsed = (text) => JSON.parse(text, (_, value, context) => (typeof value === "number" ? new Digits(context?.source ?? String(value)) : value));

export const isNumber = (value) => value instanceof Digits;
export const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value) && !isNumber(value);

// As a text again: in lines where an indent is said.
export function written(value, indent = "", before = "") {
  if (isNumber(value)) return value.text;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const inner = before + indent;
  const parts = Array.isArray(value) ? value.map((each) => written(each, indent, inner))
    : Object.entries(value).map(([name, each]) => JSON.stringify(name) + (indent ? ": " : ":") + written(each, indent, inner));
  const [opens, closes] = Array.isArray(value) ? "[]" : "{}";
  if (!indent || !parts.length) return opens + parts.join(",") + closes;
  return `${opens}\n${inner}${parts.join(",\n" + inner)}\n${before}${closes}`;
}
