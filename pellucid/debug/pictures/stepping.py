"""The steps that a step-through shows: every operation of the forward pass, then of backward in the
order in which it runs.

A `Recording` watches a program and stores values and gradients as text: the numbers of small
tensors, and shape, minimum, maximum and mean of others. Without one, values are those that the
graph still holds and what follows from them. Backward then runs once for the purpose, and leaves
the graph and every `.grad` unchanged.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import math
import re
import textwrap
from functools import cache
from typing import Any

import numpy as np

from ...arrays import numpy_cpu
from ...core import observe, reverse
from ...core.primitive import PRIMITIVES, RAW
from ...core.tape import Node, saved_arrays, walk
from ...core.tensor import OutputSlot, Tensor, make_tensor, node_of
from ...errors import facts_of
from ..graph import SMALL, Facts, GraphNode, brief, seen_only_by, shape_text
from .adapters import ScalarGraph, TensorGraph, value_text

SHOWN = 16  # elements of a tensor whose numbers are shown
_CALLS = 20_000  # runs of gradient rules that local derivatives may take in one recording


def array_text(array: Any) -> str:
    """The numbers of a small array; of a large one shape, least, greatest, mean, and how many are
    NaN or Inf.
    """
    array = _array(array)
    if not isinstance(array, np.ndarray):
        return (
            str(array)
            if not isinstance(array, (bool, int, float, complex))
            else brief(array) or str(array)
        )
    if array.size <= SHOWN:
        plain = (
            array
            if array.dtype.kind in "iub"
            else array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
        )
        style = (
            {"formatter": {"all": lambda v: f"{v:.4g}"}} if array.dtype.kind not in "iub" else {}
        )
        text = np.array2string(plain, separator=", ", **style)
        return re.sub(r"\n\n+", "\n", text)
    text = shape_text(array.shape)
    if array.dtype.kind in "cV" or array.dtype.kind == "b":
        return text
    plain = array.astype(np.float64)
    finite = plain[np.isfinite(plain)]
    if finite.size:
        text += f"  min {finite.min():.4g}, max {finite.max():.4g}, mean {finite.mean():.4g}"
    return text + (f", {array.size - finite.size} NaN or Inf" if finite.size < array.size else "")


class _Sent:
    """One run of one node in backward: what came in, what each argument was sent, and the local
    derivatives, as text.
    """

    __slots__ = ("arrived", "local", "node", "sent")

    def __init__(
        self, node: Node, arrived: tuple[str | None, str], sent: list[Any], local: dict[int, str]
    ) -> None:
        self.node, self.arrived, self.sent, self.local = node, arrived, sent, local


class Recording:
    """Notes values and gradients while a program runs, for `step_through`:
    `with debug.Recording() as r: loss = ...; loss.backward()`.

    The operations in the block are kept alive, their values only as text. With a recording active
    every operation takes the general path of the engine and is described, forward and backward;
    with small tensors that is some 50 us each, with large ones a few passes over the values. It is
    for looking at a step, not for training.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> with debug.Recording() as r:
    ...     (x * x).backward()
    >>> debug.step_through(r).steps[-1]["total"]
    '6'
    """

    def __init__(self) -> None:
        # by id of node: text for its box (None if too long), and in full
        self.values: dict[int, tuple[str | None, str]] = {}
        self.constants: dict[tuple[int, int], str] = {}
        self.numbers: dict[tuple[int, int], float] = {}  # constants that are one real number
        self.modules: dict[int, tuple[str, ...]] = {}
        # what backward was last called on, else the last result that requires a gradient
        self.last: Tensor | None = None
        self.sent: list[_Sent] = []
        self.leaf_sums: dict[int, Any] = {}
        self.grads: dict[int, str] = {}  # `.grad` of leaves after they were added to
        self._kept: list[Any] = []
        self._path: list[str] = []
        self._roots: tuple[Tensor, ...] = ()
        self._calls = 0

    def __enter__(self) -> Recording:
        observe.add_observer(self)
        return self

    def __exit__(self, *exc: object) -> None:
        observe.remove_observer(self)

    # ---- forward
    def module_enter(self, module: Any, name: str, args: Any, kwargs: Any) -> None:
        kind, last = type(module).__name__, name.rpartition(".")[2]
        self._path.append(kind if last == kind else f"{last}: {kind}")

    def module_exit(self, module: Any, name: str, result: Any) -> None:
        if self._path:
            self._path.pop()

    def operation(self, op: Any, inputs: Any, params: Any, outputs: Any) -> None:
        made = [
            t
            for t in (outputs if isinstance(outputs, (tuple, list)) else (outputs,))
            if isinstance(t, Tensor)
        ]
        node = node_of(made[0]._node) if made else None
        if not isinstance(node, Node):
            return
        self._kept.append(node)
        self.note(node, [t._array for t in made])
        if self._path:
            self.modules[id(node)] = tuple(self._path)
        for k, (edge, x) in enumerate(zip(node.inputs, inputs, strict=False)):
            if edge is None and x is not None:
                self.constant(node, k, x)
        if not self._roots:
            self.last = made[0]

    def constant(self, node: Node, k: int, x: Any) -> None:
        """Write down an argument that needs no gradient."""
        self.constants[(id(node), k)] = array_text(x)
        x = _array(x)
        if isinstance(x, (bool, int, float)) or (
            isinstance(x, np.ndarray) and x.size == 1 and x.dtype.kind in "biuf"
        ):
            self.numbers[(id(node), k)] = float(
                x if not isinstance(x, np.ndarray) else x.reshape(-1)[0]
            )

    def note(self, node: Node, arrays: list[Any]) -> None:
        """Write down the value of a node."""
        text = "\n".join(map(array_text, arrays))
        self.values[id(node)] = (value_text(arrays[0]) if len(arrays) == 1 else None, text)

    def inplace(self, name: str, tensor: Tensor, result: Any) -> None:
        node = node_of(tensor._node)
        if isinstance(node, Node):
            self._kept.append(node)
            self.note(node, [tensor._array])

    # ---- backward
    def backward_start(self, roots: Any) -> None:
        self.sent, self._roots, self.last = [], roots, roots[0]
        self.leaf_sums, self.grads = {}, {}
        self._kept.append(roots)

    def backward_node(self, node: Node, g: Any, gs: Any) -> None:
        arrived = [_array(x) for x in (g if isinstance(g, (tuple, list)) else (g,))]
        sent: list[Any] = []
        for edge, gi in zip(node.inputs, gs, strict=False):
            gi = _array(gi)
            if edge is None or gi is None:
                sent.append(None)
                continue
            shape, dtype = _described(edge)
            gi = _array(reverse.fit(gi, shape, dtype))
            sent.append(array_text(gi))
            if isinstance(edge, Tensor):
                known = self.leaf_sums.get(id(edge))
                self.leaf_sums[id(edge)] = np.array(gi) if known is None else known + gi
        text = "\n".join("nothing" if a is None else array_text(a) for a in arrived)
        short = value_text(arrived[0]) if len(arrived) == 1 else None
        self._kept.append(node)
        self.sent.append(_Sent(node, (short, text), sent, self._local(node)))

    def accumulate(self, leaf: Tensor, grad: Any) -> None:
        self.grads[id(leaf)] = array_text(grad)

    def _local(self, node: Node) -> dict[int, str]:
        """Derivatives of the result with respect to each argument, where they are few: element by
        element, or as a matrix.
        """
        if (
            isinstance(node.shape, list)
            or node.saved is None
            or PRIMITIVES.get(node.op.name) is not node.op
            or node.dtype.kind != "f"
        ):
            return {}
        count = math.prod(node.shape)
        each = bool(node.op.elementwise)
        if count > SHOWN or count == 0 or (not each and count > SMALL):
            return {}
        calls = 1 if each else count
        if self._calls + calls > _CALLS:
            return {}
        self._calls += calls
        saved, columns = saved_arrays(node), []
        for k in range(calls):
            unit = np.ones(node.shape, node.dtype) if each else np.zeros(node.shape, node.dtype)
            if not each:
                unit.reshape(-1)[k] = 1
            columns.append(node.plan.backward(RAW, unit, saved, node.params))
        found = {}
        for i, edge in enumerate(node.inputs):
            parts = [_array(c[i]) for c in columns]
            if edge is None or any(p is None or not isinstance(p, np.ndarray) for p in parts):
                continue
            whole = parts[0] if len(parts) == 1 else np.stack([p.reshape(-1) for p in parts])
            if whole.size <= 4 * SHOWN:
                found[i] = _plain(whole)
        return found


def _described(edge: Any) -> tuple[Any, Any]:
    """Shape and dtype of the value at an edge, as its gradient has them."""
    if type(edge) is OutputSlot:
        return edge.node.shape[edge.index], edge.node.dtype[edge.index]
    return (
        (edge.shape, edge.dtype)
        if isinstance(edge, Node)
        else (edge._array.shape, edge._array.dtype)
    )


def _plain(array: Any) -> str:
    if array.size <= SHOWN:
        return array_text(array)
    return np.array2string(
        array.astype(np.float64), separator=", ", formatter={"all": lambda v: f"{v:.4g}"}
    )


def _array(x: Any) -> Any:
    if isinstance(x, Tensor):
        return x._array
    # sums of arrays without dimensions are NumPy's scalars
    return np.asarray(x) if isinstance(x, np.generic) else x


# ---- what can be known afterwards --------------------------------------------------------------
def values_of(t: Tensor) -> Recording:
    """A recording of the values in a graph that was not watched: those that it keeps, and those
    that follow from them.
    """
    recording = Recording()
    order = sorted((n for n in _reached(t) if isinstance(n, Node)), key=lambda n: n.seq)
    facts = Facts(t, _reached(t), gradients=False)
    arrays: dict[Any, Any] = {}
    for n in order:
        value = facts.values.get(id(n))
        if value is None:
            value = _again(n, arrays, facts)
        if value is not None:
            recording.note(n, [value])
            if getattr(value, "size", SHOWN) <= SHOWN:
                arrays[id(n)] = value
        for k, edge in enumerate(n.inputs):
            if edge is None and (id(n), k) in facts.constants:
                recording.constant(n, k, facts.constants[(id(n), k)])
    return recording


def replay(t: Tensor) -> tuple[Recording, str]:
    """A recording of a graph that was not watched, and a sentence on what it lacks ("" if nothing)."""
    if not isinstance(t._array, np.ndarray):
        return Recording(), "Tensors on the meta device have no values."
    recording = values_of(t)
    if any(n.saved is None for n in _reached(t) if isinstance(n, Node)):
        return (
            recording,
            "The graph was freed by backward(): record the run (debug.Recording), or step through before backward().",
        )
    leaves = [e for e in _reached(t) if isinstance(e, Tensor)]
    seed = make_tensor(np.ones(t._array.shape, t._array.dtype))
    try:
        with seen_only_by(recording):
            reverse.grad([t], leaves, [seed], True, False, True)
    except Exception as error:
        if facts_of(error) is None:
            raise
        recording.sent = []
        return recording, f"Backward cannot run: {error}"
    return (
        recording,
        ""
        if t._array.size == 1
        else "Backward begins with ones: the result has more than one element.",
    )


def _reached(t: Tensor) -> list[Any]:
    return list(walk([node_of(t._node)]))


def _again(n: Node, arrays: dict[Any, Any], facts: Facts) -> Any:
    """The value of a node computed again from its arguments, when all of them are known and small
    and nothing is random.
    """
    op = n.op
    if (
        isinstance(n.shape, list)
        or math.prod(n.shape) > SHOWN
        or PRIMITIVES.get(op.name) is not op
        or "dropout" in op.name
    ):
        return None
    inputs = []
    for k, edge in enumerate(n.inputs):
        if edge is None:
            value = facts.constants.get((id(n), k))
        elif isinstance(edge, Tensor):
            value = edge._array
        else:
            value = arrays.get(id(edge)) if isinstance(edge, Node) else None
        if value is None or getattr(value, "size", 0) > 64 * SHOWN:
            return None
        inputs.append(value)
    try:
        result = op.run_forward(numpy_cpu, inputs, n.params)
    except (TypeError, ValueError, AttributeError, IndexError, KeyError):
        return None  # arguments that were not tensors are not kept
    result = np.asarray(result[0] if op.aux else result)
    return result.astype(n.dtype) if result.shape == tuple(n.shape) else None


@cache
def rule_text(op: Any, k: int) -> str | None:
    """The gradient rule of an argument as it stands in the engine's source, such as 'g * other';
    None when it is no expression.
    """
    rule = op.vjp.get(op.args[min(k, len(op.args) - 1)]) if isinstance(op.vjp, dict) else None
    code = getattr(rule, "__code__", None)
    if code is None or PRIMITIVES.get(op.name) is not op:
        return None
    if code.co_name != "<lambda>":
        try:
            body: list[Any] = ast.parse(textwrap.dedent(inspect.getsource(code))).body[0].body  # type: ignore[attr-defined]
        except (OSError, SyntaxError, AttributeError):
            return None
        rest = [
            s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        ]
        return (
            ast.unparse(rest[0].value)
            if len(rest) == 1 and isinstance(rest[0], ast.Return) and rest[0].value
            else None
        )
    places = [p for p in code.co_positions() if None not in p and p[3]]
    if not places or len({p[0] for p in places} | {p[1] for p in places}) != 1:
        return None
    line = linecache.getline(code.co_filename, places[0][0] or 0)
    text = line.encode()[min(p[2] or 0 for p in places) : max(p[3] or 0 for p in places)].decode(
        errors="replace"
    )
    # of real numbers, which these are, the numbers themselves
    text = re.sub(r"F\.conj\((\w+)\)", r"\1", text)
    return re.sub(r"F\.mul\((\w+), (\w+)\)", r"\1 * \2", text) or None


# ---- steps -------------------------------------------------------------------------------------
def _labels(nodes: list[GraphNode]) -> list[str]:
    """Names that tell the boxes apart: the second `mul` is 'mul #2'."""
    counts: dict[str, int] = {}
    total: dict[str, int] = {}
    for n in nodes:
        total[n.name] = total.get(n.name, 0) + 1
    found = []
    for n in nodes:
        counts[n.name] = counts.get(n.name, 0) + 1
        found.append(
            f"{n.name} #{counts[n.name]}"
            if total[n.name] > 1 and n.kind not in ("constant", "cut") and not _is_number(n)
            else n.name
        )
    return found


def _is_number(n: GraphNode) -> bool:
    return n.kind == "leaf" and n.value is None and not n.shape


def tensor_steps(graph: TensorGraph, recording: Recording, note: str = "") -> list[dict[str, Any]]:
    """The steps of a tensor's graph, as `page/steps.js` reads them."""
    nodes = list(graph.nodes())
    labels, number = _labels(nodes), {n.key: k for k, n in enumerate(nodes)}
    steps: list[dict[str, Any]] = []

    def value_of(edge: Any) -> str:
        target = node_of(edge)
        if isinstance(target, Node):
            return recording.values.get(id(target), (None, shape_text(target.shape)))[1]
        return array_text(target._array)

    for n in graph.operations:
        rows, arrows = [], []
        origins: list[int | None] = []
        for k, edge in enumerate(n.inputs):
            argument = n.op.args[min(k, len(n.op.args) - 1)] if n.op.args else str(k)
            if edge is not None:
                source = number[id(node_of(edge))]
                rows.append([f"{argument} = {labels[source]}", value_of(edge)])
                origins.append(source)
                arrows.append([graph.edge_of[(id(n), k)], _travelling(rows[-1][1], edge), source])
            elif (id(n), k) in recording.constants:
                rows.append([argument, recording.constants[(id(n), k)]])
                origins.append(None)
        short, out = recording.values.get(id(n), (None, f"{shape_text(n.shape)}, value not kept"))
        head = f"{labels[number[id(n)]]}  {shape_text(n.shape)}"
        steps.append(
            {
                "p": "forward",
                "i": number[id(n)],
                "h": head,
                "rows": rows,
                "out": out,
                "v": short,
                "from": origins,
                "e": arrows,
            }
        )
    arrivals: dict[int, list[list[str]]] = {}
    if recording.sent:
        result = recording.sent[0].node
        arrivals[id(result)] = [["backward() begins with", recording.sent[0].arrived[1]]]
    done: dict[int, Tensor] = {}  # leaves in the order in which a gradient first reached them
    for run in recording.sent:
        n = run.node
        if id(n) not in number:
            continue
        parts, links, arrows = [], [], []
        for k, (edge, sent) in enumerate(zip(n.inputs, run.sent, strict=False)):
            if sent is None:
                continue
            target = node_of(edge)
            argument = n.op.args[min(k, len(n.op.args) - 1)] if n.op.args else str(k)
            rows = [["rule", r]] if (r := rule_text(n.op, k)) else []
            if k in run.local:
                rows.append(["local derivative", run.local[k]])
            goal = number[id(target)]
            link = {
                "k": k,
                "to": goal,
                "w": _written(n, edge),
                "g": run.arrived[1],
                "d": run.local.get(k),
                "s": sent,
            }
            parts.append([f"To {labels[goal]} ({argument})", [*rows, ["sends", sent]]])
            links.append(link)
            arrows.append([graph.edge_of[(id(n), k)], _travelling(sent, edge), goal])
            arrivals.setdefault(id(target), []).append([f"from {labels[number[id(n)]]}", sent])
            if isinstance(target, Tensor):
                done.setdefault(id(target), target)
        sums = arrivals.get(id(n), [])
        steps.append(
            {
                "p": "backward",
                "i": number[id(n)],
                "h": labels[number[id(n)]],
                "sums": sums,
                "parts": parts,
                "r": run.arrived[0],
                "total": run.arrived[1] if len(sums) > 1 else None,
                "e": arrows,
                "links": links,
            }
        )
    for leaf in done.values():
        total = recording.leaf_sums.get(id(leaf))
        text, sums = array_text(total), arrivals[id(leaf)]
        after = recording.grads.get(id(leaf))
        said = "A leaf: backward() adds this to .grad."
        if after is not None and after != text:
            said = f".grad held something before; it is now {after}."
        steps.append(
            {
                "p": "backward",
                "i": number[id(leaf)],
                "h": f"{labels[number[id(leaf)]]}.grad",
                "sums": sums,
                "parts": [],
                "total": text,
                "r": value_text(_array(total)),
                "note": said,
            }
        )
    if not recording.sent:
        steps += _unplayed(graph, labels, number)
    if note:
        for step in steps:
            if step["p"] == "backward":
                step.setdefault("note", note)
    return steps


