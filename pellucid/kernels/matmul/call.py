"""Matrix multiplication of float32 arrays as NumPy gufuncs: `matmul(a, b)`, `linear(a, b, bias)`,
`linear_relu(a, b, bias)`.

    >>> a, b = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)
    >>> multiply(a, b).tolist()
    [[3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0]]

The method is Goto and van de Geijn's ("Anatomy of High-Performance Matrix Multiplication", 2008): a
block of A is packed into panels of up to `rows` rows (or, where that would cost more than it gains,
read where it is), each panel of B of `vectors` registers is packed and multiplied with all of them
by a micro-kernel that keeps a whole tile of the result in registers. Where A has more rows than B
has columns the two change places: B is packed, and panels of A meet all of it (unless A is a
transpose, several panels of which are better packed at once). The micro-kernels
fetch what the next panel is made of. Each element is a sum in the order of k, cut every `DEPTH`
terms, so results depend neither on the number of threads nor on the position in a batch.
"""

from __future__ import annotations

import _thread
import ctypes
import functools
import signal
import threading
from collections.abc import Callable

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, SSAValue
from ...llvm.loader import forever, pointer_of
from ..pointwise.ufunc import restore_flags, save_flags
from . import blas
from .micro import ACCUMULATE, BIAS, PACKED, RELU, emit_any, emit_finish, emit_micro, micro_name
from .pack import Tile, emit_pack_copy, emit_pack_rows, emit_pack_transpose, pack, plain_tile, tile

__all__ = ["SCRATCH_FLOATS", "gemm_address", "gufuncs", "linear", "multiply"]

# terms of a sum that one pass adds: a packed panel of B then fits the second-level cache with room
DEPTH = 512
BLOCK = 1 << 18  # floats of A that are packed at a time: 1 MiB
PLAIN = 256  # up to as many columns, or terms of a sum, A is not packed
# multiplications from which on BLAS uses threads of its own, which then wait busily for more
LARGE = 1 << 18
FINISH = "pellucid_matmul_finish"  # symbol of the driver's function that micro-kernels call
TOGETHER = 8  # panels of A that are packed together, one step of all of them at a time


# The micro-kernels are compiled one by one, when a product needs them: there are up to 52, and a
# program needs a few. Their addresses are in a table, initially null, which the driver checks
# before it distributes a product. It calls `_missing` if one is not compiled yet.

_CALLBACK = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)


def _slots(t: Tile) -> int:
    return t.rows * t.vectors


def _place(packed: bool, rows: int, vectors: int) -> int:
    """Return the index in the table of the address of a micro-kernel."""
    t = tile() if packed else plain_tile()
    return (0 if packed else _slots(tile())) + (vectors - 1) * t.rows + rows - 1


@functools.cache
def _table() -> ctypes.Array[ctypes.c_int64]:
    """Return the table of addresses: of micro-kernels for packed rows, of the other micro-kernels,
    and of `_missing`.
    """
    table = (ctypes.c_int64 * (_slots(tile()) + _slots(plain_tile()) + 1))()
    callback = _CALLBACK(_missing)
    _alive.append(callback)
    table[len(table) - 1] = ctypes.cast(callback, ctypes.c_void_p).value or 0
    return table


def _missing(packed: int, height: int, more: int, columns: int) -> None:
    """Compile the micro-kernels for panels of `height` rows (and one more if `more`). Called by
    native code, in any thread.
    """
    needed = [
        (bool(packed), r, v)
        for r in ((height, height + 1) if more else (height,))
        for v in widths(bool(packed), columns)
    ]
    interrupted = False
    try:
        for which in needed:
            try:
                ready(*which)
            except KeyboardInterrupt:  # not through native code: raised again later
                interrupted = True
                ready(*which)
    finally:
        # Whatever happened, the caller goes on and must not find null.
        for which in needed:
            _table()[_place(*which)] = _table()[_place(*which)] or _any()
        if interrupted:
            threading.Timer(0.05, _interrupt).start()


