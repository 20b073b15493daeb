"""The weight gradient of convolution: plan, driver and call. The tiles are in `tiles.py`.

Each image is packed, its output gradient is transposed to channels last in blocks, and tiles of
taps x output channels add up its pixels. For small weights, the images are cut into slices, each
with a result of its own; these are added at the end. For large weights, all threads together
prepare a block of images, then share the tiles. Which of the two is used, and where the slices are
cut, depends on shapes alone, so that results do not depend on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from math import prod
from typing import Any

import numpy as np

from ...llvm import jit, threads
from ...llvm.emit import Function, Module, SSAValue
from ...llvm.outputs import empty
from . import memory as conv_memory
from . import plan as conv_plan
from . import tiles as kernels
from .geometry import ConvGeometry

# With fewer output channels in a group, most lanes over channels would be empty, and lanes over
# pixels are faster.
FEWEST_OUTER = 6
# Number of slices by the largest number of elements in a result: adding the results must stay
# cheap.
SLICES = ((1 << 14, 16), (1 << 15, 8), (1 << 16, 4))

# Words of the descriptor.
(
    _PACK,
    _PACK_DESC,
    _X_IMAGE,
    _CHANNELS,
    _X_CHANNEL,
    _PACKED_CHANNEL,
    _TURN,
    _ROWS,
    _PIXELS,
    _ROW_VECTORS,
) = range(10)
(_GROUPS, _TASKS, _TASK_TABLE, _RESULT, _PACKED, _TURNED, _G_IMAGE, _SCRATCH, _CLEAR, _BAND) = (
    range(10, 20)
)
# Words of a task: the tile's function, its offsets of reads and writes (in bytes), its tables.
(_FUNCTION, _G, _X, _KOFF, _TILES, _TABLE0, _TABLE1, _TABLE2, _COUNT, _TO, _ROW) = range(11)
_TASK_WORDS = 11


@dataclass
class WeightPlan:
    """Everything that a weight gradient needs besides its data; addresses in `desc` point into
    `tables`.
    """

    desc: np.ndarray
    tables: list[object]
    tasks: int
    slices: int  # 0 if images are processed in blocks
    block: int
    packed_bytes: int  # per image; 0 if the input is read in place
    turned_bytes: int  # per image; 0 if gradients are read in place
    result_bytes: int
    scratch: int  # bytes per thread, for slices
    # result offset, first output channel, channels, row length
    parts: list[tuple[int, int, int, int]]
    padded_taps: int


@lru_cache(maxsize=256)
def weight_grad_plan(geo: ConvGeometry) -> WeightPlan | None:
    """Return the plan of the weight gradient, or None if its kernels cannot be compiled."""
    lanes, itemsize, real = kernels.lanes(geo.real), geo.itemsize, geo.real
    k = geo.c_group * geo.taps
    pixels = prod(geo.out)
    by_dot = geo.o_group < FEWEST_OUTER
    keep: list[object] = []

    def table(values: Any, dtype: type = np.int64) -> int:
        array: np.ndarray = np.ascontiguousarray(values, dtype)
        keep.append(array)
        return array.ctypes.data

    if by_dot:
        direct, layout = False, conv_plan.source_layout(geo)
        vectors = conv_plan.cover(geo.out, layout.steps, False, real)
        places = (vectors.start, vectors.mask, vectors.first)
        tables = [
            table(places[0] * itemsize),
            table(places[1], np.uint16),
            table(places[2] * itemsize),
        ]
        count, row_vectors = len(vectors.start), 0
        columns = [(channel, 1) for channel in range(geo.o_group)]
        functions, taps_of = {1: kernels.dot(real)}, {1: kernels.DOT_TAPS}
    else:
        direct, layout = conv_plan.pixel_layout(geo)
        steps = np.array(layout.steps) * np.array(geo.stride)
        pixel = steps @ np.indices(geo.out).reshape(len(geo.out), -1)
        tables = [table(pixel * itemsize, np.uint32), 0, 0]
        count, row_vectors = pixels, -(-geo.o_group // lanes)
        columns, at = [], 0
        taps_of = kernels.outer_tiles()
        for width in taps_of:
            while row_vectors - at >= width:
                columns.append((at * lanes, width))
                at += width
        functions = {width: kernels.outer(width, real) for _, width in columns}
    packing, turning = kernels.packing(real), kernels.turning(real)
    if packing is None or turning is None or natives(real) is None or not all(functions.values()):
        return None
    if layout.phase_size * itemsize >= 1 << 32:  # offsets of pixels have 32 bits
        return None
    taps = [offset for offset, _ in conv_plan.forward_taps(geo, layout)]
    koff = (np.arange(geo.c_group)[:, None] * layout.channel + np.array(taps)).ravel() * itemsize
    padded_taps = k + 16
    koff_table = table(np.concatenate([koff, np.zeros(16, np.int64)]))
    wanted = max(1, 8 // (geo.groups * len(columns)))  # enough tasks for a few threads
    tasks, parts, result = [], [], 0
    for group in range(geo.groups):
        for first, width in columns:
            per_tap, tile = width * lanes, taps_of[width]
            tiles = -(-k // tile)
            step = -(-tiles // min(tiles, wanted))
            function = jit.address(next(iter(functions[width].values())))
            channel = group * geo.o_group + first
            g_channel = channel if by_dot else group * row_vectors * lanes + first
            x_offset = group * geo.c_group * layout.channel
            for t in range(0, tiles, step):
                where = (result + t * tile * per_tap) * itemsize
                start, some = koff_table + t * tile * 8, min(step, tiles - t)
                row = 0 if by_dot else per_tap * itemsize
                reads = (g_channel * itemsize, x_offset * itemsize, start)
                tasks.append([function, *reads, some, *tables, count, where, row])
            rows = 1 if by_dot else min(geo.o_group - first, per_tap)
            parts.append((result * itemsize, channel, rows, per_tap))
            result += padded_taps * per_tap
    pack = conv_plan.pack_tables(layout, geo.x) if not direct else []
    keep.append(pack)

    def room(numbers: int) -> int:
        return -(-numbers * itemsize // 128) * 128

    packed = 0 if direct else room(geo.c * layout.channel)
    turned = room(geo.groups * row_vectors * lanes * pixels)
    # All tiles process one band of pixels before the next, so that its data stay in the cache.
    per_pixel = itemsize * (geo.c * prod(geo.stride) + geo.groups * row_vectors * lanes)
    band = (
        count
        if by_dot
        else min(count, max(128, conv_plan.CACHE_BYTES // per_pixel // lanes * lanes))
    )
    # The last vector of a packed channel may extend beyond it.
    scratch = packed + 128 + room(geo.groups * row_vectors * lanes * band)
    desc = [
        jit.address(packing["pack"]),
        pack[0].ctypes.data if pack else 0,
        geo.c * prod(geo.x),
        0 if direct else geo.c,
        prod(geo.x),
        layout.channel,
        jit.address(turning["transpose"]),
        geo.o_group,
        pixels,
        row_vectors,
        geo.groups,
        len(tasks),
        table(tasks),
        result * itemsize,
        packed,
        turned,
        geo.o * pixels,
        scratch,
        packed + 128,
        band,
    ]
    slices = next((count for numbers, count in SLICES if result <= numbers), 0)
    # a multiple of four, so that a few threads share the work evenly
    block = max(1, 2 * conv_plan.CACHE_BYTES // max(packed + turned, 1) // 4) * 4
    array = np.array(desc, np.int64)
    sizes = (packed, turned, result * itemsize, scratch)
    return WeightPlan(array, keep, len(tasks), slices, block, *sizes, parts, padded_taps)


def shares(plan: WeightPlan, images: int, threads: int) -> tuple[int, int]:
    """Return the number of slices that `images` images are cut into; if that is 0, then also how
    many images are prepared together.
    """
    slices = min(plan.slices, images)
    if slices < 2 <= threads and plan.tasks >= 2:
        slices = 0
    return slices, 0 if slices else min(plan.block, images)


def sizes(plan: WeightPlan, slices: int, images: int, threads: int) -> tuple[int, int]:
    """Return the size in bytes of the results, and of all working memory."""
    results = plan.result_bytes * max(slices, 1)
    return results, results + (
        plan.scratch * threads if slices else (plan.packed_bytes + plan.turned_bytes) * images + 128
    )


def run(plan: WeightPlan, geo: ConvGeometry, g: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Compute a planned gradient for contiguous arrays."""
    out, real, itemsize = empty(geo.w_shape, g.dtype), geo.real, geo.itemsize
    functions, packing, turning = natives(real), kernels.packing(real), kernels.turning(real)
    team, count = threads.team(), threads.get_num_threads()
    slices, images = shares(plan, geo.n, count)
    results, size = sizes(plan, slices, images, count)
    memory = conv_memory.take(size)
    try:
        result, packed = memory.address, memory.address + results
        packing["clear"](result, results)
        if slices:
            functions["slices"](team, plan.desc, x, g, packed, result, geo.n, slices, slices, 1)
            for part in range(1, slices):
                turning["add"](
                    result, result + part * plan.result_bytes, plan.result_bytes // itemsize
                )
        else:
            packing["clear"](packed, plan.packed_bytes * images + 128)
            turned = packed + plan.packed_bytes * images + 128
            for first in range(0, geo.n, images):
                some = min(images, geo.n - first)
                if plan.packed_bytes or plan.turned_bytes:
                    functions["prepare"](team, plan.desc, x, g, packed, turned, first, some, 1)
                functions["accumulate"](
                    team, plan.desc, x, g, packed, turned, result, first, some, plan.tasks, 1
                )
        taps = geo.c_group * geo.taps
        if plan.turned_bytes:
            where = out.ctypes.data
            for offset, channel, channels, row in plan.parts:
                turning["transpose"](
                    result + offset, row, where + channel * taps * itemsize, taps, taps, channels
                )
        else:
            turning["sum_lanes"](result, out, geo.o, taps, plan.padded_taps)
    finally:
        conv_memory.give(memory)
    return out


