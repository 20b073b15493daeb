"""Turn what can be drawn into nodes and edges: the graph of a tensor, of a scalar Value, the tree
of a module, one run of a module.
"""

from __future__ import annotations

import math
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from ...core import observe, source
from ...core.display.nodes import AccumulateGrad
from ...core.modes import no_grad
from ...core.tape import Node, walk
from ...core.tensor import OutputSlot, Tensor, node_of
from ...errors import ArgumentTypeError
from ..graph import (
    Drawable,
    Facts,
    GraphEdge,
    GraphNode,
    breadth_first,
    brief,
    dtype_text,
    graph_text,
    leaf_names,
    module_of,
    shape_text,
    short_name,
)
from ..layers import evaluating
from ..questions.memory import owner
from ..questions.naming import namespaces
from .foreign import ForeignGraph, is_foreign

WIDEST = 32  # characters of a value in a box
# Nodes of a graph, and elements of all their values, up to which gradients are computed for the
# picture.
_DIFFERENTIATED, _ELEMENTS = 4000, 1_000_000


def value_text(array: Any, most: int = 4) -> str | None:
    """A value that fits into a box, else None."""
    text = (
        brief(array)
        if getattr(array, "size", most + 1) <= most or isinstance(array, (int, float, complex))
        else None
    )
    return text if text is not None and len(text) <= WIDEST else None


class Lines:
    """Source lines of nodes; looking one up walks the code of its function, so each place is looked
    up once.
    """

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def __call__(self, node: Node) -> Any:
        site = node.source
        if site is None:
            return None
        key = (id(site[0]), site[1])
        if key not in self._known:
            self._known[key] = source.describe(site)
        return self._known[key]


