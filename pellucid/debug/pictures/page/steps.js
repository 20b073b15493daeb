// Plays a graph: the forward pass in the order of execution, then backward in the order in which it really runs.
//
// steps: [{ p: "forward" | "backward", i: node, h: headline, rows: [[name, text]], sums: [[from, text]], total: text, note: text,
//           v: value of the node, r: gradient of the node, e: [[arrow, text that travels on it, node at its other end]],
//           parts: [[title, rows]], links: for each part { to: node, w: how the chain rule is written, g: arrives, d: local derivative,
//           s: is sent } }]
const MATH = "http://www.w3.org/1998/Math/MathML";

function math(tag, ...children) {
  const e = document.createElementNS(MATH, tag);
  e.append(...children);
  return e;
}

const mathName = (text) => math("mtext", text), mathSign = (text) => math("mo", text), mathNumber = (text) => math("mn", text);
const derivative = (of, by) => math("mfrac", math("mrow", mathSign("∂"), mathName(of)), math("mrow", mathSign("∂"), mathName(by)));

class StepPlayer {
  constructor(view, steps, sources) {
    this.view = view;
    this.steps = steps;
    this.sources = sources;
    this.at = 0;
    this.timer = null;
    const nodes = view.data.nodes;
    this.valueAt = nodes.map(() => Infinity);
    this.gradAt = nodes.map(() => Infinity);
    for (const n of nodes) delete n.r;
    const flows = new Set();
    steps.forEach((step, k) => {
      if (step.i < 0) return;
      if (step.v != null) { nodes[step.i].v = step.v; this.valueAt[step.i] = Math.min(this.valueAt[step.i], k); }
      if (step.r != null) { nodes[step.i].r = step.r; this.gradAt[step.i] = Math.min(this.gradAt[step.i], k); }
      if (step.p === "backward") for (const [edge] of step.e || []) flows.add(edge);
    });
    nodes.forEach((n, k) => { if (n.k === "leaf") this.valueAt[k] = -1; });
    this.tally();
    gapY = 58;
    view.flows = flows;
    view.playing = true;
    view.measure();
    view.relayout();
    view.showValue = (k) => this.valueAt[k] <= this.at;
    view.showGrad = (k) => this.gradAt[k] <= this.at || this.soFar(k) !== null;
    view.gradNow = (k) => (this.gradAt[k] <= this.at ? null : this.soFar(k)) ?? shorten(view.data.nodes[k].r);
    this.build();
    view.start = () => { view.first(); this.go(this.at); };
    this.go(0);
  }

  // What has arrived at each leaf by each step, of graphs of numbers.
  tally() {
    this.arrived = new Map();
    this.steps.forEach((step, at) => {
      for (const link of step.links || []) {
        if (link.w !== "number" || this.view.data.nodes[link.to].k !== "leaf") continue;
        const known = this.arrived.get(link.to) || [], sum = (known.length ? known[known.length - 1][1] : 0) + Number(link.s.split(" = ").pop());
        this.arrived.set(link.to, [...known, [at, sum]]);
      }
    });
  }

  soFar(k) {
    const known = (this.arrived.get(k) || []).filter(([at]) => at <= this.at);
    return known.length ? shortNumber(known[known.length - 1][1]) : null;
  }

