"""The convolution's gradient in the weight by Winograd's method: F(3x3, 4x4), for the same convolutions as `conv_winograd`.

Each tile of 4x4 values of the output's gradient is a filter over the 6x6 pixels of the input that it came from, with the 3x3 taps
for results. Both are transformed with lanes over channels; for each of the 36 points the products
(channels x tiles) @ (tiles x output channels) are added up over all tiles, and one inverse transform at the end gives the gradient.

Blocks of rows of tiles, cut by shapes alone, are transformed by all threads together; then the points are shared out, so that
each sum has one thread and one order, however many threads there are. `conv_winograd` says what holds for errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from pellucid.codegen import conv_kernels as kernels
from pellucid.codegen import conv_memory, jit, threads
from pellucid.codegen.conv_geometry import ConvGeometry
from pellucid.codegen.conv_winograd import Sizes, data_row, pointer, possible, products, transpose, word, worthwhile
from pellucid.codegen.emit import Function, Module, Value, vector
from pellucid.codegen.outputs import empty
from pellucid.codegen.winograd_parts import POINTS, REACH, TILE, emit_products, panels, result_line, square

# Both transformed sides of a block of tiles.
BLOCK_BYTES = 768 << 10
ROWS = 4  # rows of tiles that a thread transforms at a time

# Words of the descriptor: sizes of the input (first nine) and of the output's gradient, as `Sizes` has them.
_DATA, _GRADIENT = 0, 9
(_BLOCK, _PANELS, _PANEL_TABLE, _TRANSPOSE, _SCRATCH, _V, _G, _M, _M_POINT, _CHANNELS, _RESULTS, _ROOM) = range(18, 30)
_WORDS = 30


@dataclass
class WinogradWeightPlan:
    """All that is needed beside the data; addresses in `desc` point into `tables`."""

    desc: np.ndarray
    tables: list[object]
    shape: tuple[int, ...]
    memory: int  # bytes that all threads share
    scratch: int  # bytes per thread
    down: int  # rows of tiles of an image
    groups: int  # of source channels

    def bytes(self, count: int) -> int:
        """Working memory for `count` threads."""
        return self.memory + self.scratch * count

    def run(self, g: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Compute a planned gradient of contiguous arrays."""
        out: np.ndarray = empty(self.shape, np.float32)
        memory = conv_memory.take(self.bytes(threads.get_num_threads()))
        try:
            _natives()["gradient"](threads.team(), self.desc, x, g, out, memory.address, len(x) * self.down, self.groups)
        finally:
            conv_memory.give(memory)
        return out


def function() -> int:
    """The native address of the whole gradient, for a schedule; only where there is a plan."""
    return jit.address(_natives()["gradient"])


