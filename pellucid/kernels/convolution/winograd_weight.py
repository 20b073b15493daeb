"""The weight gradient of convolution by Winograd's method: F(3x3, 4x4), for the same convolutions
as `winograd`.

Each tile of 4x4 values of the output's gradient is a filter over the 6x6 input pixels that it
depends on, with the 3x3 taps as results. Both are transformed with lanes over channels. For each of
the 36 points the products (channels x tiles) @ (tiles x output channels) are added up over all
tiles, and one inverse transform at the end gives the gradient.

All rows of tiles are cut into slices, and these into blocks, depending on shapes alone. Each slice
has sums of its own, which are added at the end. If there are no more threads than slices, each
thread takes whole slices, and the transformed values stay in its second-level cache. Otherwise all
threads transform a block together, then share the points. Every sum is computed in one fixed order,
so results do not depend on threads. For errors see `winograd`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ...llvm import jit, threads
from ...llvm.emit import Module, SSAValue, vector
from ...llvm.outputs import empty
from . import memory as conv_memory
from . import tiles as kernels
from . import winograd_range as tame
from .geometry import ConvGeometry
from .winograd import (
    STATUS,
    Finite,
    Sizes,
    data_row,
    pointer,
    possible,
    products,
    transpose,
    word,
    worthwhile,
)
from .winograd_parts import POINTS, REACH, TILE, emit_products, panels, result_line, square

# Bytes of both transformed operands of a block of tiles.
BLOCK_BYTES = 768 << 10
ROWS = 4  # rows of tiles that a thread transforms at a time
# number of slices, if the sums of a slice take no more than this number of bytes
SLICES, MOST_SUMS = 4, 640 << 10

# Words of the descriptor: the sizes of the input (nine words) and of the output's gradient, in the
# order of `Sizes`.
_DATA, _GRADIENT = 0, 9
(
    _BLOCK,
    _PANELS,
    _PANEL_TABLE,
    _TRANSPOSE,
    _G,
    _ROWS,
    _OWN,
    _SUMS,
    _M_POINT,
    _CHANNELS,
    _RESULTS,
    _ROOM,
    _MAPS,
    _PITCH,
) = range(18, 32)
_WORDS = 32


@dataclass
class WinogradWeightPlan:
    """Everything that a weight gradient needs besides its data; addresses in `desc` point into
    `tables`.
    """

    desc: np.ndarray
    tables: list[object]
    shape: tuple[int, ...]
    sums: int  # bytes of the sums of a slice
    own: int  # bytes per thread: both transformed operands of a block, and rows with channels last
    slices: int
    down: int  # rows of tiles in an image
    groups: int  # groups of source channels

    def bytes(self, images: int, count: int) -> int:
        """Return the size of the working memory for `count` threads."""
        return STATUS + _looked_at(images * self.down) + self.sums * self.slices + self.own * count

    def shared(self, images: int, count: int) -> tuple[int, int, int]:
        """Return the number of rows of tiles, the number of slices, and whether each of `count`
        threads takes slices of its own.
        """
        rows = images * self.down
        slices = min(self.slices, rows)
        return rows, slices, int(count <= slices)

    def run(self, g: np.ndarray, x: np.ndarray) -> np.ndarray | None:
        """Compute a planned gradient of contiguous arrays. Returns None if the definition must be
        used.
        """
        out: np.ndarray = empty(self.shape, np.float32)
        count = threads.get_num_threads()
        memory = conv_memory.take(self.bytes(len(x), count))
        try:
            numbers = (*self.shared(len(x), count), self.groups)
            bad = _natives()["gradient"](
                threads.team(), self.desc, x, g, out, memory.address, *numbers
            )
        finally:
            conv_memory.give(memory)
        return None if bad else out


def _looked_at(rows: Any) -> Any:
    """Return the number of bytes for the sums about `rows` rows of tiles. `rows` is an int or a
    value of native code.
    """
    return (rows + 1) // 2 * (2 * 4 * tame.SUMS)


def function() -> int:
    """Return the native address of the function that computes a whole gradient, for a schedule. It
    returns 0 on success. Valid only if there is a plan.
    """
    return jit.address(_natives()["gradient"])


def weight_grad_plan(geo: ConvGeometry) -> WinogradWeightPlan | None:
    """Return the plan of the weight gradient, or None if the direct kernels are faster (or this one
    cannot be compiled).
    """
    if not possible(geo) or not worthwhile(geo.n, geo.c, geo.o, geo.out):
        return None
    return _plan(geo.c, geo.x, geo.o, geo.out, geo.pads[0][0], geo.pads[1][0])


@lru_cache(maxsize=256)
def _plan(
    channels: int, plane: tuple[int, ...], results: int, out: tuple[int, ...], top: int, left: int
) -> WinogradWeightPlan | None:
    lanes, turning = kernels.lanes(), kernels.turning()
    if turning is None or _natives() is None:
        return None
    c_room, o_room = (-(-n // lanes) * lanes for n in (channels, results))
    down, across = (-(-size // TILE) for size in out)
    block = max(1, BLOCK_BYTES // (4 * POINTS * (c_room + o_room) * across))
    together = block * across
    v_point, g_point, m_point = (
        together * c_room + lanes,
        together * o_room + lanes,
        channels * o_room + lanes,
    )
    cut = np.array(panels(results, lanes), np.int64)
    rows = max(REACH * plane[1] * c_room, TILE * out[1] * o_room, 9 * lanes * lanes) + lanes
    # The third size is for pixels' sizes: of each row of tiles of the input, of one row of the
    # gradient, and working memory for finding the largest.
    pitch = tame.pitch(across)
    sizes = [
        POINTS * v_point,
        POINTS * g_point,
        (block * REACH + TILE + 2) * pitch,
        rows,
        POINTS * m_point,
    ]
    *starts, sums = (-(-size // 32) * 128 for size in sizes)
    desc = np.array(
        [
            *(channels, c_room, *plane, top, left, down, across, v_point),
            *(results, o_room, *out, 0, 0, down, across, g_point),
            *(block, len(cut), cut.ctypes.data, jit.address(turning["transpose"])),
            *(
                starts[0],
                sum(starts[:3]),
                sum(starts),
                sums,
                m_point,
                channels,
                results,
                o_room,
                starts[0] + starts[1],
                pitch,
            ),
        ],
        np.int64,
    )
    assert len(desc) == _WORDS
    slices = SLICES if sums <= MOST_SUMS else 1
    return WinogradWeightPlan(
        desc,
        [cut],
        (results, channels, 3, 3),
        sums,
        sum(starts),
        slices,
        down,
        -(-channels // lanes),
    )


# ---- native code -------------------------------------------------------------------------------------
@cache
def _natives() -> kernels.Natives:
    return jit.compile_source(_text, {"gradient": "paaaapiiii>i"}, "conv_winograd_weight")


def _text() -> str:
    module = Module()
    emit_products(module)
    tame.emit_balance(module)
    _emit_rows(module)
    _emit_point(module)
    _emit_slices(module)
    _emit_prepare(module)
    _emit_accumulate(module)
    _emit_finish(module)
    names = ("desc", "x", "g", "out", "memory")
    f = module.function(
        "gradient",
        "i64",
        team="ptr",
        **dict.fromkeys(names, "ptr"),
        **dict.fromkeys(("rows", "slices", "apart", "groups"), "i64"),
    )
    one = f.const(1, "i64")
    f.store(f.const(0, "i64"), f.memory)
    seen = f.at(f.memory, STATUS, "i8")
    sums = f.at(seen, _looked_at(f.rows), "i8")
    own = f.at(sums, f.slices * word(f, _SUMS), "i8")

    def apart() -> None:
        f.call("slices", f.team, f.desc, f.x, f.g, sums, own, seen, f.rows, f.slices, f.slices, one)

    def together() -> None:
        with f.loop(0, f.slices) as k:
            m = f.at(sums, k * word(f, _SUMS), "i8")
            begin, end = k * f.rows // f.slices, (k + 1) * f.rows // f.slices
            with f.loop(begin, end, word(f, _BLOCK)) as start:
                count = f.smaller(end - start, word(f, _BLOCK))
                f.call(
                    "prepare",
                    f.team,
                    f.desc,
                    f.x,
                    f.g,
                    own,
                    seen,
                    start,
                    count,
                    f.const(ROWS, "i64"),
                )
                fresh = f.select(start.compare("eq", begin), one, 0)
                f.call(
                    "accumulate", f.team, f.desc, own, m, count, fresh, f.const(POINTS, "i64"), one
                )

    f.branch(f.apart.compare("ne", 0), apart, together)
    f.call("balance", seen, f.rows, f.memory)
    f.call("finish", f.team, f.desc, f.out, sums, f.memory, own, f.slices, f.groups, one)
    f.ret(f.load("i64", f.memory))
    return module.text()


def _emit_rows(module: Module) -> None:
    """Emit the transform of the rows of tiles `begin` to `end` of both operands, to `into`, where
    row `first` comes first.
    """
    f = module.function(
        "rows",
        internal=True,
        **dict.fromkeys(("desc", "x", "g", "into", "own", "seen"), "ptr"),
        **dict.fromkeys(("first", "begin", "end"), "i64"),
    )
    f.noinline = True
    pitch = word(f, _PITCH)
    # `own` has a thread's rows with channels last. The sizes of a row of the gradient, and the
    # working memory behind them, are per thread, too.
    maps, lines = f.at(f.into, word(f, _MAPS), "i8"), f.at(f.own, word(f, _ROWS), "i8")
    line = f.at(f.at(f.own, word(f, _MAPS), "i8"), word(f, _BLOCK) * REACH * pitch)

    def seen(row: SSAValue) -> tame.Map:
        at = f.at(maps, (row - f.first) * REACH * pitch)
        return tame.Map(at, f.at(at, (f.const(0, "i64") - pitch) * REACH), pitch)

    of_g = tame.Map(line, line, pitch)
    for source, to, at, reach in (
        (f.x, f.into, _DATA, REACH),
        (f.g, f.at(f.into, word(f, _G), "i8"), _GRADIENT, TILE),
    ):
        with f.loop(f.begin, f.end) as row:
            sizes = Sizes(*(word(f, at + k) for k in range(9)))
            of_row = seen(row) if reach == REACH else of_g
            data_row(
                f,
                source,
                lines,
                to,
                row,
                sizes,
                f.first,
                f.begin,
                pointer(f, _TRANSPOSE),
                of_row,
                reach,
            )
            if reach == TILE:
                tame.sums_of_row(
                    f,
                    seen(row),
                    of_g,
                    sizes.across,
                    f.at(f.seen, row * tame.SUMS),
                    f.at(line, pitch * TILE),
                )
    f.ret()


def _emit_point(module: Module) -> None:
    """Emit the products of a block's tiles for one point. With `fresh` they start the sums instead
    of being added.
    """
    f = module.function(
        "point",
        internal=True,
        desc="ptr",
        into="ptr",
        sums="ptr",
        point="i64",
        rows="i64",
        fresh="i64",
    )
    f.noinline = True
    lanes, table = kernels.lanes(), pointer(f, _PANEL_TABLE)
    c_room, o_room = word(f, _DATA + 1), word(f, _GRADIENT + 1)
    v, g = (
        f.at(f.into, f.point * word(f, _DATA + 8)),
        f.at(f.at(f.into, word(f, _G), "i8"), f.point * word(f, _GRADIENT + 8)),
    )
    m = f.at(f.sums, f.point * word(f, _M_POINT))
    tiles = f.rows * word(f, _DATA + 7)
    with f.loop(0, word(f, _PANELS)) as panel:
        at, width = f.load("i64", table, panel * 2) * lanes, f.load("i64", table, panel * 2 + 1)
        to = f.at(m, at)
        products(
            f,
            width,
            v,
            1,
            c_room,
            f.at(g, at),
            o_room,
            to,
            o_room,
            word(f, _CHANNELS),
            tiles,
            f.fresh,
        )
    f.ret()


def _emit_slices(module: Module) -> None:
    """Emit the kernel that processes some slices, each in one thread."""
    params = {
        **dict.fromkeys(("desc", "x", "g", "memory", "own", "seen"), "ptr"),
        "rows": "i64",
        "slices": "i64",
    }
    f = threads.parallel_export(module, "slices", params)
    own, block = f.at(f.own, f.thread * word(f, _OWN), "i8"), word(f, _BLOCK)
    with f.loop(f.begin, f.end) as k:
        m = f.at(f.memory, k * word(f, _SUMS), "i8")
        begin, end = k * f.rows // f.slices, (k + 1) * f.rows // f.slices
        with f.loop(begin, end, block) as start:
            count = f.smaller(end - start, block)
            f.call("rows", f.desc, f.x, f.g, own, own, f.seen, start, start, start + count)
            fresh = f.select(start.compare("eq", begin), f.const(1, "i64"), 0)
            with f.loop(0, POINTS) as p:
                f.call("point", f.desc, own, m, p, count, fresh)
    f.ret()


def _emit_prepare(module: Module) -> None:
    """Emit the kernel that transforms some of a block's rows of tiles, which starts at row `first`,
    to memory that all threads share.
    """
    params = {**dict.fromkeys(("desc", "x", "g", "own", "seen"), "ptr"), "first": "i64"}
    f = threads.parallel_export(module, "prepare", params)
    own = f.at(f.own, f.thread * word(f, _OWN), "i8")
    f.call(
        "rows", f.desc, f.x, f.g, f.own, own, f.seen, f.first, f.first + f.begin, f.first + f.end
    )
    f.ret()


def _emit_accumulate(module: Module) -> None:
    """Emit the kernel that adds the products of a block's rows for some points."""
    f = threads.parallel_export(
        module,
        "accumulate",
        {"desc": "ptr", "own": "ptr", "sums": "ptr", "rows": "i64", "fresh": "i64"},
    )
    with f.loop(f.begin, f.end) as p:
        f.call("point", f.desc, f.own, f.sums, p, f.rows, f.fresh)
    f.ret()


