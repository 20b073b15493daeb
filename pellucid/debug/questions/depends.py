"""What a value depends on: the path to each leaf, operation by operation, with local derivatives."""

from __future__ import annotations

from collections import deque
from types import FrameType
from typing import Any

import numpy as np

from ...core import reverse
from ...core.primitive import RAW
from ...core.source import describe
from ...core.tape import Node, saved_arrays, walk
from ...core.tensor import Tensor, make_tensor, node_of
from ...errors import facts_of
from .._names import assignments
from ..graph import Facts, shape_text
from ..watching import Watch, current
from .missing import cut, kind_of
from .naming import names_of, title
from .result import Explanation
from .steps import NotedStep

_STEPS = 12  # steps of one way that the text shows; `details` has all


def what_it_depends_on(x: Tensor, name: str, frame: FrameType | None) -> Explanation:
    """The answer: `details` has a dict per leaf with its name, shape, number of ways, steps of the
    shortest way and gradient.
    """
    if x._node is None:
        return _nothing(x, name, frame)
    edges = list(walk([x._node]))
    leaves = [e for e in edges if isinstance(e, Tensor)]
    nodes = [e for e in edges if isinstance(e, Node)]
    names = names_of(leaves, frame)
    parents = _shortest(x.grad_fn)
    ways = _count_ways(x.grad_fn, nodes)
    facts = Facts(x, edges)
    grads = _leaf_gradients(x, leaves, nodes)
    details: list[dict[str, Any]] = []
    for leaf in leaves:
        steps = [_step(node, k, facts) for node, k in _way(leaf, parents)]
        details.append(
            {
                "leaf": names.get(id(leaf), kind_of(leaf)),
                "shape": list(leaf._array.shape),
                "ways": ways.get(id(leaf), 1),
                "steps": steps,
                "gradient": _numbers(grads.get(id(leaf))),
            }
        )
    details.sort(key=lambda d: (d["leaf"].count("."), d["leaf"]))
    freed = any(n.saved is None for n in nodes)
    shown = ", ".join(d["leaf"] for d in details[:8]) + (
        f" and {len(details) - 8} more" if len(details) > 8 else ""
    )
    several = "s" if len(details) != 1 else ""
    text = f"{name} was computed from {len(details)} leaf tensor{several} that require{'' if several else 's'} a gradient, "
    text += f"in {len(nodes)} operations: {shown}"
    if not details:
        text = f"{name} was computed in {len(nodes)} operations, from tensors that no longer require a gradient"
    fix = (
        "ask before backward(), or use backward(retain_graph=True): the derivatives were freed with the graph"
        if freed
        else ""
    )
    return Explanation(
        "depends", text, fix, x.grad_fn.line, [_sentence(d) for d in details], details
    )


def without_graph(x: Any, name: str, frame: FrameType | None) -> Explanation | None:
    """What a tensor without a graph, a Python number or a NumPy array was computed from, as watched;
    None when nothing is known of it.
    """
    notes = current()
    number, steps = _origin(x, name, notes) if notes is not None else (None, [])
    if notes is None or number is None:
        return None
    starts = notes.beginnings(number)
    leaves = [t for t in notes.living(starts) if t._rg]
    names = sorted(names_of(leaves, frame).values(), key=lambda n: (n.count("."), n))
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    step = steps[0] if steps else notes.cut_before(number)
    what = "a NumPy array" if isinstance(x, np.ndarray) else "a Python number"
    kind = "has no graph" if isinstance(x, Tensor) else f"is {what}"
    from_what = f"what it was computed from{f' ({shown})' if shown else ''}"
    details: list[dict[str, Any]] = [
        {"leaf": n, "shape": None, "ways": 1, "steps": [], "gradient": None} for n in names
    ]
    if step is None:
        return None
    found = cut(step, name, [step], f"{name} {kind}: {from_what}")
    found.evidence = [f"computed from: {n}" for n in names[:8]] + found.evidence
    found.details = details
    return found


def _origin(x: Any, name: str, notes: Watch) -> tuple[int | None, list[NotedStep]]:
    """The number of the noted value that something is or was made of, and where it left the graph, if
    that was as a number or an array.
    """
    known = notes.known(x) if isinstance(x, Tensor) else None
    if known is not None and notes.cut_before(known) is not None:
        return known, []
    step = notes.left_as(x._array if isinstance(x, Tensor) else x)
    if step is None:
        made = notes.made_at(x) if isinstance(x, Tensor) else None
        goals: list[Any] = [made] if made is not None else [*assignments(name)]
        step = notes.left_toward(goals) or notes.left_for(name)
    return (None, []) if step is None else (step.inputs[0], [step])


def _nothing(x: Tensor, name: str, frame: FrameType | None) -> Explanation:
    found = without_graph(x, name, frame)
    if found is not None:
        return found
    notes = current()
    made = notes.history(x) if notes is not None else None
    where = describe(made.site) if made is not None else None
    if made is not None and where is not None and not x._rg:
        data = made
        while data.before is not None:
            data = data.before
        since = describe(data.site)
        text = f"{name} has no graph: it was computed at {where}"
        if since is not None and since != where:
            text += f" from data that was made at {since}"
        text += ", and from nothing that requires a gradient"
        return Explanation("depends", text, "", where)
    kind = (
        "a leaf: it requires a gradient itself, and"
        if x._rg
        else "a value without a graph: as far as gradients go it"
    )
    return Explanation("depends", f"{name} is {kind} depends on nothing")


