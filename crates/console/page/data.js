// A table as a grid: looked at by conditions and in an order, changed row by row by its key.

import { rows } from "./ask.js";
import { counted, el, problem } from "./dom.js";
import { form } from "./form.js";
import { Grid } from "./grid.js";
import { Result, VALUE_BYTES } from "./result.js";
import { COMPARISONS, ROWS, TABLES, Table } from "./table.js";

export function data({ database, who }) {
  const tables = el("select", { id: "table", "aria-label": "Table", change: () => choose() });
  const column = el("select", { id: "column", "aria-label": "Column" });
  const comparison = el("select", { id: "comparison", "aria-label": "Comparison", change: () => (value.hidden = comparison.value.startsWith("is")) },
    ...COMPARISONS.map((name) => el("option", {}, name)));
  const value = el("input", { id: "value", "aria-label": "Value" });
  const order = el("select", { id: "order", "aria-label": "Order", change: () => read() });
  const said = el("span", { id: "data", role: "status" });
  const place = el("div", {});
  const conditions = el("div", { class: "bar", hidden: true });
  const button = (name, key, does) => el("button", { title: key, disabled: true, click: () => does().catch(fail) }, name);
  const [adds, edits, removes] = [button("Add row", "Insert", add), button("Change row", "Enter", edit), button("Delete row", "Delete", remove)];
  const node = el("section", { class: "data", "aria-label": "Data" },
    el("form", { class: "bar", submit: (event) => (event.preventDefault(), narrow()) }, tables, column, comparison, value, el("button", {}, "Filter"), order),
    conditions, el("div", { class: "bar" }, adds, edits, removes, el("button", { click: () => read() }, "Look again"), said), place);
  let [of, all, table, wanted, mayWrite] = [null, [], null, [], false];
  let [grid, result, running] = [null, null, null];

  const fail = (refused) => place.prepend(problem(refused.problem ?? { message: String(refused) }));

  // The tables that there are; the one of this number is opened.
  async function load(oid) {
    of = database();
    end();
    place.replaceChildren();
    try {
      const [found, [[reads]]] = await Promise.all([rows(of, TABLES), rows(of, "SELECT current_setting('transaction_read_only')")]);
      all = found.map(([schema, name, kind, oid]) => ({ schema, name, kind, oid }));
      mayWrite = reads !== "on" && who.scopes.includes("write");
      tables.replaceChildren(...all.map(({ schema, name }, at) => el("option", { value: at }, schema === "public" ? name : `${schema}.${name}`)));
      tables.value = Math.max(0, all.findIndex((one) => one.oid === oid));
      if (all.length) await choose();
      else said.textContent = "There are no tables yet.";
    } catch (refused) {
      fail(refused);
    }
  }

  async function choose() {
    try {
      table = await Table.read(of, all[tables.value]);
    } catch (refused) {
      return fail(refused);
    }
    column.replaceChildren(...table.columns.map(({ name }, at) => el("option", { value: at }, name)));
    order.replaceChildren(el("option", { value: "" }, table.key.length ? "by key" : "in no order"),
      ...table.columns.flatMap(({ name }, at) => [el("option", { value: at + "+" }, name + " \u2191"), el("option", { value: at + "-" }, name + " \u2193")]));
    wanted = [];
    await read();
  }

  function narrow() {
    wanted.push({ column: table.columns[column.value], comparison: comparison.value, value: value.value });
    value.value = "";
    return read();
  }

  function conditionsShown() {
    conditions.hidden = !wanted.length;
    conditions.replaceChildren(...wanted.map((one) => {
      const text = [one.column.name, one.comparison, ...(one.comparison.startsWith("is") ? [] : [one.value])].join(" ");
      return el("button", { class: "condition", "aria-label": "Without " + text, click: () => {
        wanted = wanted.filter((other) => other !== one);
        read();
      } }, text + " \u00d7");
    }));
  }

  const sorted = () => order.value && { column: table.columns[parseInt(order.value)], isDown: order.value.endsWith("-") };

  function end() {
    if (running) running.stopped = true;
    result?.end();
    [adds, edits, removes].forEach((button) => (button.disabled = true));
  }

  async function read() {
    end();
    conditionsShown();
    const own = (running = {});
    const [mine, about] = [(result = new Result()), table];
    grid = null;
    try {
      const told = await mine.follow(of, about.select(wanted, sorted()), own, (told) => {
        if (running !== own || !told.columns) return;
        grid ??= begin(mine, about, told);
        grid.grow(told.rows);
      });
      if (running !== own) return mine.end();
      if (told.state === "failed") return place.replaceChildren(problem(told.error));
      const isEdited = mayWrite && about.isTable && about.key.length;
      adds.disabled = !isEdited;
      edits.disabled = removes.disabled = !isEdited || !told.rows;
      const more = told.rows > ROWS || told.why ? "; there are more: filter" : "";
      said.textContent = `${counted(Math.min(ROWS, told.rows))} rows${more}${isEdited ? "" : "; " + why(about)}`;
    } catch (refused) {
      if (running === own) place.replaceChildren(problem(refused.problem ?? { message: String(refused) }));
    }
  }

  const why = (about) => (!about.isTable ? "a view is only looked at" : !mayWrite ? "read only" : "without a primary key rows are only looked at");

  function begin(mine, about, told) {
    const grid = new Grid(about.columns, (row) => mine.page(row), (cell, column) => edits.disabled ? mine.show(cell, column) : edit().catch(fail));
    grid.node.setAttribute("aria-label", "Rows of " + about.name);
    grid.failed = (refused) => (said.textContent = refused.message);
    grid.sorted = (column) => (sorted()?.column === column ? (sorted().isDown ? "descending" : "ascending") : null);
    grid.pressed = (column) => {
      const at = about.columns.indexOf(column);
      order.value = order.value === at + "+" ? at + "-" : order.value === at + "-" ? "" : at + "+";
      read();
    };
    const does = (button) => () => button.disabled || button.click();
    grid.keys = { Insert: does(adds), Delete: does(removes) };
    grid.take(told);
    place.replaceChildren(grid.node);
    return grid;
  }

  // Runs a statement that changes one row; the cells of that, or nothing where there was none.
  async function changed(asked) {
    const one = new Result();
    const told = await one.follow(of, asked);
    const cells = told.data?.[0]?.map((cell) => (cell?.bytes ? { ...cell, result: one } : cell));
    // (Long values are kept as long as somebody may look at them.)
    if (!cells?.some((cell) => cell?.result)) one.end();
    if (told.state === "failed") throw Object.assign(new Error(told.error.message), { problem: told.error });
    return cells;
  }

  const textsOf = (cells) => Promise.all(cells.map((cell) => (cell?.bytes > VALUE_BYTES ? cell : (cell?.result ?? result).text(cell))));

  // The same with a key that is whole, however long it is: a row is found by it.
  const keyed = (cells) => cells && Promise.all(cells.map((cell, at) => (table.columns[at].isKey ? (cell?.result ?? result).text(cell) : cell)));

  // Puts a row into the grid as it is by now, or marks that it is gone.
  function put(row, cells) {
    if (cells) grid.changed.set(row, cells);
    else grid.gone.add(row);
    grid.later();
  }

  async function add() {
    const [own, about] = [grid, table];
    form({ title: "A new row", columns: about.columns, at: about.columns.findIndex(({ isFixed }) => !isFixed), save: async (changes) => {
      const cells = await changed(about.insert(changes));
      if (own !== grid) return;
      if (!cells) return { error: { message: "the row was not inserted: a trigger kept it out" } };
      const row = grid.count;
      put(row, cells);
      grid.grow(row + 1);
      edits.disabled = removes.disabled = false;
      grid.go(row, grid.column);
      said.textContent = "A row is inserted.";
    } });
  }

  async function edit() {
    const [own, about, row] = [grid, table, grid.row];
    if (!grid.at(row) || grid.gone.has(row)) return;
    let cells = await keyed(grid.at(row));
    const texts = await textsOf(cells);
    form({ title: "Row " + named(cells), columns: about.columns, texts, at: grid.column, save: async (changes) => {
      const now = await changed(about.update(cells, changes));
      if (own !== grid) return;
      if (now) {
        put(row, now);
        said.textContent = "The row is changed.";
        return;
      }
      const theirs = await keyed(await changed(about.again(cells)));
      put(row, theirs);
      if (!theirs) return { error: { message: "the row is not there any more: somebody else has deleted it, or changed its key" } };
      const isSame = theirs.every((cell, at) => (cell?.text ?? cell) === (cells[at]?.text ?? cells[at]));
      cells = theirs;
      if (isSame) return { error: { message: "the row stays as it is: a trigger kept it from being changed" } };
      const hint = "What you typed is still here. Save again to write it over that.";
      return { error: { message: "somebody else has changed the row meanwhile: nothing was written", hint }, texts: await textsOf(theirs) };
    } });
  }

  const named = (cells) => table.key.map((column) => `${column.name} = ${cells[table.columns.indexOf(column)]}`).join(", ");

  async function remove() {
    const [own, about, row] = [grid, table, grid.row];
    if (!grid.at(row) || grid.gone.has(row)) return;
    let cells = await keyed(grid.at(row));
    const wrong = el("div", {});
    const dialog = el("dialog", { "aria-label": "Delete a row", close: () => dialog.remove() },
      el("p", {}, `Delete the row ${named(cells)}?`), wrong, el("div", { class: "bar" },
        el("button", { class: "main", click: async () => {
          try {
            const gone = await changed(about.remove(cells));
            const theirs = gone ? null : await keyed(await changed(about.again(cells)));
            if (own === grid) put(row, theirs);
            said.textContent = gone ? "The row is deleted." : "The row was gone already.";
            if (!theirs) return dialog.close();
            cells = theirs;
            wrong.replaceChildren(problem({ message: "somebody else has changed the row meanwhile: it is not deleted", hint: "It stands in the grid as it is now." }));
          } catch (refused) {
            wrong.replaceChildren(problem(refused.problem ?? { message: String(refused) }));
          }
        } }, "Delete"), el("button", { click: () => dialog.close() }, "Cancel")));
    document.body.append(dialog);
    dialog.showModal();
  }

  return { node, show: (oid) => (oid || of !== database()) && load(oid) };
}
