"""What was compiled, in words and as a page: versions, guards, the program with its lines, what was fused, memory, times and code."""

from __future__ import annotations

import html
from collections import Counter
from typing import Any

from ..._files import replacing
from ...ir import Buffer
from ...llvm import threads
from .measure import SIZES, Timing, bandwidth, speed, timings


class Explanation:
    """How a compiled function runs. `text` (also what printing shows), `html` (a page of its own) and `save(path)`."""

    def __init__(self, title: str, text: str, page: str) -> None:
        self.title = title
        self.text = text
        self.html = page

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<details open><summary>{html.escape(self.title)}</summary><pre>{html.escape(self.text)}</pre></details>"

    def save(self, path: Any) -> None:
        """Write the page, or the text when the name does not end in .html."""
        from pathlib import Path

        target = Path(path)
        with replacing(target) as file:
            file.write((self.html if target.suffix == ".html" else self.text + "\n").encode())


def explain(function: Any, measure: bool = True, passes: bool = False) -> Explanation:
    """The explanation of a CompiledFunction; with `measure` each kernel is timed, on copies of the state, and with `passes` the program is
    shown after each pass of the compiler.
    """
    title, lines, body = _told(function, measure, passes)
    if function.graph_breaks is not None:
        head = "what is left to Python, and its compiled parts"
        lines += ["", f"{head}:", function.graph_breaks.text]
        body += [f"<h2>{head}</h2><pre>{html.escape(function.graph_breaks.text)}</pre>"]
        for k, part in enumerate(function.graph_breaks.made.values()):
            _, text, page = _told(part, measure, passes, f"_part_{k}: ")
            lines += ["", *text]
            body += page
    return Explanation(title, "\n".join(lines), _PAGE.format(title=html.escape(title), body="\n".join(body)))


def _told(function: Any, measure: bool, passes: bool, name: str = "") -> tuple[str, list[str], list[str]]:
    """Title, text and page about the versions of one function."""
    title = f"{name}{function.name}: {len(function.versions)} traced version{'s' * (len(function.versions) != 1)}"
    if getattr(function, "nothing", False):
        title += ", runs as Python: there is nothing to compute"
    lines = [title, *[f"  {k}. {entry}" for k, entry in enumerate(function.history, 1)]]
    body = [f"<h1>{html.escape(title)}</h1><ol>", *[f"<li>{html.escape(h)}</li>" for h in function.history], "</ol>"]
    for k, version in enumerate(function.versions, 1):
        given = ", ".join(f"{kind} {list(shape)}" for _, shape, kind, *_ in version.admission.signature)
        head = f"version {k}" + (f" for {given}" if given else "") + f", used {version.hits} time{'s' * (version.hits != 1)}"
        body.append(f"<h2>{head}</h2>")
        lines += ["", head]
        admission, effects, code = version.admission, version.effects, version.code
        parts = list(zip(("forward", "backward"), code.executables, strict=False))
        lines += ["", code.program.text(sites=True)]
        body.append(_details("the program, with the lines that asked for it", code.program.text(sites=True)))
        for label, run in parts:
            times = timings(run) if measure else []
            text = _part(run, times)
            before = run.program.text()
            for each, program in run.after_each_pass() if passes else ():
                words, shown = f"{label} after {each}", program.text()
                if shown == before:
                    lines += ["", f"{words}: the same"]
                    body.append(f"<p>{words}: the same</p>")
                else:
                    lines += ["", f"{words}:", shown]
                    body.append(_details(words, shown))
                before = shown
            lines += ["", f"{label}:" if len(parts) > 1 else "schedule:", *text]
            if len(parts) > 1:
                body.append(f"<h3>{label}</h3>")
            body += [f"<p>{html.escape(line.strip())}</p>" for line in text if line.startswith("  ") and line not in _rows(times)]
            body.append(_table(run, times))
            body.append(_memory(run))
            body.append(_details("LLVM IR of the native code", "\n".join(schedule.text() for schedule in run.schedules)))
        for words, things in (
            ("inputs besides the arguments, others at each call", [g.path for g in (*admission.watched, *admission.places)]),
            ("changes in Python, made again by each call", [*effects.calls, *effects.effects]),
        ):
            if things:
                lines += [f"{words}:", *[f"  {thing}" for thing in things]]
                body += [
                    f"<h3>{html.escape(words)}</h3><ul>",
                    *[f"<li>{html.escape(str(thing))}</li>" for thing in things],
                    "</ul>",
                ]
        often = f"{len(admission.always)} guards, compared at each call"
        seldom = f"{len(admission.seldom)} more, compared when a module, a hook or a setting of the library has changed"
        lines += [often, *[f"  {g}" for g in admission.always[:100]], seldom]
        body += [
            _details(words, "\n".join(map(str, guards)))
            for words, guards in ((often, admission.always), (seldom, admission.seldom))
        ]
    return title, lines, body


