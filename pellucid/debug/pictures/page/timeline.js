// The canvas of the ranks: two lanes each, what the rank does and what data are under way for it.
(function () {
  const canvas = document.getElementById("ranks"), pen = canvas.getContext("2d");
  const data = pageData, tip = document.body.appendChild(Object.assign(document.createElement("div"), { className: "tip", hidden: true }));
  const LEFT = 74, TOP = 26, LANE = 30, FLIGHT = 11, GAP = 16, row = LANE + FLIGHT + GAP;
  let from = 0, to = Math.max(data.end, 1), width = 0, colours = {};
  const height = TOP + data.ranks.length * row + 6;
  const x = (t) => LEFT + ((t - from) / (to - from)) * (width - LEFT - 8);
  const time = (px) => from + ((px - LEFT) / (width - LEFT - 8)) * (to - from);

  function read() {
    const style = getComputedStyle(document.documentElement), value = (name) => style.getPropertyValue(name).trim();
    colours = { ink: value("--ink"), soft: value("--soft"), grid: value("--k-grid"), flight: value("--k-flight"), step: value("--line") };
    for (const kind of data.kinds) colours[kind] = value("--k-" + kind);
  }

  const shown = (us) => (us >= 1e6 ? (us / 1e6).toPrecision(4) + " s" : us >= 1e3 ? (us / 1e3).toPrecision(4) + " ms" : Math.round(us) + " µs");

  function draw() {
    width = canvas.parentElement.clientWidth;
    const ratio = devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = height + "px";
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    let unit = 10 ** Math.ceil(Math.log10((to - from) / 8));
    if ((to - from) / unit < 4) unit /= 2;
    for (let t = Math.ceil(from / unit) * unit; t <= to; t += unit) {
      pen.fillStyle = colours.grid;
      pen.fillRect(x(t), TOP - 6, 1, height - TOP);
      pen.fillStyle = colours.soft;
      pen.fillText(shown(t), Math.min(x(t) + 3, width - 60), 11);
    }
    data.ranks.forEach((rank, k) => {
      const y = TOP + k * row;
      pen.fillStyle = colours.ink;
      pen.fillText("rank " + rank.rank, 10, y + LANE / 2);
      pen.save();
      pen.beginPath();
      pen.rect(LEFT, 0, width - LEFT, height);
      pen.clip();
      for (const [kind, a, b] of rank.segments) {
        if (b < from || a > to) continue;
        pen.fillStyle = colours[data.kinds[kind]];
        pen.fillRect(x(a), y, Math.max(x(b) - x(a), 0.6), LANE);
      }
      for (const call of rank.calls) {
        if (call[1] < from || call[0] > to) continue;
        pen.fillStyle = colours.flight;
        pen.globalAlpha = 0.35;
        pen.fillRect(x(call[0]), y + LANE + 2, Math.max(x(call[8]) - x(call[0]), 0.6), FLIGHT - 2);
        pen.globalAlpha = 1;
        pen.fillRect(x(call[8]), y + LANE + 2, Math.max(x(call[1]) - x(call[8]), 0.6), FLIGHT - 2);
      }
      pen.fillStyle = colours.step;
      if (rank.steps.filter((t) => t >= from && t <= to).length < 200) for (const t of rank.steps) pen.fillRect(x(t), y - 4, 1, LANE + FLIGHT + 6);
      pen.restore();
    });
  }

  function at(px, py) {
    const k = Math.floor((py - TOP) / row), rank = data.ranks[k], inside = py - TOP - k * row, t = time(px), slack = (to - from) / (width || 1);
    if (!rank || px < LEFT) return null;
    if (inside <= LANE) {
      const s = rank.segments.find(([, a, b]) => a - slack <= t && t <= b + slack);
      return s ? ["segment", rank, s] : null;
    }
    const c = inside <= LANE + FLIGHT ? rank.calls.find((c) => c[0] - slack <= t && t <= c[1] + slack) : null;
    return c ? ["call", rank, c] : null;
  }

  function tell(event) {
    const box = canvas.getBoundingClientRect(), found = at(event.clientX - box.left, event.clientY - box.top), rows = [];
    if (!found) { tip.hidden = true; return; }
    const [what, rank, item] = found;
    const line = (n) => { if (n >= 0) rows.push(data.lines[n][0], data.lines[n][1]); };
    if (what === "segment") {
      rows.push(`rank ${rank.rank}: ${data.titles[data.kinds[item[0]]]}, ${shown(item[2] - item[1])}`);
      if (item[4]) rows.push(item[4]);
      if (item[0] === data.kinds.indexOf("wait")) {
        const call = rank.calls.find((c) => c[0] <= item[1] && item[1] <= c[1] && c[2] === item[3]);
        const other = call && data.ranks.find((r) => r.rank === call[7]);
        const there = other && other.segments.find(([, a, b]) => a <= item[1] && item[1] <= b);
        line(item[3]);
        if (there && there[3] >= 0) rows.push(`rank ${other.rank} was at ${data.lines[there[3]][0]}: ${data.lines[there[3]][1]}`);
      } else line(item[3]);
    } else {
      rows.push(`${item[3]}: ${item[4]}`, `${shown(item[1] - item[0])}, of which data moved ${shown(item[1] - item[8])}`, `arrival spread ${shown(item[6])}, last was rank ${item[7]}`);
      line(item[2]);
    }
    tip.replaceChildren(...rows.filter(Boolean).map((text, n) => Object.assign(document.createElement("div"), { textContent: text, className: n ? "" : "near" })));
    tip.hidden = false;
    tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 6) + "px";
    tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 6) + "px";
  }

  function show(a, b) {
    const least = 20, size = Math.min(Math.max(b - a, least), data.end || 1);
    from = Math.min(Math.max(a, 0), Math.max(data.end - size, 0));
    to = from + size;
    draw();
  }

  let held = null;
  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    const t = time(e.clientX - canvas.getBoundingClientRect().left), factor = Math.exp(e.deltaY * 0.002);
    show(t - (t - from) * factor, t + (to - t) * factor);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (e) => { held = [e.clientX, from, to]; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointermove", (e) => {
    if (!held) { tell(e); return; }
    tip.hidden = true;
    const shift = ((held[0] - e.clientX) / (width - LEFT - 8)) * (held[2] - held[1]);
    show(held[1] + shift, held[2] + shift);
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("dblclick", () => show(0, data.end));
  canvas.addEventListener("keydown", (e) => {
    const span = to - from, moves = { ArrowLeft: [-0.2, -0.2], ArrowRight: [0.2, 0.2], "+": [0.15, -0.15], "-": [-0.2, 0.2] }[e.key];
    if (moves) { e.preventDefault(); show(from + moves[0] * span, to + moves[1] * span); }
  });
  addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { read(); draw(); });
  read();
  // What comes before the first step is made once: the page begins behind it.
  const first = Math.min(...data.ranks.map((rank) => (rank.steps.length > 3 ? rank.steps[0] : 0)));
  show(first, data.end);
})();