def _shortest(root: Node) -> dict[int, tuple[Node, int]]:
    """For each node and leaf by id, the consumer nearest to the root and which of its arguments it
    is.
    """
    came: dict[int, tuple[Node, int]] = {}
    seen, waiting = {id(root)}, deque([root])
    while waiting:
        node = waiting.popleft()
        for k, edge in enumerate(node.inputs):
            target = node_of(edge)
            if target is None or id(target) in seen:
                continue
            seen.add(id(target))
            came[id(target)] = (node, k)
            if isinstance(target, Node):
                waiting.append(target)
    return came


def _way(leaf: Tensor, parents: dict[int, tuple[Node, int]]) -> list[tuple[Node, int]]:
    """(node, argument) from the leaf to the root."""
    found: list[tuple[Node, int]] = []
    at = parents.get(id(leaf))
    while at is not None:
        found.append(at)
        at = parents.get(id(at[0]))
    return found


def _count_ways(root: Node, nodes: list[Node]) -> dict[int, int]:
    """How many different ways lead from the root to each node and leaf."""
    count: dict[int, int] = {id(root): 1}
    for node in sorted(nodes, key=lambda n: -n.seq):
        for edge in node.inputs:
            target = node_of(edge)
            if target is not None:
                count[id(target)] = count.get(id(target), 0) + count.get(id(node), 0)
    return count


def _leaf_gradients(x: Tensor, leaves: list[Tensor], nodes: list[Node]) -> dict[int, Any]:
    """d sum(x) / d leaf, by a backward of our own that leaves the graph and every `.grad` as they
    are.
    """
    hooked = any(
        n.ext and n.ext.keys() & {"tensor_hooks", "pre_hooks", "post_hooks"} for n in nodes
    )
    hooked = hooked or any(
        leaf._x and leaf._x.keys() & {"hooks", "acc_pre_hooks"} for leaf in leaves
    )
    if (
        not leaves
        or hooked
        or any(n.saved is None for n in nodes)
        or x._array.dtype.kind not in "f"
    ):
        return {}
    seed = make_tensor(np.ones(x._array.shape, x._array.dtype))
    try:
        found = reverse.grad([x], leaves, [seed], True, False, True)
    except Exception as error:
        if facts_of(error) is None:
            raise
        return {}
    return {id(leaf): g._array for leaf, g in zip(leaves, found, strict=True) if g is not None}


def _step(node: Node, k: int, facts: Facts) -> dict[str, Any]:
    line = node.line
    argument = (
        node.op.args[k]
        if k < len(node.op.args)
        else f"{node.op.args[-1]}[{k - len(node.op.args) + 1}]"
    )
    return {
        "operation": node.op.name,
        "argument": argument,
        "shape": node.shape if isinstance(node.shape, list) else list(node.shape),
        "file": line.file if line else None,
        "line": line.line if line else None,
        "source": line.text if line else "",
        "derivative": _numbers(_local(node, k)),
        "gradient": _numbers(facts.grads.get(id(node))),
    }


def _local(node: Node, k: int) -> Any:
    """The derivative of one operation with respect to one argument, element by element; None where
    it is a whole matrix, or freed.
    """
    if node.saved is None or node.op.outputs != 1 or isinstance(node.shape, list):
        return None
    shape = getattr(node_of(node.inputs[k]), "shape", None)
    if isinstance(shape, list) or isinstance(node.dtype, list):
        return None
    if (
        node.op.batch != "elementwise"
        and "diagonal" not in node.op.traits
        and int(np.prod(node.shape)) != 1
    ):
        return None
    if sum(v.count for v in node.versions) != node.total:
        return None
    try:
        return node.plan.backward(
            RAW, np.ones(node.shape, node.dtype), saved_arrays(node), node.params
        )[k]
    except Exception:
        return None  # rules of custom functions may refuse; then there is no number to show


def _numbers(array: Any) -> Any:
    """A number for one element; shape, norm, smallest and largest for several; None for nothing."""
    if array is None or not hasattr(array, "shape"):
        return None
    a = np.asarray(array)
    if a.dtype.kind not in "fiub":
        if a.dtype.kind == "c" or a.dtype.names:
            return None
        a = a.astype(np.float32)
    if a.size == 1:
        return float(a.reshape(()))
    if not a.size:
        return {"shape": list(a.shape)}
    return {
        "shape": list(a.shape),
        "norm": float(np.linalg.norm(a.astype(np.float64))),
        "min": float(a.min()),
        "max": float(a.max()),
    }


def numbers_text(value: Any) -> str:
    """`_numbers` in words."""
    if not isinstance(value, dict):
        return f"{value:.4g}"
    if "norm" not in value:
        return f"of shape {shape_text(tuple(value['shape']))}"
    if value["min"] == value["max"]:
        return f"{value['min']:.4g} everywhere, shape {shape_text(tuple(value['shape']))}"
    return f"{value['min']:.4g} to {value['max']:.4g}, norm {value['norm']:.4g}, shape {shape_text(tuple(value['shape']))}"


def _sentence(d: dict[str, Any]) -> str:
    steps = []
    for s in d["steps"]:
        derivative = (
            f" [d/d{s['argument']} = {numbers_text(s['derivative'])}]"
            if s["derivative"] is not None
            else ""
        )
        steps.append(
            title(s["operation"])
            + derivative
            + (f" at {s['file']}:{s['line']}" if s["file"] else "")
        )
    if len(steps) > _STEPS:
        steps = [*steps[: _STEPS - 3], f"... {len(steps) - _STEPS + 1} more ...", *steps[-2:]]
    ways = f" ({d['ways']} paths; the shortest)" if d["ways"] > 1 else ""
    total = f"; gradient {numbers_text(d['gradient'])}" if d["gradient"] is not None else ""
    return f"{d['leaf']} {shape_text(tuple(d['shape']))}{ways}: " + " -> ".join(steps) + total
