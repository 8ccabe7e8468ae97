// A table of as many rows as there are: only what is seen is there as elements, and rows are asked for as they come into sight.

import { copy, el } from "./dom.js";

const ROW = 26;
const PAGES = 40;
// Browsers have no taller elements: of more rows the bar stands for all in proportion.
const TALLEST = 15_000_000;
const NUMBERS = /^(smallint|integer|bigint|numeric|real|double)/;

export class Grid {
  // `fetch(row)` gives rows: { from, data }; `open(cell, column)` shows one whole. What else there may be: `failed(refused)` is told what no rows came of,
  // `pressed(column)` that a column's head was clicked, `sorted(column)` says how it is sorted, `keys` has what other keys do.
  constructor(columns, fetch, open) {
    Object.assign(this, { columns, fetch, open, count: 0, pages: new Map(), asked: new Set(), row: 0, column: 0, keys: {} });
    // Rows that are others than were read, and those that are gone, by their places.
    this.changed = new Map();
    this.gone = new Set();
    this.widths = columns.map((column) => Math.min(40, column.name.length + 2) * 8 + 16);
    this.head = el("div", { class: "head", role: "row", "aria-rowindex": "1" });
    this.body = el("div", { class: "rows", role: "rowgroup" });
    this.node = el("div", { class: "grid", role: "grid", tabindex: "0", "aria-label": "Result", "aria-colcount": columns.length,
      scroll: () => this.later(), keydown: (event) => this.key(event) }, this.head, this.body);
    new ResizeObserver(() => this.later()).observe(this.node);
  }

  // There are so many rows by now.
  grow(count) {
    this.count = count;
    this.node.setAttribute("aria-rowcount", count + 1);
    this.height = Math.min(count * ROW, TALLEST);
    this.body.style.height = this.height + "px";
    // (Few rows take little room.)
    this.node.style.setProperty("--tall", this.height + "px");
    this.later();
  }

  // Rows that came.
  take({ from, data }) {
    if (!data.length) return;
    if (!this.pages.size) this.measure(data);
    this.pages.set(from, data);
    for (const first of this.pages.keys()) {
      if (this.pages.size <= PAGES) break;
      if (first !== from) this.pages.delete(first);
    }
    this.later();
  }

  measure(data) {
    for (const row of data.slice(0, 50)) {
      row.forEach((cell, at) => {
        const length = cell === null ? 4 : (cell.text ?? cell).length;
        this.widths[at] = Math.max(this.widths[at], Math.min(40, length) * 8 + 16);
      });
    }
  }

  later() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.draw();
    });
  }

  // The row that stands at the top.
  top() {
    const seen = this.node.clientHeight - ROW;
    const all = this.count * ROW;
    if (all <= TALLEST) return this.node.scrollTop / ROW;
    return (this.node.scrollTop / Math.max(1, this.height - seen)) * Math.max(0, this.count - seen / ROW);
  }

  at(row) {
    const changed = this.changed.get(row);
    if (changed) return changed;
    for (const [from, data] of this.pages) if (row >= from && row < from + data.length) return data[row - from];
    return undefined;
  }

  draw() {
    const top = this.top();
    const first = Math.max(0, Math.floor(top) - 2);
    const last = Math.min(this.count, Math.ceil(top + this.node.clientHeight / ROW) + 2);
    const [left, right] = [this.node.scrollLeft - 200, this.node.scrollLeft + this.node.clientWidth + 200];
    const shown = [];
    let x = 0;
    this.widths.forEach((width, at) => {
      if (x + width > left && x < right) shown.push([at, x, width]);
      x += width;
    });
    this.head.style.width = this.body.style.width = x + "px";
    const place = (node, x, width) => Object.assign(node.style, { left: x + "px", width: width + "px" });
    this.head.replaceChildren(...shown.map(([at, x, width]) => {
      const { name, type } = this.columns[at];
      const sorted = this.sorted?.(this.columns[at]);
      const node = el("span", { role: "columnheader", "aria-colindex": at + 1, "aria-sort": sorted, title: `${name}: ${type}`,
        click: () => this.pressed?.(this.columns[at]) }, name + (sorted ? (sorted === "ascending" ? " \u2191" : " \u2193") : ""));
      place(node, x, width);
      return node;
    }));
    const rows = [];
    for (let row = first; row < last; row++) {
      const cells = this.at(row);
      if (!cells) this.want(row);
      const node = el("div", { class: this.gone.has(row) ? "row gone" : "row", role: "row", "aria-rowindex": row + 2 });
      node.style.top = (this.node.scrollTop + (row - top) * ROW) + "px";
      for (const [at, x, width] of shown) {
        const cell = cells?.[at];
        const long = cell != null && typeof cell === "object";
        const kind = cell === null ? "null" : long ? "long" : NUMBERS.test(this.columns[at].type) ? "number" : "";
        const text = cells === undefined ? "\u2026" : cell === null ? "NULL" : long ? cell.text + "\u2026" : cell;
        const is = row === this.row && at === this.column;
        const of = el("span", { role: "gridcell", class: kind + (is ? " here" : ""), "aria-colindex": at + 1, "aria-selected": String(is), dir: "auto",
          click: () => this.go(row, at), dblclick: () => this.show() }, text);
        place(of, x, width);
        node.append(of);
      }
      rows.push(node);
    }
    this.body.replaceChildren(...rows);
  }

  async want(row) {
    const about = Math.floor(row / 256);
    if (this.asked.has(about)) return;
    this.asked.add(about);
    try {
      this.take(await this.fetch(row));
    } catch (refused) {
      // It is asked again when it comes into sight again.
      this.failed?.(refused);
    } finally {
      this.asked.delete(about);
    }
  }

  go(row, column) {
    this.row = Math.max(0, Math.min(this.count - 1, row));
    this.column = Math.max(0, Math.min(this.columns.length - 1, column));
    const seen = this.node.clientHeight / ROW - 3;
    const top = this.top();
    const wanted = this.row < top ? this.row : this.row > top + seen ? this.row - seen : top;
    const all = this.count * ROW;
    if (wanted !== top) {
      const ratio = all <= TALLEST ? ROW : (this.height - this.node.clientHeight) / Math.max(1, this.count - seen);
      this.node.scrollTop = wanted * ratio;
    }
    const x = this.widths.slice(0, this.column).reduce((sum, width) => sum + width, 0);
    if (x < this.node.scrollLeft) this.node.scrollLeft = x;
    const end = x + this.widths[this.column] - this.node.clientWidth;
    if (end > this.node.scrollLeft) this.node.scrollLeft = end;
    this.later();
  }

  show() {
    const cell = this.at(this.row)?.[this.column];
    if (cell !== undefined) this.open(cell, this.columns[this.column]);
  }

  key(event) {
    const page = Math.floor(this.node.clientHeight / ROW) - 2;
    const to = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-page, 0], PageDown: [page, 0],
      Home: event.ctrlKey ? [-this.count, 0] : [0, -this.columns.length], End: event.ctrlKey ? [this.count, 0] : [0, this.columns.length],
    }[event.key];
    if (to) this.go(this.row + to[0], this.column + to[1]);
    else if (event.key === "Enter") this.show();
    else if (this.keys[event.key]) this.keys[event.key]();
    else if (event.key === "c" && event.ctrlKey) {
      const cell = this.at(this.row)?.[this.column];
      copy(cell == null ? "" : cell.text ?? cell).then(() => this.node.focus());
    } else return;
    event.preventDefault();
  }
}
