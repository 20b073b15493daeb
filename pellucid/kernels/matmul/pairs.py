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

Where the processor has AMX, `tiles` has the micro-kernels, several times as fast. BFMMLA of ARM
processors is not used: there was no such processor to test it on.
Where the instruction is not there, `available()` is false and callers multiply in float32.
"""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, SSAValue, vector
from . import call, tiles
from .call import BLOCK
from .micro import BIAS
from .words import (
    ADDED,
    COLUMNS,
    FINISH,
    FIRST,
    LANES,
    LAST,
    MICRO,
    SUMS,
    VECTORS,
    WORDS,
    emit_finish,
    emit_pack_copy,
    emit_pack_transpose,
    finish_tile,
    narrowed,
    widened,
)

__all__ = ["added", "available", "gemm_address", "linear", "multiply", "ready"]

DEPTH = 768  # units of k in one pass
ROWS = 14  # of the tile of sums, with two registers each: 28 of 32
_BF16 = np.dtype(ml_dtypes.bfloat16)


@functools.cache
def available() -> bool:
    """Return whether this processor has the instruction, and code is generated for registers of 512
    bits.
    """
    if not target.available() or target.host().arch != "x86" or target.host().vector_bits != 512:
        return False
    return "+avx512bf16" in target.host().features.split(",")


# ---- micro-kernels ----------------------------------------------------------------------------------


def _emit_micro(module: Module, name: str, rows: int, vectors: int) -> None:
    """Emit the micro-kernel for a tile of `rows` times `valid` columns (at most `vectors`
    registers) of the result, over `units` pairs of k.

    a[k, i] is at k * rows + i and b[k, j] at k * COLUMNS + j, in pairs. With flags FIRST | LAST,
    and optionally BIAS, the sums are rounded and stored. With other flags the function FINISH
    stores them; `sums` has the sums of earlier passes, in rows `between` floats apart.
    """
    f = module.function(name, **MICRO)
    sums = [[f.var(SUMS, 0.0) for _ in range(vectors)] for _ in range(rows)]
    a, b, ahead = f.var("ptr", f.a), f.var("ptr", f.b), f.var("ptr", f.ahead)
    apart = LANES // vectors
    with f.loop(0, f.units) as k:
        here, there, coming = a.get(), b.get(), ahead.get()
        f.prefetch(here, rows * 8)
        f.prefetch(coming, 0, near=2)
        f.prefetch(f.at(f.out, (k >> 4) * f.pitch + (k & 15) / apart * LANES, "i16"), 0, write=True)
        wide = [f.bitcast(f.load(SUMS, there, v * LANES), WORDS) for v in range(vectors)]
        for i in range(rows):
            factor = f.bitcast(f.splat(f.load("float", here, i), SUMS), WORDS)
            for v in range(vectors):
                sums[i][v].set(
                    f.intrinsic(
                        "x86.avx512bf16.dpbf16ps",
                        SUMS,
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
        # Negative zero is the neutral element: adding it changes no number.
        bias = [f.var(SUMS, -0.0) for _ in range(vectors)]
        with f.when((f.flags & BIAS).compare("ne", 0)):
            for v in range(vectors):
                bias[v].set(
                    widened(f, f.load(vector("i16", LANES), f.bias, v * LANES, mask=masks[v]))
                )
        for i in range(rows):
            for v in range(vectors):
                f.store(
                    narrowed(f, sums[i][v].get() + bias[v].get()),
                    f.out,
                    f.pitch * i + v * LANES,
                    mask=masks[v],
                )

    def otherwise() -> None:
        tile = f.buffer("float", rows * vectors * LANES)
        for i in range(rows):
            for v in range(vectors):
                f.store(sums[i][v].get(), tile, (i * vectors + v) * LANES)
        finish_tile(f, tile, rows, vectors * LANES)

    f.branch((f.flags & ~BIAS).compare("eq", FIRST | LAST), straight, otherwise)
    f.ret()


# ---- the two methods --------------------------------------------------------------------------------
@dataclass(frozen=True)
class Method:
    """How panels are multiplied: by VDPBF16PS ("pairs") or by AMX ("tiles").

    A panel of A has up to `rows` rows, and a micro-kernel serves each height that is a multiple of
    `group`. `step` is what the units of k are rounded up to, and `block` how many units of the
    smaller operand are packed at a time, for the second-level cache.
    """

    name: str
    rows: int
    group: int
    step: int
    block: int

    @property
    def table(self) -> str:
        """The name of the table of micro-kernels."""
        return f"pellucid_{self.name}"

    @property
    def heights(self) -> int:
        """How many heights there are."""
        return self.rows // self.group

    def units(self, depth: SSAValue) -> SSAValue:
        """Units of k in panels of `depth` steps."""
        return ((depth + (2 * self.step - 1)) / (2 * self.step)) * self.step

    def height(self, f: Function, m: SSAValue) -> SSAValue:
        """How high the panels of A are that `m` rows are cut into, all but the last."""
        if self is PAIRS:  # all of nearly the same height
            count = (m + (ROWS - 1)) / ROWS
            return (m + count - 1) / count
        return f.smaller((m + (self.group - 1)) / self.group * self.group, self.rows)


PAIRS = Method("pairs", ROWS, 1, 1, BLOCK // 2)
TILES = Method("tiles", 2 * tiles.SIDE, tiles.SIDE, tiles.SIDE, BLOCK)


@functools.cache
def method() -> Method:
    """The method for this processor."""
    return TILES if tiles.available() else PAIRS


@functools.cache
def _table(method: Method) -> ctypes.Array[ctypes.c_int64]:
    """Return the table of addresses of the micro-kernels, by width and height."""
    return (ctypes.c_int64 * (VECTORS * method.heights))()


@functools.cache
def _micro(method: Method, height: int, vectors: int) -> bool:
    """Compile a micro-kernel unless it is in the table; return whether it is there."""
    natives = _natives(method)
    if natives is None:
        return False
    name = f"{method.name}.{height}.{vectors}"

    def build() -> str:
        module = Module()
        emit = _emit_micro if method is PAIRS else tiles.emit_micro
        emit(module, name, height, vectors)
        return module.text()

    jit.define(FINISH, natives[FINISH])
    made = jit.compile_source(build, {name: None}, f"matmul {name}")
    if made is None:
        return False
    _table(method)[(vectors - 1) * method.heights + height - 1] = made[name]
    return True


def height_of(m: int) -> int:
    """Return the height of the panels into which `m` rows of A are cut (the last may be lower)."""
    return -(-m // -(-m // ROWS))


def ready(m: int, n: int) -> bool:
    """Compile the micro-kernels for products of `m` rows and `n` columns if necessary; return
    whether they are available.

    Must be called before the native function.
    """
    how = method()
    high = height_of(m) if how is PAIRS else how.rows
    heights = {-(-rows // how.group) for rows in (min(high, m), m % high or high)}
    widths = {VECTORS} if n >= COLUMNS else set()
    if n % COLUMNS:
        widths.add(-(-(n % COLUMNS) // LANES))
    return available() and all(_micro(how, h, w) for h in heights for w in widths)


# ---- packing ----------------------------------------------------------------------------------------
def _pack(
    f: Function,
    src: SSAValue,
    step: SSAValue,
    across: SSAValue,
    dst: SSAValue,
    depth: SSAValue,
    count: SSAValue,
    stride: SSAValue,
    units: SSAValue,
    kind: str = "pairs",
) -> None:
    """Emit the packing of elements `across` apart within a step and `step` apart between steps; one
    of the two is 1.
    """

    by_step, by_row = ("copy", "transpose") if kind == "pairs" else ("transpose", "copy")
    sizes = (depth, count, stride, units)

    def steps() -> None:
        f.call(f"{kind}.{by_step}", src, dst, step, *sizes)

    def rows() -> None:
        f.call(f"{kind}.{by_row}", src, dst, across, *sizes)

    f.branch(across.compare("eq", 1), steps, rows)


# ---- the loops around them --------------------------------------------------------------------------
_POINTERS = ("a", "b", "out", "bias", "packed", "sums")
_JOB = (*_POINTERS, *"m n depth a_row a_step b_step b_column pitch between flags height".split())


class _Job:
    """Access to the description of a block's work in memory, which the team reads."""

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
    how: Method, f: Function, job: dict[str, SSAValue], p: SSAValue, dst: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """Emit the packing of panel p of A, and return its first row and height."""
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
        (height + (how.group - 1)) / how.group * how.group,
        how.units(job["depth"]),
        how.name,
    )
    return top, height