# ---- tensors ---------------------------------------------------------------------------------
class TensorGraph:
    """The graph that made a tensor. `left_out` is the number of nodes beyond `max_nodes`.

    Modules are those that were noted while the program ran (`debug.watch()`, `debug.Recording()`);
    where none were, and `names` is a module, an operation belongs to the module whose parameters it
    uses.
    """

    def __init__(
        self,
        t: Tensor | Node,
        names: Any = None,
        max_nodes: int | None = None,
        recording: Any = None,
    ) -> None:
        self.tensor, self.names, self.recording = t, leaf_names(names), recording
        self._given = names
        order: list[Any] = []
        self.left_out = 0
        for edge in breadth_first(t):
            if max_nodes is None or len(order) < max_nodes:
                order.append(edge)
            else:
                self.left_out += 1
        self._shown = {id(edge) for edge in order}
        self._facts = self._known(order)
        self.operations = sorted((e for e in order if isinstance(e, Node)), key=lambda n: n.seq)
        self._modules = self._groups()
        self._nodes: list[GraphNode] = []
        self._edges: list[GraphEdge] = []
        # by id of operation and position of the argument: number of the arrow
        self.edge_of: dict[tuple[int, int], int] = {}
        self._read()

    def _known(self, order: list[Any]) -> Facts:
        # Gradients inside a part of a graph are not computed: the whole graph would have to be
        # walked for them.
        small = not self.left_out and len(order) <= _DIFFERENTIATED
        return Facts(
            self.tensor, order, gradients=small and sum(map(_elements, order)) <= _ELEMENTS
        )

    # ---- modules
    def _groups(self) -> dict[int, tuple[str, ...]]:
        found: dict[int, tuple[str, ...]] = {}
        recorded = getattr(self.recording, "modules", {})
        for n in self.operations:
            path = (n.ext or {}).get("module")
            if id(n) in recorded:
                found[id(n)] = recorded[id(n)]
            elif path:
                found[id(n)] = tuple(path.split("."))
        return found if found or not self.names else self._guessed()

    def _guessed(self) -> dict[int, tuple[str, ...]]:
        """Modules by the names of parameters: an operation without any belongs to the innermost
        module around what it is made of.
        """
        found: dict[int, tuple[str, ...]] = {}
        around: dict[int, tuple[str, ...]] = {}  # what an operation made of this one may belong to
        for n in self.operations:
            inputs = [node_of(e) for e in n.inputs]
            paths = [
                module_of(self.names[id(e)])
                for e in inputs
                if not isinstance(e, Node) and id(e) in self.names
            ]
            if paths:
                found[id(n)] = paths[0]
                around[id(n)] = paths[0][:-1]
                continue
            seen = [around[id(e)] for e in inputs if isinstance(e, Node) and id(e) in around]
            if seen:
                common = []
                for parts in zip(*seen, strict=False):
                    if len(set(parts)) > 1:
                        break
                    common.append(parts[0])
                found[id(n)] = around[id(n)] = tuple(common)
        return found

    # ---- boxes and arrows
    def _read(self) -> None:
        result = self.tensor if isinstance(self.tensor, Node) else node_of(self.tensor._node)
        seen: set[int] = set()
        lines = Lines()
        for n in self.operations:
            hidden = 0
            group = self._modules.get(id(n), ())
            for k, edge in enumerate(n.inputs):
                target = node_of(edge)
                if target is None:
                    self._constant(n, k, group)
                elif id(target) not in self._shown:
                    hidden += 1
                else:
                    if not isinstance(target, Node) and id(target) not in seen:
                        seen.add(id(target))
                        self._nodes.append(self._leaf(target, group))
                    shape = target.shape[edge.index] if type(edge) is OutputSlot else target.shape
                    argument = (
                        n.op.args[k] if k < len(n.op.args) else n.op.args[-1] if n.op.args else ""
                    )
                    self.edge_of[(id(n), k)] = len(self._edges)
                    self._edges.append(
                        GraphEdge(id(target), id(n), shape_text(shape) if shape else "", argument)
                    )
            if hidden:
                key = (id(n), "cut")
                text = f"… {hidden} more input{'s' * (hidden > 1)}"
                self._nodes.append(
                    GraphNode(key, text, "cut", "omitted: raise max_nodes to see it", group=group)
                )
                self._edges.append(GraphEdge(key, id(n)))
            self._nodes.append(
                self._operation(n, "result" if n is result else "op", group, lines(n))
            )
        if not self.operations and isinstance(self.tensor, Tensor) and self.tensor._rg:
            self._nodes.append(self._leaf(self.tensor, ()))

    def _constant(self, n: Node, k: int, group: tuple[str, ...]) -> None:
        value = brief(self._facts.constants.get((id(n), k)))
        if value is None and self.recording is not None:
            value = self.recording.constants.get((id(n), k))
        argument = n.op.args[k] if k < len(n.op.args) else ""
        shape = getattr(self._facts.constants.get((id(n), k)), "shape", None)
        if shape and (value is None or len(value) > WIDEST):
            value = f"{argument}  {shape_text(shape)}"  # an input of the program
        if value is not None and len(value) <= WIDEST:
            self.edge_of[(id(n), k)] = len(self._edges)
            self._nodes.append(
                GraphNode(
                    (id(n), k),
                    value,
                    "constant",
                    "a constant: it does not need a gradient",
                    group=group,
                    value=value,
                )
            )
            self._edges.append(GraphEdge((id(n), k), id(n), "", argument))

    def _operation(self, n: Node, kind: str, group: tuple[str, ...], line: Any) -> GraphNode:
        kept = sorted(n.plan.entries) if n.saved else []
        saved = [
            n.op.args[i] if which == "in" else "out" for which, i in kept if which in ("in", "out")
        ]
        return GraphNode(
            id(n),
            short_name(n.name()),
            kind,
            n.name(),
            shape_text(n.shape),
            dtype_text(n.dtype),
            group,
            line,
            value_text(self._facts.values.get(id(n))) or self._again(n),
            value_text(self._facts.grads.get(id(n))),
            ("saves " + ", ".join(saved),) if saved else (),
        )

    def _again(self, n: Node) -> str | None:
        """The value of a node that the graph does not keep, as a recording has it."""
        return (
            self.recording.values.get(id(n), (None, ""))[0] if self.recording is not None else None
        )

    def _leaf(self, leaf: Tensor, group: tuple[str, ...]) -> GraphNode:
        kind = type(leaf).__name__
        name = self.names.get(id(leaf), kind.lower() if kind != "Tensor" else "leaf")
        *owner, last = name.split(".")
        inside = bool(owner and group) and owner[-1] == group[-1].partition(":")[0]
        short = last if inside else name
        return GraphNode(
            id(leaf),
            short,
            "leaf",
            f"{kind} {name}" if name != kind.lower() else kind,
            shape_text(leaf.shape),
            str(leaf.dtype),
            group,
            None,
            value_text(self._facts.values.get(id(leaf))),
            value_text(self._facts.grads.get(id(leaf))),
            () if leaf._rg else ("requires no gradient",),
            kind == "Parameter",
        )

    def nodes(self) -> Iterable[GraphNode]:
        return self._nodes

    def edges(self) -> Iterable[GraphEdge]:
        return self._edges

    def text(self) -> str:
        """The graph as an indented tree."""
        return graph_text(self.tensor, names=self._given)

    def about(self) -> str:
        """One line on what is drawn."""
        t = self.tensor
        if isinstance(t, Node):
            return f"{t.name()}: shape {shape_text(t.shape)}"
        node = t.grad_fn
        if node is None:
            return graph_text(t).strip()
        line = getattr(node, "line", None)
        made = f", made by {node.name()}" + (
            f" at {os.path.basename(line.file)}:{line.line}" if line is not None else ""
        )
        return f"result: shape {shape_text(t.shape)}, {t.dtype}{made}"


