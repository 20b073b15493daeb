// A graph on a canvas: pan, zoom, fold modules, search, look at one node. Only what is in view is drawn.

// An element with attributes, listeners (on...) and children; text is always text.
function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (value === true) e.setAttribute(name, "");
    else if (value !== false && value != null) e.setAttribute(name, value);
  }
  e.append(...children.filter((c) => c != null));
  return e;
}

const MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';
const NAME_FONT = "600 12px " + MONO, TEXT_FONT = "12px " + MONO, SHAPE_FONT = "10.5px " + MONO, LINE_HEIGHT = 17;
const KINDS = { op: ["op", "op-edge"], leaf: ["leaf", "leaf-edge"], result: ["out", "out-edge"], constant: ["const", "const-edge"],
  cut: ["const", "const-edge"] };
const MANY = 36; // boxes of a first view
const baseName = (path) => path.split(/[\\/]/).pop();
const shorten = (text) => (text.length <= 44 ? text : text.slice(0, 43) + "…");

// The place at a share of the length of a line.
function alongWay(points, share) {
  let whole = 0;
  const lengths = [];
  for (let i = 2; i < points.length; i += 2) whole += lengths[i] = Math.hypot(points[i] - points[i - 2], points[i + 1] - points[i - 1]);
  let left = Math.max(0, Math.min(1, share)) * whole;
  for (let i = 2; i < points.length; i += 2) {
    if (left <= lengths[i] || i === points.length - 2) {
      const part = lengths[i] ? left / lengths[i] : 0;
      return [points[i - 2] + part * (points[i] - points[i - 2]), points[i - 1] + part * (points[i + 1] - points[i - 1])];
    }
    left -= lengths[i];
  }
  return [points[0], points[1]];
}

