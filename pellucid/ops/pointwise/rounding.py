"""Rounding, and floating-point numbers taken apart."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ... import dtypes
from ...arrays.halves import HALVES, narrowed, widened
from ...arrays.native import fused, with_numbers
from ...core.display.refusals import Asked
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import public
from ...core.tape import titled
from ...core.tensor import Tensor
from ...core.transforms.whole import one_node
from ...errors import ArgumentTypeError, DtypeError, OperationError, UnsupportedError, type_name
from ...ir.formula import FORMULAS, Formula
from .._rules import before_writing, overloads, require_tensor, zero_gradient
from .._samples import POSITIVE, REAL, Sample, elementwise
from ..return_types import make as named
from ._unary import binary, unary

floor = unary(
    "floor",
    "floor",
    zero_gradient,
    promote=None,
    own_out=True,
    traits="steps",
    onnx="Floor",
    doc="The largest whole number that is not above each element.",
    example="torch.floor(torch.tensor([-1.5, 1.5]))",
    shows="tensor([-2.,  1.])",
)

ceil = unary(
    "ceil",
    "ceil",
    zero_gradient,
    promote=None,
    own_out=True,
    traits="steps",
    onnx="Ceil",
    doc="The smallest whole number that is not below each element.",
    example="torch.ceil(torch.tensor([-1.5, 1.5]))",
    shows="tensor([-1.,  2.])",
)

trunc = unary(
    "trunc fix",
    "trunc",
    zero_gradient,
    promote=None,
    own_out=True,
    traits="steps",
    onnx=lambda c: c.truncated(c[0]),
    doc="Each element truncated towards zero.",
    example="torch.trunc(torch.tensor([-1.5, 1.5]))",
    shows="tensor([-1.,  1.])",
)

frac = unary(
    "frac",
    "frac",
    lambda g: g,
    promote=None,
    own_out=True,
    onnx=lambda c: c.emit("Sub", c[0], c.truncated(c[0])),
    doc="The fractional part: `input - trunc(input)`.",
    example="torch.frac(torch.tensor([-1.5, 1.25]))",
    shows="tensor([-0.5000,  0.2500])",
)

round_op = defop(
    "round",
    "input",
    forward="round_half_even",
    vjp={"input": zero_gradient},
    jvp="elementwise",
    elementwise=True,
    traits="steps",
    onnx="Round",
    samples=elementwise(REAL),
)


def _round_decimals(xp: Any, x: Any, *, decimals: int) -> Any:
    if x.dtype.kind not in "fV":
        raise UnsupportedError(
            f"\"round_cpu\" not implemented for '{dtypes.BY_NUMPY[x.dtype].scalar_type_name}'"
        )
    wide = widened(x)  # round two-byte floats once, at the end
    return narrowed(_at_decimals(xp, wide, wide.dtype.type(_ten_to(decimals)), decimals), x.dtype)


def _ten_to(decimals: int) -> np.float64:
    # overflows to infinity, where a Python float would raise
    return np.float64(10.0) ** abs(decimals)


def _at_decimals(m: Any, x: Any, ten: Any, decimals: int) -> Any:
    return m.rint(x * ten) / ten if decimals > 0 else m.rint(x / ten) * ten


round_decimals_op = defop(
    "round_decimals",
    "input",
    overload="round.decimals",
    forward=_round_decimals,
    formula=Formula(
        lambda m, x, *, decimals: _at_decimals(m, x, float(_ten_to(decimals)), decimals)
    ),
    vjp={"input": zero_gradient},
    jvp="elementwise",
    elementwise=True,
    grad_name="RoundBackward1",
    traits="steps",
    title="round",
    samples=elementwise(REAL, params=({"decimals": 1}, {"decimals": -1})),
)


class _Unset(int):
    """The default of `decimals`: 0 digits, but distinct from an explicit 0, which selects another
    overload.
    """


_DEFAULT = _Unset()


@public(methods="=", inplace="=", out="found")
def round(input: Tensor, *, decimals: int = _DEFAULT) -> Tensor:
    """Round each element to the nearest integer, or to `decimals` digits. Halves go to the even
    neighbor.

    Args:
        input: any shape, a real dtype.
        decimals: digits after the point; negative ones count before it. Default: 0.

    >>> import pellucid as torch
    >>> torch.round(torch.tensor([0.5, 1.5, 2.51]))
    tensor([0., 2., 3.])
    """
    require_tensor(input, "round")
    if decimals is _DEFAULT:
        return round_op.call(input)
    if isinstance(decimals, bool):
        raise ArgumentTypeError("round(): argument 'decimals' must be int, not bool")
    if not hasattr(decimals, "__index__"):
        raise ArgumentTypeError(
            f"round() received an invalid combination of arguments - got (Tensor, decimals={type_name(decimals)}), but expected "
            "one of:"
        )
    if decimals == 0:
        return titled(round_op.call(input), "RoundBackward1", of=(input,))
    return round_decimals_op.call(input, decimals=decimals)


@public(namespace="special", names="round", out="found")
def _round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """See :func:`round`.

    >>> import pellucid as torch
    >>> torch.special.round(torch.tensor(2.51))
    tensor(3.)
    """
    return round(input, decimals=decimals)


def _all_finite(xp: Any, x: np.ndarray) -> Any:
    infinity = _INFINITIES.get(x.dtype)
    if infinity is None or not x.size:
        return np.logical_and.reduce(xp.isfinite(x), None)
    return np.maximum.reduce(x.view(np.uint16) & 0x7FFF, None) < infinity


# bit patterns of two-byte infinities
_INFINITIES = {kind: int(np.array(np.inf, kind).view(np.uint16)) for kind in HALVES}


@functools.lru_cache(64)
def _instead(kind: Any, nan: Any, posinf: Any, neginf: Any) -> list[Any]:
    """Return the numbers that replace NaN and the infinities."""
    limits = dtypes.finfo(dtypes.BY_NUMPY[kind])
    return [
        kind.type(usual if given is None else given)
        for given, usual in ((nan, 0.0), (posinf, limits.max), (neginf, limits.min))
    ]


def _nan_to_num(
    xp: Any, x: Any, *, nan: float | None, posinf: float | None, neginf: float | None
) -> Any:
    kind = x.dtype
    if kind.kind not in "fVcW":
        return x.copy()
    if kind.kind in "cW":
        parts = [
            _nan_to_num(xp, part, nan=nan, posinf=posinf, neginf=neginf)
            for part in (x.real, x.imag)
        ]
        return xp.make_complex(*parts)
    if type(x) is np.ndarray and x.size < _MANY and _all_finite(xp, x):
        return x.copy()  # the usual case
    numbers = _instead(kind, nan, posinf, neginf)
    run = fused("instead", x, least=_MANY) if type(x) is np.ndarray else None
    if run is not None:
        return with_numbers(run, x, *map(float, numbers)) if kind in HALVES else run(x, *numbers)
    made = xp.where(x == math.inf, numbers[1], x)
    made = xp.where(x == -math.inf, numbers[2], made)
    return xp.where(xp.isnan(x), numbers[0], made)


_MANY = 1 << 12  # from this many elements on, a kernel is used

FORMULAS["instead"] = Formula(
    lambda m, x, *, nan, posinf, neginf: m.where(
        m.isnan(x),
        nan,
        m.where(m.equal(x, math.inf), posinf, m.where(m.equal(x, -math.inf), neginf, x)),
    )
)


def _finite(
    m: Any, x: Any, *, nan: float | None, posinf: float | None, neginf: float | None
) -> Any:
    infinite = m.isinf(x)
    high, low = (
        m.largest(x) if posinf is None else posinf,
        -m.largest(x) if neginf is None else neginf,
    )
    made = m.where(infinite & (x > 0), high, m.where(infinite & (x < 0), low, x))
    return m.where(m.isnan(x), 0.0 if nan is None else nan, made)


def _onnx_nan_to_num(c: Any) -> Any:
    if c.dtype.kind != "f" or c.dtype.itemsize < 4:
        raise c.refuse(f"of {c.dtype.name}")
    limits = np.finfo(c.dtype)
    low, high, nan = c.p["neginf"], c.p["posinf"], c.p["nan"]
    out = c.emit(
        "Where",
        c.emit("Equal", c[0], c.number(np.inf)),
        c.number(limits.max if high is None else high),
        c[0],
    )
    out = c.emit(
        "Where",
        c.emit("Equal", c[0], c.number(-np.inf)),
        c.number(limits.min if low is None else low),
        out,
    )
    return c.emit("Where", c.emit("IsNaN", c[0]), c.number(0.0 if nan is None else nan), out)


nan_to_num_op = defop(
    "nan_to_num",
    "input",
    forward=_nan_to_num,
    formula=Formula(_finite, "fhib", rounds_each=True),
    vjp={"input": lambda F, g, input: F.where(F.isfinite(input), g, 0)},
    jvp="elementwise",
    elementwise=True,
    lies="input",
    onnx=_onnx_nan_to_num,
    samples=elementwise(REAL, params=({"nan": None, "posinf": None, "neginf": None},)),
)


@public(methods="=", inplace="=", out="like")
def nan_to_num(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """Replace NaN and infinities by numbers.

    Args:
        input: any shape.
        nan: replaces NaN. Default: 0.
        posinf, neginf: replace the infinities. Default: the largest and smallest finite number of
            the dtype.

    >>> import pellucid as torch
    >>> torch.nan_to_num(torch.tensor([float("nan"), float("-inf"), 1.0]), neginf=-5.0)
    tensor([ 0., -5.,  1.])
    """
    return nan_to_num_op.call(
        require_tensor(input, "nan_to_num"), nan=nan, posinf=posinf, neginf=neginf
    )


# ---- floating-point numbers taken apart -------------------------------------------------------
def _copysign_input(F: Any, g: Any, input: Any, out: Any) -> Any:
    return F.where(input == 0, 0, g * (out / input))


copysign = binary(
    "copysign",
    "copysign",
    {
        "input": _copysign_input,
        "other": lambda F, other_shape, other_dtype: zero_gradient(F, other_shape, other_dtype),
    },
    promote="float",
    numbers="other",
    domains=(POSITIVE, POSITIVE),
    variant=overloads("CopysignBackward0", "CopysignBackward1"),
    doc="The size of `input` with the sign of `other`.",
    example="torch.copysign(torch.tensor([1.0, -2.0]), -1)",
    shows="tensor([-1., -2.])",
)

nextafter = binary(
    "nextafter",
    "nextafter",
    {
        "input": lambda F, g, input, other: F.where(F.eq(input, other), 0.0, g),
        "other": lambda F, other_shape, other_dtype: zero_gradient(F, other_shape, other_dtype),
    },
    doc="The next number after `input` towards `other`.",
    example="torch.nextafter(torch.tensor([1.0], dtype=torch.float16), torch.tensor([2.0], dtype=torch.float16))",
    shows="tensor([1.0010], dtype=torch.float16)",
)

Frexp = named("frexp", "mantissa exponent")


def _frexp(xp: Any, x: Any) -> Any:
    if x.dtype.kind not in "fV":
        raise OperationError("torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = xp.frexp(x)
    return mantissa, exponent.astype(np.int32)


frexp_op = defop(
    "frexp",
    "input",
    forward=_frexp,
    vjp=lambda F, g, out1: (
        g[0] * F.pow(2.0, -out1) if not F.raw else g[0] * F.exp2(-out1.astype(g[0].dtype)),
    ),
    outputs=2,
    aval=lambda x: [x, (x[0], np.dtype(np.int32))],
    batch="leading",
    samples=elementwise(REAL),
)


@public(
    methods="=",
    out=(
        "torch.frexp() expects mantissa to have dtype {wants} but got {got}",
        "torch.frexp() expects exponent to have int dtype but got {got}",
    ),
)
def frexp(input: Tensor) -> Any:
    """Mantissas in [0.5, 1) and integer exponents: `input = mantissa * 2 ** exponent`.

    >>> import pellucid as torch
    >>> torch.frexp(torch.tensor([8.0])).exponent
    tensor([4], dtype=torch.int32)
    """
    return Frexp(*frexp_op.call(require_tensor(input, "frexp")))


_EXPONENTS = (dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)


def _ldexp(xp: Any, x: Any, exponent: Any) -> Any:
    # Larger exponents change nothing, and NumPy takes exponents as C ints.
    return xp.ldexp(x, xp.clip(exponent.astype(np.int64), -5000, 5000).astype(np.int32))


# A number times an integer power of two, in the number's dtype. It is exact even if the power alone
# would overflow.
ldexp_op = defop(
    "ldexp",
    "input other",
    forward=_ldexp,
    vjp={"input": lambda F, g, other: F.ldexp(g, other)},
    aval=lambda x, other: (np.broadcast_shapes(x[0], other[0]), x[1]),
    elementwise=True,
    samples=lambda rng: [Sample((rng.standard_normal((2, 3)), np.array([[1], [-3]])))],
)


def _holds_powers(self: Tensor, other: Any = None, **_: Any) -> None:
    if self.dtype.is_integral and not (isinstance(other, Tensor) and other.dtype.is_complex):
        raise DtypeError(
            f"ldexp can't be cast to the desired output type {self.dtype.scalar_type_name}"
        )


def _powers_written(out: Tensor, args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
    for x in (*args, *given.values()):
        _holds_powers(out, x)
    return {}


def _ldexp_gradients(g: Any, needs: Any, other: Any, out: Any) -> tuple[Any, Any]:
    return (
        g * 2.0**other if needs["input"] else None,
        g * out * math.log(2.0) if needs["other"] else None,
    )


@public(methods="=", inplace="=", out=Asked("True", _powers_written))
@one_node("Ldexp", "input other", "other_for_input out", _ldexp_gradients)
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """`input * 2 ** other`.

    >>> import pellucid as torch
    >>> torch.ldexp(torch.tensor([1.0]), torch.tensor([3]))
    tensor([8.])
    """
    require_tensor(input, "ldexp")
    require_tensor(other, "ldexp", "other", 2)
    if input.dtype.is_floating_point and other.dtype is dtypes.bool_:
        raise UnsupportedError("\"ldexp_cpu_exp\" not implemented for 'Bool'")
    if input.dtype.is_floating_point and other.dtype in _EXPONENTS:
        return titled(ldexp_op.call(input, other), "Ldexp", of=(input, other))
    exponent = other
    if other.dtype.itemsize == 2 and input.dtype is not other.dtype:
        # compute the power in the dtype of the result
        exponent = F.cast(other, dtype=dtypes.promote_types(input.dtype, other.dtype).numpy)
    return titled(F.mul(input, F.pow(2.0, exponent)), "Ldexp", of=(input, other))


before_writing("ldexp_", _holds_powers)
