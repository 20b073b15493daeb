"""Products of bfloat16 matrices by Intel's AMX: tiles of 16 rows of 64 bytes, which one instruction
(TDPBF16PS) multiplies and adds to a tile of 16 x 16 float32 sums.

Panels are as in `pairs`, but for those of A: a tile of it is 16 rows of 32 numbers each, and the
tiles of a panel follow each other along k. Both operands are filled up with zeros to whole tiles.
A micro-kernel keeps up to 2 x 2 tiles of sums. Linux wants to be asked before a process uses the
registers, which are 8 KiB that a change of threads must save; where it refuses, `available()` is
false. Each chunk of work sets the registers up and gives them back.
"""

from __future__ import annotations

import ctypes
import functools
import sys

from ...llvm import target
from ...llvm.emit import Function, Module, SSAValue, vector
from .micro import BIAS
from .pack import exchanged
from .words import FIRST, LANES, LAST, MICRO, ORDER, PACK, SUMS, finish_tile, narrowed, widened

__all__ = ["available", "begin", "emit_micro", "emit_pack_rows", "end"]

SIDE = 16  # rows of a tile, and units of 32 bits in a row
_SYSCALL, _REQUEST, _TILE_DATA = 158, 0x1023, 18  # arch_prctl(ARCH_REQ_XCOMP_PERM, XTILEDATA)


@functools.cache
def available() -> bool:
    """Whether this process may multiply tiles; the first call asks the system."""
    if not target.available() or target.host().arch != "x86" or target.host().vector_bits != 512:
        return False
    features = target.host().features.split(",")
    if sys.platform != "linux" or not {"+amx-tile", "+amx-bf16", "+avx512bf16"} <= {*features}:
        return False
    try:
        return ctypes.CDLL(None).syscall(_SYSCALL, _REQUEST, _TILE_DATA) == 0
    except (OSError, AttributeError):
        return False


# ---- registers --------------------------------------------------------------------------------------
# 0 to 3 hold sums, 4 and 5 rows of A, 6 and 7 columns of B.
_LEFT, _RIGHT = 4, 6


def begin(f: Function) -> None:
    """Set all eight registers to 16 rows of 64 bytes."""
    layout = f.buffer("i8", 64)
    f.store(f.const(0, vector("i8", 64)), layout)
    f.store(f.const(1, "i8"), layout)  # the only palette
    f.store(f.const(64, vector("i16", 8)), f.at(layout, 16, "i8"))
    f.store(f.const(SIDE, vector("i8", 8)), f.at(layout, 48, "i8"))
    f.module.declarations.add("declare void @llvm.x86.ldtilecfg(ptr)")
    f.line(f"call void @llvm.x86.ldtilecfg(ptr {layout.name})")


def end(f: Function) -> None:
    """Give the registers back: a change of threads need not save them any more."""
    f.module.declarations.add("declare void @llvm.x86.tilerelease()")
    f.line("call void @llvm.x86.tilerelease()")


def _tile(f: Function, name: str, register: int, pointer: SSAValue, stride: int) -> None:
    f.module.declarations.add(f"declare void @llvm.x86.{name}(i8 immarg, ptr, i64)")
    f.line(f"call void @llvm.x86.{name}(i8 {register}, ptr {pointer.name}, i64 {stride})")


