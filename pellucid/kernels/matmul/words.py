"""What both methods for products of bfloat16 have in common (`pairs`, `tiles`): words of 16 bits and
float32, a tile of sums that is put where it belongs, panels of pairs.

A unit of 32 bits in a panel is two steps of k: of one row of A, or one column of B.
"""

from __future__ import annotations

from ...llvm.emit import Function, Module, SSAValue, vector
from .micro import BIAS, RELU
from .pack import exchanged

VECTORS, LANES = 2, 16
COLUMNS = VECTORS * LANES  # of a panel of B
# Flags of a pass over k: sums begin here; they are rounded and stored here; before that, what lies
# there is added.
FIRST, LAST, ADDED = 8, 16, 32
FINISH = "pellucid_pairs_finish"
ORDER = [lane + step * LANES for lane in range(LANES) for step in (0, 1)]  # pairs of two steps
SUMS, WORDS = vector("float", LANES), vector("bfloat", 2 * LANES)
# Of micro-kernels: `units` of k; `sums` of earlier passes, rows `between` floats apart; the first
# `height` rows and `valid` columns are there; what to fetch meanwhile.
MICRO = {
    **dict.fromkeys(("a", "b", "out", "bias", "sums", "ahead"), "ptr"),
    **dict.fromkeys(("units", "pitch", "between", "height", "valid", "flags", "ahead_step"), "i64"),
}
# Of packing: `count` rows or columns of `depth` steps, `pitch` apart; unit u goes to dst[u * stride :],
# and zeros behind them up to `units`.
PACK = dict.fromkeys(("pitch", "depth", "count", "stride", "units"), "i64")


def finish_tile(f: Function, tile: SSAValue, rows: SSAValue | int, width: int) -> None:
    """In a micro-kernel: a tile of sums in memory, `width` floats a row, goes where it belongs."""
    f.module.declarations.add(
        f"declare void @{FINISH}(ptr, ptr, ptr, ptr, i64, i64, i64, i64, i64, i64)"
    )
    sizes = (f.as_value(rows, "i64"), f.const(width, "i64"))
    f.call(FINISH, tile, f.out, f.bias, f.sums, f.pitch, f.between, f.valid, f.flags, *sizes)


def widened(f: Function, x: SSAValue) -> SSAValue:
    """Words of bfloat16 as float32 numbers."""
    return f.bitcast(f._convert("zext", x, vector("i32", LANES)) << 16, SUMS)


def narrowed(f: Function, x: SSAValue) -> SSAValue:
    """Float32 numbers rounded to words of bfloat16."""
    return f.bitcast(f._convert("fptrunc", x, vector("bfloat", LANES)), vector("i16", LANES))


def emit_finish(module: Module) -> None:
    """A tile of sums, `width` floats a row: added to those of earlier passes, with the bias and
    relu, or with what the result held before, rounded.
    """
    numbers = dict.fromkeys(("pitch", "between", "valid", "flags", "rows", "width"), "i64")
    f = module.function(FINISH, tile="ptr", out="ptr", bias="ptr", sums="ptr", **numbers)
    first, last, biased, rectified, added = (
        (f.flags & flag).compare("ne", 0) for flag in (FIRST, LAST, BIAS, RELU, ADDED)
    )
    total, bias = f.var(SUMS), f.var(SUMS)
    with f.loop(0, f.valid, LANES) as j:
        mask = f.tail_mask(f.valid - j, LANES)
        with f.when(biased & last):
            bias.set(widened(f, f.load(vector("i16", LANES), f.bias, j, mask=mask)))
        with f.loop(0, f.rows) as i:
            total.set(f.load(SUMS, f.tile, i * f.width + j))
            between = i * f.between + j
            with f.when(first.compare("eq", False)):
                total.set(total.get() + f.load(SUMS, f.sums, between, mask=mask))

            def done(i: SSAValue = i, j: SSAValue = j, mask: SSAValue = mask) -> None:
                with f.when(biased):
                    total.set(total.get() + bias.get())
                with f.when(added):
                    here = f.load(vector("i16", LANES), f.out, i * f.pitch + j, mask=mask)
                    total.set(total.get() + widened(f, here))
                with f.when(rectified):
                    total.set(f.select(total.get().compare("olt", 0.0), 0.0, total.get()))
                f.store(narrowed(f, total.get()), f.out, i * f.pitch + j, mask=mask)

            def later(between: SSAValue = between, mask: SSAValue = mask) -> None:
                f.store(total.get(), f.sums, between, mask=mask)

            f.branch(last, done, later)
    f.ret()


