"""Lowerings of recurrent layers: the products of all time steps, and the native loop over the
steps, on the memory of the compiled step.
"""

from __future__ import annotations

import functools

import numpy as np

from ...ir import Extra, Instruction, Value
from ...ir.program import ITEMSIZE
from ...llvm.emit import types_of
from ..lowered import (
    OTHER,
    Handed,
    Lowering,
    LoweringContext,
    Native,
    compact,
    dense,
    gradients,
    places,
    room,
    strided,
    value_of,
)
from ..matmul.product import Product
from ..pointwise.loop import Access, Loop, PointwiseOp, Reduce, Write
from ..schedule import Address, Schedule
from . import layer as recurrent_layer
from .formulas import PARTS


class _Memory:
    """Operations on memory of one dtype besides the kernels."""

    def __init__(self, schedule: Schedule, dtype: str) -> None:
        self.schedule, self.dtype, self.itemsize = schedule, dtype, ITEMSIZE[dtype]
        self.line = Access(dtype, (1,))

    def copy(self, source: Address, target: Address, size: int) -> None:
        loop = Loop((size,), (self.line,), (), (), (Write(("in", 0), self.line),))
        self.schedule.loop(loop, [source, target], title=f"copy of {size} values")

    def at(self, place: Address, numbers: int) -> Address:
        return place.at(self.itemsize * numbers)

    def room(self, numbers: int) -> Address:
        return room(self.schedule, numbers, self.dtype)

    def zero(self, place: Address, numbers: int) -> None:
        self.schedule.zero(place, self.itemsize * numbers)


def _served(*products: Product) -> bool:
    return all(p.served() is not None for p in products)


def _sum_of_biases(m: _Memory, mode: str, at_ih: Address, at_hh: Address, size: int) -> Address:
    """Schedule the sum of both biases, which is added to the input's part. For a GRU's n only the
    input's bias is included, since the state's part is multiplied by r first.
    """
    both, count = (2 * size if mode == "gru" else PARTS[mode] * size), PARTS[mode] * size
    bias = m.room(count)
    add = PointwiseOp("add", (("in", 0), ("in", 1)), m.dtype)
    loop = Loop((both,), (m.line, m.line), (), (add,), (Write(("step", 0), m.line),))
    m.schedule.loop(loop, [at_ih, at_hh, bias], title="sum of biases")
    if both < count:
        m.copy(m.at(at_ih, both), m.at(bias, both), count - both)
    return bias


_REALS = types_of("float32 float64")


