"""Element-wise expressions as NumPy ufuncs whose inner loop is one fused, generated loop.

    >>> x, y = variable("x"), variable("y")
    >>> swish_mul = make_ufunc("swish_mul", [x, y], [x * sigmoid(x) * y])
    >>> swish_mul is None or swish_mul(np.ones((2, 3), np.float32), np.ones(3, np.float32)).shape == (2, 3)
    True

A ufunc broadcasts, takes any strides and `out=`, and costs no more to call than `np.add`. The loops are for
float32, and for float64 where the expression has no elementary functions; `mask` variables are boolean. Loops over many contiguous
elements are shared among the worker threads. Floating-point errors are silent: no NumPy warning for an infinity.
"""

from __future__ import annotations

import _thread
import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...llvm import jit, target, threads
from ...llvm import math as functions
from ...llvm.emit import Function, Module, Value, vector

__all__ = ["Expression", "evaluate", "make_ufunc", "mask", "maximum", "minimum", "sqrt", "variable", "where"]

GRAIN = 16384  # elements a chunk: 64 KiB of each array, some microseconds
BLOCK = 256  # elements that strided operands are copied in


class Expression:
    """A node of an expression: an operation's name and its operands, or a variable's kind and name."""

    __slots__ = ("op", "operands")

    def __init__(self, op: str, *operands) -> None:
        self.op = op
        self.operands = operands

    def __add__(self, other):
        return Expression("add", self, other)

    def __radd__(self, other):
        return Expression("add", other, self)

    def __sub__(self, other):
        return Expression("sub", self, other)

    def __rsub__(self, other):
        return Expression("sub", other, self)

    def __mul__(self, other):
        return Expression("mul", self, other)

    def __rmul__(self, other):
        return Expression("mul", other, self)

    def __truediv__(self, other):
        return Expression("div", self, other)

    def __rtruediv__(self, other):
        return Expression("div", other, self)

    def __neg__(self):
        return Expression("neg", self)

    def __abs__(self):
        return Expression("abs", self)

    def __lt__(self, other):
        return Expression("olt", self, other)

    def __le__(self, other):
        return Expression("ole", self, other)

    def __gt__(self, other):
        return Expression("ogt", self, other)

    def __ge__(self, other):
        return Expression("oge", self, other)

    def __and__(self, other):
        return Expression("and", self, other)

    def __or__(self, other):
        return Expression("or", self, other)


def variable(name: str) -> Expression:
    """An argument of floats (an array or a number)."""
    return Expression("variable", name)


def mask(name: str) -> Expression:
    """An argument of booleans, for the condition of `where`."""
    return Expression("mask", name)


def where(condition, yes, no) -> Expression:
    return Expression("where", condition, yes, no)


def maximum(a, b) -> Expression:
    """The larger one; NaN if either is NaN."""
    return Expression("maximum", a, b)


def minimum(a, b) -> Expression:
    """The smaller one; NaN if either is NaN."""
    return Expression("minimum", a, b)


def sqrt(x) -> Expression:
    return Expression("sqrt", x)


def fma(a, b, c) -> Expression:
    """a * b + c, rounded once."""
    return Expression("fma", a, b, c)


def _function(name: str) -> Callable[[Expression], Expression]:
    return lambda x: Expression(name, x)


erf, exp, expm1, gelu, gelu_slope, log, log1p, sigmoid, tanh = map(
    _function, ("erf", "exp", "expm1", "gelu", "gelu_slope", "log", "log1p", "sigmoid", "tanh")
)

_EMIT: dict[str, Callable[..., Value]] = {
    "add": lambda f, a, b: a + b,
    "sub": lambda f, a, b: a - b,
    "mul": lambda f, a, b: a * b,
    "div": lambda f, a, b: a / b,
    "and": lambda f, a, b: a & b,
    "or": lambda f, a, b: a | b,
    "neg": lambda f, a: -a,
    "abs": lambda f, a: f.fabs(a),
    "sqrt": lambda f, a: f.sqrt(a),
    "fma": lambda f, a, b, c: f.fma(a, b, c),
    "where": lambda f, c, a, b: f.select(c, a, b),
    "maximum": lambda f, a, b: f.select(a.compare("ogt", b) | a.compare("uno", a), a, b),
    "minimum": lambda f, a, b: f.select(a.compare("olt", b) | a.compare("uno", a), a, b),
    **{name: (lambda f, a, b, name=name: a.compare(name, b)) for name in ("olt", "ole", "ogt", "oge")},
    **functions.FUNCTIONS,
}