def _elements(edge: Any) -> int:
    """How many numbers a node or leaf stands for."""
    shapes = edge.shape if isinstance(edge.shape, list) else [edge.shape]
    return sum(math.prod(shape) for shape in shapes)


def _holds_modules(x: Any) -> bool:
    """As `is_module`, for any object of a program: nothing of it is called."""
    try:
        own = object.__getattribute__(x, "__dict__")
    except AttributeError:
        return False
    return (
        isinstance(own.get("_modules"), dict)
        and hasattr(type(x), "named_parameters")
        and not isinstance(x, type)
    )


def names_from(t: Any, frame: FrameType | None) -> dict[str, Tensor]:
    """Names for the leaves of a graph from the variables of the user's program: `x`, and
    `model.0.weight` of a module `model`.
    """
    edge = t if isinstance(t, Node) else getattr(t, "_node", None) or t
    wanted = {id(leaf): leaf for leaf in walk([edge]) if isinstance(leaf, Tensor)}
    found: dict[str, Tensor] = {}
    for _, variables in namespaces(frame):
        modules = [(v, m) for v, m in variables.items() if _holds_modules(m)]
        # Parameters by their modules first: the variable of a loop over them says less.
        parts = [
            (f"{variable}.{name}", p) for variable, m in modules for name, p in m.named_parameters()
        ]
        parts += [(variable, x) for variable, x in variables.items() if isinstance(x, Tensor)]
        for name, leaf in parts:
            if wanted.get(id(leaf)) is leaf and name not in found:
                found[name] = wanted.pop(id(leaf))
        if not wanted:
            break
    return found


# ---- scalars ---------------------------------------------------------------------------------
def is_scalar_value(x: Any) -> bool:
    """True for a Value of a scalar engine: a number `data`, its `grad`, and `_prev`, what it was
    made from.
    """
    return (
        isinstance(getattr(x, "data", None), (int, float))
        and hasattr(x, "grad")
        and hasattr(x, "_prev")
    )


def scalar_order(value: Any) -> list[Any]:
    """The Values of a graph, inputs first, each once (by identity: their == may compare numbers)."""
    if callable(getattr(value, "topological_order", None)):
        return list(value.topological_order())
    order: list[Any] = []
    seen: set[int] = set()
    waiting = [(value, False)]
    while waiting:
        v, ready = waiting.pop()
        if ready:
            order.append(v)
        elif id(v) not in seen:
            seen.add(id(v))
            waiting.append((v, True))
            waiting += [(p, False) for p in reversed(list(v._prev))]
    return order


