"""Element types, how they are promoted, and their limits. Every dtype is a singleton: compare with
`is`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any, Final, cast, final

import ml_dtypes
import numpy as np

from .devices import Named
from .devices import Size as Size
from .devices import channels_last as channels_last
from .devices import channels_last_3d as channels_last_3d
from .devices import contiguous_format as contiguous_format
from .devices import device as device
from .devices import layout as layout
from .devices import memory_format as memory_format
from .devices import preserve_format as preserve_format
from .devices import size_of as size_of
from .devices import strided as strided
from .errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DtypeError,
    MissingAttributeError,
    type_name,
    warn,
)


@final
class dtype(Named):
    """The type of a tensor's elements, one object for each type.

    Attributes:
        name: PyTorch's name without the module, `"float32"`.
        numpy: the NumPy dtype of the arrays that hold such elements.
        scalar_type_name, c_name: the names that PyTorch's error messages use, `"Float"` and
            `"float"`.
        cpu_name: the type of a tensor on a CPU in such messages, `"torch.FloatTensor"`, and of
            newer types `"CPUBFloat16Type"`.
        abbr: `"f32"`.
        itemsize: bytes for one element.
        is_floating_point, is_complex, is_signed, is_integral: `bool` counts as integral here, as in
            promotion.
        is_float8, is_wide_unsigned: members of the two families with promotion rules of their own.
        category: 0 bool, 1 integer, 2 floating point, 3 complex.

    Example:
        >>> float32, float32.itemsize, float32.is_floating_point
        (torch.float32, 4, True)
        >>> float32.to_complex()
        torch.complex64
    """

    __slots__ = (
        "_complex",
        "_real",
        "abbr",
        "c_name",
        "category",
        "cpu_name",
        "is_complex",
        "is_float8",
        "is_floating_point",
        "is_integral",
        "is_signed",
        "is_wide_unsigned",
        "itemsize",
        "numpy",
        "scalar_type_name",
    )
    __module__ = "pellucid"
    abbr: str
    c_name: str
    category: int
    cpu_name: str
    is_complex: bool
    is_float8: bool
    is_floating_point: bool
    is_integral: bool
    is_signed: bool
    is_wide_unsigned: bool
    itemsize: int
    numpy: np.dtype[Any]
    scalar_type_name: str

    def __getattr__(self, name: str) -> Any:
        # left out for types without tensors: np.empty(n, dtype=None) would quietly give float64
        if name == "numpy":
            raise DtypeError(
                f"{self!r} has no NumPy counterpart, so tensors of it are not supported"
            )
        raise MissingAttributeError(f"'torch.dtype' object has no attribute '{name}'")

    def to_real(self) -> dtype:
        """The type of the real part: itself unless complex."""
        return cast(dtype, self._real)

    def to_complex(self) -> dtype:
        """The complex type with parts of this type, or of the nearest wider type.

        Raises:
            RuntimeError: integers, bool and 8-bit floating-point types have none.
        """
        if self._complex is None:
            raise DtypeError(f"Unknown Complex ScalarType for {self.scalar_type_name}")
        return cast(dtype, self._complex)


BOOL: Final = 0
INTEGER: Final = 1
FLOATING: Final = 2
COMPLEX: Final = 3

ALL: list[dtype] = []
BY_NAME: dict[str, dtype] = {}
BY_NUMPY: dict[np.dtype[Any], dtype] = {}


@functools.cache
def name_of(kind: np.dtype[Any]) -> str:
    """The name of NumPy's dtype, which NumPy takes a microsecond to spell."""
    return str(kind.name)


_OLDEST = frozenset({"Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double"})


def _make(
    name: str,
    scalar_type_name: str,
    c_name: str,
    abbr: str,
    array_type: Any,
    category: int,
    itemsize: int,
) -> dtype:
    made = object.__new__(dtype)
    fields: dict[str, Any] = {
        "name": name,
        "scalar_type_name": scalar_type_name,
        "c_name": c_name,
        "abbr": abbr,
        "category": category,
        "itemsize": itemsize,
        "cpu_name": f"torch.{scalar_type_name}Tensor"
        if scalar_type_name in _OLDEST
        else f"CPU{scalar_type_name}Type",
        "is_floating_point": category == FLOATING,
        "is_complex": category == COMPLEX,
        "is_integral": category <= INTEGER,
        "is_signed": (category >= FLOATING and name != "float8_e8m0fnu")
        or (category == INTEGER and name[0] == "i"),
        "is_float8": name.startswith("float8"),
        "is_wide_unsigned": name in ("uint16", "uint32", "uint64"),
        "_real": made,
        "_complex": made if category == COMPLEX else None,
    }
    if array_type is not None:
        held = np.dtype(array_type)
        fields["numpy"] = held
        BY_NUMPY[held] = made
    for field, value in fields.items():
        object.__setattr__(made, field, value)
    ALL.append(made)
    BY_NAME[name] = made
    return made