def _travelling(text: str, edge: Any) -> str:
    """What stands on an arrow: the number if it is short, else the shape."""
    return text if len(text) <= 20 and "\n" not in text else shape_text(_described(edge)[0])


def _written(n: Node, edge: Any) -> str:
    """How the chain rule is written for an argument: of numbers, element by element, or with a
    whole Jacobian.
    """
    if n.op.elementwise and _described(edge)[0] == n.shape:
        return "number" if n.shape == () else "elements"
    return "jacobian"


def _unplayed(
    graph: TensorGraph, labels: list[str], number: dict[Any, int]
) -> list[dict[str, Any]]:
    """The order of backward without numbers: newest operation first."""
    found = []
    for n in reversed(graph.operations):
        k = number[id(n)]
        found.append(
            {
                "p": "backward",
                "i": k,
                "h": labels[k],
                "sums": [],
                "parts": [],
                "r": None,
                "total": None,
            }
        )
    return found


def scalar_steps(graph: ScalarGraph) -> list[dict[str, Any]]:
    """The steps of a scalar engine's graph. Gradients are computed anew; every `.grad` stays as it
    is.
    """
    nodes = list(graph.nodes())
    labels, number = _labels(nodes), {n.key: k for k, n in enumerate(nodes)}
    steps: list[dict[str, Any]] = []
    pairs = ((id(v), j) for v in graph.order for j in range(len(v._prev)))
    edge_of = {pair: e for e, pair in enumerate(pairs)}  # in the order of `graph.edges()`
    for v in graph.order:
        if v._prev:
            rows = [[labels[number[id(p)]], f"{p.data:.6g}"] for p in v._prev]
            k = number[id(v)]
            arrows = [
                [edge_of[(id(v), j)], f"{p.data:.4g}", number[id(p)]] for j, p in enumerate(v._prev)
            ]
            out, short = f"{v.data:.6g}", f"{v.data:.4g}"
            steps.append(
                {
                    "p": "forward",
                    "i": k,
                    "h": labels[k],
                    "rows": rows,
                    "out": out,
                    "v": short,
                    "e": arrows,
                }
            )
    gradients: dict[int, float] = {id(graph.value): 1.0}
    arrivals: dict[int, list[list[str]]] = {id(graph.value): [["backward() begins with", "1"]]}
    for v in reversed(graph.order):
        k, g = number[id(v)], gradients.get(id(v), 0.0)
        local, parts, note = _scalar_local(v, g)
        told, links, arrows = [], [], []
        for j, (p, derivative, sent) in enumerate(zip(v._prev, local, parts, strict=False)):
            gradients[id(p)] = gradients.get(id(p), 0.0) + sent
            arrivals.setdefault(id(p), []).append([f"from {labels[k]}", f"{sent:.6g}"])
            rows = [
                ["local derivative", f"{derivative:.6g}"],
                ["sends", f"{g:.6g} × {derivative:.6g} = {sent:.6g}"],
            ]
            link = {
                "k": j,
                "to": number[id(p)],
                "w": "number",
                "g": f"{g:.6g}",
                "d": f"{derivative:.6g}",
                "s": f"{sent:.6g}",
            }
            told.append([f"To {labels[number[id(p)]]}", rows])
            links.append(link)
            arrows.append([edge_of[(id(v), j)], f"{sent:.4g}", number[id(p)]])
        sums = arrivals.get(id(v), [])
        if not v._prev:
            note = "A leaf: backward() adds this to .grad."
        total = f"{g:.6g}" if len(sums) > 1 else None
        step = {
            "p": "backward",
            "i": k,
            "h": labels[k],
            "sums": sums,
            "parts": told,
            "r": f"{g:.4g}",
            "total": total,
            "note": note,
        }
        steps.append(step | {"e": arrows, "links": links})
    return steps


def _scalar_local(v: Any, g: float) -> tuple[tuple[float, ...], tuple[float, ...], str | None]:
    """Local derivatives of a Value, and what it sends to each of what it was made from."""
    if not v._prev:
        return (), (), None
    try:
        return tuple(v._backward(1.0)), tuple(v._backward(g)), None
    except (ArithmeticError, ValueError) as error:
        return (), (), f"No derivative here: {error}."
    except TypeError:
        pass
    # micrograd's closures take nothing and add to `.grad`: run with gradients of ours, then put
    # everything back.
    held = [(p, p.grad) for p in (v, *v._prev)]
    found = []
    try:
        for seed in (1.0, g):
            for p, _ in held:
                p.grad = 0.0
            v.grad = seed
            v._backward()
            found.append(tuple(p.grad for p in v._prev))
    finally:
        for p, grad in held:
            p.grad = grad
    return found[0], found[1], None
