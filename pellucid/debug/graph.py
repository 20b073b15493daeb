"""The recorded graph as text and as lists, from the result back to the leaves."""

from __future__ import annotations

import math
import os
import re
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ..core import observe, reverse
from ..core.display.nodes import accumulator
from ..core.modes import state
from ..core.tape import Node, walk
from ..core.tensor import OutputSlot, Tensor, make_tensor, node_of
from ..errors import facts_of

SMALL = 8  # tensors of at most so many elements show their values


# ---- what can be drawn -----------------------------------------------------------------------
@dataclass(slots=True, eq=False)
class GraphNode:
    """One box of a drawing: an operation, a leaf, a constant or a layer. `Drawable` has an example.

    Attributes:
        key: the name that edges use.
        name, title: the text in the box, and the full name.
        kind: "op", "leaf", "result", "constant" or "cut".
        shape, dtype: of the result, as text.
        group: the path of the modules that the box belongs to, outermost first.
        line: where the program created it: an object with `file`, `line` and `text`.
        value, grad: as text, where they are known and small.
        notes: further lines of text.
        inside: whether it is a parameter or buffer of a module, which a page may show inside the box that uses it.

    >>> from pellucid import debug
    >>> node = debug.GraphNode("read", "read CSV", shape="1000x4")
    >>> node.kind, node.shape
    ('op', '1000x4')
    """

    key: Hashable
    name: str
    kind: str = "op"
    title: str = ""
    shape: str = ""
    dtype: str = ""
    group: tuple[str, ...] = ()
    line: Any = None
    value: str | None = None
    grad: str | None = None
    notes: tuple[str, ...] = ()
    inside: bool = False


class GraphEdge(NamedTuple):
    """An arrow of a drawing: the value of `source` goes into `target`.

    Attributes:
        source, target: keys of `GraphNode`s.
        label: the value's shape.
        argument: the target's name for the value.

    `Drawable` has an example.

    >>> from pellucid import debug
    >>> debug.GraphEdge("read", "fit", label="1000 rows")
    GraphEdge(source='read', target='fit', label='1000 rows', argument='')
    """

    source: Hashable
    target: Hashable
    label: str = ""
    argument: str = ""


@runtime_checkable
class Drawable(Protocol):
    r"""Anything that `draw` accepts besides tensors, modules and scalar Values: an object with these two methods.

    `nodes()` yields a `GraphNode` for each box, inputs before the operations that use them. `edges()` yields `GraphEdge`s between their keys.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> class Pipeline:
    ...     def nodes(self):
    ...         return [debug.GraphNode("read", "read CSV"), debug.GraphNode("fit", "fit model")]
    ...     def edges(self):
    ...         return [debug.GraphEdge("read", "fit", label="1000 rows")]
    >>> print(*debug.draw(Pipeline(), format="mermaid").mermaid.splitlines()[:4], sep="\n")
    flowchart TD
      n0["read CSV"]:::op
      n1["fit model"]:::op
      n0 -->|"1000 rows"| n1
    """

    def nodes(self) -> Iterable[GraphNode]: ...

    def edges(self) -> Iterable[GraphEdge]: ...


def _root(t: Tensor) -> Any:
    """The edge a walk starts from: the node that made the tensor, the tensor itself when it is a
    leaf that requires a gradient.
    """
    return t._node or (t if t._rg else None)


def topological_order(t: Any, *, root_first: bool = False) -> list[Any]:
    """The graph's nodes as PyTorch shows them (`AccumulateGrad` for leaves), each once, inputs
    before their results.

    Args:
        t: a tensor, or a node of a graph (`grad_fn`).
        root_first: the other way round: the result first.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> x = torch.ones(2, requires_grad=True)
    >>> [node.name().split(":")[-1] for node in debug.topological_order((x * x).sum())]
    ['AccumulateGrad', 'MulBackward0', 'SumBackward0']
    """
    if isinstance(t, Tensor):
        start = _root(t)
    elif hasattr(t, "variable"):
        return [t]
    else:
        start = t
    found = list(walk([start]))
    nodes = sorted((n for n in found if isinstance(n, Node)), key=lambda n: n.seq)
    leaves = [accumulator(leaf) for leaf in reversed(found) if not isinstance(leaf, Node)]
    order = [*leaves, *nodes]
    return order[::-1] if root_first else order


