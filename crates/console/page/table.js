// A table as it is looked at and changed: its columns, its key, and the statements about it. Names stand in these quoted; values never do, they are
// parameters. Values of every type come and go as their text.

import { rows } from "./ask.js";

export const TABLES = `SELECT n.nspname, c.relname, c.relkind::text, c.oid::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') ORDER BY n.nspname, c.relname`;
// (What is always generated is written by nobody.)
const COLUMNS = `SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated::text <> '' OR a.attidentity::text = 'a',
    CASE WHEN a.attgenerated::text = '' THEN pg_get_expr(d.adbin, d.adrelid) END, coalesce(a.attnum = ANY(k.conkey), false)
  FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    LEFT JOIN pg_constraint k ON k.conrelid = a.attrelid AND k.contype = 'p'
  WHERE a.attrelid = $1::bigint::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`;

// What a row may be asked for by.
export const COMPARISONS = ["=", "<>", "<", "<=", ">", ">=", "contains", "is NULL", "is not NULL"];
// How many rows are looked at of a table.
export const ROWS = 100_000;

export const quoted = (name) => '"' + name.replaceAll('"', '""') + '"';
const of = ({ name }) => "t." + quoted(name);
const textOf = (column) => of(column) + "::text";

export class Table {
  static async read(database, { schema, name, kind, oid }) {
    const table = new Table();
    table.name = `${quoted(schema)}.${quoted(name)}`;
    table.isTable = kind === "r" || kind === "p";
    table.columns = (await rows(database, COLUMNS, oid)).map(([name, type, isNotNull, isFixed, otherwise, isKey]) =>
      ({ name, type, isNotNull, isFixed, otherwise, isKey }));
    table.key = table.columns.filter(({ isKey }) => isKey);
    return table;
  }

  get texts() {
    return this.columns.map((column) => `${textOf(column)} AS ${quoted(column.name)}`).join(", ");
  }

  // The rows that all conditions hold of: [{ column, comparison, value }], in an order: { column, isDown }.
  select(conditions, order) {
    const params = [];
    const param = (value) => "$" + params.push(value);
    const wanted = conditions.map(({ column, comparison, value }) => {
      if (comparison === "contains") return `strpos(lower(${textOf(column)}), lower(${param(value)})) > 0`;
      return comparison.startsWith("is") ? `${of(column)} ${comparison}` : `${of(column)} ${comparison} ${param(value)}`;
    });
    const by = [...(order ? [of(order.column) + (order.isDown ? " DESC" : "")] : []), ...this.key.map(of)];
    const sql = `SELECT ${this.texts} FROM ${this.name} AS t${wanted.length ? " WHERE " + wanted.join(" AND ") : ""}` +
      `${by.length ? " ORDER BY " + by.join(", ") : ""} LIMIT ${ROWS + 1}`;
    return { sql, params };
  }

  // The row that these cells were read of.
  again(cells) {
    const params = [];
    return { sql: `SELECT ${this.texts} FROM ${this.name} AS t WHERE ${this.keyed(cells, params)}`, params };
  }

  insert(changes) {
    const params = changes.map(({ value }) => value);
    const values = changes.length
      ? `(${changes.map(({ column }) => quoted(column.name)).join(", ")}) VALUES (${params.map((_, at) => "$" + (at + 1)).join(", ")})`
      : "DEFAULT VALUES";
    return { sql: `INSERT INTO ${this.name} AS t ${values} RETURNING ${this.texts}`, params };
  }

  // Writes what has changed, where that is still as it was.
  update(cells, changes) {
    const params = changes.map(({ value }) => value);
    const set = changes.map(({ column }, at) => `${quoted(column.name)} = $${at + 1}`).join(", ");
    const where = [this.keyed(cells, params), ...changes.map(({ column, old }) => same(column, old, params))].join(" AND ");
    return { sql: `UPDATE ${this.name} AS t SET ${set} WHERE ${where} RETURNING ${this.texts}`, params };
  }

  // Deletes the row, where all of it is still as it was.
  remove(cells) {
    const params = [];
    const where = [this.keyed(cells, params), ...this.columns.map((column, at) => same(column, cells[at], params))].join(" AND ");
    return { sql: `DELETE FROM ${this.name} AS t WHERE ${where} RETURNING ${this.texts}`, params };
  }

  keyed(cells, params) {
    return this.key.map((column) => `${of(column)} = $${params.push(cells[this.columns.indexOf(column)])}`).join(" AND ");
  }
}

// (Of a value that is too long to be told whole, its length and beginning.)
function same(column, cell, params) {
  const text = textOf(column);
  if (cell === null || typeof cell === "string") return `${text} IS NOT DISTINCT FROM $${params.push(cell)}`;
  return `octet_length(${text}) = $${params.push(cell.bytes)} AND starts_with(${text}, $${params.push(cell.text)})`;
}
