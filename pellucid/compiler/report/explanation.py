"""Explain what was compiled, as text and as an HTML page: versions, guards, the program with source
lines, fusion, memory, times and code.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from typing import Any

from ..._files import replacing
from ...ir import Buffer
from ...llvm import threads
from .measure import SIZES, Timing, bandwidth, one_by_one, speed, timings


class Explanation:
    """Describes how a compiled function runs: `text` (also used for printing), `html` (a complete
    page) and `save(path)`.
    """

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
        """Write the page, or the text if the file name does not end in .html."""
        from pathlib import Path

        target = Path(path)
        with replacing(target) as file:
            file.write((self.html if target.suffix == ".html" else self.text + "\n").encode())


def explain(function: Any, measure: bool = True, passes: bool = False) -> Explanation:
    """The explanation of a CompiledFunction. With `measure`, each kernel is timed on copies of the
    state. With `passes`, the program is shown after each pass of the compiler.
    """
    title, lines, body = _told(function, measure, passes)
    if function.graph_breaks is not None:
        head = "lines that stay in Python, and the compiled parts"
        lines += ["", f"{head}:", function.graph_breaks.text]
        body += [f"<h2>{head}</h2><pre>{html.escape(function.graph_breaks.text)}</pre>"]
        for k, part in enumerate(function.graph_breaks.parts):
            _, text, page = _told(part, measure, passes, f"_part_{k}: ")
            lines += ["", *text]
            body += page
    return Explanation(
        title, "\n".join(lines), _PAGE.format(title=html.escape(title), body="\n".join(body))
    )


def _told(
    function: Any, measure: bool, passes: bool, name: str = ""
) -> tuple[str, list[str], list[str]]:
    """Title, text and HTML parts about the versions of one function."""
    known = function.name.rpartition("<locals>.")[2]
    title = f"{name}{known}: {len(function.versions)} traced version{'s' * (len(function.versions) != 1)}"
    if getattr(function, "nothing", False):
        title += ", runs in Python: there is nothing to compile"
    lines = [title, *[f"  {k}. {entry}" for k, entry in enumerate(function.history, 1)]]
    body = [
        f"<h1>{html.escape(title)}</h1><ol>",
        *[f"<li>{html.escape(h)}</li>" for h in function.history],
        "</ol>",
    ]
    for k, version in enumerate(function.versions, 1):
        given = ", ".join(
            f"{kind} {list(shape)}" for _, shape, kind, *_ in version.admission.signature
        )
        head = (
            f"version {k}"
            + (f" for {given}" if given else "")
            + f", used {version.hits} time{'s' * (version.hits != 1)}"
        )
        body.append(f"<h2>{head}</h2>")
        lines += ["", head]
        admission, effects, code = version.admission, version.effects, version.code
        several = len(code.halves) > 1
        parts = [
            (f"backward {k}" if several and k else "backward" if k else "forward", run)
            for k, run in enumerate(code.executables)
        ]
        lines += ["", code.program.text(sites=True)]
        body.append(_details("the program, with your source lines", code.program.text(sites=True)))
        for label, run in parts:
            times = timings(run) if measure else []
            text = _part(run, times)
            before, same = run.program.text(), []
            for each, program in run.after_each_pass() if passes else ():
                words, shown = f"{label} after {each}", program.text()
                if shown == before:
                    lines += ["", f"{words}: the same"]
                    same.append(each)
                else:
                    lines += ["", f"{words}:", shown]
                    body.append(_details(words, shown))
                before = shown
            if same:
                body.append(f"<p class=soft>Passes that changed nothing: {', '.join(same)}.</p>")
            lines += ["", f"{label}:" if len(parts) > 1 else "schedule:", *text]
            if len(parts) > 1:
                body.append(f"<h3>{label}</h3>")
            key = f"{name}{k}-{label}".replace(": ", "-").replace(" ", "-")
            body += [
                _in_words(run, times),
                _timeline(times, key),
                _table(run, times, key),
                _memory(run),
                _native(run),
            ]
        for words, things in (
            (
                "inputs other than the arguments, read again at each call",
                [g.path for g in (*admission.watched, *admission.places)],
            ),
            ("changes in Python, repeated by each call", [*effects.calls, *effects.effects]),
        ):
            if things:
                lines += [f"{words}:", *[f"  {thing}" for thing in things]]
                body += [
                    f"<h3>{html.escape(words)}</h3><ul>",
                    *[f"<li>{html.escape(str(thing))}</li>" for thing in things],
                    "</ul>",
                ]
        often = f"{len(admission.always)} guards, compared at each call"
        seldom = f"{len(admission.seldom)} more, compared after a module, a hook or a library setting has changed"
        lines += [often, *[f"  {g}" for g in admission.always[:100]], seldom]
        body += [
            _details(words, "\n".join(map(str, guards)))
            for words, guards in ((often, admission.always), (seldom, admission.seldom))
        ]
    return title, lines, body


def _part(run: Any, times: list[Timing]) -> list[str]:
    counts = Counter(item.kind for item in run.items)
    lines = ["  runs " + _counted(counts)]
    if counts["eager"]:
        why = Counter(
            f"{', '.join(i.op for i in item.instructions)} ({item.reason})"
            for item in run.items
            if item.kind == "eager"
        )
        lines.append(
            "  Python calls: "
            + "; ".join(f"{n} x {name}" if n > 1 else name for name, n in why.items())
        )
    if times:
        count = threads.get_num_threads()
        total = sum(t.seconds or 0 for t in times)
        lines.append(
            f"  {total * 1e6:,.1f} us in all; one thread of this machine: {bandwidth(SIZES[-1]) / 1e9:.0f} GB/s from memory, "
            f"{bandwidth(SIZES[1]) / 1e9:.0f} from the second-level cache; {count} thread(s): {speed(count) / 1e9:.0f} GFLOP/s"
        )
        lines.append(
            "  floor: roughly the minimum time this machine needs to move the item's data and do its arithmetic"
        )
        lines += _rows(times)
    else:
        lines += [
            f"  {item.kind}: {', '.join(i.op for i in item.instructions)}" for item in run.items
        ]
    again = sum(i.again for i in run.planned.instructions)
    made = (
        len(
            {
                v.buffer
                for i in run.program.instructions
                for v in i.outputs
                if v.buffer.kind == "temp"
            }
        )
        + again
    )
    stored = sum(isinstance(thing, Buffer) for thing in run.lives)
    lines.append(
        f"  memory: {run.arena_bytes:,} bytes for {stored} temporaries and the working memory of {len(run.lives) - stored} kernels, which share an "
        f"arena ({run.least_bytes:,} are in use at once); {made - stored - len(run.memory.fresh)} are never stored; {len(run.memory.fresh)} blocks "
        f"({sum(b.size for b in run.memory.fresh):,} bytes) leave the call"
        + (f"; {again} are recomputed in backward" if again else "")
    )
    return lines


def _in_words(run: Any, times: list[Timing]) -> str:
    """What runs, how fast, and with how much memory, in sentences."""
    counts = Counter(item.kind for item in run.items)
    said = ["It runs as " + _counted(counts) + "."]
    if counts["eager"]:
        why = sorted(
            {
                f"{', '.join(i.op for i in item.instructions)} ({item.reason})"
                for item in run.items
                if item.kind == "eager"
            }
        )
        said.append("Python calls: " + "; ".join(why) + ".")
    if times:
        count = threads.get_num_threads()
        said.append(
            f"Timed one by one, these take {sum(t.seconds or 0 for t in times) * 1e6:,.0f} µs."
        )
        apart, fused = (
            one_by_one(run),
            sum(t.seconds or 0 for t in times if t.item.kind != "update"),
        )
        if apart is not None and 0 < fused < apart:
            without = (
                " without the optimizer's update"
                if any(t.item.kind == "update" for t in times)
                else ""
            )
            said.append(
                f"Called one after another as in eager execution, the same operations{without} take {apart * 1e6:,.0f} µs, "
                f"{apart / fused:.1f} times as long."
            )
        said.append(
            f"This machine moves {bandwidth(SIZES[-1]) / 1e9:.0f} GB/s from memory and {bandwidth(SIZES[1]) / 1e9:.0f} GB/s from the "
            "second-level cache, "
            f"and computes {speed(count) / 1e9:.0f} GFLOP/s with {count} thread{'s' * (count > 1)}: “at best” below is the minimum time that "
            "this allows."
        )
    fresh = sum(b.size for b in run.memory.fresh)
    said.append(
        f"Intermediate results share {_size(run.arena_bytes)} of memory ({_size(run.least_bytes)} are in use at once); "
        f"{_size(fresh)} of results are returned or kept."
    )
    return f"<p>{html.escape(' '.join(said))}</p>"


def _size(count: int) -> str:
    return (
        f"{count:,} bytes"
        if count < 10_240
        else f"{count / 1024:,.0f} KiB"
        if count < 10_485_760
        else f"{count / 2**20:,.0f} MiB"
    )


def _timeline(times: list[Timing], key: str) -> str:
    """An SVG of the items one after another; widths are proportional to their times, and each links
    to its row.
    """
    whole = sum(t.seconds or 0 for t in times)
    if not whole:
        return ""
    at, boxes, place = 0.0, [], html.escape(key, quote=True)
    for k, t in enumerate(times):
        width = 1000 * (t.seconds or 0) / whole
        words = html.escape(f"{_what(t)}: {(t.seconds or 0) * 1e6:,.1f} µs", quote=True)
        shape = f"<rect class={t.item.kind} x={at:.2f} y=0 width={max(width, 0.8):.2f} height=34><title>{words}</title></rect>"
        boxes.append(f"<a href='#{place}-{k}' aria-label='{words}'>{shape}</a>")
        at += width
    names = "".join(
        f"<span><i class={kind}></i>{_KINDS[kind]}</span>"
        for kind in dict.fromkeys(t.item.kind for t in times)
    )
    return (
        f"<h3>Timeline: {whole * 1e6:,.0f} µs from left to right</h3><svg class=line viewBox='0 0 1000 34' preserveAspectRatio=none role=group "
        f"aria-label='timeline'>{''.join(boxes)}</svg><p class=keys>{names}</p>"
    )


def _native(run: Any) -> str:
    """The LLVM IR, function by function, each collapsed."""
    found = []
    for schedule in run.schedules:
        first, *functions = re.split(r"\n(?=define )", schedule.text())
        if not functions and first.startswith("define "):
            first, functions = "", [first]
        named = [(re.search(r'@"?([^"(]+)', f.split("\n")[0]), f) for f in functions]
        found += [_details(m[1] if m else "a function", text) for m, text in named]
        if first.strip():
            found.append(_details("declarations", first))
    return f"<details><summary>LLVM IR of the native code, {len(found)} parts</summary>{''.join(found)}</details>"


_KINDS = {
    "loop": "fused loop",
    "product": "matrix product",
    "native": "kernel",
    "update": "optimizer update",
    "eager": "call of Python",
}


def _counted(counts: Counter[str]) -> str:
    """How many items there are of each kind, in words."""
    several = {**{kind: f"{name}s" for kind, name in _KINDS.items()}, "eager": "calls of Python"}
    return ", ".join(f"{n} {(several if n > 1 else _KINDS)[kind]}" for kind, n in counts.items())


def _rows(times: list[Timing]) -> list[str]:
    """The table of items as text."""
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


def _table(run: Any, times: list[Timing], key: str) -> str:
    if not times:
        return ""
    rows = []
    longest = max((t.seconds or 0 for t in times), default=0) or 1
    for k, t in enumerate(times):
        took = "not run" if t.seconds is None else f"{t.seconds * 1e6:,.1f}"
        share = 100 * (t.seconds or 0) / longest
        floor = 100 * min(t.roof, longest) / longest
        lines = "<br>".join(
            sorted({html.escape(str(i.site)) for i in t.item.instructions if i.site is not None})
        )
        rows.append(
            f"<tr class={t.item.kind} id='{html.escape(key, quote=True)}-{k}'><td>{_KINDS[t.item.kind]}"
            f"<td>{html.escape(_what(t))}<br><small>{lines}</small><td class=n>{took}"
            f"<td class=n>{t.roof * 1e6:,.1f}<td><div class=bar style='width:{share:.1f}%'></div><div class=floor style='width:{floor:.1f}%'></div>"
        )
    return (
        "<table><tr><th>kind<th>what it computes, and your lines<th class=n>time, µs<th class=n>at best, µs<th>time (above), at best (below)"
        + "".join(rows)
        + "</table>"
    )


def _memory(run: Any) -> str:
    """An SVG of the arena over the schedule: a rectangle for each temporary, from its first write
    to its last use.
    """
    lives = run.lives
    if not lives or not run.arena_bytes:
        return ""
    width, height, count = 900, 240, max(len(run.items), 1)
    boxes = []
    for b, (first, last) in lives.items():
        x, w = width * first / count, width * (last - first + 1) / count
        y, h = (
            height * run.memory.offsets[b] / run.arena_bytes,
            max(height * b.size / run.arena_bytes, 0.7),
        )
        boxes.append(
            f"<rect x={x:.1f} y={y:.1f} width={w:.1f} height={h:.1f}><title>{b.size:,} bytes, items {first} to {last}</title></rect>"
        )
    picture = f"<svg viewBox='0 0 {width} {height}' role=img aria-label='memory plan'>{''.join(boxes)}</svg>"
    sizes = f"{run.arena_bytes:,} bytes, of which {run.least_bytes:,} are in use at once"
    return (
        f"<h3>Memory: {sizes}; time from left to right, addresses from top to bottom</h3>{picture}"
    )


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
.soft {{ opacity: .75 }} tr:target {{ background: #fd04 }} th.n {{ text-align: right }} details details {{ margin-left: 1.2rem }}
svg.line {{ height: 34px; border: 0 }} svg.line a:focus-visible rect, svg.line rect:hover {{ stroke: var(--ink); stroke-width: 2 }}
.keys {{ display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin: .3rem 0 1rem; font-size: 13px }}
.keys i {{ display: inline-block; width: 1em; height: .8em; margin-right: .4em; border-radius: 2px }}
rect.product {{ fill: #3b6fd4 }} i.product {{ background: #3b6fd4 }} rect.loop {{ fill: #2a9d6a }} i.loop {{ background: #2a9d6a }}
rect.native {{ fill: #8a63d2 }} i.native {{ background: #8a63d2 }} rect.update {{ fill: #b8860b }} i.update {{ background: #b8860b }}
rect.eager {{ fill: #c4622d }} i.eager {{ background: #c4622d }}
tr.eager td:first-child {{ color: #c4622d; font-weight: 600 }} svg {{ width: 100%; border: 1px solid var(--line) }}
rect {{ fill: var(--box); stroke: var(--paper); stroke-width: .5 }} summary {{ cursor: pointer; padding: .3rem 0 }}
</style>
{body}
</html>
"""
