"""Draw the recorded graph as SVG, DOT, Mermaid or an interactive page, without Graphviz and without
a network.
"""

from __future__ import annotations

import itertools
import os
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ...core import source
from ...core.tape import Node, walk
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, ArgumentValueError
from ..graph import GraphNode
from . import pages, scalar_program, slides
from .adapters import (
    Nearest,
    ScalarGraph,
    TensorGraph,
    as_graph,
    instances,
    is_scalar_value,
    names_from,
)
from .layout import CHAR, Layout, Link, title_place
from .stepping import Recording, replay, scalar_steps, tensor_steps, values_of

LINE = 17
LONGEST = 44  # characters of a line in a box
DRAWN = 200  # boxes of a still picture; the page has all of them
COMPUTED = 1000  # nodes of a graph of which values that are not kept are computed anew
FORMATS = ("dot", "mermaid", "svg", "html")

_STYLE = """
.pg text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: var(--soft); }
.pg text.name { fill: var(--ink); font-weight: 600; }
.pg text.shape { font-size: 10.5px; paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
.pg rect { stroke-width: 1.2; fill: var(--op); stroke: var(--op-edge); }
.pg .leaf rect { fill: var(--leaf); stroke: var(--leaf-edge); }
.pg .result rect { fill: var(--out); stroke: var(--out-edge); }
.pg .constant rect, .pg .cut rect { fill: var(--const); stroke: var(--const-edge); stroke-dasharray: 4 3; }
.pg rect.frame { fill: var(--frame); fill-opacity: .05; stroke: var(--frame); stroke-opacity: .45; }
.pg text.frame { fill: var(--frame); font-weight: 600; paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
.pg path.edge { fill: none; stroke: var(--line); stroke-width: 1.3; }
.pg path.head { fill: var(--line); }
""".strip()


def _lines(n: GraphNode) -> list[str]:
    """What stands in a box."""
    lines = [n.name, *n.notes]
    if n.line is not None:
        lines.append(f"{os.path.basename(n.line.file)}:{n.line.line}")
    if n.value is not None and n.kind != "constant":
        lines.append(f"value {n.value}")
    if n.grad is not None:
        lines.append(f"grad {n.grad}")
    return [s if len(s) <= LONGEST else s[: LONGEST - 1] + "…" for s in lines]


def _hint(n: GraphNode) -> str:
    """What a box says when the pointer rests on it."""
    parts = [
        f"{n.title or n.name}  {n.shape} {n.dtype}".rstrip(),
        "in " + ".".join(n.group) if n.group else "",
    ]
    return "\n".join(p for p in [*parts, str(n.line) if n.line is not None else ""] if p)


def _path(link: Link, names: list[str]) -> str:
    """An arrow as SVG."""
    points = link.points()
    head = link.b.kind == "box"
    x, y = points[-1]
    if link.stub:
        arrow = f'<path class="head" d="M{x:.1f} {y:.1f} l-4.5 -9 h9 z"/>' if head else ""
        text = f'<text class="shape" x="{x + 5:.1f}" y="{y - 14:.1f}">from {escape(names[link.source])}</text>'
        return f'<path class="edge" stroke-dasharray="2 2" d="M{x:.1f} {y - 24:.1f} V{y:.1f}"/>{arrow}{text}'
    if head:
        points[-1] = (x, y - 5)
    (x, y), path = points[0], []
    path.append(f"M{x:.1f} {y:.1f}")
    for px, py in points[1:]:
        middle = (y + py) / 2
        path.append(
            f"C{x:.1f} {middle:.1f} {px:.1f} {middle:.1f} {px:.1f} {py:.1f}"
            if px != x
            else f"L{px:.1f} {py:.1f}"
        )
        x, y = px, py
    end = f'<path class="head" d="M{x:.1f} {y + 5:.1f} l-4.5 -9 h9 z"/>' if head else ""
    return f'<path class="edge" d="{" ".join(path)}"/>{end}'