def emit_micro(module: Module, name: str, rows: int, vectors: int) -> None:
    """`rows` times `vectors` tiles of the result over `units` pairs of k, of which the first
    `height` rows and `valid` columns are stored.
    """
    f = module.function(name, **MICRO)
    zero, multiply = "llvm.x86.tilezero", "llvm.x86.tdpbf16ps"
    module.declarations |= {
        f"declare void @{zero}(i8 immarg)",
        f"declare void @{multiply}(i8 immarg, i8 immarg, i8 immarg)",
    }
    for register in range(2 * rows):
        f.line(f"call void @{zero}(i8 {register})")
    width = 2 * LANES  # of B's panels, in units
    with f.loop(0, f.units, SIDE) as k:
        a, b = f.at(f.a, k * (rows * SIDE)), f.at(f.b, k * width)
        for i in range(rows):
            _tile(f, "tileloadd64", _LEFT + i, f.at(a, i * SIDE * SIDE), 4 * SIDE)
        for j in range(vectors):
            _tile(f, "tileloadd64", _RIGHT + j, f.at(b, j * LANES), 4 * width)
        for i in range(rows):
            for j in range(vectors):
                f.line(f"call void @{multiply}(i8 {2 * i + j}, i8 {_LEFT + i}, i8 {_RIGHT + j})")
    tile = f.buffer("float", rows * SIDE * width)
    for i in range(rows):
        for j in range(vectors):
            where = f.at(tile, i * SIDE * width + j * LANES)
            _tile(f, "tilestored64", 2 * i + j, where, 4 * width)
    masks = [f.tail_mask(f.valid - v * LANES, LANES) for v in range(vectors)]

    def straight() -> None:
        # Negative zero is what leaves every number as it is.
        bias = [f.var(SUMS, -0.0) for _ in range(vectors)]
        with f.when((f.flags & BIAS).compare("ne", 0)):
            for v in range(vectors):
                bias[v].set(
                    widened(f, f.load(vector("i16", LANES), f.bias, v * LANES, mask=masks[v]))
                )
        with f.loop(0, f.height) as i:
            for v in range(vectors):
                total = f.load(SUMS, tile, i * width + v * LANES) + bias[v].get()
                f.store(narrowed(f, total), f.out, f.pitch * i + v * LANES, mask=masks[v])

    f.branch(
        (f.flags & ~BIAS).compare("eq", FIRST | LAST),
        straight,
        lambda: finish_tile(f, tile, f.height, width),
    )
    f.ret()


# ---- packing of A -----------------------------------------------------------------------------------
def emit_pack_rows(module: Module) -> None:
    """`tiles.copy` and `tiles.transpose`: a panel of A from memory where the steps of a row lie
    side by side, or the rows of a step; `stride` is its height in whole tiles.
    """
    words, wide = vector("i16", LANES), vector("i16", 2 * LANES)
    f = module.function("tiles.copy", internal=True, src="ptr", dst="ptr", **PACK)
    f.noinline = True
    with f.loop(0, f.depth, 2 * SIDE) as k:
        reach = f.tail_mask(f.depth - k, 2 * SIDE)
        dst = f.at(f.dst, (k >> 1) * f.stride)
        with f.loop(0, f.count) as i:
            here = f.at(f.src, i * f.pitch + k, "i16")
            f.prefetch(here, 4 * SIDE, "i16")
            f.store(f.load(wide, here, mask=reach), f.at(dst, i * SIDE))
        with f.loop(f.count, f.stride) as i:
            f.store(f.const(0, wide), f.at(dst, i * SIDE))
    f.ret()

    f = module.function("tiles.transpose", internal=True, src="ptr", dst="ptr", **PACK)
    f.noinline = True
    nothing = f.const(0, words)
    with f.loop(0, f.depth, 2 * SIDE) as k:
        left = f.depth - k
        with f.loop(0, f.stride, SIDE) as first:
            mask = f.tail_mask(f.count - first, LANES)
            units = []
            for unit in range(SIDE):
                low, high = nothing, nothing
                for step in (2 * unit, 2 * unit + 1):
                    there = left.compare("sgt", step)
                    at = f.select(there, k + step, k)  # any step that is there
                    f.prefetch(f.src, (at + 2 * SIDE) * f.pitch + first, "i16")
                    row = f.load(words, f.at(f.src, at * f.pitch + first, "i16"), mask=mask)
                    low, high = high, f.select(there, row, nothing)
                units.append(f.bitcast(f.shuffle(low, high, ORDER), SUMS))
            dst = f.at(f.dst, (k >> 1) * f.stride + first * SIDE)
            for lane, column in enumerate(exchanged(f, units)):
                f.store(column, dst, lane * SIDE)
    f.ret()