def _emit_finish(module: Module) -> None:
    """Emit the kernel that computes the gradient of some groups of input channels from the sums. A
    group has as many channels as a vector has lanes.
    """
    params = {**dict.fromkeys(("desc", "out", "memory", "status", "own"), "ptr"), "slices": "i64"}
    f = threads.parallel_export(module, "finish", params)
    own = f.at(f.own, f.thread * word(f, _OWN) + word(f, _ROWS), "i8")
    lanes = kernels.lanes()
    kind = vector("float", lanes)
    channels, results, room, point = (word(f, i) for i in (_CHANNELS, _RESULTS, _ROOM, _M_POINT))
    finite = Finite(f)
    with f.loop(f.begin, f.end) as group:
        start = group * lanes
        count = f.smaller(channels - start, lanes)
        with f.loop(0, results, lanes) as o:
            with f.loop(0, count) as c:
                place = f.at(f.memory, (start + c) * room + o)
                # The sums of the slices are added here, one after the other.
                sums = [
                    [
                        f.var(kind, f.load(kind, place, point * (REACH * i + j)))
                        for j in range(REACH)
                    ]
                    for i in range(REACH)
                ]
                with f.loop(1, f.slices) as k:
                    other = f.at(place, k * word(f, _SUMS), "i8")
                    for i, line in enumerate(sums):
                        for j, total in enumerate(line):
                            total.set(total.get() + f.load(kind, other, point * (REACH * i + j)))
                for tap, value in enumerate(
                    x
                    for line in square(f, result_line(3), [[v.get() for v in row] for row in sums])
                    for x in line
                ):
                    finite.look(value, f.tail_mask(results - o, lanes))
                    f.store(value, own, (c * 9 + tap) * lanes)
            to = f.at(f.out, o * channels * 9 + start * 9)
            some = f.smaller(results - o, lanes)
            transpose(
                f,
                pointer(f, _TRANSPOSE),
                own,
                f.const(lanes, "i64"),
                to,
                channels * 9,
                count * 9,
                some,
            )
    finite.tell(f.status)
    f.ret()