uint8 = _make("uint8", "Byte", "unsigned char", "u8", np.uint8, INTEGER, 1)
uint16 = _make("uint16", "UInt16", "short unsigned int", "u16", np.uint16, INTEGER, 2)
uint32 = _make("uint32", "UInt32", "unsigned int", "u32", np.uint32, INTEGER, 4)
uint64 = _make("uint64", "UInt64", "long unsigned int", "u64", np.uint64, INTEGER, 8)
int8 = _make("int8", "Char", "signed char", "i8", np.int8, INTEGER, 1)
int16 = short = _make("int16", "Short", "short int", "i16", np.int16, INTEGER, 2)
int32 = int_ = _make("int32", "Int", "int", "i32", np.int32, INTEGER, 4)
int64 = long = _make("int64", "Long", "long int", "i64", np.int64, INTEGER, 8)
float16 = half = _make("float16", "Half", "c10::Half", "f16", np.float16, FLOATING, 2)
bfloat16 = _make("bfloat16", "BFloat16", "c10::BFloat16", "bf16", ml_dtypes.bfloat16, FLOATING, 2)
float32 = float_ = _make("float32", "Float", "float", "f32", np.float32, FLOATING, 4)
float64 = double = _make("float64", "Double", "double", "f64", np.float64, FLOATING, 8)
complex32 = chalf = _make(
    "complex32", "ComplexHalf", "c10::complex<c10::Half>", "c32", ml_dtypes.complex32, COMPLEX, 4
)
complex64 = cfloat = _make(
    "complex64", "ComplexFloat", "c10::complex<float>", "c64", np.complex64, COMPLEX, 8
)
complex128 = cdouble = _make(
    "complex128", "ComplexDouble", "c10::complex<double>", "c128", np.complex128, COMPLEX, 16
)
bool_ = _make("bool", "Bool", "bool", "b8", np.bool_, BOOL, 1)
float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu = (
    _make(
        name,
        name.capitalize(),
        f"c10::{name.capitalize()}",
        name.replace("float8_", "f8"),
        getattr(ml_dtypes, name),
        FLOATING,
        1,
    )
    for name in (
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e4m3fnuz",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
    )
)

for _real, _complex in (
    (float16, complex32),
    (bfloat16, complex64),
    (float32, complex64),
    (float64, complex128),
):
    object.__setattr__(_real, "_complex", _complex)
    if _real is not bfloat16:
        object.__setattr__(_complex, "_real", _real)

_ORDINARY = len(ALL)
for _name, _bytes in {
    "qint8": 1,
    "quint8": 1,
    "qint32": 4,
    "quint4x2": 1,
    "quint2x4": 1,
    "bits8": 1,
    "bits16": 2,
    "bits1x8": 1,
    "bits2x4": 1,
    "bits4x2": 1,
    **{f"{_sign}int{_n}": 1 for _sign in ("u", "") for _n in range(1, 8)},
}.items():
    _make(
        _name,
        _name.replace("q", "Q").replace("uint", "UInt").replace("int", "Int"),
        f"c10::{_name}",
        _name,
        None,
        INTEGER,
        _bytes,
    )
_make("float4_e2m1fn_x2", "Float4_e2m1fn_x2", "c10::Float4_e2m1fn_x2", "", None, FLOATING, 1)
NAMED_ONLY: dict[str, dtype] = {kind.name: BY_NAME.pop(kind.name) for kind in ALL[_ORDINARY:]}
"""Types that can be named and compared; there are no tensors of them, and every use of their elements refuses."""
del ALL[_ORDINARY:]

BY_NAME |= {
    "half": half,
    "float": float_,
    "double": double,
    "chalf": chalf,
    "cfloat": cfloat,
    "cdouble": cdouble,
    "short": short,
    "int": int_,
    "long": long,
}
"""All names that the package offers, aliases included: `BY_NAME["float"] is float32`."""


