"""Tables for the convolution kernels, computed once per shape: the positions of every row, tap,
vector of pixels and weight.

A strided convolution is turned into one without strides by splitting the positions of the padded
input by their remainder modulo the stride ("phases"). Then every kernel tap is a constant offset.
The input gradient is the mirror image: each phase of the input gets a correlation without strides
of the output's gradient with the taps that reach it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ...llvm import jit
from . import tiles as kernels
from .geometry import ITEMSIZE, ConvGeometry

# A block of images is packed, then used by every tile of output channels, so it should fit in a
# second-level cache.
CACHE_BYTES = 512 << 10
# Tiles take whole vectors of pixels; with blocks of this many, the incomplete last tile does not
# matter.
BLOCK_VECTORS = 48


@dataclass
class Layout:
    """A padded, phase-split copy of one array's spatial dimensions."""

    stride: tuple[int, ...]  # phases per dimension
    pad: tuple[int, ...]  # positions before the first element (negative crops)
    extent: tuple[int, ...]  # positions per phase and dimension
    steps: tuple[int, ...]  # distance between neighbors, in elements
    phase_size: int
    channel: int  # distance between channels, in elements
    real: str = "float"  # LLVM type of the elements

    def offset(self, position: tuple[int, ...]) -> int:
        """Return the element offset of a position of the (padded) source."""
        phase, flat = 0, 0
        for p, stride, step in zip(position, self.stride, self.steps, strict=True):
            phase = phase * stride + p % stride
            flat += p // stride * step
        return phase * self.phase_size + flat


