"""Two-byte floats: conversions by the processor's instructions, and rules that compute in float32
and round once.

>>> import numpy as np
>>> wide = widened(np.float16([1.5, 2.0]))
>>> wide.dtype, narrowed(wide, np.dtype(np.float16)).dtype, widened(np.ones(2)).dtype
(dtype('float32'), dtype('float16'), dtype('float64'))
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from .. import config
from ..ir.formula import FORMULAS, Formula
from .native import HALVES, SERVED, SMALL, Conversions, kernels, with_numbers

__all__ = [
    "FEW",
    "HALVES",
    "converted",
    "gradient_in_float32",
    "imag",
    "in_float32",
    "multiplied",
    "narrowed",
    "nonzero_bits",
    "powers",
    "real",
    "storable",
    "native_products",
    "widened",
]

_F32, _BF16 = np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16)
_F16, _F64 = np.dtype(np.float16), np.dtype(np.float64)
_E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
_E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)
_C32 = np.dtype(ml_dtypes.complex32)
_PAIRS = np.dtype([("real", _F16), ("imag", _F16)])
_BYTES = frozenset((np.dtype(np.int8), np.dtype(np.uint8)))
MANY = 1 << 12  # from so many elements on, a kernel converts integers
FEW = 256  # up to so many elements, NumPy's conversion is as fast as the ufunc


@functools.cache
def _conversion(source: Any, wanted: Any) -> Any:
    """The generated ufunc that converts between float32 and a two-byte float, from float64 to
    bfloat16, or from one-byte integers to floats. None for other dtypes.
    """
    floats = SERVED() | {_F32}
    if source in _BYTES:
        served = wanted in floats or wanted == _F64
    else:
        served = wanted in floats and (source in floats or source == _F64 and wanted == _BF16)
    if not config.kernels or not served:
        return None
    return kernels.pointwise.numpys.conversion(source.name, wanted.name)


# conversions of small arrays, by the two-byte float dtype
_WIDER = {kind: Conversions(kind, _F32) for kind in HALVES}
_NARROWER = {kind: Conversions(_F32, kind) for kind in HALVES}


def converted(x: Any, kind: Any) -> Any:
    """`x.astype(kind)`, always as a new array. Its strides are those that PyTorch gives the result
    of an operation.
    """
    plain = type(x) is np.ndarray
    if plain and x.size <= FEW and (kind is _F32 or kind in HALVES) and x.flags.c_contiguous:
        source = x.dtype  # the common case of small arrays
        few = _WIDER.get(source) if kind is _F32 else _NARROWER[kind] if source is _F32 else None
        if few is None or not x.flags.carray or not config.kernels:
            return (real(x) if source == _C32 else x).astype(kind)
        return few[x.shape](x)
    source = x.dtype
    if plain and 0 in x.strides and x.size:
        x = _filled(x)
    if source in _BYTES and x.size > MANY and type(x) is np.ndarray:
        run = _conversion(source, np.dtype(kind))
        if run is not None:
            return run(x)
    if (source in HALVES or kind in HALVES) and x.size > FEW and type(x) is np.ndarray:
        run = _conversion(source, np.dtype(kind)) if source != kind else None
        if run is not None:
            return run(x)
        if np.dtype(kind).kind == "b":
            return nonzero_bits(x)
        if source == _F16 and kind in (np.int64, np.int32):
            return converted(x, _F32).astype(kind)
    if source == _C32 and np.dtype(kind).kind not in "cWb":
        x, source = real(x), _F16
    # float8_e4m3fn has no infinity: larger values become the largest number
    if kind == _E4M3 and source != kind:
        x = np.clip(x.astype(_F32), -448, 448)
    if kind == _E8M0 and source != kind:
        return powers(x)
    return (x.astype(_F32) if source == _E8M0 else x).astype(kind)


def real(x: Any) -> Any:
    """The real parts of complex numbers, as a view. NumPy knows none of half complex numbers."""
    return x.view(_PAIRS)["real"] if x.dtype == _C32 else x.real


def imag(x: Any) -> Any:
    """The imaginary parts of complex numbers, as a view."""
    return x.view(_PAIRS)["imag"] if x.dtype == _C32 else x.imag


def powers(x: np.ndarray) -> np.ndarray:
    """Numbers as powers of two without a sign, as PyTorch rounds them: zero is the smallest."""
    size = np.abs(x.astype(_F32))
    return np.where(size == 0, _F32.type(2.0**-127), size).astype(_E8M0)


def _filled(x: np.ndarray) -> np.ndarray:
    """A copy of an expanded array, with the dimensions in their order. NumPy's own copy would treat
    stride 0 as the smallest and move these dimensions innermost.
    """
    operands = ("readonly",), ("writeonly", "allocate")
    made: np.ndarray = np.nditer((x, None), op_flags=operands).operands[1]
    made[...] = x
    return made


def storable(x: Any, kind: Any) -> Any:
    """What NumPy writes into an array of a dtype as PyTorch does: `x` itself but for powers of two."""
    return powers(x) if kind == _E8M0 and type(x) is np.ndarray and x.dtype != kind else x


def nonzero_bits(x: np.ndarray) -> Any:
    """Which two-byte floats are nonzero: those with a bit set besides the sign."""
    return x.view(np.uint16) << 1 != 0


def widened(x: Any) -> Any:
    """Two-byte floats as float32. Arrays of other dtypes, and values that are not arrays, are
    returned unchanged.
    """
    return converted(x, _F32) if getattr(x, "dtype", None) in HALVES else x


def narrowed(x: Any, kind: Any) -> Any:
    """A float array as `kind`; `x` itself if it has that dtype."""
    return x if x.dtype == kind else converted(x, kind)


def in_float32(rule: Callable[..., Any], xp: Any, *arrays: Any, **params: Any) -> Any:
    """Run a forward rule on two-byte floats in float32, and round float32 results to the dtype of
    the first array.
    """
    kind = arrays[0].dtype
    made = rule(xp, *map(widened, arrays), **params)
    if type(made) is tuple:
        return (narrowed(made[0], kind) if made[0].dtype == _F32 else made[0], *made[1:])
    return narrowed(np.asarray(made), kind)


# ---- products ---------------------------------------------------------------------------------
@functools.cache
def _instruction() -> bool:
    return bool(kernels.matmul.pairs.available())


def native_products(kind: Any) -> bool:
    """Whether the processor multiplies matrices of this two-byte float directly. Otherwise they are
    converted to float32 first.
    """
    return kind == _BF16 and config.kernels and _instruction()


def multiplied(a: Any, b: Any) -> Any:
    """`a @ b` of bfloat16 matrices, or stacks of them, by the processor's own instruction. None if
    float32 should be used.
    """
    return kernels.matmul.pairs.multiply(a, b) if a.dtype == _BF16 and config.kernels else None


# ---- gradient rules ---------------------------------------------------------------------------
def gradient_in_float32(
    record: Any, name: str, rule: Callable[..., Any], words: tuple[str, ...]
) -> Callable[..., Any]:
    """Wrap the gradient rule `name` of an operation so that two-byte floats are computed in
    float32. The receiver of the results rounds them.

    The rule of an element-wise operation rounds its result itself, and becomes a single kernel if
    it can be read as a formula. `words` are the rule's parameter names. The rule of a matrix
    product consists of products, which stay in two-byte floats if the processor multiplies those
    directly.
    """
    if "multiplies" in record.traits:
        at = words.index("g")
        return lambda *values: (
            rule(*values) if native_products(values[at].dtype) else rule(*map(widened, values))
        )
    if record.elementwise and "g" in words:
        return _Gradient(name, rule, words)
    return lambda *values: rule(*map(widened, values))


class _Gradient:
    """The gradient rule of an element-wise operation. It compiles one kernel per dtype and kinds of
    arguments.
    """

    def __init__(self, name: str, rule: Callable[..., Any], words: tuple[str, ...]) -> None:
        self.name, self.rule, self.words, self.at = name, rule, words, words.index("g")
        self.kernels: dict[Any, Any] = {}

    def __call__(self, *values: Any) -> Any:
        g = values[self.at]
        if type(g) is np.ndarray and g.size >= SMALL:
            key = (g.dtype, *[self.role(word, x, g) for word, x in zip(self.words, values)])
            if "other" not in key:
                if key not in self.kernels:
                    self.kernels[key] = self.compiled(g.dtype, key[1:])
                run = self.kernels[key]
                if run is _IDENTITY:
                    return g
                if run is not None:
                    given = [
                        [x for role, x in zip(key[1:], values) if role in wanted]
                        for wanted in (_ARRAYS, ("number",))
                    ]
                    return with_numbers(run, *given[0], *given[1])
        made = self.rule(*map(widened, values))
        if type(made) is not np.ndarray or made.dtype.kind in "cW":
            return made  # the gradient of an absolute value is complex where that is real
        return narrowed(made, g.dtype)

    def role(self, word: str, x: Any, g: Any) -> str:
        if word == "F":
            return "F"
        kind = getattr(x, "dtype", None)
        if type(x) is np.ndarray:
            return "value" if kind is g.dtype else "mask" if kind == np.bool_ else "other"
        return "number" if type(x) in (int, float) else "other"

    def compiled(self, kind: Any, roles: tuple[str, ...]) -> Any:
        """The kernel, or None if the rule cannot be read as a formula."""
        if kind not in SERVED():
            return None
        values = tuple(word for word, role in zip(self.words, roles) if role in _ARRAYS)
        numbers = tuple(word for word, role in zip(self.words, roles) if role == "number")
        masks = tuple(k for k, word in enumerate(values) if roles[self.words.index(word)] == "mask")

        def function(m: Any, *given: Any, **others: Any) -> Any:
            named = {"F": _Spoken(m), **dict(zip(values, given)), **others}
            return self.rule(*[named[word] for word in self.words])

        formula = Formula(function, masks=masks, names=(values, numbers))
        try:
            if formula.decides():
                return None
            text = formula.text()
        except (TypeError, AttributeError, ValueError):
            return None
        if text == "return g":
            return _IDENTITY
        return (
            kernels.pointwise.ufunc.make_half(f"{self.name}_gradient", formula, kind.name)
            if "%" in text
            else None
        )


_ARRAYS = ("value", "mask")


class _Spoken:
    """The namespace `F` for a rule that is read as a formula. It offers the operations that have
    formulas; `conj` and `real` are the identity on real numbers.
    """

    raw = False

    def __init__(self, m: Any) -> None:
        self.m = m

    def __getattr__(self, name: str) -> Any:
        if name in ("conj", "real"):
            return lambda x: x
        if name not in FORMULAS or name == "cast":
            raise AttributeError(name)
        return getattr(self.m, name)


_IDENTITY = object()
