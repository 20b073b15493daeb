"""Formulas as NumPy ufuncs whose inner loop is a single generated loop.

    >>> swish_mul = make_ufunc("swish_mul", Formula(lambda m, x, y: x * m.sigmoid(x) * y))
    >>> swish_mul is None or swish_mul(np.ones((2, 3), np.float32), np.ones(3, np.float32)).shape == (2, 3)
    True

A ufunc takes the formula's values and then its numbers, broadcasts, takes any strides and `out=`,
and costs no more to call than `np.add`. The loops are for float32, float16 and bfloat16, for
float64 where there is code for the formula's elementary functions, and for integers where the
formula is for them, too; masks are boolean. Two-byte floats are read and written as they
are, beside numbers in float32, computed in float32 and rounded once. Loops over many contiguous
elements are shared among the worker threads. Floating-point errors are silent: no NumPy warning for
an infinity.
"""

from __future__ import annotations

import _thread
import ctypes
import functools
import threading
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ...ir.formula import DOUBLE, ELEMENTARY, Formula
from ...llvm import jit, math, target, threads
from ...llvm.emit import BYTES, Function, Module, SSAValue, vector
from ...llvm.loader import forever, pointer_of
from .values import MEMORY, Num, available, pack, unpack
from .words import Words

__all__ = [
    "LazyLoop",
    "Signature",
    "assemble",
    "emit_range",
    "for_numpy",
    "independent",
    "make_half",
    "make_ufunc",
    "results_of",
    "signature_of",
]

GRAIN = 16384  # elements per chunk: 64 KiB of each array, some microseconds
BLOCK = 256  # number of elements of strided operands that are copied at a time
# number of elements from which on a table of the results for all two-byte floats pays
LOOKED_UP = 1 << 12


