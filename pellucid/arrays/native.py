"""Access to the generated kernels. They are imported on first use, so `import pellucid` stays fast."""

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
    """A package whose modules are imported on first use: `kernels.convolution.call` is the module
    `pellucid.kernels.convolution.call`.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # inspect and doctest look such names up on every object
            raise AttributeError(name)
        module = importlib.import_module(f"{self._name}.{name}", __package__)
        made = _Package(module.__name__) if hasattr(module, "__path__") else module
        setattr(self, name, made)
        return made


kernels = _Package("..kernels")
sparing = [0]  # the number of `compiling_little` blocks that are active
_spared: dict[str, int] = {}  # per kernel name: the elements that NumPy has computed in its place
_WORTH = 1 << 21  # NumPy computes about so many elements in the time that compiling a kernel takes


@contextmanager
def compiling_little() -> Iterator[None]:
    """Inside the block, do not compile new kernels for a small number of elements. It is meant for
    code that runs its operations only once, such as the compiler's trace.
    """
    sparing[0] += 1
    try:
        yield
    finally:
        sparing[0] -= 1


def native_code_runs() -> bool:
    """Whether this process has loaded generated code. If so, loading more of it is cheap."""
    global _runs
    if not _runs:
        jit = sys.modules.get("pellucid.llvm.jit")
        _runs = jit is not None and jit.statistics["loaded"] + jit.statistics["compiled"] > 0
    return _runs


_runs = False


def enabled() -> bool:
    """Whether generated kernels are on. With `PELLUCID_KERNELS=0`, NumPy computes everything."""
    return config.kernels


def spared(name: str, elements: int) -> bool:
    """Whether NumPy should compute `elements` elements in place of the kernel `name`, which is not
    compiled yet.

    This is so inside `compiling_little`, until NumPy has computed so many elements in place of this
    kernel that compiling it would have paid off.
    """
    if not sparing[0] or _spared.get(name, 0) + elements > _WORTH:
        return False
    _spared[name] = _spared.get(name, 0) + elements
    return True


_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)
HALVES = frozenset([np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)])
# the dtypes that every family of kernels supports
REAL = (np.dtype(np.float32), np.dtype(np.float64))
SMALL = 64  # elements below which a kernel call is not worth its fixed cost


class _Ufuncs:
    """NumPy's element-wise functions by name, looked up on first use. Where native code is enabled,
    they also have loops for two-byte floats.
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
    """NumPy's implementation of a function, without the dispatch to `__array_function__`. NumPy
    arrays do not need that dispatch, and it takes time.
    """
    found: Callable[..., Any] = getattr(function, "_implementation", function)
    return found


@functools.cache
def chunked(function: np.ufunc) -> np.ufunc:
    """A float32 and float64 ufunc that splits large arrays among several threads."""
    return kernels.pointwise.numpys.chunked(function) if config.kernels else function


# with fewer elements in both operands together, a kernel by rows does not pay off
LEAST_ROWS = 2048