def svg_of(graph: Any) -> str:
    """The SVG picture of anything with `nodes()` and `edges()`."""
    nodes, edges = list(graph.nodes()), list(graph.edges())
    about = graph.about() if hasattr(graph, "about") else ""
    if not nodes:
        nodes = [GraphNode("none", "no graph", "constant", notes=(about,))]
    number = {n.key: k for k, n in enumerate(nodes)}
    groups, member = instances(nodes)
    texts = [_lines(n) for n in nodes]
    sizes = [(max(map(len, t)) * CHAR + 24, len(t) * LINE + 14.0) for t in texts]
    drawn = list(dict.fromkeys((number[e.source], number[e.target]) for e in edges))
    layout = Layout(sizes, drawn, groups, member)
    left_out = getattr(graph, "left_out", 0)
    note, width, height = "", max(layout.width, 60.0), layout.height
    if left_out:
        count = len(nodes) - sum(n.kind in ("constant", "cut") for n in nodes)
        text = f"the {count} nodes nearest to the result; {left_out:,} more are not drawn"
        note = f'<text x="14" y="{height + 6:.0f}">{text}</text>'
        width, height = max(width, len(text) * CHAR + 28), height + 20
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="pg" width="{width:.0f}" height="{height:.0f}" '
    ]
    out.append(
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="computation graph"><style>{pages.palette(".pg")}\n{_STYLE}</style>'
    )
    for frame in layout.frames:
        left = frame.x - frame.width / 2
        out.append(
            f'<rect class="frame" x="{left:.1f}" y="{frame.y:.1f}" width="{frame.width:.1f}" height="{frame.height:.1f}" rx="8"/>'
        )
    names = [n.name for n in nodes]
    out += [_path(link, names) for link in layout.links]
    for frame, (name, _) in zip(layout.frames, groups, strict=True):
        left = frame.x - frame.width / 2
        ports = [port.x for port in frame.group.ins.values()] if frame.group is not None else []
        place = title_place(left, frame.width, ports, len(name) * CHAR)
        place = left + 10 if place is None else place
        out.append(
            f'<text class="frame" x="{place:.1f}" y="{frame.y + 16:.1f}">{escape(name)}</text>'
        )
    labels = {number[e.source]: e.label for e in reversed(edges) if e.label}
    for k, (n, box, lines) in enumerate(zip(nodes, layout.boxes, texts, strict=True)):
        left, parts = box.x - box.width / 2, []
        for i, line in enumerate(lines):
            style = ' class="name"' if i == 0 else ""
            parts.append(
                f'<text{style} x="{left + 12:.1f}" y="{box.y + 19 + i * LINE:.1f}">{escape(line)}</text>'
            )
        out.append(
            f'<g class="{n.kind}"><title>{escape(_hint(n))}</title><rect x="{left:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
            f'height="{box.height:.1f}" rx="6"/>{"".join(parts)}</g>'
        )
        if k in labels:
            # Beside the arrow, but not beyond the room of the box; under all boxes of the layer.
            x, y = (
                min(box.x + 5, box.x + box.width / 2 + 12 - 6.4 * len(labels[k])),
                box.y + box.height + box.under + 13,
            )
            out.append(f'<text class="shape" x="{x:.1f}" y="{y:.1f}">{escape(labels[k])}</text>')
    return "".join([*out, note, "</svg>"])


# ---- text formats ----------------------------------------------------------------------------
_SHAPES = {
    "leaf": 'fillcolor="#dcefe0"',
    "result": 'fillcolor="#ffe8cf"',
    "constant": 'style="dashed,rounded"',
}


def _tree(
    nodes: list[GraphNode],
) -> tuple[list[tuple[str, int]], dict[int, list[int]], dict[int, list[int]]]:
    """Modules; parts of each by number; boxes of each."""
    groups, member = instances(nodes)
    parts: dict[int, list[int]] = {}
    boxes: dict[int, list[int]] = {}
    for g, (_, parent) in enumerate(groups):
        parts.setdefault(parent, []).append(g)
    for k, g in enumerate(member):
        boxes.setdefault(g, []).append(k)
    return groups, parts, boxes


def _nested(nodes: list[GraphNode], opening: Any, closing: str, line: Any) -> list[str]:
    """The boxes as lines, those of a module between its opening and its closing line."""
    groups, parts, boxes = _tree(nodes)
    out: list[str] = []
    stack: list[tuple[int, int, bool]] = [(-1, 0, False)]
    while stack:
        g, depth, done = stack.pop()
        pad = "  " * depth
        if done:
            out.append(pad + closing)
            continue
        if g >= 0:
            out.append(pad + opening(g, groups[g][0]))
            stack.append((g, depth, True))
        out += ["  " * (depth + 1) + line(k, nodes[k]) for k in boxes.get(g, ())]
        stack += [(p, depth + 1, False) for p in reversed(parts.get(g, ()))]
    return out


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def dot_of(graph: Any) -> str:
    """The graph in Graphviz's language, modules as clusters, shapes on the arrows."""
    nodes, edges = list(graph.nodes()), list(graph.edges())
    number = {n.key: k for k, n in enumerate(nodes)}

    def line(k: int, n: GraphNode) -> str:
        extra = f", {_SHAPES[n.kind]}" if n.kind in _SHAPES else ""
        return (
            f"n{k} [label={_quoted(chr(10).join(_lines(n)))}, tooltip={_quoted(_hint(n))}{extra}];"
        )

    def opening(g: int, name: str) -> str:
        return f'subgraph cluster_{g} {{ label={_quoted(name)}; color="#0969da"; style=rounded;'

    out = [
        "digraph {",
        '  node [shape=box, style="rounded,filled", fillcolor="#eef2f6", fontname="monospace", fontsize=11];',
    ]
    out.append('  edge [fontname="monospace", fontsize=9];')
    out += _nested(nodes, opening, "}", line)
    for e in edges:
        label = f" [label={_quoted(e.label)}]" if e.label else ""
        out.append(f"  n{number[e.source]} -> n{number[e.target]}{label};")
    return "\n".join([*out, "}", ""])