@contextmanager
def seen_only_by(*watching: Any) -> Iterator[None]:
    """Inside the block the engine tells `watching` and nobody else: a backward that is run to look
    is not the program's.
    """
    others = observe.observers[:]
    observe.observers[:] = watching
    state.slow += len(watching)
    try:
        yield
    finally:
        state.slow -= len(watching)
        observe.observers[:] = others


# ---- what is known of a place in the graph ---------------------------------------------------
class Facts:
    """Values and gradients inside one graph, as far as they are still there: leaves, what nodes
    saved, the result itself.

    `values` and `grads` are arrays by `id` of node or leaf; `constants` by (id of node, position of
    the argument).
    """

    def __init__(self, t: Tensor | Node, order: Iterable[Any], gradients: bool = True) -> None:
        self.values: dict[int, Any] = {}
        self.grads: dict[int, Any] = {}
        self.constants: dict[tuple[int, int], Any] = {}
        nodes = []
        for edge in order:
            if isinstance(edge, Node):
                nodes.append(edge)
                self._saved(edge)
            else:
                self.values[id(edge)] = edge._array
                if edge._grad is not None:
                    self.grads[id(edge)] = edge._grad._array
        if isinstance(t, Tensor) and isinstance(t._node, Node):
            self.values[id(t._node)] = t._array
        if gradients and isinstance(t, Tensor):
            self._gradients(t, nodes)

    def _saved(self, node: Node) -> None:
        if not node.saved or sum(v.count for v in node.versions) != node.total:
            return  # freed, or overwritten since
        for (kind, index), value in zip(node.plan.entries, node.saved, strict=True):
            if not isinstance(value, (np.ndarray, bool, int, float, complex)):
                continue
            if kind == "in":
                edge = node.inputs[index]
                if edge is None:
                    self.constants[(id(node), index)] = value
                elif isinstance(edge, Node):
                    self.values[id(edge)] = value
            elif kind == "out" and node.op.outputs == 1:
                self.values[id(node)] = value

    def _gradients(self, t: Tensor, nodes: list[Node]) -> None:
        """d t / d node for every node, by a backward of our own that leaves the graph and every
        `.grad` as they are.
        """
        single = [n for n in nodes if n.op.outputs == 1]
        hooked = any(
            n.ext and n.ext.keys() & {"tensor_hooks", "pre_hooks", "post_hooks"} for n in nodes
        )
        freed = any(n.saved is None for n in nodes)
        if t._array.size != 1 or not single or hooked or freed or not hasattr(t._array, "tobytes"):
            return
        targets = []
        single = [n for n in single if math.prod(n.shape) <= SMALL]  # others would not be shown
        for n in single:
            target = make_tensor(np.empty(0, n.dtype))
            target._node, target._rg = n, True
            targets.append(target)
        try:
            with seen_only_by():
                found = reverse.grad([t], targets, [None], True, False, True)
        except Exception as error:
            if facts_of(error) is None:
                raise
            # a graph that cannot be differentiated has no gradients to show; backward itself says
            # why
            return
        self.grads.update(
            {id(n): g._array for n, g in zip(single, found, strict=True) if g is not None}
        )


def brief(array: Any) -> str | None:
    """A small array as text; None for a large one and for one without data."""
    if isinstance(array, (bool, int, float, complex)):
        return f"{array:.4g}" if isinstance(array, (float, complex)) else str(array)
    if not isinstance(array, np.ndarray) or array.size > SMALL:
        return None
    if array.dtype.kind not in "iub":
        array = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
        return np.array2string(
            array, separator=", ", formatter={"all": lambda v: f"{v:.4g}"}
        ).replace("\n", "")
    return np.array2string(array, separator=", ").replace("\n", "")


def leaf_names(names: Any) -> dict[int, str]:
    """Names by `id` of tensor, from a dict of name to tensor or from a module."""
    if names is None:
        return {}
    if not isinstance(names, Mapping):
        names = dict(names.named_parameters())
    return {id(tensor): name for name, tensor in names.items()}


