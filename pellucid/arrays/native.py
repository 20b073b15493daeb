"""The generated kernels, imported when first used so that `import pellucid` stays fast."""

from __future__ import annotations

import functools
import importlib
import math
import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np

from .. import config
from ..ir.formula import DOUBLE, ELEMENTARY, FORMULAS, word
from ..llvm.alike import LARGEST


class _Package:
    """A package whose modules are imported at their first use: `kernels.convolution.call` is that
    module of `pellucid.kernels`.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by inspect and doctest of every object
            raise AttributeError(name)
        module = importlib.import_module(f"{self._name}.{name}", __package__)
        made = _Package(module.__name__) if hasattr(module, "__path__") else module
        setattr(self, name, made)
        return made


kernels = _Package("..kernels")
sparing = [0]  # how many want no kernel compiled for what they compute by operations only once
_spared: dict[str, int] = {}  # elements that NumPy has computed instead of a kernel, by its name
_WORTH = 1 << 21  # elements that NumPy computes in about the time in which a kernel is compiled


@contextmanager
def compiling_little() -> Iterator[None]:
    """Inside the block kernels that are not there yet are not compiled for few elements: what runs
    here by operations runs once.
    """
    sparing[0] += 1
    try:
        yield
    finally:
        sparing[0] -= 1


def native_code_runs() -> bool:
    """Whether this process has loaded generated code: more of it costs little then."""
    global _runs
    if not _runs:
        jit = sys.modules.get("pellucid.llvm.jit")
        _runs = jit is not None and jit.statistics["loaded"] + jit.statistics["compiled"] > 0
    return _runs


_runs = False


def enabled() -> bool:
    """False when generated kernels are switched off (`PELLUCID_KERNELS=0`); NumPy then computes
    everything.
    """
    return config.kernels


def spared(name: str, elements: int) -> bool:
    """Whether NumPy is to compute so many elements instead of a kernel that is not there yet:
    inside `compiling_little`, until it has computed as many as take the time of compiling it.
    """
    if not sparing[0] or _spared.get(name, 0) + elements > _WORTH:
        return False
    _spared[name] = _spared.get(name, 0) + elements
    return True


_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)
HALVES = frozenset([np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)])
REAL = (np.dtype(np.float32), np.dtype(np.float64))  # that every family of kernels serves
SMALL = 64  # elements below which a kernel call is not worth its fixed cost


class _Ufuncs:
    """NumPy's element-wise functions by name, with loops for two-byte floats where there is native
    code; made when first asked for.
    """

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        made = (
            kernels.pointwise.numpys.extended(found)
            if type(found) is np.ufunc and config.kernels
            else found
        )
        setattr(self, name, made)
        return made


ufuncs = _Ufuncs()


def straight(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's past what asks its arguments whether they take it over: arrays of
    NumPy's do not.
    """
    found: Callable[..., Any] = getattr(function, "_implementation", function)
    return found


@functools.cache
def chunked(function: np.ufunc) -> np.ufunc:
    """An element-wise function of float32 and float64 whose large arrays several threads share."""
    return kernels.pointwise.numpys.chunked(function) if config.kernels else function


LEAST_ROWS = 2048  # elements of two operands from which on rows may be worth a kernel


