"""Branches and loops, whose bodies are graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.core.tensor import make_tensor

from .registry import NodeCall, T, array_of, ints, operator, tensor_of


@operator("If", keeps=True, scoped=True)
def _if(c: NodeCall, scope: dict[str, Any], condition: Any) -> Any:
    branch = (
        c.get("then_branch") if bool(array_of(condition).reshape(-1)[0]) else c.get("else_branch")
    )
    return tuple(c.run(branch, [], scope))


@operator("Loop", keeps=True, scoped=True)
def _loop(
    c: NodeCall, scope: dict[str, Any], most: Any = None, condition: Any = None, *carried: Any
) -> Any:
    body = c.get("body")
    limit = None if most is None else ints(array_of(most))[0]
    going = condition is None or bool(array_of(condition).reshape(-1)[0])
    state, collected, k = list(carried), [], 0
    while going and (limit is None or k < limit):
        keep, *results = c.run(body, [np.array(k, np.int64), np.array(True), *state], scope)
        going = bool(array_of(keep).reshape(-1)[0])
        state = results[: len(carried)]
        collected.append(results[len(carried) :])
        k += 1
    names = body.returns[1 + len(carried) :]
    return (
        *state,
        *[
            _stacked([row[i] for row in collected], body.outputs[name])
            for i, name in enumerate(names)
        ],
    )


def _stacked(parts: list[Any], declared: tuple[Any, Any], axis: int = 0) -> Any:
    """The results of every round in one tensor; of no round an empty one."""
    if parts:
        if all(isinstance(p, np.ndarray) for p in parts):
            return np.stack(parts, axis)
        return T.stack([tensor_of(p) for p in parts], axis)
    dtype, shape = declared
    return make_tensor(
        np.zeros((0, *[n if isinstance(n, int) else 0 for n in shape or ()]), dtype or np.float32)
    )


@operator("Scan", keeps=True, scoped=True)
def _scan(c: NodeCall, scope: dict[str, Any], *xs: Any) -> Any:
    if c.opset < 9:
        return _batched_scan(c, scope, *xs)
    body, count = c.get("body"), c.get("num_scan_inputs")
    state, scanned = list(xs[: len(xs) - count]), [tensor_of(x) for x in xs[len(xs) - count :]]
    axes = [
        a % x.ndim for a, x in zip(c.get("scan_input_axes") or [0] * count, scanned, strict=True)
    ]
    turned = c.get("scan_input_directions") or [0] * count
    length = scanned[0].shape[axes[0]]
    collected = []
    for t in range(length):
        parts = [
            T.select(x, a, length - 1 - t if back else t)
            for x, a, back in zip(scanned, axes, turned, strict=True)
        ]
        results = c.run(body, [*state, *parts], scope)
        state = results[: len(state)]
        collected.append(results[len(state) :])
    names = body.returns[len(state) :]
    places = c.get("scan_output_axes") or [0] * len(names)
    backwards = c.get("scan_output_directions") or [0] * len(names)
    made = []
    for i, name in enumerate(names):
        rows = [row[i] for row in collected]
        made.append(_stacked(rows[::-1] if backwards[i] else rows, body.outputs[name], places[i]))
    return (*state, *made)


def _batched_scan(c: NodeCall, scope: dict[str, Any], lengths: Any = None, *xs: Any) -> Any:
    """The form of opset 8: a batch comes first everywhere, and each of its rows is scanned by
    itself.
    """
    if lengths is not None:
        raise c.refuse("of opset 8 with sequence lengths")
    count, rows = c.get("num_scan_inputs"), []
    newer = NodeCall(c.op, {"body": c.get("body"), "num_scan_inputs": count}, 9, c.outputs, c.run)
    for k in range(tensor_of(xs[0]).shape[0]):
        rows.append(_scan(newer, scope, *[tensor_of(x)[k] for x in xs]))
    return tuple([T.stack([tensor_of(row[i]) for row in rows]) for i in range(len(rows[0]))])


@operator("SequenceMap", keeps=True, scoped=True)
def _sequence_map(c: NodeCall, scope: dict[str, Any], xs: Any, *others: Any) -> Any:
    rows = []
    for k, x in enumerate(xs):
        rows.append(
            c.run(c.get("body"), [x, *[o[k] if isinstance(o, list) else o for o in others]], scope)
        )
    return tuple([[row[i] for row in rows] for i in range(len(c.outputs))])