def _interrupt() -> None:
    """Interrupt the main thread, even if it sleeps or waits."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()


def _any() -> int:
    natives = _natives()
    assert natives is not None  # not None, since its functions have called this one
    return natives["micro.any"]


def widths(packed: bool, columns: int) -> list[int]:
    """Return the widths, in vectors, of the panels of a matrix with that many columns."""
    t = tile() if packed else plain_tile()
    found = [t.vectors] if columns >= t.columns else []
    rest = -(-(columns % t.columns) // t.lanes)
    return found + [rest] if rest and rest not in found else found


def ready(packed: bool, rows: int, vectors: int) -> None:
    """Compile a micro-kernel unless that has been done, and store its address in the table."""
    table, place = _table(), _place(packed, rows, vectors)
    if table[place]:
        return
    name = micro_name(packed, rows, vectors)

    def build() -> str:
        module = Module()
        emit_micro(module, tile() if packed else plain_tile(), rows, vectors, packed, FINISH)
        return module.text()

    natives = _natives()
    if natives is not None:
        jit.define(FINISH, natives[FINISH])
    made = jit.compile_source(build, {name: None}, f"matmul {name}") if natives else None
    # This is a single store of eight bytes, so a thread that reads it meanwhile finds null or the
    # address.
    table[place] = made[name] if made else _any()


# The loops around them. `job` fields, in words:

_JOB = "a b out bias packed m n depth a_row a_step b_step b_column pitch flags panels".split()


class BlockArguments:
    """Access to the description of a block's work in memory, which the team reads."""

    def __init__(self, f: Function, block: SSAValue) -> None:
        self.f, self.block = f, block

    def set(self, name: str, value: SSAValue) -> None:
        """Store a field by name."""
        self.f.store(value, self.f.at(self.block, _JOB.index(name), "i64"))

    def get(self, name: str) -> SSAValue:
        """Load a field by name."""
        kind = "ptr" if name in ("a", "b", "out", "bias", "packed") else "i64"
        return self.f.load(kind, self.f.at(self.block, _JOB.index(name), "i64"))