def _plain(text: str) -> str:
    """Text for Mermaid, which reads entities and little else that is special inside quotes."""
    return "".join(f"#{ord(c)};" if c in '"#&<>`\\' else c for c in text).replace("\n", "<br>")


def mermaid_of(graph: Any) -> str:
    """The graph in Mermaid's language (shown by GitHub and by many notebooks), modules as
    subgraphs, shapes on the arrows.
    """
    nodes, edges = list(graph.nodes()), list(graph.edges())
    number = {n.key: k for k, n in enumerate(nodes)}

    def line(k: int, n: GraphNode) -> str:
        text = "<br>".join(map(_plain, _lines(n)))
        return f'n{k}(["{text}"]):::{n.kind}' if n.kind == "leaf" else f'n{k}["{text}"]:::{n.kind}'

    out = ["flowchart TD"]
    out += _nested(nodes, lambda g, name: f'subgraph g{g}["{_plain(name)}"]', "end", line)
    for e in edges:
        label = f'|"{_plain(e.label)}"|' if e.label else ""
        out.append(f"  n{number[e.source]} -->{label} n{number[e.target]}")
    out.append("  classDef leaf fill:#dcefe0,stroke:#4a9b63,color:#1f2328")
    out.append("  classDef result fill:#ffe8cf,stroke:#c8762a,color:#1f2328")
    out.append("  classDef constant stroke-dasharray:4 3")
    return "\n".join([*out, ""])


# ---- the functions ---------------------------------------------------------------------------
def graph_svg(t: Tensor, max_nodes: int = DRAWN, *, names: Any = None) -> str:
    """The graph that made a tensor as an SVG picture: inputs above, the result below, one box for
    each operation and leaf.

    Boxes show the operation, what is kept for backward, the line, and values and gradients of up to
    four elements as far as they are known; arrows show shapes; modules are frames. Of a graph with
    more than `max_nodes` nodes the ones nearest to the result are drawn, with a note. The text can
    be written to a file or put into a page as it is; it follows the reader's light or dark setting.

    Args:
        t: the result.
        max_nodes: boxes to draw.
        names: names of leaves: a dict of name to tensor, or a module.

    Raises:
        TypeError: `t` is not a tensor.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> debug.graph_svg(x * x)[:4]
    '<svg'
    """
    if not isinstance(t, Tensor):
        raise TypeError(f"graph_svg(): argument 't' must be Tensor, not {type(t).__name__}")
    return svg_of(TensorGraph(t, names, max(1, max_nodes)))


def graph_html(
    t: Tensor, max_nodes: int = DRAWN, *, names: Any = None, title: str = "Computation graph"
) -> str:
    """Return the page of `draw(t)` as HTML text.

    Args:
        t: anything that `draw` accepts.
        max_nodes: boxes in the still picture on the page, which readers without JavaScript see.
        names, title: as for `draw`.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> debug.graph_html(x * 3, title="three times x").count("<svg")
    1
    """
    return Drawing(t, max_nodes=max_nodes, names=names, title=title).html


