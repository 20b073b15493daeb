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

import ctypes
from collections.abc import Callable, Sequence

import numpy as np

from pellucid.codegen import jit, target, threads
from pellucid.codegen import math as functions
from pellucid.codegen.emit import Function, Module, Value, vector

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


erf, exp, expm1, log, log1p, sigmoid, tanh = map(_function, ("erf", "exp", "expm1", "log", "log1p", "sigmoid", "tanh"))

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


def make_ufunc(name: str, inputs: Sequence[Expression], outputs: Sequence[Expression], doc: str = "") -> np.ufunc | None:
    """A ufunc from `inputs` (variables and masks) to `outputs`; None where code cannot be generated."""
    if not target.available():
        return None
    ctypes_of_loops = ["float"] if _has_functions(outputs) else ["float", "double"]
    loops, types = [], []
    for ctype in ctypes_of_loops:
        text = _loop_text(ctype, inputs, outputs)
        natives = jit.compile_ir(text, {"loop": "pppp"}, name, quick=True)
        if natives is None:
            return None
        loops.append(jit.address(natives["loop"]))
        types += [_NUMBERS["i8" if v.op == "mask" else ctype] for v in inputs] + [_NUMBERS[ctype]] * len(outputs)
    count = len(loops)
    arguments = (
        (ctypes.c_void_p * count)(*loops),
        (ctypes.c_void_p * count)(*[threads.team_cell()] * count),
        (ctypes.c_byte * len(types))(*types),
    )
    labels = (name.encode(), doc.encode())
    _alive.append((arguments, labels))  # NumPy keeps the pointers
    return _constructor()(*arguments, count, len(inputs), len(outputs), -1, *labels, 0)


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
    f = module.function("loop", args="ptr", dimensions="ptr", steps="ptr", cell="ptr")
    flags = save_flags(f)
    n = f.load("i64", f.dimensions)
    pointers = [f.load("ptr", f.args, k) for k in range(len(kinds))]
    steps = [f.load("i64", f.steps, k) for k in range(len(kinds))]
    sizes = [{"i8": 1, "float": 4, "double": 8}[kind] for kind in kinds]
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
            for k, kind in enumerate(kinds[: len(inputs)]):
                with f.loop(0, count) as i:
                    f.store(f.load(kind, f.at(pointers[k], (start + i) * steps[k], "i8")), buffers[k], i)
            f.call("range", block, f.const(0, "i64"), count, f.const(0, "i64"))
            for k in range(len(inputs), len(kinds)):
                with f.loop(0, count) as i:
                    f.store(f.load(kinds[k], buffers[k], i), f.at(pointers[k], (start + i) * steps[k], "i8"))

    f.branch(good, fast, slow)
    restore_flags(f, flags)
    f.ret()
    return module.text()


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