  build() {
    const button = (name, text, label, action) => (this[name] = el("button", { type: "button", title: label, "aria-label": label, onclick: action }, text));
    this.slider = el("input", { type: "range", min: "0", max: String(this.steps.length - 1), value: "0", "aria-label": "Step",
      oninput: () => this.go(Number(this.slider.value)) });
    this.count = el("span", { class: "count soft" });
    this.speed = el("select", { "aria-label": "Speed", onchange: () => { if (this.timer) { this.stop(); this.play(); } } },
      ...[["slow", 2000], ["normal", 900], ["fast", 250], ["very fast", 40]].map(([text, ms]) => el("option", { value: ms, selected: ms === 900 }, text)));
    const bar = el("div", { class: "player" }, button("firstButton", "|◀", "First step (Home)", () => this.go(0)),
      button("backButton", "◀", "One step back (left arrow)", () => this.go(this.at - 1)),
      button("playButton", "Play", "Play or pause (space)", () => (this.timer ? this.stop() : this.play())),
      button("nextButton", "▶", "One step on (right arrow)", () => this.go(this.at + 1)),
      button("lastButton", "▶|", "Last step (End)", () => this.go(this.steps.length - 1)), this.slider, this.count, this.speed,
      button("presentButton", "Present", "Large type for a projector (p)", () => this.present()));
    this.presentButton.setAttribute("aria-pressed", "false");
    this.view.container.append(bar);
    document.addEventListener("keydown", (e) => {
      if (/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName) || e.ctrlKey || e.metaKey || e.altKey) return;
      if (e.key === " " && document.activeElement.tagName === "BUTTON") return;
      const action = { ArrowLeft: () => this.go(this.at - 1), ArrowRight: () => this.go(this.at + 1), Home: () => this.go(0),
        End: () => this.go(this.steps.length - 1), " ": () => (this.timer ? this.stop() : this.play()), p: () => this.present() }[e.key];
      if (action) { action(); e.preventDefault(); }
    });
  }

  // Large type, nothing but the graph and the step; the same button or key goes back.
  present() {
    const on = document.body.classList.toggle("present"), view = this.view;
    this.presentButton.setAttribute("aria-pressed", String(on));
    view.largest = on ? 2.2 : 1.25;
    requestAnimationFrame(() => { view.resize(); view.first(); this.go(this.at); });
  }

  play() {
    if (this.at >= this.steps.length - 1) this.go(0);
    this.playButton.textContent = "Pause";
    this.timer = setInterval(() => { if (this.at >= this.steps.length - 1) this.stop(); else this.go(this.at + 1, true); }, Number(this.speed.value));
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.playButton.textContent = "Play";
  }

  go(k, keepsPlaying) {
    if (this.timer && !keepsPlaying) this.stop();
    const before = this.at;
    this.at = Math.max(0, Math.min(this.steps.length - 1, k));
    const step = this.steps[this.at], view = this.view, backward = step.p === "backward";
    this.slider.value = String(this.at);
    this.slider.setAttribute("aria-valuetext", `${step.p}: ${step.h}`);
    this.count.textContent = `step ${this.at + 1} of ${this.steps.length}`;
    this.firstButton.disabled = this.backButton.disabled = this.at === 0;
    this.nextButton.disabled = this.lastButton.disabled = this.at === this.steps.length - 1;
    view.current = step.i;
    view.phase = step.p;
    view.selected = null;
    view.travel = step.e || [];
    view.travelSince = before === this.at || matchMedia("(prefers-reduced-motion: reduce)").matches ? -Infinity : performance.now();
    view.marked = new Set(view.travel.map(([edge]) => edge));
    view.sent = backward ? new Set(this.steps.slice(0, this.at + 1).flatMap((s) => (s.p === "backward" ? s.e || [] : []).map(([edge]) => edge))) : null;
    this.describe(step);
    if (step.i >= 0) { view.reveal(step.i); view.show(step.i); } else view.redraw();
  }

  describe(step) {
    const n = step.i >= 0 ? this.view.data.nodes[step.i] : null;
    const panel = el("div", { class: "step" }, el("div", { class: "phase " + step.p }, step.p === "forward" ? "Forward" : "Backward"),
      el("h2", { class: "mono" }, step.h.replace(/\s+\(\)$/, "")));
    if (n && n.l) panel.append(el("h3", {}, baseName(n.l[0]) + ":" + n.l[1] + (n.g >= 0 ? " in " + this.view.paths[n.g] : "")), this.source(n.l));
    const table = (title, rows, total) => {
      if (!rows || !rows.length) return;
      panel.append(el("h3", {}, title));
      const body = el("tbody", {}, ...rows.map(([name, text]) => el("tr", {}, el("td", {}, name), el("td", { class: "mono" }, text))));
      if (total != null && (rows.length > 1 || total !== rows[0][1])) body.append(el("tr", { class: "sum" }, el("td", {}, "sum"), el("td", { class: "mono" }, total)));
      panel.append(el("table", {}, body));
    };
    table(step.p === "forward" ? "Computed from" : "What arrives", step.p === "forward" ? step.rows : step.sums, step.total);
    if (step.p === "forward" && step.out) table("Result", [["value", step.out]]);
    if (step.p === "backward") {
      (step.parts || []).forEach(([title, rows], k) => {
        table(title, rows);
        panel.append(this.chainRule(step, step.links[k]));
      });
    }
    if (step.note) panel.append(el("p", { class: "soft" }, step.note));
    this.view.aside.replaceChildren(panel);
    this.view.aside.scrollTop = 0;
  }

  // The lines of the program around a step's, that one marked.
  source([file, line, text]) {
    const known = this.sources[file] || { [line]: text }, block = el("pre", { class: "lines" });
    const shown = [-4, -3, -2, -1, 0, 1, 2, 3, 4].map((d) => line + d).filter((k) => known[k] !== undefined);
    const indent = Math.min(...shown.filter((k) => known[k].trim()).map((k) => known[k].search(/\S/)));
    for (const k of shown)
      block.append(el("span", k === line ? { class: "hit", "aria-current": "step" } : {}, el("span", { class: "no" }, String(k)), known[k].slice(indent) || " "));
    return block;
  }

  name(k) {
    const own = this.steps.find((s) => s.i === k);
    return own ? own.h.split("  ")[0].replace(/\.grad$/, "") : this.view.data.nodes[k].n;
  }

  // d result / d argument = d result / d this · d this / d argument, with the numbers where they are numbers.
  chainRule(step, { to, w, g, d, s }) {
    const last = this.steps.find((t) => t.p === "backward"), whole = this.name(last.i), here = this.name(step.i), goal = this.name(to);
    const many = this.steps.some((t) => t.p === "backward" && t !== step && (t.e || []).some(([, , k]) => k === to));
    const row = math("mrow", derivative(whole, goal), mathSign(many ? "+=" : "="));
    if (w === "jacobian") row.append(math("msup", math("mrow", mathSign("("), derivative(here, goal), mathSign(")")), mathName("T")), derivative(whole, here));
    else row.append(derivative(whole, here), mathSign(w === "number" ? "·" : "⊙"), derivative(here, goal));
    const formula = math("math", row);
    formula.setAttribute("display", "block");
    const box = el("div", { class: "chain" }, formula);
    if (w === "number" && d != null) box.append(el("div", { class: "mono" }, `= ${g} · ${/^-/.test(d) ? `(${d})` : d} = ${s.split(" = ").pop()}`));
    return box;
  }
}
