"""The formulas of a recurrent cell over a batch, forward and backward, as one native loop each
(float32 and float64).

The matrix products are computed separately: these loops get both parts of the gates as arguments.
The formulas are those of `recurrent_layer`, in `formulas`; gradients from a later time step are
zero for a single step.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, SSAValue, vector
from .formulas import PARTS, REALS, emit_step

__all__ = ["backward", "forward"]

_FORWARD = ("gates", "state_gates", "h", "c", "out", "out_c")
_BACKWARD = ("gates", "state_gates", "h", "c", "d_h", "d_c", "d_gates", "d_state", "through")
_SIGNATURES = {
    "forward": "p" + "a" * len(_FORWARD) + "iii",
    "backward": "p" + "a" * len(_BACKWARD) + "iii",
}
_UNITS = 16384  # units per chunk, which take about ten microseconds


def _build(mode: str, back: bool, real: str) -> str:
    module = Module(real)
    names = _BACKWARD if back else _FORWARD
    f = threads.parallel_export(
        module, "backward" if back else "forward", {**dict.fromkeys(names, "ptr"), "size": "i64"}
    )
    lanes = target.host().lanes(real)
    with f.loop(f.begin, f.end) as row:
        f.vector_loop(
            f.size,
            lanes,
            lambda unit, mask: (_backward if back else _forward)(f, mode, row, unit, mask),
        )
    f.ret()
    return module.text()


def _gates(
    f: Function, mode: str, pointer: SSAValue, row: SSAValue, unit: SSAValue, mask: SSAValue | None
) -> list[SSAValue]:
    kind = vector(f.module.real, target.host().lanes(f.module.real))
    parts = PARTS[mode]
    return [
        f.load(kind, pointer, (row * parts + k) * f.size + unit, mask=mask) for k in range(parts)
    ]


def _forward(f: Function, mode: str, row: SSAValue, unit: SSAValue, mask: SSAValue | None) -> None:
    parts = PARTS[mode]
    kind = vector(f.module.real, target.host().lanes(f.module.real))
    at, gate = row * f.size + unit, row * parts * f.size + unit
    values = _gates(f, mode, f.gates, row, unit, mask) + _gates(
        f, mode, f.state_gates, row, unit, mask
    )
    if mode == "lstm":
        values.append(f.load(kind, f.c, at, mask=mask))
    elif mode == "gru":  # the state's part of n includes its bias; adding -0 changes nothing
        values += [f.const(-0.0, kind), f.load(kind, f.h, at, mask=mask)]
    made = emit_step(f, mode, values)
    for k in range(parts):
        f.store(made[k], f.gates, gate + f.size * k, mask=mask)
    if mode == "lstm":
        f.store(made[parts], f.out_c, at, mask=mask)
        f.store(made[parts], f.state_gates, gate, mask=mask)
    f.store(made[-1], f.out, at, mask=mask)


def _backward(f: Function, mode: str, row: SSAValue, unit: SSAValue, mask: SSAValue | None) -> None:
    parts = PARTS[mode]
    kind = vector(f.module.real, target.host().lanes(f.module.real))
    at, gate = row * f.size + unit, row * parts * f.size + unit
    zero = f.const(-0.0, kind)

    def read(pointer: SSAValue, index: SSAValue) -> SSAValue:
        return f.load(kind, pointer, index, mask=mask)

    values = _gates(f, mode, f.gates, row, unit, mask)
    if mode == "lstm":
        values += [read(f.state_gates, gate), read(f.c, at), read(f.d_h, at), zero, read(f.d_c, at)]
    elif mode == "gru":
        values += [
            read(f.state_gates, gate + f.size * 2),
            read(f.h, at),
            read(f.d_h, at),
            zero,
            zero,
        ]
    else:
        values += [read(f.d_h, at), zero]
    made = emit_step(f, mode + "_backward", values)
    store_slopes(f, mode, made, gate, at, f.through, mask)


def store_slopes(
    f: Function,
    mode: str,
    made: list[SSAValue],
    gate: SSAValue,
    at: SSAValue,
    carried: SSAValue,
    mask: SSAValue | None,
) -> None:
    """Emit stores of the gradients of the gates, of the state's gates if they differ, and of the
    gradient that is passed on to the previous state.
    """
    for k in range(PARTS[mode]):
        f.store(made[k], f.d_gates, gate + f.size * k, mask=mask)
    if mode == "gru":  # the state's part of n is multiplied by r
        for k, value in enumerate((made[0], made[1], made[3])):
            f.store(value, f.d_state, gate + f.size * k, mask=mask)
    if mode in ("lstm", "gru"):
        f.store(made[-1], carried, at, mask=mask)


@cache
def _library(mode: str, back: bool, dtype: np.dtype) -> Any:
    which, real = "backward" if back else "forward", REALS[dtype]
    name = f"{mode}_cell_{which}" + ("" if real == "float" else f"_{real}")
    exports = {which: _SIGNATURES[which]}
    return jit.NativeLibrary(name, lambda: _build(mode, back, real), exports, together=True)


def _numbers(batch: int, size: int) -> tuple[int, int, int]:
    return size, batch, max(1, _UNITS // size)


def forward(
    mode: str,
    gates: np.ndarray,
    state_gates: np.ndarray,
    h: np.ndarray,
    c: np.ndarray | None,
    out: np.ndarray,
    out_c: np.ndarray | None,
) -> bool:
    """Fill `out`, and for an LSTM `out_c`. Returns False if code cannot be generated.

    Args:
        gates: (B, gates * H), the input's part; replaced by the gates (for "rnn_*" by the state).
        state_gates: (B, gates * H), the state's part; of an LSTM the first H columns are replaced
            by the new cells.
        h, c: (B, H), the state before; c is an LSTM's.
        out, out_c: (B, H).

    All are contiguous, and float32 or float64.
    """
    library = _library(mode, False, out.dtype)
    if library.forward is None:
        return False
    library.forward(threads.team(), gates, state_gates, h, c, out, out_c, *_numbers(*out.shape))
    return True


def backward(
    mode: str,
    gates: np.ndarray,
    state_gates: np.ndarray,
    h: np.ndarray,
    c: np.ndarray | None,
    d_h: np.ndarray,
    d_c: np.ndarray | None,
    d_gates: np.ndarray,
    d_state: np.ndarray,
    through: np.ndarray | None,
) -> bool:
    """Fill d_gates, d_state and `through`. Returns False if code cannot be generated.

    Args:
        gates, state_gates: as `forward` left them.
        h, c: the state before.
        d_h, d_c: the gradients of the new state.
        d_gates, d_state: (B, gates * H): gradients of the input's and of the state's part; the same
            array but for a GRU.
        through: (B, H): the gradient of c, or for a GRU what reaches h past the gates; None for the
            others.
    """
    library = _library(mode, True, d_h.dtype)
    if library.backward is None:
        return False
    operands = (gates, state_gates, h, c, d_h, d_c, d_gates, d_state, through)
    library.backward(threads.team(), *operands, *_numbers(*d_h.shape))
    return True