def _pack_columns(
    how: Method, f: Function, job: dict[str, SSAValue], j: SSAValue, dst: SSAValue
) -> None:
    """Emit the packing of panel j of B."""
    first = j * COLUMNS
    valid = f.smaller(job["n"] - first, COLUMNS)
    b = f.at(job["b"], first * job["b_column"], "i16")
    depth, columns = job["depth"], f.const(COLUMNS, "i64")
    _pack(f, b, job["b_step"], job["b_column"], dst, depth, valid, columns, how.units(depth))


def _multiply(
    how: Method,
    f: Function,
    job: dict[str, SSAValue],
    a: SSAValue,
    top: SSAValue,
    height: SSAValue,
    b: SSAValue,
    j: SSAValue,
    ahead: Any,
) -> None:
    """Emit the product of a packed panel of A and a packed panel of B."""
    first = j * COLUMNS
    valid = f.smaller(job["n"] - first, COLUMNS)
    which = ((valid + (LANES - 1)) / LANES - 1) * how.heights
    which = which + (height + (how.group - 1)) / how.group - 1
    slot = f.emit(f"getelementptr ptr, ptr @{how.table}, i64 {which.name}", "ptr")
    micro = f.load("ptr", slot)
    out = f.at(job["out"], top * job["pitch"] + first, "i16")
    sums = f.at(job["sums"], top * job["between"] + first)
    pointers = (a, b, out, f.at(job["bias"], first, "i16"), sums, ahead[0])
    numbers = (how.units(job["depth"]), job["pitch"], job["between"], height, valid, job["flags"])
    passed = (*pointers, *numbers, ahead[1])
    f.line(f"call void {micro.name}({', '.join(f'{v.ctype} {v.name}' for v in passed)})")


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
    """Return what a micro-kernel prefetches while it multiplies: `part` of `parts` of the next
    panel to be packed, as the address where it begins and the distance between cache lines.
    """
    by_row = row.compare("eq", 1)
    # If the elements of a step are contiguous, prefetch along k: every second step in each of two
    # parts. Otherwise prefetch the lines of one row after the other.
    start = f.select(by_row, step * part, row * part)
    apart = f.select(by_row, step * 2, f.const(2, "i64"))
    fetch = more & part.compare("slt", f.select(by_row, f.const(2, "i64"), f.const(count, "i64")))
    return f.select(fetch, f.at(source, start, "i16"), other), f.select(fetch, apart, 0)