class ScalarGraph:
    """The graph of a scalar engine's Value (`pellucid.scalar.Value`, micrograd's and others with
    the same attributes).
    """

    left_out = 0

    def __init__(self, value: Any) -> None:
        self.value = value
        self.order = scalar_order(value)

    def nodes(self) -> Iterator[GraphNode]:
        for v in self.order:
            op, label = getattr(v, "_op", ""), getattr(v, "label", "") or ""
            kind = "result" if v is self.value and op else "op" if op else "leaf"
            number: str | None = f"{v.data:.4g}"
            # A leaf without a label is a plain number, and stands there as that.
            name = op + (f"  {label}" if label else "") if op else label or f"{v.data:.4g}"
            number = number if op or label else None
            grad = f"{v.grad:.4g}" if v.grad else None
            yield GraphNode(
                id(v),
                name,
                kind,
                f"{type(v).__name__} {label or op}".strip(),
                value=number,
                grad=grad,
            )

    def edges(self) -> Iterator[GraphEdge]:
        for v in self.order:
            for k, p in enumerate(v._prev):
                yield GraphEdge(id(p), id(v), "", f"input {k}" if len(v._prev) > 1 else "input")

    def about(self) -> str:
        return f"result: {self.value.data:.6g}, made of {len(self.order) - 1} other numbers"

    def text(self) -> str:
        """The graph as an indented tree; what is shared appears once and is marked `(seen)` after
        that.
        """
        lines: list[str] = []
        nodes = {n.key: n for n in self.nodes()}
        seen: set[int] = set()
        stack = [(self.value, 0)]
        while stack:
            v, depth = stack.pop()
            n = nodes[id(v)]
            again = id(v) in seen
            seen.add(id(v))
            lines.append(
                "  " * depth
                + f"- {n.name}"
                + (" (seen)" if again else f"  value={n.value}  grad={v.grad:.4g}")
            )
            if not again:
                stack += [(p, depth + 1) for p in reversed(list(v._prev))]
        return "\n".join(lines)


# ---- modules ---------------------------------------------------------------------------------
def is_module(x: Any) -> bool:
    """True for an nn.Module, recognized by its tables."""
    return isinstance(getattr(x, "_modules", None), dict) and callable(
        getattr(x, "named_parameters", None)
    )


class ModuleTree:
    """A module and its parts, as they lie inside one another; nothing is run."""

    left_out = 0

    def __init__(self, module: Any) -> None:
        self.module = module
        self._found: list[tuple[str, Any, str | None]] = []
        stack: list[tuple[str, Any, str | None]] = [("", module, None)]
        seen: set[str] = set()
        while stack:
            path, m, parent = stack.pop()
            self._found.append((path, m, parent))
            seen.add(path)
            children = [
                (f"{path}.{k}" if path else k, c, path)
                for k, c in m._modules.items()
                if c is not None
            ]
            stack += reversed(children)

    def nodes(self) -> Iterator[GraphNode]:
        for path, m, _ in self._found:
            own = sum(p._array.size for p in m._parameters.values() if p is not None)
            extra = m.extra_repr() if callable(getattr(m, "extra_repr", None)) else ""
            # at commas that stand in no parentheses
            settings = re.split(r",\s+(?![^()]*\))", extra) if extra else []
            notes = (*settings, f"{own:,} parameter{'s' * (own != 1)}") if own else tuple(settings)
            name = path.rpartition(".")[2]
            text = f"{name}: {type(m).__name__}" if name else type(m).__name__
            yield GraphNode(
                path,
                text,
                "op" if path else "result",
                f"{path or 'the module'}: {type(m).__name__}",
                notes=notes,
            )

    def edges(self) -> Iterator[GraphEdge]:
        return (GraphEdge(parent, path) for path, _, parent in self._found if parent is not None)

    def about(self) -> str:
        total = sum(p._array.size for p in self.module.parameters())
        return f"{type(self.module).__name__}: {len(self._found)} modules, {total:,} parameters"

    def text(self) -> str:
        return repr(self.module)


class _Written(NamedTuple):
    """What made a tensor, of which a part was written to since: what made it before, and the box of
    the write.
    """

    before: Any
    write: Any


