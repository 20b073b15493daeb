"""Recurrent layers in one direction over all time steps, on arrays.

One matrix product computes the input's part of all gates. The time steps then run in one native
call (`kernels.recurrent.layer`) or with NumPy. Backward needs one product each for the gradients of
the input and of the weights.

Packed sequences are stored step by step without padding, longest sequence first; `sizes` has the
number of sequences in each step. The states are nevertheless stored in a padded block, in which the
rows of ended sequences stay unused.

`mode` is "lstm", "gru", "rnn_tanh" or "rnn_relu". The gates are stacked as in PyTorch: i, f, g, o
and r, z, n.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import config
from . import numpy_cpu
from .native import REAL, kernels


class _Layout(NamedTuple):
    """The row numbers of packed sequences.

    offsets: (T + 1,), int64: the first row of each step, then the number of rows. ends: (B,),
    int64: the number of steps of each sequence, which is also the position of its last state in
    time.
    """

    offsets: np.ndarray
    ends: np.ndarray


@cache
def _step(name: str) -> Any:
    """One time step of `kernels.recurrent.formulas` with NumPy, in the dtype of the arrays. It
    takes the formula's arguments, then the arrays for the results.
    """
    formula = kernels.recurrent.formulas.CELLS[name]
    count = formula.__code__.co_argcount - 1

    def run(*arrays: Any) -> None:
        # compute all results first, because an argument may also be a result array
        made = formula(numpy_cpu, *arrays[:count])
        for target, result in zip(arrays[count:], made, strict=True):
            target[...] = result

    return run


@lru_cache(256)
def _layout(sizes: tuple[int, ...]) -> _Layout:
    counts = np.array(sizes, np.int64)
    return _Layout(
        np.concatenate([[0], np.cumsum(counts)]), (counts[:, None] > np.arange(sizes[0])).sum(0)
    )


@lru_cache(256)
def _before(sizes: tuple[int, ...], reverse: bool) -> np.ndarray:
    """For each packed row, the row of the states (viewed as (T + 1) * B rows) from which it
    started.
    """
    return np.concatenate([(t + reverse) * sizes[0] + np.arange(n) for t, n in enumerate(sizes)])


def _steps(a: np.ndarray, offsets: np.ndarray) -> list[np.ndarray]:
    """Split an array into the rows of each step."""
    return [a[i:j] for i, j in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]


def _parts(rows: np.ndarray, count: int) -> np.ndarray:
    """View (B, count * H) as (count, B, H)."""
    return rows.reshape(rows.shape[0], count, rows.shape[1] // count).transpose(1, 0, 2)


def _rows(a: np.ndarray) -> np.ndarray:
    return a.reshape(-1, a.shape[-1])


def forward(
    mode: str,
    x: Any,
    hx: Any,
    cx: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    reverse: bool,
    sizes: tuple[int, ...] | None = None,
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The output of each step and the last states, and what `backward` needs.

    Args:
        x: (T, B, in) with T > 0; with `sizes` (N, in), N their sum. hx, cx: (B, H); cx is None
            unless mode is "lstm".
        w_ih, w_hh, b_ih, b_hh: (gates * H, in), (gates * H, H), and vectors or None.
        sizes: of packed sequences, how many of them have each step: B first, then never more.

    Returns:
        ((T, B, H) or (N, H), (B, H)) and for "lstm" the last cells (B, H); (states, cells, gates):
        states (T + 1, B, H) and the T + 1 cells lie in the order of the steps, with the initial one
        at the end that the direction starts from; the gates are (T, B, gates * H) or (N, gates *
        H). For "gru" the cells are the state's part of n.
    """
    size = w_hh.shape[1]
    dtype = x.dtype
    gated = mode in ("lstm", "gru")
    bias = b_ih
    if b_hh is not None:
        bias = bias + b_hh
        # the recurrent bias of n is multiplied by r, together with the state's part
        if mode == "gru":
            bias[2 * size :] = b_ih[2 * size :]
    # holds the input's part first; the steps overwrite it with the gates
    gates = numpy_cpu.linear(np.ascontiguousarray(x), w_ih, bias)
    layout = None if sizes is None else _layout(sizes)
    steps, batch = x.shape[:2] if sizes is None else (len(sizes), sizes[0])
    # The positions of the first and the last state of each row.
    first: Any = steps if reverse else 0
    last: Any = steps - first
    if layout is not None:
        own = layout.ends, np.arange(batch)
        first, last = (own, 0) if reverse else (0, own)
    states = np.empty((steps + 1, batch, size), dtype)
    states[first] = hx
    cells = np.empty((steps + 1, batch, size), dtype) if gated else None
    if mode == "lstm" and cells is not None:
        cells[first] = cx
    bias_n = None
    if mode == "gru":
        bias_n = np.zeros(size, dtype) if b_hh is None else np.ascontiguousarray(b_hh[2 * size :])
    # Separate memory for the results: the caller may write into them, and backward needs the
    # states.
    out = np.empty((*x.shape[:-1], size), dtype)
    weight = np.ascontiguousarray(w_hh)
    native = dtype in REAL and config.kernels
    offsets = None if layout is None else layout.offsets
    if not (
        native
        and kernels.recurrent.layer.forward(
            mode, gates, states, cells, out, bias_n, weight, reverse, offsets
        )
    ):
        offsets = batch * np.arange(steps + 1) if offsets is None else offsets
        _forward(mode, _rows(gates), states, cells, _rows(out), bias_n, weight, reverse, offsets)
    # Indexing with a tuple copies; a view of the last step is copied explicitly.
    results = (out, states[last] if type(last) is tuple else states[last].copy())
    if mode == "lstm":
        results = (*results, cells[last] if type(last) is tuple else cells[last].copy())  # type: ignore[index,assignment]
    return results, (states, cells, gates if gated else None)