# From loops to ufuncs, through NumPy's C interface
# (numpy.org/doc/stable/reference/c-api/ufunc.html).

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALVES = ("float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
_alive: list = forever([])


class Signature(NamedTuple):
    """The dtypes in memory of a loop's operands, inputs first."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The dtypes of all inputs, followed by those of all outputs."""
        return self.inputs + self.outputs

    @property
    def numbers(self) -> list[int]:
        """NumPy's numbers of these dtypes."""
        return [(BFLOAT16 if kind == "bfloat16" else np.dtype(kind)).num for kind in self.kinds]


def signature_of(formula: Formula, kind: str) -> Signature:
    """Return the dtypes that a formula of `kind` reads and writes."""
    count = len(formula.values)
    values = ["bool" if k in formula.masks else kind for k in range(count)]
    wide = "float32" if kind in HALVES else kind
    outputs = ("bool" if formula.args in ("compare", "own") else kind,) * results_of(formula)
    return Signature((*values, *[wide] * len(formula.numbers)), outputs)


def results_of(formula: Formula) -> int:
    """Return the number of results of a formula."""
    return len(formula.text().splitlines()[-1].split()) - 1


def make_ufunc(name: str, formula: Formula, doc: str = "", named: bool = False) -> np.ufunc | None:
    """Return a ufunc that computes a formula; None if code cannot be generated.

    `named` asserts that the formula only uses operations of this package. Then the code on disk is
    found by the formula's text, without generating IR.
    """
    if not target.available():
        return None
    plain = signature_of(formula, "float32")
    natives = _loop(plain, "float32", name, formula, named)
    if natives is None:
        return None
    loops: dict[Signature, Any] = {plain: natives["loop"]}
    integers = () if ELEMENTARY & formula.words() or "i" not in formula.kinds else INTEGERS
    for kind in (
        "float16",
        *([] if ELEMENTARY & formula.words() - DOUBLE else ["float64"]),
        "bfloat16",
        *integers,
    ):
        if available(kind):
            own = signature_of(formula, kind)
            loops[own] = LazyLoop(own, kind, name, formula, named)
    threads.team_cell()
    return assemble(name, loops, doc)[0]


def make_half(name: str, formula: Formula, kind: str) -> np.ufunc:
    """Return a ufunc with a single loop, for two-byte floats."""
    own = signature_of(formula, kind)
    return assemble(name, {own: LazyLoop(own, kind, name, formula, True)})[0]


class LazyLoop:
    """A loop that few programs use: its first call compiles it and replaces it in the ufunc.

    `otherwise` is used if it cannot be compiled: a loop's address and its data, or None to compute
    the formula with NumPy.
    """

    def __init__(
        self,
        signature: Signature,
        kind: str,
        name: str,
        formula: Formula,
        named: bool,
        otherwise: tuple[int, int | None] | None = None,
    ) -> None:
        self.about = signature, kind, name, formula, named
        self.otherwise = otherwise
        self.put: Callable[[int, int | None], None] = lambda loop, data: None
        self.function = _LOOP(self.first)
        _alive.append(self)

    @property
    def address(self) -> int:
        """The address of the loop that NumPy calls at first."""
        return ctypes.cast(self.function, ctypes.c_void_p).value or 0

    def first(self, args: int, dimensions: int, steps: int, cell: int) -> None:
        """Compile the loop, install it, and run it once. NumPy calls this as the loop until it is
        replaced.
        """
        signature, kind, _, formula, _ = self.about
        try:
            aside = for_numpy(kind, formula)
            count = ctypes.c_int64.from_address(dimensions).value
            if (not aside or count >= LOOKED_UP) and _costly(kind, formula):
                made = _looked_up(self.about)
                if made is not None:
                    self.otherwise = made
                    self.put(*made)
                    _LOOP(made[0])(args, dimensions, steps, made[1])
                    return
            natives = (
                _loop(*self.about) if target.available() and available(kind) and not aside else None
            )
            if aside:
                self.otherwise = None
            if natives is not None:
                self.otherwise = natives["loop"], threads.team_cell()
        except KeyboardInterrupt:  # an exception cannot pass through native code
            threading.Timer(0.05, _thread.interrupt_main).start()
        if self.otherwise is not None:
            self.put(*self.otherwise)
            _LOOP(self.otherwise[0])(args, dimensions, steps, self.otherwise[1])
        else:
            _with_numpy(formula, signature, args, dimensions, steps)


def for_numpy(kind: str, formula: Formula) -> bool:
    """Return whether NumPy computes a formula of two-byte floats, in float32: it has vector code
    for functions that this package has none for.
    """
    words = formula.words()
    return (
        kind in HALVES
        and bool(words & ELEMENTARY - DOUBLE - set(math.FUNCTIONS))
        and all(hasattr(np, word) for word in words)
    )


# Words whose computation in float16 takes no longer than a table look-up.
_AS_FAST = frozenset(("exp", "gelu"))


def _costly(kind: str, formula: Formula) -> bool:
    """Return whether a formula of a single two-byte float takes longer to compute than to look up."""
    if kind not in HALVES or len(formula.values) != 1 or formula.numbers or formula.args != "same":
        return False
    words = formula.words()
    return bool(words & ELEMENTARY) and not (kind == "float16" and words <= _AS_FAST)


def _looked_up(about: tuple[Signature, str, str, Formula, bool]) -> tuple[int, int] | None:
    """Return a loop that looks up the results of a formula of one two-byte float in a table by bit
    pattern, and its data; None if not available.

    The table is computed by the formula's own loop, which also serves few elements, since reading
    the table would take longer for these.
    """
    signature, kind, _, formula, _ = about
    if not target.available() or not available(kind):
        return None
    lookups = jit.compile_source(_lookup_text, {"loop": None}, "two-byte floats looked up")
    natives = None if for_numpy(kind, formula) else _loop(*about)
    if lookups is None:
        return None
    every, table = np.arange(1 << 16, dtype=np.uint16), np.empty(1 << 16, np.uint16)
    pointers = (ctypes.c_int64 * 2)(every.ctypes.data, table.ctypes.data)
    numbers = (ctypes.c_int64 * 1)(every.size), (ctypes.c_int64 * 2)(2, 2)
    told = ctypes.addressof(pointers), *map(ctypes.addressof, numbers)
    if natives is None:
        _with_numpy(formula, signature, *told)
    else:
        _LOOP(natives["loop"])(*told, threads.team_cell())
    plain = 0 if natives is None else natives["loop"]
    data = (ctypes.c_int64 * 3)(threads.team_cell(), table.ctypes.data, plain)
    _alive.append((table, data))
    return lookups["loop"], ctypes.addressof(data)


def _lookup_text() -> str:
    """Return the IR of a NumPy loop that reads the result for each two-byte element from a table.
    `data` points to the team's cell, the table, and the loop for few elements.
    """
    module = Module()
    f = module.function("loop", args="ptr", dimensions="ptr", steps="ptr", data="ptr")
    f.driver = True
    n = f.load("i64", f.dimensions)
    cell, plain = f.load("ptr", f.data), f.load("ptr", f.at(f.data, 2, "i64"))
    few = f.emit(f"icmp ne ptr {plain.name}, null", "i1") & n.compare("slt", LOOKED_UP)
    with f.when(few):
        operands = ", ".join(f"ptr {v.name}" for v in (f.args, f.dimensions, f.steps, cell))
        f.line(f"call void {plain.name}({operands})")
    n = f.select(few, f.const(0, "i64"), n)
    block = f.buffer("i64", 5, align=8)
    for k in range(2):
        f.store(f.load("ptr", f.args, k), f.at(block, k, "i64"))
        f.store(f.load("i64", f.steps, k), f.at(block, 2 + k, "i64"))
    f.store(f.load("ptr", f.at(f.data, 1, "i64")), f.at(block, 4, "i64"))
    apart = independent(f, n, (0,), (1,))
    grain = f.select(apart, f.const(GRAIN, "i64"), n)
    threads.start_team(f, f.load("ptr", cell), "@range", block, n, grain)
    f.ret()
    f = module.function("range", internal=True, args="ptr", begin="i64", end="i64", thread="i64")
    x, out, table = (f.load("ptr", f.at(f.args, k, "i64")) for k in (0, 1, 4))
    step, move = f.load("i64", f.args, 2), f.load("i64", f.args, 3)

    def one(source: SSAValue, place: SSAValue) -> None:
        bits = f.load("i16", source)
        f.store(f.load("i16", table, f._convert("zext", bits, "i64")), place)

    def together() -> None:
        with f.loop(f.begin, f.end) as i:
            one(f.at(x, i, "i16"), f.at(out, i, "i16"))

    def strided() -> None:
        with f.loop(f.begin, f.end) as i:
            one(f.at(x, i * step, "i8"), f.at(out, i * move, "i8"))

    f.branch(step.compare("eq", 2) & move.compare("eq", 2), together, strided)
    f.ret()
    return module.text()


def assemble(
    name: str,
    loops: dict[Signature, Any],
    doc: str = "",
    first: Any = (),
    identity: int = -1,
    operands: tuple[int, int] | None = None,
) -> tuple[np.ufunc, Any]:
    """Make a ufunc from loops, given by their signatures as addresses or `LazyLoop`s.

    `first` are loops that NumPy tries before these, in order, as (types, address or LazyLoop,
    data). `identity` is NumPy's code for the initial value of reductions (-1 for none). `operands`
    are the numbers of inputs and outputs, needed if `loops` is empty. Also returns the tables that
    the ufunc reads: functions, data, the number of loops from `first`, and the number of operands
    of each.
    """
    builtin = [s for s in loops if "bfloat16" not in s.kinds]
    count = len(first) + len(builtin)
    if operands is None:
        some = next(iter(loops))
        operands = len(some.inputs), len(some.outputs)
    types = [number for own, _, _ in first for number in own] + [
        number for s in builtin for number in s.numbers
    ]
    addresses = [_address(loop) for _, loop, _ in first] + [_address(loops[s]) for s in builtin]
    cell = threads.cell_address()
    arguments = (
        (ctypes.c_void_p * count)(*addresses),
        (ctypes.c_void_p * count)(*[data for _, _, data in first], *[cell] * len(builtin)),
        (ctypes.c_byte * len(types))(*types),
    )
    labels = (name.encode(), doc.encode())
    _alive.append((arguments, labels))  # NumPy keeps pointers to these
    made = _functions()[0](*arguments, count, *operands, identity, *labels, 0)
    for k, loop in enumerate([*[loop for _, loop, _ in first], *[loops[s] for s in builtin]]):
        if isinstance(loop, LazyLoop):
            loop.put = functools.partial(_place, arguments, k)
    for s in loops:
        if s not in builtin:
            put = functools.partial(register, made, BFLOAT16, s.numbers)
            if isinstance(loops[s], LazyLoop):
                loops[s].put = put
            put(_address(loops[s]), cell)
    return made, (*arguments[:2], len(first), sum(operands))


def _place(tables: Any, k: int, loop: int, data: int | None) -> None:
    tables[1][k] = data
    tables[0][k] = loop


def _address(loop: Any) -> int:
    return loop.address if isinstance(loop, LazyLoop) else loop


def register(made: np.ufunc, kind: Any, numbers: Any, loop: int, data: int | None) -> None:
    """Register a loop for a dtype that is not NumPy's own with a ufunc, or replace the one that it
    has.
    """
    types = (ctypes.c_int * len(numbers))(*numbers)
    if _functions()[1](made, kind.num, loop, types, data) < 0:
        raise RuntimeError(f"NumPy takes no loop of {kind} for {made}")


_LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


def _loop(
    signature: Signature, kind: str, name: str, formula: Formula, named: bool
) -> dict[str, Any] | None:
    def text() -> str:
        return _loop_text(signature, kind, name, formula)

    if named:
        return jit.compile_source(
            text, {"loop": None}, f"{name} of {signature.kinds}\n{formula.text()}"
        )
    with jit.unwatched():
        return jit.compile_ir(text(), {"loop": None}, name)


def _with_numpy(
    formula: Formula, signature: Signature, args: int, dimensions: int, steps: int
) -> None:
    """Compute what a loop computes with NumPy, if it cannot be compiled."""
    word = ctypes.c_int64.from_address
    count = word(dimensions).value
    arrays = []
    for k, name in enumerate(signature.kinds):
        kind = BFLOAT16 if name == "bfloat16" else np.dtype(name)
        start, step = word(args + 8 * k).value, word(steps + 8 * k).value
        low = start + min(step * (count - 1), 0)
        memory = (ctypes.c_byte * (abs(step) * (count - 1) + kind.itemsize)).from_address(low)
        arrays.append(np.ndarray((count,), kind, memory, start - low, (step,)))
    values = len(formula.values)
    inputs = len(signature.inputs)
    given = [
        _converted(a, name, "float32") if name in HALVES else a
        for a, name in zip(arrays[:inputs], signature.kinds)
    ]
    with np.errstate(all="ignore"):
        made = formula.function(np, *given[:values], **dict(zip(formula.numbers, given[values:])))
        made = [np.array(x) for x in (made if isinstance(made, tuple) else (made,))]
    for place, result, name in zip(arrays[inputs:], made, signature.outputs):
        place[...] = (
            _converted(result, "float32", name)
            if name in HALVES and result.dtype == np.float32
            else result
        )


def _converted(x: np.ndarray, source: str, wanted: str) -> np.ndarray:
    """Convert an array between float32 and two-byte floats."""
    run = _conversion(source, wanted)
    return x.astype(BFLOAT16 if wanted == "bfloat16" else wanted) if run is None else run(x)


@functools.cache
def _conversion(source: str, wanted: str) -> np.ufunc | None:
    if not target.available() or not available(source) or not available(wanted):
        return None
    signature = Signature((source,), (wanted,))
    loop = LazyLoop(signature, "float32", "conversion", Formula(lambda m, x: x), True)
    return assemble(f"{source} as {wanted}", {signature: loop})[0]


@functools.cache
def _functions() -> tuple[Callable[..., np.ufunc], Callable[..., int]]:
    """Return PyUFunc_FromFuncAndData and PyUFunc_RegisterLoopForType, entries 1 and 2 of NumPy's
    table of ufunc functions.
    """
    from numpy._core import _multiarray_umath as umath

    table = ctypes.cast(pointer_of(umath._UFUNC_API), ctypes.POINTER(ctypes.c_void_p))
    pointers, ints, strings = [ctypes.c_void_p] * 3, [ctypes.c_int] * 4, [ctypes.c_char_p] * 2
    pointer, number = ctypes.c_void_p, ctypes.c_int
    make = ctypes.PYFUNCTYPE(ctypes.py_object, *pointers, *ints, *strings, number)(table[1])
    return make, ctypes.PYFUNCTYPE(number, ctypes.py_object, number, pointer, pointer, pointer)(
        table[2]
    )


def _loop_text(signature: Signature, kind: str, name: str, formula: Formula) -> str:
    """Return the IR of `void loop(char **args, npy_intp *dimensions, npy_intp *steps, void
    *team_cell)`.

    The vector loop supports operands that are contiguous or repeat one element (with a step of one
    element or 0); others are copied through small buffers. If a later element reads a result again,
    as in `add.reduce` and `add.accumulate`, elements are computed one by one.
    """
    module = Module()
    width = target.host().lanes("double" if "float64" in signature.kinds else "float")
    if kind in INTEGERS:
        width = target.host().vector_bits // (8 * BYTES[MEMORY[kind]])
    if _of_bits(kind, formula) is not None:
        width = target.host().vector_bits // 16
    elif kind in HALVES and not ELEMENTARY & formula.words():
        width *= 2  # packing works on two registers of float32 at a time
    inputs = signature.inputs
    kinds = [MEMORY[name] for name in signature.kinds]
    emit_range(module, width, signature, kind, name, formula)
    sizes = [BYTES[kind] for kind in kinds]
    for size in sorted(set(sizes)):
        _emit_copy(module, size)
    f = module.function("loop", args="ptr", dimensions="ptr", steps="ptr", cell="ptr")
    f.driver = True
    flags = save_flags(f)
    n = f.load("i64", f.dimensions)
    pointers = [f.load("ptr", f.args, k) for k in range(len(kinds))]
    steps = [f.load("i64", f.steps, k) for k in range(len(kinds))]
    good = f.const(1, "i1")
    for k, (step, size) in enumerate(zip(steps, sizes)):
        fits = step.compare("eq", size)
        good = good & (fits | step.compare("eq", 0) if k < len(inputs) else fits)
    together = independent(f, n, range(len(inputs)), range(len(inputs), len(kinds)))
    good = good & together
    most = f.select(together, f.const(BLOCK, "i64"), f.const(1, "i64"))
    block = f.buffer("i64", 2 * len(kinds), align=8)
    buffers = [f.buffer(kind, BLOCK) for kind in kinds]

    def fast() -> None:
        for k, kind in enumerate(kinds):
            repeats = steps[k].compare("eq", 0)
            if k < len(inputs):
                with f.when(repeats):
                    splat = f.splat(f.load(kind, pointers[k]), vector(kind, width))
                    f.store(splat, buffers[k])
            f.store(f.select(repeats, buffers[k], pointers[k]), f.at(block, 2 * k, "i64"))
            f.store(
                f.select(repeats, f.const(0, "i64"), f.const(1, "i64")),
                f.at(block, 2 * k + 1, "i64"),
            )
        threads.start_team(f, f.load("ptr", f.cell), "@range", block, n, f.const(GRAIN, "i64"))

    def slow() -> None:
        for k in range(len(kinds)):
            f.store(buffers[k], f.at(block, 2 * k, "i64"))
            f.store(f.const(1, "i64"), f.at(block, 2 * k + 1, "i64"))
        with f.loop(0, n, most) as start:
            count = f.smaller(n - start, most)
            for k in range(len(inputs)):
                f.call(
                    f"copy.{sizes[k]}",
                    f.at(pointers[k], start * steps[k], "i8"),
                    steps[k],
                    buffers[k],
                    f.const(sizes[k], "i64"),
                    count,
                )
            f.call("range", block, f.const(0, "i64"), count, f.const(0, "i64"))
            for k in range(len(inputs), len(kinds)):
                f.call(
                    f"copy.{sizes[k]}",
                    buffers[k],
                    f.const(sizes[k], "i64"),
                    f.at(pointers[k], start * steps[k], "i8"),
                    steps[k],
                    count,
                )

    f.branch(good, fast, slow)
    restore_flags(f, flags)
    f.ret()
    return module.text()


def independent(
    f: Function, n: SSAValue, inputs: Iterable[Any], outputs: Iterable[Any]
) -> SSAValue:
    """Return whether no element of a NumPy loop reads what another element writes, so that they may
    be computed in any order. Operands are given by index.

    In ordinary calls, NumPy passes operands that are identical or do not overlap. Its `reduce`,
    `reduceat` and `accumulate` pass the result as an operand, too: with a step of 0, or one element
    behind.
    """

    def span(k: Any) -> tuple[SSAValue, ...]:
        start, step = f.load("i64", f.args, k), f.load("i64", f.steps, k)
        end = start + step * (n - 1)
        # an element has at most as many bytes as the step, or is the only one
        size = f.larger(f.larger(step, 0 - step), 1)
        return start, step, f.smaller(start, end), f.larger(start, end) + size

    given = [span(k) for k in inputs]
    apart = f.const(1, "i1")
    for start, step, low, high in map(span, outputs):
        moves = step.compare("ne", 0)
        for other, pace, bottom, top in given:
            same = start.compare("eq", other) & step.compare("eq", pace) & moves
            apart = apart & (same | top.compare("sle", low) | high.compare("sle", bottom))
    return apart | n.compare("sle", 1)


def _emit_copy(module: Module, size: int) -> None:
    """Emit a copy of `count` elements of `size` bytes that are `step` bytes apart."""
    kind = f"i{8 * size}"
    f = module.function(
        f"copy.{size}",
        internal=True,
        source="ptr",
        step="i64",
        dest="ptr",
        dest_step="i64",
        count="i64",
    )
    f.noinline = True
    with f.loop(0, f.count) as i:
        f.store(f.load(kind, f.at(f.source, i * f.step, "i8")), f.at(f.dest, i * f.dest_step, "i8"))
    f.ret()


# Words whose results are operands or their negatives, so that they need no rounding.
_EXACT = frozenset(
    "negative absolute maximum minimum fmax fmin where less less_equal greater greater_equal copysign".split()
)


# Words of one two-byte float that are computed from its bits; the second argument has the bits of
# infinity.
_BITS: dict[str, Callable[[SSAValue, int], SSAValue]] = {
    "negative": lambda x, infinite: x ^ -0x8000,
    "absolute": lambda x, infinite: x & 0x7FFF,
    "signbit": lambda x, infinite: x.compare("slt", 0),
    "isnan": lambda x, infinite: (x & 0x7FFF).compare("ugt", infinite),
    "isinf": lambda x, infinite: (x & 0x7FFF).compare("eq", infinite),
    "isfinite": lambda x, infinite: (x & 0x7FFF).compare("ult", infinite),
}
_INFINITE = {"float16": 0x7C00, "bfloat16": 0x7F80}


def _of_bits(kind: str, formula: Formula) -> Callable[[SSAValue], SSAValue] | None:
    """Return the function that computes a formula of one such word from the bits of two-byte
    floats; None for other formulas.
    """
    words = formula.words()
    if kind not in HALVES or len(words) != 1 or len(formula.values) != 1 or formula.numbers:
        return None
    made = _BITS.get(next(iter(words)))
    return None if made is None else lambda x: made(x, _INFINITE[kind])


def emit_range(
    module: Module, width: int, signature: Signature, kind: str, name: str, formula: Formula
) -> None:
    """Emit the function that processes a thread's share of the elements, from `begin` to `end`."""
    f = module.function("range", internal=True, args="ptr", begin="i64", end="i64", thread="i64")
    kinds = [MEMORY[name] for name in signature.kinds]
    bases = [f.load("ptr", f.at(f.args, 2 * k, "i64")) for k in range(len(kinds))]
    moves = [f.load("i64", f.args, 2 * k + 1) for k in range(len(kinds))]
    bases = [f.at(base, f.begin * move, kind) for base, move, kind in zip(bases, moves, kinds)]
    values, inputs = len(formula.values), len(signature.inputs)
    m = Words(f, width)
    own = kind if formula.rounds_each else "float32" if kind in HALVES else kind

    of_bits = _of_bits(kind, formula)
    if of_bits is not None:
        _emit_bits(f, width, of_bits, bases, moves[0], signature.outputs[0] == "bool")
        return
    exact = formula.words() <= _EXACT and {*signature.inputs, *signature.outputs} <= {kind, "bool"}

    def body(i: SSAValue, tail: SSAValue | None) -> None:
        given = []
        for base, move, memory, name_of in zip(bases[:inputs], moves, kinds, signature.inputs):
            value = unpack(f, f.load(vector(memory, width), base, i * move, mask=tail), name_of)
            held = Num(m, value, "float32" if name_of in HALVES else name_of)
            given.append(held if name_of == "bool" or own == held.kind else m.cast(held, own))
        made = m.computed(
            name, formula, *given[:values], **dict(zip(formula.numbers, given[values:]))
        )
        for result, base, wanted in zip(
            made if isinstance(made, tuple) else (made,), bases[inputs:], signature.outputs
        ):
            value = m.cast(
                result, "float32" if wanted in HALVES and result.kind != "float64" else wanted
            ).value
            f.store(pack(f, value, wanted, exact), base, i, mask=tail)

    f.vector_loop(f.end - f.begin, width, body, unroll=2)
    f.ret()


def _emit_bits(
    f: Function,
    width: int,
    function: Callable[[SSAValue], SSAValue],
    bases: list[SSAValue],
    move: SSAValue,
    tells: bool,
) -> None:
    def body(i: SSAValue, tail: SSAValue | None) -> None:
        result = function(f.load(vector("i16", width), bases[0], i * move, mask=tail))
        f.store(pack(f, result, "bool") if tells else result, bases[1], i, mask=tail)

    f.vector_loop(f.end - f.begin, width, body, unroll=2)
    f.ret()


def save_flags(f: Function) -> SSAValue | None:
    """Save the processor's record of floating-point exceptions, which NumPy turns into warnings
    after the loop.

    Lanes that a `where` does not select raise some as well, so the record is meaningless. PyTorch's
    functions do not report them either.
    """
    if target.host().arch != "x86":
        return None
    slot = f.buffer("i32", 1, align=4)
    f.module.declarations.add("declare void @llvm.x86.sse.stmxcsr(ptr)")
    f.line(f"call void @llvm.x86.sse.stmxcsr(ptr {slot.name})")
    return slot


def restore_flags(f: Function, slot: SSAValue | None) -> None:
    """Restore the record of floating-point exceptions that `save_flags` has saved."""
    if slot is not None:
        f.module.declarations.add("declare void @llvm.x86.sse.ldmxcsr(ptr)")
        f.line(f"call void @llvm.x86.sse.ldmxcsr(ptr {slot.name})")
    else:
        f.module.declarations.add("declare i32 @feclearexcept(i32)")
        f.line("call i32 @feclearexcept(i32 31)")  # FE_ALL_EXCEPT