def _emit_tasks(module: Module, how: Method) -> None:
    for name, packing in (("pairs.pack_a", _pack_rows), ("pairs.pack_b", _pack_columns)):
        f, job = _task(module, name)
        width = job["height"] if packing is _pack_rows else COLUMNS
        with f.loop(f.begin, f.end) as p:
            packing(how, f, job, p, f.at(job["packed"], p * how.units(job["depth"]) * width))
        f.ret()

    # Panels of B, each packed by its task, times a block of A.
    f, job = _task(module, "pairs.columns")
    units = how.units(job["depth"])
    buffer = f.buffer("float", DEPTH * COLUMNS)
    if how is TILES:
        tiles.begin(f)
    panels = (job["m"] + job["height"] - 1) / job["height"]
    with f.loop(f.begin, f.end) as j:
        _pack_columns(how, f, job, j, buffer)
        more = ((j + 1) * COLUMNS).compare("slt", job["n"])
        coming = f.at(job["b"], (j + 1) * COLUMNS * job["b_column"], "i16")
        with f.loop(0, panels) as p:
            top = p * job["height"]
            height = f.smaller(job["m"] - top, job["height"])
            a = f.at(job["packed"], top * units)
            ahead = _ahead(f, coming, job["b_column"], job["b_step"], more, p, panels, COLUMNS, a)
            _multiply(how, f, job, a, top, height, buffer, j, ahead)
    if how is TILES:
        tiles.end(f)
    f.ret()

    # Panels of A, each packed by its task, times a block of B.
    f, job = _task(module, "pairs.rows")
    units = how.units(job["depth"])
    buffer = f.buffer("float", DEPTH * how.rows)
    if how is TILES:
        tiles.begin(f)
    panels = (job["n"] + (COLUMNS - 1)) / COLUMNS
    with f.loop(f.begin, f.end) as p:
        top, height = _pack_rows(how, f, job, p, buffer)
        more = (top + height).compare("slt", job["m"])
        coming = f.at(job["a"], (top + height) * job["a_row"], "i16")
        with f.loop(0, panels) as j:
            b = f.at(job["packed"], j * units * COLUMNS)
            ahead = _ahead(f, coming, job["a_row"], job["a_step"], more, j, panels, ROWS, b)
            _multiply(how, f, job, buffer, top, height, b, j, ahead)
    if how is TILES:
        tiles.end(f)
    f.ret()