def make_layout(
    x: tuple[int, ...],
    stride: tuple[int, ...],
    pad: tuple[int, ...],
    extent: tuple[int, ...],
    columns: int,
    real: str = "float",
) -> Layout:
    """Return the layout that gives every phase `extent` positions of an array of spatial sizes `x`,
    for `columns` results per row.
    """
    pitch = extent[-1]
    if stride[-1] == 1:
        # The zeros after one row also serve as the zeros before the next.
        pitch = max(columns, pitch - min(max(pad[-1], 0), max(extent[-1] - pad[-1] - x[-1], 0)))
    steps = [1] * len(x)
    if len(x) > 1:
        steps[-2] = pitch
    for d in range(len(x) - 3, -1, -1):
        steps[d] = steps[d + 1] * extent[d + 1]
    phase_size = steps[0] * extent[0] + (extent[-1] - pitch)
    lanes = kernels.lanes(real)
    # If channels are an odd number of vectors apart, they do not compete for the same cache sets.
    vectors = -(-(phase_size * prod(stride)) // lanes) | 1
    return Layout(stride, pad, extent, tuple(steps), phase_size, vectors * lanes, real)


def direct_layout(x: tuple[int, ...], real: str = "float") -> Layout:
    """Return the layout of a source that is read in place."""
    steps = tuple(prod(x[d + 1 :]) for d in range(len(x)))
    return Layout((1,) * len(x), (0,) * len(x), x, steps, prod(x), prod(x), real)


def pack_tables(layout: Layout, x: tuple[int, ...]) -> list[np.ndarray]:
    """Return the descriptor of the packing kernel, followed by the tables that it points to."""
    lead = []
    for d in range(len(x) - 1):
        rows: list[tuple[int, int]] = []
        for i in range(x[d]):
            padded = i + layout.pad[d]
            if padded >= 0 and padded // layout.stride[d] < layout.extent[d]:
                rows.append((i, padded))
        lead.append(rows)
    sources, targets = [], []
    for place in product(*lead):
        source = 0
        for (i, _), size in zip(place, x[1:], strict=True):
            source = (source + i) * size
        sources.append(source)
        targets.append(layout.offset((*(padded for _, padded in place), 0)))
    stride, pad = layout.stride[-1], layout.pad[-1]
    first = max(-pad, 0)
    phases = []
    for j in range(first, first + stride):
        padded = j + pad
        start = padded // stride
        count = max(0, min(-(-(x[-1] - j) // stride), layout.extent[-1] - start))
        phases.append((j, count, padded % stride * layout.phase_size + start))
    count = phases[0][1]
    if stride == 1 and len(sources) > 1 and count == x[-1] == layout.steps[-2]:
        row = np.arange(len(sources)) * count
        if np.array_equal(np.array(sources) - sources[0], row) and np.array_equal(
            np.array(targets) - targets[0], row
        ):
            phases[0] = (phases[0][0], count * len(sources), phases[0][2])
            sources, targets = sources[:1], targets[:1]
    arrays = [
        np.array(sources or [0], np.int64),
        np.array(targets or [0], np.int64),
        np.array(phases, np.int64),
    ]
    desc = np.array(
        [len(sources), arrays[0].ctypes.data, arrays[1].ctypes.data, stride, arrays[2].ctypes.data],
        np.int64,
    )
    return [desc, *arrays]


@dataclass
class Vectors:
    """The vectors of pixels of one output grid: start (in elements), mask of valid lanes, first
    output position.
    """

    start: np.ndarray
    mask: np.ndarray
    first: np.ndarray


def cover(
    grid: tuple[int, ...], steps: tuple[int, ...], keep_inside: bool, real: str = "float"
) -> Vectors:
    """Return vectors that cover the positions of `grid`. They follow the packed rows, and extend
    over the ends of rows if that pays.

    With `keep_inside` no vector extends beyond the last position. One that would is moved back over
    earlier positions of its own run, so the caller must check `runs_fill_vectors`.
    """
    lanes = kernels.lanes(real)
    position = np.zeros((1,) * len(grid), np.int64)
    for d, (size, step) in enumerate(zip(grid, steps, strict=True)):
        shape = [1] * len(grid)
        shape[d] = size
        position = position + (np.arange(size) * step).reshape(shape)
    position = position.ravel()
    following = np.searchsorted(position, position + lanes)
    if not kernels.compresses():
        # Valid lanes must be contiguous, so a vector ends where its run ends.
        run = _run(grid, steps)
        following = np.minimum(following, (np.arange(len(position)) // run + 1) * run)
    heads = []
    at = 0
    jumps = following.tolist()
    while at < len(jumps):
        heads.append(at)
        at = jumps[at]
    head = np.array(heads, np.int64)
    start = position[head]
    if keep_inside:
        start = np.minimum(start, max(int(position[-1]) - (lanes - 1), 0))
        if not kernels.compresses():
            # Move the first position along with the start: the lanes before it are computed twice.
            head = head - (position[head] - start)
    vector = np.repeat(np.arange(len(head)), np.diff([*heads, len(position)]))
    bits = np.left_shift(1, position - start[vector])
    mask = np.bitwise_or.reduceat(bits, np.array(heads))
    if keep_inside and not kernels.compresses():
        mask[-1] = (1 << min(lanes, len(position) - int(head[-1]))) - 1
    return Vectors(start, mask, head)


def _run(grid: tuple[int, ...], steps: tuple[int, ...]) -> int:
    """Return how many positions of a grid are contiguous in the packed rows: a row, or a plane if
    its rows are adjacent.
    """
    return grid[-1] if len(grid) == 1 or steps[-2] != grid[-1] else grid[-1] * grid[-2]


def runs_fill_vectors(grid: tuple[int, ...], steps: tuple[int, ...], real: str = "float") -> bool:
    """Return whether a vector can be moved back over earlier positions without leaving its run, so
    that its lanes stay contiguous in the result. Always true on processors that can compress lanes.
    """
    contiguous = all(step == prod(grid[d + 1 :]) for d, step in enumerate(steps))
    return kernels.compresses() or contiguous or _run(grid, steps) >= kernels.lanes(real)


@dataclass
class Correlation:
    """One correlation without strides: its taps as (source offset, index of the weight's tap), and
    its output grid.

    A grid that is one phase of a strided result is written to temporary memory, at `temp` (in
    elements). The last job of each row's phases has in `unpack` the descriptor (and tables) of the
    kernel that interleaves them.
    """

    taps: list[tuple[int, int]]
    vectors: Vectors
    grid: tuple[int, ...]
    temp: int | None = None
    unpack: list[np.ndarray] = field(default_factory=list)


@dataclass
class Segment:
    """Tiles of `width` output channels, from channel `first` of each group on."""

    first: int
    tiles: int
    width: int


def segments(channels: int) -> list[Segment]:
    """Cut a group's output channels into tiles, widest first."""
    result, first, width = [], 0, kernels.widest_tile()
    while width:
        tiles = (channels - first) // width
        if tiles:
            result.append(Segment(first, tiles, width))
            first += tiles * width
        width //= 2
    return result


@dataclass
class Side:
    """The channels and spatial sizes of a correlation's source or result."""

    channels: int
    x: tuple[int, ...]


@dataclass
class Weights:
    """Distances between weights, in elements, along output lanes, source channels and groups."""

    lane: int
    channel: int
    group: int


@dataclass
class CorrelationPlan:
    """Everything that a correlation needs besides its data; addresses in `desc` point into
    `tables`, which are kept alive here.
    """

    desc: np.ndarray
    tables: list[object]
    gathers: list[tuple]  # arguments, except arrays, of the kernel that lays out the weights
    weight_bytes: int
    scratch: int  # bytes per thread
    block: int
    tiles: int
    zeros: np.ndarray

    def tasks(self, images: int, threads: int) -> tuple[int, int]:
        """Return the number of blocks of images, and the number of parts into which the channels of
        each are split to keep `threads` busy.
        """
        blocks = -(-images // self.block)
        return blocks, 1 if blocks >= threads else min(self.tiles, -(-threads // blocks))


@lru_cache(maxsize=256)
def forward_plan(geo: ConvGeometry) -> CorrelationPlan | None:
    """Return the plan of a convolution, or None if its kernels cannot be compiled."""
    direct = _direct(geo)
    layout = direct_layout(geo.x, geo.real) if direct else source_layout(geo)
    job = Correlation(
        forward_taps(geo, layout), cover(geo.out, layout.steps, direct, geo.real), geo.out
    )
    block = block_images(len(job.vectors.start), geo.c, layout)
    per_group = geo.c_group * geo.taps
    weights = Weights(per_group, geo.taps, geo.o_group * per_group)
    return _plan(
        geo.groups,
        layout,
        [job],
        block,
        0,
        Side(geo.c, geo.x),
        Side(geo.o, geo.out),
        weights,
        direct,
    )


def source_layout(geo: ConvGeometry) -> Layout:
    """Return the layout of the packed input."""
    reach = [d * (k - 1) for d, k in zip(geo.dilation, geo.k, strict=True)]
    extent = tuple(out + r // s for out, r, s in zip(geo.out, reach, geo.stride, strict=True))
    before = tuple(p[0] for p in geo.pads)
    return make_layout(geo.x, geo.stride, before, extent, geo.out[-1], geo.real)


def forward_taps(geo: ConvGeometry, layout: Layout) -> list[tuple[int, int]]:
    """Return the offset in the packed input of every kernel position, with its index."""
    return [
        (layout.offset(tuple(i * d for i, d in zip(tap, geo.dilation, strict=True))), index)
        for index, tap in enumerate(np.ndindex(geo.k))
    ]


@lru_cache(maxsize=256)
def band_plans(geo: ConvGeometry, mirrored: bool) -> list[tuple[CorrelationPlan, int]] | None:
    """Return plans for bands of pixels of a large 1x1 convolution (with `mirrored`, of its input
    gradient), each with its first pixel; None if this does not apply.

    Reading many long planes side by side defeats caches and address translation; reading a packed
    band of them does not.
    """
    pixels, per_group = prod(geo.x), geo.c_group * geo.taps
    source, result = (geo.o, geo.c) if mirrored else (geo.c, geo.o)
    each = geo.itemsize * source
    if geo.taps != 1 or geo.x != geo.out or any(s != 1 for s in geo.stride):
        return None
    if each * pixels < 4 * CACHE_BYTES:
        return None
    lanes = kernels.lanes(geo.real)
    size = max(8 * lanes, CACHE_BYTES // each // lanes * lanes)
    weights = (
        Weights(1, per_group, geo.o_group * per_group)
        if mirrored
        else Weights(per_group, 1, geo.o_group * per_group)
    )
    made: dict[int, CorrelationPlan | None] = {}
    bands = []
    for first in range(0, pixels, size):
        grid = (min(size, pixels - first),)
        if grid[0] not in made:
            layout = make_layout(grid, (1,), (0,), grid, grid[0], geo.real)
            job = Correlation([(0, 0)], cover(grid, layout.steps, False, geo.real), grid)
            sides = Side(source, grid), Side(result, grid)
            made[grid[0]] = _plan(geo.groups, layout, [job], 1, 0, *sides, weights, False, pixels)
        plan = made[grid[0]]
        if plan is None:
            return None
        bands.append((plan, first))
    return bands


def forward_vectors(geo: ConvGeometry) -> int:
    """Return the number of vectors of pixels in one image's output."""
    direct = _direct(geo)
    layout = direct_layout(geo.x, geo.real) if direct else source_layout(geo)
    return len(cover(geo.out, layout.steps, direct, geo.real).start)


def pixel_layout(geo: ConvGeometry) -> tuple[bool, Layout]:
    """Return a layout for kernels that read the input pixel by pixel, so that strides need no
    phases, and before it whether the input is read in place.
    """
    if not any(a or b for a, b in geo.pads):
        return True, direct_layout(geo.x, geo.real)
    sizes = zip(geo.out, geo.stride, geo.k, geo.dilation, strict=True)
    extent = tuple((out - 1) * s + (taps - 1) * d + 1 for out, s, taps, d in sizes)
    before = tuple(p[0] for p in geo.pads)
    return False, make_layout(geo.x, (1,) * len(geo.x), before, extent, 1, geo.real)


def _direct(geo: ConvGeometry) -> bool:
    """Return whether the input can be read in place: there is no padding or stride, and its planes
    do not compete for cache sets.
    """
    if any(s != 1 for s in geo.stride) or any(a or b for a, b in geo.pads):
        return False
    last = 0  # position of the last output along the packed rows
    for out, size in zip(geo.out, geo.x, strict=True):
        last = last * size + out - 1
    if last < kernels.lanes(geo.real) or prod(geo.x) * geo.itemsize % 1024 == 0:
        return False
    return runs_fill_vectors(geo.out, direct_layout(geo.x).steps, geo.real)


def block_images(vectors: int, channels: int, layout: Layout) -> int:
    """Return how many images are packed together: enough for whole tiles, but no more than fit in
    the cache.
    """
    wanted = -(-BLOCK_VECTORS // vectors)
    return max(1, min(wanted, CACHE_BYTES // (ITEMSIZE[layout.real] * channels * layout.channel)))


Phases = list[list[tuple[int, int, list[tuple[int, int]]]]]


def _phases(geo: ConvGeometry) -> tuple[Phases, list[int], Layout] | None:
    """Return, for each dimension and phase of the input, its first and last position and its taps
    (index, shift); then the lowest position of the output's gradient that any of them needs; and
    the layout of the packed gradient.

    Returns None if no tap reaches the input.
    """
    phases: Phases = []
    low, high = [], []
    for size, k, stride, (pad, _), dilation in zip(
        geo.x, geo.k, geo.stride, geo.pads, geo.dilation, strict=True
    ):
        phases.append([])
        for rho in range(stride):
            taps = [(r, r * dilation // stride) for r in range(k) if r * dilation % stride == rho]
            phases[-1].append((-((rho - pad) // stride), (size - 1 + pad - rho) // stride, taps))
        used = [
            (first, last, [s for _, s in taps])
            for first, last, taps in phases[-1]
            if taps and last >= first
        ]
        if not used:
            return None
        low.append(min(first - max(shifts) for first, _, shifts in used))
        high.append(max(last - min(shifts) for _, last, shifts in used))
    extent = tuple(h - lo + 1 for lo, h in zip(low, high, strict=True))
    columns = max(last - first + 1 for first, last, _ in phases[-1])
    before = tuple(-lo for lo in low)
    layout = make_layout(geo.out, (1,) * len(geo.x), before, extent, columns, geo.real)
    return phases, low, layout


def _phase_job(
    geo: ConvGeometry, phases: Phases, low: list[int], layout: Layout, rho: tuple[int, ...]
) -> Correlation:
    parts = [of_dim[r] for of_dim, r in zip(phases, rho, strict=True)]
    taps = []
    for combination in product(*(part[2] for part in parts)):
        index, offset = 0, 0
        for d, (tap, shift) in enumerate(combination):
            index = index * geo.k[d] + tap
            offset += (parts[d][0] - shift - low[d]) * layout.steps[d]
        taps.append((offset, index))
    grid = tuple(max(0, last - first + 1) for first, last, _ in parts)
    if not min(grid):
        return Correlation(taps, Vectors(*np.zeros((3, 0), np.int64)), grid)
    # Positions that no tap reaches are zero, so their place in the source does not matter.
    steps = layout.steps if taps else direct_layout(grid).steps
    return Correlation(taps, cover(grid, steps, False, geo.real), grid)


def plain_input_grad(geo: ConvGeometry) -> tuple[Layout, Correlation]:
    """Return the layout and the only job of the input gradient of a convolution without strides."""
    made = _phases(geo)
    assert made is not None  # without a stride every tap reaches the input
    phases, low, layout = made
    return layout, _phase_job(geo, phases, low, layout, (0,) * len(geo.x))


@lru_cache(maxsize=256)
def input_grad_plan(geo: ConvGeometry) -> CorrelationPlan | None:
    """Return the plan of the input gradient, or None if its kernels cannot be compiled."""
    made = _phases(geo)
    if made is None:
        return None
    phases, low, layout = made
    per_group = geo.c_group * geo.taps
    weights = Weights(geo.taps, per_group, geo.o_group * per_group)
    source, result = Side(geo.o, geo.out), Side(geo.c, geo.x)
    if _direct(geo) and geo.taps == 1:
        layout = direct_layout(geo.x, geo.real)
        only = Correlation([(0, 0)], cover(geo.x, layout.steps, True, geo.real), geo.x)
        block = block_images(len(only.vectors.start), geo.o, layout)
        return _plan(geo.groups, layout, [only], block, 0, source, result, weights, True)
    if all(s == 1 for s in geo.stride):
        only = _phase_job(geo, phases, low, layout, (0,) * len(geo.x))
        block = block_images(len(only.vectors.start), geo.o, layout)
        return _plan(geo.groups, layout, [only], block, 0, source, result, weights, False)
    grids = {rho: _phase_job(geo, phases, low, layout, rho) for rho in np.ndindex(geo.stride)}
    block = block_images(max(len(j.vectors.start) for j in grids.values()), geo.o, layout)
    temp, jobs = 0, []
    for lead in np.ndindex(geo.stride[:-1]):
        of_rows = [grids[(*lead, rho)] for rho in range(geo.stride[-1])]
        if not all(of_rows[0].grid[:-1]):
            continue
        at, places = 0, []
        for rho, one in enumerate(of_rows):
            one.temp = at
            first = phases[-1][rho][0] * geo.stride[-1] + rho - geo.pads[-1][0]
            places.append((first if one.grid[-1] else geo.x[-1], one.grid[-1], at))
            at += kernels.widest_tile() * block * prod(one.grid)
        temp = max(temp, at)
        starts = [
            phases[d][rho][0] * geo.stride[d] + rho - geo.pads[d][0] for d, rho in enumerate(lead)
        ]
        last = max((one for one in of_rows if one.grid[-1]), key=lambda one: one.temp or 0)
        last.unpack = _unpack_tables(geo, starts, of_rows[0].grid[:-1], sorted(places))
        jobs += [one for one in of_rows if one.grid[-1]]
    return _plan(geo.groups, layout, jobs, block, temp, source, result, weights, False)


def _unpack_tables(
    geo: ConvGeometry, starts: list[int], rows: tuple[int, ...], columns: list[tuple[int, int, int]]
) -> list[np.ndarray]:
    """Return the descriptor and tables for interleaving a strided result: where each row goes, and
    the phases of its columns, ordered by their first column.
    """
    targets = []
    for row in np.ndindex(rows):
        flat = 0
        for d, i in enumerate(row):
            flat = flat * geo.x[d] + starts[d] + i * geo.stride[d]
        targets.append(flat * geo.x[-1])
    arrays = [np.array(targets, np.int64), np.array(columns, np.int64)]
    desc = np.array(
        [len(targets), arrays[0].ctypes.data, geo.stride[-1], arrays[1].ctypes.data], np.int64
    )
    return [desc, *arrays]


def _plan(
    groups: int,
    layout: Layout,
    jobs: list[Correlation],
    block: int,
    temp: int,
    source: Side,
    result: Side,
    weights: Weights,
    direct: bool,
    pitch: int = 0,
) -> CorrelationPlan | None:
    """Build the tables and the descriptor. `pitch` is the distance between planes if they are
    longer than the sides' sizes.
    """
    parts = segments(result.channels // groups)
    real, itemsize = layout.real, ITEMSIZE[layout.real]
    packing = kernels.packing(real)
    unpacking = kernels.unpacking(real) if any(job.unpack for job in jobs) else None
    if unpacking is None and any(job.unpack for job in jobs):
        return None
    tiles = {part.width: kernels.tile(part.width, real) for part in parts}
    if packing is None or not all(tiles.values()):
        return None
    per_group = source.channels // groups
    plane = itemsize * (pitch or prod(result.x))
    source_plane = pitch or prod(source.x)
    keep: list[object] = []
    gathers, job_rows, weight_total = [], [], 0

    def table(values: Any, dtype: type = np.int64) -> int:
        array: np.ndarray = np.ascontiguousarray(values, dtype)
        keep.append(array)
        return array.ctypes.data

    for job in jobs:
        offsets = np.array([o for o, _ in job.taps], np.int64)
        indices = np.array([i for _, i in job.taps], np.int64)
        channel = np.arange(per_group)[:, None]
        koff = (channel * layout.channel + offsets).ravel() * itemsize
        sources = table((channel * weights.channel + indices).ravel())
        k = len(koff)
        of_segment = []
        for part in parts:
            first = (
                np.arange(groups)[:, None] * weights.group
                + (part.first + np.arange(part.tiles) * part.width) * weights.lane
            )
            of_segment.append(weight_total)
            gathers.append(
                (
                    tiles[part.width]["weights"],
                    weight_total * itemsize,
                    first.size,
                    table(first.ravel()),
                    k,
                    sources,
                    weights.lane,
                )
            )
            weight_total += first.size * k * part.width
        through = job.temp is not None
        image = prod(job.grid) * itemsize if through else result.channels * plane
        number = np.arange(block)[:, None]
        starts = (number * source.channels * layout.channel + job.vectors.start) * itemsize
        if direct:
            starts = (number * source.channels * prod(source.x) + job.vectors.start) * itemsize
        job_rows.append(
            [
                k,
                table(koff),
                table(starts.ravel()),
                table(np.tile(job.vectors.mask, block), np.uint16),
                table((number * image + job.vectors.first * itemsize).ravel()),
                len(job.vectors.start),
                (job.temp or 0) * itemsize,
                block * prod(job.grid) * itemsize if through else 0,
                job.unpack[0].ctypes.data if job.unpack else 0,
                table(of_segment),
            ]
        )
        keep.append(job.unpack)
    pack = pack_tables(layout, source.x)
    keep += pack
    most = max(len(job.vectors.start) for job in jobs)
    # All tiles process one range of vectors before the next range, so that its input stays in the
    # cache.
    chunk = most * block
    if len(jobs) == 1:  # vectors have the same size in bytes for float32 and float64
        chunk = max(24, CACHE_BYTES // (4 * kernels.lanes() * per_group) // 24 * 24)
    packed_bytes = 0
    if not direct:
        packed_bytes = block * source.channels * layout.channel * itemsize + 16 * kernels.lanes()
    packed_bytes = -(-packed_bytes // 64) * 64
    scratch = -(-(packed_bytes + temp * itemsize + 64) // 128) * 128
    desc = np.zeros(kernels.CORRELATION_WORDS, np.int64)
    for index, value in (
        (kernels.BLOCK_IMAGES, block),
        (kernels.CHANNELS, source.channels),
        (kernels.SOURCE_CHANNEL, source_plane),
        (kernels.SOURCE_IMAGE, source.channels * source_plane),
        (kernels.PACKED_CHANNEL, layout.channel),
        (kernels.PACK, pack[0].ctypes.data),
        (kernels.GROUPS, groups),
        (kernels.SEGMENTS, len(parts)),
        (
            kernels.SEGMENT_TABLE,
            table(
                [[jit.address(tiles[p.width]["tile"]), p.tiles, p.first, p.width] for p in parts]
            ),
        ),
        (kernels.JOBS, len(jobs)),
        (kernels.JOB_TABLE, table(job_rows)),
        (kernels.SPLIT, 1),
        (kernels.CHUNK, chunk),
        (kernels.OUT_IMAGE, result.channels * plane),
        (kernels.OUT_PLANE, plane),
        (kernels.OUT_GROUP, result.channels // groups),
        (kernels.TEMP, packed_bytes),
        (kernels.PACK_FUNCTION, jit.address(packing["pack"])),
        (kernels.UNPACK_FUNCTION, jit.address(unpacking["unpack"]) if unpacking else 0),
        (kernels.VECTORS, most),
        (kernels.SCRATCH, scratch),
        (kernels.GROUP_CHANNELS, per_group),
        (kernels.DIRECT, int(direct)),
    ):
        desc[index] = value
    tiles_total = max(part.tiles for part in parts)
    zeros = np.zeros(result.channels, f"f{itemsize}")
    weight_bytes = -(-weight_total * itemsize // 128) * 128
    return CorrelationPlan(desc, keep, gathers, weight_bytes, scratch, block, tiles_total, zeros)
