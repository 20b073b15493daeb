"""Native products of bytes with the processor's own instruction, VPDPBUSD of AVX512-VNNI or
AVX-VNNI.

The instruction multiplies four adjacent unsigned bytes by four signed ones and adds the products to
an int32. So weights are packed once, with four steps of k of a column next to each other. Rows of
the other operand are copied to the buffer of a panel: as they are, quantized from floats, or as the
patches of a convolution. A micro-kernel keeps a tile of int32 sums in registers. The finished sums
are corrected for zero points, scaled, and rounded to bytes or left as floats. Products of bytes are
exact, so results depend neither on the order of sums nor on the number of threads.

On other processors `available()` is false, and `products` computes the same integers by exact
float32 products.
"""

from __future__ import annotations

import functools
from typing import Any

from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, SSAValue, vector

VECTORS = 2
COPY, QUANTIZE, PATCHES = 0, 1, 2  # how rows are obtained
TO_FLOAT, RELU, LATE = 1, 2, 4  # flags for the conversion of sums

_PATCH = "height width channels taps_y taps_x step_y step_x pad_y pad_x apart_y apart_x out_y out_x offset used".split()
POINTERS = "a b out term factor bias".split()
NUMBERS = "m n k pitch out_pitch group source flags zero a_zero".split()
FLOATS = ("inverse", "out_inverse")
JOB = (*POINTERS, *NUMBERS, *FLOATS, *_PATCH)


@functools.cache
def available() -> bool:
    """Return whether the processor has the instruction, in registers of 512 or 256 bits."""
    if not target.available() or target.host().arch != "x86":
        return False
    features = target.host().features.split(",")
    if target.host().vector_bits == 512:
        return "+avx512vnni" in features
    return target.host().vector_bits == 256 and (
        "+avxvnni" in features or {"+avx512vnni", "+avx512vl"} <= set(features)
    )


@functools.cache
def shape() -> tuple[int, int, tuple[int, ...]]:
    """Return the number of lanes of a register, the number of columns of a panel, and the available
    heights of tiles.
    """
    wide = target.host().vector_bits == 512
    lanes = 16 if wide else 8
    return lanes, lanes * VECTORS, (1, 2, 4, 8, 14) if wide else (1, 2, 4, 6)


