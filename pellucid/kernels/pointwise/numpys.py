"""NumPy's element-wise functions with additional loops: native code for two-byte floats, and worker
threads for large arrays.

NumPy and ml_dtypes convert two-byte floats one by one, 10 to 50 times slower than the processor
can. The ufuncs made here keep NumPy's loops for all other numbers (which are read from the ufunc,
whose struct is part of NumPy's C interface), are as fast to call, and leave NumPy's ufuncs
unchanged. Products and quotients accept float32 numbers beside two-byte floats. Quotients are only
of floats and complex numbers, since operations promote integers before.

    >>> add = extended(np.add)
    >>> add(np.float16([1, 2]), np.float16([0.5, 4])).tolist(), add is np.add
    ([1.5, 6.0], False)
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ... import dtypes
from ...ir.formula import DOUBLE, Formula, word
from ...llvm import jit, threads
from ...llvm.emit import Module
from ...llvm.loader import forever, pointer_of
from .ufunc import (
    HALVES,
    LazyLoop,
    Signature,
    assemble,
    independent,
    register,
    signature_of,
)

__all__ = ["chunked", "conversion", "extended"]

GRAIN = 32768  # elements per chunk


class _Ufunc(ctypes.Structure):
    """The first fields of NumPy's PyUFuncObject (numpy/ufuncobject.h)."""

    _fields_ = [
        ("references", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("inputs", ctypes.c_int),
        ("outputs", ctypes.c_int),
        ("operands", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("count", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.POINTER(ctypes.c_byte)),
        ("text", ctypes.c_char_p),
        ("pointer", ctypes.c_void_p),
        ("object", ctypes.c_void_p),
        ("registered", ctypes.c_void_p),  # capsules of `_Registered`, by dtype number
    ]


class _Registered(ctypes.Structure):
    """A loop that a library has registered with a ufunc for a dtype of its own (PyUFunc_Loop1d)."""

    _fields_ = [
        ("function", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("types", ctypes.POINTER(ctypes.c_int)),
    ]


# NumPy's names for words of formulas that have another name.
_NAMES = {"rint": "round_half_even", "divide": "true_divide"}
# Negatives of complex numbers, which NumPy computes part by part: here both sign bits are flipped
# at once.
_BOTH_SIGNS = Formula(lambda m, x: x ^ (0x8000000080000000 - (1 << 64)), "i")
# Functions that NumPy computes without vectors for integers of one and two bytes.
_SLOW = frozenset(("left_shift", "right_shift"))
_NARROW = {"b": "int8", "B": "uint8", "h": "int16", "H": "uint16"}
_KEPT = frozenset("?bBhHiIlLqQfdgFDG")
_REGISTERED = [d.numpy for d in dtypes.ALL if d.is_float8 or d is dtypes.complex32]
_CHARS = {np.dtype(char).num: np.dtype(char).char for char in np.typecodes["All"]}


def extended(function: np.ufunc) -> np.ufunc:
    """Return `function` with additional loops, or `function` itself if it is not an element-wise
    function of floats.
    """
    formula = word(_NAMES.get(function.__name__, function.__name__))
    if (
        formula is None
        or "h" not in formula.kinds
        and function.__name__ not in _SLOW
        or formula.args not in ("same", "compare", "own")
        or formula.masks
    ):
        return function
    fields = _fields(function)
    if fields is None:
        return function
    width = fields.operands
    name = _NAMES.get(function.__name__, function.__name__)
    first: list[tuple[Any, Any, Any]] = []
    done: set[str] = set()
    # Keep NumPy's order, which decides the dtype in which integers are computed.
    for k in range(fields.count):
        numbers = list(fields.types[k * width : (k + 1) * width])
        # inputs only, since comparisons return booleans
        chars = {_CHARS[n] for n in numbers[: fields.inputs]}
        found = fields.functions[k], fields.data[k]
        kind = (
            "float16" if chars == {"e"} else "float64" if chars == {"d"} and name in DOUBLE else ""
        )
        if kind and kind not in done:
            own = signature_of(formula, kind)
            first.append(
                (numbers, LazyLoop(own, kind, name, formula, True, found), threads.cell_address())
            )
            done.add(kind)
        elif chars == {"F"} and name == "negative":
            signs = signature_of(_BOTH_SIGNS, "int64")
            flip = LazyLoop(signs, "int64", "negative of complex64", _BOTH_SIGNS, True, found)
            first.append((numbers, flip, threads.cell_address()))
        elif name in _SLOW and chars <= _NARROW.keys():
            kind = _NARROW[min(chars)]
            own = signature_of(formula, kind)
            narrow = LazyLoop(own, kind, name, formula, True, found)
            first.append((numbers, narrow, threads.cell_address()))
        elif chars <= _KEPT and not kind:
            first.append((numbers, *found))
    loops: dict[Signature, Any] = {}
    for kind in HALVES if "h" in formula.kinds else ():
        plain = signature_of(formula, kind)
        if kind == "bfloat16":
            loops[plain] = LazyLoop(plain, kind, name, formula, True)
        if name in ("multiply", "true_divide"):
            for inputs in ((kind, "float32"), ("float32", kind)):
                mixed = Signature(inputs, plain.outputs)
                loops[mixed] = LazyLoop(mixed, kind, name, formula, True)
    # NumPy's codes: 0, 1, -1 for no identity, -2 for no identity but reorderable.
    identity = {0: 0, 1: 1}.get(
        function.identity, -2 if name in ("maximum", "minimum", "fmax", "fmin") else -1
    )
    operands = fields.inputs, fields.outputs
    made, places = assemble(
        function.__name__, loops, function.__doc__ or "", first, identity, operands
    )
    for kind in _REGISTERED:
        known = _registered(fields, kind)
        if known is not None:
            register(made, kind, known.types[: fields.operands], known.function, known.data)
    _shared.append(places)
    threads.when_started(_share)
    return made


def _registered(fields: _Ufunc, kind: np.dtype) -> _Registered | None:
    """Return the loop of a ufunc for a dtype that is not NumPy's own, or None."""
    if not fields.registered:
        return None
    capsule = ctypes.cast(fields.registered, ctypes.py_object).value.get(kind.num)
    if capsule is None:
        return None
    return _Registered.from_address(pointer_of(capsule))


def chunked(function: np.ufunc) -> np.ufunc:
    """Return `function` with loops for float32 and float64 alone, in which worker threads share
    large arrays.

    >>> chunked(np.fmod)(np.float32([5, -5]), np.float32(3)).tolist()
    [2.0, -2.0]
    """
    fields = _fields(function)
    if fields is None:
        return function
    width = fields.operands
    first: list[tuple[Any, Any, Any]] = []
    for k in range(fields.count):
        numbers = list(fields.types[k * width : (k + 1) * width])
        if {_CHARS[n] for n in numbers} in ({"f"}, {"d"}):
            first.append((numbers, fields.functions[k], fields.data[k]))
    if not first:
        return function
    made, places = assemble(
        function.__name__,
        {},
        function.__doc__ or "",
        first,
        operands=(fields.inputs, fields.outputs),
    )
    _shared.append(places)
    threads.when_started(_share)
    return made


def _fields(function: np.ufunc) -> _Ufunc | None:
    """Return the C fields of a ufunc; None if they are not as expected."""
    found = _Ufunc.from_address(id(function))
    if (found.inputs, found.outputs, found.operands) != (
        function.nin,
        function.nout,
        function.nargs,
    ):
        return None
    if found.name != function.__name__.encode() or not 0 < found.count <= len(function.types):
        return None
    for k in range(found.count):
        chars = [
            _CHARS.get(n, "") for n in found.types[k * function.nargs : (k + 1) * function.nargs]
        ]
        if function.types[k] != "".join(chars[: function.nin]) + "->" + "".join(
            chars[function.nin :]
        ):
            return None
    return found


# Tables of loops that are not shared among threads yet: functions, data, the number of NumPy's own
# loops at the beginning, and the number of operands. Loops made here have the address of the team's
# cell as data.
_shared: list[Any] = []
_alive: list[Any] = forever([])


def _share() -> None:
    """Replace NumPy's loops in the tables by one that splits large arrays into chunks for the
    threads.
    """
    threads.team_cell()  # from now on the cell has the address of the team
    natives = jit.compile_source(_module_text, {"loop": None}, "loops of NumPy in chunks")
    while natives and _shared:
        functions, data, count, operands = _shared.pop()
        for k in range(count):
            if data[k] == threads.cell_address():
                continue
            block = (ctypes.c_int64 * 4)(
                functions[k], threads.cell_address(), operands, data[k] or 0
            )
            _alive.append(block)
            # The data is replaced first: a thread that sees it together with the old function has
            # one that does not read it.
            data[k] = ctypes.addressof(block)
            functions[k] = natives["loop"]


def _module_text() -> str:
    """Return the IR of the loop. `data` points to the original loop, the team's cell, the number of
    operands and the original loop's data.
    """
    module = Module()
    f = module.function("loop", args="ptr", dimensions="ptr", steps="ptr", data="ptr")
    f.driver = True
    n = f.load("i64", f.dimensions)
    own, cell, operands = (
        f.load("ptr", f.data),
        f.load("ptr", f.at(f.data, 1, "i64")),
        f.load("i64", f.data, 2),
    )
    told = f.load("ptr", f.at(f.data, 3, "i64"))
    result = operands - 1
    large = n.compare("sge", 2 * GRAIN) & independent(
        f, n, (f.const(0, "i64"), result - 1), (result,)
    )

    def shared() -> None:
        block = f.buffer("i64", 5, align=8)
        for k, value in enumerate((own, f.args, f.steps, told, operands)):
            f.store(value, f.at(block, k, "i64"))
        threads.start_team(f, f.load("ptr", cell), "@range", block, n, f.const(GRAIN, "i64"))

    def alone() -> None:
        f.line(
            f"call void {own.name}(ptr {f.args.name}, ptr {f.dimensions.name}, ptr {f.steps.name}, ptr {told.name})"
        )

    f.branch(large, shared, alone)
    f.ret()
    f = module.function("range", internal=True, block="ptr", begin="i64", end="i64", thread="i64")
    f.driver = True
    own, args, steps, told = (f.load("ptr", f.at(f.block, k, "i64")) for k in range(4))
    pointers, count = f.buffer("i64", 8, align=8), f.buffer("i64", 1, align=8)
    f.store(f.end - f.begin, count)
    with f.loop(0, f.load("i64", f.block, 4)) as k:
        f.store(
            f.load("i64", args, k) + f.begin * f.load("i64", steps, k), f.at(pointers, k, "i64")
        )
    f.line(
        f"call void {own.name}(ptr {pointers.name}, ptr {count.name}, ptr {steps.name}, ptr {told.name})"
    )
    f.ret()
    return module.text()


_SAME = Formula(lambda m, x: x)


def conversion(source: str, wanted: str) -> np.ufunc:
    """Return a ufunc of one argument that converts like `astype`, through float32.

    >>> conversion("float32", "float16")(np.float32([1.0, 1e6])).tolist()
    [1.0, inf]
    """
    signature = Signature((source,), (wanted,))
    loop = LazyLoop(signature, "float32", "conversion", _SAME, True)
    return assemble(f"{source} as {wanted}", {signature: loop})[0]