def _panel(f: Function, p: SSAValue, m: SSAValue, panels: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return the first row and the height of panel p, where `m` rows are cut into `panels` of
    nearly equal height.
    """
    low, more = m / panels, m % panels
    return p * low + f.smaller(p, more), low + f.extend(
        f.emit(f"zext i1 {p.compare('slt', more).name} to i32", "i32"), "i64"
    )


def _emit_pack_a(module: Module) -> None:
    f = module.function("pack_a", internal=True, args="ptr", begin="i64", end="i64", thread="i64")
    f.driver = True
    job = BlockArguments(f, f.args)
    a, packed, m, depth, row, step, panels = map(
        job.get, ("a", "packed", "m", "depth", "a_row", "a_step", "panels")
    )

    def together() -> None:
        with f.loop(f.begin, f.end, TOGETHER) as p:
            first, height = _panel(f, p, m, panels)
            count = f.smaller(f.end - p, TOGETHER)
            taller = f.larger(m % panels - p, 0)
            f.call(
                "pack.rows",
                f.at(a, first),
                f.at(packed, first * depth),
                step,
                depth,
                count,
                m / panels,
                taller,
            )

    def each() -> None:
        with f.loop(f.begin, f.end) as p:
            first, height = _panel(f, p, m, panels)
            pack(
                f,
                f.at(a, first * row),
                step,
                row,
                f.at(packed, first * depth),
                depth,
                height,
                height,
            )

    f.branch(row.compare("eq", 1), together, each)
    f.ret()


def _lies_ready(f: Function, row: SSAValue, n: SSAValue) -> SSAValue:
    """Return whether A can be read in place although its steps are not contiguous. That is so if
    the rows of a step are contiguous, and B has too few columns to make packing worthwhile. The
    latency of the second-level cache is hidden behind the arithmetic.
    """
    return row.compare("eq", 1) & n.compare("sle", PLAIN)


def _panel_of_a(
    f: Function, job: dict[str, SSAValue], top: SSAValue, height: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """Return the start of a panel of A for the kernel that reads the rows of a step contiguously,
    and the distance between its steps.
    """
    ready = _lies_ready(f, job["a_row"], job["n"])
    start = f.select(ready, f.at(job["a"], top), f.at(job["packed"], top * job["depth"]))
    return start, f.select(ready, job["a_step"], height)


def _emit_columns(module: Module, t: Tile, packed: bool) -> None:
    """Emit the kernel that multiplies a block of A by panels of B."""
    f = module.function(
        "columns.packed" if packed else "columns.plain",
        internal=True,
        args="ptr",
        begin="i64",
        end="i64",
        thread="i64",
    )
    f.driver = True
    job = BlockArguments(f, f.args)
    values = {name: job.get(name) for name in _JOB}
    m, n, depth, panels, flags = (values[name] for name in ("m", "n", "depth", "panels", "flags"))
    buffer = f.buffer("float", DEPTH * t.columns)
    # With few rows, reading B in place (if its rows are contiguous) is cheaper than packing it.
    direct = values["b_column"].compare("eq", 1) & panels.compare("sle", 2)
    with f.loop(f.begin, f.end) as j:
        first = j * t.columns
        valid = f.smaller(n - first, t.columns)
        b = f.at(values["b"], first * values["b_column"])
        in_place = direct & (valid % t.lanes).compare("eq", 0)
        source, stride = f.var("ptr", buffer), f.var("i64", t.columns)

        def use_b(b=b, source=source, stride=stride) -> None:
            source.set(b)
            stride.set(values["b_step"])

        def pack_b(b=b, valid=valid) -> None:
            pack(f, b, values["b_step"], values["b_column"], buffer, depth, valid, t.columns)

        f.branch(in_place, use_b, pack_b)
        vectors = (valid + (t.lanes - 1)) / t.lanes
        bias = f.at(values["bias"], first)
        after = (j + 1) * t.columns
        rest = f.smaller(n - after, t.columns)
        with f.loop(0, panels) as p:
            top, height = _panel(f, p, m, panels)
            micro = _kernel(f, packed, height, vectors)
            out = f.at(values["out"], top * values["pitch"] + first)
            if packed:
                a, row = _panel_of_a(f, values, top, height)
            else:
                a, row = f.at(values["a"], top * values["a_row"]), values["a_row"]
            # The first products with a panel of B prefetch the next panel: at each step one vector
            # of a row or of a column. Each product prefetches one column, or a longer piece of
            # memory if there are few products.
            by_row = values["b_column"].compare("eq", 1)
            apart = f.select(by_row | panels.compare("slt", t.columns), f.const(t.lanes, "i64"), 1)
            fetch = (p * apart).compare("slt", rest)
            ahead = f.at(values["b"], (after + p * apart) * values["b_column"])
            ahead_step = f.select(by_row, values["b_step"], apart)
            operands = (a, source.get(), out, bias, f.select(fetch, ahead, a))
            numbers = (
                row,
                depth,
                stride.get(),
                values["pitch"],
                valid,
                flags | PACKED * packed,
                height,
                f.select(fetch, ahead_step, 0),
            )
            passed = ", ".join(f"{v.ctype} {v.name}" for v in (*operands, *numbers))
            f.line(f"call void {micro.name}({passed})")
    f.ret()


def _emit_pack_b(module: Module) -> None:
    t = tile()
    f = module.function("pack_b", internal=True, args="ptr", begin="i64", end="i64", thread="i64")
    f.driver = True
    job = BlockArguments(f, f.args)
    b, packed, n, depth, step, column = map(
        job.get, ("b", "packed", "n", "depth", "b_step", "b_column")
    )
    with f.loop(f.begin, f.end) as j:
        first = j * t.columns
        valid = f.smaller(n - first, t.columns)
        pack(
            f,
            f.at(b, first * column),
            step,
            column,
            f.at(packed, first * depth),
            depth,
            valid,
            t.columns,
        )
    f.ret()


def _emit_rows(module: Module, t: Tile) -> None:
    """Emit the kernel that multiplies panels of A by a packed block of B."""
    f = module.function(
        "rows.packed", internal=True, args="ptr", begin="i64", end="i64", thread="i64"
    )
    f.driver = True
    job = BlockArguments(f, f.args)
    a, b, out, bias, m, n, depth = map(job.get, ("a", "packed", "out", "bias", "m", "n", "depth"))
    row, step, pitch, flags, panels = map(job.get, ("a_row", "a_step", "pitch", "flags", "panels"))
    buffer = f.buffer("float", DEPTH * t.rows)
    side_by_side = row.compare("eq", 1)
    in_place = _lies_ready(f, row, n)
    with f.loop(f.begin, f.end) as p:
        top, height = _panel(f, p, m, panels)
        source, apart = f.var("ptr", f.at(a, top)), f.var("i64", step)

        def pack_a(top=top, height=height, source=source, apart=apart) -> None:
            pack(f, f.at(a, top * row), step, row, buffer, depth, height, height)
            source.set(buffer)
            apart.set(height)

        f.branch(in_place, lambda: None, pack_a)
        after = f.at(a, (top + height) * row)
        more = (top + height).compare("slt", m)
        with f.loop(0, (n + (t.columns - 1)) / t.columns) as j:
            first = j * t.columns
            valid = f.smaller(n - first, t.columns)
            micro = _kernel(f, True, height, (valid + (t.lanes - 1)) / t.lanes)
            # Prefetch the cache lines of a step's elements (at most two), or half of a panel's
            # rows.
            fetch = more & j.compare("slt", 2)
            ahead = f.at(after, j * f.select(side_by_side, height - 1, height / 2 * row))
            ahead_step = f.select(side_by_side, step, t.lanes)
            here = source.get()
            operands = (
                here,
                f.at(b, first * depth),
                f.at(out, top * pitch + first),
                f.at(bias, first),
                f.select(fetch, ahead, here),
            )
            numbers = (
                apart.get(),
                depth,
                f.const(t.columns, "i64"),
                pitch,
                valid,
                flags | PACKED,
                height,
                f.select(fetch, ahead_step, 0),
            )
            passed = ", ".join(f"{v.ctype} {v.name}" for v in (*operands, *numbers))
            f.line(f"call void {micro.name}({passed})")
    f.ret()


def _kernel(f: Function, packed: bool, height: SSAValue, vectors: SSAValue) -> SSAValue:
    """Load the address of a micro-kernel, null if it has not been compiled."""
    t = tile() if packed else plain_tile()
    return _entry(f, (vectors - 1) * t.rows + height + (_place(packed, 1, 1) - 1))


def _entry(f: Function, which: SSAValue) -> SSAValue:
    # Another thread may be writing it.
    slot = f.emit(f"getelementptr ptr, ptr @pellucid_matmul, i64 {which.name}", "ptr")
    return f.emit(f"load atomic ptr, ptr {slot.name} acquire, align 8", "ptr")


def _emit_ready(module: Module) -> None:
    """Emit the check, before `m` rows in `panels` are multiplied by `n` columns, that the
    micro-kernels for them have been compiled.
    """
    f = module.function("ready", internal=True, m="i64", panels="i64", n="i64", packed="i64")
    f.driver = True
    f.noinline = True
    height, more = f.m / f.panels, f.m % f.panels
    taller = f.select(more.compare("ne", 0), height + 1, height)
    packed = f.packed.compare("ne", 0)

    def chosen(of: Callable[[bool], int]) -> SSAValue:
        return f.select(packed, f.const(of(True), "i64"), of(False))

    tiles = {True: tile(), False: plain_tile()}
    columns = chosen(lambda p: tiles[p].columns)
    rows = chosen(lambda p: tiles[p].rows)
    vectors = chosen(lambda p: tiles[p].vectors)
    rest = f.n % columns
    tail = f.select(rest.compare("ne", 0), (rest + (tile().lanes - 1)) / tile().lanes, vectors)
    widest = f.select(f.n.compare("sge", columns), vectors, tail)
    start = chosen(lambda p: _place(p, 1, 1) - 1)
    absent = None
    for high in (height, taller):
        for wide in (widest, tail):
            null = f.emit(
                f"icmp eq ptr {_entry(f, (wide - 1) * rows + high + start).name}, null", "i1"
            )
            absent = null if absent is None else absent | null
    assert absent is not None
    with f.when(absent):
        f.line(
            f"%missing = load ptr, ptr getelementptr (ptr, ptr @pellucid_matmul, i64 {len(_table()) - 1})"
        )
        f.line(
            f"call void %missing(i64 {f.packed.name}, i64 {height.name}, i64 {more.name}, i64 {f.n.name})"
        )
    f.ret()


def _emit_gemm(module: Module) -> None:
    """Emit one product, in which the team shares the packing of one operand and the panels of the
    other.
    """
    sizes = "m n depth a_row a_step b_step b_column pitch epilogue".split()
    pointers = dict.fromkeys(("team", "a", "b", "out", "bias", "packed"), "ptr")
    f = module.function("gemm", **pointers, **dict.fromkeys(sizes, "i64"))
    f.driver = True
    job = BlockArguments(f, f.buffer("i64", len(_JOB), align=8))
    for name in "packed a_row a_step b_step b_column pitch".split():
        job.set(name, getattr(f, name))
    passes = (f.depth + (DEPTH - 1)) / DEPTH
    depth = (f.depth + (passes - 1)) / passes
    # Packing A pays if many long panels of B are multiplied by it. To be read in place, its rows
    # must be contiguous.
    plain = f.a_step.compare("eq", 1) & (f.n.compare("sle", PLAIN) | depth.compare("sle", PLAIN))
    # Where the rows of a step of A lie side by side, several of its panels are packed at once: a
    # panel alone would use a part of each cache line, which is gone when the next panel needs it.
    beforehand = f.m.compare("sgt", f.n) & (f.a_row.compare("ne", 1) | f.n.compare("sle", PLAIN))
    with f.loop(0, f.depth, depth) as k:
        steps = f.smaller(f.depth - k, depth)
        job.set("depth", steps)
        last = (k + depth).compare("sge", f.depth)
        start = f.select(k.compare("sgt", 0), f.const(ACCUMULATE, "i64"), f.epilogue & ACCUMULATE)
        job.set("flags", start | f.select(last, f.epilogue, 0))

        def place(
            row: SSAValue | int,
            rows: SSAValue,
            column: SSAValue | int,
            columns: SSAValue,
            k: SSAValue = k,
        ) -> None:
            job.set("m", rows)
            job.set("n", columns)
            job.set("a", f.at(f.a, f.a_row * row + k * f.a_step))
            job.set("b", f.at(f.b, f.b_column * column + k * f.b_step))
            job.set("out", f.at(f.out, f.pitch * row + column))
            job.set("bias", f.at(f.bias, column))

        def panels_of(rows: SSAValue, columns: SSAValue, packed: bool) -> SSAValue:
            t = tile() if packed else plain_tile()
            panels = (rows + (t.rows - 1)) / t.rows
            job.set("panels", panels)
            f.call("ready", rows, panels, columns, f.const(int(packed), "i64"))
            return panels

        def start_team(kernel: str, tasks: SSAValue, work: int, each: SSAValue) -> None:
            """Start the team with chunks of at least some microseconds: `work` multiplications, of
            tasks with `each`.
            """
            threads.start_team(
                f, f.team, kernel, job.block, tasks, f.larger(f.const(work, "i64") / each, 1)
            )

        def by_columns(packed: bool, steps: SSAValue = steps) -> None:
            """Emit the product as blocks of A times panels of B."""
            t = tile() if packed else plain_tile()
            height = f.larger(f.const(BLOCK, "i64") / depth, tile().rows)
            with f.loop(0, f.m, height) as i:
                rows = f.smaller(f.m - i, height)
                place(i, rows, 0, f.n)
                panels = panels_of(rows, f.n, packed)
                if packed:
                    with f.when(_lies_ready(f, f.a_row, f.n).compare("eq", False)):
                        start_team("@pack_a", panels, 1 << 15, rows * steps / panels)
                tasks = (f.n + (t.columns - 1)) / t.columns
                start_team(
                    "@columns.packed" if packed else "@columns.plain",
                    tasks,
                    1 << 20,
                    rows * steps * t.columns,
                )

        def by_rows(steps: SSAValue = steps) -> None:
            """Emit the product as panels of A times blocks of B, so that the smaller operand is the
            one packed beforehand.
            """
            t = tile()
            width = f.larger(f.const(BLOCK // 2, "i64") / depth / t.columns, 1) * t.columns
            with f.loop(0, f.n, width) as j:
                columns = f.smaller(f.n - j, width)
                place(0, f.m, j, columns)
                panels = panels_of(f.m, columns, True)
                start_team(
                    "@pack_b", (columns + (t.columns - 1)) / t.columns, 1 << 15, steps * t.columns
                )
                start_team("@rows.packed", panels, 1 << 20, steps * columns * t.rows)

        f.branch(
            plain,
            lambda: by_columns(False),
            lambda: f.branch(beforehand, by_rows, lambda: by_columns(True)),
        )
    f.ret()


# The gufuncs' loop: `void loop(char **args, npy_intp *dimensions, npy_intp *steps, void *state)`.

# words of a gufunc's state: its epilogue, and the address of the state that all gufuncs share
EPILOGUE, SHARED = 0, 1
# words of the shared state: address of the team's cell, a buffer for A, and 1 while it is in use
TEAM, SCRATCH, LOCK = 0, 1, 2


def emit_loop(module: Module, name: str, gemm: str, size: int) -> None:
    """Emit the loop of gufuncs that call `gemm`, for elements of `size` bytes.

    dimensions: batch, m, k, n. steps: the batch's for each operand, then two for a, two for b, [one
    for the bias,] two for the result.
    """
    f = module.function(name, args="ptr", dimensions="ptr", steps="ptr", state="ptr")
    f.driver = True
    flags = save_flags(f)
    epilogue, shared = f.load("i64", f.state, EPILOGUE), f.load("ptr", f.at(f.state, SHARED, "i64"))
    biased = (epilogue & BIAS) >> 1
    batch, m, k, n = (f.load("i64", f.dimensions, i) for i in range(4))
    # a, b, the bias or the result, the result
    operands = (f.const(0, "i64"), f.const(1, "i64"), f.const(2, "i64"), biased + 2)
    moves = [f.load("i64", f.steps, i) for i in operands]
    first = biased + 3
    # NumPy passes 0 as the stride of a dimension of size one. Such a stride does not matter; with 1
    # instead, the other stride decides how the matrix is read.
    a_row, a_step, b_step, b_column = (
        f.larger(f.load("i64", f.steps, first + i) / size, 1) for i in range(4)
    )
    pitch = f.load("i64", f.steps, first + biased + 4) / size
    start = [f.load("ptr", f.args, i) for i in operands]
    team = f.load("ptr", f.load("ptr", shared, TEAM))
    lock = f.at(shared, LOCK, "i64")
    pair = f.emit(f"cmpxchg ptr {lock.name}, i64 0, i64 1 seq_cst monotonic", "{ i64, i1 }")
    mine = f.emit(f"extractvalue {pair.ctype} {pair.name}, 1", "i1")
    packed = f.var("ptr")

    def own() -> None:
        packed.set(f.load("ptr", shared, SCRATCH))

    def borrowed() -> None:  # another Python thread is using the buffer
        packed.set(f.emit(f"call ptr @malloc(i64 {4 * SCRATCH_FLOATS})", "ptr"))

    f.module.declarations |= {"declare ptr @malloc(i64)", "declare void @free(ptr)"}
    f.branch(mine, own, borrowed)
    with f.loop(0, batch) as i:
        a, b, bias, out = (f.at(p, i * move, "i8") for p, move in zip(start, moves))
        f.call(
            gemm,
            team,
            a,
            b,
            out,
            bias,
            packed.get(),
            m,
            n,
            k,
            a_row,
            a_step,
            b_step,
            b_column,
            pitch,
            epilogue,
        )

    def unlock() -> None:
        f.line(f"store atomic i64 0, ptr {lock.name} release, align 8")

    def free() -> None:
        f.line(f"call void @free(ptr {packed.get().name})")

    f.branch(mine, unlock, free)
    restore_flags(f, flags)
    f.ret()


EPILOGUES = {"matmul": 0, "linear": BIAS, "linear_relu": BIAS | RELU}


def _build() -> str:
    module = Module()
    emit_any(module, "micro.any")
    emit_finish(module, FINISH, tile())
    _emit_ready(module)
    for t, packed in ((tile(), True), (plain_tile(), False)):
        _emit_columns(module, t, packed)
    emit_pack_copy(module)
    emit_pack_transpose(module)
    emit_pack_rows(module)
    _emit_pack_a(module)
    _emit_pack_b(module)
    _emit_rows(module, tile())
    _emit_gemm(module)
    emit_loop(module, "loop", "gemm", 4)
    return "@pellucid_matmul = external global ptr\n" + module.text()


_alive: list = forever([])
# floats that a call of the native `gemm` needs for the packed block of A
SCRATCH_FLOATS = BLOCK + DEPTH * 16


@functools.cache
def _natives() -> dict[str, int] | None:
    """Return the addresses of the driver's functions; None if they cannot be compiled."""
    jit.define("pellucid_matmul", ctypes.addressof(_table()))
    exports = dict.fromkeys(("loop", "gemm", "micro.any", FINISH))
    return jit.compile_source(_build, exports, "matmul")


