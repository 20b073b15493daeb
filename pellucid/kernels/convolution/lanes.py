"""Convolution of small images: lanes over output channels instead of pixels.

Vectors of neighboring pixels are partly empty if rows are shorter than a vector. If that costs too
much, the tile of the weight gradient computes the convolution, with the roles of pixels and taps
exchanged: result[pixel, oc] += x[pixel + koff[k]] * w[k, oc] over all k. The result is then
transposed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from math import prod
from typing import Any

import numpy as np

from ...llvm import jit, threads
from ...llvm.emit import Function, Module, SSAValue, vector
from . import memory as conv_memory
from . import plan as conv_plan
from . import tiles as kernels
from .geometry import ConvGeometry

# Measured multiply-add rates by width of the tile, relative to the tile with vectors of pixels.
SPEED = {4: 1.0, 2: 0.95, 1: 0.82}
# the weights of this many taps stay in the first-level cache while all tiles of pixels are
# processed
K_CHUNK = 96
MOST_TOGETHER = 256  # largest number of pixels of several small images that are computed together
MOST_PIXELS = 400  # so that the results of a block of channels stay in the first-level cache

(
    _PACK,
    _PACK_FUNCTION,
    _IMAGE,
    _CHANNELS,
    _CHANNEL,
    _PACKED,
    _BLOCKS,
    _BLOCK_TABLE,
    _SPLIT,
    _PIXELS,
    _OUT_IMAGE,
) = range(11)
(_SCRATCH, _RESULT, _PIXEL_TABLE, _K_TABLE, _K, _TRANSPOSE, _IMAGES) = range(11, 18)
(_FUNCTION, _FIRST, _COUNT, _VECTORS, _X, _W, _TAPS) = range(7)
_BLOCK_WORDS = 7


@dataclass
class LanesPlan:
    """Everything that a convolution needs besides its data; addresses in `desc` point into
    `tables`.
    """

    desc: np.ndarray
    tables: list[object]
    # arguments of the function that transposes the weights, with byte offsets in place of addresses
    turns: list[tuple[int, ...]]
    weight_bytes: int
    scratch: int
    blocks: int
    images: int  # number of images computed together
    channels: int
    zeros: np.ndarray  # a bias of zeros, padded to whole vectors

    def shared(self, images: int, threads: int) -> tuple[np.ndarray, int, int]:
        """Return the descriptor for this number of images and threads, the number of tasks, and the
        number of tasks per chunk.
        """
        groups = -(-images // self.images)
        split = 1 if groups >= threads else min(self.blocks, -(-threads // groups))
        desc = self.desc
        if split != 1:
            desc = desc.copy()
            desc[_SPLIT] = split
        tasks = groups * split
        return desc, tasks, -(-tasks // (2 * threads)) if threads > 1 else tasks

    def run(
        self, x: np.ndarray, w: np.ndarray, out: np.ndarray, bias: np.ndarray | None
    ) -> np.ndarray:
        """Compute a planned convolution of contiguous arrays into `out`."""
        return run(self, x, w, out, bias)


def worthwhile(channels: int, pixels: int, vectors: int) -> bool:
    """Return whether lanes over `channels` are faster than `vectors` vectors that hold `pixels`
    pixels.
    """
    lanes = kernels.lanes()
    if channels < lanes or pixels > MOST_PIXELS:
        return False
    used, steps = 0.0, -(-channels // lanes)
    for width, taps in kernels.outer_tiles().items():
        blocks, steps = divmod(steps, width)
        rows = -(-pixels // taps) * taps
        used += blocks * width * lanes * rows / SPEED.get(width, 1.0)
    return channels * pixels / used > 1.08 * pixels / (vectors * lanes)


@lru_cache(maxsize=256)
def forward_plan(geo: ConvGeometry) -> LanesPlan | None:
    """Return the plan of a convolution, or None if vectors of pixels are faster."""
    if geo.o_group < kernels.lanes() or prod(geo.out) > MOST_PIXELS:
        return None
    usual = conv_plan.forward_vectors(geo)
    if not worthwhile(geo.o_group, prod(geo.out), usual):
        return None
    direct, layout = conv_plan.pixel_layout(geo)
    offsets = [offset for offset, _ in conv_plan.forward_taps(geo, layout)]
    per_group = geo.c_group * geo.taps
    pixels = (
        np.array(layout.steps)
        * np.array(geo.stride)
        @ np.indices(geo.out).reshape(len(geo.out), -1)
    )

    def turn(group: int, first: int, count: int, row: int) -> tuple[int, ...]:
        return (
            1,
            (group * geo.o_group + first) * per_group * 4,
            0,
            0,
            per_group,
            row,
            count,
            per_group,
        )

    source, result = conv_plan.Side(geo.c, geo.x), conv_plan.Side(geo.o, geo.out)
    return _plan(geo.groups, source, result, layout, direct, pixels, offsets, turn)


@lru_cache(maxsize=256)
def input_grad_plan(geo: ConvGeometry) -> LanesPlan | None:
    """Return the plan of the input gradient of a convolution without strides, or None if it cannot
    be used.
    """
    if any(s > 1 for s in geo.stride) or geo.c_group < kernels.lanes() or prod(geo.x) > MOST_PIXELS:
        return None
    layout, job = conv_plan.plain_input_grad(geo)
    if not worthwhile(geo.c_group, prod(geo.x), len(job.vectors.start)):
        return None
    offsets = [offset for offset, index in sorted(job.taps, key=lambda tap: tap[1])]
    pixels = np.array(layout.steps) @ np.indices(geo.x).reshape(len(geo.x), -1)

    def turn(group: int, first: int, count: int, row: int) -> tuple[int, ...]:
        start = (group * geo.o_group * geo.c_group + first) * geo.taps
        return (
            geo.o_group,
            start * 4,
            geo.c_group * geo.taps,
            geo.taps * row,
            geo.taps,
            row,
            count,
            geo.taps,
        )

    source, result = conv_plan.Side(geo.o, geo.out), conv_plan.Side(geo.c, geo.x)
    return _plan(geo.groups, source, result, layout, False, pixels, offsets, turn)


def _plan(
    groups: int,
    source: conv_plan.Side,
    result: conv_plan.Side,
    layout: conv_plan.Layout,
    direct: bool,
    pixels: np.ndarray,
    offsets: list[int],
    turn: Any,
) -> LanesPlan | None:
    lanes = kernels.lanes()
    packing, turning, count = kernels.packing(), kernels.turning(), len(pixels)
    if packing is None or turning is None or _natives() is None:
        return None
    keep: list[object] = []

    def table(values: Any, dtype: type = np.int64) -> int:
        array: np.ndarray = np.ascontiguousarray(values, dtype)
        keep.append(array)
        return array.ctypes.data

    per_group, channels = result.channels // groups, source.channels // groups
    k = channels * len(offsets)
    blocks, turns, weights = [], [], 0
    for group in range(groups):
        first = 0
        for width, taps in kernels.outer_tiles().items():
            while -(-(per_group - first) // lanes) >= width:
                natives, row = kernels.outer(width), width * lanes
                if natives is None:
                    return None
                valid = min(per_group - first, row)
                blocks.append(
                    [
                        jit.address(natives["outer"]),
                        group * per_group + first,
                        valid,
                        width,
                        group * channels * layout.channel,
                        weights,
                        taps,
                    ]
                )
                turns.append((weights * 4, *turn(group, first, valid, row)))
                weights += k * row
                first = min(per_group, first + row)
    images = (
        1
        if direct
        else _together(
            count, max(block[_TAPS] for block in blocks), source.channels * layout.channel
        )
    )
    packed = 0 if direct else -(-images * source.channels * layout.channel // 16) * 64
    widest = max(block[_VECTORS] for block in blocks)
    rows = images * count + 16  # tiles may extend beyond the last pixel
    starts = (np.arange(images)[:, None] * source.channels * layout.channel + pixels).ravel()
    scratch = -(-(packed + rows * widest * lanes * 4) // 128) * 128
    koff = (np.arange(channels)[:, None] * layout.channel + np.array(offsets)).ravel() * 4
    if koff[-1] >= 1 << 32:
        return None
    pack = conv_plan.pack_tables(layout, source.x) if not direct else []
    desc = np.array(
        [
            pack[0].ctypes.data if pack else 0,
            jit.address(packing["pack"]),
            source.channels * prod(source.x),
            source.channels,
            prod(source.x),
            layout.channel,
            len(blocks),
            table(blocks),
            1,
            count,
            result.channels * count,
            scratch,
            packed,
            table(np.concatenate([starts * 4, np.zeros(16, np.int64)])),
            table(koff, np.uint32),
            k,
            jit.address(turning["transpose"]),
            images,
        ],
        np.int64,
    )
    keep.append(pack)
    zeros = np.zeros(result.channels + 4 * lanes, np.float32)
    return LanesPlan(
        desc,
        keep,
        turns,
        -(-weights * 4 // 128) * 128,
        scratch,
        len(blocks),
        images,
        result.channels,
        zeros,
    )


def _together(pixels: int, taps: int, packed: int) -> int:
    """Return how many small images to compute together, so that their pixels fill tiles and share
    each load of the weights.
    """
    most = max(1, min(MOST_TOGETHER // pixels, 2 * conv_plan.CACHE_BYTES // (4 * packed)))
    few = max(1, most // 2)
    return min(
        range(few, most + 1), key=lambda n: (-(-n * pixels // taps) * taps / (n * pixels), -n)
    )


def run(
    plan: LanesPlan, x: np.ndarray, w: np.ndarray, out: np.ndarray, bias: np.ndarray | None
) -> np.ndarray:
    """Compute a planned convolution of contiguous arrays into `out`."""
    padded = plan.zeros
    if bias is not None:
        padded = plan.zeros.copy()  # whole vectors of the bias are read
        padded[: len(bias)] = bias
    turn = kernels.turning()["turn"]
    count, images = threads.get_num_threads(), len(x)
    desc, tasks, grain = plan.shared(images, count)
    memory = conv_memory.take(plan.weight_bytes + plan.scratch * count)
    try:
        address = memory.address
        for to, times, start, *rest in plan.turns:
            turn(w, start, address + to, times, *rest)
        team = threads.team() if tasks > 1 else 0
        _natives()["lanes"](
            team, desc, x, address, padded, out, address + plan.weight_bytes, images, tasks, grain
        )
    finally:
        conv_memory.give(memory)
    return out


def function() -> int:
    """Return the native address of the driver, for a schedule. Valid only if there is a plan."""
    return jit.address(_natives()["lanes"])


@cache
def _natives() -> kernels.Natives:
    return jit.compile_source(_text, {"lanes": "paapaapiii"}, "conv_lanes")


def _text() -> str:
    module = Module()
    _emit(module)
    return module.text()


def _emit(module: Module) -> None:
    params = {**dict.fromkeys(("desc", "x", "w", "bias", "out", "scratch"), "ptr"), "images": "i64"}
    f = threads.parallel_export(module, "lanes", params)

    def word(index: int, table: SSAValue = f.desc) -> SSAValue:
        return f.load("i64", table, index)

    def pointer(index: int, table: SSAValue = f.desc) -> SSAValue:
        return f.load("ptr", f.at(table, index, "i64"))

    own = f.at(f.scratch, f.thread * word(_SCRATCH), "i8")
    result = f.at(own, word(_RESULT), "i8")
    packs = word(_PACK).compare("ne", 0)
    with f.when(packs):
        kernels.clear(f, own, word(_RESULT))
    split, pixels = word(_SPLIT), word(_PIXELS)
    with f.loop(f.begin, f.end) as task:
        image, part = task // split * word(_IMAGES), task % split
        count = f.smaller(f.images - image, word(_IMAGES))
        source = f.at(f.x, image * word(_IMAGE))
        with f.when(packs):
            f.line(
                f"call void {pointer(_PACK_FUNCTION).name}(ptr {pointer(_PACK).name}, ptr {source.name}, ptr {own.name}, "
                f"i64 {count.name}, i64 {word(_IMAGE).name}, i64 {word(_CHANNELS).name}, i64 {word(_CHANNEL).name}, "
                f"i64 {word(_PACKED).name})"
            )
        x = f.select(packs, own, source)
        blocks = word(_BLOCKS)
        with f.loop(part * blocks // split, (part + 1) * blocks // split) as b:
            block = f.at(pointer(_BLOCK_TABLE), b * _BLOCK_WORDS, "i64")
            vectors, first, taps = word(_VECTORS, block), word(_FIRST, block), word(_TAPS, block)
            row = vectors * kernels.lanes()
            _fill(f, result, f.at(f.bias, first), pixels * count, vectors)
            xs, ws = f.at(x, word(_X, block)), f.at(f.w, word(_W, block))
            k, tiles = word(_K), (pixels * count + taps - 1) // taps
            with f.loop(0, k, K_CHUNK) as start:
                f.line(
                    f"call void {pointer(_FUNCTION, block).name}(ptr {f.at(ws, start * row).name}, ptr {xs.name}, "
                    f"ptr {pointer(_PIXEL_TABLE).name}, ptr {f.at(pointer(_K_TABLE), start, 'i32').name}, ptr null, ptr null, "
                    f"ptr {result.name}, i64 {f.smaller(k - start, K_CHUNK).name}, i64 {tiles.name})"
                )
            with f.loop(0, count) as n:
                to = f.at(f.out, (image + n) * word(_OUT_IMAGE) + first * pixels)
                f.line(
                    f"call void {pointer(_TRANSPOSE).name}(ptr {f.at(result, n * pixels * row).name}, i64 {row.name}, "
                    f"ptr {to.name}, i64 {pixels.name}, i64 {pixels.name}, i64 {word(_COUNT, block).name})"
                )
    f.ret()


def _fill(
    f: Function, result: SSAValue, bias: SSAValue, pixels: SSAValue, vectors: SSAValue
) -> None:
    """Initialize every pixel's channels with the bias. The rows beyond the last pixel are
    initialized too, since they are computed (and then dropped).
    """
    kind = vector("float", kernels.lanes())
    with f.loop(0, vectors) as v:
        value = f.load(kind, bias, v * kernels.lanes())
        with f.loop(0, pixels + 16) as p:
            f.store(value, result, (p * vectors + v) * kernels.lanes())
