// Tooltips for charts, and lines that can be switched off by a click on their name.
function liveCharts(charts) {
  const tip = document.body.appendChild(Object.assign(document.createElement("div"), { className: "tip", hidden: true }));
  const shown = (v) => (typeof v === "number" ? Number(v.toPrecision(4)).toString() : String(v));
  addSmoothing(charts);
  document.querySelectorAll("figure.chart").forEach((figure) => {
    const chart = charts[Number(figure.dataset.chart)], svg = figure.querySelector("svg"), off = new Set();
    const [left, top, right, bottom] = chart.box, [x0, x1] = chart.x;
    const cursor = document.createElementNS("http://www.w3.org/2000/svg", "path");
    cursor.setAttribute("class", "axis");
    cursor.setAttribute("opacity", "0.5");
    svg.append(cursor);
    const leave = () => { tip.hidden = true; cursor.removeAttribute("d"); svg.querySelectorAll("g[data-series]:not(.legend)").forEach((g) => g.classList.remove("off")); fade(); };
    const fade = () => svg.querySelectorAll("g[data-series]").forEach((g) => {
      const hidden = off.has(Number(g.dataset.series));
      if (g.classList.contains("legend")) g.classList.toggle("off", hidden); else g.style.display = hidden ? "none" : "";
    });
    svg.addEventListener("pointerleave", leave);
    svg.addEventListener("pointermove", (e) => {
      const box = svg.getBoundingClientRect();
      const x = (e.clientX - box.left) * (svg.viewBox.baseVal.width / box.width), y = (e.clientY - box.top) * (svg.viewBox.baseVal.height / box.height);
      if (x < left - 5 || x > right + 5 || y < top || y > bottom) { leave(); return; }
      const wanted = x0 + ((x - left) / (right - left)) * (x1 - x0), rows = [];
      let at = null;
      chart.series.forEach(([name, xs, ys], k) => {
        if (off.has(k) || !xs.length) return;
        let i = nearest(xs, wanted);
        rows.push([name, ys[i], k, xs[i]]);
        if (at === null || Math.abs(xs[i] - wanted) < Math.abs(at - wanted)) at = xs[i];
      });
      if (at === null) { leave(); return; }
      const [y0, y1] = chart.y;
      const height = (v) => (typeof v !== "number" ? top : bottom - (bottom - top) * (chart.log ? Math.log(v / y0) / Math.log(y1 / y0) : (v - y0) / (y1 - y0)));
      rows.sort((p, q) => Math.abs(height(p[1]) - y) - Math.abs(height(q[1]) - y));
      const near = rows[0];
      if (chart.series.length > 3) {
        svg.querySelectorAll("g[data-series]:not(.legend)").forEach((g) => g.classList.toggle("off", Number(g.dataset.series) !== near[2]));
      }
      cursor.setAttribute("d", `M${left + ((at - x0) / (x1 - x0)) * (right - left)} ${top}V${bottom}`);
      const head = document.createElement("b");
      head.textContent = chart.categories ? chart.categories[at] : `${chart.xLabel} ${shown(at)}`;
      tip.replaceChildren(head, ...rows.slice(0, 8).map(([name, value], n) => {
        const row = document.createElement("div");
        row.textContent = `${name}: ${shown(value)}`;
        if (n === 0 && chart.series.length > 1) row.className = "near";
        return row;
      }));
      tip.hidden = false;
      tip.style.left = Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 6) + "px";
      tip.style.top = Math.min(e.clientY + 14, innerHeight - tip.offsetHeight - 6) + "px";
    });
    svg.querySelectorAll("g.legend").forEach((g) => g.addEventListener("click", () => {
      const k = Number(g.dataset.series);
      if (off.has(k)) off.delete(k); else off.add(k);
      fade();
    }));
  });
}

// A slider that smooths all lines with many points: an exponential mean of what came before. What was measured stays visible behind it.
function addSmoothing(charts) {
  const place = document.querySelector(".charts");
  if (!place || !charts.some((c) => c.smooth && c.series.some(([, xs]) => xs.length > 8))) return;
  const shown = document.createElement("output"), slider = document.createElement("input"), label = document.createElement("label");
  Object.assign(slider, { type: "range", min: "0", max: "0.98", step: "0.02", value: "0" });
  label.className = "smoothing";
  label.append("Smoothing ", slider, shown);
  place.before(label);
  slider.addEventListener("input", () => {
    const keep = Number(slider.value);
    shown.textContent = keep ? ` ${keep.toFixed(2)}` : " off";
    document.querySelectorAll("figure.chart").forEach((figure) => {
      const chart = charts[Number(figure.dataset.chart)];
      if (!chart.smooth) return;
      figure.querySelectorAll(".smooth").forEach((line) => line.remove());
      figure.querySelectorAll("g[data-series]:not(.legend)").forEach((g) => {
        g.classList.toggle("behind", keep > 0);
        if (!keep) return;
        const [, xs, ys] = chart.series[Number(g.dataset.series)], points = smoothed(chart, xs, ys, keep);
        const line = document.createElementNS(g.namespaceURI, "polyline");
        line.setAttribute("class", "line smooth");
        line.setAttribute("points", points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" "));
        g.append(line);
      });
    });
  });
  shown.textContent = " off";
}

// The places of a smoothed line; on a logarithmic axis logarithms are averaged. Values that cannot be drawn are passed over.
function smoothed(chart, xs, ys, keep) {
  const [left, top, right, bottom] = chart.box, [x0, x1] = chart.x, found = [];
  const to = (v) => (chart.log ? Math.log(v) : v), [low, high] = chart.y.map(to);
  let sum = 0, weight = 0;
  xs.forEach((x, i) => {
    if (typeof ys[i] !== "number" || (chart.log && ys[i] <= 0)) return;
    sum = keep * sum + (1 - keep) * to(ys[i]);
    weight = keep * weight + (1 - keep);
    found.push([left + ((x - x0) / (x1 - x0)) * (right - left), bottom - ((sum / weight - low) / (high - low)) * (bottom - top)]);
  });
  return found;
}

// Index of the value nearest to the one wanted, in a list that rises.
function nearest(values, wanted) {
  let low = 0, high = values.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] < wanted) low = middle; else high = middle;
  }
  return Math.abs(values[low] - wanted) <= Math.abs(values[high] - wanted) ? low : high;
}