def _emit_gemm(module: Module, how: Method) -> None:
    """Emit one product, out[m, n] = a[m, depth] @ b[depth, n]. The team shares the packing of one
    operand and the panels of the other.
    """
    sizes = "m n depth a_row a_step b_step b_column pitch epilogue".split()
    pointers = dict.fromkeys(("team", "a", "b", "out", "bias", "packed"), "ptr")
    f = module.function("pairs.gemm", **pointers, **dict.fromkeys(sizes, "i64"))
    f.driver = True
    job = _Job(f, f.buffer("i64", len(_JOB), align=8))
    passes = (f.depth + (2 * DEPTH - 1)) / (2 * DEPTH)
    # whole units, or tiles, but in the last pass
    depth = how.units((f.depth + passes - 1) / passes) * 2
    several = passes.compare("sgt", 1)
    count = (f.m + (how.rows - 1)) / how.rows
    height = how.height(f, f.m)
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
        units = how.units(steps)
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
            block = f.larger(f.const(how.block, "i64") / units / height, 1) * height
            with f.loop(0, f.m, block) as i:
                rows = f.smaller(f.m - i, block)
                place(i, rows, 0, f.n)
                start("pack_a", (rows + height - 1) / height, 1 << 15, units * height)
                start("columns", (f.n + (COLUMNS - 1)) / COLUMNS, 1 << 20, rows * units * COLUMNS)

        def by_rows(units: SSAValue = units) -> None:
            width = f.larger(f.const(how.block, "i64") / units / COLUMNS, 1) * COLUMNS
            with f.loop(0, f.n, width) as j:
                columns = f.smaller(f.n - j, width)
                place(0, f.m, j, columns)
                start("pack_b", (columns + (COLUMNS - 1)) / COLUMNS, 1 << 15, units * COLUMNS)
                start("rows", count, 1 << 20, units * columns * how.rows)

        f.branch(f.m.compare("sgt", f.n), by_rows, by_columns)
    with f.when(several):
        f.line(f"call void @free(ptr {sums.get().name})")
    f.ret()