def evaluate(f: Function, ctype: str, roots: Sequence[Expression], given: dict[Expression, Value]) -> list[Value]:
    """Emit the expressions; what occurs twice is computed once. `given` holds the variables' values."""
    done = dict(given)

    def value(node: Expression | float) -> Value:
        if not isinstance(node, Expression):
            return f.const(node, ctype)
        if node not in done:
            done[node] = _EMIT[node.op](f, *map(value, node.operands))
        return done[node]

    return [value(root) for root in roots]


def _has_functions(roots: Sequence[Expression]) -> bool:
    stack, seen = list(roots), set()
    while stack:
        node = stack.pop()
        if isinstance(node, Expression) and node not in seen:
            if node.op in functions.FUNCTIONS:
                return True
            seen.add(node)
            stack.extend(node.operands)
    return False


# From loops to ufuncs, through NumPy's C interface (numpy.org/doc/stable/reference/c-api/ufunc.html).

_NUMBERS = {"i8": 0, "float": 11, "double": 12}  # NPY_BOOL, NPY_FLOAT, NPY_DOUBLE
_alive: list = []


def make_ufunc(
    name: str, inputs: Sequence[Expression], outputs: Sequence[Expression], doc: str = "", named: bool = False
) -> np.ufunc | None:
    """A ufunc from `inputs` (variables and masks) to `outputs`; None where code cannot be generated.

    `named` says that the expressions follow from this package's files and the name: code on disk is found by that, without writing IR.
    """
    if not target.available():
        return None
    natives = _loop("float", inputs, outputs, name, named)
    if natives is None:
        return None
    kinds = ["float"] if _has_functions(outputs) else ["float", "double"]
    count = len(kinds)
    types = []
    for ctype in kinds:
        types += [_NUMBERS["i8" if v.op == "mask" else ctype] for v in inputs] + [_NUMBERS[ctype]] * len(outputs)
    loops = (ctypes.c_void_p * count)(natives["loop"])
    if count == 2:
        loops[1] = _compiled_later(name, inputs, outputs, loops, named)
    arguments = (
        loops,
        (ctypes.c_void_p * count)(*[threads.team_cell()] * count),
        (ctypes.c_byte * len(types))(*types),
    )
    labels = (name.encode(), doc.encode())
    _alive.append((arguments, labels))  # NumPy keeps the pointers
    return _constructor()(*arguments, count, len(inputs), len(outputs), -1, *labels, 0)


_LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


def _loop(kind: str, inputs: Sequence[Expression], outputs: Sequence[Expression], name: str, named: bool) -> dict[str, Any] | None:
    if named:
        return jit.compile_source(lambda: _loop_text(kind, inputs, outputs), {"loop": None}, f"{name} of {kind}s")
    with jit.unwatched():
        return jit.compile_ir(_loop_text(kind, inputs, outputs), {"loop": None}, name)


def _compiled_later(name: str, inputs: Sequence[Expression], outputs: Sequence[Expression], loops: Any, named: bool) -> int:
    """The address of a loop over doubles, which few programs use: its first call compiles it and puts it into `loops`."""

    def first(args: int, dimensions: int, steps: int, cell: int) -> None:
        try:
            natives = _loop("double", inputs, outputs, name, named)
            if natives is not None:
                loops[1] = natives["loop"]
                _LOOP(natives["loop"])(args, dimensions, steps, cell)
                return
        except KeyboardInterrupt:  # cannot pass through native code
            threading.Timer(0.05, _thread.interrupt_main).start()
        _with_numpy(inputs, outputs, args, dimensions, steps)

    made = _LOOP(first)
    _alive.append(made)
    return ctypes.cast(made, ctypes.c_void_p).value or 0


_NUMPY: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "and": np.logical_and, "or": np.logical_or,
    "neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "fma": lambda a, b, c: a * b + c, "where": np.where,
    "maximum": np.maximum, "minimum": np.minimum, "olt": np.less, "ole": np.less_equal, "ogt": np.greater, "oge": np.greater_equal,
}  # fmt: skip


def _with_numpy(inputs: Sequence[Expression], outputs: Sequence[Expression], args: int, dimensions: int, steps: int) -> None:
    """What a loop over doubles does, by NumPy: where it cannot be compiled."""
    word = ctypes.c_int64.from_address
    count = word(dimensions).value
    arrays = []
    for k, kind in enumerate(
        [np.dtype(np.bool_ if v.op == "mask" else np.float64) for v in inputs] + [np.dtype(np.float64)] * len(outputs)
    ):
        start, step = word(args + 8 * k).value, word(steps + 8 * k).value
        low = start + min(step * (count - 1), 0)
        memory = (ctypes.c_byte * (abs(step) * (count - 1) + kind.itemsize)).from_address(low)
        arrays.append(np.ndarray((count,), kind, memory, start - low, (step,)))
    given = dict(zip(inputs, arrays))

    def value(node: Expression | float) -> Any:
        if isinstance(node, Expression) and node not in given:
            given[node] = _NUMPY[node.op](*map(value, node.operands))
        return given[node] if isinstance(node, Expression) else node

    with np.errstate(all="ignore"):
        made = [np.array(value(root)) for root in outputs]
    for place, result in zip(arrays[len(inputs) :], made):
        place[...] = result