@cache
def natives(real: str = "float") -> kernels.Natives:
    """Return the functions `slices`, `prepare` and `accumulate`."""
    exports = {"slices": "paaappiiii", "prepare": "paaappiii", "accumulate": "paaapppiiii"}

    def build(module: Module) -> None:
        _emit_slices(module)
        _emit_prepare(module)
        _emit_accumulate(module)

    return kernels.compiled(real, "conv_weight", exports, build)


def _word(f: Function, index: int, table: SSAValue | None = None) -> SSAValue:
    return f.load("i64", table or f.desc, index)


def _pointer(f: Function, index: int, table: SSAValue | None = None) -> SSAValue:
    return f.load("ptr", f.at(table or f.desc, index, "i64"))


def _emit_slices(module: Module) -> None:
    """Emit the kernel in which one thread processes slice i of the images, with its own result."""
    params = {
        **dict.fromkeys(("desc", "x", "g", "scratch", "result"), "ptr"),
        "images": "i64",
        "slices": "i64",
    }
    f = threads.parallel_export(module, "slices", params)
    packed = f.at(f.scratch, f.thread * _word(f, _SCRATCH), "i8")
    turned = f.at(packed, _word(f, _CLEAR), "i8")
    kernels.clear(f, packed, _word(f, _CLEAR))
    with f.loop(f.begin, f.end) as i:
        result = f.at(f.result, i * _word(f, _RESULT), "i8")
        with f.loop(i * f.images // f.slices, (i + 1) * f.images // f.slices) as n:
            _emit_pack(f, n, packed)
            count = f.load("i64", _pointer(f, _TASK_TABLE), _COUNT)  # the same for every task
            with f.loop(0, count, _word(f, _BAND)) as start:
                band = f.smaller(count - start, _word(f, _BAND))
                _emit_turn(f, n, start, band, turned)
                own = _word(f, _ROW_VECTORS).compare("sgt", 0)
                pixels = f.select(own, band, _word(f, _PIXELS))
                with f.loop(0, _word(f, _TASKS)) as t:
                    _emit_task(f, t, n, start, f.const(0, "i64"), pixels, packed, turned, result)
    f.ret()


def _emit_prepare(module: Module) -> None:
    """Emit the kernel that packs and transposes images, starting with image `first`."""
    params = {**dict.fromkeys(("desc", "x", "g", "packed", "turned"), "ptr"), "first": "i64"}
    f = threads.parallel_export(module, "prepare", params)
    with f.loop(f.begin, f.end) as n:
        packed, turned = (
            f.at(p, n * _word(f, size), "i8")
            for p, size in ((f.packed, _PACKED), (f.turned, _TURNED))
        )
        _emit_pack(f, f.first + n, packed)
        _emit_turn(f, f.first + n, f.const(0, "i64"), _word(f, _PIXELS), turned)
    f.ret()


def _emit_accumulate(module: Module) -> None:
    """Emit the kernel that adds `images` prepared images, starting with image `first`, to the
    results of some tasks.
    """
    params = {
        **dict.fromkeys(("desc", "x", "g", "packed", "turned", "result"), "ptr"),
        "first": "i64",
        "images": "i64",
    }
    f = threads.parallel_export(module, "accumulate", params)
    with f.loop(f.begin, f.end) as t, f.loop(0, f.images) as n:
        packed, turned = (
            f.at(p, n * _word(f, size), "i8")
            for p, size in ((f.packed, _PACKED), (f.turned, _TURNED))
        )
        count = f.load("i64", _pointer(f, _TASK_TABLE), _COUNT)
        with f.loop(0, count, _word(f, _BAND)) as start:
            _emit_task(f, t, f.first + n, start, start, _word(f, _PIXELS), packed, turned, f.result)
    f.ret()


def _emit_pack(f: Function, n: SSAValue, packed: SSAValue) -> None:
    """Emit the packing of image n of the input, if the plan requires it."""
    channels = _word(f, _CHANNELS)
    with f.when(channels.compare("sgt", 0)):
        source = f.at(f.x, n * _word(f, _X_IMAGE))
        f.line(
            f"call void {_pointer(f, _PACK).name}(ptr {_pointer(f, _PACK_DESC).name}, ptr {source.name}, ptr {packed.name}, "
            f"i64 1, i64 0, i64 {channels.name}, i64 {_word(f, _X_CHANNEL).name}, i64 {_word(f, _PACKED_CHANNEL).name})"
        )


def _emit_turn(
    f: Function, n: SSAValue, start: SSAValue, count: SSAValue, turned: SSAValue
) -> None:
    """Emit the transposition of `count` pixels of image n's gradient, starting with pixel `start`,
    if the plan requires it.
    """
    row_vectors, pixels, rows = _word(f, _ROW_VECTORS), _word(f, _PIXELS), _word(f, _ROWS)
    with f.when(row_vectors.compare("sgt", 0)), f.loop(0, _word(f, _GROUPS)) as group:
        src = f.at(f.g, n * _word(f, _G_IMAGE) + group * pixels * rows + start)
        lanes = kernels.lanes(f.module.real)
        dst = f.at(turned, group * count * row_vectors * lanes)
        done = f.var("i64", 0)
        # Channels last, in blocks: the channels that a tile needs of a pixel are contiguous.
        for vectors in kernels.outer_tiles():  # widest first, as the plan cuts them
            with f.loop_while() as go_on:
                go_on((row_vectors - done.get()).compare("sge", vectors))
                channel = done.get() * lanes
                some = f.smaller(rows - channel, vectors * lanes)
                from_rows, to = f.at(src, channel * pixels), f.at(dst, channel * count)
                f.line(
                    f"call void {_pointer(f, _TURN).name}(ptr {from_rows.name}, i64 {pixels.name}, ptr {to.name}, "
                    f"i64 {vectors * lanes}, i64 {some.name}, i64 {count.name})"
                )
                done.set(done.get() + vectors)


def _emit_task(
    f: Function,
    t: SSAValue,
    n: SSAValue,
    start: SSAValue,
    row: SSAValue,
    pixels: SSAValue,
    packed: SSAValue,
    turned: SSAValue,
    result: SSAValue,
) -> None:
    """Emit one task: run its tiles on a band of image n that starts at pixel `start`, with the
    prepared data if there are any.

    The gradients are in planes or blocks of `pixels` pixels; `row` is the first pixel to use.
    """
    task = f.at(_pointer(f, _TASK_TABLE), t * _TASK_WORDS, "i64")
    own_x, own_g = _word(f, _CHANNELS).compare("sgt", 0), _word(f, _ROW_VECTORS).compare("sgt", 0)
    x = f.select(own_x, packed, f.at(f.x, n * _word(f, _X_IMAGE)))
    g = f.select(own_g, turned, f.at(f.g, n * _word(f, _G_IMAGE)))
    g = f.at(g, _word(f, _G, task) * pixels + row * _word(f, _ROW, task), "i8")
    x, to = f.at(x, _word(f, _X, task), "i8"), f.at(result, _word(f, _TO, task), "i8")
    arrays = [_pointer(f, i, task) for i in (_KOFF, _TABLE0, _TABLE1, _TABLE2)]
    # there is more than one band only if pixels have 32-bit offsets
    arrays[1] = f.at(arrays[1], start, "i32")
    passed = ", ".join(f"ptr {v.name}" for v in (g, x, *arrays, to))
    count = f.smaller(_word(f, _COUNT, task) - start, _word(f, _BAND))
    numbers = f"i64 {count.name}, i64 {_word(f, _TILES, task).name}"
    f.line(f"call void {_pointer(f, _FUNCTION, task).name}({passed}, {numbers})")