def from_numpy(array_type: np.dtype[Any]) -> dtype:
    """The dtype of arrays with this NumPy dtype (`BY_NUMPY[array.dtype]` is the same without the
    messages).

    Raises:
        TypeError: strings, objects, dates and other types that tensors cannot hold.
        ValueError: the byte order is not this machine's.
    """
    found = BY_NUMPY.get(array_type)
    if found is not None:
        return found
    if array_type.newbyteorder("=") in BY_NUMPY:
        raise ArgumentValueError(
            "given numpy array has byte order different from the native byte order. "
            "Conversion between byte orders is currently not supported.",
            hint="convert it first: array.astype(array.dtype.newbyteorder('='))",
        )
    raise ArgumentTypeError(
        f"can't convert np.ndarray of type numpy.{array_type.type.__name__}. "
        "The only supported types are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, "
        "uint64, uint32, uint16, uint8, and bool.",
        hint="rows of unequal length make such an array; pad them, or convert to a numeric dtype"
        if array_type.kind == "O"
        else None,
    )


# The default floating-point type
# ------------------------------------------------------------------------------------

_TYPE = type  # `finfo` and `iinfo` have an argument of that name
_OF_PYTHON = {float: float64, int: int64, bool: bool_, complex: complex128}
_default = float32


def get_default_dtype() -> dtype:
    """The type of new floating-point tensors made from Python numbers; `float32` unless set.

    Example:
        >>> get_default_dtype()
        torch.float32
    """
    return _default


def default_complex_dtype() -> dtype:
    """The type of new tensors made from Python complex numbers: two parts of the default type.

    Raises:
        RuntimeError: the default type is bfloat16, of which there is no complex type.
    """
    if _default is bfloat16:
        raise DtypeError("invalid default scalar type for complex")
    return _default.to_complex()


def set_default_dtype(d: dtype, /) -> None:
    """Make `d` the type of new floating-point tensors made from Python numbers.

    Raises:
        TypeError: `d` is not one of float16, bfloat16, float32, float64.

    >>> import pellucid as torch
    >>> torch.set_default_dtype(torch.float64)
    >>> torch.tensor([1.0]).dtype
    torch.float64
    >>> torch.set_default_dtype(torch.float32)
    """
    global _default
    if not isinstance(d, dtype):
        raise ArgumentTypeError(
            "invalid dtype object: only floating-point types are supported as the default type"
        )
    if not d.is_floating_point:
        raise ArgumentTypeError(
            "only floating-point types are supported as the default type", found=d
        )
    if d.is_float8:
        raise ArgumentTypeError(
            f"couldn't find storage object {d.scalar_type_name}Storage", found=d
        )
    _default = d
    _RESULT.clear()


def is_dtype(value: object) -> bool:
    """Whether a value can be a `dtype=` argument: a dtype or one of Python's number types."""
    return isinstance(value, dtype) or (isinstance(value, type) and value in _OF_PYTHON)


def check_dtype(kind: Any, function: str) -> dtype | None:
    """A `dtype=` argument: a dtype, a Python number type (`float` is float64, `int` is int64), or
    None.

    Raises:
        TypeError: anything else.

    Example:
        >>> check_dtype(float, "zeros")
        torch.float64
    """
    if kind is None or isinstance(kind, dtype):
        return kind
    found = _OF_PYTHON.get(kind) if isinstance(kind, type) else None
    if found is None:
        name = kind if isinstance(kind, str) else getattr(kind, "__name__", None)
        raise ArgumentTypeError(
            f"{function}(): argument 'dtype' must be torch.dtype, not {type_name(kind)}",
            hint=f"write dtype=torch.{name}" if name in BY_NAME else None,
        )
    return found