def _constructor() -> Callable[..., np.ufunc]:
    """PyUFunc_FromFuncAndData, the second entry of NumPy's table of ufunc functions."""
    from numpy._core import _multiarray_umath as umath

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = ctypes.cast(get(umath._UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p))
    pointers, ints, strings = [ctypes.c_void_p] * 3, [ctypes.c_int] * 4, [ctypes.c_char_p] * 2
    return ctypes.PYFUNCTYPE(ctypes.py_object, *pointers, *ints, *strings, ctypes.c_int)(table[1])


def _loop_text(ctype: str, inputs: Sequence[Expression], outputs: Sequence[Expression]) -> str:
    """IR of `void loop(char **args, npy_intp *dimensions, npy_intp *steps, void *team_cell)`.

    The vector loop serves operands that are contiguous or repeat one element (steps of one element or 0); others are
    copied through small buffers.
    """
    module = Module()
    width = target.host().lanes(ctype)
    kinds = ["i8" if v.op == "mask" else ctype for v in inputs] + [ctype] * len(outputs)
    _emit_range(module, ctype, width, inputs, outputs, kinds)
    sizes = [{"i8": 1, "float": 4, "double": 8}[kind] for kind in kinds]
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
            f.store(f.select(repeats, f.const(0, "i64"), f.const(1, "i64")), f.at(block, 2 * k + 1, "i64"))
        threads.start_team(f, f.load("ptr", f.cell), "@range", block, n, f.const(GRAIN, "i64"))

    def slow() -> None:
        for k in range(len(kinds)):
            f.store(buffers[k], f.at(block, 2 * k, "i64"))
            f.store(f.const(1, "i64"), f.at(block, 2 * k + 1, "i64"))
        with f.loop(0, n, BLOCK) as start:
            count = f.smaller(n - start, BLOCK)
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


def _emit_copy(module: Module, size: int) -> None:
    """Copy `count` elements of so many bytes that lie `step` bytes apart."""
    kind = f"i{8 * size}"
    f = module.function(f"copy.{size}", internal=True, source="ptr", step="i64", dest="ptr", dest_step="i64", count="i64")
    f.noinline = True
    with f.loop(0, f.count) as i:
        f.store(f.load(kind, f.at(f.source, i * f.step, "i8")), f.at(f.dest, i * f.dest_step, "i8"))
    f.ret()


def _emit_range(module: Module, ctype: str, width: int, inputs, outputs, kinds: list[str]) -> None:
    f = module.function("range", internal=True, args="ptr", begin="i64", end="i64", thread="i64")
    bases = [f.load("ptr", f.at(f.args, 2 * k, "i64")) for k in range(len(kinds))]
    moves = [f.load("i64", f.args, 2 * k + 1) for k in range(len(kinds))]
    bases = [f.at(base, f.begin * move, kind) for base, move, kind in zip(bases, moves, kinds)]

    def body(i: Value, tail: Value | None) -> None:
        given = {}
        for node, base, move, kind in zip(inputs, bases, moves, kinds):
            value = f.load(vector(kind, width), base, i * move, mask=tail)
            given[node] = value.compare("ne", 0) if node.op == "mask" else value
        for result, base in zip(evaluate(f, vector(ctype, width), outputs, given), bases[len(inputs) :]):
            f.store(result, base, i, mask=tail)

    f.vector_loop(f.end - f.begin, width, body, unroll=2)
    f.ret()


def save_flags(f: Function) -> Value | None:
    """The processor's record of floating-point exceptions, which NumPy turns into warnings after the loop.

    Lanes that a `where` does not choose raise some, so they say nothing; PyTorch's functions do not report them either.
    """
    if target.host().arch != "x86":
        return None
    slot = f.buffer("i32", 1, align=4)
    f.module.declarations.add("declare void @llvm.x86.sse.stmxcsr(ptr)")
    f.line(f"call void @llvm.x86.sse.stmxcsr(ptr {slot.name})")
    return slot


def restore_flags(f: Function, slot: Value | None) -> None:
    if slot is not None:
        f.module.declarations.add("declare void @llvm.x86.sse.ldmxcsr(ptr)")
        f.line(f"call void @llvm.x86.sse.ldmxcsr(ptr {slot.name})")
    else:
        f.module.declarations.add("declare i32 @feclearexcept(i32)")
        f.line("call i32 @feclearexcept(i32 31)")  # FE_ALL_EXCEPT
