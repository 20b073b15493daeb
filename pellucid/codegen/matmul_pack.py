"""Packing for matrix products: operands as the micro-kernels read them, in panels as high or wide as a tile."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from pellucid.codegen import target
from pellucid.codegen.emit import Function, Module, Value, vector

__all__ = ["Tile", "emit_pack_copy", "emit_pack_rows", "emit_pack_transpose", "pack", "plain_tile", "tile", "transposed"]

AHEAD = 16  # steps ahead of which rows are fetched


@dataclass(frozen=True)
class Tile:
    """The shape of the micro-kernel's tile: `rows` x `vectors` registers, and the lanes of a register."""

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes


@functools.cache
def tile() -> Tile:
    """The largest tile that leaves registers for B's vectors and one element of A: 32 registers, 16 with AVX2."""
    host = target.host()
    rows = 14 if host.vector_bits == 512 else 12 if host.arch == "arm" else 6
    return Tile(rows, 2, host.lanes("float"))


@functools.cache
def plain_tile() -> Tile:
    """The tile of the micro-kernel that reads A where it is: no more rows than there are registers for their addresses."""
    host = target.host()
    return Tile(6, 2 if host.vector_bits == 256 else 4, host.lanes("float"))


# `count` rows or columns side by side, `depth` steps; step k goes to dst[k * stride : ].


def emit_pack_copy(module: Module) -> None:
    """From memory where the elements of a step lie side by side, steps `pitch` apart."""
    t = tile()
    kind = vector("float", t.lanes)
    f = module.function(
        "pack.copy", internal=True, src="ptr", dst="ptr", **dict.fromkeys(("pitch", "depth", "count", "stride"), "i64")
    )
    f.noinline = True
    vectors = f.var("i64", (f.count + (t.lanes - 1)) / t.lanes)

    def copy(used: int) -> None:
        masks = [f.tail_mask(f.count - v * t.lanes, t.lanes) for v in range(used)]
        # Another thread may be writing what follows this panel.
        room = [f.tail_mask(f.stride - v * t.lanes, t.lanes) for v in range(used)]
        with f.loop(0, f.depth) as k:
            src, dst = f.at(f.src, k * f.pitch), f.at(f.dst, k * f.stride)
            for v in range(used):
                f.store(f.load(kind, src, v * t.lanes, mask=masks[v]), dst, v * t.lanes, mask=room[v])

    for used in range(1, max(t.vectors, plain_tile().vectors) + 1):
        with f.when(vectors.get().compare("eq", used)):
            copy(used)
    f.ret()


def transposed(f: Function, rows: list[Value]) -> list[Value]:
    """The transpose of a square of as many vectors as they have lanes: exchange blocks of 1, 2, 4 ... lanes."""
    n = len(rows)
    distance = 1
    while distance < n:
        low = [lane if not lane & distance else n + lane - distance for lane in range(n)]
        high = [lane + distance if not lane & distance else n + lane for lane in range(n)]
        done = list(rows)
        for i in range(n):
            if not i & distance:
                a, b = rows[i], rows[i + distance]
                done[i], done[i + distance] = f.shuffle(a, b, low), f.shuffle(a, b, high)
        rows = done
        distance *= 2
    return rows


def emit_pack_transpose(module: Module) -> None:
    """From memory where the steps lie side by side, the elements of a step `pitch` apart."""
    t = tile()
    n = t.lanes
    kind = vector("float", n)
    f = module.function(
        "pack.transpose",
        internal=True,
        src="ptr",
        dst="ptr",
        **dict.fromkeys(("pitch", "depth", "count", "stride"), "i64"),
    )
    f.noinline = True
    with f.loop(0, f.count, n) as first:
        room = f.tail_mask(f.stride - first, n)
        with f.loop(0, f.depth, n) as k:
            left = f.depth - k
            here = f.at(f.src, first * f.pitch + k)
            dst = f.at(f.dst, k * f.stride + first)
            reach = f.tail_mask(left, n)
            rows = []
            for i in range(n):
                # Rows beyond the last are not read: an empty mask.
                inside = f.splat((first + i).compare("slt", f.count), reach.ctype)
                rows.append(f.load(kind, here, f.pitch * i, mask=reach & inside))
            columns = transposed(f, rows)

            def all_steps(columns=columns, dst=dst, room=room) -> None:
                for i, column in enumerate(columns):
                    f.store(column, dst, f.stride * i, mask=room)

            def some_steps(columns=columns, dst=dst, left=left, room=room) -> None:
                for i, column in enumerate(columns):
                    with f.when(left.compare("sgt", i)):
                        f.store(column, dst, f.stride * i, mask=room)

            f.branch(left.compare("sge", n), all_steps, some_steps)
    f.ret()


def pack(f: Function, src: Value, step: Value, across: Value, dst: Value, depth: Value, count: Value, stride) -> None:
    """Pack elements `across` apart within a step and `step` apart between steps; one of the two is 1."""
    stride = f.as_value(stride, "i64")

    def copy() -> None:
        f.call("pack.copy", src, dst, step, depth, count, stride)

    def transpose() -> None:
        f.call("pack.transpose", src, dst, across, depth, count, stride)

    f.branch(across.compare("eq", 1), copy, transpose)


def emit_pack_rows(module: Module) -> None:
    """Panels of A from memory where the rows of a step lie side by side: all of a step's at once, which reads whole cache lines."""
    t = tile()
    kind = vector("float", t.lanes)
    numbers = dict.fromkeys(("pitch", "depth", "count", "low", "taller"), "i64")
    f = module.function("pack.rows", internal=True, src="ptr", dst="ptr", **numbers)
    f.noinline = True
    # Panels have `low` rows, the first `taller` one more; a panel follows the other in `dst`.
    with f.loop(0, f.depth) as k:
        src, dst = f.at(f.src, k * f.pitch), f.var("ptr", f.dst)
        done = f.var("i64", 0)
        with f.loop(0, f.count) as p:
            height = f.low + f.extend(f.emit(f"zext i1 {p.compare('slt', f.taller).name} to i32", "i32"), "i64")
            first = done.get()
            here = f.at(src, first)
            f.prefetch(here, f.pitch * AHEAD)
            for v in range(0, t.rows, t.lanes):
                mask = f.tail_mask(height - v, t.lanes)
                f.store(f.load(kind, here, v, mask=mask), f.at(dst.get(), k * height), v, mask=mask)
            dst.set(f.at(dst.get(), height * f.depth))
            done.set(first + height)
    f.ret()
