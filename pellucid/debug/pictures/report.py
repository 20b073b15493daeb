"""The report page of a check: findings with their source, losses and gradients, time and memory by
operation and line, histograms of parameters and activations, the graph; and the same of an earlier
run beside it.
"""

from __future__ import annotations

import json
import linecache
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from . import pages
from .adapters import Nearest, as_graph
from .charts import Chart, Series, figure
from .drawing import DRAWN, svg_of

AROUND = 3  # lines of source before and after a finding's
SEVERITIES = ("error", "warning", "info")
_MOST_LINES = 40  # parameters in a chart: those with the largest values
_MOST_HISTOGRAMS = 12  # parameters, and modules, that are drawn
_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


@dataclass(slots=True)
class Report:
    """The data of a report page. All of them are optional.

    Attributes:
        title, about: the title, and a line below it.
        script: the path of the program.
        findings: dicts with "rule", "name", "severity", "file", "line", "message", "evidence" and "fix".
        losses: pairs (step, value).
        gradient_norms, update_ratios, learning_rates: lists of pairs (step, value) by name.
        costs: rows of operation, file, line, calls, seconds and bytes.
        histograms, gradient_histograms: by parameter, (step, edges of bins, elements in each).
        activation_histograms: the same by module.
        compared: an earlier page, as `earlier(path)` in this module reads it: its lines and findings
            are shown beside these.
        graph, names: anything that `draw` accepts, and names for it.
        notes: remarks.

    >>> from pellucid import debug
    >>> page = debug.Report("Run 7", losses=[(0, 2.3), (1, 1.9)]).html
    >>> "Run 7" in page
    True
    """

    title: str = "Check"
    about: str = ""
    script: str = ""
    findings: Sequence[Mapping[str, Any]] = ()
    losses: Sequence[tuple[int, float]] = ()
    gradient_norms: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)
    update_ratios: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)
    learning_rates: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)
    costs: Sequence[tuple[str, str, int, int, float, int]] = ()
    histograms: Mapping[str, Sequence[tuple[int, Sequence[float], Sequence[int]]]] = field(
        default_factory=dict
    )
    gradient_histograms: Mapping[str, Sequence[tuple[int, Sequence[float], Sequence[int]]]] = field(
        default_factory=dict
    )
    activation_histograms: Mapping[str, Sequence[tuple[int, Sequence[float], Sequence[int]]]] = (
        field(default_factory=dict)
    )
    compared: Earlier | None = None
    graph: Any = None
    names: Any = None
    notes: Sequence[str] = ()

    @property
    def html(self) -> str:
        """The page: one file, nothing is loaded from anywhere."""
        charts, spread, active = self._charts(), self._histograms(), self._activations()
        data: dict[str, Any] = {"charts": [c.data for c in (*charts, *spread, *active)]}
        data["run"] = {
            "about": self.about,
            "findings": [_place(f) for f in self.findings],
            "compared": None if self.compared is None else self.compared.name,
        }
        sections = [("findings", f"Findings ({len(self.findings)})", self._findings())]
        if self.compared is not None:
            sections.append(("compared", "Compared", self._compared(self.compared)))
        count = 0
        for name, title, drawn in (
            ("training", "Training", charts),
            ("histograms", "Histograms of parameters", spread),
            ("activations", "Histograms of activations", active),
        ):
            if drawn:
                figures = "".join(figure(c, k) for k, c in enumerate(drawn, count))
                sections.append((name, title, f'<div class="charts">{figures}</div>'))
                count += len(drawn)
        if self.costs:
            sections.append(("operations", "Time and memory by operation", self._by_operation()))
            sections.append(("lines", "Time and memory by line", self._by_line()))
        if self.graph is not None:
            graph = as_graph(self.graph, names=self.names)
            data["graph"] = pages.graph_data(graph)
            still = Nearest(graph, DRAWN) if len(data["graph"]["nodes"]) > DRAWN else graph
            picture = f'<div class="boxed"><div class="graph" id="graph"><div class="still">{svg_of(still)}</div></div></div>'
            sections.append(("graph-section", "Graph of the last loss", picture))
        if self.script and linecache.getline(self.script, 1):
            sections.append(("source", "Source", self._source()))
        links = "".join(f'<a href="#{name}">{escape(title)}</a>' for name, title, _ in sections)
        body = f"<main><header><h1>{escape(self.title)}</h1><p>{escape(self.about)}</p><nav>{links}</nav></header>"
        body += "".join(f'<p class="soft">Note: {escape(note)}</p>' for note in self.notes)
        body += (
            "".join(
                f'<section id="{name}"><h2>{escape(title)}</h2>{inner}</section>'
                for name, title, inner in sections
            )
            + "</main>"
        )
        scripts = ["layout.js", "view.js", "charts.js", "report.js"]
        return pages.page(self.title, body, data, scripts, ["base.css", "graph.css", "report.css"])

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file; returns the path."""
        return pages.write(path, self.html)

    # ---- findings
    def _findings(self) -> str:
        if not self.findings:
            return "<p>No findings.</p>"
        counts = {s: sum(f["severity"] == s for f in self.findings) for s in SEVERITIES}
        filters = "".join(
            f'<button type="button" data-severity="{s}" aria-pressed="true"><span class="badge {s}">{s}</span>{n}</button>'
            for s, n in counts.items()
            if n
        )
        return f'<div class="filters">{filters}</div>' + "".join(
            self._finding(f) for f in self.findings
        )

    def _finding(self, f: Mapping[str, Any]) -> str:
        severity = f["severity"] if f["severity"] in SEVERITIES else "info"
        place = f"{shown_path(f['file'])}:{f['line']}"
        if self.script and os.path.abspath(f["file"]) == os.path.abspath(self.script):
            where = f'<a href="#L{int(f["line"])}">{escape(place)}</a>'
        else:
            where = escape(place)
        seen = "".join(
            f"<div><dt>{escape(str(k).replace('_', ' '))}</dt><dd class='mono'>{escape(_value(v))}</dd></div>"
            for k, v in (f.get("evidence") or {}).items()
        )
        parts = [
            f'<article class="finding {severity}"><h3><span class="badge {severity}">{escape(f["severity"])}</span>',
            f' {escape(f["rule"])} {escape(f["name"])}</h3><div class="where mono">{where}</div>',
            excerpt(f["file"], int(f["line"])),
            f"<p>{_prose(f['message'])}</p>",
            f'<dl class="seen">{seen}</dl>' if seen else "",
            f'<p class="fix">{_prose(f["fix"])}</p>' if f.get("fix") else "",
        ]
        return "".join([*parts, "</article>"])

    def _source(self) -> str:
        lines = linecache.getlines(self.script)
        hits = {
            int(f["line"])
            for f in self.findings
            if os.path.abspath(f["file"]) == os.path.abspath(self.script)
        }
        rows = "".join(_line(k, text, k in hits, f' id="L{k}"') for k, text in enumerate(lines, 1))
        name, opened = escape(shown_path(self.script)), " open" if hits else ""
        return f'<details{opened}><summary>{name}</summary><div class="source mono">{rows}</div></details>'

    # ---- an earlier run
    def _compared(self, other: Earlier) -> str:
        """Findings that one of the runs has, and how the two ended."""
        own, theirs = [_place(f) for f in self.findings], other.findings
        rows = [("this run", self.about), (other.name, other.about)]
        table = "".join(f"<tr><th>{escape(n)}</th><td>{escape(a)}</td></tr>" for n, a in rows)
        parts = [f'<div class="table"><table><tbody>{table}</tbody></table></div>']
        for title, found in (
            ("Gone since then", [f for f in theirs if f not in own]),
            ("New", [f for f in own if f not in theirs]),
        ):
            items = "".join(f"<li class='mono'>{escape(f)}</li>" for f in dict.fromkeys(found))
            parts.append(
                f"<h3>{title}</h3>" + (f"<ul>{items}</ul>" if items else "<p>Nothing.</p>")
            )
        return "".join(parts)

    # ---- charts
    def _charts(self) -> list[Chart]:
        found = []
        if self.losses:
            losses = [_series("loss", self.losses), *self._earlier("Loss")]
            positive = all(not v <= 0 for s in losses for v in s.y)
            found.append(Chart("Loss", losses, log=positive))
        for title, lines in (
            ("Gradient norm by parameter", self.gradient_norms),
            ("Update norm / parameter norm", self.update_ratios),
            ("Learning rate", self.learning_rates),
        ):
            if lines:
                kept = sorted(
                    lines, key=lambda name: -max((v for _, v in lines[name] if v == v), default=0.0)
                )[:_MOST_LINES]
                shown = [_series(name, lines[name]) for name in lines if name in kept]
                more = (
                    f" (the {_MOST_LINES} largest of {len(lines)})"
                    if len(lines) > _MOST_LINES
                    else ""
                )
                found.append(Chart(title + more, [*shown, *self._earlier(title)], log=True))
        return found

    def _earlier(self, title: str) -> list[Series]:
        """The lines that the earlier run has in a chart."""
        return [] if self.compared is None else self.compared.lines.get(title, [])

    def _histograms(self) -> list[Chart]:
        """For each of the largest parameters a chart of its values and one of its gradients, at the
        first, a middle and the last of the steps that are there.
        """

        def size(name: str) -> int:
            return sum(self.histograms[name][0][2])

        kept = sorted(self.histograms, key=size, reverse=True)[:_MOST_HISTOGRAMS]
        found = []
        for name in (n for n in self.histograms if n in kept):
            for title, taken in (("", self.histograms), (", gradient", self.gradient_histograms)):
                if rows := taken.get(name):
                    found.append(_spread(name + title, rows))
        return found

    def _activations(self) -> list[Chart]:
        """A chart for each module, of many for some from the first to the last."""
        names = [n for n, rows in self.activation_histograms.items() if rows]
        most = min(len(names), _MOST_HISTOGRAMS)
        kept = [names[k * (len(names) - 1) // max(most - 1, 1)] for k in range(most)]
        return [_spread(name, self.activation_histograms[name]) for name in kept]

    # ---- costs
    def _by_operation(self) -> str:
        total: dict[str, list[float]] = {}
        for op, _, _, calls, seconds, size in self.costs:
            row = total.setdefault(op, [0, 0.0, 0])
            row[0], row[1], row[2] = row[0] + calls, row[1] + seconds, row[2] + size
        return _table(["operation"], [([op], *row) for op, row in total.items()])

    def _by_line(self) -> str:
        total: dict[tuple[str, int], list[float]] = {}
        for _, file, line, calls, seconds, size in self.costs:
            row = total.setdefault((file, line), [0, 0.0, 0])
            row[0], row[1], row[2] = row[0] + calls, row[1] + seconds, row[2] + size
        rows = []
        for (file, line), row in total.items():
            place = f"{shown_path(file)}:{line}" if file else "not in the program"
            rows.append(([place, linecache.getline(file, line).strip() if file else ""], *row))
        return _table(["line", "source"], rows)


@dataclass(slots=True)
class Earlier:
    """What an earlier report page says: its name, its line below the title, its findings, and the
    lines of its charts by title.
    """

    name: str
    about: str
    findings: list[str]
    lines: dict[str, list[Series]]


def earlier(path: str | os.PathLike[str]) -> Earlier:
    """Read a report page that `Report.save` or `pellucid check --report` has written.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no such page.
    """
    match = _DATA.search(Path(path).read_text(encoding="utf-8", errors="replace"))
    data = json.loads(match[1]) if match is not None else None
    if not isinstance(data, dict) or "run" not in data:
        raise ValueError(f"{os.fspath(path)} is no report of pellucid check")
    name, lines = Path(path).stem, {}
    older = f" ({data['run']['compared']})"  # lines of the run that it was compared with itself
    for chart in data["charts"]:
        lines[chart["title"].partition(" (the ")[0]] = [
            Series(f"{line} ({name})", [float(v) for v in x], [float(v) for v in y])
            for line, x, y in chart["series"]
            if not line.endswith(older)
        ]
    return Earlier(name, data["run"]["about"], data["run"]["findings"], lines)


def _place(f: Mapping[str, Any]) -> str:
    return f"{shown_path(f['file'])}:{f['line']} {f['rule']} {f['name']}"


def _spread(title: str, rows: Sequence[tuple[int, Sequence[float], Sequence[int]]]) -> Chart:
    """Histograms of the first, a middle and the last step."""
    shown = [rows[k] for k in sorted({0, len(rows) // 2, len(rows) - 1})]
    lines = [_outline(f"step {step}", edges, n) for step, edges, n in shown]
    return Chart(title, lines, x_label="value", y_label="of the tallest bar", smooth=False)


def _outline(name: str, edges: Sequence[float], counts: Sequence[int]) -> Series:
    """The outline of a histogram whose tallest bar is 1: gradients of two steps may be a hundred
    times apart, and so would be their densities.
    """
    x = [e for edge in edges for e in (edge, edge)]
    y = [0.0, *[n / max(counts) for n in counts for _ in range(2)], 0.0]
    return Series(name, x, y)


def shown_path(file: str) -> str:
    """A path relative to the current folder when it lies below it."""
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        return file
    return file if relative.startswith("..") else relative


def excerpt(file: str, line: int) -> str:
    """The lines around one line of a file, that line marked; "" when the file cannot be read."""
    lines = linecache.getlines(file)
    if not 1 <= line <= len(lines):
        return ""
    first = max(1, line - AROUND)
    rows = "".join(
        _line(k, lines[k - 1], k == line) for k in range(first, min(len(lines), line + AROUND) + 1)
    )
    return f'<div class="source mono">{rows}</div>'


def _line(number: int, text: str, hit: bool, name: str = "") -> str:
    style = ' class="hit"' if hit else ""
    return f'<div{style}{name}><span class="no">{number}</span>{escape(text.rstrip())}</div>'


def _prose(text: str) -> str:
    """Sentences, what stands between backticks as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(text))


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)):
        return (
            "("
            + ", ".join(map(_value, value[:20]))
            + ("," if len(value) == 1 else ", …" if len(value) > 20 else "")
            + ")"
        )
    text = str(value)
    return text if len(text) <= 2000 else text[:2000] + "…"