def _part(run: Any, times: list[Timing]) -> list[str]:
    counts = Counter(item.kind for item in run.items)
    lines = ["  runs " + ", ".join(f"{n} {_KINDS[kind]}{'s' * (n > 1)}" for kind, n in counts.items())]
    if counts["eager"]:
        why = Counter(f"{', '.join(i.op for i in item.instructions)} ({item.reason})" for item in run.items if item.kind == "eager")
        lines.append("  calls of Python: " + "; ".join(f"{n} x {name}" if n > 1 else name for name, n in why.items()))
    if times:
        count = threads.get_num_threads()
        total = sum(t.seconds or 0 for t in times)
        lines.append(
            f"  {total * 1e6:,.1f} us in all; one thread of this machine: {bandwidth(SIZES[-1]) / 1e9:.0f} GB/s from memory, "
            f"{bandwidth(SIZES[1]) / 1e9:.0f} from the second cache; {count} thread(s): {speed(count) / 1e9:.0f} GFLOP/s"
        )
        lines.append("  floor: about the least time in which this machine can move the item's data and make its operations")
        lines += _rows(times)
    else:
        lines += [f"  {item.kind}: {', '.join(i.op for i in item.instructions)}" for item in run.items]
    again = sum(i.again for i in run.planned.instructions)
    made = len({v.buffer for i in run.program.instructions for v in i.outputs if v.buffer.kind == "temp"}) + again
    stored = sum(isinstance(thing, Buffer) for thing in run.lives)
    lines.append(
        f"  memory: {run.arena_bytes:,} bytes for {stored} temporaries and the working memory of {len(run.lives) - stored} kernels that share an "
        f"arena ({run.least_bytes:,} are in use at once); {made - stored - len(run.memory.fresh)} are never stored; {len(run.memory.fresh)} blocks "
        f"({sum(b.size for b in run.memory.fresh):,} bytes) leave the call"
        + (f"; {again} are computed again in the backward" if again else "")
    )
    return lines


_KINDS = {
    "loop": "fused loop", "product": "matrix product", "native": "kernel", "update": "optimizer update", "eager": "call of Python",
}  # fmt: skip


def _rows(times: list[Timing]) -> list[str]:
    """The table of items, as text."""
    if not times:
        return []
    rows = [f"  {'us':>10} {'floor':>10}  item"]
    for t in times:
        took = "-" if t.seconds is None else f"{t.seconds * 1e6:,.1f}"
        rows.append(f"  {took:>10} {t.roof * 1e6:>10,.1f}  {_what(t)}")
    return rows


def _what(t: Timing) -> str:
    if t.item.kind != "eager":
        return t.title
    return f"{t.title}  [a call of Python: {t.item.reason}]"


def _details(summary: str, text: str) -> str:
    return f"<details><summary>{html.escape(summary)}</summary><pre>{html.escape(text)}</pre></details>"


def _table(run: Any, times: list[Timing]) -> str:
    if not times:
        return ""
    rows = []
    longest = max((t.seconds or 0 for t in times), default=0) or 1
    for t in times:
        took = "not run" if t.seconds is None else f"{t.seconds * 1e6:,.1f}"
        share = 100 * (t.seconds or 0) / longest
        floor = 100 * min(t.roof, longest) / longest
        lines = "<br>".join(sorted({html.escape(str(i.site)) for i in t.item.instructions if i.site is not None}))
        rows.append(
            f"<tr class={t.item.kind}><td>{t.item.kind}<td>{html.escape(_what(t))}<br><small>{lines}</small><td class=n>{took}"
            f"<td class=n>{t.roof * 1e6:,.1f}<td><div class=bar style='width:{share:.1f}%'></div><div class=floor style='width:{floor:.1f}%'></div>"
        )
    return (
        "<table><tr><th>kind<th>what, and the lines it comes from<th>us<th>floor, us<th>time (above) and floor (below)"
        + "".join(rows)
        + "</table>"
    )


def _memory(run: Any) -> str:
    """The arena over the schedule: a rectangle for each temporary, from its first write to its last use."""
    lives = run.lives
    if not lives or not run.arena_bytes:
        return ""
    width, height, count = 900, 240, max(len(run.items), 1)
    boxes = []
    for b, (first, last) in lives.items():
        x, w = width * first / count, width * (last - first + 1) / count
        y, h = height * run.memory.offsets[b] / run.arena_bytes, max(height * b.size / run.arena_bytes, 0.7)
        boxes.append(
            f"<rect x={x:.1f} y={y:.1f} width={w:.1f} height={h:.1f}><title>{b.size:,} bytes, items {first} to {last}</title></rect>"
        )
    picture = f"<svg viewBox='0 0 {width} {height}' role=img aria-label='memory plan'>{''.join(boxes)}</svg>"
    sizes = f"{run.arena_bytes:,} bytes, of which {run.least_bytes:,} are in use at once"
    return f"<h3>Memory: {sizes}; items from left to right, addresses downwards</h3>{picture}"


_PAGE = """<!doctype html>
<html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width"><title>{title}</title>
<style>
:root {{ color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --line: #d5dae1; --bar: #3b6fd4; --floor: #2a9d6a; --box: #9dbdf5 }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #e4e8ee; --paper: #14171c; --line: #39414d; --bar: #6f9bf0; --floor: #4fc491; --box: #36568f }} }}
body {{ font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 1100px; padding: 0 1rem; color: var(--ink); background: var(--paper) }}
table {{ border-collapse: collapse; width: 100% }} td, th {{ border-bottom: 1px solid var(--line); padding: .3rem .5rem; text-align: left;
  vertical-align: top }} td.n {{ text-align: right; font-variant-numeric: tabular-nums }} td:last-child {{ width: 24% }}
small {{ opacity: .7 }} pre {{ overflow: auto; border: 1px solid var(--line); padding: .7rem; font-size: 12.5px }}
.bar {{ background: var(--bar); height: .6rem; min-width: 1px }} .floor {{ background: var(--floor); height: .35rem; min-width: 1px;
  margin-top: 2px }}
@media (max-width: 640px) {{ body {{ margin: 1rem auto }} td:last-child, th:last-child, td:first-child, th:first-child {{ display: none }}
  td:nth-child(2) {{ overflow-wrap: anywhere }} td.n {{ white-space: nowrap }} }}
tr.eager td:first-child {{ color: #c4622d; font-weight: 600 }} svg {{ width: 100%; border: 1px solid var(--line) }}
rect {{ fill: var(--box); stroke: var(--paper); stroke-width: .5 }} summary {{ cursor: pointer; padding: .3rem 0 }}
</style>
{body}
</html>
"""