# ---- the tile -----------------------------------------------------------------------------------
def _emit_micro(module: Module, rows: int) -> None:
    """Emit the product of `rows` rows of bytes, `pitch` apart, with a packed panel over `units`
    steps of four. The sums are stored to `tile`, row by row.
    """
    lanes, columns, _ = shape()
    kind = vector("i32", lanes)
    f = module.function(
        f"bytes.micro.{rows}", internal=True, a="ptr", b="ptr", tile="ptr", units="i64", pitch="i64"
    )
    f.noinline = True
    totals = [[f.var(kind, 0) for _ in range(VECTORS)] for _ in range(rows)]
    # Groups of three rows, each addressed from a single pointer.
    starts = [f.var("ptr", f.at(f.a, f.pitch * i, "i8")) for i in range(0, rows, 3)]
    b = f.var("ptr", f.b)
    with f.loop(0, f.units):
        there = b.get()
        right = [f.load(kind, there, v * lanes) for v in range(VECTORS)]
        for i in range(rows):
            start = starts[i // 3].get()
            four = f.splat(f.load("i32", f.at(start, f.pitch * (i % 3), "i8")), kind)
            for v in range(VECTORS):
                now = f.intrinsic(
                    "x86.avx512.vpdpbusd",
                    kind,
                    totals[i][v].get(),
                    four,
                    right[v],
                    overload="512" if lanes == 16 else "256",
                )
                totals[i][v].set(now)
        for place in starts:
            place.set(f.at(place.get(), 4, "i8"))
        b.set(f.at(there, columns, "i32"))
    for i in range(rows):
        for v in range(VECTORS):
            f.store(totals[i][v].get(), f.tile, i * columns + v * lanes)
    f.ret()


def _emit_finish(module: Module) -> None:
    """Emit the conversion of a tile of sums, with `valid` columns and `rows` rows: corrected,
    scaled, and rounded to bytes or left as floats.
    """
    lanes, columns, _ = shape()
    ints, floats, few = vector("i32", lanes), vector("float", lanes), vector("i8", lanes)
    pointers = dict.fromkeys(("tile", "out", "term", "factor", "bias"), "ptr")
    numbers = dict.fromkeys(("rows", "valid", "out_pitch", "flags", "zero"), "i64")
    f = module.function("bytes.finish", internal=True, **pointers, **numbers, out_inverse="float")
    f.noinline = True
    rectified = (f.flags & RELU).compare("ne", 0)
    lowest = f.splat(f.select(rectified, f.trunc(f.zero, "i32"), f.const(0, "i32")), ints)
    zero = f.splat(f.trunc(f.zero, "i32"), ints)

    late = (f.flags & LATE).compare("ne", 0)
    floating_zero, inverse = (
        f.splat(f.to_float(f.zero, "float"), floats),
        f.splat(f.out_inverse, floats),
    )

    def each(floating: bool) -> None:
        with f.loop(0, f.valid, lanes) as j:
            mask = f.tail_mask(f.valid - j, lanes)
            term = f.load(ints, f.term, j, mask=mask)
            factor, bias = (
                f.load(floats, f.factor, j, mask=mask),
                f.load(floats, f.bias, j, mask=mask),
            )
            with f.loop(0, f.rows) as i:
                total = f.to_float(f.load(ints, f.tile, i * columns + j) - term, floats)
                at = i * f.out_pitch + j
                if floating:
                    value = f.var(floats, f.fma(total, factor, bias))
                    with f.when(rectified):
                        value.set(f.select(value.get().compare("ogt", 0.0), value.get(), 0.0))
                    f.store(value.get(), f.out, at, mask=mask)
                else:
                    early = (total + bias) * factor
                    # If the zero point is added before rounding, nothing is added after it.
                    scaled = f.select(
                        late, (total * factor + bias) * inverse + floating_zero, early
                    )
                    # Beyond these bounds every zero point gives a saturated byte; within them the
                    # conversion is defined.
                    scaled = f.larger(f.smaller(scaled, 1024.0), -1024.0)
                    value_ = f.to_int(f.rint(scaled), ints) + f.select(late, f.const(0, ints), zero)
                    value_ = f.smaller(f.larger(value_, lowest), 255)
                    f.store(f.trunc(value_, few), f.out, at, mask=mask)

    f.branch((f.flags & TO_FLOAT).compare("ne", 0), lambda: each(True), lambda: each(False))
    f.ret()


# ---- rows -----------------------------------------------------------------------------------------
def _do(f: Function, name: str, *args: SSAValue) -> None:
    f.call(name, *args)


def _copy(f: Function, src: SSAValue, dst: SSAValue, count: SSAValue) -> None:
    """Emit a copy of bytes."""
    if shape()[0] == 16:
        f.call("bytes.copy", src, dst, count)
    else:
        f.module.declarations.add("declare ptr @memcpy(ptr, ptr, i64)")
        f.emit(f"call ptr @memcpy(ptr {dst.name}, ptr {src.name}, i64 {count.name})", "ptr")


def _emit_copy(module: Module) -> None:
    f = module.function("bytes.copy", internal=True, src="ptr", dst="ptr", count="i64")
    wide = vector("i8", 64)
    whole = f.count & ~63
    with f.loop(0, whole, 64) as i:
        f.store(f.load(wide, f.src, i), f.dst, i)
    with f.when(whole.compare("slt", f.count)):
        mask = f.tail_mask(f.count - whole, 64)
        f.store(f.load(wide, f.src, whole, mask=mask), f.dst, whole, mask=mask)
    f.ret()


def _emit_fill(module: Module) -> None:
    """Emit a fill with one value. It may write up to 15 bytes more than `count`."""
    f = module.function("bytes.fill", internal=True, dst="ptr", count="i64", value="i64")
    many = f.splat(f.trunc(f.value, "i8"), vector("i8", 16))
    with f.loop(0, f.count, 16) as i:
        f.store(many, f.dst, i)
    f.ret()


def rounded(
    f: Function, x: SSAValue, inverse: SSAValue, zero: SSAValue, low: int, high: int, lanes: int
) -> SSAValue:
    """Return floats as 32-bit integers: round(x * inverse + zero), with an unrounded product,
    clipped to low..high. NaN becomes the highest.
    """
    ints, floats = vector("i32", lanes), vector("float", lanes)
    made = f.rint(f.fma(x, f.splat(inverse, floats), f.splat(zero, floats)))
    made = f.smaller(made, float(high))
    made = f.larger(made, float(low))
    return f.to_int(made, ints)


def _emit_quantize_row(module: Module) -> None:
    lanes = shape()[0]
    f = module.function(
        "bytes.quantize",
        internal=True,
        src="ptr",
        dst="ptr",
        count="i64",
        inverse="float",
        zero="float",
    )

    def body(i: SSAValue, mask: SSAValue | None) -> None:
        x = f.load(vector("float", lanes), f.src, i, mask=mask)
        f.store(
            f.trunc(rounded(f, x, f.inverse, f.zero, 0, 255, lanes), vector("i8", lanes)),
            f.dst,
            i,
            mask=mask,
        )

    f.vector_loop(f.count, lanes, body)
    f.ret()


def _emit_patch(module: Module) -> None:
    """Emit a copy of one patch of a channels_last image: its bytes in the order of the taps, with
    the zero point outside of the image.
    """
    numbers = dict.fromkeys(("row", "a_zero", *_PATCH), "i64")
    f = module.function("bytes.patch", internal=True, a="ptr", dst="ptr", **numbers)
    f.noinline = True
    pixels = f.out_y * f.out_x
    image, place = f.row / pixels, f.row % pixels
    top = place / f.out_x * f.step_y - f.pad_y
    left = place % f.out_x * f.step_x - f.pad_x
    line = f.taps_x * f.used
    together = f.apart_x.compare("eq", 1) & f.used.compare("eq", f.channels)
    zero = f.const(0, "i64")
    first = f.smaller(f.larger(zero - left, 0), f.taps_x)
    last = f.larger(f.smaller(f.width - left, f.taps_x), first)
    with f.loop(0, f.taps_y) as ky:
        y = top + ky * f.apart_y
        here = f.at(f.dst, ky * line, "i8")
        inside = y.compare("sge", 0) & y.compare("slt", f.height)
        source = f.at(f.a, (image * f.height + y) * f.width * f.channels + f.offset, "i8")

        def within(here: SSAValue = here, source: SSAValue = source) -> None:
            def at_once() -> None:
                with f.when(first.compare("sgt", 0)):
                    _do(f, "bytes.fill", here, first * f.used, f.a_zero)
                _copy(
                    f,
                    f.at(source, (left + first) * f.channels, "i8"),
                    f.at(here, first * f.used, "i8"),
                    (last - first) * f.used,
                )
                with f.when(last.compare("slt", f.taps_x)):
                    _do(
                        f,
                        "bytes.fill",
                        f.at(here, last * f.used, "i8"),
                        (f.taps_x - last) * f.used,
                        f.a_zero,
                    )

            def by_tap() -> None:
                with f.loop(0, f.taps_x) as kx:
                    x = left + kx * f.apart_x
                    spot = f.at(here, kx * f.used, "i8")
                    f.branch(
                        x.compare("sge", 0) & x.compare("slt", f.width),
                        lambda: _copy(f, f.at(source, x * f.channels, "i8"), spot, f.used),
                        lambda: _do(f, "bytes.fill", spot, f.used, f.a_zero),
                    )

            f.branch(together, at_once, by_tap)

        def without(here: SSAValue = here) -> None:
            f.call("bytes.fill", here, line, f.a_zero)

        f.branch(inside, within, without)
    f.ret()


# ---- the loops around them ----------------------------------------------------------------------
def _job(f: Function, block: SSAValue) -> dict[str, SSAValue]:
    kinds = {
        **dict.fromkeys(JOB, "i64"),
        **dict.fromkeys(POINTERS, "ptr"),
        **dict.fromkeys(FLOATS, "float"),
    }
    return {name: f.load(kinds[name], f.at(block, i, "i64")) for i, name in enumerate(JOB)}


def _emit_panels(module: Module) -> None:
    """Emit the tasks of a product: a panel of rows, copied to a buffer, times a group of panels of
    columns.
    """
    lanes, columns, heights = shape()
    tallest = heights[-1]
    f = module.function(
        "bytes.panels", internal=True, args="ptr", begin="i64", end="i64", thread="i64"
    )
    job = _job(f, f.args)
    f.module.declarations |= {"declare ptr @malloc(i64)", "declare void @free(ptr)"}
    units = (job["k"] + 3) / 4
    pitch = (units * 4 + 63) / 64 * 64 + 64
    rows = f.emit(f"call ptr @malloc(i64 {(pitch * tallest + 128).name})", "ptr")
    tile = f.buffer("i32", tallest * columns)
    panels = (job["n"] + (columns - 1)) / columns
    groups = (panels + job["group"] - 1) / job["group"]
    have = f.var("i64", -1)
    inverse, zero = job["inverse"], f.to_float(job["a_zero"], "float")
    patch = [job[name] for name in _PATCH]
    with f.loop(f.begin, f.end) as task:
        p, g = task / groups, task % groups
        top = p * tallest
        count = f.smaller(job["m"] - top, tallest)

        def bring() -> None:
            with f.loop(0, count) as i:
                dst = f.at(rows, i * pitch, "i8")

                def rest(i: SSAValue = i, dst: SSAValue = dst) -> None:
                    f.branch(
                        job["source"].compare("eq", QUANTIZE),
                        lambda: _do(
                            f,
                            "bytes.quantize",
                            f.at(job["a"], (top + i) * job["pitch"]),
                            dst,
                            job["k"],
                            inverse,
                            zero,
                        ),
                        lambda: _do(
                            f, "bytes.patch", job["a"], dst, top + i, job["a_zero"], *patch
                        ),
                    )

                def as_it_is(i: SSAValue = i, dst: SSAValue = dst) -> None:
                    _copy(f, f.at(job["a"], (top + i) * job["pitch"], "i8"), dst, job["k"])

                f.branch(job["source"].compare("eq", COPY), as_it_is, rest)
            have.set(p)

        with f.when(have.get().compare("ne", p)):
            bring()
        start = g * job["group"]
        with f.loop(start, f.smaller(start + job["group"], panels)) as j:
            first = j * columns
            valid = f.smaller(job["n"] - first, columns)
            b = f.at(job["b"], j * units * columns, "i32")

            def tiles(which: int = 0, b: SSAValue = b) -> None:
                def this() -> None:
                    f.call(f"bytes.micro.{heights[which]}", rows, b, tile, units, pitch)

                if which == len(heights) - 1:
                    this()
                else:
                    f.branch(
                        count.compare("sle", heights[which]), this, lambda: tiles(which + 1, b)
                    )

            tiles()
            size = f.select((job["flags"] & TO_FLOAT).compare("ne", 0), f.const(4, "i64"), 1)
            out = f.at(job["out"], (top * job["out_pitch"] + first) * size, "i8")
            places = [f.at(job[name], first, "i32") for name in ("term", "factor", "bias")]
            f.call(
                "bytes.finish",
                tile,
                out,
                *places,
                count,
                valid,
                job["out_pitch"],
                job["flags"],
                job["zero"],
                job["out_inverse"],
            )
    f.line(f"call void @free(ptr {rows.name})")
    f.ret()

    f = module.function("bytes.run", team="ptr", job="ptr", tasks="i64", grain="i64")
    f.driver = True
    threads.start_team(f, f.team, "@bytes.panels", f.job, f.tasks, f.grain)
    f.ret()


def _emit_windows(module: Module) -> None:
    """Emit the tasks of a depthwise convolution: lines of the result. Weights are int32, one line
    of channels per tap; taps outside of the image add nothing.
    """
    lanes, columns, heights = shape()
    tallest = heights[-1]
    ints, few = vector("i32", lanes), vector("i8", lanes)
    f = module.function(
        "bytes.windows", internal=True, args="ptr", begin="i64", end="i64", thread="i64"
    )
    job = _job(f, f.args)
    tile = f.buffer("i32", tallest * columns)
    channels, taps_y, taps_x = job["channels"], job["taps_y"], job["taps_x"]
    zero = f.splat(f.trunc(job["a_zero"], "i32"), ints)
    sums = [f.var(ints) for _ in range(VECTORS)]
    with f.loop(f.begin, f.end) as line:
        image, y = line / job["out_y"], line % job["out_y"]
        top = y * job["step_y"] - job["pad_y"]
        source = f.at(job["a"], image * job["height"] * job["width"] * channels, "i8")
        with f.loop(0, channels, columns) as first:
            valid = f.smaller(channels - first, columns)
            masks = [f.tail_mask(valid - v * lanes, lanes) for v in range(VECTORS)]
            places = [f.at(job[name], first, "i32") for name in ("term", "factor", "bias")]
            with f.loop(0, job["out_x"], tallest) as start:
                count = f.smaller(job["out_x"] - start, tallest)
                with f.loop(0, count) as i:
                    left = (start + i) * job["step_x"] - job["pad_x"]
                    for total in sums:
                        total.set(0)
                    with f.loop(0, taps_y) as ky:
                        row = top + ky * job["apart_y"]
                        with (
                            f.when(row.compare("sge", 0) & row.compare("slt", job["height"])),
                            f.loop(0, taps_x) as kx,
                        ):
                            x = left + kx * job["apart_x"]
                            with f.when(x.compare("sge", 0) & x.compare("slt", job["width"])):
                                pixel = f.at(
                                    source, (row * job["width"] + x) * channels + first, "i8"
                                )
                                weight = f.at(
                                    job["b"], (ky * taps_x + kx) * channels + first, "i32"
                                )
                                for v, total in enumerate(sums):
                                    value = f._convert(
                                        "zext", f.load(few, pixel, v * lanes, mask=masks[v]), ints
                                    )
                                    factor = f.load(ints, weight, v * lanes, mask=masks[v])
                                    total.set(total.get() + (value - zero) * factor)
                    for v, total in enumerate(sums):
                        f.store(total.get(), tile, i * columns + v * lanes)
                size = f.select((job["flags"] & TO_FLOAT).compare("ne", 0), f.const(4, "i64"), 1)
                out = f.at(
                    job["out"], ((line * job["out_x"] + start) * channels + first) * size, "i8"
                )
                f.call(
                    "bytes.finish",
                    tile,
                    out,
                    *places,
                    count,
                    valid,
                    channels,
                    job["flags"],
                    job["zero"],
                    job["out_inverse"],
                )
    f.ret()

    f = module.function("bytes.run_windows", team="ptr", job="ptr", tasks="i64", grain="i64")
    f.driver = True
    threads.start_team(f, f.team, "@bytes.windows", f.job, f.tasks, f.grain)
    f.ret()


def _emit_convert(module: Module) -> None:
    """Emit the conversions between arrays of floats and bytes, and the search for the least and
    greatest float.
    """
    lanes = shape()[0]
    floats, few, wide = vector("float", lanes), vector("i8", lanes), vector("i32", lanes)
    for name, low, high in (("unsigned", 0, 255), ("signed", -128, 127)):
        f = module.function(
            f"bytes.to_{name}", x="ptr", out="ptr", n="i64", inverse="double", zero="double"
        )
        inverse, zero = f.trunc(f.inverse, "float"), f.trunc(f.zero, "float")

        def body(
            i: SSAValue,
            mask: SSAValue | None,
            f: Any = f,
            inverse: Any = inverse,
            zero: Any = zero,
            low: int = low,
            high: int = high,
        ) -> None:
            x = f.load(floats, f.x, i, mask=mask)
            f.store(
                f.trunc(rounded(f, x, inverse, zero, low, high, lanes), few), f.out, i, mask=mask
            )

        f.vector_loop(f.n, lanes, body, unroll=4)
        f.ret()
        f = module.function(
            f"bytes.from_{name}", x="ptr", out="ptr", n="i64", scale="double", zero="double"
        )
        scale, zero = (f.splat(f.trunc(v, "float"), floats) for v in (f.scale, f.zero))
        widen = "zext" if name == "unsigned" else "sext"

        def back(
            i: SSAValue,
            mask: SSAValue | None,
            f: Any = f,
            scale: Any = scale,
            zero: Any = zero,
            widen: str = widen,
        ) -> None:
            x = f.load(few, f.x, i, mask=mask)
            f.store(
                (f.to_float(f._convert(widen, x, wide), floats) - zero) * scale, f.out, i, mask=mask
            )

        f.vector_loop(f.n, lanes, back, unroll=4)
        f.ret()
    f = module.function("bytes.range", x="ptr", out="ptr", n="i64")
    least, most = f.var(floats, float("inf")), f.var(floats, float("-inf"))

    def seen(i: SSAValue, mask: SSAValue | None) -> None:
        x = f.load(floats, f.x, i, mask=mask)
        lower, upper = f.smaller(x, least.get()), f.larger(x, most.get())
        if mask is not None:
            lower, upper = f.select(mask, lower, least.get()), f.select(mask, upper, most.get())
        least.set(lower)
        most.set(upper)

    f.vector_loop(f.n, lanes, seen)
    f.store(f.fold(least.get(), f.smaller), f.out, 0)
    f.store(f.fold(most.get(), f.larger), f.out, 1)
    f.ret()


def _build() -> str:
    module = Module()
    for rows in shape()[2]:
        _emit_micro(module, rows)
    _emit_finish(module)
    if shape()[0] == 16:
        _emit_copy(module)
    _emit_fill(module)
    _emit_quantize_row(module)
    _emit_patch(module)
    _emit_panels(module)
    _emit_windows(module)
    _emit_convert(module)
    return module.text()


_EXPORTS = {
    "bytes.run": "ppii",
    "bytes.run_windows": "ppii",
    **{f"bytes.{way}_{name}": "aaidd" for way in ("to", "from") for name in ("unsigned", "signed")},
    "bytes.range": "aai",
}


@functools.cache
def functions() -> dict[str, Any] | None:
    """Return the native functions by name; None if the processor does not have the instruction."""
    return jit.compile_source(_build, _EXPORTS, "products of bytes") if available() else None
