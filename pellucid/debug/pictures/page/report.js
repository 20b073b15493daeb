// A page of charts, tables and findings: tooltips, sorting, filtering, and the graph if there is one.
const pageData = JSON.parse(document.getElementById("data").textContent);
liveCharts(pageData.charts || []);

// Tables are sorted by a click on the head of a column: numbers downwards first, text upwards first.
document.querySelectorAll(".table table").forEach((table) => {
  const heads = [...table.querySelectorAll("th")];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const body = table.tBodies[0], rows = [...body.rows], numeric = head.classList.contains("num");
    const direction = head.getAttribute("aria-sort") === (numeric ? "descending" : "ascending") ? -1 : 1;
    const value = (row) => (numeric ? Number(row.cells[column].dataset.v ?? row.cells[column].textContent) : row.cells[column].textContent);
    rows.sort((p, q) => direction * (numeric ? value(q) - value(p) : value(p).localeCompare(value(q))));
    body.append(...rows);
    heads.forEach((h) => h.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", (numeric ? direction > 0 : direction < 0) ? "descending" : "ascending");
  }));
});

// Findings of a severity are shown or hidden.
document.querySelectorAll(".filters button").forEach((button) => button.addEventListener("click", () => {
  const shown = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(shown));
  document.querySelectorAll(".finding." + button.dataset.severity).forEach((f) => { f.hidden = !shown; });
}));

const graphPlace = document.getElementById("graph");
const graphView = graphPlace && pageData.graph ? new GraphView(graphPlace, pageData.graph) : null;
