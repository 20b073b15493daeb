"""Products of bfloat16 matrices by the processor's own instruction, VDPBF16PS of AVX512-BF16:
`multiply(a, b)`, `linear(x, weight, bias)`, `added(c, a, b)`.

    >>> import ml_dtypes
    >>> a = np.ones((2, 3), ml_dtypes.bfloat16)
    >>> made = multiply(a, a.T)
    >>> made is None or made.astype(np.float32).tolist() == [[3.0, 3.0], [3.0, 3.0]]
    True

The instruction multiplies pairs of neighbours along k and adds both products to a float32. So
packed panels hold pairs: a unit of 32 bits is two steps of k of one row of A, or of one column of
B; an odd last step has a zero beside it. Apart from that the method is that of `call`: the smaller
operand is packed beforehand, the larger one panel by panel, and a micro-kernel keeps a tile of
float32 sums in registers. A result is rounded once, after its bias. Sums of more than `2 * DEPTH`
terms lie in float32 memory between the passes. The instruction takes denormal numbers for zero, as
it does in every library that uses it.

AMX tiles, and BFMMLA of ARM processors, are not used: there was no such processor to test them on.
Where the instruction is not there, `available()` is false and callers multiply in float32.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import ml_dtypes
import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, SSAValue, vector
from . import call
from .call import BLOCK, DEPTH
from .micro import BIAS, RELU
from .pack import exchanged

__all__ = ["added", "available", "gemm_address", "linear", "multiply", "ready"]

ROWS, VECTORS, LANES = 14, 2, 16  # the tile of sums: 28 of the 32 registers
COLUMNS = VECTORS * LANES
# Flags of a pass over k: sums begin here; they are rounded and stored here; before that, what lies
# there is added.
FIRST, LAST, ADDED = 8, 16, 32
FINISH = "pellucid_pairs_finish"
TABLE = "pellucid_pairs"
_BF16 = np.dtype(ml_dtypes.bfloat16)
_SUMS, _PAIRS = vector("float", LANES), vector("bfloat", 2 * LANES)


@functools.cache
def available() -> bool:
    """Whether this processor has the instruction, and code is generated for registers of 512 bits."""
    if not target.available() or target.host().arch != "x86" or target.host().vector_bits != 512:
        return False
    return "+avx512bf16" in target.host().features.split(",")


# ---- micro-kernels ----------------------------------------------------------------------------------
_MICRO_PARAMS = {
    **dict.fromkeys(("a", "b", "out", "bias", "sums", "ahead"), "ptr"),
    **dict.fromkeys(("units", "pitch", "between", "valid", "flags", "ahead_step"), "i64"),
}


def _emit_micro(module: Module, name: str, rows: int, vectors: int) -> None:
    """A tile of `rows` times `valid` columns (at most `vectors` registers) of the result, over
    `units` pairs of k.

    a[k, i] lies at k * rows + i and b[k, j] at k * COLUMNS + j, in pairs. With flags FIRST | LAST,
    and BIAS or not, the sums are rounded and stored; else the function FINISH puts them where they
    belong: `sums` holds those of earlier passes, rows `between` floats apart.
    """
    f = module.function(name, **_MICRO_PARAMS)
    sums = [[f.var(_SUMS, 0.0) for _ in range(vectors)] for _ in range(rows)]
    a, b, ahead = f.var("ptr", f.a), f.var("ptr", f.b), f.var("ptr", f.ahead)
    apart = LANES // vectors
    with f.loop(0, f.units) as k:
        here, there, coming = a.get(), b.get(), ahead.get()
        f.prefetch(here, rows * 8)
        f.prefetch(coming, 0, near=2)
        f.prefetch(f.at(f.out, (k >> 4) * f.pitch + (k & 15) / apart * LANES, "i16"), 0, write=True)
        wide = [f.bitcast(f.load(_SUMS, there, v * LANES), _PAIRS) for v in range(vectors)]
        for i in range(rows):
            factor = f.bitcast(f.splat(f.load("float", here, i), _SUMS), _PAIRS)
            for v in range(vectors):
                sums[i][v].set(
                    f.intrinsic(
                        "x86.avx512bf16.dpbf16ps",
                        _SUMS,
                        sums[i][v].get(),
                        factor,
                        wide[v],
                        overload="512",
                    )
                )
        a.set(f.at(here, rows))
        b.set(f.at(there, COLUMNS))
        ahead.set(f.at(coming, f.ahead_step, "i16"))
    masks = [f.tail_mask(f.valid - v * LANES, LANES) for v in range(vectors)]

    def straight() -> None:
        # Negative zero is what leaves every number as it is.
        bias = [f.var(_SUMS, -0.0) for _ in range(vectors)]
        with f.when((f.flags & BIAS).compare("ne", 0)):
            for v in range(vectors):
                bias[v].set(
                    _widened(f, f.load(vector("i16", LANES), f.bias, v * LANES, mask=masks[v]))
                )
        for i in range(rows):
            for v in range(vectors):
                f.store(
                    _narrowed(f, sums[i][v].get() + bias[v].get()),
                    f.out,
                    f.pitch * i + v * LANES,
                    mask=masks[v],
                )

    def otherwise() -> None:
        tile = f.buffer("float", rows * vectors * LANES)
        for i in range(rows):
            for v in range(vectors):
                f.store(sums[i][v].get(), tile, (i * vectors + v) * LANES)
        module.declarations.add(
            f"declare void @{FINISH}(ptr, ptr, ptr, ptr, i64, i64, i64, i64, i64, i64)"
        )
        sizes = (f.const(rows, "i64"), f.const(vectors * LANES, "i64"))
        f.call(FINISH, tile, f.out, f.bias, f.sums, f.pitch, f.between, f.valid, f.flags, *sizes)

    f.branch((f.flags & ~BIAS).compare("eq", FIRST | LAST), straight, otherwise)
    f.ret()


def _widened(f: Function, x: SSAValue) -> SSAValue:
    return f.bitcast(f._convert("zext", x, vector("i32", LANES)) << 16, _SUMS)


def _narrowed(f: Function, x: SSAValue) -> SSAValue:
    return f.bitcast(f._convert("fptrunc", x, vector("bfloat", LANES)), vector("i16", LANES))


def _emit_finish(module: Module) -> None:
    """A tile of sums, `width` floats a row: added to those of earlier passes, with the bias and
    relu, or with what the result held before, rounded.
    """
    numbers = dict.fromkeys(("pitch", "between", "valid", "flags", "rows", "width"), "i64")
    f = module.function(FINISH, tile="ptr", out="ptr", bias="ptr", sums="ptr", **numbers)
    first, last, biased, rectified, added = (
        (f.flags & flag).compare("ne", 0) for flag in (FIRST, LAST, BIAS, RELU, ADDED)
    )
    total, bias = f.var(_SUMS), f.var(_SUMS)
    with f.loop(0, f.valid, LANES) as j:
        mask = f.tail_mask(f.valid - j, LANES)
        with f.when(biased & last):
            bias.set(_widened(f, f.load(vector("i16", LANES), f.bias, j, mask=mask)))
        with f.loop(0, f.rows) as i:
            total.set(f.load(_SUMS, f.tile, i * f.width + j))
            between = i * f.between + j
            with f.when(first.compare("eq", False)):
                total.set(total.get() + f.load(_SUMS, f.sums, between, mask=mask))

            def done(i: SSAValue = i, j: SSAValue = j, mask: SSAValue = mask) -> None:
                with f.when(biased):
                    total.set(total.get() + bias.get())
                with f.when(added):
                    here = f.load(vector("i16", LANES), f.out, i * f.pitch + j, mask=mask)
                    total.set(total.get() + _widened(f, here))
                with f.when(rectified):
                    total.set(f.select(total.get().compare("olt", 0.0), 0.0, total.get()))
                f.store(_narrowed(f, total.get()), f.out, i * f.pitch + j, mask=mask)

            def later(between: SSAValue = between, mask: SSAValue = mask) -> None:
                f.store(total.get(), f.sums, between, mask=mask)

            f.branch(last, done, later)
    f.ret()


@functools.cache
def _table() -> ctypes.Array[ctypes.c_int64]:
    """The addresses of the micro-kernels, by width and height."""
    return (ctypes.c_int64 * (VECTORS * ROWS))()


def _place(rows: int, vectors: int) -> int:
    return (vectors - 1) * ROWS + rows - 1


@functools.cache
def _micro(rows: int, vectors: int) -> bool:
    """See that a micro-kernel is in the table; whether it is."""
    natives = _natives()
    if natives is None:
        return False
    name = f"pairs.{rows}.{vectors}"

    def build() -> str:
        module = Module()
        _emit_micro(module, name, rows, vectors)
        return module.text()

    jit.define(FINISH, natives[FINISH])
    made = jit.compile_source(build, {name: None}, f"matmul {name}")
    if made is None:
        return False
    _table()[_place(rows, vectors)] = made[name]
    return True


def height_of(m: int) -> int:
    """How high the panels of A are that `m` rows are cut into, all but the last."""
    return -(-m // -(-m // ROWS))


def ready(m: int, n: int) -> bool:
    """Whether the micro-kernels for products of `m` rows and `n` columns are there; they are
    compiled where they are not.

    Whoever calls the native function must have asked.
    """
    high = height_of(m)
    heights = {min(high, m), m % high or high}
    widths = {VECTORS} if n >= COLUMNS else set()
    if n % COLUMNS:
        widths.add(-(-(n % COLUMNS) // LANES))
    return available() and all(_micro(h, w) for h in heights for w in widths)


# ---- packing ----------------------------------------------------------------------------------------
_PACK = dict.fromkeys(("pitch", "depth", "count", "stride"), "i64")


def _emit_pack_copy(module: Module) -> None:
    """From memory where the elements of a step lie side by side, steps `pitch` apart: two steps
    become one of pairs.
    """
    f = module.function("pairs.copy", internal=True, src="ptr", dst="ptr", **_PACK)
    f.noinline = True
    words, units = vector("i16", LANES), vector("i32", LANES)

    def unit(
        k: SSAValue, at: SSAValue | int, mask: SSAValue | None, room: SSAValue | None, both: bool
    ) -> None:
        src = f.at(f.src, k * f.pitch, "i16")
        low = f._convert("zext", f.load(words, src, at, mask=mask), units)
        if both:
            low = (
                low
                | f._convert("zext", f.load(words, f.at(src, f.pitch, "i16"), at, mask=mask), units)
                << 16
            )
        f.store(low, f.dst, (k >> 1) * f.stride + at, mask=room)

    even = f.depth & ~1

    def whole() -> None:
        with f.loop(0, even, 2) as k:
            f.prefetch(f.src, (k + 16) * f.pitch, "i16")
            f.prefetch(f.src, (k + 17) * f.pitch, "i16")
            for v in range(VECTORS):
                unit(k, v * LANES, None, None, True)
        with f.loop(even, f.depth) as k:
            for v in range(VECTORS):
                unit(k, v * LANES, None, None, False)

    def narrow() -> None:
        with f.loop(0, f.count, LANES) as at:
            mask, room = f.tail_mask(f.count - at, LANES), f.tail_mask(f.stride - at, LANES)
            with f.loop(0, even, 2) as k:
                f.prefetch(f.src, (k + 16) * f.pitch, "i16")
                f.prefetch(f.src, (k + 17) * f.pitch, "i16")
                unit(k, at, mask, room, True)
            with f.loop(even, f.depth) as k:
                unit(k, at, mask, room, False)

    f.branch(f.count.compare("eq", COLUMNS), whole, narrow)
    f.ret()


def _emit_pack_transpose(module: Module) -> None:
    """From memory where the steps lie side by side, the elements of a step `pitch` apart: a
    transpose of pairs as they lie there.
    """
    f = module.function("pairs.transpose", internal=True, src="ptr", dst="ptr", **_PACK)
    f.noinline = True
    n, near = LANES, 4
    words = vector("i16", 2 * n)
    square, nowhere = f.buffer("float", n * n), f.buffer("float", n)
    units = (f.depth + 1) >> 1
    with f.loop(0, f.count, n) as first:
        room = f.tail_mask(f.stride - first, n)
        last = (f.smaller(f.count - first, n) - 1) * f.pitch
        with f.loop(0, units, n) as k:
            end = (units - k) * f.stride
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
                rows = [f.bitcast(f.load(words, start, mask=reach), _SUMS) for start in starts]
                for i, row in enumerate(exchanged(f, rows)):
                    f.store(row, square, top * n + i * n)
            with f.loop(0, near) as j:
                rows = [f.load(_SUMS, square, j * n + i * n) for i in range(0, n, near)]
                for i, column in enumerate(exchanged(f, rows, near)):
                    step = j * f.stride + f.stride * (i * near)
                    f.store(
                        column,
                        f.select(step.compare("slt", end), f.at(dst, step), nowhere),
                        mask=room,
                    )
    f.ret()


def _pack(
    f: Function,
    src: SSAValue,
    step: SSAValue,
    across: SSAValue,
    dst: SSAValue,
    depth: SSAValue,
    count: SSAValue,
    stride: SSAValue,
) -> None:
    """Pack elements `across` apart within a step and `step` apart between steps; one of the two is
    1.
    """

    def copy() -> None:
        f.call("pairs.copy", src, dst, step, depth, count, stride)

    def transpose() -> None:
        f.call("pairs.transpose", src, dst, across, depth, count, stride)

    f.branch(across.compare("eq", 1), copy, transpose)


# ---- the loops around them --------------------------------------------------------------------------
_POINTERS = ("a", "b", "out", "bias", "packed", "sums")
_JOB = (*_POINTERS, *"m n depth a_row a_step b_step b_column pitch between flags height".split())


class _Job:
    """The description of a block's work in memory, for the team."""

    def __init__(self, f: Function, block: SSAValue) -> None:
        self.f, self.block = f, block

    def set(self, **values: SSAValue) -> None:
        for name, value in values.items():
            self.f.store(value, self.f.at(self.block, _JOB.index(name), "i64"))

    def read(self) -> dict[str, SSAValue]:
        kinds = {name: "ptr" if name in _POINTERS else "i64" for name in _JOB}
        return {
            name: self.f.load(kind, self.f.at(self.block, _JOB.index(name), "i64"))
            for name, kind in kinds.items()
        }