def _forward(
    mode: str,
    gates: Any,
    states: Any,
    cells: Any,
    out: Any,
    bias_n: Any,
    w_hh: Any,
    reverse: bool,
    offsets: Any,
) -> None:
    """Run the time steps with NumPy."""
    count = kernels.recurrent.formulas.PARTS[mode]
    shift = 0 if reverse else 1  # the state after step t is at index t + shift
    x_parts = [_parts(rows, count) for rows in _steps(gates, offsets)]
    outs = _steps(out, offsets)
    step = _step(mode)
    with np.errstate(all="ignore"):
        for t in reversed(range(len(outs))) if reverse else range(len(outs)):
            n = len(outs[t])
            old, new = states[t + 1 - shift, :n], states[t + shift, :n]
            h_parts = _parts(kernels.matmul.blas.matmul(old, w_hh.T), count)
            if mode == "lstm":
                step(
                    *x_parts[t],
                    *h_parts,
                    cells[t + 1 - shift, :n],
                    *x_parts[t],
                    cells[t + shift, :n],
                    new,
                )
            elif mode == "gru":
                step(*x_parts[t], *h_parts, bias_n, old, *x_parts[t], cells[t + shift, :n], new)
            else:
                step(*x_parts[t], *h_parts, new)
            outs[t][...] = new