def layer(mode: str, i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower a layer: the input's part of all gates in one product, then the steps."""
    lstm, gated, parts = mode == "lstm", mode in ("lstm", "gru"), PARTS[mode]
    x, hx, *cx = i.inputs[: 2 + lstm]
    w_ih, w_hh, b_ih, b_hh = i.inputs[2 + lstm :]
    results = [v for v in i.outputs if all(v is not e for e in i.extras)]
    kind = x.dtype
    if kind not in _REALS or not strided(x, hx, *cx, dtype=kind) or not x.size:
        return OTHER
    if not dense(w_ih, w_hh, b_ih, b_hh, *i.outputs, dtype=kind):
        return OTHER
    if (
        len(i.extras) != (3 if gated else 1)
        or len(results) != 2 + lstm
        or (b_ih is None) != (b_hh is None)
    ):
        return OTHER
    (steps, batch, width), size, reverse = x.shape, w_hh.shape[1], bool(i.params["reverse"])
    real = _REALS[kind]
    product = Product(
        steps * batch, parts * size, width, (width, 1), (1, width), parts * size, ctype=real
    )
    native = recurrent_layer.native(mode, False, np.dtype(kind), steps, batch, size)
    shapes = [(steps + 1, batch, size), (steps + 1, batch, size), (steps, batch, parts * size)]
    if (
        native is None
        or not _served(product)
        or any(e.shape != s for e, s in zip(i.extras, shapes, strict=False))
    ):
        return OTHER
    function, pack, room_of, pack_numbers, grain = native
    first, last = (steps, 0) if reverse else (0, steps)
    row, name = batch * size, _NAMES[mode]

    def emit(schedule: Schedule) -> None:
        m = _Memory(schedule, kind)
        at_x, at_h, *at_c = (compact(ex, schedule, v) for v in (x, hx, *cx))
        at_ih, at_hh, at_bi, at_bh, *out = places(ex, schedule, w_ih, w_hh, b_ih, b_hh, *results)
        at_states, *more = places(ex, schedule, *i.extras)
        at_cells, at_gates = more or (None, m.room(steps * batch * size))
        bias, bias_n = None, None
        if b_ih is not None:
            bias = _sum_of_biases(m, mode, at_bi, at_bh, size)
        if mode == "gru":
            bias_n = m.room(size)
            if b_hh is None:
                m.zero(bias_n, size)
            else:
                m.copy(m.at(at_bh, 2 * size), bias_n, size)
        schedule.product(product, at_x, at_ih, at_gates, bias)
        m.copy(at_h, m.at(at_states, first * row), row)
        if lstm:
            m.copy(at_c[0], m.at(more[0], first * row), row)
        packed = m.room(room_of)
        schedule.native(
            pack, ["team", at_hh, packed, *pack_numbers], f"packing of the weight of {name}"
        )
        arrays = (at_gates, at_states, at_cells, out[0], bias_n, packed, None)
        numbers = (steps, batch, size, int(reverse), batch, grain)
        schedule.native(
            function, ["team", *arrays, *numbers], f"{name} of {steps} steps, {batch}x{size}"
        )
        for block, end in zip((at_states, *more), out[1:], strict=False):
            m.copy(m.at(block, last * row), end, row)

    flops = 2 * parts * steps * batch * size * (width + size)
    return Native(
        emit, f"{name} of {steps} steps", sum(v.nbytes for v in (x, w_ih, w_hh, *i.outputs)), flops
    )


def layer_vjp(mode: str, i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the gradient: the steps back in time, then one product for each gradient."""
    lstm, gated, parts = mode == "lstm", mode in ("lstm", "gru"), PARTS[mode]
    saved, handed = [value_of(v) for v in i.params["s"][: 6 + lstm]], i.params["s"][-1]
    extras = handed.instruction.extras if isinstance(handed, Extra) else ()
    x, w_ih, w_hh = saved[0], *saved[2 + lstm : 4 + lstm]
    given = i.params["g"]
    g = [value_of(v) for v in given] if isinstance(given, (tuple, list)) else []
    wanted = gradients(i)
    if len(g) != 2 + lstm or len(extras) != (3 if gated else 1) or len(wanted) != 6 + lstm:
        return OTHER
    kind = x.dtype if isinstance(x, Value) else ""
    if kind not in _REALS or not strided(x, *g, dtype=kind) or not x.size:
        return OTHER
    if not dense(w_ih, w_hh, *extras, *wanted, dtype=kind) or w_ih is None or w_hh is None:
        return OTHER
    (steps, batch, width), size, reverse = (
        x.shape,
        w_hh.shape[1],
        bool(i.params["params"]["reverse"]),
    )
    rows, gates = steps * batch, parts * size
    shapes = [(steps + 1, batch, size), (steps + 1, batch, size), (steps, batch, gates)]
    if any(e.shape != s for e, s in zip(extras, shapes, strict=False)):
        return OTHER
    real = _REALS[kind]
    of_x = Product(rows, width, gates, (gates, 1), (width, 1), width, ctype=real)
    of_ih = Product(gates, width, rows, (1, gates), (width, 1), width, ctype=real)
    of_hh = Product(gates, size, rows, (1, gates), (size, 1), size, ctype=real)
    native = recurrent_layer.native(mode, True, np.dtype(kind), steps, batch, size)
    if native is None or not _served(of_x, of_ih, of_hh):
        return OTHER
    function, pack, room_of, pack_numbers, grain = native
    name = _NAMES[mode]

    def sum_of_rows(schedule: Schedule, source: Address, target: Address) -> None:
        total = Reduce("sum", ("in", 0), (0,), Access(kind, (0, 1)), kind)
        loop = Loop((rows, gates), (Access(kind, (gates, 1)),), (), (), (), (total,))
        schedule.loop(loop, [source, target], title=f"sum of {rows}x{gates}")

    def emit(schedule: Schedule) -> None:
        m = _Memory(schedule, kind)
        at_x, d_out, back, *d_last = (compact(ex, schedule, v) for v in (x, *g))
        at_ih, at_hh = places(ex, schedule, w_ih, w_hh)
        at_states, *more = places(ex, schedule, *extras)
        at_cells, at_gates = more or (None, None)
        dx, d_first, *d_cell, dw_ih, dw_hh, db_ih, db_hh = places(ex, schedule, *wanted)
        carry = None
        if lstm:
            carry = d_cell[0] or m.room(batch * size)
            m.copy(d_last[0], carry, batch * size)
        elif mode == "gru":
            carry = m.room(batch * size)
            m.zero(carry, batch * size)
        # An LSTM cell reads its gates before it stores their gradients, and nothing else reads them
        # afterwards.
        d_gates = more[1] if lstm and ex.ends(extras[2], schedule) else m.room(rows * gates)
        packed = m.room(room_of)
        d_state = m.room(rows * gates) if mode == "gru" else d_gates
        schedule.native(
            pack, ["team", at_hh, packed, *pack_numbers], f"packing of the weight of {name}"
        )
        arrays = (
            at_gates,
            at_states,
            at_cells,
            d_out,
            back,
            carry,
            d_gates,
            d_state,
            d_first,
            packed,
            None,
        )
        numbers = (steps, batch, size, int(reverse), batch, grain)
        schedule.native(
            function,
            ["team", *arrays, *numbers],
            f"{name} backward of {steps} steps, {batch}x{size}",
        )
        if dx is not None:
            schedule.product(of_x, d_gates, at_ih, dx)
        if dw_ih is not None:
            schedule.product(of_ih, d_gates, at_x, dw_ih)
        if dw_hh is not None:
            schedule.product(of_hh, d_state, m.at(at_states, batch * size if reverse else 0), dw_hh)
        if db_ih is not None:
            sum_of_rows(schedule, d_gates, db_ih)
        if db_hh is not None:
            if db_ih is None or mode == "gru":
                sum_of_rows(schedule, d_state, db_hh)
            else:
                m.copy(db_ih, db_hh, gates)

    flops = 4 * parts * rows * size * (width + size)
    moved = sum(v.nbytes for v in (x, w_ih, w_hh, *g, *extras, *wanted) if v is not None)
    return Native(emit, f"{name} backward of {steps} steps", moved, flops)


_NAMES = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "tanh RNN", "rnn_relu": "relu RNN"}
HANDED: dict[str, Handed] = {
    f"{mode}_layer": lambda arrays: tuple(arrays) if len(arrays) == 3 else (arrays[0], None, None)
    for mode in _NAMES
}
LOWERINGS: dict[str, Lowering] = {
    **{f"{mode}_layer": functools.partial(layer, mode) for mode in _NAMES},
    **{f"{mode}_layer_vjp": functools.partial(layer_vjp, mode) for mode in _NAMES},
}
