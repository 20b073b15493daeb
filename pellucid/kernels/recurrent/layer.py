"""Recurrent layers over all time steps in one direction, forward and backward, as one native call
each (float32 and float64).

The weights of the state are packed so that a tile of the product holds all gates of the same units.
The tile stays in the first-level cache until the cell's formulas (`formulas`) have used it. The
rows of a batch are independent, so threads share the rows and never wait for each other between
steps. Results do not depend on how rows are shared.

Packed sequences have loops of their own: the number of rows decreases from step to step, and steps
are contiguous. The states are kept in a block of whole steps, in which rows that have ended are not
touched.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, SSAValue, vector
from ..matmul.micro import emit_micro
from ..matmul.pack import Tile, emit_pack_copy, emit_pack_transpose, pack
from .cell import store_slopes
from .formulas import PARTS, REALS, emit_step

__all__ = ["backward", "forward"]

# number of multiplications in a call from which on threads are worth waking
WORTH_SHARING = 1 << 21
_SIZES = dict.fromkeys(("steps", "batch", "size", "reverse"), "i64")
# Operands of the two loops, in order. The letters of their signatures are for: team, arrays, sizes,
# rows and grain.
_FORWARD = ("gates", "states", "cells", "out", "bias", "weight", "offsets")
_BACKWARD = (
    "gates",
    "states",
    "cells",
    "d_out",
    "back",
    "carry",
    "d_gates",
    "d_state",
    "d_first",
    "weight",
    "offsets",
)
_EXPORTS = {
    "forward": "p" + "a" * len(_FORWARD) + "i" * 6,
    "backward": "p" + "a" * len(_BACKWARD) + "i" * 6,
    "pack": "paa" + "i" * 4,
}


def _tile(mode: str, back: bool, real: str) -> Tile:
    """Return the tile: forward, one vector of each gate; backward, two vectors of units. It has as
    many rows as registers allow.
    """
    host = target.host()
    registers = 16 if host.vector_bits == 256 else 32
    vectors = 2 if back else PARTS[mode]
    return Tile(min(14, (registers - vectors - 1) // vectors), vectors, host.lanes(real))


def _ceil(value: SSAValue, by: int) -> SSAValue:
    return (value + (by - 1)) / by


def _chosen(f: Function, flag: SSAValue, yes: SSAValue | int, no: SSAValue | int) -> SSAValue:
    return f.select(flag.compare("ne", 0), f.as_value(yes, "i64"), f.as_value(no, "i64"))


def _product(
    f: Function,
    t: Tile,
    rows: SSAValue,
    a: SSAValue,
    depth: SSAValue,
    panel: SSAValue,
    buffer: SSAValue,
) -> None:
    """Emit the product of `rows` rows of `a`, with `depth` numbers each, and a packed panel."""
    slot = f.emit(f"getelementptr ptr, ptr @tiles, i64 {(rows - 1).name}", "ptr")
    width = f.const(t.columns, "i64")
    none = f.const(0, "i64")
    operands = (a, panel, buffer, buffer, a, depth, depth, width, width, width, none, rows, none)
    f.line(
        f"call void {f.load('ptr', slot).name}({', '.join(f'{v.ctype} {v.name}' for v in operands)})"
    )


def _start(f: Function, time: SSAValue, packed: bool) -> SSAValue:
    """Return where the rows of a step begin, counted in rows."""
    return f.load("i64", f.offsets, time) if packed else time * f.batch


def _rows(f: Function, time: SSAValue, packed: bool) -> SSAValue:
    """Return the number of rows of a step."""
    return _start(f, time + 1, packed) - _start(f, time, packed) if packed else f.batch


def _each_tile(
    f: Function, t: Tile, end: SSAValue, body: Callable[[SSAValue, SSAValue], None]
) -> None:
    """Emit body(first row, number of rows) over the rows from begin to `end`, in tiles of nearly
    equal height.
    """
    rows = f.larger(f.smaller(end, f.end) - f.begin, 0)
    count = _ceil(rows, t.rows)
    with f.loop(0, count) as k:
        first = k * rows / count
        body(f.begin + first, (k + 1) * rows / count - first)


def _masked(f: Function, left: SSAValue, body: Callable[[SSAValue | None], None]) -> None:
    """Emit body(mask) for the next vector of `left` units. The mask is None if all lanes are used;
    if no units are left, nothing runs.
    """
    lanes = target.host().lanes(f.module.real)
    with f.when(left.compare("sgt", 0)):
        f.branch(
            left.compare("sge", lanes), lambda: body(None), lambda: body(f.tail_mask(left, lanes))
        )


def _emit_forward(module: Module, mode: str, packed: bool) -> None:
    t = _tile(mode, False, module.real)
    parts, lanes = PARTS[mode], t.lanes
    f = threads.parallel_export(module, "forward", {**dict.fromkeys(_FORWARD, "ptr"), **_SIZES})
    buffer = f.buffer(module.real, t.rows * t.columns)
    plane, shift = f.batch * f.size, _chosen(f, f.reverse, 0, 1)
    with f.loop(0, f.steps) as s:
        time = _chosen(f, f.reverse, f.steps - 1 - s, s)
        new, old = (time + shift) * plane, (time + 1 - shift) * plane
        start, height = _start(f, time, packed), _rows(f, time, packed)
        with f.loop(0, _ceil(f.size, lanes)) as p:
            unit = p * lanes
            panel = f.at(f.weight, unit * f.size * parts)

            def tile(first: SSAValue, rows: SSAValue) -> None:
                _product(f, t, rows, f.at(f.states, old + first * f.size), f.size, panel, buffer)
                with f.loop(0, rows) as i:
                    _masked(f, f.size - unit, lambda mask: cell(first + i, i, mask))

            def cell(row: SSAValue, i: SSAValue, mask: SSAValue | None) -> None:
                def read(pointer: SSAValue, index: SSAValue) -> SSAValue:
                    return f.load(vector(module.real, lanes), pointer, index, mask=mask)

                gate = (start + row) * f.size * parts + unit
                at = row * f.size + unit
                values = [read(f.gates, gate + f.size * k) for k in range(parts)]
                values += [read(buffer, i * t.columns + lanes * k) for k in range(parts)]
                if mode == "lstm":
                    values.append(read(f.cells, old + at))
                elif mode == "gru":
                    values += [read(f.bias, unit), read(f.states, old + at)]
                made = emit_step(f, mode, values)
                if mode in ("lstm", "gru"):
                    for k in range(parts):
                        f.store(made[k], f.gates, gate + f.size * k, mask=mask)
                    f.store(made[parts], f.cells, new + at, mask=mask)
                f.store(made[-1], f.states, new + at, mask=mask)
                f.store(made[-1], f.out, start * f.size + at, mask=mask)

            _each_tile(f, t, height, tile)
    f.ret()


def _emit_backward(module: Module, mode: str, packed: bool) -> None:
    t = _tile(mode, True, module.real)
    parts, lanes = PARTS[mode], t.lanes
    f = threads.parallel_export(module, "backward", {**dict.fromkeys(_BACKWARD, "ptr"), **_SIZES})
    buffer = f.buffer(module.real, t.rows * t.columns)
    plane, shift = f.batch * f.size, _chosen(f, f.reverse, 0, 1)
    depth = f.size * parts
    # One iteration more than there are steps: the last one computes the gradient of the first
    # state.
    wanted = f.emit(f"icmp ne ptr {f.d_first.name}, null", "i1")
    rounds = f.steps + f.select(wanted, f.const(1, "i64"), 0)
    with f.loop(0, rounds) as s:
        time, later = (
            _chosen(f, f.reverse, s, f.steps - 1 - s),
            _chosen(f, f.reverse, s - 1, f.steps - s),
        )
        # Rows below `now` take part in this step; rows below `after` took part in the later one,
        # from which their gradient comes. For packed sequences in forward direction `now` is
        # larger; in reverse direction `after` may be larger, and then gradients of first states
        # remain.
        now, after = f.var("i64", 0), f.var("i64", 0)
        with f.when(s.compare("slt", f.steps)):
            now.set(_rows(f, time, packed))
        with f.when(s.compare("sgt", 0)):
            after.set(_rows(f, later, packed))
        alive, known = now.get(), after.get()
        height = f.select(wanted, f.larger(alive, known), alive)
        begin_now, begin_later = (
            _start(f, f.larger(f.smaller(k, f.steps - 1), 0), packed) for k in (time, later)
        )
        with f.loop(0, _ceil(f.size, t.columns)) as p:
            start = p * t.columns
            panel = f.at(f.weight, start * depth)

            def tile(first: SSAValue, rows: SSAValue) -> None:
                products = f.larger(f.smaller(known - first, rows), 0)
                with f.when(products.compare("sgt", 0)):
                    _product(
                        f,
                        t,
                        products,
                        f.at(f.d_state, (begin_later + first) * depth),
                        depth,
                        panel,
                        buffer,
                    )
                with f.loop(products, rows) as i:
                    for k in range(t.vectors):
                        where = (first + i) * f.size + start + k * lanes
                        mask = f.tail_mask(f.larger(f.size - start - k * lanes, 0), lanes)
                        value = f.load(vector(module.real, lanes), f.back, where, mask=mask)
                        f.store(value, buffer, i * t.columns + k * lanes)
                with f.loop(0, rows) as i, f.loop(0, t.vectors) as v:
                    unit = start + v * lanes

                    def each(mask: SSAValue | None) -> None:
                        f.branch(
                            (first + i).compare("slt", alive),
                            lambda: cell(first + i, unit, i * t.columns + v * lanes, mask),
                            lambda: last(
                                (first + i) * f.size + unit, i * t.columns + v * lanes, mask
                            ),
                        )

                    _masked(f, f.size - unit, each)

            def read(pointer: SSAValue, index: SSAValue, mask: SSAValue | None) -> SSAValue:
                return f.load(vector(module.real, lanes), pointer, index, mask=mask)

            def cell(row: SSAValue, unit: SSAValue, place: SSAValue, mask: SSAValue | None) -> None:
                gate = (begin_now + row) * f.size * parts + unit
                at = row * f.size + unit
                new, old = (time + shift) * plane + at, (time + 1 - shift) * plane + at
                values = []
                if mode in ("lstm", "gru"):
                    values = [read(f.gates, gate + f.size * k, mask) for k in range(parts)]
                    values += [
                        read(f.cells, new, mask),
                        read(f.cells if mode == "lstm" else f.states, old, mask),
                    ]
                else:
                    values = [read(f.states, new, mask)]
                values += [read(f.d_out, begin_now * f.size + at, mask), read(buffer, place, mask)]
                if mode in ("lstm", "gru"):
                    values.append(read(f.carry, at, mask))
                made = emit_step(f, mode + "_backward", values)
                store_slopes(f, mode, made, gate, at, f.carry, mask)

            def last(at: SSAValue, place: SSAValue, mask: SSAValue | None) -> None:
                value = read(buffer, place, mask)
                if mode == "gru":
                    value = value + read(f.carry, at, mask)
                f.store(value, f.d_first, at, mask=mask)

            _each_tile(f, t, height, tile)
    f.ret()


def _emit_pack(module: Module, mode: str, back: bool) -> None:
    """Emit the packing of the weights (gates * size, size) into panels: all gates of a vector of
    units, or columns of two vectors of units.
    """
    t = _tile(mode, back, module.real)
    f = threads.parallel_export(
        module, "pack", {"weight": "ptr", "packed": "ptr", "parts": "i64", "size": "i64"}
    )
    one = f.const(1, "i64")
    with f.loop(f.begin, f.end) as p:
        panel = f.at(f.packed, p * t.columns * f.size * (f.parts if back else 1))
        if back:
            unit = p * t.columns
            count = f.smaller(f.size - unit, t.columns)
            pack(f, f.at(f.weight, unit), f.size, one, panel, f.size * f.parts, count, t.columns)
        else:
            unit = p * t.lanes
            count = f.smaller(f.size - unit, t.lanes)
            for k in range(t.vectors):
                rows = f.at(f.weight, (f.size * k + unit) * f.size)
                pack(f, rows, one, f.size, f.at(panel, k * t.lanes), f.size, count, t.columns)
    f.ret()


def _build(mode: str, back: bool, packed: bool, real: str) -> str:
    module = Module(real)
    t = _tile(mode, back, real)
    for rows in range(1, t.rows + 1):
        emit_micro(module, t, rows, t.vectors, packed=False)
    emit_pack_copy(module)
    emit_pack_transpose(module)
    _emit_pack(module, mode, back)
    (_emit_backward if back else _emit_forward)(module, mode, packed)
    names = ", ".join(f"ptr @micro.plain.{rows}.{t.vectors}" for rows in range(1, t.rows + 1))
    return f"@tiles = internal constant [{t.rows} x ptr] [{names}]\n" + module.text()


@cache
def _library(mode: str, back: bool, dtype: np.dtype, packed: bool = False) -> Any:
    which = "backward" if back else "forward"
    exports = {name: _EXPORTS[name] for name in (which, "pack")}
    real = REALS[dtype]
    name = f"{mode}_{'packed_' * packed}{which}" + ("" if real == "float" else f"_{real}")
    return jit.NativeLibrary(name, lambda: _build(mode, back, packed, real), exports, together=True)


def _grain(steps: int, rows: int, parts: int, size: int) -> int:
    """Return the number of rows per thread."""
    count = threads.get_num_threads()
    return (
        -(-rows // count)
        if count > 1 and steps * rows * parts * size * size > WORTH_SHARING
        else rows
    )


def _packing(
    mode: str, back: bool, size: int, dtype: np.dtype
) -> tuple[int, tuple[int, int, int, int]]:
    """Return the number of elements of the packed weight, and the numbers that `pack` takes."""
    t, parts = _tile(mode, back, REALS[dtype]), PARTS[mode]
    panels = -(-size // (t.columns if back else t.lanes))
    grain = panels if parts * size * size < 1 << 18 else 1
    return panels * t.columns * size * (parts if back else 1), (parts, size, panels, grain)


def _packed(mode: str, back: bool, weight: np.ndarray) -> np.ndarray:
    room, numbers = _packing(mode, back, weight.shape[1], weight.dtype)
    packed = np.empty(room, weight.dtype)
    _library(mode, back, weight.dtype).pack(threads.team(), weight, packed, *numbers)
    return packed


def native(
    mode: str, back: bool, dtype: np.dtype, steps: int, batch: int, size: int
) -> tuple[int, int, int, tuple[int, ...], int] | None:
    """Return for other native code: the addresses of the loop and of `pack`, the number of elements
    of the packed weight, the numbers for `pack`, and the grain. None if code cannot be generated.
    """
    library = _library(mode, back, dtype)
    function = library.backward if back else library.forward
    if function is None:
        return None
    room, numbers = _packing(mode, back, size, dtype)
    return (
        jit.address(function),
        jit.address(library.pack),
        room,
        numbers,
        _grain(steps, batch, PARTS[mode], size),
    )


def forward(
    mode: str,
    gates: np.ndarray,
    states: np.ndarray,
    cells: np.ndarray | None,
    out: np.ndarray,
    bias: np.ndarray | None,
    weight: np.ndarray,
    reverse: bool,
    offsets: np.ndarray | None = None,
) -> bool:
    """Fill states, cells and out, step by step. The gates replace the input's part in `gates`.
    Returns False if code cannot be generated.

    Args:
        gates: (T, B, gates * H), the input's part with all biases but the one of a GRU's n.
        states, cells: (T + 1, B, H); the first ones are given, at 0, or with `reverse` at T.
            `cells` are those of an LSTM, and for a GRU the state's part of n; None for the others.
        out: (T, B, H).
        bias: (H,), the state's bias of n, for a GRU.
        weight: (gates * H, H).
        offsets: (T + 1,), int64, for packed sequences: the row of `gates` and `out`, which are then
            (N, gates * H) and (N, H), where each step begins, and N. `states` and `cells` hold the
            first state of row k, with `reverse`, after its own last step.

    All are contiguous, and float32 or float64.
    """
    library = _library(mode, False, out.dtype, offsets is not None)
    if library.forward is None:
        return False
    steps, (batch, size) = states.shape[0] - 1, states.shape[1:]
    numbers = (steps, batch, size, int(reverse), batch, _grain(steps, batch, PARTS[mode], size))
    packed = _packed(mode, False, weight)
    library.forward(threads.team(), gates, states, cells, out, bias, packed, offsets, *numbers)
    return True


def backward(
    mode: str,
    gates: np.ndarray | None,
    states: np.ndarray,
    cells: np.ndarray | None,
    d_out: np.ndarray,
    back: np.ndarray,
    carry: np.ndarray | None,
    d_gates: np.ndarray,
    d_state: np.ndarray,
    d_first: np.ndarray | None,
    weight: np.ndarray,
    reverse: bool,
    offsets: np.ndarray | None = None,
) -> bool:
    """Fill d_gates, d_state and d_first. Returns False if code cannot be generated.

    Args:
        gates, states, cells: from `forward`.
        d_out, back: the gradients of the outputs and of the last state.
        carry: (B, H), changed: for an LSTM the gradient of the last cell, which becomes that of the
            first; for a GRU zeros.
        d_gates, d_state: (T, B, gates * H): gradients of the input's and of the state's part; the
            same array but for a GRU.
        d_first: (B, H) for the gradient of the first state, or None.
        weight: (gates * H, H).
        offsets: as `forward`'s; d_out, d_gates and d_state are then packed.
    """
    library = _library(mode, True, d_out.dtype, offsets is not None)
    if library.backward is None:
        return False
    steps, (batch, size) = states.shape[0] - 1, states.shape[1:]
    numbers = (steps, batch, size, int(reverse), batch, _grain(steps, batch, PARTS[mode], size))
    packed = _packed(mode, True, weight)
    library.backward(
        threads.team(),
        gates,
        states,
        cells,
        d_out,
        back,
        carry,
        d_gates,
        d_state,
        d_first,
        packed,
        offsets,
        *numbers,
    )
    return True
