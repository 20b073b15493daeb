// Tooltips for charts, and lines that can be switched off by a click on their name.
function liveCharts(charts) {
  const tip = document.body.appendChild(Object.assign(document.createElement("div"), { className: "tip", hidden: true }));
  const shown = (v) => (typeof v === "number" ? Number(v.toPrecision(4)).toString() : String(v));
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

// Index of the value nearest to the one wanted, in a list that rises.
function nearest(values, wanted) {
  let low = 0, high = values.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] < wanted) low = middle; else high = middle;
  }
  return Math.abs(values[low] - wanted) <= Math.abs(values[high] - wanted) ? low : high;
}