class ModuleRun:
    """One run of a module: every operation, whether it needs a gradient or not, inside the modules
    that called it.

    The module runs in eval mode and without gradients; its modes and buffers are afterwards as they
    were.
    """

    left_out = 0

    def __init__(self, module: Any, inputs: Any) -> None:
        self.module = module
        self._nodes: list[GraphNode] = []
        self._edges: list[GraphEdge] = []
        self._kept: list[Tensor] = []
        # tensors by the id of the array that owns their memory
        self._owners: dict[int, list[Tensor]] = {}
        self._made: dict[int, Any] = {}  # id of tensor: key of the node that made it
        self._path: list[str] = []
        self._calls: dict[tuple[str, ...], int] = {}
        self._names = {id(t): n for n, t in [*module.named_parameters(), *module.named_buffers()]}
        arguments, keywords = _arguments(inputs)
        with evaluating(module), no_grad(), observe.observing(self):
            for k, t in enumerate(_tensors([arguments, keywords])):
                self._add(t, f"input {k}" if k else "input", "leaf")
            result = module(*arguments, **keywords)
        for t in _tensors(result):
            key = self._source(t)
            for n in self._nodes:
                if n.key == key and n.kind == "op":
                    n.kind = "result"

    def _add(
        self,
        t: Tensor,
        name: str,
        kind: str,
        line: Any = None,
        notes: tuple[str, ...] = (),
        title: str = "",
        inside: bool = False,
    ) -> int:
        key = len(self._nodes)
        title = title or f"{'operation ' if kind == 'op' else ''}{name}"
        value = value_text(t._array)
        self._nodes.append(
            GraphNode(
                key,
                name,
                kind,
                title,
                shape_text(t.shape),
                str(t.dtype),
                tuple(self._path),
                line,
                value,
                None,
                notes,
                inside,
            )
        )
        self._keep(t)
        self._made[id(t)] = key
        return key

    def _source(self, t: Tensor) -> Any:
        known = self._made.get(id(t))
        if isinstance(known, _Written):
            known = self._merge(t, known)
        if known is not None:
            return known
        name = self._names.get(id(t))
        if name is None:
            return self._add(t, "constant", "constant")
        return self._add(
            t, name.rpartition(".")[2], "leaf", title=f"{type(t).__name__} {name}", inside=True
        )

    def _merge(self, t: Tensor, written: _Written) -> Any:
        """Boxes for a tensor of which parts were written to, first things first; the key of the
        last.
        """
        writes = []
        known: Any = written
        while isinstance(known, _Written):
            writes.append(known.write)
            known = known.before
        for write in reversed(writes):
            before, known = known, self._add(t, "copy_slices", "op")
            self._edges += [
                GraphEdge(before, known, shape_text(t.shape)),
                GraphEdge(write, known, "", "a part"),
            ]
        return known

    # ---- events
    def module_enter(self, module: Any, name: str, args: Any, kwargs: Any) -> None:
        # The outermost module is the drawing itself; the others are boxes within it, one for each
        # call.
        if module is not self.module or self._path:
            kind, last = type(module).__name__, name.rpartition(".")[2]
            self._path.append(kind if last == kind else f"{last}: {kind}")

    def module_exit(self, module: Any, name: str, result: Any) -> None:
        if self._path:
            self._path.pop()

    def operation(self, op: Any, inputs: Any, params: dict[str, Any], outputs: Any) -> None:
        sources = []
        for k, x in enumerate(inputs):
            if isinstance(x, Tensor):
                sources.append((self._source(x), x, op.args[k] if k < len(op.args) else ""))
        made = [
            t
            for t in (outputs if isinstance(outputs, (tuple, list)) else (outputs,))
            if isinstance(t, Tensor)
        ]
        if not made:
            return
        settings = tuple(
            f"{k}={v:.6g}" if isinstance(v, float) else f"{k}={v}"
            for k, v in params.items()
            if isinstance(v, (bool, int, float, str, tuple)) and v != ()
        )
        key = self._add(made[0], op.name, "op", source.describe(source.capture(3)), settings[:4])
        for other in made[1:]:
            self._keep(other)
            self._made[id(other)] = key
        self._edges += [
            GraphEdge(s, key, shape_text(x.shape), argument) for s, x, argument in sources
        ]

    def inplace(self, name: str, tensor: Tensor, result: Any) -> None:
        if not isinstance(result, Tensor):
            return
        # computed from nothing that was there before, which a write to a part leaves around it
        if name == "copy_":
            edges = [(self._source(tensor), tensor), (self._source(result), result)]
            key = self._add(tensor, "copy_", "op", source.describe(source.capture(3)))
            self._edges += [GraphEdge(s, key, shape_text(x.shape)) for s, x in edges]
        else:
            key = self._made[id(tensor)] = self._source(result)
            self._keep(tensor)
        for other in self._owners.get(id(owner(tensor._array)), ()):
            if not isinstance(other._array, np.ndarray) or np.may_share_memory(
                other._array, tensor._array
            ):
                part = other is not tensor and other.numel() > tensor.numel()
                self._made[id(other)] = _Written(self._made[id(other)], key) if part else key

    def _keep(self, t: Tensor) -> None:
        """Keep a tensor alive, so that its id stays its own, and know it by the memory that it lies
        in.
        """
        self._kept.append(t)
        self._owners.setdefault(id(owner(t._array)), []).append(t)

    # ---- what is drawn
    def nodes(self) -> Iterable[GraphNode]:
        return self._nodes

    def edges(self) -> Iterable[GraphEdge]:
        return self._edges

    def about(self) -> str:
        count = sum(n.kind in ("op", "result") for n in self._nodes)
        return f"one run of {type(self.module).__name__}: {count} operations"

    def text(self) -> str:
        return "\n".join(f"{'  ' * len(n.group)}- {n.name}  {n.shape}" for n in self._nodes)