class GraphView {
  constructor(container, data) {
    this.container = container;
    this.data = data;
    this.scale = 1;
    this.tx = this.ty = 0;
    this.selected = null; // a node's number
    this.found = []; // numbers of the nodes that the search found
    this.at = -1;
    this.current = -1; // the node of the present step
    this.showValue = this.showGrad = null; // while playing: which numbers are known already
    this.sent = null; // while playing backward: numbers of the arrows along which a gradient has gone
    this.travel = []; // numbers on their way: [arrow, text]
    this.largest = 1.25; // how far `fit` enlarges
    this.build();
    this.prepare();
    this.readColours();
    this.open = this.firstOpen();
    this.relayout();
    this.showPanel();
    this.first();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.readColours(); this.redraw(); });
    new ResizeObserver(() => this.resize()).observe(this.room);
  }

  // ---- the page around the canvas
  build() {
    const button = (text, label, action) => el("button", { type: "button", title: label, "aria-label": label, onclick: action }, text);
    this.search = el("input", { type: "search", placeholder: "Search names, shapes, lines", "aria-label": "Search",
      oninput: () => this.find(this.search.value),
      onkeydown: (e) => { if (e.key === "Enter") this.next(e.shiftKey ? -1 : 1); if (e.key === "Escape") { this.search.value = ""; this.find(""); } } });
    this.hits = el("span", { class: "soft hits", "aria-live": "polite" });
    const legend = el("span", { class: "legend" });
    for (const [text, kind] of [["operation", "op"], ["leaf", "leaf"], ["result", "out"], ["constant", "const"]]) {
      legend.append(el("span", { style: `background:var(--${kind});border-color:var(--${kind}-edge)${kind === "const" ? ";border-style:dashed" : ""}` }, text));
    }
    this.bar = el("div", { class: "bar" }, this.search, this.hits,
      button("+", "Zoom in", () => this.zoom(1.25)), button("−", "Zoom out", () => this.zoom(0.8)), button("Fit", "Show all of it", () => this.fit()));
    if (this.data.groups.length) {
      this.bar.append(button("Open all", "Open every module", () => this.setOpen(this.data.groups.map((_, g) => g))),
        button("Close all", "Close every module", () => this.setOpen([])));
    }
    this.bar.append(legend);
    this.canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": `Graph of ${this.data.nodes.length} nodes; search to list them` });
    this.room = el("div", { class: "room" }, this.canvas);
    this.aside = el("aside", { "aria-live": "polite" });
    this.middle = el("div", { class: "middle" }, this.room, this.aside);
    const still = this.container.querySelector(".still");
    if (still) still.hidden = true;
    this.container.append(this.bar, this.middle);
    this.ctx = this.canvas.getContext("2d");
    this.listen();
  }

  listen() {
    const c = this.canvas, fingers = new Map();
    let down = null, moved = 0, scrolling = false, mapping = false;
    c.addEventListener("pointerdown", (e) => {
      fingers.set(e.pointerId, e);
      scrolling = fingers.size === 1 && e.offsetX > this.width - 14 && this.thumb() !== null;
      if (scrolling) this.scrollTo(e.offsetY);
      down = [e.clientX, e.clientY, this.tx, this.ty];
      mapping = !scrolling && fingers.size === 1 && this.lookAt(e.offsetX, e.offsetY);
      this.held = true;
      moved = scrolling || mapping || fingers.size > 1 ? 9 : 0; // two fingers zoom, they click nothing
      c.setPointerCapture(e.pointerId);
    });
    c.addEventListener("pointermove", (e) => {
      if (fingers.size === 2 && fingers.has(e.pointerId)) {
        const apart = () => { const [p, q] = [...fingers.values()]; return Math.hypot(p.clientX - q.clientX, p.clientY - q.clientY); };
        const before = apart();
        fingers.set(e.pointerId, e);
        const [p, q] = [...fingers.values()], box = c.getBoundingClientRect();
        if (before) this.zoom(apart() / before, (p.clientX + q.clientX) / 2 - box.x, (p.clientY + q.clientY) / 2 - box.y);
        return;
      }
      if (down && scrolling) { this.scrollTo(e.offsetY); return; }
      if (down && mapping) { this.lookAt(e.offsetX, e.offsetY); return; }
      const hit = down ? null : this.hit(e.offsetX, e.offsetY);
      if (!down) { c.classList.toggle("over", hit !== null); return; }
      moved = Math.max(moved, Math.abs(e.clientX - down[0]) + Math.abs(e.clientY - down[1]));
      if (moved < 4) return;
      c.classList.add("drag");
      this.tx = down[2] + e.clientX - down[0];
      this.ty = down[3] + e.clientY - down[1];
      this.redraw();
    });
    const up = (e) => {
      if (down && moved < 4 && e.type === "pointerup") this.click(this.hit(e.offsetX, e.offsetY));
      fingers.delete(e.pointerId);
      const rest = [...fingers.values()][0];
      down = rest ? [rest.clientX, rest.clientY, this.tx, this.ty] : null;
      c.classList.remove("drag");
      this.held = down !== null;
      this.redraw();
    };
    c.addEventListener("pointerup", up);
    c.addEventListener("pointercancel", up);
    c.addEventListener("wheel", (e) => {
      e.preventDefault();
      const unit = e.deltaMode === 1 ? 16 : 1;
      if (e.ctrlKey || e.metaKey) this.zoom(Math.exp(-e.deltaY * unit * 0.005), e.offsetX, e.offsetY);
      else { this.tx -= (e.shiftKey ? e.deltaY : e.deltaX) * unit; this.ty -= e.shiftKey ? 0 : e.deltaY * unit; this.redraw(); }
    }, { passive: false });
    c.addEventListener("keydown", (e) => {
      const pan = { ArrowUp: [0, 60], ArrowDown: [0, -60], ArrowLeft: [60, 0], ArrowRight: [-60, 0] }[e.key];
      if (pan && !(this.playing && pan[0])) { this.tx += pan[0]; this.ty += pan[1]; this.redraw(); e.preventDefault(); }
      if (e.key === "+" || e.key === "=") this.zoom(1.25);
      if (e.key === "-") this.zoom(0.8);
      if (e.key === "0") this.fit();
    });
    document.addEventListener("keydown", (e) => {
      if (e.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) { this.search.focus(); e.preventDefault(); }
    });
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    this.colour = new Proxy({}, { get: (known, name) => (known[name] ??= style.getPropertyValue("--" + name).trim()) });
  }

  // ---- what the graph is
  prepare() {
    const { nodes, edges, groups } = this.data;
    this.inputs = nodes.map(() => []);
    this.users = nodes.map(() => []);
    edges.forEach(([s, t], e) => { this.inputs[t].push(e); this.users[s].push(e); });
    this.paths = [];
    groups.forEach(([name, parent], g) => { this.paths[g] = parent >= 0 ? this.paths[parent] + "." + name : name; });
    this.counts = groups.map(() => 0);
    for (const n of nodes) for (let g = n.g; g >= 0; g = groups[g][1]) this.counts[g]++;
    this.measure();
  }

  measure() {
    const { nodes, groups } = this.data, ctx = this.ctx;
    const wide = (text, font) => { ctx.font = font; return ctx.measureText(text).width; };
    const one = wide("0", TEXT_FONT), bold = wide("0", NAME_FONT);
    const plain = /^[\x20-\x7e]*$/;
    const width = (text, k) => (plain.test(text) ? text.length * (k ? one : bold) : wide(text, k ? TEXT_FONT : NAME_FONT));
    this.lines = nodes.map((n) => {
      const lines = [[n.n, "name"], ...(n.p || []).map(([name, shape]) => [`${name} ${shape}`, "held"]), ...(n.x || []).map((x) => [x, "note"])];
      if (n.l) lines.push([baseName(n.l[0]) + ":" + n.l[1], "note"]);
      if (n.v != null && n.k !== "constant") lines.push(["value " + n.v, "value"]);
      if (n.r != null) lines.push(["grad " + n.r, "grad"]);
      return lines.map(([text, kind]) => [shorten(text), kind]);
    });
    const sizes = this.lines.map((lines) => [Math.max(...lines.map(([text], k) => width(text, k))) + 24, lines.length * LINE_HEIGHT + 14]);
    const closedSizes = groups.map(([name], g) => [Math.max(width(name, 0) + 48, 110), 2 * LINE_HEIGHT + 14]);
    this.model = { sizes, closedSizes, edges: this.data.edges, groups, member: nodes.map((n) => n.g) };
  }

  // Modules are opened from the outside in, as long as no more boxes are shown than can be taken in.
  firstOpen() {
    const { nodes, groups } = this.data, parts = groups.map(() => 0);
    let shown = 0;
    for (const n of nodes) if (n.g >= 0) parts[n.g]++; else shown++;
    const children = groups.map(() => []), waiting = [];
    groups.forEach(([, parent], g) => { if (parent >= 0) { children[parent].push(g); parts[parent]++; } else { shown++; waiting.push(g); } });
    const open = new Set();
    for (let i = 0; i < waiting.length; i++) {
      const g = waiting[i];
      if (shown + parts[g] - 1 > MANY) continue;
      shown += parts[g] - 1;
      open.add(g);
      waiting.push(...children[g]);
    }
    return open;
  }

  relayout() {
    const began = performance.now();
    this.layout = layoutGraph(this.model, this.open);
    const seen = new Set();
    this.labels = [];
    for (const link of this.layout.links) {
      const item = this.layout.shown[link.source], x = link.points[0], y = item.y + item.height + item.under;
      const text = this.data.edges[link.edges[0]][2], key = x + "," + y;
      if (!link.first || !text || link.stub || seen.has(key)) continue;
      seen.add(key);
      // Beside the arrow, but not beyond the room of its box.
      this.labels.push([Math.min(x + 5, item.x + item.width / 2 + 12 - text.length * 6.4), y + 13, text, link.edges]);
    }
    this.noteClosed();
    this.layoutTime = performance.now() - began;
  }

  // Which closed modules hold something that the search found.
  noteClosed() {
    const inside = this.found.map((k) => this.layout.shown[k]).filter((item) => item.kind === "closed");
    this.foundClosed = new Set(inside.map((item) => item.index));
  }

  setOpen(groups) {
    this.open = new Set(groups);
    this.relayout();
    this.first();
  }

  // Open or close a module; the place that was clicked stays where it is.
  toggle(g) {
    const centre = () => {
      const frame = [...this.layout.frames, ...this.layout.closed].find((f) => f.index === g);
      return frame ? [frame.x, frame.y] : [0, 0];
    };
    const [x, y] = centre();
    if (this.open.has(g)) this.open.delete(g); else this.open.add(g);
    this.relayout();
    const [x2, y2] = centre();
    this.tx += (x - x2) * this.scale;
    this.ty += (y - y2) * this.scale;
    this.redraw();
  }

  // Open the modules around a node.
  reveal(k) {
    let changed = false;
    for (let g = this.data.nodes[k].g; g >= 0; g = this.data.groups[g][1]) if (!this.open.has(g)) { this.open.add(g); changed = true; }
    if (changed) this.relayout();
  }

  // ---- where one looks
  resize() {
    const ratio = devicePixelRatio || 1, width = this.room.clientWidth, height = this.room.clientHeight;
    if (!width || !height) return;
    const fresh = !this.width;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    if (fresh && this.start) this.start(); else if (fresh) this.first(); else this.redraw();
  }

  fit() {
    if (!this.width) return;
    this.scale = Math.min(this.largest, (this.width - 20) / this.layout.width, (this.height - 20) / this.layout.height);
    this.tx = (this.width - this.layout.width * this.scale) / 2;
    this.ty = (this.height - this.layout.height * this.scale) / 2;
    this.redraw();
  }

  // The first view: all of it if that can be read, else its upper end in readable size.
  first() {
    if (!this.width) return;
    this.fit();
    if (this.scale >= (this.playing ? 0.7 : 0.5)) return;
    this.scale = Math.min(0.85, Math.max(0.6, (this.width - 20) / this.layout.width)); // its whole width, if that can be read
    const items = this.layout.boxes.filter(Boolean).concat(this.layout.closed), top = items.reduce((p, q) => (q.y < p.y ? q : p));
    this.tx = this.width / 2 - top.x * this.scale;
    this.ty = 10;
    this.keepIn();
    this.redraw();
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const scale = Math.max(0.0005, Math.min(4, this.scale * factor));
    this.tx = x - ((x - this.tx) * scale) / this.scale;
    this.ty = y - ((y - this.ty) * scale) / this.scale;
    this.scale = scale;
    this.redraw();
  }

  // Move the drawing so that no room is wasted beside it: one that is smaller than the view lies in its middle.
  keepIn() {
    const within = (at, size, room) => (size <= room ? (room - size) / 2 : Math.min(10, Math.max(room - size - 10, at)));
    this.tx = within(this.tx, this.layout.width * this.scale, this.width);
    this.ty = within(this.ty, this.layout.height * this.scale, this.height);
  }

  centre(k) {
    if (this.scale < 0.5) this.scale = 0.85;
    const item = this.layout.shown[k];
    this.tx = this.width / 2 - item.x * this.scale;
    this.ty = this.height / 2 - (item.y + item.height / 2) * this.scale;
    this.keepIn();
    this.redraw();
  }

  // Centre a node unless it is well in view, with the nodes that numbers travel from or to if there is room for all.
  show(k) {
    if (this.scale < 0.35) { this.centre(k); return; }
    const away = (items) => {
      const left = Math.min(...items.map((i) => i.x - i.width / 2)), right = Math.max(...items.map((i) => i.x + i.width / 2));
      const top = Math.min(...items.map((i) => i.y)), bottom = Math.max(...items.map((i) => i.y + i.height));
      return { fits: (right - left) * this.scale <= this.width && (bottom - top) * this.scale <= this.height, middle: [(left + right) / 2, (top + bottom) / 2],
        out: left * this.scale + this.tx < 0 || right * this.scale + this.tx > this.width || top * this.scale + this.ty < 0 || bottom * this.scale + this.ty > this.height };
    };
    const all = away([k, ...this.travel.map(([, , other]) => other)].map((j) => this.layout.shown[j]));
    if (!all.fits) { if (away([this.layout.shown[k]]).out) this.centre(k); else this.redraw(); return; }
    if (all.out) {
      this.tx = this.width / 2 - all.middle[0] * this.scale;
      this.ty = this.height / 2 - all.middle[1] * this.scale;
      this.keepIn();
    }
    this.redraw();
  }

  // What lies under a point of the canvas: {node} or {group}, or null.
  hit(px, py) {
    const x = (px - this.tx) / this.scale, y = (py - this.ty) / this.scale;
    const within = (i, height = i.height) => Math.abs(x - i.x) <= i.width / 2 && y >= i.y && y <= i.y + height;
    for (const box of this.layout.boxes) if (box && within(box)) return { node: box.index };
    for (const item of this.layout.closed) if (within(item)) return { group: item.index };
    for (let i = this.layout.frames.length - 1; i >= 0; i--) if (within(this.layout.frames[i], HEADER - 4)) return { group: this.layout.frames[i].index };
    return null;
  }

  click(what) {
    if (what && what.group !== undefined) this.toggle(what.group);
    else this.select(what ? what.node : null);
  }

  select(k) {
    this.selected = k;
    this.marked = new Set(k === null ? [] : [...this.inputs[k], ...this.users[k]]);
    if (!this.playing) this.showPanel();
    this.redraw();
  }

  // ---- search
  find(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.texts ??= this.data.nodes.map((n) => [n.n, n.t, n.s, n.d, n.k, n.l ? n.l[0] + ":" + n.l[1] + " " + n.l[2] : "", n.g >= 0 ? this.paths[n.g] : "",
      ...(n.x || []), ...(n.p || []).flat()].join(" ").toLowerCase());
    this.found = words.length ? this.texts.flatMap((t, k) => (words.every((w) => t.includes(w)) ? [k] : [])) : [];
    this.foundSet = new Set(this.found);
    this.noteClosed();
    this.at = -1;
    this.hits.textContent = words.length ? `${this.found.length} found` : "";
    this.showPanel();
    this.redraw();
  }

  next(direction) {
    if (!this.found.length) return;
    this.at = (this.at + direction + this.found.length) % this.found.length;
    this.hits.textContent = `${this.at + 1} of ${this.found.length}`;
    this.go(this.found[this.at]);
  }

  go(k) {
    this.reveal(k);
    this.select(k);
    this.centre(k);
    this.showPanel();
  }

  // ---- the panel at the side
  name(k) {
    const n = this.data.nodes[k];
    return n.n + (n.s ? "  " + n.s : n.v != null && n.k !== "constant" ? "  " + n.v : "");
  }

  item(k, text) {
    return el("button", { type: "button", class: "item mono" + (k === this.selected ? " now" : ""), onclick: () => this.go(k) }, text || this.name(k));
  }

  showPanel() {
    const parts = [];
    if (this.selected !== null) parts.push(...this.describe(this.selected));
    if (this.found.length) {
      parts.push(el("h3", {}, "Found"));
      for (const k of this.found.slice(0, 200)) parts.push(this.item(k));
      if (this.found.length > 200) parts.push(el("p", { class: "soft" }, `… and ${this.found.length - 200} more`));
    }
    if (!parts.length) {
      const lines = [`${this.data.nodes.length.toLocaleString("en")} boxes, ${this.data.edges.length.toLocaleString("en")} arrows.`,
        "Drag or use the wheel to move, Ctrl and the wheel (or + and −) to zoom, / to search.", "Click a box for details."];
      if (this.data.groups.length) lines.push("Click a module's name to open or close it.");
      parts.push(...lines.map((text) => el("p", { class: "soft" }, text)));
    }
    this.aside.replaceChildren(...parts);
  }

  describe(k) {
    const n = this.data.nodes[k], rows = el("dl", {});
    const row = (name, text) => { if (text) rows.append(el("dt", {}, name), el("dd", { class: "mono" }, text)); };
    row("shape", n.s);
    row("dtype", n.d);
    row("module", n.g >= 0 ? this.paths[n.g] : "");
    row("value", n.v);
    row("grad", n.r);
    for (const note of n.x || []) row("", note);
    for (const [name, shape, title, value, grad] of n.p || []) row(name, [shape, title, value && "value " + value, grad && "grad " + grad].filter(Boolean).join("  "));
    const parts = [el("h2", { class: "mono" }, n.t || n.n), rows];
    if (n.l) parts.push(el("h3", {}, n.l[0] + ":" + n.l[1]), el("pre", {}, n.l[2]));
    const list = (title, edges, end) => {
      if (!edges.length) return;
      parts.push(el("h3", {}, title));
      for (const e of edges.slice(0, 100)) {
        const edge = this.data.edges[e], other = edge[end];
        parts.push(this.item(other, (end === 0 && edge[3] ? edge[3] + ": " : "") + this.name(other)));
      }
      if (edges.length > 100) parts.push(el("p", { class: "soft" }, `… and ${edges.length - 100} more`));
    };
    list("Made of", this.inputs[k], 0);
    list("Used by", this.users[k], 1);
    return parts;
  }

  // ---- drawing
  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  draw() {
    if (!this.width) return;
    const { ctx, scale, layout, colour } = this, ratio = devicePixelRatio || 1;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = colour.paper;
    ctx.fillRect(0, 0, this.width, this.height);
    ctx.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * this.tx, ratio * this.ty);
    const view = { left: -this.tx / scale, top: -this.ty / scale, right: (this.width - this.tx) / scale, bottom: (this.height - this.ty) / scale };
    const seen = (i) => i.x + i.width / 2 >= view.left && i.x - i.width / 2 <= view.right && i.y + i.height >= view.top && i.y <= view.bottom;
    const text = scale > 0.33;
    ctx.lineJoin = "round";
    for (const frame of layout.frames) if (seen(frame)) this.drawFrame(frame);
    this.drawLinks(view, text);
    if (text) for (const frame of layout.frames) if (seen(frame)) this.drawTitle(frame);
    for (const box of layout.boxes) if (box && seen(box)) this.drawBox(box, text);
    for (const item of layout.closed) if (seen(item)) this.drawClosed(item, text);
    if (scale > 0.5) {
      ctx.font = SHAPE_FONT;
      ctx.lineWidth = 3;
      ctx.strokeStyle = colour.paper;
      ctx.fillStyle = colour.soft;
      const moving = new Set(this.travel.map(([edge]) => edge)); // these carry a number of their own
      for (const [x, y, label, edges] of this.labels) {
        if (edges.some((e) => moving.has(e)) || x < view.left - 200 || x > view.right || y < view.top || y > view.bottom + 20) continue;
        ctx.strokeText(label, x, y);
        ctx.fillText(label, x, y);
      }
    }
    this.drawTravel();
    this.drawMap(ratio);
    this.drawThumb(ratio);
  }

  // Numbers on their way along the arrows: from one end to the middle, where they stay.
  drawTravel() {
    if (!this.travel.length || this.scale < 0.2) return;
    const { ctx, colour } = this, share = Math.min(1, (performance.now() - this.travelSince) / 600), eased = 0.5 * (1 - (1 - share) ** 3);
    ctx.font = NAME_FONT;
    ctx.lineWidth = 1.5;
    this.travel.forEach(([edge, label], n) => {
      const points = this.way(edge);
      if (!points.length) return;
      const apart = (n % 3) * 0.08; // several from one box: not at the same height
      const [x, y] = alongWay(points, this.sent ? 1 - eased - apart : eased + apart), width = ctx.measureText(label).width + 12;
      ctx.beginPath();
      ctx.roundRect(x - width / 2, y - 11, width, 21, 10);
      ctx.fillStyle = colour.paper;
      ctx.fill();
      ctx.strokeStyle = ctx.fillStyle = colour[this.phase];
      ctx.stroke();
      ctx.fillText(label, x - width / 2 + 6, y + 4);
    });
    if (share < 1) this.redraw();
  }

  // The corners of an arrow from its source to its target, through the frames of modules.
  way(edge) {
    const links = this.layout.links.filter((link) => !link.stub && link.edges.includes(edge));
    links.sort((p, q) => p.points[1] - q.points[1]);
    return links.flatMap((link) => link.points);
  }

  // The whole drawing in a corner, with what is in view: [left, top, scale], or null when all is in view or nothing could be seen in it.
  map() {
    const { width, height } = this.layout, scale = Math.min(150 / width, (0.6 * this.height) / height);
    if ((width * this.scale <= this.width && height * this.scale <= this.height) || this.width < 420 || width * scale < 6) return null;
    const [left, top] = this.corner(width * scale, height * scale);
    return [left, top, scale];
  }

  // The corner for a map of this size in which it hides least; it stays there while it or the drawing is dragged.
  corner(width, height) {
    const right = this.width - width - 22, bottom = this.height - height - 12;
    if (this.held && this.lastCorner) return [this.lastCorner[0] ? right : 12, this.lastCorner[1] ? bottom : 12];
    const hidden = ([x, y]) => {
      const left = x ? right : 12, top = y ? bottom : 12;
      let area = 0;
      for (const i of [...(this.layout.boxes.length <= 3000 ? this.layout.boxes : []), ...this.layout.closed]) {
        if (!i) continue;
        const over = Math.min(left + width, (i.x + i.width / 2) * this.scale + this.tx) - Math.max(left, (i.x - i.width / 2) * this.scale + this.tx);
        const down = Math.min(top + height, (i.y + i.height) * this.scale + this.ty) - Math.max(top, i.y * this.scale + this.ty);
        if (over > 0 && down > 0) area += over * down;
      }
      return area;
    };
    const corners = [this.lastCorner || [1, 1], [1, 1], [1, 0], [0, 1], [0, 0]], areas = corners.map(hidden);
    this.lastCorner = corners[areas.indexOf(Math.min(...areas))];
    return [this.lastCorner[0] ? right : 12, this.lastCorner[1] ? bottom : 12];
  }

  drawMap(ratio) {
    const place = this.map(), { ctx, colour, layout } = this;
    if (!place) return;
    const [left, top, scale] = place;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.globalAlpha = 0.92;
    ctx.fillStyle = colour.panel;
    ctx.fillRect(left - 4, top - 4, layout.width * scale + 8, layout.height * scale + 8);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = colour.line;
    ctx.lineWidth = 1;
    ctx.strokeRect(left - 4, top - 4, layout.width * scale + 8, layout.height * scale + 8);
    const paint = (items, fill) => {
      ctx.fillStyle = fill;
      for (const i of items) if (i) ctx.fillRect(left + (i.x - i.width / 2) * scale, top + i.y * scale, Math.max(1, i.width * scale), Math.max(1, i.height * scale));
    };
    ctx.globalAlpha = 0.12;
    paint(layout.frames, colour.frame);
    ctx.globalAlpha = 1;
    paint(layout.boxes.length <= 3000 ? layout.boxes : [], colour["op-edge"]);
    paint(layout.closed, colour.frame);
    ctx.strokeStyle = colour.accent;
    ctx.lineWidth = 2;
    const x = Math.max(left - 4, left - (this.tx / this.scale) * scale), y = Math.max(top - 4, top - (this.ty / this.scale) * scale);
    const x1 = Math.min(left + layout.width * scale + 4, left + ((this.width - this.tx) / this.scale) * scale);
    const y1 = Math.min(top + layout.height * scale + 4, top + ((this.height - this.ty) / this.scale) * scale);
    if (x1 > x && y1 > y) ctx.strokeRect(x, y, x1 - x, y1 - y);
  }

  // Move the view to a place of the map; false when it lies elsewhere.
  lookAt(px, py) {
    const place = this.map();
    if (!place) return false;
    const x = (px - place[0]) / place[2], y = (py - place[1]) / place[2];
    if (x < 0 || y < 0 || x > this.layout.width || y > this.layout.height) return false;
    this.tx = this.width / 2 - x * this.scale;
    this.ty = this.height / 2 - y * this.scale;
    this.redraw();
    return true;
  }

  // Where the view lies in a drawing that is higher than it: a bar at the right edge, [top, height], or null.
  thumb() {
    const whole = this.layout.height * this.scale;
    if (whole <= this.height) return null;
    const height = Math.max(24, (this.height * this.height) / whole), share = -this.ty / (whole - this.height);
    return [Math.max(0, Math.min(1, share)) * (this.height - height), height];
  }

  // Move so that the bar's middle is at a height of the canvas.
  scrollTo(y) {
    const whole = this.layout.height * this.scale, [, height] = this.thumb();
    this.ty = -Math.max(0, Math.min(1, (y - height / 2) / (this.height - height))) * (whole - this.height);
    this.redraw();
  }

  drawThumb(ratio) {
    const bar = this.thumb(), { ctx, colour } = this;
    if (!bar) return;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.globalAlpha = 0.45;
    ctx.fillStyle = colour.line;
    ctx.beginPath();
    ctx.roundRect(this.width - 9, bar[0] + 2, 6, bar[1] - 4, 3);
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  drawFrame(frame) {
    const { ctx, colour } = this, left = frame.x - frame.width / 2;
    if (frame.width * this.scale < 3) return;
    ctx.beginPath();
    ctx.roundRect(left, frame.y, frame.width, frame.height, 8);
    ctx.globalAlpha = 0.05;
    ctx.fillStyle = colour.frame;
    ctx.fill();
    ctx.globalAlpha = 0.5;
    ctx.strokeStyle = colour.frame;
    ctx.lineWidth = 1.2;
    ctx.stroke();
    ctx.globalAlpha = 1;
  }

  drawTitle(frame) {
    const { ctx, colour } = this, text = "− " + this.data.groups[frame.index][0];
    ctx.font = NAME_FONT;
    const left = titlePlace(frame.x - frame.width / 2, frame.width, frame.ports || [], ctx.measureText(text).width) ?? frame.x - frame.width / 2 + 9;
    ctx.lineWidth = 4;
    ctx.strokeStyle = colour.paper;
    ctx.strokeText(text, left, frame.y + 16);
    ctx.fillStyle = colour.frame;
    ctx.fillText(text, left, frame.y + 16);
  }

  drawLinks(view, text) {
    const { ctx, colour, scale } = this;
    const far = scale < 0.05; // so small that bends cannot be seen
    const line = 1.3 / Math.min(1, Math.max(scale, 0.02) * 1.6), marked = [];
    const turned = (link) => this.sent !== null && link.edges.some((e) => this.flows.has(e)); // in backward arrows point to the inputs
    const trace = (link) => {
      const p = link.points, n = p.length, back = turned(link), last = p[n - 1] - (link.head && !back ? 5 : 0);
      if (link.stub) {
        ctx.moveTo(p[n - 2], p[n - 1] - 24);
        ctx.lineTo(p[n - 2], last);
        return;
      }
      ctx.moveTo(p[0], p[1] + (back && link.first ? 5 : 0));
      if (far) { ctx.lineTo(p[n - 2], last); return; }
      let x = p[0], y = p[1];
      for (let i = 2; i < n; i += 2) {
        const px = p[i], py = i === n - 2 ? last : p[i + 1];
        if (px === x || !text) ctx.lineTo(px, py);
        else { const m = (y + py) / 2; ctx.bezierCurveTo(x, m, px, m, px, py); }
        x = px;
        y = py;
      }
    };
    const visible = [], gone = [];
    ctx.strokeStyle = ctx.fillStyle = colour.line;
    ctx.lineWidth = line;
    ctx.beginPath();
    for (const link of this.layout.links) {
      if (link.right < view.left || link.left > view.right || link.bottom < view.top || link.top > view.bottom) continue;
      visible.push(link);
      if (this.marked && this.marked.size && link.edges.some((e) => this.marked.has(e))) marked.push(link);
      else if (this.sent && link.edges.some((e) => this.sent.has(e))) gone.push(link); else trace(link);
    }
    ctx.stroke();
    const heads = (links) => {
      ctx.beginPath();
      for (const link of links) {
        const { head, first, points } = link;
        if (turned(link)) {
          if (!first || link.stub) continue;
          ctx.moveTo(points[0], points[1]);
          ctx.lineTo(points[0] - 4.5, points[1] + 9);
          ctx.lineTo(points[0] + 4.5, points[1] + 9);
          continue;
        }
        if (!head) continue;
        const x = points[points.length - 2], y = points[points.length - 1];
        ctx.moveTo(x, y);
        ctx.lineTo(x - 4.5, y - 9);
        ctx.lineTo(x + 4.5, y - 9);
      }
      ctx.fill();
    };
    if (text) heads(visible);
    for (const [links, wide] of [[gone, 1.3], [marked, this.playing ? 2.2 : 1.7]]) {
      if (!links.length) continue;
      ctx.strokeStyle = ctx.fillStyle = this.playing ? colour[this.phase] : colour.accent;
      ctx.lineWidth = line * wide;
      ctx.beginPath();
      links.forEach(trace);
      ctx.stroke();
      if (text) heads(links);
    }
    if (!text) return;
    ctx.font = SHAPE_FONT;
    ctx.fillStyle = colour.soft;
    for (const link of visible) {
      if (link.stub) ctx.fillText("from " + this.data.nodes[link.source].n, link.points[link.points.length - 2] + 5, link.points[link.points.length - 1] - 14);
    }
  }

  // Fill and border of an item that stands for the nodes given.
  style(kind, index, closed) {
    const { colour } = this, [fill, edge] = KINDS[kind] || KINDS.op;
    const holds = (k) => (closed ? this.layout.shown[k].index === index && this.layout.shown[k].kind === "closed" : k === index);
    const found = this.found.length && (closed ? this.foundClosed : this.foundSet).has(index);
    const chosen = this.selected !== null && holds(this.selected);
    const now = this.current >= 0 && holds(this.current);
    return { fill: found ? colour.mark : colour[fill], edge: now ? colour[this.phase] : chosen ? colour.accent : found ? colour["mark-edge"] : colour[edge],
      width: now || chosen ? 3 : 1.2 };
  }

  drawBox(box, text) {
    const { ctx, colour } = this, k = box.index, n = this.data.nodes[k], left = box.x - box.width / 2, look = this.style(n.k, k, false);
    ctx.fillStyle = look.fill;
    if (!text) {
      ctx.fillRect(left, box.y, box.width, box.height);
      if (this.scale > 0.12 || look.width > 2) { ctx.strokeStyle = look.edge; ctx.lineWidth = look.width / this.scale / 2; ctx.strokeRect(left, box.y, box.width, box.height); }
      return;
    }
    ctx.beginPath();
    ctx.roundRect(left, box.y, box.width, box.height, 6);
    ctx.fill();
    ctx.strokeStyle = look.edge;
    ctx.lineWidth = look.width;
    if (n.k === "constant" || n.k === "cut") ctx.setLineDash([4, 3]);
    ctx.stroke();
    ctx.setLineDash([]);
    this.lines[k].forEach(([line, kind], i) => {
      if (kind === "value" && this.showValue && !this.showValue(k)) return;
      if (kind === "grad" && this.showGrad && !this.showGrad(k)) return;
      ctx.font = i ? TEXT_FONT : NAME_FONT;
      const played = { value: this.showValue && colour.forward, grad: this.showGrad && colour.backward }[kind];
      ctx.fillStyle = played || (kind === "held" ? colour["leaf-edge"] : i ? colour.soft : colour.ink);
      ctx.fillText(kind === "grad" && this.gradNow ? "grad " + this.gradNow(k) : line, left + 12, box.y + 19 + i * LINE_HEIGHT);
    });
  }

  drawClosed(item, text) {
    const { ctx, colour } = this, g = item.index, left = item.x - item.width / 2, look = this.style("op", g, true);
    ctx.beginPath();
    ctx.roundRect(left, item.y, item.width, item.height, 8);
    ctx.fillStyle = look.fill;
    ctx.fill();
    ctx.strokeStyle = look.width > 2 || look.fill === colour.mark ? look.edge : colour.frame;
    ctx.lineWidth = Math.max(1.6, look.width);
    ctx.stroke();
    if (!text) return;
    ctx.font = NAME_FONT;
    ctx.fillStyle = colour.frame;
    ctx.fillText("+ " + this.data.groups[g][0], left + 12, item.y + 19);
    ctx.font = TEXT_FONT;
    ctx.fillStyle = colour.soft;
    ctx.fillText(`${this.counts[g]} inside`, left + 12, item.y + 19 + LINE_HEIGHT);
  }
}