class _Scratch:
    """Temporary arrays for one call. Their memory is reused by the next call, because new memory
    costs a page fault for every 4 KB.
    """

    def __init__(self, count: int, shape: tuple[int, ...], dtype: Any) -> None:
        length = math.prod(shape) * dtype.itemsize
        room = -(-length // 128) * 128
        self.taken = kernels.convolution.memory.take(max(count * room, 128))
        memory = self.taken.memory
        start = self.taken.address - memory.ctypes.data
        self.arrays = [
            memory[start + k * room : start + k * room + length].view(dtype).reshape(shape)
            for k in range(count)
        ]

    def give(self) -> None:
        kernels.convolution.memory.give(self.taken)


def backward(
    mode: str,
    g: Any,
    x: Any,
    w_ih: Any,
    w_hh: Any,
    aux: Any,
    needs: Any,
    reverse: bool,
    sizes: tuple[int, ...] | None = None,
) -> tuple[Any, ...]:
    """Gradients of (x, hx, cx, w_ih, w_hh, b_ih, b_hh) from those of the results; None where
    `needs` (in this order) is False.
    """
    states, cells, gates = aux
    (batch, size), steps = states.shape[1:], states.shape[0] - 1
    dtype = x.dtype
    # The gradients of the gates' input part and of their state part. They differ only for "gru",
    # where n multiplies the state part by r.
    scratch = _Scratch(2 if mode == "gru" else 1, (*x.shape[:-1], w_hh.shape[0]), dtype)
    d_gates, d_state = scratch.arrays[0], scratch.arrays[-1]
    carry = None  # the second gradient that flows back in time, besides the state's
    if mode == "lstm":
        carry = np.array(g[2], order="C")
    elif mode == "gru":
        carry = np.zeros((batch, size), dtype)
    d_first = np.empty((batch, size), dtype) if needs[1] else None
    d_out, back, weight = (
        np.ascontiguousarray(g[0]),
        np.ascontiguousarray(g[1]),
        np.ascontiguousarray(w_hh),
    )
    operands = (carry, d_gates, d_state, d_first, weight, reverse)
    native = dtype in REAL and config.kernels
    offsets = None if sizes is None else _layout(sizes).offsets
    if not (
        native
        and kernels.recurrent.layer.backward(
            mode, gates, states, cells, d_out, back, *operands, offsets
        )
    ):
        offsets = batch * np.arange(steps + 1) if offsets is None else offsets
        flats = (_rows(d_gates), _rows(d_state), d_first, weight, reverse, offsets)
        _backward(
            mode,
            None if gates is None else _rows(gates),
            states,
            cells,
            _rows(d_out),
            back,
            carry,
            *flats,
        )
    flat, flat_state = _rows(d_gates), _rows(d_state)
    with np.errstate(all="ignore"):
        dx = numpy_cpu.matmul(flat, w_ih).reshape(x.shape) if needs[0] else None
        dw_ih = numpy_cpu.matmul(flat.T, _rows(x)) if needs[3] else None
        dw_hh = None
        if needs[4]:
            before = (
                _rows(states[1:] if reverse else states[:steps])
                if sizes is None
                else _rows(states)[_before(sizes, reverse)]
            )
            dw_hh = numpy_cpu.matmul(flat_state.T, before)
        db_ih = numpy_cpu.sum(flat, axis=0) if needs[5] else None
        db_hh = None
        if needs[6]:
            db_hh = (
                numpy_cpu.sum(flat_state, axis=0)
                if db_ih is None or mode == "gru"
                else db_ih.copy()
            )
    scratch.give()
    return dx, d_first, carry if needs[2] else None, dw_ih, dw_hh, db_ih, db_hh


def _backward(
    mode: str,
    gates: Any,
    states: Any,
    cells: Any,
    d_out: Any,
    back: Any,
    carry: Any,
    d_gates: Any,
    d_state: Any,
    d_first: Any,
    w_hh: Any,
    reverse: bool,
    offsets: Any,
) -> None:
    """Run the time steps of backward with NumPy."""
    count = kernels.recurrent.formulas.PARTS[mode]
    shift = 0 if reverse else 1
    kept = [] if gates is None else [_parts(rows, count) for rows in _steps(gates, offsets)]
    parts, state_parts = (
        [_parts(rows, count) for rows in _steps(a, offsets)] for a in (d_gates, d_state)
    )
    outs, d_states = _steps(d_out, offsets), _steps(d_state, offsets)
    step = _step(mode + "_backward")
    # for a row that has not begun yet (packed, reverse direction), this is the gradient of its last
    # state
    total = np.array(back)
    with np.errstate(all="ignore"):
        for t in range(len(outs)) if reverse else reversed(range(len(outs))):
            n = len(outs[t])
            new, old = t + shift, t + 1 - shift
            later, own = total[:n], None if carry is None else carry[:n]
            if mode == "lstm":
                step(*kept[t], cells[new, :n], cells[old, :n], outs[t], later, own, *parts[t], own)
            elif mode == "gru":
                step(
                    *kept[t],
                    cells[new, :n],
                    states[old, :n],
                    outs[t],
                    later,
                    own,
                    *parts[t],
                    state_parts[t][2],
                    own,
                )
                state_parts[t][:2] = parts[t][:2]
            else:
                step(states[new, :n], outs[t], later, *parts[t])
            total[:n] = kernels.matmul.blas.matmul(d_states[t], w_hh)
        if d_first is not None:
            d_first[...] = total if mode != "gru" else total + carry


# ---- single steps --------------------------------------------------------------------------------
def cell_forward(
    mode: str, x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any
) -> tuple[Any, tuple[Any, ...]]:
    """The state after one step, h or for "lstm" (h, c), and what `cell_backward` needs.

    Args:
        x: (B, in). h, c: (B, H), c for "lstm". Weights and biases as `forward`'s.
    """
    h, c = np.ascontiguousarray(h), None if c is None else np.ascontiguousarray(c)
    gates = numpy_cpu.linear(np.ascontiguousarray(x), w_ih, b_ih)
    state_gates = numpy_cpu.linear(h, w_hh, b_hh)
    return cell_step(mode, gates, state_gates, h, c), (gates, state_gates, h, c)


def cell_step(mode: str, gates: Any, state_gates: Any, h: Any, c: Any) -> Any:
    """The state after a step, h or for "lstm" (h, c), from the products with the input and with the
    state. Both products are overwritten.
    """
    out, out_c = np.empty_like(h), None if c is None else np.empty_like(h)
    if not (
        h.dtype in REAL
        and config.kernels
        and kernels.recurrent.cell.forward(mode, gates, state_gates, h, c, out, out_c)
    ):
        count = kernels.recurrent.formulas.PARTS[mode]
        parts, state_parts = _parts(gates, count), _parts(state_gates, count)
        step = _step(mode)
        with np.errstate(all="ignore"):
            if mode == "lstm":
                step(*parts, *state_parts, c, *parts, out_c, out)
                state_parts[0] = out_c
            elif mode == "gru":
                step(*parts, *state_parts, 0.0, h, *parts, state_parts[2], out)
            else:
                step(*parts, *state_parts, out)
                parts[0] = out
    return out if c is None else (out, out_c)


def cell_backward(
    mode: str, g: Any, x: Any, w_ih: Any, w_hh: Any, aux: Any, needs: Any
) -> tuple[Any, ...]:
    """Gradients of (x, h, c, w_ih, w_hh, b_ih, b_hh) from those of the state (a pair of them for
    "lstm"), None where not needed.
    """
    gates, state_gates, h, c = aux
    d_h, d_c = g if mode == "lstm" else (g, None)
    d_h, d_c = np.ascontiguousarray(d_h), None if d_c is None else np.ascontiguousarray(d_c)
    d_gates = np.empty_like(gates)
    d_state = np.empty_like(gates) if mode == "gru" else d_gates
    through = np.empty_like(h) if mode in ("lstm", "gru") else None
    operands = (gates, state_gates, h, c, d_h, d_c, d_gates, d_state, through)
    if not (
        x.dtype in REAL and config.kernels and kernels.recurrent.cell.backward(mode, *operands)
    ):
        count = kernels.recurrent.formulas.PARTS[mode]
        kept, parts, state_parts = (_parts(a, count) for a in (gates, d_gates, d_state))
        step = _step(mode + "_backward")
        with np.errstate(all="ignore"):
            if mode == "lstm":
                step(*kept, _parts(state_gates, count)[0], c, d_h, 0.0, d_c, *parts, through)
            elif mode == "gru":
                step(
                    *kept,
                    _parts(state_gates, count)[2],
                    h,
                    d_h,
                    0.0,
                    0.0,
                    *parts,
                    state_parts[2],
                    through,
                )
                state_parts[:2] = parts[:2]
            else:
                step(*kept, d_h, 0.0, *parts)
    with np.errstate(all="ignore"):
        dx = numpy_cpu.matmul(d_gates, w_ih) if needs[0] else None
        dh = numpy_cpu.matmul(d_state, w_hh) if needs[1] else None
        if dh is not None and mode == "gru":
            np.add(dh, through, out=dh)
        dw_ih = numpy_cpu.matmul(d_gates.T, x) if needs[3] else None
        dw_hh = numpy_cpu.matmul(d_state.T, h) if needs[4] else None
        db_ih = numpy_cpu.sum(d_gates, axis=0) if needs[5] else None
        db_hh = None
        if needs[6]:
            db_hh = (
                numpy_cpu.sum(d_state, axis=0) if db_ih is None or mode == "gru" else db_ih.copy()
            )
    return dx, dh, through if needs[2] else None, dw_ih, dw_hh, db_ih, db_hh
