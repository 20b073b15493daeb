"""The innermost loops of matrix products: a tile of the result stays in registers while rows of A
are multiplied by columns of B.
"""

from __future__ import annotations

from ...llvm.emit import Module, vector
from .pack import Tile

__all__ = [
    "ACCUMULATE",
    "BIAS",
    "PACKED",
    "RELU",
    "emit_any",
    "emit_finish",
    "emit_micro",
    "micro_name",
]

AHEAD = 8  # number of steps of k that A is prefetched ahead


def emit_micro(
    module: Module, t: Tile, rows: int, vectors: int, packed: bool, finish: str | None = None
) -> None:
    """Emit a micro-kernel: out[i, :] = sum over k of a[i, k] * b[k * stride + :].

    If flags are set, or fewer columns are `valid` than the tile has, the kernel leaves storing the
    tile to the function `finish`. Without `finish` neither may occur. a[i, k] is at k * a_row + i
    if `packed`, else at i * a_row + k. With each step of k one cache line of the next panels is
    prefetched, `ahead_step` floats after the previous one, so that it arrives during the
    arithmetic.
    """
    kind = vector(module.real, t.lanes)
    f = module.function(micro_name(packed, rows, vectors), **_MICRO_PARAMS)
    sums = [[f.var(kind, 0.0) for _ in range(vectors)] for _ in range(rows)]
    starts = [] if packed else [f.at(f.a, f.a_row * i) for i in range(rows)]
    # What moves with each step of k. `coming` points, for packed rows, to later steps; else to the
    # rows of the next panel, if they follow these.
    steps = {
        "a": f.a_row if packed else 0,
        "b": f.stride,
        "ahead": f.ahead_step,
        "coming": f.a_row if packed else rows,
    }
    places = {name: f.var("ptr", getattr(f, name)) for name in ("a", "b", "ahead")}
    places["coming"] = f.var("ptr", f.at(f.a, f.a_row * (AHEAD if packed else rows)))
    # steps of k between prefetches of neighboring vectors of the result
    apart = 16 // vectors
    with f.loop(0, f.depth) as k:
        a, b, ahead, coming = (places[name].get() for name in ("a", "b", "ahead", "coming"))
        f.prefetch(coming, 0)
        f.prefetch(ahead, 0, near=2)
        # The result's cache lines are prefetched during the sums, one row in 16 steps. Prefetching
        # all of them at once would delay B.
        f.prefetch(f.out, (k >> 4) * f.pitch + (k & 15) / apart * t.lanes, write=True)
        wide = [f.load(kind, b, v * t.lanes) for v in range(vectors)]
        for i in range(rows):
            factor = f.splat(
                f.load(module.real, a, i) if packed else f.load(module.real, starts[i], k), kind
            )
            for v in range(vectors):
                sums[i][v].set(f.fma(factor, wide[v], sums[i][v].get()))
        for name, here in (("a", a), ("b", b), ("ahead", ahead), ("coming", coming)):
            places[name].set(f.at(here, steps[name]))
    width = vectors * t.lanes
    out, pitch = f.out, f.pitch
    if finish:
        tile = f.buffer(module.real, rows * width)
        # Flags besides PACKED ask for something to be done.
        ready = (f.flags & (PACKED - 1)).compare("eq", 0) & f.valid.compare("eq", width)
        out, pitch = f.select(ready, out, tile), f.select(ready, pitch, f.const(width, "i64"))
    for i in range(rows):
        for v in range(vectors):
            f.store(sums[i][v].get(), f.at(out, pitch * i + v * t.lanes))
    if finish:
        with f.when(ready.compare("eq", False)):
            module.declarations.add(
                f"declare void @{finish}(ptr, ptr, ptr, i64, i64, i64, i64, i64)"
            )
            f.call(
                finish,
                tile,
                f.out,
                f.bias,
                f.pitch,
                f.valid,
                f.flags,
                *(f.const(n, "i64") for n in (rows, width)),
            )
    f.ret()


def emit_finish(module: Module, name: str, t: Tile) -> None:
    """Emit the function that stores a tile of sums, with `width` floats per row, to the result's
    rows: added to them, with the bias, with relu, or as it is.
    """
    kind = vector(module.real, t.lanes)
    numbers = dict.fromkeys(("pitch", "valid", "flags", "rows", "width"), "i64")
    f = module.function(name, tile="ptr", out="ptr", bias="ptr", **numbers)
    adds, biased, rectified = (
        (f.flags & flag).compare("ne", 0) for flag in (ACCUMULATE, BIAS, RELU)
    )
    total, bias, source, place = f.var(kind), f.var(kind, 0.0), f.var("ptr"), f.var("ptr")
    with f.loop(0, f.valid, t.lanes) as first:
        mask = f.tail_mask(f.valid - first, t.lanes)
        with f.when(biased):
            bias.set(f.load(kind, f.bias, first, mask=mask))
        source.set(f.at(f.tile, first))
        place.set(f.at(f.out, first))
        with f.loop(0, f.rows):
            total.set(f.load(kind, source.get()))
            with f.when(adds):
                total.set(total.get() + f.load(kind, place.get(), mask=mask))
            with f.when(biased):
                total.set(total.get() + bias.get())
            with f.when(rectified):
                total.set(f.select(total.get().compare("olt", 0.0), 0.0, total.get()))
            f.store(total.get(), place.get(), mask=mask)
            source.set(f.at(source.get(), f.width))
            place.set(f.at(place.get(), f.pitch))
    f.ret()


_MICRO_PARAMS = {
    **dict.fromkeys(("a", "b", "out", "bias", "ahead"), "ptr"),
    **dict.fromkeys(
        ("a_row", "depth", "stride", "pitch", "valid", "flags", "height", "ahead_step"), "i64"
    ),
}
ACCUMULATE, BIAS, RELU, PACKED = 1, 2, 4, 8


def micro_name(packed: bool, rows: int, vectors: int) -> str:
    """Return the name of a micro-kernel: whether its first operand is packed, and the rows and
    vectors of its tile.
    """
    return f"micro.{'packed' if packed else 'plain'}.{rows}.{vectors}"


def emit_any(module: Module, name: str) -> None:
    """Emit a micro-kernel for any shape, one element at a time, which replaces others that cannot
    be compiled. It computes each element as the same sum in the same order, so its results are
    equal bit by bit.
    """
    f = module.function(name, **_MICRO_PARAMS)
    f.driver = True
    packed = (f.flags & PACKED).compare("ne", 0)
    row, step = f.select(packed, f.const(1, "i64"), f.a_row), f.select(packed, f.a_row, 1)
    with f.loop(0, f.height) as i, f.loop(0, f.valid) as j:
        total = f.var(module.real, 0.0)
        with f.loop(0, f.depth) as k:
            a = f.load(module.real, f.a, i * row + k * step)
            total.set(f.fma(a, f.load(module.real, f.b, k * f.stride + j), total.get()))
        place = f.at(f.out, i * f.pitch + j)
        with f.when((f.flags & ACCUMULATE).compare("ne", 0)):
            total.set(total.get() + f.load(module.real, place))
        with f.when((f.flags & BIAS).compare("ne", 0)):
            total.set(total.get() + f.load(module.real, f.bias, j))
        with f.when((f.flags & RELU).compare("ne", 0)):
            total.set(f.select(total.get().compare("olt", 0.0), 0.0, total.get()))
        f.store(total.get(), place)
    f.ret()
