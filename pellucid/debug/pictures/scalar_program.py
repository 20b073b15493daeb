"""Turn a graph of single numbers into a program that a page can run for its sliders.

Nothing here knows an operation. The forward rule of each node's record and its gradient rules are
called with symbols instead of numbers, and the symbols record what is done to them.
`page/sliders.js` runs these lines.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...core.primitive import PRIMITIVES, parameters
from ...core.tape import Node
from ...core.tensor import Tensor, node_of
from ...ir.formula import Formula, Placeholder, Symbols, word
from .adapters import TensorGraph

MOST = 400  # operations of a graph for which this is done
_FLOAT = np.dtype(np.float64)


class _Number(Placeholder):
    """A symbol that a gradient rule can ask for what it asks an array for; comparing it makes a
    line, too.
    """

    __slots__ = ()
    shape: tuple[int, ...] = ()
    ndim, dtype = 0, _FLOAT

    def __eq__(self, other: object) -> Any:
        return self.m.put("equal", self, other)

    def __ne__(self, other: object) -> Any:
        return self.m.put("not_equal", self, other)

    def __bool__(self) -> bool:
        raise TypeError("a rule that asks for a truth value has no fixed list of lines")


class _Words(Symbols):
    """Names of operations in rules, down to words."""

    raw = False

    def named(self, name: str) -> Placeholder:
        return _Number(self, name)

    def put(self, name: str, *operands: Any) -> Placeholder:
        if not all(isinstance(x, (Placeholder, bool, int, float)) for x in operands):
            raise TypeError(f"{name} takes more than numbers")
        return _Number(self, super().put(name, *operands).name)

    def conj(self, x: Any) -> Any:
        return x

    def full(self, *, shape: Any, value: Any, dtype: Any) -> Any:
        return value

    def __getattr__(self, name: str) -> Any:
        op = PRIMITIVES.get(name)
        if op is None or word(name) is not None:
            return super().__getattr__(name)
        return partial(_forward, self, op)


def _forward(m: _Words, op: Any, *inputs: Any, **params: Any) -> Any:
    """The result of an operation of numbers."""
    formula: Formula | None = op.formula
    if formula is not None:
        return formula.function(m, *inputs, **params)
    if not op.elementwise or not isinstance(op.forward, str):
        raise TypeError(f"{op.name} is no operation of single numbers")
    return Symbols.__getattr__(m, op.forward)(*inputs, **params)


def program(graph: TensorGraph, recording: Any) -> dict[str, Any] | None:
    """The program of a graph, or None where it has tensors that are more than a number, or rules
    that ask for more.

    Result: `lines`, "name = word operands"; `values`, the name of each box's value; `sent`, for
    each run of backward what each argument is sent; `local`, the derivative of the result by each
    argument; `leaves`, the boxes that can be changed, with their names and values.
    """
    nodes = list(graph.nodes())
    number = {n.key: k for k, n in enumerate(nodes)}
    order = graph.operations
    if not order or len(order) > MOST or graph.left_out:
        return None
    try:
        return _written(graph, recording, nodes, number)
    except (TypeError, AttributeError, ValueError, KeyError, IndexError, NotImplementedError):
        return None  # a rule that wants more than numbers: the page shows what was recorded


def _written(
    graph: TensorGraph, recording: Any, nodes: list[Any], number: dict[Any, int]
) -> dict[str, Any] | None:
    m = _Words()
    value: dict[int, Any] = {}
    leaves: list[list[Any]] = []

    def of(n: Node, k: int) -> Any:
        edge = n.inputs[k]
        if edge is None:
            return float(recording.numbers[(id(n), k)])
        target = node_of(edge)
        if isinstance(target, Tensor) and id(target) not in value:
            if target.shape or target._array.dtype.kind != "f":
                raise TypeError("more than a number")
            where = number[id(target)]
            value[id(target)] = m.named(f"x{len(leaves)}")
            leaves.append([where, nodes[where].name, float(target._array), str(value[id(target)])])
        return value[id(target)]

    for n in graph.operations:
        if (
            n.shape != ()
            or n.dtype.kind != "f"
            or PRIMITIVES.get(n.op.name) is not n.op
            or not n.op.elementwise
        ):
            return None
        value[id(n)] = _forward(m, n.op, *(of(n, k) for k in range(len(n.inputs))), **n.params)
    gradient: dict[int, Any] = {id(recording.sent[0].node): 1.0} if recording.sent else {}
    runs = []
    for run in recording.sent:
        n = run.node
        if id(n) not in value:
            return None
        sent: list[str | None] = []
        local: list[str | None] = []
        for seed, found in ((1.0, local), (gradient[id(n)], sent)):
            gs = _backward(m, n, seed, [of(n, k) for k in range(len(n.inputs))], value[id(n)])
            found += [
                str(g) if edge is not None and g is not None else None
                for edge, g in zip(n.inputs, gs, strict=True)
            ]
        for edge, g in zip(n.inputs, gs, strict=True):
            if edge is not None and g is not None:
                key = id(node_of(edge))
                gradient[key] = m.put("add", gradient[key], g) if key in gradient else g
        runs.append(
            {"i": number[id(n)], "sent": sent, "local": local, "total": str(gradient[id(n)])}
        )
    values = {number[k]: str(v) for k, v in value.items() if k in number}
    totals = {number[k]: str(g) for k, g in gradient.items() if k in number}
    return {"lines": m.lines, "values": values, "grads": totals, "runs": runs, "leaves": leaves}


def _backward(m: _Words, n: Node, g: Any, inputs: list[Any], out: Any) -> list[Any]:
    """What each argument of a node is sent, by the gradient rules of its record."""
    rules = n.op.vjp
    if not isinstance(rules, dict):
        raise TypeError("one rule for all arguments")
    given = {
        "g": g,
        "F": m,
        "out": out,
        "out_shape": (),
        "out_dtype": _FLOAT,
        "params": n.params,
        **n.params,
    }
    for name, x in zip(n.op.args, inputs, strict=False):
        given |= {name: x, f"{name}_shape": (), f"{name}_dtype": _FLOAT}
    found = []
    for k, edge in enumerate(n.inputs):
        rule = rules.get(n.op.args[k]) if edge is not None else None
        found.append(
            None if rule is None else rule(**{word: given[word] for word in parameters(rule)})
        )
    return found
