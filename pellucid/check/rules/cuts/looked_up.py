"""Rows of a table that are looked up by the nearest one: no gradient flows to what was compared."""

from __future__ import annotations

from collections.abc import Iterator

from ...events import VIEWS, Op, Value, ancestors, lineage

_LAYERS = frozenset(
    "linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d addmm matmul".split()
)
_NEAREST = frozenset("argmin min topk argmax max".split())


def looked_up(graph: list[Op]) -> tuple[Op, Value, list[Value]] | None:
    """(the look-up, or the detach after it that cuts; what was compared with the table; what enters
    trained layers of it).
    """
    for op in graph:
        if op.name not in ("embedding", "getitem", "index_select") or len(op.inputs) < 2:
            continue
        table = next((v for v in op.inputs if v.is_floating_point), None)
        index = next((v for v in op.inputs if not v.is_floating_point), None)
        compared = _compared(index, table) if index is not None and table is not None else None
        if compared is None:
            continue
        layers = list(_layers(op, graph))
        if layers:
            return layers[0][1], compared, [v for v, _ in layers]
    return None


def cancelled(graph: list[Op]) -> Iterator[tuple[Op, Value, Value]]:
    """(the operation, x, q) of each `x + (q - x)`, `x - (x - q)` and `x + q - x`."""
    for op in graph:
        if op.name not in ("add", "sub") or len(op.inputs) != 2 or op.arg("alpha", 1) != 1:
            continue
        for x, other in (op.inputs, op.inputs[::-1]):
            made = other.producer
            if made is None or len(made.inputs) != 2 or made.arg("alpha", 1) != 1:
                continue
            first, second = made.inputs
            same = [v.number == x.number for v in made.inputs]
            if op.name == "add":  # x + (q - x)
                found, left = made.name == "sub" and same[1], first
            elif x is op.inputs[0]:  # x - (x - q)
                found, left = made.name == "sub" and same[0], second
            else:  # x + q - x
                found, left = made.name == "add" and any(same), second if same[0] else first
            if found and x.requires_grad:
                yield op, x, left


def _compared(index: Value, table: Value) -> Value | None:
    """What the rows of the table were compared with to choose the nearest, if it has a graph."""
    chosen = next((o for o in lineage(index, VIEWS, 12) if o.name in _NEAREST), None)
    if chosen is None or not chosen.inputs:
        return None
    if chosen.name in ("argmax", "max") or chosen.args.get("largest", False):
        turned = chosen.inputs[0].producer
        if turned is None or turned.name != "neg":
            return None
    made = list(ancestors([chosen.inputs[0]], limit=40))
    near = {v.id: v for o in made for v in o.inputs}
    if table.id not in near:
        return None
    hot = [
        v
        for o in made
        for v in o.inputs
        if v.requires_grad and not v.is_leaf and v.id != table.id and not _is_of(v, table)
    ]
    return max(hot, key=lambda v: -v.number, default=None)


def _is_of(value: Value, table: Value) -> bool:
    return all(v.id == table.id for o in ancestors([value], limit=10) for v in o.inputs)


def _layers(op: Op, graph: list[Op]) -> Iterator[tuple[Value, Op]]:
    """The layers with parameters of their own that the rows reach: (the value that enters, the last
    detach on the way there, or else the look-up).
    """
    reached = {op.number: op}
    for other in sorted(graph, key=lambda o: o.number):
        if other.number <= op.number:
            continue
        for v in other.inputs:
            last = reached.get(v.producer.number) if v.producer is not None else None
            if last is None:
                continue
            if other.name in _LAYERS and any(w.is_leaf and w.requires_grad for w in other.inputs):
                yield v, last
            if not other.name.endswith("_loss"):
                reached[other.number] = other if other.name == "detach" else last
