"""The recorded graph as a picture: a self-contained SVG, laid out here, without Graphviz and without a network.

The layout is that of Sugiyama, Tagawa and Toda (1981): a layer per distance from the result, edges that skip layers bent
through invisible places in them, the order within a layer by the mean position of the neighbours.
"""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Any

from ..core.tape import Node
from ..core.tensor import Tensor
from .graph import Facts, _node, breadth_first, brief, dtype_text, graph_text, leaf_names, shape_text

CHAR, LINE, GAP_X, GAP_Y, PAD = 7.3, 17, 26, 44, 12

_STYLE = """
.pg { --ink:#1f2328; --soft:#59636e; --line:#818b98; --op:#eef2f6; --op-edge:#afb8c1; --leaf:#dcefe0; --leaf-edge:#4a9b63;
  --out:#ffe8cf; --out-edge:#c8762a; --const:#f6f6f6; --const-edge:#c5c9ce; background:#ffffff; }
@media (prefers-color-scheme: dark) { .pg { --ink:#e6edf3; --soft:#9aa5b1; --line:#7d8793; --op:#262c36; --op-edge:#4c5663;
  --leaf:#17361f; --leaf-edge:#4fae6c; --out:#47290c; --out-edge:#d98a3d; --const:#1b1f26; --const-edge:#3b434d; background:#0d1117; } }
.pg text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: var(--soft); }
.pg text.name { fill: var(--ink); font-weight: 600; }
.pg rect { stroke-width: 1.2; fill: var(--op); stroke: var(--op-edge); }
.pg .leaf rect { fill: var(--leaf); stroke: var(--leaf-edge); }
.pg .out rect { fill: var(--out); stroke: var(--out-edge); }
.pg .const rect, .pg .cut rect { fill: var(--const); stroke: var(--const-edge); stroke-dasharray: 4 3; }
.pg path.edge { fill: none; stroke: var(--line); stroke-width: 1.3; }
.pg path.head { fill: var(--line); }
""".strip()


class _Box:
    """A box of the drawing, or an invisible place through which a long edge runs (`lines` empty)."""

    def __init__(self, lines: list[str], kind: str, title: str = "") -> None:
        self.lines, self.kind, self.title = lines, kind, title
        self.width = max((len(s) for s in lines), default=0) * CHAR + 2 * PAD if lines else 2.0
        self.height = len(lines) * LINE + 14 if lines else 0.0
        self.x = self.y = 0.0
        self.layer = 0
        self.above: list[_Box] = []
        self.below: list[_Box] = []


def _short(name: str) -> str:
    """MulBackward0 as mul."""
    stem = name.partition("Backward")[0]
    return stem[0].lower() + stem[1:] if stem else name


def _box(edge: Any, output: bool, names: dict[int, str], facts: Facts) -> _Box:
    if isinstance(edge, Node):
        lines = [_short(edge.name()), shape_text(edge.shape)]
        line = edge.line
        title = edge.name() + f"  {dtype_text(edge.dtype)}"
        kept = sorted(edge.plan.entries) if edge.saved else []
        saved = [edge.op.args[i] if kind == "in" else "out" for kind, i in kept if kind in ("in", "out")]
        if saved:
            lines.append("keeps " + ", ".join(saved))
        module = (edge.ext or {}).get("module")
        title += (f"\nin {module}" if module else "") + (f"\n{line}" if line is not None else "")
        if line is not None:
            lines.append(f"{os.path.basename(line.file)}:{line.line}")
        kind = "out" if output else "op"
    else:
        lines = [names.get(id(edge), type(edge).__name__.lower() if type(edge) is not Tensor else "leaf"), shape_text(edge.shape)]
        title, kind = f"{type(edge).__name__} {edge.dtype}, requires_grad={edge._rg}", "leaf"
    for label, table in (("value", facts.values), ("grad", facts.grads)):
        value: Any = table.get(id(edge))
        text = brief(value) if getattr(value, "size", 0) and value.size <= 4 else None
        if text is not None:
            lines.append(f"{label} {text}")
    return _Box([s if len(s) <= 44 else s[:43] + "…" for s in lines], kind, title)


def _boxes(t: Tensor, max_nodes: int, names: dict[int, str]) -> tuple[list[_Box], int]:
    """Boxes with their arrows (`above`: what a box is made of), and the number of nodes left out."""
    order: list[Any] = []
    more = 0
    for edge in breadth_first(t):
        if len(order) < max_nodes:
            order.append(edge)
        else:
            more += 1
    facts = Facts(t, order) if not more else _leaves_only(t, order)
    root = _node(t._node)
    found = {id(edge): _box(edge, edge is root, names, facts) for edge in order}
    boxes = list(found.values())
    for edge in order:
        if not isinstance(edge, Node):
            continue
        box, hidden = found[id(edge)], 0
        for k, target in enumerate(map(_node, edge.inputs)):
            if target is None:
                value = brief(facts.constants.get((id(edge), k)))
                if value is not None and len(value) <= 32:
                    constant = _Box([value], "const", "a constant: it needs no gradient")
                    boxes.append(constant)
                    box.above.append(constant)
            elif id(target) in found:
                if found[id(target)] not in box.above:
                    box.above.append(found[id(target)])
            else:
                hidden += 1
        if hidden:
            cut = _Box([f"… {hidden} more input{'s' * (hidden > 1)}"], "cut", "left out: raise max_nodes to see it")
            boxes.append(cut)
            box.above.append(cut)
    return boxes, more


