"""Element-wise updates of many parameters in one call, generated from formulas: the updates of
optimizers (C-contiguous arrays, in place).

An `UpdateRule` is a formula on vectors and numbers; `pellucid.optim` has one for each optimizer.
Two kernels are generated from it: one that reads Python lists of arrays directly, for eager steps,
and one for a single flat parameter, for schedules.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import (
    MEMORY,
    REGISTER,
    Function,
    Module,
    SSAValue,
    element,
    lanes,
    types_of,
    vector,
)
from ..pointwise.values import Num, available, pack, unpack
from ..pointwise.words import Words

__all__ = ["UpdateRule", "apply", "emit_flat_update", "made", "prepared", "served"]

_DTYPES = {"float": "float32", "double": "float64"}
# dtypes of counters
KINDS = {np.dtype(name): ctype for name, ctype in types_of("float32 float64").items()}
_LISTED = {
    np.dtype(kind): np.dtype(kind).name
    for kind in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
}
GRAIN = 1 << 16  # elements per chunk, counted across all parameters
# Byte offsets of fields in CPython's lists and NumPy's arrays; `_layout_known` checks them against
# real ones.
_LIST_ITEMS = 24
_DATA, _NDIM, _SHAPE, _DTYPE, _FLAGS = 16, 24, 32, 56, 64
_NEEDED = 0x1 | 0x100  # C-contiguous, aligned
_WRITEABLE = 0x400


@functools.cache
def _layout_known() -> bool:
    if not jit.fastcall_works():
        return False
    word, half = ctypes.c_int64.from_address, ctypes.c_int32.from_address
    for array in (
        np.zeros((2, 3), np.float32),
        np.zeros(5)[1:],
        np.zeros((4, 6), np.float32)[:, ::2],
    ):
        probe, at = [array, None], id(array)
        flags = half(at + _FLAGS).value
        fields = (
            word(word(id(probe) + _LIST_ITEMS).value).value == at,
            word(at + _DATA).value == array.ctypes.data,
            half(at + _NDIM).value == array.ndim,
            [word(word(at + _SHAPE).value + 8 * k).value for k in range(array.ndim)]
            == list(array.shape),
            word(at + _DTYPE).value == id(array.dtype),
            bool(flags & 0x1) == array.flags.c_contiguous
            and bool(flags & _WRITEABLE) == array.flags.writeable,
        )
        if not all(fields):
            return False
    return True


def _field(f: Function, thing: SSAValue, offset: int, ctype: str) -> SSAValue:
    return f.load(ctype, f.at(thing, offset, "i8"))


def _item(f: Function, items: SSAValue, k: SSAValue) -> SSAValue:
    return f.load("ptr", _field(f, items, _LIST_ITEMS, "ptr"), k)


def _size(f: Function, array: SSAValue) -> SSAValue:
    size = f.var("i64", 1)
    shape = _field(f, array, _SHAPE, "ptr")
    with f.loop(0, f.extend(_field(f, array, _NDIM, "i32"), "i64")) as d:
        size.set(size.get() * f.load("i64", shape, d))
    return size.get()


def _emit_check(module: Module) -> None:
    """Emit the function that returns the number of elements of a list of arrays, or -1 unless all
    have the dtype and the flags (such as C-contiguous), and the sizes of those in `like`.
    """
    f = module.function(
        "check", "i64", items="ptr", like="ptr", count="i64", dtype="ptr", flags="i64"
    )
    total = f.var("i64", 0)
    good = f.var("i1", 1)
    with f.loop(0, f.count) as k:
        array = _item(f, f.items, k)
        size = _size(f, array)
        own = f.extend(_field(f, array, _FLAGS, "i32"), "i64") & f.flags
        same = f.emit(f"icmp eq ptr {_field(f, array, _DTYPE, 'ptr').name}, {f.dtype.name}", "i1")
        fits = same & own.compare("eq", f.flags) & size.compare("eq", _size(f, _item(f, f.like, k)))
        good.set(good.get() & fits)
        total.set(total.get() + size)
    f.ret(f.select(good.get(), total.get(), f.const(-1, "i64")))


def _build_check(name: str) -> str:
    module = Module()
    _emit_check(module)
    return module.text()


_lib = jit.NativeLibrary("optim", _build_check, {"check": "ooipi>i"})


class UpdateRule(NamedTuple):
    """An element-wise update, written as a formula (`ir.formula`).

    `formula(m, n, param, grad, *rest, **flags)` returns the new values of some of its arrays by
    name. `n` has the numbers, which are passed at each step. `grad` is only read.
    """

    formula: Callable[..., dict[str, Any]]
    arrays: tuple[str, ...]  # besides `param` and `grad`, in the order of the formula's parameters
    numbers: tuple[str, ...]
    flags: tuple[str, ...] = ()  # flags of the formula that are set

    @property
    def title(self) -> str:
        """The name to show."""
        return self.formula.__name__

    @property
    def symbol(self) -> str:
        """A name that is unique among the rules of a process."""
        return "_".join((self.title, *self.arrays, *self.flags))

    def values(
        self, f: Function, kind: str, numbers: list[SSAValue], vectors: dict[str, SSAValue]
    ) -> dict[str, SSAValue]:
        """Emit the new values of arrays. The first number is -1 to maximize; the others are the
        formula's.
        """
        m, dtype = _Words(f, lanes(kind)), _DTYPES[element(kind)]
        sign, *rest = [Num(m, v, dtype) for v in numbers]
        given = {n: Num(m, v, dtype) for n, v in vectors.items()}
        given["grad"] = given["grad"] * sign
        named = SimpleNamespace(**dict(zip(self.numbers, rest, strict=True)))
        made = self.formula(m, named, **given, **dict.fromkeys(self.flags, True))
        return {n: v.value for n, v in made.items()}


class _Words(Words):
    """The `m` of formulas of updates."""

    differs = Words.not_equal

    def constant(self, x: Num) -> Num:
        return x


def _emit_update(module: Module, rule: UpdateRule, dtype: str) -> None:
    """Emit a kernel over all elements of all parameters. Two-byte floats are computed in float32
    and rounded once.
    """
    scalar, memory = REGISTER[dtype], MEMORY[dtype]
    names = ("param", "grad", *rule.arrays)
    numbers = ("sign", *rule.numbers)
    # The prefix distinguishes arrays from numbers of the same name.
    params = (
        {"a_" + n: "ptr" for n in names} | {"n_" + n: "double" for n in numbers} | {"count": "i64"}
    )
    f = threads.parallel_export(module, rule.symbol, params)
    width = target.host().lanes(scalar)
    kind = vector(scalar, width)
    values = [f.splat(f.trunc(getattr(f, "n_" + n), scalar), kind) for n in numbers]
    position = f.var("i64", 0)
    with f.loop(0, f.count) as k:
        arrays = [_item(f, getattr(f, "a_" + n), k) for n in names]
        start = position.get()
        size = _size(f, arrays[0])
        position.set(start + size)
        low = f.larger(f.begin - start, 0)
        high = f.smaller(f.end - start, size)
        with f.when(low.compare("slt", high)):
            pointers = {
                n: f.at(_field(f, a, _DATA, "ptr"), low, memory) for n, a in zip(names, arrays)
            }
            f.vector_loop(high - low, width, _body(f, rule, kind, values, pointers, dtype))
    f.ret()


def _body(
    f: Function,
    rule: UpdateRule,
    kind: str,
    values: list[SSAValue],
    pointers: dict[str, SSAValue],
    dtype: str,
) -> Callable[..., None]:
    memory = vector(MEMORY[dtype], lanes(kind))

    def body(i: SSAValue, mask: SSAValue | None) -> None:
        vectors = {
            n: unpack(f, f.load(memory, p, i, mask=mask), dtype) for n, p in pointers.items()
        }
        for n, value in rule.values(f, kind, values, vectors).items():
            f.store(pack(f, value, dtype), pointers[n], i, mask=mask)

    return body


def emit_flat_update(module: Module, name: str, rule: UpdateRule, dtype: str = "float32") -> None:
    """Emit `name(team, arrays..., numbers, n, grain)`, which updates n contiguous elements of a
    dtype; `numbers` points to doubles.
    """
    arrays = ("param", "grad", *rule.arrays)
    f = threads.parallel_export(
        module, name, {"a_" + n: "ptr" for n in arrays} | {"numbers": "ptr"}
    )
    scalar, memory = REGISTER[dtype], MEMORY[dtype]
    width = target.host().lanes(scalar)
    kind = vector(scalar, width)
    numbers = [f.load("double", f.numbers, k) for k in range(1 + len(rule.numbers))]
    values = [f.splat(f.trunc(number, scalar), kind) for number in numbers]
    pointers = {n: f.at(getattr(f, "a_" + n), f.begin, memory) for n in arrays}
    f.vector_loop(f.end - f.begin, width, _body(f, rule, kind, values, pointers, dtype))
    f.ret()


def served(dtype: np.dtype) -> bool:
    """Return whether there are kernels for parameters of a dtype."""
    return dtype in _LISTED and available(_LISTED[dtype])


_made: dict[tuple[UpdateRule, np.dtype], Any] = {}


def made(rule: UpdateRule, dtype: np.dtype) -> bool:
    """Return whether this process has compiled a rule's kernel already."""
    return (rule, dtype) in _made