class Drawing:
    """A picture: notebooks display it, `print` shows it as a tree, and `save` writes it to a file.

    Attributes:
        svg, dot, mermaid, html: the picture as text, made when first read.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> print(debug.draw(x * 3, names={"x": x}).dot.splitlines()[0])
    digraph {
    """

    def __init__(
        self,
        x: Any,
        input: Any = None,
        *,
        format: str | None = None,
        max_nodes: int = DRAWN,
        names: Any = None,
        title: str = "Computation graph",
        recording: Any = None,
        steps: Any = None,
    ) -> None:
        if format is not None and format not in FORMATS:
            raise ArgumentValueError(
                f"draw(): format must be one of {', '.join(FORMATS)}, not {format!r}"
            )
        self.format, self.title, self.steps = format, title, steps
        self.program: dict[str, Any] | None = None
        self.graph = as_graph(x, input, names=names, recording=recording)
        self._still = self.graph
        if sum(1 for _ in self.graph.nodes()) > max_nodes:
            of_tensor = isinstance(self.graph, TensorGraph)
            most = max(1, max_nodes)
            self._still = (
                TensorGraph(x, names, most, recording) if of_tensor else Nearest(self.graph, most)
            )

    @property
    def svg(self) -> str:
        """A still picture; of a large graph the part nearest to the result, with a note."""
        return svg_of(self._still)

    @property
    def dot(self) -> str:
        """The whole graph for Graphviz."""
        return dot_of(self.graph)

    @property
    def mermaid(self) -> str:
        """The whole graph for Mermaid."""
        return mermaid_of(self.graph)

    @property
    def html(self) -> str:
        """A page of its own with the whole graph: modules fold, boxes can be searched; nothing is
        loaded from anywhere.
        """
        about = self.graph.about() if hasattr(self.graph, "about") else ""
        return pages.graph_page(self.title, about, self.graph, self.svg, self.steps, self.program)

    def slide(self, k: int) -> str:
        """Of a step-through, the graph as it is after step `k` (from 0, or from the end) as SVG:
        for slides and papers.

        >>> import pellucid as torch
        >>> from pellucid import debug
        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> played = debug.step_through(x * x, names={"x": x})
        >>> played.slide(-1)[:4], "grad 4" in played.slide(-1)
        ('<svg', True)

        Raises:
            ValueError: the drawing has no steps, or not so many.
        """
        return slides.slide(self.graph, self.steps, self._step(k), svg_of)

    def latex(self, k: int) -> list[str]:
        r"""Of a step-through, the chain rule of backward step `k` as LaTeX: a formula for each
        gradient that it passes on.

        >>> import pellucid as torch
        >>> from pellucid import debug
        >>> x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
        >>> print(debug.step_through(x * y, names={"x": x, "y": y}).latex(1)[0].partition("mul}} ")[2])
        \cdot \frac{\partial \mathrm{mul}}{\partial x} = 1 \cdot 3 = 3

        Raises:
            ValueError: the drawing has no steps, or not so many.
        """
        return slides.latex(self.graph, self.steps, self._step(k))

    def _step(self, k: int) -> int:
        count = len(self.steps or ())
        if not -count <= k < count:
            raise ArgumentValueError(
                f"the drawing has {count} steps" + ("" if count else ": use debug.step_through")
            )
        return k % count

    def _repr_html_(self) -> str:
        if self.format == "html" or self.steps:
            return f'<iframe srcdoc="{escape(self.html)}" style="width:100%;height:640px;border:0"></iframe>'
        return f'<div style="overflow:auto">{self.svg}</div>'

    def __str__(self) -> str:
        return getattr(self, self.format) if self.format is not None else repr(self)

    def __repr__(self) -> str:
        return (
            self.graph.text()
            if hasattr(self.graph, "text")
            else f"<drawing of {len(list(self.graph.nodes()))} nodes>"
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture to a file, in the format of its ending (.svg, .html, .dot or .gv, .mmd
        or .mermaid); returns the path.

        Raises:
            ValueError: another ending, and no `format` was given to `draw`.
        """
        ending = Path(path).suffix.lower()
        kind = {
            ".svg": "svg",
            ".html": "html",
            ".htm": "html",
            ".dot": "dot",
            ".gv": "dot",
            ".mmd": "mermaid",
            ".mermaid": "mermaid",
        }
        chosen = kind.get(ending, self.format)
        if chosen is None:
            raise ArgumentValueError(
                f"save(): {ending or 'a name without ending'} is none of {', '.join(kind)}"
            )
        return pages.write(path, getattr(self, chosen))


def draw(
    t: Any,
    input: Any = None,
    *,
    format: str | None = None,
    names: Any = None,
    max_nodes: int = DRAWN,
    title: str = "Computation graph",
    play: bool = False,
) -> Any:
    """Draw the graph of a tensor, a module or a scalar Value. Notebooks show the result as a
    picture; `save()` writes it to a file.

    Args:
        t: a tensor (what it was made of; also one of real PyTorch), a module (with `input`: the
            operations of one run, in eval mode and without gradients; without: its parts), a
            `pellucid.scalar.Value`, or any object with `nodes()` and `edges()` (see
            `debug.Drawable`).
        input: a module's input: a tensor, a tuple of arguments, or a dict of keyword arguments.
        format: "dot", "mermaid", "svg" or "html": what `print` shows, and `save` for a name without
            one of their endings.
        names: names of leaves: a dict of name to tensor, or a module. Without it, the variables of
            the program are looked through for tensors and modules. Names of parameters also tell
            which module an operation belongs to.
        max_nodes: boxes in a still picture; the page, DOT and Mermaid have all.
        title: the page's title.
        play: the page plays forward and backward pass step by step; see `step_through`.

    Raises:
        TypeError: `t` is nothing that has a graph.
        ValueError: an unknown format.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> print(debug.draw(x * x, names={"x": x}, format="mermaid").mermaid.splitlines()[0])
    flowchart TD
    """
    if names is None and isinstance(t, (Tensor, Node)):
        names = names_from(t, source.user_frame(2))
    if play:
        return step_through(t, names=names, title=title)
    known = (
        values_of(t)
        if isinstance(t, Tensor) and isinstance(t._array, np.ndarray) and _is_small(t)
        else None
    )
    return Drawing(
        t, input, format=format, max_nodes=max_nodes, names=names, title=title, recording=known
    )


def _is_small(t: Tensor) -> bool:
    """Whether a graph is small enough to compute values anew that it does not keep."""
    return (
        sum(1 for _ in itertools.islice(walk([t._node]), COMPUTED + 1)) <= COMPUTED
        if t._node is not None
        else False
    )


def step_through(
    loss: Any, *, names: Any = None, title: str = "Forward and backward, step by step"
) -> Drawing:
    """A page that plays the forward pass and then backward in its true order:
    `step_through(loss).save("steps.html")`.

    Each step shows the operation, its line, its arguments and result; in backward the gradient that
    arrives, as a sum where paths meet, the gradient rule, the local derivative, and what is sent on
    to each argument. Of tensors of up to 16 elements the numbers are shown, of others shape, least,
    greatest and mean.

    Args:
        loss: a tensor; a function without arguments that returns one, which is run and watched; a
            `Recording`, for a run with its own backward; or a `pellucid.scalar.Value`. Of a tensor
            made without being watched, the values are shown that the graph still holds and those
            that follow from them; call it before `backward()`, which frees them. No `.grad` is
            changed; hooks run, since they are a part of backward.
        names: names of leaves: a dict of name to tensor, or a module; without it, those of the
            program's variables.
        title: the page's title.

    Raises:
        TypeError: what is given has no graph.
        ValueError: nothing that requires a gradient was recorded.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> [(step["p"], step["h"]) for step in debug.step_through(x * x + x, names={"x": x}).steps]
    [('forward', 'mul  ()'), ('forward', 'add  ()'), ('backward', 'add'), ('backward', 'mul'), ('backward', 'x.grad')]
    """
    recording, note = None, ""
    if is_scalar_value(loss):
        return Drawing(loss, title=title, steps=scalar_steps(ScalarGraph(loss)))
    if isinstance(loss, Recording):
        recording, loss = loss, loss.last
    elif not isinstance(loss, Tensor) and callable(loss):
        with Recording() as recording:
            loss = loss()
    if loss is None or (isinstance(loss, Tensor) and loss._node is None):
        raise ArgumentValueError(
            "step_through(): there is no graph: nothing that requires a gradient was computed"
        )
    if not isinstance(loss, Tensor):
        raise ArgumentTypeError(
            f"step_through(): argument 'loss' must be Tensor, not {type(loss).__name__}"
        )
    if names is None:
        names = names_from(loss, source.user_frame(2))
    if recording is None or not recording.sent:
        played, note = replay(loss)
        if recording is not None:
            played.values.update(recording.values)
            played.constants.update(recording.constants)
            played.numbers.update(recording.numbers)
            played.modules.update(recording.modules)
        recording = played
    drawing = Drawing(loss, names=names, title=title, recording=recording)
    drawing.steps = tensor_steps(drawing.graph, recording, note)
    drawing.program = scalar_program.program(drawing.graph, recording)
    return drawing


def _node_html(node: Node) -> str:
    """How a notebook shows a node of the graph: the picture of what it was made of."""
    return f'<div style="overflow:auto">{svg_of(TensorGraph(node, names_from(node, source.user_frame(2)), 60))}</div>'


Node._repr_html_ = _node_html  # type: ignore[attr-defined]
