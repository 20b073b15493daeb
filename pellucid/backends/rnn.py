"""Recurrent layers over all time steps in one direction, on arrays: one product for the input's part of all gates, then the time steps,
in one native call (`codegen.recurrent_layer`) or with NumPy, and in backward one product each for the gradients of input and weights.

`mode` is "lstm", "gru", "rnn_tanh" or "rnn_relu". The gates are stacked as PyTorch stacks them: i, f, g, o and r, z, n.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import config
from . import numpy_cpu
from .kernels import kernels

_F32 = np.dtype(np.float32)


def _parts(gates: np.ndarray, count: int) -> np.ndarray:
    """(T, B, count * H) as (T, count, B, H), without a copy."""
    steps, batch, width = gates.shape
    return gates.reshape(steps, batch, count, width // count).transpose(0, 2, 1, 3)


def _rows(a: np.ndarray) -> np.ndarray:
    return a.reshape(-1, a.shape[-1])


def forward(
    mode: str, x: Any, hx: Any, cx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, reverse: bool
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The output of each step and the last states, and what `backward` needs.

    Args:
        x: (T, B, in) with T > 0. hx, cx: (B, H); cx is None unless mode is "lstm".
        w_ih, w_hh, b_ih, b_hh: (gates * H, in), (gates * H, H), and vectors or None.

    Returns:
        ((T, B, H), (B, H)) and for "lstm" the last cells (B, H); (states, cells, gates): states (T + 1, B, H) and the T + 1 cells lie
        in the order of the steps, with the initial one at the end that the direction starts from; the gates are (T, B, gates * H).
        For "gru" the cells are the state's part of n.
    """
    steps, batch, _ = x.shape
    size = w_hh.shape[1]
    dtype = x.dtype
    gated = mode in ("lstm", "gru")
    bias = b_ih
    if b_hh is not None:
        bias = bias + b_hh
        if mode == "gru":  # the state's bias of n is multiplied by r, with the state's part
            bias[2 * size :] = b_ih[2 * size :]
    gates = numpy_cpu.linear(np.ascontiguousarray(x), w_ih, bias)  # the gates replace their input's part
    first, last = (steps, 0) if reverse else (0, steps)
    states = np.empty((steps + 1, batch, size), dtype)
    states[first] = hx
    cells = np.empty((steps + 1, batch, size), dtype) if gated else None
    if mode == "lstm":
        cells[first] = cx  # type: ignore[index]
    bias_n = None
    if mode == "gru":
        bias_n = np.zeros(size, dtype) if b_hh is None else np.ascontiguousarray(b_hh[2 * size :])
    # The results have memory of their own: the caller may write into them, and backward needs the states.
    out = np.empty((steps, batch, size), dtype)
    weight = np.ascontiguousarray(w_hh)
    native = dtype is _F32 and config.kernels
    if not (native and kernels.recurrent_layer.forward(mode, gates, states, cells, out, bias_n, weight, reverse)):
        _forward(mode, gates, states, cells, bias_n, weight, reverse)
        out[...] = states[:steps] if reverse else states[1:]
    results = (out, states[last].copy())
    if mode == "lstm":
        results = (*results, cells[last].copy())  # type: ignore[index,assignment]
    return results, (states, cells, gates if gated else None)


def _forward(mode: str, gates: Any, states: Any, cells: Any, bias_n: Any, w_hh: Any, reverse: bool) -> None:
    """The time steps with NumPy."""
    steps, batch, width = gates.shape
    count = kernels.recurrent.PARTS[mode]
    shift = 0 if reverse else 1  # the state after step t stands at t + shift
    x_parts = _parts(gates, count)
    step = kernels.recurrent.plain(mode)
    with np.errstate(all="ignore"):
        for t in reversed(range(steps)) if reverse else range(steps):
            new, old = t + shift, t + 1 - shift
            h_parts = _parts(np.matmul(states[old], w_hh.T)[None], count)[0]
            if mode == "lstm":
                step(*x_parts[t], *h_parts, cells[old], *x_parts[t], cells[new], states[new])
            elif mode == "gru":
                step(*x_parts[t], *h_parts, bias_n, states[old], *x_parts[t], cells[new], states[new])
            else:
                step(*x_parts[t], *h_parts, states[new])


