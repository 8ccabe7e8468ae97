// Where the boxes of a diagram stand: in columns, each table left of those that refer to it as far as that can be, so that lines lead to the left.

export const HEAD = 26;
export const LINE = 18;
const [WIDTH_MIN, WIDTH_MAX] = [140, 280];
const [BESIDE, BELOW] = [64, 18];
// Tables without lines stand in so many columns.
const ALONE = 5;

// Gives each box of the map its place and size; edges are { from, to }. Tells how large all is.
export function boxesOf(boxes, edges) {
  for (const box of boxes.values()) {
    const longest = Math.max(box.name.length + 2, ...box.columns.map(({ name, type }) => name.length + type.length + 3));
    box.width = Math.min(WIDTH_MAX, Math.max(WIDTH_MIN, longest * 6.6 + 16));
    box.height = HEAD + LINE * (box.columns.length + (box.more ? 1 : 0)) + 6;
  }
  const lines = edges.filter(({ from, to }) => from !== to);
  const linked = new Set(lines.flatMap(({ from, to }) => [from, to]));
  const columns = ordered(layersOf(linked, lines), lines);
  const main = stand(columns.map((column) => column.map((oid) => boxes.get(oid))), 0);
  const alone = [...boxes.values()].filter(({ oid }) => !linked.has(oid));
  const beside = Array.from({ length: Math.min(ALONE, alone.length) }, () => []);
  const heights = beside.map(() => 0);
  for (const box of alone) {
    const lowest = heights.indexOf(Math.min(...heights));
    beside[lowest].push(box);
    heights[lowest] += box.height + BELOW;
  }
  const rest = stand(beside, main.height ? main.height + BELOW : 0, false);
  return { width: Math.max(main.width, rest.width, 1), height: Math.max(main.height, rest.height, 1) };
}

// How far each is from those that refer to nothing; in a circle, from where it was entered.
function layersOf(linked, lines) {
  const depth = new Map();
  const entered = new Set();
  const of = (oid) => {
    if (depth.has(oid)) return depth.get(oid);
    if (entered.has(oid)) return -1;
    entered.add(oid);
    const deep = 1 + Math.max(-1, ...lines.filter(({ from }) => from === oid).map(({ to }) => of(to)));
    depth.set(oid, deep);
    return deep;
  };
  linked.forEach(of);
  const layers = [];
  for (const [oid, at] of depth) (layers[at] ??= []).push(oid);
  return layers.filter(Boolean);
}

// Each column in the order of what its tables are linked with, there and back, so that few lines cross.
function ordered(layers, lines) {
  const place = new Map();
  const note = () => layers.forEach((layer) => layer.forEach((oid, at) => place.set(oid, (at + 0.5) / layer.length)));
  const middle = (oid) => {
    const near = lines.flatMap(({ from, to }) => (from === oid ? [place.get(to)] : to === oid ? [place.get(from)] : []));
    return near.length ? near.reduce((sum, at) => sum + at, 0) / near.length : place.get(oid);
  };
  note();
  for (let round = 0; round < 4; round++) {
    for (const layer of round % 2 ? [...layers].reverse() : layers) {
      const wanted = new Map(layer.map((oid) => [oid, middle(oid)]));
      layer.sort((a, b) => wanted.get(a) - wanted.get(b));
      note();
    }
  }
  return layers;
}

// Puts columns of boxes beside each other; short ones stand in the middle, where that is asked.
function stand(columns, top, isCentered = true) {
  const heightOf = (column) => column.reduce((sum, box) => sum + box.height + BELOW, -BELOW);
  const tallest = Math.max(0, ...columns.map(heightOf));
  let x = 1;
  for (const column of columns) {
    let y = top + 1 + (isCentered ? (tallest - heightOf(column)) / 2 : 0);
    for (const box of column) {
      Object.assign(box, { x, y });
      y += box.height + BELOW;
    }
    x += Math.max(...column.map(({ width }) => width)) + BESIDE;
  }
  return { width: columns.length ? x - BESIDE + 1 : 0, height: columns.length ? top + tallest + 2 : 0 };
}

// A line from a box to the one that it refers to.
export function pathOf(from, to) {
  const [y1, y2] = [from.y + HEAD / 2, to.y + HEAD / 2];
  if (from === to) return `M${from.x + from.width} ${y1}c40 0 40 ${HEAD} 0 ${HEAD}`;
  if (to.x + to.width < from.x) return curve(from.x, y1, to.x + to.width, y2);
  if (from.x + from.width < to.x) return curve(from.x + from.width, y1, to.x, y2);
  // (They stand above each other.)
  const x = Math.max(from.x + from.width, to.x + to.width);
  return `M${from.x + from.width} ${y1}C${x + 40} ${y1} ${x + 40} ${y2} ${to.x + to.width} ${y2}`;
}

const curve = (x1, y1, x2, y2) => `M${x1} ${y1}C${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2} ${x2} ${y2}`;
