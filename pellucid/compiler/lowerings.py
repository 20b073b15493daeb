"""Operations that are native code of their own: not a loop, not a product."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..codegen import softmax
from ..ir import Extra, Instruction, Ref, Value
from . import lowerings_conv, lowerings_nn, lowerings_rnn
from .lowered import Native


def cross_entropy(i: Instruction, ex: Any) -> Native | str:
    """The mean or sum over rows, with what its gradient needs, and the check of the classes."""
    x, target = i.inputs[0], i.params["target"].value
    reduction = i.params["reduction"]
    if reduction not in ("mean", "sum") or len(i.extras) != 1 or not softmax.available():
        return "a reduction or layout that only the eager kernel serves"
    rows, columns = x.shape
    memory = i.extras[0].buffer
    if not (x.contiguous and target.contiguous and target.dtype == "int64" and memory.size == 12 * rows and x.dtype == "float32"):
        return "a layout that only the eager kernel serves"
    count, bad = np.zeros(1, np.float32), np.zeros(2, np.int64)
    ex.shared[i] = count
    ignore = i.params["ignore_index"]

    def emit(schedule: Any) -> None:
        losses = ex.place(Value(memory, "float32", (rows,), (4,), 0), schedule)
        schedule.cross_entropy(
            ex.place(x, schedule), ex.place(target, schedule), losses, ex.place(i.outputs[0], schedule), count, bad, rows, columns, ignore,
            reduction == "mean", lambda: _refuse(bad),
        )  # fmt: skip

    return Native(emit, f"cross entropy of {rows} rows", 4 * rows * columns, 5 * rows * columns)


def _refuse(bad: np.ndarray) -> None:
    raise IndexError(f"Target {bad[1]} is out of bounds.")


def cross_entropy_vjp(i: Instruction, ex: Any) -> Native | str:
    """The gradient of the logits."""
    s, params, g = i.params["s"], i.params["params"], i.params["g"]
    extra = next((e for e in s if isinstance(e, Extra)), None)
    if extra is None or extra.instruction not in ex.shared or not isinstance(g, Ref) or g.value.size != 1:
        return "a gradient whose forward is not native"
    x = s[0].value
    target = params["target"].value
    if not (x.contiguous and target.contiguous and len(i.outputs) == 1 and i.outputs[0].whole):
        return "a layout that only the eager kernel serves"
    rows, columns = x.shape
    count = ex.shared[extra.instruction]
    lse = extra.instruction.extras[0]
    mean = extra.instruction.params["reduction"] == "mean"
    scaled = np.zeros(1, np.float32)

    def emit(schedule: Any) -> None:
        schedule.cross_entropy_backward(
            ex.place(x, schedule), ex.place(target, schedule), ex.place(lse, schedule), ex.place(g.value, schedule),
            ex.place(i.outputs[0], schedule), count if mean else None, scaled, rows, columns, params["ignore_index"],
        )  # fmt: skip

    return Native(emit, f"cross entropy backward of {rows} rows", 8 * rows * columns, 5 * rows * columns)


LOWERINGS = {
    "cross_entropy": cross_entropy,
    "cross_entropy_vjp": cross_entropy_vjp,
    **lowerings_nn.LOWERINGS,
    **lowerings_conv.LOWERINGS,
    **lowerings_rnn.LOWERINGS,
}
HANDED = {**lowerings_nn.HANDED, **lowerings_conv.HANDED, **lowerings_rnn.HANDED}
