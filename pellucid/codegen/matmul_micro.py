"""The innermost loops of matrix products: a tile of the result stays in registers while rows of A meet columns of B."""

from __future__ import annotations

from pellucid.codegen.emit import Module, Value, vector
from pellucid.codegen.matmul_pack import Tile

__all__ = ["ACCUMULATE", "BIAS", "PACKED", "RELU", "emit_any", "emit_finish", "emit_micro", "micro_name"]

AHEAD = 8  # steps of k that A is fetched ahead


def emit_micro(module: Module, t: Tile, rows: int, vectors: int, packed: bool, finish: str | None = None) -> None:
    """out[i, :] = sum over k of a[i, k] * b[k * stride + :]; with flags, or less than the tile's width of `valid` columns, the function
    `finish` puts the tile where it belongs; without one there are neither.

    a[i, k] lies at k * a_row + i when `packed`, else at i * a_row + k. With each step of k a line of what the next panels are made of
    is fetched, `ahead_step` floats from the last one: it arrives while the arithmetic goes on.
    """
    kind = vector("float", t.lanes)
    f = module.function(micro_name(packed, rows, vectors), **_MICRO_PARAMS)
    sums = [[f.var(kind, 0.0) for _ in range(vectors)] for _ in range(rows)]
    starts = [] if packed else [f.at(f.a, f.a_row * i) for i in range(rows)]
    apart = 16 // vectors  # steps of k from one vector of the result to the next, whose lines are fetched one by one
    with f.loop(0, f.depth) as k:
        b = f.at(f.b, k * f.stride)
        a = f.at(f.a, k * f.a_row)
        # What comes next: of packed rows the steps to come, else the rows of the next panel, where they follow these.
        f.prefetch(a, f.a_row * AHEAD) if packed else f.prefetch(f.a, f.a_row * rows + k * rows)
        f.prefetch(f.ahead, k * f.ahead_step, near=2)
        # The result's lines arrive while the sums are made, a row in 16 steps: asked for all at once they would keep B waiting.
        f.prefetch(f.out, (k >> 4) * f.pitch + (k & 15) / apart * t.lanes, write=True)
        wide = [f.load(kind, b, v * t.lanes) for v in range(vectors)]
        for i in range(rows):
            factor = f.splat(f.load("float", a, i) if packed else f.load("float", starts[i], k), kind)
            for v in range(vectors):
                sums[i][v].set(f.fma(factor, wide[v], sums[i][v].get()))
    width = vectors * t.lanes
    out, pitch = f.out, f.pitch
    if finish:
        tile = f.buffer("float", rows * width)
        # Flags besides PACKED are things to do.
        ready = (f.flags & (PACKED - 1)).compare("eq", 0) & f.valid.compare("eq", width)
        out, pitch = f.select(ready, out, tile), f.select(ready, pitch, f.const(width, "i64"))
    for i in range(rows):
        for v in range(vectors):
            f.store(sums[i][v].get(), f.at(out, pitch * i + v * t.lanes))
    if finish:
        with f.when(ready.compare("eq", False)):
            module.declarations.add(f"declare void @{finish}(ptr, ptr, ptr, i64, i64, i64, i64, i64)")
            f.call(finish, tile, f.out, f.bias, f.pitch, f.valid, f.flags, *(f.const(n, "i64") for n in (rows, width)))
    f.ret()


def emit_finish(module: Module, name: str, t: Tile) -> None:
    """What follows a product: a tile of sums, `width` floats a row, added to the result's rows, with the bias, relu, or just stored."""
    kind = vector("float", t.lanes)
    numbers = dict.fromkeys(("pitch", "valid", "flags", "rows", "width"), "i64")
    f = module.function(name, tile="ptr", out="ptr", bias="ptr", **numbers)
    adds, biased, rectified = ((f.flags & flag).compare("ne", 0) for flag in (ACCUMULATE, BIAS, RELU))
    none = f.const(0.0, kind)
    with f.loop(0, f.valid, t.lanes) as first:
        mask = f.tail_mask(f.valid - first, t.lanes)
        bias = f.load(kind, f.bias, first, mask=mask & f.splat(biased, mask.ctype))
        with f.loop(0, f.rows) as i:
            place = f.at(f.out, i * f.pitch + first)
            total = f.load(kind, f.tile, i * f.width + first)
            total = f.select(adds, total + f.load(kind, place, mask=mask & f.splat(adds, mask.ctype)), total)
            total = f.select(biased, total + bias, total)
            total = f.select(rectified, f.select(total.compare("ole", 0.0), none, total), total)
            f.store(total, place, mask=mask)
    f.ret()


_MICRO_PARAMS = {
    **dict.fromkeys(("a", "b", "out", "bias", "ahead"), "ptr"),
    **dict.fromkeys(("a_row", "depth", "stride", "pitch", "valid", "flags", "height", "ahead_step"), "i64"),
}
ACCUMULATE, BIAS, RELU, PACKED = 1, 2, 4, 8


def micro_name(packed: bool, rows: int, vectors: int) -> str:
    return f"micro.{'packed' if packed else 'plain'}.{rows}.{vectors}"


def emit_any(module: Module, name: str) -> None:
    """A micro-kernel for every shape, one element after the other: what serves where one of the others cannot be compiled. Each
    element is the same sum in the same order, so the bits are those of the others, too.
    """
    f = module.function(name, **_MICRO_PARAMS)
    f.driver = True
    packed = (f.flags & PACKED).compare("ne", 0)
    row, step = f.select(packed, f.const(1, "i64"), f.a_row), f.select(packed, f.a_row, 1)
    with f.loop(0, f.height) as i, f.loop(0, f.valid) as j:
        total = f.var("float", 0.0)
        with f.loop(0, f.depth) as k:
            a = f.load("float", f.a, i * row + k * step)
            total.set(f.fma(a, f.load("float", f.b, k * f.stride + j), total.get()))
        place = f.at(f.out, i * f.pitch + j)
        with f.when((f.flags & ACCUMULATE).compare("ne", 0)):
            total.set(total.get() + f.load("float", place))
        with f.when((f.flags & BIAS).compare("ne", 0)):
            total.set(total.get() + f.load("float", f.bias, j))
        with f.when((f.flags & RELU).compare("ne", 0)):
            total.set(f.select(total.get().compare("ole", 0.0), 0.0, total.get()))
        f.store(total.get(), place)
    f.ret()
