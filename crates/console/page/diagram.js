// Tables and their foreign keys as a drawing. Of many tables it is the neighbourhood of one: those that it leads to, and those that lead to it.

import { rows } from "./ask.js";
import { counted, el, problem, svg } from "./dom.js";
import { boxesOf, HEAD, LINE, pathOf } from "./layout.js";

// Of so many tables all are drawn at once.
const ALL = 30;
// How many columns are written into a box.
const COLUMNS = 12;

const TABLES = `SELECT c.oid::bigint, n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') ORDER BY n.nspname, c.relname`;
const KEYS = "SELECT conname, conrelid::bigint, confrelid::bigint, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f' ORDER BY conrelid, conname";
const DRAWN = `SELECT a.attrelid::bigint, a.attname, format_type(a.atttypid, a.atttypmod), coalesce(bool_or(k.contype = 'p'), false), coalesce(bool_or(k.contype = 'f'), false)
  FROM pg_attribute a LEFT JOIN pg_constraint k ON k.conrelid = a.attrelid AND k.contype IN ('p', 'f') AND a.attnum = ANY(k.conkey)
  WHERE a.attrelid = ANY($1::bigint[]::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
  GROUP BY a.attrelid, a.attname, a.atttypid, a.atttypmod, a.attnum ORDER BY a.attrelid, a.attnum`;

export function diagram({ database, go }) {
  const choice = el("select", { id: "center", "aria-label": "Around", change: () => draw() });
  const steps = el("select", { id: "steps", "aria-label": "How far", change: () => draw() }, ...[1, 2, 3].map((count) => el("option", { value: count }, count === 1 ? "1 step" : `${count} steps`)));
  const opens = el("button", { click: () => go("data", Number(choice.value)) }, "Open as a grid");
  const said = el("span", { id: "drawn", role: "status" });
  const place = el("div", {});
  const node = el("section", { class: "diagram", "aria-label": "Diagram" },
    el("div", { class: "bar" }, choice, steps, opens, el("button", { click: () => show() }, "Look again"), said), place);
  let [of, tables, keys] = [null, new Map(), []];

  async function show() {
    of = database();
    place.replaceChildren();
    try {
      const [found, foreign] = await Promise.all([rows(of, TABLES), rows(of, KEYS)]);
      tables = new Map(found.map(([oid, schema, name]) => [oid, { oid, name: schema === "public" ? name : `${schema}.${name}` }]));
      keys = foreign.map(([name, from, to, text]) => ({ name, from, to, text })).filter(({ from, to }) => tables.has(from) && tables.has(to));
      const option = (value, name) => el("option", { value }, name);
      choice.replaceChildren(...(tables.size <= ALL ? [option("", "all tables")] : []), ...found.map(([oid]) => option(oid, tables.get(oid).name)));
      // (Where not all are drawn, it begins in the middle of things.)
      if (tables.size > ALL) choice.value = [...tables.keys()].reduce((best, oid) => (degree(oid) > degree(best) ? oid : best));
      await draw();
    } catch (refused) {
      place.replaceChildren(problem(refused.problem ?? { message: String(refused) }));
    }
  }

  const degree = (oid) => keys.filter(({ from, to }) => (from === oid) !== (to === oid)).length;

  // The tables that are drawn.
  function chosen() {
    if (!choice.value) return [...tables.keys()];
    const center = Number(choice.value);
    const found = new Set([center]);
    for (let step = 0; step < steps.value; step++) {
      for (const oid of [...found]) {
        for (const { from, to } of keys) {
          if (found.size >= ALL) return [...found];
          if (from === oid) found.add(to);
          if (to === oid) found.add(from);
        }
      }
    }
    return [...found];
  }

  async function draw() {
    steps.hidden = opens.hidden = !choice.value;
    const shown = chosen();
    const [own, drawn] = [of, await rows(of, DRAWN, `{${shown.join()}}`).catch((refused) => place.replaceChildren(problem(refused.problem)))];
    if (!drawn || own !== of) return;
    const boxes = new Map(shown.map((oid) => [oid, { ...tables.get(oid), columns: [], more: 0 }]));
    for (const [oid, name, type, isKey, isForeign] of drawn) {
      const box = boxes.get(oid);
      if (box.columns.length < COLUMNS || isKey || isForeign) box.columns.push({ name, type, isKey, isForeign });
      else box.more++;
    }
    const edges = keys.filter(({ from, to }) => boxes.has(from) && boxes.has(to));
    const { width, height } = boxesOf(boxes, edges);
    const center = Number(choice.value);
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": "Tables and foreign keys" },
      svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto-start-reverse" },
        svg("path", { d: "M0 0L8 4L0 8z", class: "mark" }))),
      ...edges.map((key) => svg("path", { class: "edge", d: pathOf(boxes.get(key.from), boxes.get(key.to)), "marker-end": "url(#arrow)" }, svg("title", {}, `${key.name}: ${key.text}`))),
      ...[...boxes.values()].map((box) => table(box, box.oid === center)));
    place.replaceChildren(el("div", { class: "drawing", tabindex: "0", role: "region", "aria-label": "Drawing" }, drawing),
      // (What the lines say, for who does not see them.)
      edges.length ? el("details", {}, el("summary", {}, "Foreign keys as text"), el("ul", {}, ...edges.map(({ from, to, name, text }) =>
        el("li", {}, `${tables.get(from).name} \u2192 ${tables.get(to).name}: ${name}, ${text}`)))) : "");
    said.textContent = tables.size ? `${counted(shown.length)} of ${counted(tables.size)} tables, ${counted(edges.length)} foreign keys` : "There are no tables yet.";
  }

  function table(box, isCenter) {
    const out = keys.filter(({ from }) => from === box.oid).map(({ to }) => tables.get(to).name);
    const goes = () => {
      choice.value = box.oid;
      draw().then(() => place.querySelector(".center")?.focus());
    };
    const group = svg("g", { class: isCenter ? "box center" : "box", transform: `translate(${box.x} ${box.y})`, tabindex: "0", role: "button",
      "aria-label": `${box.name}${out.length ? ", refers to " + out.join(", ") : ""}` },
      svg("rect", { width: box.width, height: box.height, rx: 4 }), text(8, 17, "title", box.name, box.width - 16),
      ...box.columns.map(({ name, type, isKey, isForeign }, at) =>
        text(8, HEAD + LINE * (at + 1) - 5, isKey ? "key" : "", `${isKey ? "\u25cf " : isForeign ? "\u2192 " : "\u2007 "}${name} ${type}`, box.width - 16)));
    if (box.more) group.append(text(8, HEAD + LINE * (box.columns.length + 1) - 5, "quiet", `and ${box.more} more`, box.width - 16));
    group.addEventListener("click", goes);
    group.addEventListener("keydown", (event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), goes()));
    return group;
  }

  // (As much of it as there is room for; all of it where a pointer rests.)
  function text(x, y, kind, all, room) {
    const most = Math.floor(room / 6.6);
    return svg("text", { x, y, class: kind }, all.length > most ? all.slice(0, most - 1) + "\u2026" : all, svg("title", {}, all));
  }

  return { node, show: () => of !== database() && show() };
}