class _Scratch:
    """Arrays for one call; their memory is kept for the next one, because fresh memory costs a page fault for every 4 KB."""

    def __init__(self, count: int, shape: tuple[int, ...], dtype: Any) -> None:
        length = math.prod(shape) * dtype.itemsize
        room = -(-length // 128) * 128
        self.taken = kernels.conv_memory.take(max(count * room, 128))
        memory = self.taken.memory
        start = self.taken.address - memory.ctypes.data
        self.arrays = [memory[start + k * room : start + k * room + length].view(dtype).reshape(shape) for k in range(count)]

    def give(self) -> None:
        kernels.conv_memory.give(self.taken)


def backward(mode: str, g: Any, x: Any, w_ih: Any, w_hh: Any, aux: Any, needs: Any, reverse: bool) -> tuple[Any, ...]:
    """Gradients of (x, hx, cx, w_ih, w_hh, b_ih, b_hh) from those of the results, None where `needs` (in that order) says so."""
    states, cells, gates = aux
    steps, batch, _ = x.shape
    size = w_hh.shape[1]
    dtype = x.dtype
    # The gradients of the gates, and of the state's part of the gates: another one only where n has a factor r.
    scratch = _Scratch(2 if mode == "gru" else 1, (steps, batch, w_hh.shape[0]), dtype)
    d_gates, d_state = scratch.arrays[0], scratch.arrays[-1]
    carry = None  # what goes back in time besides the state's gradient
    if mode == "lstm":
        carry = np.array(g[2], order="C")
    elif mode == "gru":
        carry = np.zeros((batch, size), dtype)
    d_first = np.empty((batch, size), dtype) if needs[1] else None
    operands = (
        np.ascontiguousarray(g[0]),
        np.ascontiguousarray(g[1]),
        carry,
        d_gates,
        d_state,
        d_first,
        np.ascontiguousarray(w_hh),
    )
    native = dtype is _F32 and config.kernels
    if not (native and kernels.recurrent_layer.backward(mode, gates, states, cells, *operands, reverse)):
        _backward(mode, gates, states, cells, *operands, reverse)
    flat, flat_state = _rows(d_gates), _rows(d_state)
    before = states[1:] if reverse else states[:steps]
    with np.errstate(all="ignore"):
        dx = numpy_cpu.matmul(flat, w_ih).reshape(x.shape) if needs[0] else None
        dw_ih = numpy_cpu.matmul(flat.T, _rows(x)) if needs[3] else None
        dw_hh = numpy_cpu.matmul(flat_state.T, _rows(before)) if needs[4] else None
        db_ih = numpy_cpu.sum(flat, axis=0) if needs[5] else None
        db_hh = None
        if needs[6]:
            db_hh = numpy_cpu.sum(flat_state, axis=0) if db_ih is None or mode == "gru" else db_ih.copy()
    scratch.give()
    return dx, d_first, carry if needs[2] else None, dw_ih, dw_hh, db_ih, db_hh


def _backward(
    mode: str, gates: Any, states: Any, cells: Any, d_out: Any, back: Any, carry: Any, d_gates: Any, d_state: Any, d_first: Any,
    w_hh: Any, reverse: bool,
) -> None:  # fmt: skip
    """The time steps with NumPy."""
    steps = d_out.shape[0]
    count = kernels.recurrent.PARTS[mode]
    shift = 0 if reverse else 1
    kept = None if gates is None else _parts(gates, count)
    parts, state_parts = _parts(d_gates, count), _parts(d_state, count)
    step = kernels.recurrent.plain(mode + "_backward")
    with np.errstate(all="ignore"):
        for t in range(steps) if reverse else reversed(range(steps)):
            new, old = t + shift, t + 1 - shift
            if mode == "lstm":
                step(*kept[t], cells[new], cells[old], d_out[t], back, carry, *parts[t], carry)  # type: ignore[index]
            elif mode == "gru":
                step(*kept[t], cells[new], states[old], d_out[t], back, carry, *parts[t], state_parts[t, 2], carry)  # type: ignore[index]
                state_parts[t, :2] = parts[t, :2]
            else:
                step(states[new], d_out[t], back, *parts[t])
            back = np.matmul(d_state[t], w_hh)
        if d_first is not None:
            d_first[...] = back if mode != "gru" else back + carry