def _arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, dict):
        return (), inputs
    return (tuple(inputs), {}) if isinstance(inputs, (tuple, list)) else ((inputs,), {})


def _tensors(values: Any) -> Iterator[Tensor]:
    """The tensors in nested tuples, lists and dictionaries."""
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, (tuple, list)):
        for value in values:
            yield from _tensors(value)
    elif isinstance(values, dict):
        for value in values.values():
            yield from _tensors(value)


class Nearest:
    """The part of a drawing that is nearest to its end; `left_out` is the number of nodes beyond
    `max_nodes`.
    """

    def __init__(self, graph: Any, max_nodes: int) -> None:
        nodes, edges = list(graph.nodes()), list(graph.edges())
        made_of: dict[Any, list[Any]] = {}
        for e in edges:
            made_of.setdefault(e.target, []).append(e.source)
        used = {e.source for e in edges}
        waiting = deque(n.key for n in reversed(nodes) if n.key not in used)
        shown: set[Any] = set()
        while waiting and len(shown) < max_nodes:
            key = waiting.popleft()
            if key not in shown:
                shown.add(key)
                waiting.extend(made_of.get(key, ()))
        self._nodes = [n for n in nodes if n.key in shown]
        self._edges = [e for e in edges if e.source in shown and e.target in shown]
        self.left_out = len(nodes) - len(self._nodes)

    def nodes(self) -> Iterable[GraphNode]:
        return self._nodes

    def edges(self) -> Iterable[GraphEdge]:
        return self._edges


def as_graph(
    x: Any,
    input: Any = None,
    *,
    names: Any = None,
    max_nodes: int | None = None,
    recording: Any = None,
) -> Any:
    """What `draw` draws of an object; TypeError for what has no graph."""
    if isinstance(x, AccumulateGrad):
        x = x.variable
    if isinstance(x, (Tensor, Node)):
        return TensorGraph(x, names, max_nodes, recording)
    if is_module(x):
        return ModuleTree(x) if input is None else ModuleRun(x, input)
    if is_scalar_value(x):
        return ScalarGraph(x)
    if isinstance(x, Drawable):
        return x
    if is_foreign(x):
        return ForeignGraph(x, names)
    raise ArgumentTypeError(
        f"draw(): argument 't' must be Tensor, Module, or an object with nodes() and edges(), not {type(x).__name__}"
    )


def instances(nodes: Iterable[GraphNode]) -> tuple[list[tuple[str, int]], list[int]]:
    """The modules of a drawing as a tree: (name, number of the parent or -1) for each, and for each
    node the number of its module.

    A module that is called again after other operations becomes another one. So every module is an
    interval of the order of execution, and drawing each as a single box can close no circle.
    """
    groups: list[tuple[str, int]] = []
    member: list[int] = []
    current: list[int] = []
    for n in nodes:
        depth = 0
        while (
            depth < min(len(n.group), len(current)) and groups[current[depth]][0] == n.group[depth]
        ):
            depth += 1
        del current[depth:]
        for name in n.group[depth:]:
            groups.append((name, current[-1] if current else -1))
            current.append(len(groups) - 1)
        member.append(current[-1] if current else -1)
    return groups, member