def _leaves_only(t: Tensor, order: list[Any]) -> Facts:
    """Facts of a part of a graph: gradients inside it are not computed, the whole graph would have to be walked for them."""
    facts = Facts(t, [edge for edge in order if not isinstance(edge, Node)])
    for edge in order:
        if isinstance(edge, Node):
            facts._saved(edge)
    return facts


def _layers(boxes: list[_Box]) -> list[list[_Box]]:
    """Boxes by layer, the result in the last one; long edges are cut into pieces by invisible boxes."""
    # The boxes stand in breadth-first order from the result; a layer is the longest way from it, found in topological order.
    consumers = dict.fromkeys(boxes, 0)
    for box in boxes:
        for a in box.above:
            consumers[a] += 1
    ready, done = [b for b in boxes if not consumers[b]], []
    while ready:
        box = ready.pop()
        done.append(box)
        for a in box.above:
            a.layer = max(a.layer, box.layer + 1)
            consumers[a] -= 1
            if not consumers[a]:
                ready.append(a)
    deepest = max(b.layer for b in boxes)
    layers: list[list[_Box]] = [[] for _ in range(deepest + 1)]
    for box in done:
        box.layer = deepest - box.layer
        layers[box.layer].append(box)
    for box in done:
        for place, a in enumerate(box.above):
            lower = box
            for layer in range(box.layer - 1, a.layer, -1):
                bend = _Box([], "bend")
                bend.layer = layer
                layers[layer].append(bend)
                bend.below.append(lower)
                if lower is box:
                    box.above[place] = bend
                else:
                    lower.above.append(bend)
                lower = bend
            if lower is not box:
                lower.above.append(a)
            a.below.append(lower)
    return layers


def _place(layers: list[list[_Box]]) -> tuple[float, float]:
    """Give every box its place; the size of the drawing."""
    for layer in layers:
        for k, box in enumerate(layer):
            box.x = float(k)
    for sweep in range(12):
        down = sweep % 2 == 0
        for layer in layers if down else layers[::-1]:
            for box in layer:
                near = box.above if down else box.below
                if near:
                    box.y = sum(n.x for n in near) / len(near)
                else:
                    box.y = box.x
            layer.sort(key=lambda b: b.y)
            for k, box in enumerate(layer):
                box.x = float(k)
    for layer in layers:
        at = 0.0
        for box in layer:
            box.x = at + box.width / 2
            at += box.width + GAP_X
    for sweep in range(24):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            wanted = []
            for box in layer:
                near = box.above + box.below
                wanted.append(sum(n.x for n in near) / len(near) if near else box.x)
            right, left = wanted[:], wanted[:]
            for i in range(1, len(layer)):
                right[i] = max(right[i], right[i - 1] + (layer[i - 1].width + layer[i].width) / 2 + GAP_X)
            for i in range(len(layer) - 2, -1, -1):
                left[i] = min(left[i], left[i + 1] - (layer[i + 1].width + layer[i].width) / 2 - GAP_X)
            for box, a, b in zip(layer, right, left, strict=True):
                box.x = (a + b) / 2
    first = min(b.x - b.width / 2 for layer in layers for b in layer)
    y = float(PAD)
    for layer in layers:
        height = max(b.height for b in layer)
        for box in layer:
            box.x += PAD - first
            box.y = y + (height - box.height) / 2 if box.lines else y
            if not box.lines:
                box.height = height
        y += height + GAP_Y
    width = max(b.x + b.width / 2 for layer in layers for b in layer) + PAD
    return width, y - GAP_Y + PAD


def _arrow(lower: _Box, above: _Box) -> str:
    """The path of an arrow from the box above down to `lower`, through the bends between them."""
    points = [(lower.x, lower.y - 5)]
    box = above
    while not box.lines:
        points += [(box.x, box.y + box.height), (box.x, box.y)]
        box = box.above[0]
    points.append((box.x, box.y + box.height))
    points.reverse()
    (x, y), path = points[0], []
    path.append(f"M{x:.1f} {y:.1f}")
    for px, py in points[1:]:
        middle = (y + py) / 2
        path.append(f"C{x:.1f} {middle:.1f} {px:.1f} {middle:.1f} {px:.1f} {py:.1f}" if px != x else f"L{px:.1f} {py:.1f}")
        x, y = px, py
    head = f'<path class="head" d="M{x:.1f} {y + 5:.1f} l-4.5 -9 h9 z"/>'
    return f'<path class="edge" d="{" ".join(path)}"/>{head}'


