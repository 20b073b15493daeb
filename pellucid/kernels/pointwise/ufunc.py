"""Formulas as NumPy ufuncs whose inner loop is one fused, generated loop.

    >>> swish_mul = make_ufunc("swish_mul", Formula(lambda m, x, y: x * m.sigmoid(x) * y))
    >>> swish_mul is None or swish_mul(np.ones((2, 3), np.float32), np.ones(3, np.float32)).shape == (2, 3)
    True

A ufunc takes the formula's values and then its numbers, broadcasts, takes any strides and `out=`, and costs no more to call than
`np.add`. The loops are for float32, and for float64 where the formula has no elementary functions; masks are boolean. Loops over many
contiguous elements are shared among the worker threads. Floating-point errors are silent: no NumPy warning for an infinity.
"""

from __future__ import annotations

import _thread
import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.formula import ELEMENTARY, Formula
from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, Value, vector
from .values import Num
from .words import Words

__all__ = ["make_ufunc"]

GRAIN = 16384  # elements a chunk: 64 KiB of each array, some microseconds
BLOCK = 256  # elements that strided operands are copied in


# From loops to ufuncs, through NumPy's C interface (numpy.org/doc/stable/reference/c-api/ufunc.html).

_NUMBERS = {"i8": 0, "float": 11, "double": 12}  # NPY_BOOL, NPY_FLOAT, NPY_DOUBLE
_KINDS = {"float": "float32", "double": "float64"}
_alive: list = []


def _operands(formula: Formula, ctype: str) -> list[str]:
    """Types of the inputs in memory."""
    count = len(formula.values) + len(formula.numbers)
    return ["i8" if k in formula.masks else ctype for k in range(count)]


def _results(formula: Formula) -> int:
    return len(formula.text().splitlines()[-1].split()) - 1


def make_ufunc(name: str, formula: Formula, doc: str = "", named: bool = False) -> np.ufunc | None:
    """A ufunc that computes a formula; None where code cannot be generated.

    `named` says that the formula speaks of operations of this package alone: code on disk is found by its text, without writing IR.
    """
    if not target.available():
        return None
    natives = _loop("float", name, formula, named)
    if natives is None:
        return None
    kinds = ["float"] if ELEMENTARY & formula.words() else ["float", "double"]
    count, results = len(kinds), _results(formula)
    types = []
    for ctype in kinds:
        types += [_NUMBERS[kind] for kind in (*_operands(formula, ctype), *[ctype] * results)]
    loops = (ctypes.c_void_p * count)(natives["loop"])
    if count == 2:
        loops[1] = _compiled_later(name, formula, loops, named)
    arguments = (
        loops,
        (ctypes.c_void_p * count)(*[threads.team_cell()] * count),
        (ctypes.c_byte * len(types))(*types),
    )
    labels = (name.encode(), doc.encode())
    _alive.append((arguments, labels))  # NumPy keeps the pointers
    return _constructor()(*arguments, count, len(types) // count - results, results, -1, *labels, 0)


_LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


def _loop(ctype: str, name: str, formula: Formula, named: bool) -> dict[str, Any] | None:
    def text() -> str:
        return _loop_text(ctype, name, formula)

    if named:
        return jit.compile_source(text, {"loop": None}, f"{name} of {ctype}s\n{formula.text()}")
    with jit.unwatched():
        return jit.compile_ir(text(), {"loop": None}, name)


def _compiled_later(name: str, formula: Formula, loops: Any, named: bool) -> int:
    """The address of a loop over doubles, which few programs use: its first call compiles it and puts it into `loops`."""

    def first(args: int, dimensions: int, steps: int, cell: int) -> None:
        try:
            natives = _loop("double", name, formula, named)
            if natives is not None:
                loops[1] = natives["loop"]
                _LOOP(natives["loop"])(args, dimensions, steps, cell)
                return
        except KeyboardInterrupt:  # cannot pass through native code
            threading.Timer(0.05, _thread.interrupt_main).start()
        _with_numpy(formula, args, dimensions, steps)

    made = _LOOP(first)
    _alive.append(made)
    return ctypes.cast(made, ctypes.c_void_p).value or 0


def _with_numpy(formula: Formula, args: int, dimensions: int, steps: int) -> None:
    """What a loop over doubles does, by NumPy: where it cannot be compiled."""
    word = ctypes.c_int64.from_address
    count = word(dimensions).value
    arrays = []
    for k, ctype in enumerate([*_operands(formula, "double"), *["double"] * _results(formula)]):
        kind = np.dtype(np.bool_ if ctype == "i8" else np.float64)
        start, step = word(args + 8 * k).value, word(steps + 8 * k).value
        low = start + min(step * (count - 1), 0)
        memory = (ctypes.c_byte * (abs(step) * (count - 1) + kind.itemsize)).from_address(low)
        arrays.append(np.ndarray((count,), kind, memory, start - low, (step,)))
    values = len(formula.values)
    inputs = values + len(formula.numbers)
    with np.errstate(all="ignore"):
        made = formula.function(np, *arrays[:values], **dict(zip(formula.numbers, arrays[values:inputs])))
        made = [np.array(x) for x in (made if isinstance(made, tuple) else (made,))]
    for place, result in zip(arrays[inputs:], made):
        place[...] = result


def _constructor() -> Callable[..., np.ufunc]:
    """PyUFunc_FromFuncAndData, the second entry of NumPy's table of ufunc functions."""
    from numpy._core import _multiarray_umath as umath

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = ctypes.cast(get(umath._UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p))
    pointers, ints, strings = [ctypes.c_void_p] * 3, [ctypes.c_int] * 4, [ctypes.c_char_p] * 2
    return ctypes.PYFUNCTYPE(ctypes.py_object, *pointers, *ints, *strings, ctypes.c_int)(table[1])


def _loop_text(ctype: str, name: str, formula: Formula) -> str:
    """IR of `void loop(char **args, npy_intp *dimensions, npy_intp *steps, void *team_cell)`.

    The vector loop serves operands that are contiguous or repeat one element (steps of one element or 0); others are
    copied through small buffers.
    """
    module = Module()
    width = target.host().lanes(ctype)
    inputs = _operands(formula, ctype)
    kinds = inputs + [ctype] * _results(formula)
    _emit_range(module, ctype, width, name, formula, kinds)
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


def _emit_range(module: Module, ctype: str, width: int, name: str, formula: Formula, kinds: list[str]) -> None:
    f = module.function("range", internal=True, args="ptr", begin="i64", end="i64", thread="i64")
    bases = [f.load("ptr", f.at(f.args, 2 * k, "i64")) for k in range(len(kinds))]
    moves = [f.load("i64", f.args, 2 * k + 1) for k in range(len(kinds))]
    bases = [f.at(base, f.begin * move, kind) for base, move, kind in zip(bases, moves, kinds)]
    values, inputs = len(formula.values), len(_operands(formula, ctype))
    m = Words(f, width)

    def body(i: Value, tail: Value | None) -> None:
        given = []
        for base, move, kind in zip(bases[:inputs], moves, kinds):
            value = f.load(vector(kind, width), base, i * move, mask=tail)
            given.append(Num(m, value.compare("ne", 0), "bool") if kind == "i8" else Num(m, value, _KINDS[ctype]))
        made = m.computed(name, formula, *given[:values], **dict(zip(formula.numbers, given[values:])))
        for result, base in zip(made if isinstance(made, tuple) else (made,), bases[inputs:]):
            f.store(m.cast(result, _KINDS[ctype]).value, base, i, mask=tail)

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
