"""LSTM layers in a schedule: the products of all time steps, and the native loop over them, on the step's memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..codegen import recurrent_layer
from ..codegen.loops import Access, Loop, Reduce, Step, Write
from ..codegen.schedule import Place, Product, Schedule
from ..ir import Instruction, Value
from .lowered import Native
from .lowerings_nn import FLOAT, OTHER, compact, dense, gradients, places, room, value_of


def _copy(schedule: Schedule, source: Place, target: Place, size: int) -> None:
    schedule.loop(Loop((size,), (FLOAT,), (), (), (Write(("in", 0), FLOAT),)), [source, target], title=f"copy of {size} values")


def _at(place: Place, floats: int) -> Place:
    return place.at(4 * floats)


def _served(*products: Product) -> bool:
    return all(p.served() is not None for p in products)


def lstm_layer(i: Instruction, ex: Any) -> Native | str:
    """The input's part of all gates in one product, then the steps."""
    x, hx, cx, w_ih, w_hh, b_ih, b_hh = i.inputs
    results = [v for v in i.outputs if all(v is not e for e in i.extras)]
    if len(i.extras) != 3 or len(results) != 3 or not dense(*i.inputs, *i.outputs) or not isinstance(x, Value) or not x.size:
        return OTHER
    if (b_ih is None) != (b_hh is None):
        return OTHER
    states, cells, gates = i.extras
    (steps, batch, width), size, reverse = x.shape, w_hh.shape[1], bool(i.params["reverse"])
    product = Product(steps * batch, 4 * size, width, (width, 1), (1, width), 4 * size)
    native = recurrent_layer.native("lstm", False, steps, batch, size)
    if (
        native is None
        or not _served(product)
        or states.shape != (steps + 1, batch, size)
        or gates.shape != (steps, batch, 4 * size)
    ):
        return OTHER
    function, pack, room_of, pack_numbers, grain = native
    first, last = (steps, 0) if reverse else (0, steps)
    row = batch * size

    def emit(schedule: Schedule) -> None:
        at_x, at_h, at_c, at_ih, at_hh, at_bi, at_bh, *out = places(ex, schedule, *i.inputs, *results)
        at_states, at_cells, at_gates = places(ex, schedule, *i.extras)
        bias = None
        if b_ih is not None:
            bias = room(schedule, 4 * size)
            add = Step("add", (("in", 0), ("in", 1)), "float32")
            loop = Loop((4 * size,), (FLOAT, FLOAT), (), (add,), (Write(("step", 0), FLOAT),))
            schedule.loop(loop, [at_bi, at_bh, bias], title="sum of biases")
        schedule.product(product, at_x, at_ih, at_gates, bias)
        _copy(schedule, at_h, _at(at_states, first * row), row)
        _copy(schedule, at_c, _at(at_cells, first * row), row)
        packed = room(schedule, room_of)
        schedule.native(pack, ["team", at_hh, packed, *pack_numbers], "packing of an LSTM's weight")
        arrays = (at_gates, at_states, at_cells, out[0], None, packed, None)
        numbers = (steps, batch, size, int(reverse), batch, grain)
        schedule.native(function, ["team", *arrays, *numbers], f"LSTM of {steps} steps, {batch}x{size}")
        _copy(schedule, _at(at_states, last * row), out[1], row)
        _copy(schedule, _at(at_cells, last * row), out[2], row)

    flops = 8 * steps * batch * size * (width + size)
    return Native(emit, f"LSTM of {steps} steps", sum(v.nbytes for v in (x, w_ih, w_hh, *i.outputs)), flops)


def lstm_layer_vjp(i: Instruction, ex: Any) -> Native | str:
    """The steps back in time, then one product for each gradient."""
    x, hx, cx, w_ih, w_hh, b_ih, b_hh = (value_of(v) for v in i.params["s"][:7])
    extras = i.params["s"][-1].instruction.extras
    given = i.params["g"]
    g = [value_of(v) for v in given] if isinstance(given, (tuple, list)) else []
    wanted = gradients(i)
    if len(g) != 3 or any(not isinstance(v, Value) for v in (x, w_ih, w_hh, *g)) or len(extras) != 3 or len(wanted) != 7:
        return OTHER
    if (
        not dense(x, w_ih, w_hh, *extras, *wanted)
        or not x.size
        or any(v.dtype != "float32" or any(s % 4 for s in v.strides) for v in g)
    ):
        return OTHER
    (steps, batch, width), size, reverse = x.shape, w_hh.shape[1], bool(i.params["params"]["reverse"])
    if extras[0].shape != (steps + 1, batch, size) or extras[2].shape != (steps, batch, 4 * size):
        return OTHER
    rows, gates = steps * batch, 4 * size
    of_x = Product(rows, width, gates, (gates, 1), (width, 1), width)
    of_ih = Product(gates, width, rows, (1, gates), (width, 1), width)
    of_hh = Product(gates, size, rows, (1, gates), (size, 1), size)
    native = recurrent_layer.native("lstm", True, steps, batch, size)
    if native is None or not _served(of_x, of_ih, of_hh):
        return OTHER
    function, pack, room_of, pack_numbers, grain = native

    def emit(schedule: Schedule) -> None:
        at_x, at_ih, at_hh = places(ex, schedule, x, w_ih, w_hh)
        d_out, back, d_last = (compact(ex, schedule, v) for v in g)
        at_states, at_cells, at_gates = places(ex, schedule, *extras)
        dx, d_first, carry, dw_ih, dw_hh, db_ih, db_hh = places(ex, schedule, *wanted)
        carry = carry or room(schedule, batch * size)
        _copy(schedule, d_last, carry, batch * size)
        # A cell reads its gates before it stores their gradients, and nobody else reads them.
        d_gates = at_gates if ex.ends(extras[2], schedule) else room(schedule, rows * gates)
        packed = room(schedule, room_of)
        schedule.native(pack, ["team", at_hh, packed, *pack_numbers], "packing of an LSTM's weight")
        arrays = (at_gates, at_states, at_cells, d_out, back, carry, d_gates, d_gates, d_first, packed, None)
        numbers = (steps, batch, size, int(reverse), batch, grain)
        schedule.native(function, ["team", *arrays, *numbers], f"LSTM backward of {steps} steps, {batch}x{size}")
        if dx is not None:
            schedule.product(of_x, d_gates, at_ih, dx)
        if dw_ih is not None:
            schedule.product(of_ih, d_gates, at_x, dw_ih)
        if dw_hh is not None:
            schedule.product(of_hh, d_gates, _at(at_states, batch * size if reverse else 0), dw_hh)
        total = Reduce("sum", ("in", 0), (0,), Access("float32", (0, 1)), "float32")
        loop = Loop((rows, gates), (Access("float32", (gates, 1)),), (), (), (), (total,))
        sums = [p for p in (db_ih, db_hh) if p is not None]
        if sums:
            schedule.loop(loop, [d_gates, sums[0]], title=f"sum of {rows}x{gates}")
        if len(sums) > 1:
            _copy(schedule, sums[0], sums[1], gates)

    flops = 16 * rows * size * (width + size)
    moved = sum(v.nbytes for v in (x, w_ih, w_hh, *g, *extras, *wanted) if v is not None)
    return Native(emit, f"LSTM backward of {steps} steps", moved, flops)


HANDED: dict[str, Callable[[list[np.ndarray]], Any]] = {"lstm_layer": tuple}
LOWERINGS: dict[str, Callable[[Instruction, Any], Native | str]] = {"lstm_layer": lstm_layer, "lstm_layer_vjp": lstm_layer_vjp}
