// Plays a graph: the forward pass in the order of execution, then backward in the order in which it really runs.
//
// steps: [{ p: "forward" | "backward", i: node, h: headline, rows: [[name, text]], sums: [[from, text]], total: text, note: text,
//           v: value of the node, r: gradient of the node }]
class StepPlayer {
  constructor(view, steps) {
    this.view = view;
    this.steps = steps;
    this.at = 0;
    this.timer = null;
    const nodes = view.data.nodes;
    this.valueAt = nodes.map(() => Infinity);
    this.gradAt = nodes.map(() => Infinity);
    for (const n of nodes) delete n.r;
    steps.forEach((step, k) => {
      if (step.i < 0) return;
      if (step.v != null) { nodes[step.i].v = step.v; this.valueAt[step.i] = Math.min(this.valueAt[step.i], k); }
      if (step.r != null) { nodes[step.i].r = step.r; this.gradAt[step.i] = Math.min(this.gradAt[step.i], k); }
    });
    nodes.forEach((n, k) => { if (n.k === "leaf") this.valueAt[k] = -1; });
    view.playing = true;
    view.measure();
    view.relayout();
    view.showValue = (k) => this.valueAt[k] <= this.at;
    view.showGrad = (k) => this.gradAt[k] <= this.at;
    this.build();
    view.start = () => { view.first(); this.go(this.at); };
    this.go(0);
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
      button("lastButton", "▶|", "Last step (End)", () => this.go(this.steps.length - 1)), this.slider, this.count, this.speed);
    this.view.container.append(bar);
    document.addEventListener("keydown", (e) => {
      if (/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName) || e.ctrlKey || e.metaKey || e.altKey) return;
      if (e.key === " " && document.activeElement.tagName === "BUTTON") return;
      const action = { ArrowLeft: () => this.go(this.at - 1), ArrowRight: () => this.go(this.at + 1), Home: () => this.go(0),
        End: () => this.go(this.steps.length - 1), " ": () => (this.timer ? this.stop() : this.play()) }[e.key];
      if (action) { action(); e.preventDefault(); }
    });
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
    this.at = Math.max(0, Math.min(this.steps.length - 1, k));
    const step = this.steps[this.at], view = this.view;
    this.slider.value = String(this.at);
    this.count.textContent = `step ${this.at + 1} of ${this.steps.length}`;
    this.firstButton.disabled = this.backButton.disabled = this.at === 0;
    this.nextButton.disabled = this.lastButton.disabled = this.at === this.steps.length - 1;
    view.current = step.i;
    view.phase = step.p;
    view.selected = null;
    view.marked = new Set(step.i < 0 ? [] : step.p === "forward" ? view.inputs[step.i] : [...view.inputs[step.i], ...view.users[step.i]]);
    this.describe(step);
    if (step.i >= 0) { view.reveal(step.i); view.show(step.i); } else view.redraw();
  }

  describe(step) {
    const n = step.i >= 0 ? this.view.data.nodes[step.i] : null;
    const panel = el("div", { class: "step" }, el("div", { class: "phase " + step.p }, step.p === "forward" ? "Forward" : "Backward"),
      el("h2", { class: "mono" }, step.h));
    if (n && n.l) panel.append(el("h3", {}, baseName(n.l[0]) + ":" + n.l[1] + (n.g >= 0 ? " in " + this.view.paths[n.g] : "")), el("pre", {}, n.l[2]));
    const table = (title, rows, total) => {
      if (!rows || !rows.length) return;
      panel.append(el("h3", {}, title));
      const body = el("tbody", {}, ...rows.map(([name, text]) => el("tr", {}, el("td", {}, name), el("td", { class: "mono" }, text))));
      if (total != null && (rows.length > 1 || total !== rows[0][1])) body.append(el("tr", { class: "sum" }, el("td", {}, "sum"), el("td", { class: "mono" }, total)));
      panel.append(el("table", {}, body));
    };
    table(step.p === "forward" ? "Computed from" : "What arrives", step.p === "forward" ? step.rows : step.sums, step.total);
    if (step.p === "forward" && step.out) table("Result", [["value", step.out]]);
    if (step.p === "backward") for (const [title, rows] of step.parts || []) table(title, rows);
    if (step.note) panel.append(el("p", { class: "soft" }, step.note));
    this.view.aside.replaceChildren(panel);
    this.view.aside.scrollTop = 0;
  }
}