@functools.cache
def by_rows(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, where it is NumPy's for two arrays, with a kernel for the arithmetic of rows with
    a column, or with one row.

    >>> by_rows(np.multiply)(np.ones((2, 3)), np.array([[2.0], [3.0]])).tolist()
    [[2.0, 2.0, 2.0], [3.0, 3.0, 3.0]]
    """
    if not isinstance(function, np.ufunc) or (function.nin, function.nout) != (2, 1):
        return function
    name = function.__name__

    def run(a: Any, b: Any, least: int = LEAST_ROWS) -> Any:
        if (
            type(a) is np.ndarray is type(b)
            and a.shape != b.shape
            and a.size + b.size >= least
            and config.kernels
            and not spared("rows", max(a.size, b.size))
        ):
            made = kernels.pointwise.rows.arithmetic(name, a, b)
            if made is not None:
                return made
        return function(a, b)

    return run


@functools.cache
def SERVED() -> frozenset[Any]:
    """The two-byte floats that generated code reads and writes on this processor."""
    return frozenset(
        kind for kind in HALVES if config.kernels and kernels.pointwise.values.available(kind.name)
    )


def fused(name: str, *arrays: Any, least: int = SMALL) -> Callable[..., Any] | None:
    """The element-wise kernel `name`, when it serves these arrays (floats, `least` elements or
    more).
    """
    x = arrays[-1]
    if type(x) is not np.ndarray or not config.kernels or x.size < least and not often(name):
        return None
    kind = x.dtype
    if kind is _F32 or kind is _F64:
        known = _made[kind.char]
        run = known.get(name)
        if run is None and (kind is _F32 or _in_double(name)):
            run = activation(name, x.size)
            if run is not None:
                known[name] = run
        return run
    if kind not in SERVED():
        return None
    for other in arrays[:-1]:
        if other.dtype is not kind:
            return None
    run = activation(name, x.size)
    return run and functools.partial(with_numbers, run)


# kernels that were used, by the character of the dtype and by name
_made: dict[str, dict[str, Callable[..., Any]]] = {"f": {}, "d": {}}


class Quick(dict[str, Any]):
    """Functions for few numbers of the kernel `name`, by the character of the dtype: floats of one
    dtype in order, all of one shape, and Python's numbers; they answer None for others.

    There are none until the kernel was asked for so often that calls without NumPy's fixed cost are
    worth loading code, and the compiler where it is not there yet.
    """

    LOADING, COMPILER = 500, 2000  # calls that are worth it

    __slots__ = ("calls", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls = 0

    def __call__(self, x: Any, *more: Any) -> Any:
        """What the kernel makes of few numbers; None where it does not serve them."""
        char = x.dtype.char
        run = self.get(char, self)
        if run is self:
            run = self.asked(char)
        return run(x, *more) if run and config.kernels else None

    def asked(self, char: str) -> Any:
        """The function for a dtype after a call more was made for which there was none; None where
        there is still none.
        """
        self.calls += 1
        if char not in "fdeE":
            self[char] = None
        elif self.calls >= self.LOADING and config.kernels and not sparing[0]:
            if native_code_runs() or self.calls >= self.COMPILER:
                self[char] = kernels.pointwise.alike.alike(self.name, char)
        return self.get(char)


class Planned(Quick):
    """Functions for few numbers in order that `prepare(shape, dtype, *params)` makes once for each
    shape and parameters of an operation; None where it makes none. Those of the dtype `widens`
    serve two-byte floats, if one is named. `plans` are those of a dtype, which callers look up
    themselves.
    """

    __slots__ = ("plans",)

    def __init__(self, prepare: Callable[..., Any], widens: str) -> None:
        super().__init__("")
        self.plans = {kind: Plans(prepare, kind) for kind in REAL}
        if widens:
            wide = np.dtype(widens)
            floats = self.plans[wide]

            def in_wider(shape: Any, kind: Any, *params: Any) -> Any:
                plan = floats.of((shape, *params))
                return plan and _in_wider(plan, kind, wide)

            self.plans |= {kind: Plans(in_wider, kind) for kind in HALVES}
        self.update({kind.char: plans.run for kind, plans in self.plans.items()})

    def asked(self, char: str) -> Any:
        self[char] = None
        return None


class Plans(dict[Any, Any]):
    """What `prepare(shape, dtype, *params)` makes, by shape and parameters; False where it makes
    nothing. They compute arrays in order.
    """

    __slots__ = ("kind", "prepare")

    def __init__(self, prepare: Callable[..., Any], kind: np.dtype[Any]) -> None:
        self.prepare, self.kind = prepare, kind

    def of(self, key: tuple[Any, ...]) -> Any:
        """The plan for a shape and parameters, made now where there is code."""
        plan = self.get(key)
        if plan is None:
            if sparing[0] or not native_code_runs():
                return None
            if len(self) > 1000:
                self.clear()
            few = 0 < math.prod(key[0]) <= LARGEST
            plan = self[key] = few and self.prepare(key[0], self.kind, *key[1:]) or False
        return plan

    def run(self, x: np.ndarray, *params: Any) -> Any:
        """What the plan for an array makes of it; None where there is none."""
        try:
            plan = self.of((x.shape, *params))
        except TypeError:  # a list
            return None
        return plan(x) if plan and x.dtype is self.kind and x.flags.carray else None


FEW = 256  # elements in whose reductions NumPy is busy with other things most of the time


def of_few(name: str) -> Any:
    """What prepares a reduction of few elements, as `native.Planned` takes it."""

    def prepare(shape: Any, kind: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if math.prod(shape) > FEW:
            return None
        return kernels.pointwise.few.function(name, shape, kind, dim, keepdim)

    return prepare


class Widened(Quick):
    """Functions for few two-byte floats in order that NumPy computes in float32, because there is no
    generated code for the formula `name` of one argument.
    """

    __slots__ = ()

    def asked(self, char: str) -> Any:
        kind = next((kind for kind in SERVED() if kind.char == char), None)
        formula = FORMULAS[self.name]
        aside = kind is not None and kernels.pointwise.ufunc.for_numpy(kind.name, formula)
        run = functools.partial(formula.function, np)
        self[char] = _in_wider(run, kind, _F32) if aside else None
        return self[char]


def _in_wider(
    computed: Callable[..., Any], kind: np.dtype[Any], wide: np.dtype[Any]
) -> Callable[..., Any]:
    widen, narrow, single = Conversions(kind, wide), Conversions(wide, kind), wide is _F32

    def run(x: np.ndarray, *params: Any) -> Any:
        if x.size > LARGEST or not x.flags.carray:
            return None
        if not single:
            made = computed(x.astype(wide), *params)
        else:
            made = computed(widen[x.shape](x), *params)
        if single and type(made) is np.ndarray and made.dtype is wide and made.flags.carray:
            return narrow[made.shape](made)
        if type(made) is tuple:
            return tuple([a.astype(kind) if a.dtype is wide else a for a in made])
        return made if made is None else made.astype(kind)

    return run


class Conversions(dict[Any, Any]):
    """What converts few floats in order from one dtype to another, by their shape."""

    __slots__ = ("source", "wanted")

    def __init__(self, source: np.dtype[Any], wanted: np.dtype[Any]) -> None:
        self.source, self.wanted = source, wanted

    def __missing__(self, shape: tuple[int, ...]) -> Any:
        """The one for a shape, made now where there is code: NumPy's where there is none."""
        by_numpy = operator.methodcaller("astype", self.wanted)
        if sparing[0] or not native_code_runs() or not config.kernels:
            return by_numpy
        if len(self) > 1000:
            self.clear()
        made = kernels.pointwise.few.conversion(shape, self.source, self.wanted)
        self[shape] = made or by_numpy
        return self[shape]


QUICK: dict[str, Quick] = {}


def quick(name: str) -> Quick:
    """The functions for few numbers of a kernel, of which there is one set."""
    made = QUICK.get(name)
    if made is None:
        made = QUICK[name] = Quick(name)
    return made


def often(name: str) -> bool:
    """Whether a kernel that has NumPy's bits was asked for so often with few elements that it is
    worth being made for them: its call costs less than those of several functions.
    """
    asked = _asked.get(name, 0)
    if asked != OFTEN:
        _asked[name] = asked + 1 if asked or _exact(name) else -1 << 60
    return asked == OFTEN


OFTEN = 64
_asked: dict[str, int] = {}


def _exact(name: str) -> bool:
    formula = FORMULAS.get(name) or word(name)
    return (
        formula is not None
        and not formula.numbers
        and not formula.decides()
        and not formula.words() & ELEMENTARY
    )


@functools.cache
def _in_double(name: str) -> bool:
    """Whether there is code for all that a kernel computes in double precision."""
    formula = FORMULAS.get(name) or word(name)
    costly = formula.words() & ELEMENTARY if formula is not None else frozenset()
    return costly <= DOUBLE


def with_numbers(run: Callable[..., Any], *arguments: Any) -> Any:
    """A kernel of two-byte floats and numbers, which are float32: NumPy would take a Python number
    for one of two bytes.
    """
    return run(*[np.array(x, _F32) if type(x) in (float, int, bool) else x for x in arguments])


def activation(name: str, elements: int) -> Callable[..., Any] | None:
    """The element-wise kernel `name` for so many elements; None where NumPy serves."""
    made = vars(kernels.pointwise.activations)
    if name not in made and name not in _COSTLY and spared(name, elements):
        return None
    kernel: Callable[..., Any] | None = (
        made[name] if name in made else getattr(kernels.pointwise.activations, name)
    )
    return kernel


# for NumPy
_COSTLY = frozenset(
    {"erf", "gelu", "gelu_backward", "gelu_slope", "gelu_slope_backward", "mish", "mish_backward"}
)
