"""Packing for matrix products: operands are copied to the order in which micro-kernels read them,
in panels as high or wide as a tile.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from ...llvm import target
from ...llvm.emit import Function, Module, SSAValue, lanes, vector

__all__ = [
    "Tile",
    "emit_pack_copy",
    "emit_pack_rows",
    "emit_pack_transpose",
    "pack",
    "plain_tile",
    "tile",
]

AHEAD = 16  # number of steps that rows are prefetched ahead


@dataclass(frozen=True)
class Tile:
    """The shape of a micro-kernel's tile, `rows` x `vectors` registers, and the number of lanes of
    a register.
    """

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        """The number of columns of a tile."""
        return self.vectors * self.lanes


@functools.cache
def tile(real: str = "float") -> Tile:
    """Return the largest tile that leaves registers for B's vectors and one element of A. There are
    32 registers, or 16 with AVX2.
    """
    host = target.host()
    rows = 14 if host.vector_bits == 512 else 12 if host.arch == "arm" else 6
    return Tile(rows, 2, host.lanes(real))


@functools.cache
def plain_tile(real: str = "float") -> Tile:
    """Return the tile of the micro-kernel that reads A in place. It has no more rows than there are
    registers for their addresses.
    """
    host = target.host()
    return Tile(6, 2 if host.vector_bits == 256 else 4, host.lanes(real))


# The packing functions copy `count` rows or columns of `depth` steps; step k goes to dst[k * stride
# : ].


def emit_pack_copy(module: Module) -> None:
    """Emit the function that packs memory in which the elements of a step are contiguous and steps
    are `pitch` apart.
    """
    t = tile(module.real)
    kind = vector(module.real, t.lanes)
    f = module.function(
        "pack.copy",
        internal=True,
        src="ptr",
        dst="ptr",
        **dict.fromkeys(("pitch", "depth", "count", "stride"), "i64"),
    )
    f.noinline = True

    def copy(
        step: SSAValue, v: SSAValue | int, used: int, mask: SSAValue | None, room: SSAValue | None
    ) -> None:
        src, dst = f.at(f.src, step * f.pitch), f.at(f.dst, step * f.stride)
        for w in range(used):
            at = v if isinstance(v, SSAValue) else f.const((v + w) * t.lanes, "i64")
            f.store(f.load(kind, src, at, mask=mask), dst, at, mask=room)

    def whole(used: int) -> None:
        with f.loop(0, f.depth) as k:
            copy(k, 0, used, None, None)

    def narrow() -> None:
        """Copy one vector's width at a time."""
        with f.loop(0, f.count, t.lanes) as first:
            mask = f.tail_mask(f.count - first, t.lanes)
            # the mask protects what follows this panel, which another thread may be writing
            room = f.tail_mask(f.stride - first, t.lanes)
            with f.loop(0, f.depth) as k:
                copy(k, first, 1, mask, room)

    otherwise = narrow
    for used in {t.vectors, plain_tile(module.real).vectors}:

        def either(used: int = used, otherwise: Callable[[], None] = otherwise) -> None:
            f.branch(f.count.compare("eq", used * t.lanes), lambda: whole(used), otherwise)

        otherwise = either
    otherwise()
    f.ret()


def exchanged(f: Function, rows: list[SSAValue], distance: int = 1) -> list[SSAValue]:
    """Perform the steps of a transposition for rows at distances that are powers of two: blocks of
    `distance` lanes are exchanged between adjacent rows, then blocks of twice as many between rows
    twice as far apart, and so on. With `distance` 1 and as many rows as they have lanes, the result
    is the transpose.
    """
    apart = 1
    while apart < len(rows):
        n = lanes(rows[0].ctype)
        low = [lane if not lane & distance else n + lane - distance for lane in range(n)]
        high = [lane + distance if not lane & distance else n + lane for lane in range(n)]
        done = list(rows)
        for i in range(len(rows)):
            if not i & apart:
                a, b = rows[i], rows[i + apart]
                done[i], done[i + apart] = f.shuffle(a, b, low), f.shuffle(a, b, high)
        rows = done
        apart, distance = 2 * apart, 2 * distance
    return rows


