"""Pages: self-contained HTML files, assembled from the parts in `page/`. They load nothing.

Names, source lines and values of a program go into the page as escaped text or as JSON in which `<`
is escaped. The scripts insert them as text, never as HTML.
"""

from __future__ import annotations

import json
import linecache
import os
import re
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from ..._files import replacing
from .adapters import instances
from .parts import palette as palette
from .parts import part

AROUND = 4  # lines of source shown before and after the one of a step
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def fill(name: str, **parts: str) -> str:
    """A template with its `{{places}}` filled, all at once: what is filled in is not searched for
    places again.
    """
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], part(name))


def as_json(data: Any) -> str:
    """JSON that can stand inside a script element: no `<`, and none of the separators that end a
    line of JavaScript.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return (
        text.replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
        .replace("&", "\\u0026")
    )


def page(
    title: str, body: str, data: Any, scripts: Sequence[str], styles: Sequence[str] = ("base.css",)
) -> str:
    """A whole page. `body` is HTML, already escaped; `data` is what the scripts read from the
    element `data`.
    """
    style = "\n".join(part(s) for s in styles)
    script = "\n".join(part(s) for s in scripts)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n<body>{body}\n"
        f'<script type="application/json" id="data">{as_json(data)}</script>\n<script>"use strict";\n{script}\n</script></body></html>\n'
    )


def write(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text to a file in one step: a reader sees the old file or the new one, never a part."""
    target = Path(path)
    with replacing(target) as file:
        file.write(text.encode(errors="xmlcharrefreplace"))
    return target


def graph_data(graph: Any, fold: bool = True) -> dict[str, Any]:
    """A drawing's nodes, edges and modules as `page/view.js` reads them; with `fold`, parameters
    stand inside the boxes that use them.
    """
    nodes, edges = list(graph.nodes()), list(graph.edges())
    held: dict[Any, list[list[str]]] = {}
    if fold:
        uses = Counter(e.source for e in edges)
        within = {n.key: n for n in nodes if n.inside and uses[n.key] == 1}
        for e in edges:
            if e.source in within:
                leaf = within[e.source]
                held.setdefault(e.target, []).append(
                    [leaf.name, leaf.shape, leaf.title, leaf.value or "", leaf.grad or ""]
                )
        nodes = [n for n in nodes if n.key not in within]
        edges = [e for e in edges if e.source not in within]
    number = {n.key: k for k, n in enumerate(nodes)}
    groups, member = instances(nodes)
    rows = []
    for n, g in zip(nodes, member, strict=True):
        row: dict[str, Any] = {"n": n.name, "k": n.kind, "g": g}
        line = None if n.line is None else [n.line.file, n.line.line, n.line.text]
        extra = {
            "t": n.title,
            "s": n.shape,
            "d": n.dtype,
            "l": line,
            "v": n.value,
            "r": n.grad,
            "x": list(n.notes),
            "p": held.get(n.key),
        }
        rows.append(row | {k: v for k, v in extra.items() if v})
    return {
        "nodes": rows,
        "edges": [[number[e.source], number[e.target], e.label, e.argument] for e in edges],
        "groups": [[name, parent] for name, parent in groups],
        "leftOut": getattr(graph, "left_out", 0),
    }


def sources(graph: Any) -> dict[str, dict[int, str]]:
    """The lines of the program around those of the boxes, by file and number."""
    found: dict[str, dict[int, str]] = {}
    for n in graph.nodes():
        if n.line is None:
            continue
        lines, known = linecache.getlines(n.line.file), found.setdefault(n.line.file, {})
        for k in range(max(1, n.line.line - AROUND), min(len(lines), n.line.line + AROUND) + 1):
            known[k] = lines[k - 1].rstrip()
    return found


def graph_page(
    title: str, about: str, graph: Any, svg: str, steps: Any = None, program: Any = None
) -> str:
    """The page of one graph, with its steps if there are any; `program` computes the numbers of its
    boxes anew in the page.
    """
    data = {"graph": graph_data(graph, fold=not steps)}
    if steps:
        data |= {"steps": steps, "sources": sources(graph), "program": program}
    body = fill("graph.html", title=escape(title), about=escape(about), svg=svg)
    return page(
        title,
        body,
        data,
        ["layout.js", "view.js", "sliders.js", "steps.js", "graph.js"],
        ["base.css", "graph.css"],
    )