def _task(module: Module, name: str) -> tuple[Function, dict[str, SSAValue]]:
    f = module.function(name, internal=True, args="ptr", begin="i64", end="i64", thread="i64")
    f.driver = True
    return f, _Job(f, f.args).read()


def _pack_rows(
    f: Function, job: dict[str, SSAValue], p: SSAValue, dst: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """Pack panel p of A; its first row and height."""
    top = p * job["height"]
    height = f.smaller(job["m"] - top, job["height"])
    _pack(
        f,
        f.at(job["a"], top * job["a_row"], "i16"),
        job["a_step"],
        job["a_row"],
        dst,
        job["depth"],
        height,
        height,
    )
    return top, height


def _pack_columns(f: Function, job: dict[str, SSAValue], j: SSAValue, dst: SSAValue) -> None:
    """Pack panel j of B."""
    first = j * COLUMNS
    valid = f.smaller(job["n"] - first, COLUMNS)
    b = f.at(job["b"], first * job["b_column"], "i16")
    _pack(f, b, job["b_step"], job["b_column"], dst, job["depth"], valid, f.const(COLUMNS, "i64"))


def _multiply(
    f: Function,
    job: dict[str, SSAValue],
    a: SSAValue,
    top: SSAValue,
    height: SSAValue,
    b: SSAValue,
    j: SSAValue,
    ahead: Any,
) -> None:
    """A packed panel of A times a packed panel of B."""
    first = j * COLUMNS
    valid = f.smaller(job["n"] - first, COLUMNS)
    which = ((valid + (LANES - 1)) / LANES - 1) * ROWS + height - 1
    slot = f.emit(f"getelementptr ptr, ptr @{TABLE}, i64 {which.name}", "ptr")
    micro = f.load("ptr", slot)
    out = f.at(job["out"], top * job["pitch"] + first, "i16")
    sums = f.at(job["sums"], top * job["between"] + first)
    pointers = (a, b, out, f.at(job["bias"], first, "i16"), sums, ahead[0])
    numbers = ((job["depth"] + 1) >> 1, job["pitch"], job["between"], valid, job["flags"], ahead[1])
    f.line(
        f"call void {micro.name}({', '.join(f'{v.ctype} {v.name}' for v in (*pointers, *numbers))})"
    )


def _ahead(
    f: Function,
    source: SSAValue,
    row: SSAValue,
    step: SSAValue,
    more: SSAValue,
    part: SSAValue,
    parts: SSAValue,
    count: int,
    other: SSAValue,
) -> Any:
    """What the micro-kernels are to fetch while they multiply: of the next panel that is packed,
    `part` of so many `parts`; where it begins, and how far apart the lines are.
    """
    by_row = row.compare("eq", 1)
    # Along k where the elements of a step lie side by side: every second step in each of two parts.
    # Else lines of one row after the other.
    start = f.select(by_row, step * part, row * part)
    apart = f.select(by_row, step * 2, f.const(2, "i64"))
    fetch = more & part.compare("slt", f.select(by_row, f.const(2, "i64"), f.const(count, "i64")))
    return f.select(fetch, f.at(source, start, "i16"), other), f.select(fetch, apart, 0)


def _emit_tasks(module: Module) -> None:
    for name, packing in (("pairs.pack_a", _pack_rows), ("pairs.pack_b", _pack_columns)):
        f, job = _task(module, name)
        width = job["height"] if packing is _pack_rows else COLUMNS
        with f.loop(f.begin, f.end) as p:
            packing(f, job, p, f.at(job["packed"], p * ((job["depth"] + 1) >> 1) * width))
        f.ret()

    # Panels of B, each packed here, times a block of A.
    f, job = _task(module, "pairs.columns")
    units = (job["depth"] + 1) >> 1
    buffer = f.buffer("float", DEPTH * COLUMNS)
    panels = (job["m"] + job["height"] - 1) / job["height"]
    with f.loop(f.begin, f.end) as j:
        _pack_columns(f, job, j, buffer)
        more = ((j + 1) * COLUMNS).compare("slt", job["n"])
        coming = f.at(job["b"], (j + 1) * COLUMNS * job["b_column"], "i16")
        with f.loop(0, panels) as p:
            top = p * job["height"]
            height = f.smaller(job["m"] - top, job["height"])
            a = f.at(job["packed"], top * units)
            ahead = _ahead(f, coming, job["b_column"], job["b_step"], more, p, panels, COLUMNS, a)
            _multiply(f, job, a, top, height, buffer, j, ahead)
    f.ret()

    # Panels of A, each packed here, times a block of B.
    f, job = _task(module, "pairs.rows")
    units = (job["depth"] + 1) >> 1
    buffer = f.buffer("float", DEPTH * ROWS)
    panels = (job["n"] + (COLUMNS - 1)) / COLUMNS
    with f.loop(f.begin, f.end) as p:
        top, height = _pack_rows(f, job, p, buffer)
        more = (top + height).compare("slt", job["m"])
        coming = f.at(job["a"], (top + height) * job["a_row"], "i16")
        with f.loop(0, panels) as j:
            b = f.at(job["packed"], j * units * COLUMNS)
            ahead = _ahead(f, coming, job["a_row"], job["a_step"], more, j, panels, ROWS, b)
            _multiply(f, job, buffer, top, height, b, j, ahead)
    f.ret()


def _emit_gemm(module: Module) -> None:
    """One product: out[m, n] = a[m, depth] @ b[depth, n]; the team shares the packing of an operand
    and the panels of the other one.
    """
    sizes = "m n depth a_row a_step b_step b_column pitch epilogue".split()
    pointers = dict.fromkeys(("team", "a", "b", "out", "bias", "packed"), "ptr")
    f = module.function("pairs.gemm", **pointers, **dict.fromkeys(sizes, "i64"))
    f.driver = True
    job = _Job(f, f.buffer("i64", len(_JOB), align=8))
    passes = (f.depth + (2 * DEPTH - 1)) / (2 * DEPTH)
    # an even number of steps but in the last pass
    depth = ((f.depth + passes - 1) / passes + 1) & ~1
    several = passes.compare("sgt", 1)
    count = (f.m + (ROWS - 1)) / ROWS
    height = (f.m + count - 1) / count
    sums = f.var("ptr", f.out)
    f.module.declarations |= {"declare ptr @malloc(i64)", "declare void @free(ptr)"}
    with f.when(several):
        sums.set(f.emit(f"call ptr @malloc(i64 {(f.m * f.n * 4).name})", "ptr"))
    job.set(a_row=f.a_row, a_step=f.a_step, b_step=f.b_step, b_column=f.b_column, pitch=f.pitch)
    job.set(packed=f.packed, height=height, between=f.n)

    def start(task: str, tasks: SSAValue, work: int, each: SSAValue) -> None:
        threads.start_team(
            f, f.team, f"@pairs.{task}", job.block, tasks, f.larger(f.const(work, "i64") / each, 1)
        )

    with f.loop(0, f.depth, depth) as k:
        steps = f.smaller(f.depth - k, depth)
        units = (steps + 1) >> 1
        begins = f.select(k.compare("eq", 0), f.const(FIRST, "i64"), 0)
        ends = f.select((k + depth).compare("sge", f.depth), f.const(LAST, "i64"), 0)
        job.set(depth=steps, flags=begins | ends | f.epilogue)

        def place(
            row: Any, rows: SSAValue, column: Any, columns: SSAValue, k: SSAValue = k
        ) -> None:
            row, column = f.as_value(row, "i64"), f.as_value(column, "i64")
            job.set(
                m=rows,
                n=columns,
                a=f.at(f.a, f.a_row * row + k * f.a_step, "i16"),
                b=f.at(f.b, f.b_column * column + k * f.b_step, "i16"),
                out=f.at(f.out, f.pitch * row + column, "i16"),
                bias=f.at(f.bias, column, "i16"),
                sums=f.at(sums.get(), f.n * row + column),
            )

        def by_columns(units: SSAValue = units) -> None:
            block = f.larger(f.const(BLOCK // 2, "i64") / units / height, 1) * height
            with f.loop(0, f.m, block) as i:
                rows = f.smaller(f.m - i, block)
                place(i, rows, 0, f.n)
                start("pack_a", (rows + height - 1) / height, 1 << 15, units * height)
                start("columns", (f.n + (COLUMNS - 1)) / COLUMNS, 1 << 20, rows * units * COLUMNS)

        def by_rows(units: SSAValue = units) -> None:
            width = f.larger(f.const(BLOCK // 2, "i64") / units / COLUMNS, 1) * COLUMNS
            with f.loop(0, f.n, width) as j:
                columns = f.smaller(f.n - j, width)
                place(0, f.m, j, columns)
                start("pack_b", (columns + (COLUMNS - 1)) / COLUMNS, 1 << 15, units * COLUMNS)
                start("rows", count, 1 << 20, units * columns * ROWS)

        f.branch(f.m.compare("sgt", f.n), by_rows, by_columns)
    with f.when(several):
        f.line(f"call void @free(ptr {sums.get().name})")
    f.ret()


def _build() -> str:
    module = Module()
    _emit_finish(module)
    _emit_pack_copy(module)
    _emit_pack_transpose(module)
    _emit_tasks(module)
    _emit_gemm(module)
    call.emit_loop(module, "pairs.loop", "pairs.gemm", 2)
    return f"@{TABLE} = external global ptr\n" + module.text()


@functools.cache
def _natives() -> dict[str, int] | None:
    """The addresses of the driver's functions."""
    if not available():
        return None
    jit.define(TABLE, ctypes.addressof(_table()))
    return jit.compile_source(
        _build, dict.fromkeys(("pairs.loop", "pairs.gemm", FINISH)), "matmul of bfloat16"
    )


def gemm_address() -> int | None:
    """The native `gemm(team, a, b, out, bias, packed, m, n, depth, a_row, a_step, b_step, b_column,
    pitch, flags)`.

    As that of `call`, but strides count bfloat16 numbers. `ready(m, n)` must have been true.
    """
    natives = _natives()
    return None if natives is None else natives["pairs.gemm"]


@functools.cache
def _gufuncs() -> dict[str, np.ufunc] | None:
    natives = _natives()
    # The words of bfloat16 numbers, which NumPy knows as uint16.
    return None if natives is None else call.make_gufuncs(natives["pairs.loop"], 4, _EPILOGUES)


_EPILOGUES = {**call.EPILOGUES, "added": ADDED}


def serves(m: int, k: int, n: int) -> bool:
    """Whether a product is worth it: packing costs some microseconds, and few rows leave most of it
    unused.
    """
    return n >= 8 and k >= 8 and m * k * n >= 1 << 14 and (m >= 4 or m * k * n >= 1 << 17)


def _readable(x: Any) -> bool:
    row, column = x.strides[-2:]
    return min(row, column) > 0 and 2 in (row, column) and bool(x.flags.aligned)


def _words(x: Any) -> Any:
    """The matrix (or matrices) as words of 16 bits that the kernel can read; a copy where the
    layout is another one.
    """
    return (x if _readable(x) else np.ascontiguousarray(x)).view(np.uint16)


def multiply(a: Any, b: Any) -> Any:
    """`a @ b` of bfloat16 matrices or stacks of them, rounded once; None where callers are better
    off with float32, or left alone.

    Strides may be any; a matrix in which neither rows nor columns lie without gaps is copied.
    """
    if (
        a.ndim < 2
        or b.ndim < 2
        or a.dtype != _BF16
        or b.dtype != _BF16
        or type(a) is not np.ndarray
        or type(b) is not np.ndarray
    ):
        return None
    (m, k), n = a.shape[-2:], b.shape[-1]
    if not (available() and serves(m, k, n) and ready(m, n)):
        return None
    made = _gufuncs()
    return None if made is None else made["matmul"](_words(a), _words(b)).view(_BF16)


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """`x @ weight.T + bias` of bfloat16, rounded once after the bias; None where `multiply` gives
    None.
    """
    if (
        x.dtype != _BF16
        or weight.dtype != _BF16
        or type(x) is not np.ndarray
        or weight.ndim != 2
        or x.ndim < 2
    ):
        return None
    if x.ndim > 2:
        made = linear(x.reshape(-1, x.shape[-1]), weight, bias)
        return None if made is None else made.reshape(*x.shape[:-1], weight.shape[0])
    if bias is None:
        return multiply(x, weight.T)
    (m, k), n = x.shape, weight.shape[0]
    if bias.dtype != _BF16 or not (available() and serves(m, k, n) and ready(m, n)):
        return None
    made = _gufuncs()
    if made is None:
        return None
    return made["linear"](
        _words(x), _words(weight.T), np.ascontiguousarray(bias).view(np.uint16)
    ).view(_BF16)


def added(c: Any, a: Any, b: Any) -> Any:
    """`c + a @ b` of bfloat16 matrices, c broadcast, rounded once; None where `multiply` gives
    None.
    """
    if a.dtype != _BF16 or b.dtype != _BF16 or c.dtype != _BF16 or a.ndim != 2 or b.ndim != 2:
        return None
    (m, k), n = a.shape, b.shape[1]
    if any(type(x) is not np.ndarray for x in (a, b, c)):
        return None
    if not (available() and serves(m, k, n) and ready(m, n)):
        return None
    made = _gufuncs()
    if made is None:
        return None
    out = np.empty((m, n), np.uint16)
    out[...] = c.view(np.uint16)
    made["added"](_words(a), _words(b), out)  # new memory, in order: nothing is copied on the way
    return out.view(_BF16)
