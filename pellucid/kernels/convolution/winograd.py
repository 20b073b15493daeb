"""Convolution by Winograd's method, for 3x3 kernels without stride, dilation or groups, and its
input gradient.

Lavin & Gray, "Fast Algorithms for Convolutional Neural Networks" (2015), F(4x4, 3x3): each tile of
4x4 results takes 36 multiplications per pair of channels instead of 144. `winograd_parts` has the
transforms.

A task is a block of rows of tiles, which stays in the second-level cache. Its source rows are
transposed to channels last, and each tile of 6x6 pixels is transformed (lanes are channels). For
each panel of output channels follow 36 products of (tiles x channels) with (channels x panel), and
each tile's 36 products become 4x4 results, which are transposed back. The weights are transformed
once per call. Every result is computed in one fixed order, so results depend neither on blocks nor
on threads.

Errors against float64, on normally distributed data with 16 to 256 channels: the root mean square
error is 4e-7 to 1.6e-6 of the results' root mean square, up to 3 times that of the direct kernels;
the largest error is up to 4 times theirs (for the weight gradient, the same as theirs). Tests keep
all three below BOUND_RMS and BOUND_MAX times those of the direct kernels, and below BOUND.
`PELLUCID_WINOGRAD=0` disables the method.

Pixels and weights of very different magnitudes would spoil results that do not depend on them, so
`winograd_range` finds the tiles and weights for which the definition is used. Infinities and NaN
would spread to all 16 results of their tiles, mostly as NaN, and large numbers could overflow in
intermediate results. Therefore each result is checked. If one is not finite, the caller is told,
and computes everything with the direct kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from math import prod

import numpy as np

from ...llvm import jit, threads
from ...llvm.emit import Function, Module, SSAValue, vector
from . import memory as conv_memory
from . import tiles as kernels
from . import winograd_range as tame
from .geometry import ConvGeometry
from .winograd_parts import (
    POINTS,
    REACH,
    TILE,
    call,
    data_line,
    emit_products,
    panels,
    result_line,
    square,
    taps_line,
    tiles,
)

BOUND_RMS, BOUND_MAX = 4.0, 6.0  # bounds on errors, relative to those of the direct kernels
BOUND = 2e-6  # bound on the root mean square error, relative to the root mean square of the result
# Size of the transformed source and of one panel's products, for a block of tiles.
BLOCK_BYTES = 384 << 10
FEWEST_CHANNELS = 16  # least number of channels of source and result
FEWEST_TILES = 8
# largest size in bytes of the transformed weights (for the weight gradient, also of the sums)
MOST_WEIGHTS = 64 << 20
# bytes reserved at the beginning for a word that is 1 if everything must be computed by the
# definition
STATUS = 128

# Words of the descriptor. The source is what is correlated: the input or, for the input gradient,
# the output's gradient.
(
    _CHANNELS,
    _ROWS,
    _COLUMNS,
    _ROOM,
    _RESULTS,
    _OUT_ROWS,
    _OUT_COLUMNS,
    _TOP,
    _LEFT,
    _DOWN,
    _ACROSS,
    _BLOCK,
) = range(12)
(
    _PANELS,
    _PANEL_TABLE,
    _VECTORS,
    _VECTOR_TABLE,
    _IN_STEP,
    _OUT_STEP,
    _TURNED,
    _TRANSPOSE,
    _SCRATCH,
) = range(12, 21)
(_V, _M, _Y, _V_POINT, _M_POINT, _MAP, _MAP_WORK, _FLAGS, _PITCH, _TAPS) = range(21, 31)
_WORDS = 31


@dataclass
class WinogradPlan:
    """Everything that a convolution needs besides its data; addresses in `desc` point into
    `tables`.
    """

    desc: np.ndarray
    tables: list[object]
    weight_bytes: int
    scratch: int  # bytes per thread
    down: int  # rows of tiles in an image
    block: int  # rows of tiles in a task
    groups: int  # groups of source channels whose weights are transformed together
    zeros: np.ndarray

    def shared(self, images: int, count: int) -> tuple[int, int]:
        """Return the number of tasks, and the number of tasks per chunk."""
        tasks = -(-images * self.down // self.block)
        return tasks, -(-tasks // (4 * count)) if count > 1 else tasks

    def run(
        self, x: np.ndarray, w: np.ndarray, out: np.ndarray, bias: np.ndarray | None
    ) -> np.ndarray | None:
        """Compute a planned convolution of contiguous arrays into `out`. Returns None if the
        definition must be used.
        """
        count, images = threads.get_num_threads(), len(x)
        tasks, grain = self.shared(images, count)
        bias = self.zeros if bias is None else np.ascontiguousarray(bias)
        memory = conv_memory.take(self.weight_bytes + self.scratch * count)
        try:
            u, own = memory.address, memory.address + self.weight_bytes
            numbers = (images * self.down, self.groups, tasks, grain)
            bad = _natives()["winograd"](
                threads.team(), self.desc, x, w, bias, out, u, own, *numbers
            )
        finally:
            conv_memory.give(memory)
        return None if bad else out


def function() -> int:
    """Return the native address of the function that runs a whole convolution, for a schedule. It
    returns 0 on success. Valid only if there is a plan.
    """
    return jit.address(_natives()["winograd"])


def possible(geo: ConvGeometry) -> bool:
    """Return whether the method can be used at all."""
    if (
        len(geo.k) != 2
        or geo.k != (3, 3)
        or geo.groups != 1
        or any(s != 1 for s in (*geo.stride, *geo.dilation))
    ):
        return False
    return all(0 <= p <= 2 for pair in geo.pads for p in pair)


def worthwhile(images: int, source: int, result: int, plane: tuple[int, ...]) -> bool:
    """Return whether it is faster than the direct kernels, according to measurements: there are
    enough channels and tiles, and tiles are at least half full.
    """
    together = prod(-(-size // TILE) for size in plane)
    if (
        min(source, result) < FEWEST_CHANNELS
        or images * together < FEWEST_TILES
        or 4 * POINTS * source * result > MOST_WEIGHTS
    ):
        return False
    lanes = kernels.lanes()
    computed = -(-result // lanes) * lanes  # columns of the product, padded to whole vectors
    return 2 * prod(plane) * result >= TILE * TILE * together * computed


def forward_plan(geo: ConvGeometry) -> WinogradPlan | None:
    """Return the plan of a convolution, or None if the direct kernels are faster (or this one
    cannot be compiled).
    """
    if not possible(geo) or not worthwhile(geo.n, geo.c, geo.o, geo.out):
        return None
    return _plan(geo.c, geo.x, geo.o, geo.out, geo.pads[0][0], geo.pads[1][0], False)


def input_grad_plan(geo: ConvGeometry) -> WinogradPlan | None:
    """Return the plan of the input gradient: a convolution of the output's gradient, with
    complementary padding and flipped weights.
    """
    if not possible(geo) or not worthwhile(geo.n, geo.o, geo.c, geo.x):
        return None
    return _plan(geo.o, geo.out, geo.c, geo.x, 2 - geo.pads[0][0], 2 - geo.pads[1][0], True)


@lru_cache(maxsize=256)
def _plan(
    channels: int,
    plane: tuple[int, ...],
    results: int,
    out: tuple[int, ...],
    top: int,
    left: int,
    turned: bool,
) -> WinogradPlan | None:
    lanes, turning = kernels.lanes(), kernels.turning()
    if turning is None or _natives() is None:
        return None
    room = -(-channels // lanes) * lanes
    down, across = (-(-size // TILE) for size in out)
    cut = panels(results, lanes)
    widest = max(width for _, width in cut) * lanes
    block = max(1, BLOCK_BYTES // (4 * POINTS * (room + widest) * across))
    block = min(block, max(1, 4 * down))
    together = block * across
    # With a cache line added, points do not compete for the same cache sets.
    v_point, m_point = together * room + lanes, together * widest + lanes
    # The source's rows with channels last, and one more vector, since edges are masked in whole
    # vectors.
    sizes = [
        REACH * plane[1] * room + lanes,
        POINTS * v_point,
        POINTS * m_point,
        TILE * out[1] * widest,
    ]
    # The same memory is used before for transposing weights, and at the end for patches of tiles
    # that are not tame.
    sizes[0] = max(sizes[0], 9 * lanes * lanes, tame.TAPS * tame.SIDE * channels)
    pitch = tame.pitch(across)
    # pixels' magnitudes; work memory for marking tiles; the marks, which are i64
    sizes += [REACH * pitch, 2 * pitch, 2 * together]
    starts = np.cumsum([0, *(-(-size // 32) * 128 for size in sizes)])
    panel_table = np.array(
        [[first, width, first * POINTS * channels * lanes] for first, width in cut], np.int64
    )
    vector_table = np.array(
        [
            [(first * POINTS * channels + v) * lanes, width * lanes]
            for first, width in cut
            for v in range(width)
        ],
        np.int64,
    )
    in_step, out_step = (results * 9, 9) if turned else (9, channels * 9)
    # size in bytes of the transformed weights; the sums of taps follow them
    taps = -(-POINTS * channels * len(vector_table) * lanes // 32) * 128
    values = {
        _CHANNELS: channels,
        _ROWS: plane[0],
        _COLUMNS: plane[1],
        _ROOM: room,
        _RESULTS: results,
        _OUT_ROWS: out[0],
        _OUT_COLUMNS: out[1],
        _TOP: top,
        _LEFT: left,
        _DOWN: down,
        _ACROSS: across,
        _BLOCK: block,
        _PANELS: len(cut),
        _PANEL_TABLE: panel_table.ctypes.data,
        _VECTORS: len(vector_table),
        _VECTOR_TABLE: vector_table.ctypes.data,
        _IN_STEP: in_step,
        _OUT_STEP: out_step,
        _TURNED: int(turned),
        _TRANSPOSE: jit.address(turning["transpose"]),
        _SCRATCH: starts[-1],
        _V: starts[1],
        _M: starts[2],
        _Y: starts[3],
        _V_POINT: v_point,
        _M_POINT: m_point,
        _MAP: starts[4],
        _MAP_WORK: starts[5],
        _FLAGS: starts[6],
        _PITCH: pitch,
        _TAPS: taps,
    }
    desc = np.array([values[i] for i in range(_WORDS)], np.int64)
    groups = -(-channels // lanes)
    weights = STATUS + taps - (-groups * tame.TAPS * len(vector_table) * lanes // 32) * 128
    zeros = np.zeros(results, np.float32)
    return WinogradPlan(
        desc, [panel_table, vector_table], weights, int(starts[-1]), down, block, groups, zeros
    )


# ---- native code -------------------------------------------------------------------------------------
@cache
def _natives() -> kernels.Natives:
    return jit.compile_source(_text, {"winograd": "paaaaappiiii>i"}, "conv_winograd")


def _text() -> str:
    module = Module()
    emit_products(module)
    tame.emit_taps(module)
    tame.emit_by_definition(module)
    _emit_weights(module)
    _emit_blocks(module)
    names = ("desc", "x", "w", "bias", "out", "memory", "scratch")
    f = module.function(
        "winograd",
        "i64",
        team="ptr",
        **dict.fromkeys(names, "ptr"),
        **dict.fromkeys(("rows", "groups", "tasks", "grain"), "i64"),
    )
    u = f.at(f.memory, STATUS, "i8")
    f.store(f.const(0, "i64"), f.memory)
    call(f, "weights", f.team, f.desc, f.w, u, f.scratch, f.groups, 1)
    call(
        f,
        "taps",
        f.at(u, word(f, _TAPS), "i8"),
        f.groups,
        word(f, _VECTORS) * kernels.lanes(),
        word(f, _RESULTS),
        f.memory,
    )
    call(
        f,
        "blocks",
        f.team,
        f.desc,
        f.x,
        f.w,
        u,
        f.bias,
        f.out,
        f.memory,
        f.scratch,
        f.rows,
        f.tasks,
        f.grain,
    )
    f.ret(f.load("i64", f.memory))
    return module.text()


class Finite:
    """Emits a check that results are finite: 0 times anything that is not finite is NaN, and stays
    NaN in a sum.
    """

    def __init__(self, f: Function) -> None:
        self.f, self.kind = f, vector("float", kernels.lanes())
        self.seen = f.var(self.kind, 0.0)

    def look(self, value: SSAValue, valid: SSAValue) -> None:
        """Emit the check of the `valid` lanes of a result; other lanes may hold anything."""
        self.seen.set(
            self.f.select(valid, self.f.fma(value, 0.0, self.seen.get()), self.seen.get())
        )

    def tell(self, status: SSAValue) -> None:
        """Emit a store of 1 to the word `status` if anything was not finite; several threads may do
        that.
        """
        f, seen, width = self.f, self.seen.get(), kernels.lanes()
        bits = f.bitcast(seen.compare("uno", seen), f"i{width}")
        with f.when(bits.compare("ne", 0)):
            f.line(f"store atomic i64 1, ptr {status.name} monotonic, align 8")


def word(f: Function, index: int, table: SSAValue | None = None) -> SSAValue:
    """Load the 64-bit integer at an index of a table; by default of the descriptor."""
    return f.load("i64", table or f.desc, index)


def pointer(f: Function, index: int, table: SSAValue | None = None) -> SSAValue:
    """Load the pointer at an index of a table; by default of the descriptor."""
    return f.load("ptr", f.at(table or f.desc, index, "i64"))


def transpose(f: Function, function: SSAValue, *arguments: SSAValue | int) -> None:
    """Emit dst[j * to_row + i] = src[i * from_row + j]; the arguments are src, from_row, dst,
    to_row, rows, columns.
    """
    call(f, function.name, *arguments)


def _emit_weights(module: Module) -> None:
    """Emit the kernel that transforms the weights of some groups of source channels. A group has as
    many channels as a vector has lanes.
    """
    f = threads.parallel_export(
        module, "weights", dict.fromkeys(("desc", "w", "u", "scratch"), "ptr")
    )
    lanes = kernels.lanes()
    kind = vector("float", lanes)
    own = f.at(f.scratch, f.thread * word(f, _SCRATCH), "i8")
    channels, results, in_step, out_step = (
        word(f, i) for i in (_CHANNELS, _RESULTS, _IN_STEP, _OUT_STEP)
    )
    turned, function, table = (
        word(f, _TURNED).compare("ne", 0),
        pointer(f, _TRANSPOSE),
        pointer(f, _VECTOR_TABLE),
    )
    tap_sums = f.at(f.u, word(f, _TAPS), "i8")
    kernels.clear(f, own, f.const(9 * lanes * lanes * 4, "i64"))
    # For the input gradient the taps are in reverse order.
    first, step = (
        f.select(turned, f.const(8 * lanes, "i64"), 0),
        f.select(turned, f.const(-lanes, "i64"), lanes),
    )
    with f.loop(f.begin, f.end) as group:
        start = group * lanes
        count = f.smaller(channels - start, lanes)
        # The weights of neighboring source channels are contiguous, or one result's row apart.
        times, columns = f.select(turned, count, 1), f.select(turned, f.const(9, "i64"), count * 9)
        with f.loop(0, word(f, _VECTORS)) as v:
            some = f.smaller(results - v * lanes, lanes)
            source = f.at(f.w, start * in_step + v * lanes * out_step)
            with f.loop(0, times) as t:
                transpose(
                    f,
                    function,
                    f.at(source, t * in_step),
                    out_step,
                    f.at(own, t * (9 * lanes)),
                    lanes,
                    some,
                    columns,
                )
            row = f.load("i64", table, v * 2 + 1)
            to = f.at(f.u, f.load("i64", table, v * 2) + start * row)
            sums = [f.var(kind, 0.0) for _ in range(tame.TAPS)]
            with f.loop(0, count) as c:
                taps = f.at(own, c * (9 * lanes) + first)
                g = [[f.load(kind, taps, step * (3 * i + j)) for j in range(3)] for i in range(3)]
                for total, tap in zip(sums, (tap for line in g for tap in line), strict=True):
                    total.set(total.get() + f.fabs(tap))
                for p, value in enumerate(x for line in square(f, taps_line, g) for x in line):
                    f.store(value, to, (channels * p + c) * row)
            for tap_number, total in enumerate(sums):
                f.store(
                    total.get(),
                    tap_sums,
                    ((group * tame.TAPS + tap_number) * word(f, _VECTORS) + v) * lanes,
                )
    f.ret()


def _emit_blocks(module: Module) -> None:
    """Emit the kernel that processes blocks of rows of tiles; rows are counted across all images."""
    params = {
        **dict.fromkeys(("desc", "x", "w", "u", "bias", "out", "status", "scratch"), "ptr"),
        "rows": "i64",
    }
    f = threads.parallel_export(module, "blocks", params)
    own = f.at(f.scratch, f.thread * word(f, _SCRATCH), "i8")
    block = word(f, _BLOCK)
    with f.loop(f.begin, f.end) as task:
        start = task * block
        stop = f.smaller(start + block, f.rows)
        # If another task has found that the caller must use the definition for everything, this one
        # is skipped.
        with f.when(
            f.emit(f"load atomic i64, ptr {f.status.name} monotonic, align 8", "i64").compare(
                "eq", 0
            )
        ):
            _emit_block(f, own, start, stop)
    f.ret()


def _emit_block(f: Function, own: SSAValue, start: SSAValue, stop: SSAValue) -> None:
    """Emit the code for the rows of tiles from `start` to `stop`."""
    lanes = kernels.lanes()
    v, m, y, flags, work = (f.at(own, word(f, i), "i8") for i in (_V, _M, _Y, _FLAGS, _MAP_WORK))
    across, channels, room, down = (word(f, i) for i in (_ACROSS, _CHANNELS, _ROOM, _DOWN))
    rows, columns = word(f, _OUT_ROWS), word(f, _OUT_COLUMNS)
    place = f.at(own, word(f, _MAP), "i8")
    seen = tame.Map(place, place, word(f, _PITCH))
    table = pointer(f, _PANEL_TABLE)
    uneven = f.var("i64", 0)
    with f.loop(start, stop) as row:
        sizes = Sizes(
            *(
                word(f, i)
                for i in (_CHANNELS, _ROOM, _ROWS, _COLUMNS, _TOP, _LEFT, _DOWN, _ACROSS, _V_POINT)
            )
        )
        data_row(f, f.x, own, v, row, sizes, start, start, pointer(f, _TRANSPOSE), seen)
        marks = f.at(flags, (row - start) * across, "i64")
        uneven.set(
            uneven.get()
            + tame.mark(f, seen, rows - row % down * TILE, columns, across, marks, work)
        )
    with f.loop(0, word(f, _PANELS)) as panel:
        first, width, weights = (f.load("i64", table, panel * 3 + i) for i in range(3))
        size = width * lanes
        with f.loop(0, POINTS) as p:
            a, b = f.at(v, p * word(f, _V_POINT)), f.at(f.u, weights + p * channels * size)
            to = f.at(m, p * word(f, _M_POINT))
            products(f, width, a, room, 1, b, size, to, size, (stop - start) * across, channels, 1)
        with f.loop(start, stop) as row:
            _emit_result_row(f, m, y, row, (row - start) * across, first * lanes, width)
    with (
        f.when(uneven.get().compare("ne", 0)),
        f.loop(start, stop) as row,
        f.loop(0, across) as tile,
    ):
        with f.when(f.load("i64", flags, (row - start) * across + tile).compare("ne", 0)):
            top, left = row % down * TILE, tile * TILE
            source = (
                channels,
                word(f, _ROWS),
                word(f, _COLUMNS),
                top - word(f, _TOP),
                left - word(f, _LEFT),
            )
            result = (word(f, _RESULTS), rows, columns, top, left, row // down)
            steps = (word(f, _IN_STEP), word(f, _OUT_STEP), word(f, _TURNED))
            call(f, "by_definition", f.x, f.w, f.bias, f.out, own, *source, *result, *steps)


def products(f: Function, width: SSAValue, *arguments: SSAValue | int) -> None:
    """Emit a call of the product for panels of `width` vectors."""
    for known in tiles():
        with f.when(width.compare("eq", known)):
            call(f, f"product.{known}", *arguments)


@dataclass
class Sizes:
    """The sizes of an array whose tiles are transformed: channels, and the memory they take; rows
    and columns; the padding before them; tiles of an image down and across; the distance between
    points.
    """

    channels: SSAValue
    room: SSAValue
    rows: SSAValue
    columns: SSAValue
    top: SSAValue
    left: SSAValue
    down: SSAValue
    across: SSAValue
    point: SSAValue


def data_row(
    f: Function,
    x: SSAValue,
    own: SSAValue,
    v: SSAValue,
    row: SSAValue,
    sizes: Sizes,
    first: SSAValue,
    begin: SSAValue,
    function: SSAValue,
    seen: tame.Map,
    reach: int = REACH,
) -> None:
    """Emit the transform of a row of tiles to v[point][tile, counted from row `first`][channel].
    With `reach` 4 they are tiles of a gradient.

    `own` holds rows with channels last. Unless this is row `begin`, it also holds those of the
    previous row of tiles. The pixels' magnitudes go to `seen`.
    """
    lanes = kernels.lanes()
    kind = vector("float", lanes)
    rows, columns, room = sizes.rows, sizes.columns, sizes.room
    plane = rows * columns
    down = sizes.down
    image, top = row // down, row % down * TILE - sizes.top
    low, high = f.larger(f.const(0, "i64") - top, 0), f.smaller(rows - top, reach)
    line = columns * room
    have = f.var("i64", low)  # rows before this one have been loaded already
    if reach > TILE:
        # The last rows of the tiles above are the first rows of these.
        with f.when((row - begin).compare("sgt", 0) & (row % down).compare("sgt", 0)):
            kernels.copy(f, f.at(own, line * TILE), own, line * (reach - TILE))
            kernels.copy(
                f, f.at(seen.before, seen.pitch * TILE), seen.at, seen.pitch * (reach - TILE)
            )
            have.set(reach - TILE)
    with f.when(have.get().compare("eq", low) & low.compare("sgt", 0)):
        kernels.clear(f, own, low * line * 4)
    with f.when(high.compare("slt", reach)):
        kernels.clear(f, f.at(own, high * line), (f.const(reach, "i64") - high) * line * 4)
    new = f.select(have.get().compare("eq", low), f.const(0, "i64"), have.get())
    kernels.clear(
        f, f.at(seen.at, new * seen.pitch), (f.const(reach, "i64") - new) * seen.pitch * 4
    )
    low = have.get()
    source = f.at(x, image * sizes.channels * plane + (top + low) * columns)
    with f.when(low.compare("slt", high)):
        transpose(
            f,
            function,
            source,
            plane,
            f.at(own, low * line),
            room,
            sizes.channels,
            (high - low) * columns,
        )
        tame.sizes_of_rows(f, seen, own, low, high, sizes.left, columns, sizes.channels, room)
    flags = vector("i1", lanes)
    with f.loop(0, sizes.across) as tile:
        left = tile * TILE - sizes.left
        there = []
        for j in range(reach):
            at = left + j
            there.append(f.splat(at.compare("sge", 0) & at.compare("slt", columns), flags))
        with f.loop(0, room, lanes) as c:
            corner = f.at(own, left * room + c)
            d = [
                [f.load(kind, corner, line * i + room * j, mask=there[j]) for j in range(reach)]
                for i in range(reach)
            ]
            to = f.at(v, ((row - first) * sizes.across + tile) * room + c)
            for p, value in enumerate(
                x for made in square(f, data_line if reach == REACH else taps_line, d) for x in made
            ):
                f.store(value, to, sizes.point * p)


def _emit_result_row(
    f: Function,
    m: SSAValue,
    y: SSAValue,
    row: SSAValue,
    first: SSAValue,
    channel: SSAValue,
    width: SSAValue,
) -> None:
    """Emit the transform from products to results for a row of tiles and a panel of channels, from
    m[point][first + tile][channel of the panel].
    """
    lanes = kernels.lanes()
    kind, flags = vector("float", lanes), vector("i1", lanes)
    down, rows, columns, results, point = (
        word(f, i) for i in (_DOWN, _OUT_ROWS, _OUT_COLUMNS, _RESULTS, _M_POINT)
    )
    panel = width * lanes
    image, top = row // down, row % down * TILE
    plane = rows * columns
    to = f.at(f.out, (image * results + channel) * plane + top * columns)
    count, some = f.smaller(rows - top, TILE) * columns, f.smaller(results - channel, panel)
    finite = Finite(f)
    with f.loop(0, width) as v:
        valid = f.tail_mask(results - channel - v * lanes, lanes)
        bias = f.load(kind, f.bias, channel + v * lanes, mask=valid)
        with f.loop(0, word(f, _ACROSS)) as tile:
            source = f.at(m, (first + tile) * panel + v * lanes)
            products = [
                [f.load(kind, source, point * (REACH * i + j)) for j in range(REACH)]
                for i in range(REACH)
            ]
            corner = f.at(y, tile * TILE * panel + v * lanes)
            inside = [
                f.splat((tile * TILE + j).compare("slt", columns), flags) for j in range(TILE)
            ]
            for i, line in enumerate(square(f, result_line(TILE), products)):
                for j, value in enumerate(line):
                    total = value + bias
                    finite.look(total, valid)
                    f.store(total, corner, (columns * i + j) * panel, mask=inside[j])
    finite.tell(f.status)
    transpose(f, pointer(f, _TRANSPOSE), y, panel, to, plane, count, some)
