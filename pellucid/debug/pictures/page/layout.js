// Where boxes and arrows go: the method of ../layout.py, with modules that can be closed.
//
// model: { sizes: [[width, height]], edges: [[source, target]], groups: [[name, parent]], member: [group or -1],
//          closedSizes: [[width, height]] of each group as one box }, open: Set of groups.
// Result: { boxes, frames, closed, links, width, height }; x is the middle, y the top. Time is linear in the size of the graph.
let gapY = 40; // a page in which numbers travel along the arrows makes it larger
const GAP_X = 26, PAD = 14, HEADER = 26, SWEEPS = 8;

function makeItem(kind, width, height, index) {
  // over and under: room between the item and the edges of its layer
  return { kind, width, height, index, x: 0, y: 0, over: 0, under: 0, layer: 0, above: [], below: [] };
}

class Level {
  constructor() {
    this.items = [];
    this.ins = new Map();
    this.outs = new Map();
    this.links = new Map();
  }

  link(source, a, leaves, b, enters) {
    const key = a.id + "," + leaves.id + "," + b.id + "," + enters.id;
    let link = this.links.get(key);
    if (!link) this.links.set(key, (link = { source, a, leaves, b, enters, bends: [], stub: false, edges: [] }));
    return link;
  }

  arrange() {
    const items = [...this.ins.values(), ...this.items, ...this.outs.values()];
    if (!items.length) return [0, 0];
    const links = [...this.links.values()];
    const lowest = this.outs.size ? 1 : 0;
    items.forEach((item, k) => {
      item.place = k;
      item.layer = item.kind === "out" ? 0 : lowest;
      item.above = [];
      item.below = [];
      item.outgoing = [];
    });
    for (const link of links) if (link.a.place < link.b.place) link.a.outgoing.push(link.b);
    let top = 0;
    for (let k = items.length - 1; k >= 0; k--) {
      const item = items[k];
      for (const target of item.outgoing) if (target.layer + 1 > item.layer) item.layer = target.layer + 1;
      item.outgoing = null;
      if (item.kind !== "in" && item.layer > top) top = item.layer;
    }
    if (this.ins.size) {
      top = this.items.length ? top + 1 : Math.max(top, 1);
      for (const port of this.ins.values()) port.layer = top;
    }
    for (const item of items) item.layer = top - item.layer;
    const longest = Math.max(2, Math.min(40, Math.floor(40000 / Math.max(1, links.length))));
    const layers = Array.from({ length: top + 1 }, () => []);
    for (const link of links) bend(link, longest);
    order(items, layers);
    across(layers);
    return down(layers);
  }
}

function bend(link, longest) {
  const { a, b } = link, between = b.layer - a.layer - 1;
  link.bends = [];
  link.stub = between > longest;
  if (link.stub || between < 0) return;
  let upper = a;
  for (let layer = a.layer + 1; layer < b.layer; layer++) {
    const item = makeItem("bend", 2, 0, -1);
    item.layer = layer;
    link.bends.push(item);
    upper.below.push(item);
    item.above.push(upper);
    upper = item;
  }
  upper.below.push(b);
  b.above.push(upper);
}

function order(items, layers) {
  for (const start of [...items.filter((item) => !item.below.length), ...items]) {
    const stack = [start];
    while (stack.length) {
      const item = stack.pop();
      if (item.seen === layers) continue;
      item.seen = layers;
      item.x = layers[item.layer].length;
      layers[item.layer].push(item);
      for (let i = item.above.length - 1; i >= 0; i--) stack.push(item.above[i]);
    }
  }
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const downwards = sweep % 2 === 0;
    for (let i = 0; i < layers.length; i++) {
      const layer = layers[downwards ? i : layers.length - 1 - i];
      if (layer.length < 2) continue;
      for (const item of layer) item.wanted = mean(downwards ? item.above : item.below, item.x);
      layer.sort((p, q) => p.wanted - q.wanted);
      layer.forEach((item, k) => { item.x = k; });
    }
  }
}

function mean(items, otherwise) {
  if (!items.length) return otherwise;
  let sum = 0;
  for (const item of items) sum += item.x;
  return sum / items.length;
}

