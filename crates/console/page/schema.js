// What a database has: tables, views, functions; of each, once it is opened, its columns, indexes, constraints, triggers.

import { rows } from "./ask.js";
import { bytes, counted, el, list, problem } from "./dom.js";

const RELATIONS = `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), c.relkind::text, c.reltuples::bigint, c.oid::bigint
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
  ORDER BY n.nspname, c.relname`;
const FUNCTIONS = `SELECT quote_ident(n.nspname) || '.' || quote_ident(p.proname) || '(' || pg_get_function_identity_arguments(p.oid) || ')', p.oid::bigint
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`;
const COLUMNS = `SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid)
  FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE a.attrelid = $1::bigint::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`;
const INDEXES = `SELECT pg_get_indexdef(i.indexrelid), pg_relation_size(i.indexrelid), s.idx_scan, s.idx_tup_read
  FROM pg_index i LEFT JOIN pg_stat_user_indexes s ON s.indexrelid = i.indexrelid WHERE i.indrelid = $1::bigint::oid ORDER BY 1`;
const USES = "SELECT seq_scan, seq_tup_read FROM pg_stat_user_tables WHERE relid = $1::bigint::oid AND seq_scan IS NOT NULL";
const CONSTRAINTS = "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = $1::bigint::oid ORDER BY conname";
const TRIGGERS = "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = $1::bigint::oid AND NOT tgisinternal ORDER BY tgname";
const SIZE = "SELECT pg_total_relation_size($1::bigint::oid)";
const VIEW = "SELECT pg_get_viewdef($1::bigint::oid)";
const BODY = "SELECT pg_get_functiondef($1::bigint::oid)";

const GROUPS = [["Tables", "rp"], ["Views", "v"], ["Materialized views", "m"], ["Sequences", "S"]];

export function schema({ database, go }) {
  const found = el("div", { class: "tree" });
  const filter = el("input", { id: "filter", type: "search", placeholder: "Names with \u2026", "aria-label": "Names with", input: () => narrow() });
  const said = el("span", { role: "status" });
  const node = el("section", { class: "schema", "aria-label": "Schema" },
    el("div", { class: "bar" }, filter, el("button", { click: () => show() }, "Look again"), said), found);
  let of = null;

  function narrow() {
    const text = filter.value.toLowerCase();
    for (const item of found.querySelectorAll(".item")) item.hidden = !item.dataset.name.includes(text);
  }

  // Something that is looked at closer when it is opened.
  function item(name, more, open) {
    const details = el("details", { class: "item", "data-name": name.toLowerCase(), toggle: async () => {
      if (!details.open || details.children.length > 1) return;
      const place = el("div", { class: "inside" }, "\u2026");
      details.append(place);
      try {
        place.replaceChildren(...(await open()).filter(Boolean));
      } catch (refused) {
        place.replaceChildren(problem(refused.problem ?? { message: String(refused) }));
      }
    } }, el("summary", {}, name, more && el("small", {}, " " + more)));
    return details;
  }

  async function relation(name, kind, oid) {
    const of = (sql) => rows(database(), sql, oid);
    const isTable = "rpm".includes(kind);
    const [columns, indexes, uses, constraints, triggers, size, text] = await Promise.all([of(COLUMNS), isTable ? of(INDEXES) : [], isTable ? of(USES) : [], isTable ? of(CONSTRAINTS) : [],
      kind === "S" ? [] : of(TRIGGERS), isTable ? of(SIZE) : [[null]], "vm".includes(kind) ? of(VIEW) : [[null]]]);
    return [
      el("p", { class: "bar" }, el("button", { click: () => go("query", `SELECT * FROM ${name} LIMIT 1000`) }, "Look at rows"),
        kind !== "S" && el("button", { click: () => go("data", oid) }, "Open as a grid"), size[0][0] === null ? "" : " " + bytes(size[0][0])),
      list("Columns of " + name, ["Column", "Type", "Not null", "Default"], columns.map(([name, type, not, value]) => [name, type, not ? "yes" : "", value])),
      indexes.length && list("Indexes of " + name, ["Index", "Size", "Scans", "Entries read"], indexes.map(([text, size, scans, read]) =>
        [text, size ? bytes(size) : "with the table", ...[scans, read].map((of) => (of === null ? "not counted" : counted(of)))])),
      uses.length && el("p", {}, `Read whole ${counted(uses[0][0])} times (${counted(uses[0][1])} rows), and by its indexes as often as they say, since the database was opened.`),
      constraints.length && list("Constraints of " + name, ["Constraint", "Definition"], constraints),
      triggers.length && list("Triggers of " + name, ["Trigger", "Definition"], triggers),
      text[0][0] && el("pre", { tabindex: "0", "aria-label": "What it selects" }, text[0][0]),
    ];
  }

  async function show() {
    of = database();
    said.textContent = "";
    try {
      const [relations, functions] = await Promise.all([rows(of, RELATIONS), rows(of, FUNCTIONS)]);
      const group = (title, items) => items.length && el("details", { open: true }, el("summary", {}, el("strong", {}, `${title} (${counted(items.length)})`)), ...items);
      found.replaceChildren(...[
        ...GROUPS.map(([title, kinds]) => group(title, relations.filter(([, kind]) => kinds.includes(kind)).map(([name, kind, count, oid]) =>
          item(name, count > 0 && kind !== "v" ? `about ${counted(count)} rows` : "", () => relation(name, kind, oid))))),
        group("Functions", functions.map(([name, oid]) =>
          item(name, "", async () => [el("pre", { tabindex: "0", "aria-label": "What it does" }, (await rows(of, BODY, oid))[0][0])]))),
      ].filter(Boolean));
      if (!found.children.length) said.textContent = "There are no tables yet.";
      narrow();
    } catch (refused) {
      found.replaceChildren(problem(refused.problem ?? { message: String(refused) }));
    }
  }

  return { node, show: () => of !== database() && show() };
}
