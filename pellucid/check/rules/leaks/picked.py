"""Rows of a model's result that are picked after it was called on all of them, as for the nodes of
a graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import VIEWS, Foreign, ModuleCall, Op, Value, lineage

_PICKS = ("getitem", "index_select", "masked_select")
_NEAR = VIEWS | {"log_softmax", "softmax", "sigmoid", "argmax", "max", "exp", "sub"}


class Picked:
    """Rows of the results for one input that losses were computed of; where one took all of them."""

    __slots__ = ("all_at", "rows")

    def __init__(self) -> None:
        self.rows: set[int] = set()
        self.all_at: Any = None


def picked_rows(ops: list[Op], call: ModuleCall) -> tuple[Op, frozenset[int]] | None:
    """Which rows of what a call gave the operations after it take, and the operation that picks
    them; None when they take all.
    """
    count = call.inputs[0].shape[0] if call.inputs and call.inputs[0].ndim else 0
    for op in ops:
        if op.module is not None or op.name not in _PICKS or not op.inputs or not op.inputs[0].ndim:
            continue
        if op.inputs[0].shape[0] != count:
            continue
        made = next((o for o in lineage(op.inputs[0], _NEAR, 12) if o.module is not None), None)
        if made is None or made.module is None or made.module.root is not call:
            continue
        rows = _rows(op, count)
        if rows is not None:
            return op, rows
    return None


def _rows(op: Op, count: int) -> frozenset[int] | None:
    index: Any = op.args.get("index", op.args.get("mask"))
    if op.name == "index_select" and op.args.get("dim") != 0:
        return None
    if isinstance(index, tuple) and index:
        index = index[0]
    if isinstance(index, slice):
        parts = (index.start, index.stop, index.step)
        if any(p is not None and not isinstance(p, int) for p in parts):
            return None
        array: Any = np.arange(count)[index]
    else:
        array = index.numpy() if isinstance(index, Value) else None
        array = index.value if isinstance(index, Foreign) else array
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "biu":
        return None
    rows = np.flatnonzero(array) if array.dtype.kind == "b" else array
    return frozenset(rows.tolist()) if len(rows) < count else None