function across(layers) {
  for (const layer of layers) {
    let at = 0;
    for (const item of layer) {
      item.x = at + item.width / 2;
      at += item.width + GAP_X;
    }
  }
  for (let sweep = 0; sweep < 2 * SWEEPS; sweep++) {
    for (let n = 0; n < layers.length; n++) {
      const layer = layers[sweep % 2 === 0 ? n : layers.length - 1 - n], size = layer.length;
      const right = new Float64Array(size), left = new Float64Array(size);
      for (let i = 0; i < size; i++) {
        const item = layer[i], count = item.above.length + item.below.length;
        let sum = 0;
        for (const near of item.above) sum += near.x;
        for (const near of item.below) sum += near.x;
        right[i] = left[i] = count ? sum / count : item.x;
      }
      for (let i = 1; i < size; i++) right[i] = Math.max(right[i], right[i - 1] + (layer[i - 1].width + layer[i].width) / 2 + GAP_X);
      for (let i = size - 2; i >= 0; i--) left[i] = Math.min(left[i], left[i + 1] - (layer[i + 1].width + layer[i].width) / 2 - GAP_X);
      for (let i = 0; i < size; i++) layer[i].x = (right[i] + left[i]) / 2;
    }
  }
}

function down(layers) {
  let first = Infinity, last = 0, y = 0;
  for (const layer of layers) for (const item of layer) first = Math.min(first, item.x - item.width / 2);
  for (const layer of layers) {
    let height = 0;
    for (const item of layer) height = Math.max(height, item.height);
    for (const item of layer) {
      item.x -= first;
      last = Math.max(last, item.x + item.width / 2);
      if (item.kind === "bend") {
        item.y = y;
        item.height = height;
      } else {
        item.over = item.under = (height - item.height) / 2;
        item.y = y + item.over;
      }
    }
    y += height + gapY;
  }
  return [last, y - gapY];
}

// Room over and under the inside of a module: ports bring their own.
function margins(level) {
  return [level.ins.size ? 8 : HEADER, level.outs.size ? -12 : PAD];
}

function move(level, dx, dy) {
  const shift = (item) => { item.x += dx; item.y += dy; };
  level.items.forEach(shift);
  level.ins.forEach(shift);
  level.outs.forEach(shift);
  for (const link of level.links.values()) link.bends.forEach(shift);
}

// Where the title of a frame stands: at the left, or where else no arrow comes in; undefined where there is no such place.
function titlePlace(start, width, ports, title) {
  const left = start + 9, right = start + width - 9 - title;
  const places = [left, ...ports.map((x) => x + 12), right].filter((x) => x >= left && x <= right + 0.5);
  return places.find((x) => ports.every((p) => p < x - 6 || p > x + title + 6));
}