def graph_svg(t: Tensor, max_nodes: int = 200, *, names: Any = None) -> str:
    """The graph that made a tensor as an SVG picture: inputs above, the result below, one box for each operation and leaf.

    Boxes show operation, shape, what is kept for backward, the line, and values and gradients of up to four elements as far
    as they are known. Of a graph with more than `max_nodes` nodes the ones nearest to the result are drawn, with a note.
    The text can be written to a file or put into a page as it is; it follows the reader's light or dark setting.

    Args:
        t: the result.
        max_nodes: boxes to draw.
        names: names of leaves: a dict of name to tensor, or a module.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> debug.graph_svg(x * x)[:4]
    '<svg'
    """
    if not isinstance(t, Tensor):
        raise TypeError(f"graph_svg(): argument 't' must be Tensor, not {type(t).__name__}")
    if t._node is None:
        box = _Box(["no graph", graph_text(t)], "const")
        boxes, more = [box], 0
    else:
        boxes, more = _boxes(t, max(1, max_nodes), leaf_names(names))
    layers = _layers(boxes)
    width, height = _place(layers)
    note = ""
    if more:
        text = f"the {len(breadth_limit(t, max_nodes))} nodes nearest to the result; {more:,} more are not drawn"
        note = f'<text x="{PAD}" y="{height + 8:.0f}">{text}</text>'
        width, height = max(width, len(text) * CHAR + 2 * PAD), height + 22
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" class="pg" {size} role="img" aria-label="computation graph">'
    parts = [start, f"<style>{_STYLE}</style>"]
    parts += [_arrow(box, a) for box in boxes for a in box.above]
    for box in boxes:
        parts.append(f'<g class="{box.kind}"><title>{escape(box.title)}</title>' if box.title else f'<g class="{box.kind}">')
        parts.append(
            f'<rect x="{box.x - box.width / 2:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="6"/>'
        )
        for k, line in enumerate(box.lines):
            style = ' class="name"' if k == 0 else ""
            parts.append(f'<text{style} text-anchor="middle" x="{box.x:.1f}" y="{box.y + 19 + k * LINE:.1f}">{escape(line)}</text>')
        parts.append("</g>")
    return "".join([*parts, note, "</svg>"])


def breadth_limit(t: Tensor, count: int) -> list[Any]:
    """The first `count` nodes from the result."""
    return [edge for edge, _ in zip(breadth_first(t), range(count), strict=False)]


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><meta name="color-scheme" content="light dark">
<style>
body {{ margin: 0; font: 14px system-ui, sans-serif; background: #fff; color: #1f2328; }}
header {{ padding: 12px 20px; border-bottom: 1px solid #8884; }}
h1 {{ font-size: 16px; margin: 0 0 4px; }}
main {{ overflow: auto; padding: 16px; }}
.key span {{ display: inline-block; padding: 1px 8px; margin-right: 8px; border-radius: 5px; border: 1px solid #8888; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #0d1117; color: #e6edf3; }} }}
</style></head><body><header><h1>{title}</h1>
<div>{about}</div>
<p class="key"><span style="border-color:#4a9b63">leaf that gets a gradient</span><span>operation</span>
<span style="border-color:#c8762a">result</span><span style="border-style:dashed">constant</span>
Rest the pointer on a box for its line.</p></header>
<main>{svg}</main></body></html>
"""


def graph_html(t: Tensor, max_nodes: int = 200, *, names: Any = None, title: str = "Computation graph") -> str:
    """The picture of `graph_svg` as a page of its own, with a legend; nothing is loaded from anywhere."""
    svg = graph_svg(t, max_nodes, names=names)
    node = t.grad_fn
    about = f"result: shape {shape_text(t.shape)}, {t.dtype}" + (f", made by {node.name()}" if node is not None else "")
    if node is not None and node.line is not None:
        about += f" at {node.line}"
    return _PAGE.format(title=escape(title), about=escape(about), svg=svg)


class Drawing:
    """A picture of a tensor's graph that notebooks display, that prints as a tree, and that can be saved."""

    def __init__(self, t: Tensor, max_nodes: int = 200, names: Any = None) -> None:
        self.tensor, self.max_nodes, self.names = t, max_nodes, names
        self.svg = graph_svg(t, max_nodes, names=names)

    def _repr_html_(self) -> str:
        return f'<div style="overflow:auto">{self.svg}</div>'

    def __repr__(self) -> str:
        return graph_text(self.tensor, max_nodes=self.max_nodes, names=self.names)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file: a page for a name that ends in .html, else SVG."""
        target = Path(path)
        page = target.suffix.lower() in (".html", ".htm")
        text = graph_html(self.tensor, self.max_nodes, names=self.names) if page else self.svg
        target.write_text(text, encoding="utf-8")


def draw(t: Tensor, max_nodes: int = 200, *, names: Any = None) -> Drawing:
    """The graph of a tensor as an object that a notebook shows as a picture; see `graph_svg`."""
    return Drawing(t, max_nodes, names)