# Promotion
# ----------------------------------------------------------------------------------------------------------


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest type, in size and category, that can hold values of both.

    Raises:
        RuntimeError: an 8-bit floating-point type meets another type, or uint16, uint32 or uint64
            meets anything but itself and floating point.
        TypeError: an argument is not a dtype.

    Example:
        >>> promote_types(uint8, int8), promote_types(int64, float16), promote_types(float16, bfloat16)
        (torch.int16, torch.float16, torch.float32)
    """
    found = _PROMOTED.get((type1, type2))
    if found is not None:
        return found
    if type1 in _OF_PYTHON or type2 in _OF_PYTHON:
        return promote_types(_OF_PYTHON.get(type1, type1), _OF_PYTHON.get(type2, type2))  # type: ignore[call-overload]
    _check_dtypes("promote_types", type1=type1, type2=type2)
    return _no_promotion(type1, type2)


def _check_dtypes(function: str, **arguments: object) -> None:
    for position, (name, value) in enumerate(arguments.items(), start=1):
        if not isinstance(value, dtype):
            raise ArgumentTypeError(
                f"{function}(): argument '{name}' (position {position}) must be torch.dtype, not {type_name(value)}"
            )


def _no_promotion(a: dtype, b: dtype) -> dtype:
    if {a.name, b.name} & QUANTIZED:
        raise DtypeError(
            "promoteTypes with quantized numbers is not handled yet; figure out what the correct rules should be, offending types: "
            f"{a.scalar_type_name} {b.scalar_type_name}",
            hint="dequantize() gives a tensor that every operation takes",
        )
    pair = f"attempted to promote {a.scalar_type_name} and {b.scalar_type_name}"
    if a.is_float8 or b.is_float8:
        raise DtypeError(
            f"Promotion for Float8 Types is not supported, {pair}",
            hint="convert one operand first: x.to(dtype)",
        )
    raise DtypeError(
        f"Promotion for uint16, uint32, uint64 types is not supported, {pair}",
        hint="convert the unsigned operand first, for example x.to(torch.int64)",
    )


def _promote(a: dtype, b: dtype) -> dtype | None:
    if a is b:
        return a
    if a.is_float8 or b.is_float8:
        return None
    low, high = (a, b) if a.category <= b.category else (b, a)
    if high.category == COMPLEX:
        if low.category == COMPLEX:
            return low if low.itemsize > high.itemsize else high
        if low.category == FLOATING:
            part = _promote(low, high.to_real())
            return None if part is None else part.to_complex()
        return None if low.is_wide_unsigned else high
    if high.category == FLOATING:
        if low.category < FLOATING:
            return high
        # float16 and bfloat16 have the same size and neither holds the other's values.
        return float32 if a.itemsize == b.itemsize else (a if a.itemsize > b.itemsize else b)
    if a.is_wide_unsigned or b.is_wide_unsigned:
        return None
    if low.category == BOOL:
        return high
    if a.itemsize == b.itemsize:  # uint8 and int8
        return int16
    return a if a.itemsize > b.itemsize else b


_PROMOTED: dict[tuple[dtype, dtype], dtype] = {}
for _a in ALL:
    for _b in ALL:
        if (_made := _promote(_a, _b)) is not None:
            _PROMOTED[_a, _b] = _made

QUANTIZED = {name for name in NAMED_ONLY if name.startswith("q")}
for _name in QUANTIZED:
    _PROMOTED[NAMED_ONLY[_name], NAMED_ONLY[_name]] = NAMED_ONLY[_name]

# How an operand takes part in promotion. Within one category (bool < integer < floating < complex)
# tensors with dimensions decide alone; tensors without dimensions and Python numbers count only
# when their category is higher.
TENSOR: Final = 0
SCALAR_TENSOR: Final = 1
NUMBER: Final = 2

_RESULT: dict[tuple[tuple[dtype, int], ...], dtype] = {}


def as_python_number(value: Any) -> Any:
    """A NumPy scalar as the Python number that PyTorch takes it for; other values unchanged.

    Only classes that inherit from `complex` are complex, so `numpy.complex64` loses its imaginary
    part, with NumPy's warning. `numpy.bool` is neither a bool nor an integer, so it is a float.

    >>> as_python_number(np.float32(0.5)), as_python_number(np.bool_(True))
    (0.5, 1.0)
    """
    if not isinstance(value, np.generic):
        return value
    if isinstance(value, np.complexfloating) and not isinstance(value, complex):
        text = "Casting complex values to real discards the imaginary part"
        warn(text, np.exceptions.ComplexWarning)
        return float(value.real)
    return float(value) if isinstance(value, np.bool_) else value.item()


def number_dtype(value: complex) -> dtype:
    """The type that a Python number stands for: bool, int64, the default type, or the complex type
    of that.

    Raises:
        TypeError: not a number.
    """
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return _default
    if isinstance(value, complex):
        return _default.to_complex()
    raise ArgumentTypeError(f"expected a Python number, got {type(value).__name__}")


def result_type(*operands: tuple[dtype, int]) -> dtype:
    """The type in which an operation computes; operands are given as (dtype, TENSOR | SCALAR_TENSOR
    | NUMBER).

    Raises:
        RuntimeError: two of the types have no common type; see `promote_types`.

    Example:
        >>> result_type((int64, TENSOR), (float32, NUMBER)), result_type((float16, TENSOR), (float64, SCALAR_TENSOR))
        (torch.float32, torch.float16)
    """
    found = _RESULT.get(operands)
    if found is None:
        found = _RESULT[operands] = _combine_all(operands)
    return found


def _combine_all(operands: Iterable[tuple[dtype, int]]) -> dtype:
    best: list[dtype | None] = [None, None, None]
    for d, kind in operands:
        if kind == NUMBER:
            d = _default.to_complex() if d.is_complex else _default if d.is_floating_point else d
        before = best[kind]
        best[kind] = d if before is None else promote_types(before, d)
    lower = _combine(best[SCALAR_TENSOR], best[NUMBER])
    result = _combine(best[TENSOR], lower)
    if result is None:
        raise ArgumentValueError("result_type() needs at least one operand")
    return result


def _combine(higher: dtype | None, lower: dtype | None) -> dtype | None:
    if higher is None or lower is None:
        return higher or lower
    if higher.is_complex:
        return higher
    if higher.is_floating_point:
        # A complex number makes a real tensor complex, without widening it.
        return higher.to_complex() if lower.is_complex else higher
    if lower.is_complex:
        return lower
    if higher.category == BOOL or lower.category >= FLOATING:
        return promote_types(higher, lower)
    return higher


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether values may be converted without leaving the category downwards (complex, floating
    point, integer, bool).

    Raises:
        TypeError: an argument is not a dtype.

    Example:
        >>> can_cast(float64, float16), can_cast(float32, int64)
        (True, False)
    """
    _check_dtypes("can_cast", from_=from_, to=to)
    return from_.category <= to.category