function layoutGraph(model, open) {
  const { sizes, edges, groups, member, closedSizes } = model;
  let ids = 0;
  const give = (item) => { item.id = ids++; return item; };
  const whole = new Level();
  const levels = groups.map(() => new Level());
  const frames = groups.map((_, g) => give(makeItem(open.has(g) ? "frame" : "closed", closedSizes[g][0], closedSizes[g][1], g)));
  // The outermost closed module around each module (itself included), or -1.
  const hidden = [];
  groups.forEach(([, parent], g) => { hidden[g] = parent >= 0 && hidden[parent] >= 0 ? hidden[parent] : open.has(g) ? -1 : g; });
  const placed = new Set();
  const boxes = new Array(sizes.length).fill(null), shown = new Array(sizes.length);
  const parentOf = (g) => groups[g][1];
  for (let k = 0; k < sizes.length; k++) {
    let g = member[k];
    const closed = g >= 0 ? hidden[g] : -1;
    if (closed >= 0) {
      shown[k] = frames[closed];
      g = closed;
    } else {
      shown[k] = boxes[k] = give(makeItem("box", sizes[k][0], sizes[k][1], k));
      (g >= 0 ? levels[g] : whole).items.push(boxes[k]);
    }
    while (g >= 0 && !placed.has(g)) {
      placed.add(g);
      const parent = parentOf(g);
      (parent >= 0 ? levels[parent] : whole).items.push(frames[g]);
      g = parent;
    }
  }
  const around = (item) => (item.kind === "box" ? member[item.index] : parentOf(item.index));
  const chain = (g) => {
    const found = [g];
    while (g >= 0) found.push((g = parentOf(g)));
    return found;
  };
  const level = (g) => (g >= 0 ? levels[g] : whole);
  edges.forEach(([s, t], e) => {
    let a = shown[s];
    const b = shown[t];
    if (a === b) return;
    const source = a.id, above = chain(around(a)), below = chain(around(b));
    const up = above.findIndex((g) => below.includes(g)), common = above[up];
    let leaves = a;
    for (let i = 0; i < up; i++) {
      const g = above[i];
      let port = levels[g].outs.get(source);
      if (!port) levels[g].outs.set(source, (port = give(makeItem("out", 2, 0, -1))));
      levels[g].link(s, a, leaves, port, port).edges.push(e);
      a = frames[g];
      leaves = port;
    }
    let inside = level(common);
    for (let i = below.indexOf(common) - 1; i >= 0; i--) {
      const g = below[i];
      let port = levels[g].ins.get(source);
      if (!port) levels[g].ins.set(source, (port = give(makeItem("in", 2, 0, -1))));
      inside.link(s, a, leaves, frames[g], port).edges.push(e);
      inside = levels[g];
      a = leaves = port;
    }
    inside.link(s, a, leaves, b, b).edges.push(e);
  });
  for (let g = groups.length - 1; g >= 0; g--) {
    if (!open.has(g) || !placed.has(g)) continue;
    const frame = frames[g], [width, height] = levels[g].arrange();
    let extra = Math.max(0, (frame.width - width - 2 * PAD) / 2);
    frame.width = Math.max(frame.width, width + 2 * PAD);
    const ports = [...levels[g].ins.values()].map((port) => port.x + PAD + extra), title = closedSizes[g][0] - 30;
    if (titlePlace(0, frame.width, ports, title) === undefined) { // room at the left, so that no arrow goes through the title
      const room = title + 18 - Math.min(...ports);
      extra += room;
      frame.width += room;
    }
    const [above, below] = margins(levels[g]);
    frame.height = height + above + below;
    move(levels[g], PAD + extra, above);
  }
  const [width, height] = whole.arrange();
  move(whole, PAD, PAD);
  groups.forEach((_, g) => {
    if (!open.has(g) || !placed.has(g)) return;
    const frame = frames[g];
    move(levels[g], frame.x - frame.width / 2, frame.y);
    levels[g].ins.forEach((port) => { port.y = frame.y; port.under = 20; }); // straight down past the title
    frame.ports = [...levels[g].ins.values()].map((port) => port.x);
    levels[g].outs.forEach((port) => { port.y = frame.y + frame.height; });
  });
  const links = [];
  for (const l of [whole, ...levels]) {
    for (const link of l.links.values()) {
      // Straight down within a layer, where taller neighbours stand; sideways between layers.
      const { a, b } = link, x = link.leaves.x, points = [x, a.y + a.height];
      if (a.under) points.push(x, a.y + a.height + a.under);
      for (const p of link.bends) points.push(p.x, p.y, p.x, p.y + p.height);
      if (b.over) points.push(link.enters.x, b.y - b.over);
      points.push(link.enters.x, b.y);
      const head = b.kind === "box" || b.kind === "closed";
      let [left, right] = [Infinity, -Infinity];
      for (let i = 0; i < points.length; i += 2) {
        left = Math.min(left, points[i]);
        right = Math.max(right, points[i]);
      }
      const top = Math.min(points[1], points[points.length - 1]), bottom = Math.max(points[1], points[points.length - 1]);
      links.push({ points, head, source: link.source, first: a.kind !== "in" && a.kind !== "frame", edges: link.edges,
        stub: link.stub, left, right, top, bottom });
    }
  }
  const visible = (g) => placed.has(g) && hidden[g] === -1;
  return {
    boxes, links, shown, width: width + 2 * PAD, height: height + 2 * PAD,
    frames: frames.filter((f) => f.kind === "frame" && visible(f.index)),
    closed: frames.filter((f) => f.kind === "closed" && placed.has(f.index) && hidden[f.index] === f.index),
  };
}