def _series(name: str, points: Iterable[tuple[int, float]]) -> Series:
    pairs = list(points)
    return Series(name, [x for x, _ in pairs], [y for _, y in pairs])


def _table(heads: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> str:
    """A table of (texts, calls, seconds, bytes), the slowest first, with bars for shares of the
    time.
    """
    whole = sum(r[2] for r in rows) or 1.0
    head = "".join(f'<th><button type="button">{h}</button></th>' for h in heads)
    for h in ("calls", "time (ms)", "share", "per call (µs)", "results (MiB)"):
        order = ' aria-sort="descending"' if h.startswith("time") else ""
        head += f'<th class="num"{order}><button type="button">{h}</button></th>'
    body = []
    for texts, calls, seconds, size in sorted(rows, key=lambda r: -r[2]):
        cells = "".join(f"<td class='mono'>{escape(str(t))}</td>" for t in texts)
        numbers = ((calls, f"{calls:,.0f}"), (seconds, f"{1e3 * seconds:,.2f}"))
        cells += "".join(f'<td class="num" data-v="{v!r}">{t}</td>' for v, t in numbers)
        share = 100 * seconds / whole
        cells += f'<td class="num bar-cell" data-v="{share!r}"><span class="share" style="width:{share:.1f}%"></span>{share:.1f}%</td>'
        cells += f'<td class="num" data-v="{seconds / max(calls, 1)!r}">{1e6 * seconds / max(calls, 1):,.1f}</td>'
        cells += f'<td class="num" data-v="{size!r}">{size / 2**20:,.2f}</td>'
        body.append(f"<tr>{cells}</tr>")
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'


write = pages.write  # the file appears whole or not at all


def check_report(result: Any, compared: Earlier | None = None) -> str:
    """The page of a check's result (`check.CheckResult`), beside an earlier one:
    `pellucid check --report out.html train.py` writes it.
    """
    measures = result.measures
    found = [f.as_dict() for f in result.findings]
    errors = sum(f["severity"] == "error" for f in found)
    about = f"{shown_path(result.script)}: {len(found)} finding{'s' * (len(found) != 1)}, {errors} of severity error, in {result.steps} "
    about += f"optimizer step{'s' * (result.steps != 1)}, {result.seconds:.1f} s, engine: {result.engine}"
    notes = list(result.notes)
    if result.failure is not None:
        notes.append(f"the program ended with {type(result.failure).__name__}: {result.failure}")
    report = Report("pellucid check", about, result.script, found, notes=notes, compared=compared)
    if measures is not None:
        rates: dict[str, list[tuple[int, float]]] = {}
        for name, points in measures.learning_rates.items():
            for step, values in points:
                for k, value in enumerate(values):
                    rates.setdefault(f"{name} group {k}" if len(values) > 1 else name, []).append(
                        (step, float(value))
                    )
        report.losses, report.gradient_norms, report.update_ratios = (
            measures.losses,
            measures.gradient_norms,
            measures.update_ratios,
        )
        report.learning_rates = rates
        report.histograms = measures.histograms
        report.gradient_histograms = measures.gradient_histograms
        report.activation_histograms = measures.activation_histograms
        report.costs = [
            (op, file, line, c.calls, c.seconds, c.bytes)
            for (op, file, line), c in measures.costs.items()
        ]
        report.graph = getattr(measures, "graph", None)
    return report.html