@functools.cache
def by_rows(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, or a faster form of it if it is a binary ufunc: combining a matrix with a column
    or with a single row then uses a kernel.

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
    """The two-byte float dtypes that generated code can read and write on this processor."""
    return frozenset(
        kind for kind in HALVES if config.kernels and kernels.pointwise.values.available(kind.name)
    )


def fused(name: str, *arrays: Any, least: int = SMALL) -> Callable[..., Any] | None:
    """The element-wise kernel `name` for these arguments, or None where NumPy serves them.

    The last argument decides: it must be a NumPy array of floats with at least `least` elements. A
    kernel that has been requested often (see `often`) also serves fewer.
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


# kernels used so far: dtype character -> kernel name -> kernel
_made: dict[str, dict[str, Callable[..., Any]]] = {"f": {}, "d": {}}


class Quick(dict[str, Any]):
    """The small-array functions of the kernel `name`, by dtype character.

    Such a function takes contiguous float arrays of one dtype and one shape, and Python numbers. It
    avoids the fixed cost of a NumPy call. It returns None for all other arguments.

    Functions are made only after so many requests that they are worth loading native code
    (`LOADING`), or loading the compiler itself first (`COMPILER`). The value None marks a dtype
    without a function.
    """

    LOADING, COMPILER = 500, 2000  # requests after which each of these pays off

    __slots__ = ("calls", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls = 0

    def __call__(self, x: Any, *more: Any) -> Any:
        """The kernel's result for small arrays, or None if it does not serve them."""
        char = x.dtype.char
        run = self.get(char, self)
        if run is self:
            run = self.asked(char)
        return run(x, *more) if run and config.kernels else None

    def asked(self, char: str) -> Any:
        """Count one more request for a dtype that has no function yet. Return the function if it is
        made now, otherwise None.
        """
        self.calls += 1
        if char not in "fdeE":
            self[char] = None
        elif self.calls >= self.LOADING and config.kernels and not sparing[0]:
            if native_code_runs() or self.calls >= self.COMPILER:
                self[char] = kernels.pointwise.alike.alike(self.name, char)
        return self.get(char)


class Planned(Quick):
    """Small-array functions that are prepared once per shape and parameters of an operation.

    `prepare(shape, dtype, *params)` returns a function of a contiguous array, or None. If it has
    none for a two-byte float and `widens` names a dtype, the function for that dtype serves, with
    conversions to it and back. `plans` maps each dtype to its `Plans`; generated callers look
    functions up there directly.
    """

    __slots__ = ("plans",)

    def __init__(self, prepare: Callable[..., Any], widens: str) -> None:
        super().__init__("")
        self.plans = {kind: Plans(prepare, kind) for kind in REAL}
        wide = np.dtype(widens) if widens else None
        floats = self.plans.get(wide)

        def for_half(shape: Any, kind: Any, *params: Any) -> Any:
            run = prepare(shape, kind, *params) if kind in SERVED() else None
            if run is None and floats is not None:
                plan = floats.of((shape, *params))
                return plan and _in_wider(plan, kind, wide)
            return run

        self.plans |= {kind: Plans(for_half, kind) for kind in HALVES}
        self.update({kind.char: plans.run for kind, plans in self.plans.items()})

    def asked(self, char: str) -> Any:
        self[char] = None
        return None


class Plans(dict[Any, Any]):
    """A cache of the functions that `prepare(shape, dtype, *params)` makes for one dtype.

    The key is `(shape, *params)`; False marks a key without a function. The functions take
    contiguous arrays.
    """

    __slots__ = ("kind", "prepare")

    def __init__(self, prepare: Callable[..., Any], kind: np.dtype[Any]) -> None:
        self.prepare, self.kind = prepare, kind

    def of(self, key: tuple[Any, ...]) -> Any:
        """The function for `key`, made now if native code is loaded. None means not yet, False
        never.
        """
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
        """The result for `x`, or None if there is no function for it."""
        try:
            plan = self.of((x.shape, *params))
        except TypeError:  # a parameter is unhashable, such as a list
            return None
        return plan(x) if plan and x.dtype is self.kind and x.flags.carray else None


FEW = 256  # up to so many elements, most of a NumPy reduction is its fixed cost


def of_few(name: str) -> Any:
    """A `prepare` function for `native.Planned`, for the reduction `name` of few elements."""

    def prepare(shape: Any, kind: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if math.prod(shape) > FEW:
            return None
        return kernels.pointwise.few.function(name, shape, kind, dim, keepdim)

    return prepare


class Widened(Quick):
    """Small-array functions for two-byte floats that convert to float32, let NumPy compute the
    formula `name`, and convert back. They serve formulas of one argument that have no generated
    code.
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
    """Wrap `computed`, a function on arrays of dtype `wide`, as a function on small arrays of dtype
    `kind`.

    The wrapper returns None for arrays that are large or not contiguous, and if `computed` does.
    """
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
    """A cache of functions that convert small contiguous arrays from one float dtype to another.

    The key is the array's shape. Converting a few numbers with `astype` costs mostly NumPy's fixed
    overhead. A kernel that was prepared for the shape avoids it.
    """

    __slots__ = ("source", "wanted")

    def __init__(self, source: np.dtype[Any], wanted: np.dtype[Any]) -> None:
        self.source, self.wanted = source, wanted

    def __missing__(self, shape: tuple[int, ...]) -> Any:
        """Make and store the conversion for a shape. As long as no native code is loaded, return
        NumPy's `astype` and store nothing, so that a later call can still get a kernel.
        """
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
    """The small-array functions of the kernel `name`, shared by all callers."""
    made = QUICK.get(name)
    if made is None:
        made = QUICK[name] = Quick(name)
    return made


def often(name: str) -> bool:
    """Count one more request for the kernel `name` on few elements, and return whether there have
    been enough (`OFTEN`) to make the kernel.

    This is only for kernels whose results equal NumPy's bit for bit, so the switch is invisible.
    One kernel call is cheaper than calls of several NumPy functions.
    """
    asked = _asked.get(name, 0)
    if asked != OFTEN:
        _asked[name] = asked + 1 if asked or _exact(name) else -1 << 60
    return asked == OFTEN


OFTEN = 64
_asked: dict[str, int] = {}


def _exact(name: str) -> bool:
    """Whether the kernel `name` gives NumPy's results bit for bit: its formula takes no numbers,
    does not branch in Python, and uses no elementary functions such as `exp`.
    """
    formula = FORMULAS.get(name) or word(name)
    return (
        formula is not None
        and not formula.numbers
        and not formula.decides()
        and not formula.words() & ELEMENTARY
    )


@functools.cache
def _in_double(name: str) -> bool:
    """Whether generated code exists for everything that the kernel `name` computes in float64."""
    formula = FORMULAS.get(name) or word(name)
    costly = formula.words() & ELEMENTARY if formula is not None else frozenset()
    return costly <= DOUBLE


def with_numbers(run: Callable[..., Any], *arguments: Any) -> Any:
    """Call a kernel of two-byte floats with its Python numbers as float32 arrays. NumPy would round
    a Python number to two bytes first.
    """
    return run(*[np.array(x, _F32) if type(x) in (float, int, bool) else x for x in arguments])


def activation(name: str, elements: int) -> Callable[..., Any] | None:
    """The element-wise kernel `name` for so many elements, or None if NumPy should compute them for
    now.
    """
    made = vars(kernels.pointwise.activations)
    if name not in made and name not in _COSTLY and spared(name, elements):
        return None
    kernel: Callable[..., Any] | None = (
        made[name] if name in made else getattr(kernels.pointwise.activations, name)
    )
    return kernel


# kernels for which NumPy is so slow that they are always compiled
_COSTLY = frozenset(
    {"erf", "gelu", "gelu_backward", "gelu_slope", "gelu_slope_backward", "mish", "mish_backward"}
)