def emit_pack_transpose(module: Module) -> None:
    """Emit the function that packs memory in which steps are contiguous and the elements of a step
    are `pitch` apart.
    """
    t = tile(module.real)
    n = t.lanes
    kind = vector(module.real, n)
    f = module.function(
        "pack.transpose",
        internal=True,
        src="ptr",
        dst="ptr",
        **dict.fromkeys(("pitch", "depth", "count", "stride"), "i64"),
    )
    f.noinline = True
    # A square is transposed in two loops, over adjacent rows and over rows `near` apart, which is a
    # quarter of the code. There are no branches: rows beyond the last repeat the last one, and
    # steps beyond the last are stored where nothing reads them.
    near = min(n, 4)
    square, nowhere = f.buffer(module.real, n * n), f.buffer(module.real, n)
    with f.loop(0, f.count, n) as first:
        room = f.tail_mask(f.stride - first, n)
        last = (f.smaller(f.count - first, n) - 1) * f.pitch
        with f.loop(0, f.depth, n) as k:
            left = f.depth - k
            end = left * f.stride
            here, dst = f.at(f.src, first * f.pitch + k), f.at(f.dst, k * f.stride + first)
            reach = f.tail_mask(left, n)
            with f.loop(0, n, near) as top:
                starts = [
                    f.at(here, f.smaller(top * f.pitch + f.pitch * i, last)) for i in range(near)
                ]
                for start in starts:
                    f.prefetch(start, 2 * n)
                rows = [f.load(kind, start, mask=reach) for start in starts]
                for i, row in enumerate(exchanged(f, rows)):
                    f.store(row, square, top * n + i * n)
            with f.loop(0, near) as j:
                rows = [f.load(kind, square, j * n + i * n) for i in range(0, n, near)]
                for i, column in enumerate(exchanged(f, rows, near)):
                    step = j * f.stride + f.stride * (i * near)
                    f.store(
                        column,
                        f.select(step.compare("slt", end), f.at(dst, step), nowhere),
                        mask=room,
                    )
    f.ret()


def pack(
    f: Function,
    src: SSAValue,
    step: SSAValue,
    across: SSAValue,
    dst: SSAValue,
    depth: SSAValue,
    count: SSAValue,
    stride,
) -> None:
    """Emit the packing of elements `across` apart within a step and `step` apart between steps; one
    of the two is 1.
    """
    stride = f.as_value(stride, "i64")

    def copy() -> None:
        f.call("pack.copy", src, dst, step, depth, count, stride)

    def transpose() -> None:
        f.call("pack.transpose", src, dst, across, depth, count, stride)

    f.branch(across.compare("eq", 1), copy, transpose)


def emit_pack_rows(module: Module) -> None:
    """Emit the function that packs panels of A from memory in which the rows of a step are
    contiguous. It copies the rows of all panels at each step, which reads whole cache lines.
    """
    t = tile(module.real)
    kind = vector(module.real, t.lanes)
    numbers = dict.fromkeys(("pitch", "depth", "count", "low", "taller"), "i64")
    f = module.function("pack.rows", internal=True, src="ptr", dst="ptr", **numbers)
    f.noinline = True
    # Panels have `low` rows, and the first `taller` panels one more. The panels are contiguous in
    # `dst`.
    with f.loop(0, f.depth) as k:
        src, dst = f.at(f.src, k * f.pitch), f.var("ptr", f.dst)
        done = f.var("i64", 0)
        with f.loop(0, f.count) as p:
            height = f.low + f.extend(
                f.emit(f"zext i1 {p.compare('slt', f.taller).name} to i32", "i32"), "i64"
            )
            first = done.get()
            here = f.at(src, first)
            f.prefetch(here, f.pitch * AHEAD)
            for v in range(0, t.rows, t.lanes):
                mask = f.tail_mask(height - v, t.lanes)
                f.store(f.load(kind, here, v, mask=mask), f.at(dst.get(), k * height), v, mask=mask)
            dst.set(f.at(dst.get(), height * f.depth))
            done.set(first + height)
    f.ret()