# Numeric limits
# -----------------------------------------------------------------------------------------------------


@functools.cache
def _limits(d: dtype) -> tuple[float, ...]:
    """eps, max, min, tiny and resolution of a floating-point type."""
    limits: Any = ml_dtypes.finfo(d.numpy)
    # The number of decimal digits that survive: floor(fraction bits * log10(2)).
    resolution = float(f"1e-{math.floor(limits.nmant * math.log10(2))}")
    return (
        0.125 if d is float8_e5m2fnuz else float(limits.eps),  # half the distance, in PyTorch
        float(limits.max),
        float(limits.min),
        float(limits.smallest_normal),
        resolution,
    )


class finfo:
    """Limits of a floating-point type, or of the parts of a complex type.

    Attributes:
        bits: size of a value.
        eps: distance from 1 to the next value.
        max, min: largest and smallest finite value.
        tiny, smallest_normal: smallest positive value with full precision.
        resolution: 10 to the power of minus the number of decimal digits that always survive.
        dtype: name of the type.

    Args:
        type: the dtype; the default type when left out.

    Raises:
        TypeError: not a floating-point or complex type.

    Example:
        >>> finfo(float16).max, finfo(float32).eps
        (65504.0, 1.1920928955078125e-07)
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")
    __module__ = "pellucid"

    def __init__(self, type: dtype | None = None) -> None:
        d = get_default_dtype() if type is None else type
        d = _OF_PYTHON.get(d, d) if isinstance(d, _TYPE) else d
        if not isinstance(d, dtype):
            raise ArgumentTypeError(
                f"finfo(): argument 'type' (position 1) must be torch.dtype, not {type_name(d)}"
            )
        if d.category < FLOATING:
            raise ArgumentTypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        d = d.to_real()
        self.dtype = d.name
        self.bits = d.itemsize * 8
        self.eps, self.max, self.min, self.tiny, self.resolution = _limits(d)
        self.smallest_normal = self.tiny

    def __repr__(self) -> str:
        fields = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{name}={getattr(self, name):g}' for name in fields)}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return self.dtype == other.dtype if isinstance(other, finfo) else NotImplemented

    def __hash__(self) -> int:
        return hash(("finfo", self.dtype))


class iinfo:
    """Limits of an integer type: `bits max min dtype`.

    Raises:
        TypeError: not an integer type.

    Example:
        >>> iinfo(int8)
        iinfo(min=-128, max=127, dtype=int8)
    """

    __slots__ = ("bits", "dtype", "max", "min")
    __module__ = "pellucid"

    def __init__(self, type: dtype) -> None:
        type = _OF_PYTHON.get(type, type) if isinstance(type, _TYPE) else type
        if not isinstance(type, dtype):
            raise ArgumentTypeError(
                f"iinfo(): argument 'type' (position 1) must be torch.dtype, not {type_name(type)}"
            )
        if type is bool_:
            raise ArgumentTypeError("torch.bool is not supported by torch.iinfo")
        if type.category != INTEGER:
            raise ArgumentTypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'"
            )
        self.dtype = type.name
        self.bits = type.itemsize * 8
        self.max = (1 << (self.bits - type.is_signed)) - 1
        self.min = -self.max - 1 if type.is_signed else 0

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return self.dtype == other.dtype if isinstance(other, iinfo) else NotImplemented

    def __hash__(self) -> int:
        return hash(("iinfo", self.dtype))