def gemm_address() -> int | None:
    """Return the address of the native `gemm(team, a, b, out, bias, packed, m, n, depth, a_row,
    a_step, b_step, b_column, pitch, flags)`; None without a compiler.

    Strides count floats; `packed` is memory for `SCRATCH_FLOATS`; flags are ACCUMULATE, BIAS and
    RELU. `depth` must be positive.
    """
    natives = _natives() if target.available() else None
    return None if natives is None else natives["gemm"]


@functools.cache
def gufuncs() -> dict[str, np.ufunc] | None:
    """Return the gufuncs `matmul` ((m,k),(k,n)->(m,n)), `linear` and `linear_relu` (with a bias
    (n)); None without a compiler.

    They read float32 operands through their strides. In each matrix one of the two strides must be
    contiguous; k > 0.
    """
    if not target.available():
        return None
    natives = _natives()
    if natives is None:
        return None
    return make_gufuncs(natives["loop"], 11)


def make_gufuncs(
    loop: int, kind: int, epilogues: dict[str, int] | None = None
) -> dict[str, np.ufunc]:
    """Make `matmul`, `linear` and `linear_relu` (or others, given by their flags) from a native
    loop, for arrays of NumPy's dtype number `kind`.
    """
    shared = _shared()
    made = {}
    for name, epilogue in (epilogues or EPILOGUES).items():
        state = (ctypes.c_int64 * 2)(epilogue, ctypes.addressof(shared))
        _alive.append(state)
        inputs = 3 if epilogue & BIAS else 2
        signature = b"(m,k),(k,n),(n)->(m,n)" if epilogue & BIAS else b"(m,k),(k,n)->(m,n)"
        made[name] = _gufunc(name, loop, ctypes.addressof(state), inputs, signature, kind)
    return made