def emit_pack_copy(module: Module) -> None:
    """From memory where the elements of a step lie side by side, steps `pitch` apart: two steps
    become one of pairs.
    """
    f = module.function("pairs.copy", internal=True, src="ptr", dst="ptr", **PACK)
    f.noinline = True
    words, units = vector("i16", LANES), vector("i32", LANES)
    zero = f.const(0, words)

    def unit(
        k: SSAValue, at: SSAValue | int, mask: SSAValue | None, room: SSAValue | None, both: bool
    ) -> None:
        src = f.at(f.src, k * f.pitch, "i16")
        low = f.load(words, src, at, mask=mask)
        high = f.load(words, f.at(src, f.pitch, "i16"), at, mask=mask) if both else zero
        f.store(
            f.bitcast(f.shuffle(low, high, ORDER), units),
            f.dst,
            (k >> 1) * f.stride + at,
            mask=room,
        )

    even = f.depth & ~1
    nothing = f.const(0, units)

    def whole() -> None:
        with f.loop(0, even, 2) as k:
            f.prefetch(f.src, (k + 16) * f.pitch, "i16")
            f.prefetch(f.src, (k + 17) * f.pitch, "i16")
            for v in range(VECTORS):
                unit(k, v * LANES, None, None, True)
        with f.loop(even, f.depth) as k:
            for v in range(VECTORS):
                unit(k, v * LANES, None, None, False)
        with f.loop((f.depth + 1) >> 1, f.units) as u:
            for v in range(VECTORS):
                f.store(nothing, f.dst, u * f.stride + v * LANES)

    def narrow() -> None:
        with f.loop(0, f.count, LANES) as at:
            mask, room = f.tail_mask(f.count - at, LANES), f.tail_mask(f.stride - at, LANES)
            with f.loop(0, even, 2) as k:
                f.prefetch(f.src, (k + 16) * f.pitch, "i16")
                f.prefetch(f.src, (k + 17) * f.pitch, "i16")
                unit(k, at, mask, room, True)
            with f.loop(even, f.depth) as k:
                unit(k, at, mask, room, False)
            with f.loop((f.depth + 1) >> 1, f.units) as u:
                f.store(nothing, f.dst, u * f.stride + at, mask=room)

    f.branch(f.count.compare("eq", COLUMNS), whole, narrow)
    f.ret()


def emit_pack_transpose(module: Module) -> None:
    """From memory where the steps lie side by side, the elements of a step `pitch` apart: a
    transpose of pairs as they lie there.
    """
    f = module.function("pairs.transpose", internal=True, src="ptr", dst="ptr", **PACK)
    f.noinline = True
    n, near = LANES, 4
    words = vector("i16", 2 * n)
    square, nowhere = f.buffer("float", n * n), f.buffer("float", n)
    with f.loop(0, f.count, n) as first:
        room = f.tail_mask(f.stride - first, n)
        last = (f.smaller(f.count - first, n) - 1) * f.pitch
        with f.loop(0, f.units, n) as k:
            end = (f.units - k) * f.stride
            here, dst = (
                f.at(f.src, first * f.pitch + k * 2, "i16"),
                f.at(f.dst, k * f.stride + first),
            )
            reach = f.tail_mask(f.depth - k * 2, 2 * n)
            with f.loop(0, n, near) as top:
                starts = [
                    f.at(here, f.smaller(top * f.pitch + f.pitch * i, last), "i16")
                    for i in range(near)
                ]
                for start in starts:
                    f.prefetch(start, 4 * n, "i16")
                rows = [f.bitcast(f.load(words, start, mask=reach), SUMS) for start in starts]
                for i, row in enumerate(exchanged(f, rows)):
                    f.store(row, square, top * n + i * n)
            with f.loop(0, near) as j:
                rows = [f.load(SUMS, square, j * n + i * n) for i in range(0, n, near)]
                for i, column in enumerate(exchanged(f, rows, near)):
                    step = j * f.stride + f.stride * (i * near)
                    f.store(
                        column,
                        f.select(step.compare("slt", end), f.at(dst, step), nowhere),
                        mask=room,
                    )
    f.ret()