def _kernel(rule: UpdateRule, dtype: np.dtype) -> Any:
    """Return the native function of a rule on lists of arrays, or None."""
    if (rule, dtype) not in _made:
        _made[rule, dtype] = _compiled(rule, dtype)
    return _made[rule, dtype]


def _compiled(rule: UpdateRule, dtype: np.dtype) -> Any:
    if not _layout_known() or _lib.check is None:
        return None

    def build() -> str:
        module = Module()
        _emit_update(module, rule, _LISTED[dtype])
        return module.text()

    signature = "p" + "o" * (2 + len(rule.arrays)) + "d" * (1 + len(rule.numbers)) + "iii"
    source = rule.formula.__code__.co_filename
    natives = jit.compile_source(
        build, {rule.symbol: signature}, f"optim.{rule.symbol}.{_LISTED[dtype]}", source
    )
    return None if natives is None else natives[rule.symbol]


def apply(
    rule: UpdateRule, lists: list[list[np.ndarray]], maximize: bool, numbers: tuple[float, ...]
) -> bool:
    """Make the call that `prepared` returns. Returns False, and changes nothing, if it returns
    None.
    """
    update = prepared(rule, lists, maximize, numbers)
    if update is not None:
        update()
    return update is not None


def prepared(
    rule: UpdateRule, lists: list[list[np.ndarray]], maximize: bool, numbers: tuple[float, ...]
) -> functools.partial[Any] | None:
    """Return a call that updates all parameters. `lists` are those of parameters, of gradients, and
    of the rule's other arrays.

    The call runs C code only, and must be made before the lists change. Returns None if not
    supported: integers and complex numbers, strided or read-only arrays, unequal sizes.
    """
    params = lists[0]
    count = len(params)
    if not count:
        return functools.partial(tuple)
    # The native code reads memory through these objects, so it must only get arrays and lists.
    for arrays in lists:
        if type(arrays) is not list or len(arrays) != count or set(map(type, arrays)) != _ARRAYS:
            return None
    dtype = params[0].dtype
    kernel = _kernel(rule, dtype) if served(dtype) else None
    if kernel is None:
        return None
    check, total, flags = _lib.check, -1, _NEEDED | _WRITEABLE
    for k, arrays in enumerate(lists):
        total = check(arrays, params, count, id(dtype), _NEEDED if k == 1 else flags)
        if total < 0:
            return None
    return functools.partial(
        kernel, threads.team(), *lists, -1.0 if maximize else 1.0, *numbers, count, total, GRAIN
    )


_ARRAYS = {np.ndarray}
