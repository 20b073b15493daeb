"""Operations that are native code of their own: not a loop, not a product."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir import Extra, Instruction, Ref, Value
from ...kernels import checks
from ...kernels.convolution import lower as convolution
from ...kernels.ctc import lower as ctc
from ...kernels.indexing import lower as indexing
from ...kernels.indexing import lower_bags as embedding_bag
from ...kernels.lowered import Native, compact, strided
from ...kernels.ordering import lower as ordering
from ...kernels.pooling import lower as pooling
from ...kernels.recurrent import lower as recurrent
from ...kernels.rows import lower as rows
from ...kernels.rows import softmax
from ...kernels.updates import lower as clipping
from ...kernels.windows import lower as windows
from ...kernels.windows import lower_taps as taps
from . import copies, random


def cross_entropy(i: Instruction, ex: Any) -> Native | str:
    """The mean or sum over rows, with what its gradient needs, and the check of the classes."""
    x, target = i.inputs[0], i.params["target"].value
    reduction = i.params["reduction"]
    if reduction not in ("mean", "sum") or not i.extras or not softmax.available():
        return "a reduction or layout that only the eager kernel serves"
    rows, columns = x.shape
    memory = i.extras[0].buffer
    if not (strided(x) and target.contiguous and target.dtype == "int64" and memory.size == 12 * rows):
        return "a layout that only the eager kernel serves"
    bad = np.zeros(2, np.int64)
    ignore = i.params["ignore_index"]

    def emit(schedule: Any) -> None:
        losses = ex.place(Value(memory, "float32", (rows,), (4,), 0), schedule)
        schedule.cross_entropy(
            compact(ex, schedule, x), ex.place(target, schedule), losses, ex.place(i.outputs[0], schedule), bad, rows, columns, ignore,
            reduction == "mean", lambda: _refuse(bad, columns),
        )  # fmt: skip

    return Native(emit, f"cross entropy of {rows} rows", 4 * rows * columns, 5 * rows * columns)


def _refuse(bad: np.ndarray, classes: int) -> None:
    raise softmax.class_out_of_range(bad, classes)


def cross_entropy_vjp(i: Instruction, ex: Any) -> Native | str:
    """The gradient of the logits."""
    s, params, g = i.params["s"], i.params["params"], i.params["g"]
    extra = next((e for e in s if isinstance(e, Extra)), None)
    if extra is None or not isinstance(g, Ref) or g.value.size != 1 or g.value.dtype != "float32" or not softmax.available():
        return "a gradient of another form"
    x = s[0].value
    target = params["target"].value
    if not (strided(x) and target.contiguous and len(i.outputs) == 1 and i.outputs[0].whole):
        return "a layout that only the eager kernel serves"
    rows, columns = x.shape
    saved = extra.instruction.extras
    if not saved or any(v.dtype != "float32" or v.size != rows or not v.contiguous for v in saved):
        return "a gradient whose forward is not native"
    lse, used = saved if len(saved) == 2 else (saved[0], None)
    scaled = np.zeros(1, np.float32)

    def emit(schedule: Any) -> None:
        schedule.cross_entropy_backward(
            compact(ex, schedule, x), ex.place(target, schedule), ex.place(lse, schedule), ex.place(g.value, schedule),
            ex.place(i.outputs[0], schedule), None if used is None else ex.place(used, schedule), scaled, rows, columns,
            params["ignore_index"],
        )  # fmt: skip

    return Native(emit, f"cross entropy backward of {rows} rows", 8 * rows * columns, 5 * rows * columns)


LOWERINGS = {
    "cross_entropy": cross_entropy,
    "cross_entropy_vjp": cross_entropy_vjp,
    **rows.LOWERINGS,
    **convolution.LOWERINGS,
    **clipping.LOWERINGS,
    **recurrent.LOWERINGS,
    **copies.LOWERINGS,
    **indexing.LOWERINGS,
    **checks.LOWERINGS,
    **ordering.LOWERINGS,
    **taps.LOWERINGS,
    **random.LOWERINGS,
    **windows.LOWERINGS,
    **embedding_bag.LOWERINGS,
    **ctc.LOWERINGS,
    **pooling.LOWERINGS,
}
HANDED = {
    "cross_entropy": lambda arrays: ("kernel", (arrays[0], arrays[1] if len(arrays) > 1 else None)),
    **rows.HANDED,
    **convolution.HANDED,
    **pooling.HANDED,
    **recurrent.HANDED,
}