def _build(how: Method) -> str:
    module = Module()
    emit_finish(module)
    emit_pack_copy(module)
    emit_pack_transpose(module)
    if how is TILES:
        tiles.emit_pack_rows(module)
    _emit_tasks(module, how)
    _emit_gemm(module, how)
    call.emit_loop(module, "pairs.loop", "pairs.gemm", 2)
    return f"@{how.table} = external global ptr\n" + module.text()


@functools.cache
def _natives(how: Method) -> dict[str, int] | None:
    """Return the addresses of the driver's functions; None if they are not available."""
    if not (tiles.available() if how is TILES else available()):
        return None
    jit.define(how.table, ctypes.addressof(_table(how)))
    exports = dict.fromkeys(("pairs.loop", "pairs.gemm", FINISH))
    return jit.compile_source(lambda: _build(how), exports, f"matmul of bfloat16, {how.name}")


def gemm_address() -> int | None:
    """Return the address of the native `gemm(team, a, b, out, bias, packed, m, n, depth, a_row,
    a_step, b_step, b_column, pitch, flags)`; None if it is not available.

    It is like that of `call`, but strides count bfloat16 numbers. `ready(m, n)` must have returned
    True.
    """
    natives = _natives(method())
    return None if natives is None else natives["pairs.gemm"]


@functools.cache
def _gufuncs(how: Method) -> dict[str, np.ufunc] | None:
    natives = _natives(how)
    # bfloat16 numbers as 16-bit words, since NumPy's gufuncs know no such dtype.
    return None if natives is None else call.make_gufuncs(natives["pairs.loop"], 4, _EPILOGUES)


_EPILOGUES = {**call.EPILOGUES, "added": ADDED}


def serves(m: int, k: int, n: int) -> bool:
    """Return whether a product is large enough: packing costs some microseconds, and few rows leave
    most of a tile unused.
    """
    return n >= 8 and k >= 8 and m * k * n >= 1 << 14 and (m >= 4 or m * k * n >= 1 << 17)


def _readable(x: Any) -> bool:
    row, column = x.strides[-2:]
    return min(row, column) > 0 and 2 in (row, column) and bool(x.flags.aligned)


def _words(x: Any) -> Any:
    """Return the matrix (or matrices) as 16-bit words that the kernel can read; it is copied if its
    layout is not supported.
    """
    return (x if _readable(x) else np.ascontiguousarray(x)).view(np.uint16)


def multiply(a: Any, b: Any) -> Any:
    """Return `a @ b` of bfloat16 matrices or stacks of them, rounded once; None if another way is
    faster or the operands are not supported.

    Any strides are allowed; a matrix in which neither rows nor columns are contiguous is copied.
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
    made = _gufuncs(method())
    return None if made is None else made["matmul"](_words(a), _words(b)).view(_BF16)


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """Return `x @ weight.T + bias` of bfloat16, rounded once after the bias; None if `multiply`
    returns None.
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
    made = _gufuncs(method())
    if made is None:
        return None
    return made["linear"](
        _words(x), _words(weight.T), np.ascontiguousarray(bias).view(np.uint16)
    ).view(_BF16)


def added(c: Any, a: Any, b: Any) -> Any:
    """Return `c + a @ b` of bfloat16 matrices, where c is broadcast, rounded once; None if
    `multiply` returns None.
    """
    if a.dtype != _BF16 or b.dtype != _BF16 or c.dtype != _BF16 or a.ndim != 2 or b.ndim != 2:
        return None
    (m, k), n = a.shape, b.shape[1]
    if any(type(x) is not np.ndarray for x in (a, b, c)):
        return None
    if not (available() and serves(m, k, n) and ready(m, n)):
        return None
    made = _gufuncs(method())
    if made is None:
        return None
    out = np.empty((m, n), np.uint16)
    out[...] = c.view(np.uint16)
    made["added"](_words(a), _words(b), out)  # new memory in C order, so NumPy makes no copy
    return out.view(_BF16)