def short_name(name: str) -> str:
    """MulBackward0 as mul, NllLossBackward0 as nll_loss."""
    stem = name.partition("Backward")[0] or name
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).lower()


def module_of(name: str) -> tuple[str, ...]:
    """The path of the module that a parameter's name begins with; () for a name that is none of a
    module's.
    """
    parts = name.split(".")
    return tuple(parts[:-1]) if all(p.isidentifier() or p.isdecimal() for p in parts) else ()


def shape_text(shape: Any) -> str:
    """A shape as a tuple is written; several for a node with several results."""
    if isinstance(shape, list):
        return " and ".join(shape_text(s) for s in shape)
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def dtype_text(dtype: Any) -> str:
    """An element type's name; several for a node with several results."""
    return (
        " and ".join(dict.fromkeys(str(d) for d in dtype))
        if isinstance(dtype, list)
        else str(dtype)
    )


def describe_edge(edge: Any, names: dict[int, str], facts: Facts | None, where: bool = True) -> str:
    """One line on a node or leaf."""
    if isinstance(edge, Node):
        parts = [edge.name(), shape_text(edge.shape), dtype_text(edge.dtype)]
    else:
        kind = type(edge).__name__
        label = f" {names[id(edge)]!r}" if id(edge) in names else ""
        parts = [
            f"AccumulateGrad: leaf{label}" + (f" {kind}" if kind != "Tensor" else ""),
            f"shape={shape_text(edge.shape)}, dtype={edge.dtype}, requires_grad={edge._rg}",
        ]
    if facts is not None:
        for label, table in (("value", facts.values), ("grad", facts.grads)):
            text = brief(table.get(id(edge)))
            if text is not None:
                parts.append(f"{label}={text}")
    if where and isinstance(edge, Node):
        line, module = edge.line, (edge.ext or {}).get("module")
        if module:
            parts.append(f"in {module}")
        if line is not None:
            parts.append(
                f"at {os.path.basename(line.file)}:{line.line}"
                + (f"  {line.text}" if line.text else "")
            )
    return "  ".join(parts)


# ---- text ------------------------------------------------------------------------------------
def graph_lines(
    t: Any,
    max_depth: int = 50,
    max_nodes: int = 1000,
    *,
    values: bool = False,
    names: Any = None,
    sources: bool = True,
) -> list[str]:
    """Return the lines of `graph_text` as a list.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> debug.graph_lines(x.exp(), names={"x": x}, sources=False)
    ['- ExpBackward0  ()  float32', "  - AccumulateGrad: leaf 'x'  shape=(), dtype=torch.float32, requires_grad=True"]
    """
    if not isinstance(t, (Tensor, Node)):
        return [f"{type(t).__name__} (not a tensor)"]
    if isinstance(t, Tensor) and t._node is None:
        return [
            f"No autograd graph: grad_fn is None (requires_grad={t._rg}, shape={shape_text(t.shape)})."
        ]
    start = t if isinstance(t, Node) else t._node
    facts = Facts(t, walk([start])) if values else None
    known = leaf_names(names)
    lines: list[str] = []
    seen: set[int] = set()
    # An entry is (edge, depth, consumer, argument number); the first on top.
    stack: list[tuple[Any, int, Any, int]] = [(start, 0, None, 0)]
    while stack:
        edge, depth, consumer, place = stack.pop()
        pad = "  " * depth + "- "
        if len(lines) >= max_nodes:
            lines.append(f"... (max_nodes={max_nodes} reached; the graph has more)")
            break
        index = f"  result {edge.index}" if type(edge) is OutputSlot else ""
        edge = node_of(edge)
        if edge is None:
            value = None if facts is None else brief(facts.constants.get((id(consumer), place)))
            lines.append(
                pad + "None (constant)" + (f"  value={value}" if value is not None else "")
            )
            continue
        if id(edge) in seen:
            label = (
                edge.name()
                if isinstance(edge, Node)
                else describe_edge(edge, known, None).split("  ")[0]
            )
            lines.append(f"{pad}{label}{index} (seen)")
            continue
        seen.add(id(edge))
        text = pad + describe_edge(edge, known, facts, sources) + index
        inputs = edge.inputs if isinstance(edge, Node) else ()
        if inputs and depth >= max_depth:
            lines.append(text + " (max_depth reached)")
            continue
        lines.append(text)
        stack += [(e, depth + 1, edge, k) for k, e in reversed(list(enumerate(inputs)))]
    return lines