def weight_grad_plan(geo: ConvGeometry) -> WinogradWeightPlan | None:
    """The plan of the gradient in the weight, or None where the direct kernels do better (or this cannot be compiled)."""
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
    v_point, g_point, m_point = together * c_room + lanes, together * o_room + lanes, channels * o_room + lanes
    cut = np.array(panels(results, lanes), np.int64)
    sizes = [POINTS * v_point, POINTS * g_point, POINTS * m_point]
    starts = np.cumsum([0, *(-(-size // 32) * 128 for size in sizes)])
    scratch = max(REACH * plane[1] * c_room, TILE * out[1] * o_room, 9 * lanes * lanes) + lanes
    desc = np.array(
        [
            *(channels, c_room, *plane, top, left, down, across, v_point),
            *(results, o_room, *out, 0, 0, down, across, g_point),
            *(block, len(cut), cut.ctypes.data, jit.address(turning["transpose"]), -(-scratch // 32) * 128, *starts[:3], m_point),
            *(channels, results, o_room),
        ],
        np.int64,
    )
    assert len(desc) == _WORDS
    shape = (results, channels, 3, 3)
    return WinogradWeightPlan(desc, [cut], shape, int(starts[3]), int(desc[_SCRATCH]), down, -(-channels // lanes))


# ---- native code -------------------------------------------------------------------------------------
@cache
def _natives() -> kernels.Natives:
    module = Module()
    emit_products(module)
    _emit_prepare(module)
    _emit_accumulate(module)
    _emit_finish(module)
    names = ("desc", "x", "g", "out", "memory")
    f = module.function("gradient", team="ptr", **dict.fromkeys(names, "ptr"), rows="i64", groups="i64")
    block = word(f, _BLOCK)
    with f.loop(0, f.rows, block) as start:
        count = f.smaller(f.rows - start, block)
        tiles = count * word(f, 7)
        for name, *arguments in (
            ("prepare", f.desc, f.x, f.g, f.memory, start, count, f.const(ROWS, "i64")),
            ("accumulate", f.desc, f.memory, tiles, start, f.const(POINTS, "i64"), f.const(1, "i64")),
        ):
            f.call(name, f.team, *arguments)
    f.call("finish", f.team, f.desc, f.out, f.memory, f.groups, f.const(1, "i64"))
    f.ret()
    return jit.compile_ir(module.text(), {"gradient": "paaaapii"}, "conv_winograd_weight")


def _parts(f: Function) -> tuple[Value, ...]:
    """Both transformed sides, the sums, and the thread's own memory behind them."""
    v, g, m = (f.at(f.memory, word(f, i), "i8") for i in (_V, _G, _M))
    end = f.at(m, word(f, _M_POINT) * POINTS + 31)
    # As the plan rounds it.
    address = f.emit(f"ptrtoint ptr {end.name} to i64", "i64") & -128
    behind = f.emit(f"inttoptr i64 {address.name} to ptr", "ptr")
    return v, g, m, f.at(behind, f.thread * word(f, _SCRATCH), "i8")


def _emit_prepare(module: Module) -> None:
    """Transform rows of tiles, `first` on, of both sides."""
    params = {**dict.fromkeys(("desc", "x", "g", "memory"), "ptr"), "first": "i64"}
    f = threads.parallel_export(module, "prepare", params)
    v, g, _, own = _parts(f)
    for source, to, at, reach in ((f.x, v, _DATA, REACH), (f.g, g, _GRADIENT, TILE)):
        with f.loop(f.begin, f.end) as i:
            sizes = Sizes(*(word(f, at + k) for k in range(9)))
            data_row(f, source, own, to, f.first + i, sizes, f.first, f.first + f.begin, pointer(f, _TRANSPOSE), reach)
    f.ret()


def _emit_accumulate(module: Module) -> None:
    """Add the products of the block's tiles for some points; the first block starts the sums."""
    f = threads.parallel_export(module, "accumulate", {"desc": "ptr", "memory": "ptr", "tiles": "i64", "start": "i64"})
    v, g, m, _ = _parts(f)
    lanes, table = kernels.lanes(), pointer(f, _PANEL_TABLE)
    c_room, o_room = word(f, _DATA + 1), word(f, _GRADIENT + 1)
    fresh = f.select(f.start.compare("eq", 0), f.const(1, "i64"), 0)
    with f.loop(f.begin, f.end) as p, f.loop(0, word(f, _PANELS)) as panel:
        at = f.load("i64", table, panel * 2) * lanes
        a, b = f.at(v, p * word(f, _DATA + 8)), f.at(g, p * word(f, _GRADIENT + 8) + at)
        to = f.at(m, p * word(f, _M_POINT) + at)
        width = f.load("i64", table, panel * 2 + 1)
        products(f, width, a, 1, c_room, b, o_room, to, o_room, word(f, _CHANNELS), f.tiles, fresh)
    f.ret()


def _emit_finish(module: Module) -> None:
    """The gradient of some groups of input channels, as many as there are lanes, from the sums."""
    f = threads.parallel_export(module, "finish", {"desc": "ptr", "out": "ptr", "memory": "ptr"})
    _, _, m, own = _parts(f)
    lanes = kernels.lanes()
    kind = vector("float", lanes)
    channels, results, room, point = (word(f, i) for i in (_CHANNELS, _RESULTS, _ROOM, _M_POINT))
    with f.loop(f.begin, f.end) as group:
        start = group * lanes
        count = f.smaller(channels - start, lanes)
        with f.loop(0, results, lanes) as o:
            with f.loop(0, count) as c:
                source = f.at(m, (start + c) * room + o)
                sums = [[f.load(kind, source, point * (REACH * i + j)) for j in range(REACH)] for i in range(REACH)]
                for k, value in enumerate(x for line in square(f, result_line(3), sums) for x in line):
                    f.store(value, own, (c * 9 + k) * lanes)
            to = f.at(f.out, o * channels * 9 + start * 9)
            some = f.smaller(results - o, lanes)
            transpose(f, pointer(f, _TRANSPOSE), own, f.const(lanes, "i64"), to, channels * 9, count * 9, some)
    f.ret()