@functools.cache
def _shared() -> ctypes.Array[ctypes.c_int64]:
    """Return the state that all gufuncs share: the team, a buffer for the packed operand, and
    whether it is in use.
    """
    scratch = np.empty(SCRATCH_FLOATS, np.float32)
    shared = (ctypes.c_int64 * 3)(threads.team_cell(), scratch.ctypes.data, 0)
    _alive.append(scratch)
    return shared


def _gufunc(name: str, loop: int, state: int, inputs: int, signature: bytes, kind: int) -> np.ufunc:
    """Call PyUFunc_FromFuncAndDataAndSignature, entry 31 of NumPy's table of ufunc functions."""
    from numpy._core import _multiarray_umath as umath

    table = ctypes.cast(pointer_of(umath._UFUNC_API), ctypes.POINTER(ctypes.c_void_p))
    pointers, ints, strings = [ctypes.c_void_p] * 3, [ctypes.c_int] * 4, [ctypes.c_char_p] * 2
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, *pointers, *ints, *strings, ctypes.c_int, ctypes.c_char_p
    )
    arguments = (
        (ctypes.c_void_p * 1)(loop),
        (ctypes.c_void_p * 1)(state),
        (ctypes.c_byte * (inputs + 1))(*[kind] * (inputs + 1)),
    )
    labels = (name.encode(), b"")
    _alive.append((arguments, labels))
    return make(table[31])(*arguments, 1, inputs, 1, -1, *labels, 0, signature)