def graph_text(
    t: Any,
    max_depth: int = 50,
    max_nodes: int = 1000,
    *,
    values: bool = False,
    names: Any = None,
    sources: bool = True,
) -> str:
    """The graph that made a tensor as an indented tree; what is shared appears once and is marked
    `(seen)` after that.

    Args:
        t: the result, or the node that made it (`grad_fn`).
        max_depth: levels below the result that are shown.
        max_nodes: lines that are shown.
        values: show values and gradients of tensors of at most 8 elements, as far as they are still
            kept: leaves, what backward will need, and the result. Gradients are those of the result
            when it is a scalar and its graph was not freed.
        names: names of leaves: a dict of name to tensor, or a module.
        sources: show the source line (and, after `debug.watch()`, the module) of each operation.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    >>> print(debug.graph_text((x + y) * x, values=True, names={"x": x, "y": y}, sources=False))
    - MulBackward0  ()  float32  value=10  grad=1
      - AddBackward0  ()  float32  value=5  grad=2
        - AccumulateGrad: leaf 'x'  shape=(), dtype=torch.float32, requires_grad=True  value=2
        - AccumulateGrad: leaf 'y'  shape=(), dtype=torch.float32, requires_grad=True  value=3
      - AccumulateGrad: leaf 'x' (seen)
    """
    return "\n".join(
        graph_lines(t, max_depth, max_nodes, values=values, names=names, sources=sources)
    )


def visualize_autograd_graph(t: Any, max_depth: int = 50, **options: Any) -> list[str]:
    """Print `graph_text` and return its lines.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> _ = debug.visualize_autograd_graph(x * 3, names={"x": x}, sources=False)
    - MulBackward0  ()  float32
      - AccumulateGrad: leaf 'x'  shape=(), dtype=torch.float32, requires_grad=True
      - None (constant)
    """
    lines = graph_lines(t, max_depth, **options)
    print("\n".join(lines))
    return lines


def breadth_first(t: Tensor | Node) -> Iterator[Any]:
    """Nodes and leaves, each once, those nearest to the result first."""
    waiting, seen = deque([t if isinstance(t, Node) else node_of(_root(t))]), set()
    while waiting:
        edge = waiting.popleft()
        if edge is None or id(edge) in seen:
            continue
        seen.add(id(edge))
        yield edge
        if isinstance(edge, Node):
            waiting.extend(node_of(e) for e in edge.inputs)


def print_autograd_graph(t: Any, max_nodes: int = 50, *, names: Any = None) -> list[str]:
    """Print the nodes of a graph, those nearest to the result first, each with its inputs by number. Returns the lines.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> _ = debug.print_autograd_graph((x * 3).sin(), names={"x": x})
    0: SinBackward0  ()  float32  at ...  <- 1
    1: MulBackward0  ()  float32  at ...  <- 2, None
    2: AccumulateGrad: leaf 'x'  shape=(), dtype=torch.float32, requires_grad=True
    """
    if not isinstance(t, Node) and (not isinstance(t, Tensor) or t._node is None):
        lines = graph_lines(t)
    else:
        known, lines, numbers = leaf_names(names), [], {}
        order = list(breadth_first(t))
        for k, edge in enumerate(order):
            numbers[id(edge)] = k
        for k, edge in enumerate(order[:max_nodes]):
            inputs = [node_of(e) for e in edge.inputs] if isinstance(edge, Node) else []
            arrows = ", ".join("None" if e is None else str(numbers[id(e)]) for e in inputs)
            lines.append(
                f"{k}: {describe_edge(edge, known, None)}" + (f"  <- {arrows}" if inputs else "")
            )
        if len(order) > max_nodes:
            lines.append(f"... ({len(order) - max_nodes} more nodes; max_nodes={max_nodes})")
    print("\n".join(lines))
    return lines
