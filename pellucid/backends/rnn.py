"""Recurrent layers over all time steps in one direction, on arrays: one product for the input's part of all gates, then for each step
one product with the state's weights and one fused function (`codegen.recurrent`).

`mode` is "lstm", "gru", "rnn_tanh" or "rnn_relu". The gates are stacked as PyTorch stacks them: i, f, g, o and r, z, n.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import config
from . import numpy_cpu
from .kernels import kernels

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
_F32 = np.dtype(np.float32)


def _step(name: str, dtype: Any) -> Callable[..., Any]:
    run = kernels.recurrent.ufunc(name) if dtype is _F32 and config.kernels else None
    return run if run is not None else kernels.recurrent.plain(name)  # type: ignore[no-any-return]


def _product(a: np.ndarray, b: np.ndarray) -> Callable[..., Any]:
    """The function for a product with `out=` that is called at each step; the rule of `numpy_cpu.matmul`."""
    large = a.dtype is _F32 and config.kernels and min(a.size, b.size) > 2048
    return kernels.matmul.multiply if large else np.matmul  # type: ignore[no-any-return]


def _each(gates: np.ndarray, count: int) -> list[list[np.ndarray]]:
    """(T, B, count * H) as T lists of the (B, H) parts."""
    steps, batch, width = gates.shape
    parts = gates.reshape(steps, batch, count, width // count).transpose(0, 2, 1, 3)
    return [list(step) for step in parts]


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
        ((T, B, H), (B, H)) and for "lstm" the last cells (B, H); (states, the same step by step, cells, gates): states (T + 1, B, H) and the T + 1
        cells lie in the order of the steps, with the initial one at the end that the direction starts from; the gates are T lists
        of (B, H). For "gru" the cells are the state's part of n.
    """
    steps, batch, _ = x.shape
    size = w_hh.shape[1]
    count = GATES[mode]
    dtype = x.dtype
    bias = b_ih
    if b_hh is not None:
        bias = bias + b_hh
        if mode == "gru":  # the state's bias of n is multiplied by r, with the state's part
            bias[2 * size :] = b_ih[2 * size :]
    from_x = numpy_cpu.linear(np.ascontiguousarray(x), w_ih, bias)
    first, shift = (steps, 0) if reverse else (0, 1)  # the state after step t stands at t + shift
    states = np.empty((steps + 1, batch, size), dtype)
    states[first] = hx
    x_parts = _each(from_x, count)  # the gates replace their input's part
    cell: Any = None  # of LSTM; of GRU the state's part of n, which backward needs
    if mode in ("lstm", "gru"):
        cell = list(np.empty((steps + 1, batch, size), dtype))
    if mode == "lstm":
        cell[first][...] = cx
    from_h = np.empty((batch, count * size), dtype)
    h_parts = _each(from_h[None], count)[0]
    bias_n = None if mode != "gru" else dtype.type(0) if b_hh is None else b_hh[2 * size :]
    weight = np.ascontiguousarray(w_hh.T)
    product = _product(states[0], weight)
    step = _step(mode, dtype)
    after = list(states)
    with np.errstate(all="ignore"):
        for t in reversed(range(steps)) if reverse else range(steps):
            new = t + shift
            old = t + 1 - shift
            product(after[old], weight, out=from_h)
            part = x_parts[t]
            if mode == "lstm":
                step(*part, *h_parts, cell[old], *part, cell[new], after[new])
            elif mode == "gru":
                step(*part, *h_parts, bias_n, after[old], *part, cell[new], after[new])
            else:
                step(from_x[t], from_h, after[new])
    last = 0 if reverse else steps
    # Copies: the caller may write into the results, and backward needs the states.
    made: tuple[Any, ...] = (states[shift : shift + steps].copy(), states[last].copy())
    return ((*made, cell[last].copy()) if mode == "lstm" else made), (states, after, cell, x_parts if cell else None)


def backward(mode: str, g: Any, x: Any, w_ih: Any, w_hh: Any, aux: Any, needs: Any, reverse: bool) -> tuple[Any, ...]:
    """Gradients of (x, hx, cx, w_ih, w_hh, b_ih, b_hh) from those of the results, None where `needs` (in that order) says so."""
    states, state, cell, kept = aux
    steps, batch, _ = x.shape
    size = w_hh.shape[1]
    count = GATES[mode]
    dtype = x.dtype
    shift = 0 if reverse else 1
    back = g[1].copy()  # the gradient of the state, going back in time
    # The gradients of the gates, and of the state's part of the gates: another one only where n has a factor r.
    scratch = _Scratch(2 if mode == "gru" else 1, (steps, batch, count * size), dtype)
    d_gates, d_state = scratch.arrays[0], scratch.arrays[-1]
    parts = _each(d_gates, count)
    d_out, d_steps = list(g[0]), list(d_state)
    through = d_cell = None
    if mode == "gru":
        d_n = [step[2] for step in _each(d_state, 3)]
        through = np.zeros_like(back)
    if mode == "lstm":
        d_cell = g[2].copy()
    product = _product(d_gates[0], w_hh)
    step = _step(mode + "_backward", dtype)
    with np.errstate(all="ignore"):
        for t in range(steps) if reverse else reversed(range(steps)):
            new = t + shift
            old = t + 1 - shift
            if mode == "lstm":
                step(*kept[t], cell[new], cell[old], d_out[t], back, d_cell, *parts[t], d_cell)
            elif mode == "gru":
                step(*kept[t], cell[new], state[old], d_out[t], back, through, *parts[t], d_n[t], through)
                d_state[t, :, : 2 * size] = d_gates[t, :, : 2 * size]
            else:
                step(state[new], d_out[t], back, d_steps[t])
            product(d_steps[t], w_hh, out=back)
        if through is not None:
            back += through
        flat, flat_state = _rows(d_gates), _rows(d_state)
        before = states[1 - shift : 1 - shift + steps]
        dx = numpy_cpu.matmul(flat, w_ih).reshape(x.shape) if needs[0] else None
        dw_ih = numpy_cpu.matmul(flat.T, _rows(x)) if needs[3] else None
        dw_hh = numpy_cpu.matmul(flat_state.T, _rows(before)) if needs[4] else None
        db_ih = numpy_cpu.sum(flat, axis=0) if needs[5] else None
        db_hh = None
        if needs[6]:
            db_hh = numpy_cpu.sum(flat_state, axis=0) if db_ih is None or mode == "gru" else db_ih.copy()
    scratch.give()
    return dx, back if needs[1] else None, d_cell if needs[2] else None, dw_ih, dw_hh, db_ih, db_hh