_F32 = np.dtype(np.float32)


def _pays(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether the generated code supports these operands and is at least as fast as NumPy's
    BLAS.

    Few rows or columns do not fill the tile, and short sums of few results are not worth packing:
    according to measurements BLAS is faster there, and about equal at the borders. The rule is
    fixed, so the same program computes the same bits in each run.
    """
    if a.ndim < 2 or b.ndim < 2 or a.dtype is not _F32 or b.dtype is not _F32:
        return False
    rows, terms, columns = a.shape[-2], a.shape[-1], b.shape[-1]
    if rows < 4 or columns < 32 or terms < 16 and rows * terms * columns < LARGE:
        return False
    if not (a.flags.aligned and b.flags.aligned):
        return False
    # A broadcast matrix (stride 0), or one with two large strides, has no contiguous direction.
    return (
        4 in a.strides[-2:]
        and 4 in b.strides[-2:]
        and min(a.strides[-2:]) > 0
        and min(b.strides[-2:]) > 0
    )


def multiply(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Like `np.matmul(a, b, out)`, by the generated code if that pays, else by NumPy."""
    # a quick test that small products fail
    if a.size > 63 and b.size > 511 and _pays(a, b):
        made = gufuncs()
        if made is not None:
            if out is None:
                return made["matmul"](a, b)
            if out.dtype is _F32 and out.flags.c_contiguous:
                return made["matmul"](a, b, out=out)
    return blas.matmul(a, b, out)


def linear(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, relu: bool = False
) -> np.ndarray:
    """Return x @ weight.T + bias for x `(..., in)`, weight `(out, in)`, bias `(out,)`; with `relu`,
    negative results are replaced by zero.

    Leading dimensions of a contiguous x are merged. The bias (and relu) are applied while the
    result is in registers.
    """
    if x.ndim > 2 and x.flags.c_contiguous:
        shape = (*x.shape[:-1], weight.shape[0])
        return linear(x.reshape(-1, x.shape[-1]), weight, bias, relu).reshape(shape)
    w = weight.T
    if bias is not None and bias.dtype is _F32 and bias.flags.c_contiguous and _pays(x, w):
        made = gufuncs()
        if made is not None:
            return made["linear_relu" if relu else "linear"](x, w, bias)
    out = multiply(x, w)
    if bias is not None:
        out += bias
    # `maximum` keeps NaN, as relu does.
    return np.maximum(0, out, out=out) if relu else out
