"""What each element-wise operation computes for one vector of elements: the forward rules of `ops`, in registers.

An operation is a function of a `Maker`, its arguments as `Num`s, and its parameters. Formulas are NumPy's, operation by operation,
so that every dtype rounds where the eager engine rounds; the fused formulas of `activations` stand in for float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from . import activations
from . import ufunc as elementwise
from .values import HAS_C_FUNCTIONS, Maker, Num, Weak, available, is_float, is_half, itemsize, numpy_dtype

__all__ = ["STEPS", "compute", "supports"]


class Rule(NamedTuple):
    """How an operation is generated.

    `args` is "same" (all arguments take the result's dtype), "compare" (they are promoted with each other, the result is bool)
    or "own" (they come as they are). `kinds` names the dtypes of the arguments that are served: letters of f (float32 and
    float64), h (two-byte floats), i (integers), b (bool), s (float32 alone).
    """

    function: Callable[..., Num]
    args: str = "same"
    kinds: str = "fhib"
    libm: bool = False


STEPS: dict[str, Rule] = {}


def _define(names: str, function: Callable[..., Num], args: str = "same", kinds: str = "fhib", libm: bool = False) -> None:
    for name in names.split():
        STEPS[name] = Rule(function, args, kinds, libm)


# ---- arithmetic -------------------------------------------------------------------------------
_define("add", lambda m, a, b: a + b)
_define("sub", lambda m, a, b: a - b, kinds="fhi")
_define("mul", lambda m, a, b: a * b)
_define("div", lambda m, a, b: a / b, kinds="fh")
_define("neg", lambda m, a: -a, kinds="fhi")
_define("abs", lambda m, a: m.abs(a))
_define("conj", lambda m, a: a)
_define("square", lambda m, a: a * a, kinds="fhi")
_define("reciprocal", lambda m, a: 1 / a, kinds="fh")
_define("sqrt", lambda m, a: m.sqrt(a), kinds="fh")
_define("maximum", lambda m, a, b: m.maximum(a, b))
_define("minimum", lambda m, a, b: m.minimum(a, b))
_define("squared_difference", lambda m, a, b: (a - b) * (a - b), kinds="fhi")
_define("deg2rad", lambda m, a: a * (math.pi / 180), kinds="fh")
_define("rad2deg", lambda m, a: a * (180 / math.pi), kinds="fh")


def _rsqrt(m: Maker, a: Num) -> Num:
    return m.cast(1 / m.sqrt(m.wide(a)), a.kind)


def _sign(m: Maker, a: Num) -> Num:
    if a.kind == "bool":
        return a
    zero = m.number(0, a.kind)
    return m.where(a > 0, m.number(1, a.kind), zero if a.kind.startswith("u") else m.where(a < 0, m.number(-1, a.kind), zero))


def _fmax(m: Maker, a: Num, b: Num) -> Num:
    return m.where((a >= b) | b.isnan() if is_float(a.kind) else a >= b, a, b)


def _fmin(m: Maker, a: Num, b: Num) -> Num:
    return m.where((a <= b) | b.isnan() if is_float(a.kind) else a <= b, a, b)


def _addcmul(m: Maker, x: Num, a: Num, b: Num, *, value: float = 1) -> Num:
    product = m.wide(a) * m.wide(b)
    return m.cast(m.wide(x) + (product if value == 1 else product * value), x.kind)


def _addcdiv(m: Maker, x: Num, a: Num, b: Num, *, value: float = 1) -> Num:
    quotient = m.wide(a) / m.wide(b)
    return m.cast(m.wide(x) + (quotient if value == 1 else quotient * value), x.kind)


def _lerp(m: Maker, start: Num, end: Num, weight: Num) -> Num:
    a, b, w = m.wide(start), m.wide(end), m.wide(weight)
    span = b - a
    return m.cast(m.where(m.abs(w) < 0.5, a + w * span, b - span * (1 - w)), start.kind)


def _lerp_number(m: Maker, start: Num, end: Num, *, weight: float) -> Num:
    a, b = m.wide(start), m.wide(end)
    span = b - a
    return m.cast(a + weight * span if abs(weight) < 0.5 else b - span * (1 - weight), start.kind)


_define("rsqrt", _rsqrt, kinds="fh")
_define("sign sgn", _sign)
_define("fmax", _fmax)
_define("fmin", _fmin)
_define("addcmul", _addcmul, kinds="fhi")
_define("addcdiv", _addcdiv, kinds="fh")
_define("lerp", _lerp, kinds="fh")
_define("lerp_number", _lerp_number, kinds="fh")


# ---- division with rest -----------------------------------------------------------------------
def _remainder_of_c(m: Maker, a: Num, b: Num) -> Num:
    if is_float(a.kind):
        return m.function("fmod", a, b)
    op = "urem" if a.kind.startswith("u") else "srem"
    ctype = a.value.ctype
    return Num(m, m.f.emit(f"{op} {ctype} {a.value.name}, {b.value.name}", ctype), a.kind)


def _divided(m: Maker, a: Num, b: Num) -> Num:
    op = "udiv" if a.kind.startswith("u") else "sdiv"
    ctype = a.value.ctype
    return Num(m, m.f.emit(f"{op} {ctype} {a.value.name}, {b.value.name}", ctype), a.kind)


def _whole_operands(m: Maker, a: Num, b: Num) -> tuple[Num, Num, Num]:
    """a, a divisor for which the processor's division is defined, and where it was replaced (x / -1 overflows for one x)."""
    minus = b.eq(-1) if not b.kind.startswith("u") else m.number(False, "bool")
    return a, m.where(minus, m.number(1, b.kind), b), minus


def _remainder(m: Maker, a: Num, b: Num) -> Num:
    if is_float(a.kind):
        rest = _remainder_of_c(m, a, b)
        moved = m.where((b < 0) ^ (rest < 0), rest + b, rest)
        zero = m.copysign(m.number(0, a.kind), b)
        return m.where(b.eq(0), rest, m.where(rest.eq(0), zero, moved))
    a, safe, minus = _whole_operands(m, a, b)
    rest = _remainder_of_c(m, a, safe)
    if a.kind.startswith("u"):
        return rest
    return m.where(minus, m.number(0, a.kind), m.where(rest.ne(0) & ((rest < 0) ^ (safe < 0)), rest + safe, rest))


def _fmod(m: Maker, a: Num, b: Num) -> Num:
    if is_float(a.kind):
        return _remainder_of_c(m, a, b)
    a, safe, minus = _whole_operands(m, a, b)
    return m.where(minus, m.number(0, a.kind), _remainder_of_c(m, a, safe))


def _floor_divide(m: Maker, a: Num, b: Num) -> Num:
    if is_float(a.kind):
        rest = _remainder_of_c(m, a, b)
        exact = (a - rest) / b
        exact = m.where(rest.ne(0) & ((b < 0) ^ (rest < 0)), exact - 1.0, exact)
        low = m.floor(exact)
        low = m.where(exact - low > 0.5, low + 1.0, low)
        low = m.where(exact.eq(0), m.copysign(m.number(0, a.kind), a / b), low)
        return m.where(b.eq(0), a / b, low)
    a, safe, minus = _whole_operands(m, a, b)
    quotient = _divided(m, a, safe)
    if a.kind.startswith("u"):
        return quotient
    rest = a - quotient * safe
    quotient = m.where(rest.ne(0) & ((rest < 0) ^ (safe < 0)), quotient - 1, quotient)
    return m.where(minus, -a, quotient)


def _trunc_divide(m: Maker, a: Num, b: Num) -> Num:
    if is_float(a.kind):
        return m.trunc(a / b)
    a, safe, minus = _whole_operands(m, a, b)
    quotient = _divided(m, a, safe)
    return quotient if a.kind.startswith("u") else m.where(minus, -a, quotient)


DIVISIONS = ("floor_divide", "trunc_divide", "remainder", "fmod")  # of integers: the divisor must be a constant, and not 0
_define("floor_divide", _floor_divide, kinds="fi", libm=True)
_define("trunc_divide", _trunc_divide, kinds="fhi")
_define("remainder", _remainder, kinds="fi", libm=True)
_define("fmod", _fmod, kinds="fi", libm=True)


# ---- rounding and parts -----------------------------------------------------------------------
_define("floor", lambda m, a: m.floor(a), kinds="fhi")
_define("ceil", lambda m, a: m.ceil(a), kinds="fhi")
_define("trunc", lambda m, a: m.trunc(a), kinds="fhi")
_define("round", lambda m, a: m.rint(a), kinds="fhi")
_define("frac", lambda m, a: a - m.trunc(a), kinds="fh")
_define("copysign", lambda m, a, b: m.copysign(a, b), kinds="fh")


def _round_decimals(m: Maker, a: Num, *, decimals: int) -> Num:
    ten = 10.0 ** abs(decimals)
    return m.rint(a * ten) / ten if decimals > 0 else m.rint(a / ten) * ten


def _nan_to_num(m: Maker, a: Num, *, nan: float | None, posinf: float | None, neginf: float | None) -> Num:
    if not is_float(a.kind):
        return a
    most = float(_largest(a.kind))
    high, low = most if posinf is None else posinf, -most if neginf is None else neginf
    made = m.where(a.isnan(), m.number(0.0 if nan is None else nan, a.kind), a)
    made = m.where(a.eq(math.inf), m.number(high, a.kind), made)
    return m.where(a.eq(-math.inf), m.number(low, a.kind), made)


def _largest(kind: str) -> Any:
    import ml_dtypes

    return ml_dtypes.finfo(numpy_dtype(kind)).max


_define("round_decimals", _round_decimals, kinds="fh")
_define("nan_to_num", _nan_to_num)


# ---- bits -------------------------------------------------------------------------------------
def _shift(m: Maker, a: Num, b: Num, op: str) -> Num:
    bits = 8 * itemsize(a.kind)
    inside = (b < bits) & (b >= 0) if not b.kind.startswith("u") else b < bits
    safe = m.where(inside, b, m.number(0, b.kind))
    ctype = a.value.ctype
    made = Num(m, m.f.emit(f"{op} {ctype} {a.value.name}, {safe.value.name}", ctype), a.kind)
    beyond = m.number(0, a.kind) if op != "ashr" else m.where(a < 0, m.number(-1, a.kind), m.number(0, a.kind))
    return m.where(inside, made, beyond)


_define("bitwise_and", lambda m, a, b: a & b, kinds="ib")
_define("bitwise_or", lambda m, a, b: a | b, kinds="ib")
_define("bitwise_xor", lambda m, a, b: a ^ b, kinds="ib")
_define("bitwise_not", lambda m, a: ~a, kinds="ib")
_define("bitwise_left_shift", lambda m, a, b: _shift(m, a, b, "shl"), kinds="i")
_define("bitwise_right_shift", lambda m, a, b: _shift(m, a, b, "lshr" if a.kind.startswith("u") else "ashr"), kinds="i")

# ---- comparisons and logic --------------------------------------------------------------------
_define("eq", lambda m, a, b: a.eq(b), "compare")
_define("ne", lambda m, a, b: a.ne(b), "compare")
_define("lt", lambda m, a, b: a < b, "compare")
_define("le", lambda m, a, b: a <= b, "compare")
_define("gt", lambda m, a, b: a > b, "compare")
_define("ge", lambda m, a, b: a >= b, "compare")
_define("logical_and", lambda m, a, b: m.cast(a, "bool") & m.cast(b, "bool"), "own")
_define("logical_or", lambda m, a, b: m.cast(a, "bool") | m.cast(b, "bool"), "own")
_define("logical_xor", lambda m, a, b: m.cast(a, "bool") ^ m.cast(b, "bool"), "own")
_define("logical_not", lambda m, a: ~m.cast(a, "bool"), "own")


def _test(function: Callable[[Maker, Num], Num]) -> Callable[[Maker, Num], Num]:
    return lambda m, a: function(m, a) if is_float(a.kind) else m.number(False, "bool")


def _signbit(m: Maker, a: Num) -> Num:
    if is_float(a.kind):
        return m.copysign(m.number(1, a.kind), a) < 0
    return m.number(False, "bool") if a.kind.startswith("u") or a.kind == "bool" else a < 0


_define("isnan", _test(lambda m, a: a.isnan()), "own")
_define("isinf", _test(lambda m, a: m.abs(a).eq(math.inf)), "own")
_define("isposinf", _test(lambda m, a: a.eq(math.inf)), "own")
_define("isneginf", _test(lambda m, a: a.eq(-math.inf)), "own")
_define("isfinite", lambda m, a: m.abs(a) < math.inf if is_float(a.kind) else m.number(True, "bool"), "own")
_define("isreal", lambda m, a: m.number(True, "bool"), "own")
_define("signbit", _signbit, "own")

# ---- choices ----------------------------------------------------------------------------------
_define("cast", lambda m, a, **_: a)
_define("where", lambda m, c, a, b: m.where(c, a, b), "choice")
_define("masked_fill", lambda m, x, c, v: m.where(c, v, x), "choice")


def _clamp(m: Maker, a: Num, *, min: Any, max: Any) -> Num:
    if min is not None:
        a = m.maximum(a, min)
    return a if max is None else m.minimum(a, max)


def _clamp_tensor(m: Maker, a: Num, *bounds: Num | None) -> Num:
    low, high = bounds
    a = a if low is None else m.maximum(a, low)
    return a if high is None else m.minimum(a, high)


_define("clamp", _clamp, kinds="fhi")
_define("clamp_tensor", _clamp_tensor)
_define("clamp_min_number", lambda m, a, *, low: m.maximum(a, low))
_define("minimum_number", lambda m, a, *, high: m.minimum(a, high))
_define("heaviside", lambda m, a, v: m.where(a.eq(0), v, m.where(a > 0, m.number(1, a.kind), m.number(0, a.kind))), kinds="fhi")

# ---- elementary functions ---------------------------------------------------------------------
for _names in (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "erf", "erfc", "sin", "cos", "tan", "sinh", "cosh", "tanh", "hypot",
    "asin arcsin", "acos arccos", "atan arctan", "asinh arcsinh", "acosh arccosh", "atanh arctanh", "atan2 arctan2",
):  # fmt: skip
    _theirs = _names.split()[-1]
    _define(_names.split()[0], lambda m, *args, name=_theirs: m.function(name, *args), kinds="fh", libm=True)


def _sigmoid(m: Maker, a: Num) -> Num:
    if a.kind == "float64":
        return 1 / (m.exp(-a) + 1)
    return m.function("sigmoid", a)


def _pow(m: Maker, a: Num, b: Num | float) -> Num:
    if not is_float(a.kind):
        if isinstance(b, Num) or int(b) != b or not 0 <= b <= 64:
            raise NotImplementedError("powers of integers with exponents that are not small constants")
        made = m.number(1, a.kind)
        for bit in bin(int(b))[2:]:
            made = made * made
            made = made * a if bit == "1" else made
        return made
    if not isinstance(b, Num):
        # The exponents that NumPy treats by themselves.
        simple = {0: lambda: m.number(1, a.kind), 0.5: lambda: m.sqrt(a), 1: lambda: a, 2: lambda: a * a, 3: lambda: a * a * a}
        simple[-1] = lambda: 1 / a
        if b in simple:
            return simple[b]()
    return m.function("pow", a, m.cast(b, a.kind))


def _logaddexp(m: Maker, a: Num, b: Num) -> Num:
    gap = a - b
    top = m.where(gap > 0, a, b)
    made = top + m.log1p(m.exp(-m.abs(gap)))
    made = m.where(a.eq(b), a + math.log(2.0), made)
    return m.where(gap.isnan() & a.ne(b), gap, made)


def _logit(m: Maker, a: Num, *, eps: float | None) -> Num:
    if eps is not None:
        a = m.minimum(m.maximum(a, eps), m.cast(1 - eps, a.kind))
    return m.log(a / (1 - a))


def _entr(m: Maker, a: Num) -> Num:
    value = m.where(a > 0, -a * m.log(m.where(a > 0, a, m.number(1, a.kind))), m.number(0, a.kind))
    return m.where(a < 0, m.number(-math.inf, a.kind), m.where(a.isnan(), a, value))


def _x_times(name: str) -> Callable[[Maker, Num, Num], Num]:
    def function(m: Maker, a: Num, b: Num) -> Num:
        zero = a.eq(0) & ~b.isnan()
        return m.where(zero, m.number(0, a.kind), a * m.function(name, m.where(zero, m.number(1, b.kind), b)))

    return function


def _sinc(m: Maker, a: Num) -> Num:
    x = m.wide(a) * math.pi
    safe = m.where(x.eq(0), m.number(1, x.kind), x)
    return m.cast(m.where(x.eq(0), m.number(1, x.kind), m.sin(safe) / safe), a.kind)


def _angle(m: Maker, a: Num) -> Num:
    return m.where(a.isnan(), a, m.where(a < 0, m.number(math.pi, a.kind), m.number(0, a.kind)))


_define("sigmoid", _sigmoid, kinds="fh", libm=True)
_define("pow", _pow, "power", kinds="fhi", libm=True)
_define("logaddexp", _logaddexp, kinds="f", libm=True)
_define("logit", _logit, kinds="fh", libm=True)
_define("entr", _entr, kinds="f", libm=True)
_define("xlogy", _x_times("log"), kinds="fh", libm=True)
_define("xlog1py", _x_times("log1p"), kinds="fh", libm=True)
_define("sinc", _sinc, kinds="fh", libm=True)
_define("angle", _angle, kinds="fh")


# ---- activations: NumPy's formulas for every dtype, the fused ones for float32 ----------------------------------------
_SQRT_HALF, _RSQRT_2PI, _TANH_SCALE = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi), math.sqrt(2 / math.pi)


def _softplus_of(m: Maker, a: Num) -> Num:
    return m.maximum(a, 0) + m.log1p(m.exp(-m.abs(a)))


def _elu(m: Maker, a: Num, *, alpha: float, scale: float, input_scale: float) -> Num:
    return m.where(a <= 0, (alpha * scale) * m.expm1(a * input_scale), a * scale)


def _gelu(m: Maker, a: Num) -> Num:
    x = m.wide(a)
    if x.kind == "float32":
        return m.cast(m.function("gelu", x), a.kind)
    return m.cast(x * (0.5 * (1 + m.erf(x * _SQRT_HALF))), a.kind)


def _gelu_slope(m: Maker, a: Num) -> Num:
    x = m.wide(a)
    if x.kind == "float32":
        return m.cast(m.function("gelu_slope", x), a.kind)
    near = m.minimum(m.maximum(x, -40), 40)  # infinity times zero is no number
    return m.cast(0.5 * (1 + m.erf(x * _SQRT_HALF)) + near * m.exp(near * near * -0.5) * _RSQRT_2PI, a.kind)


def _softplus(m: Maker, a: Num, *, beta: float, threshold: float) -> Num:
    x = a * beta
    return m.where(x > threshold, a, _softplus_of(m, x) / beta)


def _bce(m: Maker, a: Num, t: Num) -> Num:
    return (t - 1) * m.maximum(m.log1p(-a), -100) - t * m.maximum(m.log(a), -100)


def _huber(m: Maker, a: Num, t: Num, *, delta: float, scale: float) -> Num:
    d = m.abs(a - t)
    return m.where(d < delta, d * d * (0.5 * scale), (d - 0.5 * delta) * (delta * scale))


def _dropout(m: Maker, a: Num, keep: Num, *, scale: float) -> Num:
    return m.cast(a, a.kind) * m.where(m.cast(keep, "bool"), m.number(scale, a.kind), m.number(0, a.kind))


def _relu_backward(m: Maker, g: Num, x: Num) -> Num:
    return m.where(x <= 0, m.number(0, g.kind), g)


_define("relu", lambda m, a: m.maximum(a, 0), kinds="fhi")
_define("relu_backward", _relu_backward, kinds="fh")
_define("hardtanh", lambda m, a, *, low, high: m.minimum(m.maximum(a, low), high), kinds="fh")
_define("leaky_relu", lambda m, a, *, slope: m.where(a > 0, a, a * slope), kinds="fh")
_define("elu", _elu, kinds="fh", libm=True)
_define("gelu", _gelu, kinds="fh", libm=True)
_define("gelu_slope", _gelu_slope, kinds="fh", libm=True)
_define("gelu_tanh", lambda m, a: 0.5 * a * (1 + m.tanh((a + a * a * a * 0.044715) * _TANH_SCALE)), kinds="fh", libm=True)
_define("silu", lambda m, a: a / (1 + m.exp(-a)), kinds="fh", libm=True)
_define("mish", lambda m, a: a * m.tanh(_softplus_of(m, a)), kinds="fh", libm=True)
_define("softplus", _softplus, kinds="fh", libm=True)
_define("softplus_of", _softplus_of, kinds="fh", libm=True)
_define("log_sigmoid", lambda m, a: m.minimum(a, 0) - m.log1p(m.exp(-m.abs(a))), kinds="fh", libm=True)
_define("hardsigmoid", lambda m, a: m.minimum(m.maximum(a + 3, 0), 6) / 6, kinds="fh")
_define("hardswish", lambda m, a: a * m.minimum(m.maximum(a + 3, 0), 6) / 6, kinds="fh")
_define("binary_cross_entropy", _bce, kinds="fh", libm=True)
_define("binary_cross_entropy_with_logits", lambda m, a, t: (1 - t) * a + _softplus_of(m, -a), kinds="fh", libm=True)
_define("huber", _huber, kinds="f")
_define("dropout", _dropout, "keep", kinds="fh")

# Names of the table of activations whose fused formula computes the record of that name, with its parameters in order.
_FUSED = {
    "leaky_relu": ("slope",), "gelu": (), "gelu_slope": (), "gelu_tanh": (), "silu": (), "mish": (), "softplus": ("beta", "threshold"),
    "log_sigmoid": (),
}  # fmt: skip


def _fused(name: str, names: tuple[str, ...] | None = None) -> Callable[..., Num]:
    inputs, outputs = activations.EXPRESSIONS[name]

    def function(m: Maker, *args: Num, **params: float) -> Num:
        numbers = [params[n] for n in (params if names is None else names)]
        values = [*(a.value for a in args), *(m.number(p, "float32").value for p in numbers)]
        made = elementwise.evaluate(m.f, m.ctype("float32"), outputs, dict(zip(inputs, values, strict=True)))
        return Num(m, made[0], "float32")

    return function


FUSED = {name: _fused(name, names) for name, names in _FUSED.items()}
for _name in activations.EXPRESSIONS:
    # The backward kernels: (g, x or the result, numbers).
    if _name.endswith("_backward") and _name not in STEPS:
        _define(_name, _fused(_name), kinds="s")


# ---- the entries ------------------------------------------------------------------------------
def _letter(kind: str) -> str:
    return "b" if kind == "bool" else "h" if is_half(kind) else "f" if is_float(kind) else "i"


def _served(rule: Rule, kind: str) -> bool:
    return (_letter(kind) in rule.kinds or (kind == "float32" and "s" in rule.kinds)) and available(kind)


def common(kinds: list[str]) -> str | None:
    """The dtype that comparisons are made in; None if there is none that is served."""
    kinds = sorted(set(kinds))
    if len(kinds) == 1:
        return kinds[0]
    from ... import dtypes

    made = dtypes.BY_NUMPY[numpy_dtype(kinds[0])]
    for kind in kinds[1:]:
        made = dtypes.promote_types(made, dtypes.BY_NUMPY[numpy_dtype(kind)])
    return made.numpy.name if available(made.numpy.name) else None


def _fractions(given: tuple[Any, ...], kind: str) -> bool:
    """Whether a float meets integers, or a larger number bools: the engine would promote them first, with other results."""
    if kind == "bool":
        return any(not isinstance(x, str) and x not in (0, 1, None) for x in given)
    return not is_float(kind) and any(isinstance(x, float) and not (0 <= x < 128 and x.is_integer()) for x in given)


def supports(op: str, dtypes_in: tuple[Any, ...], dtype_out: str, params: tuple[tuple[str, Any], ...] = ()) -> bool:
    """Whether a step can be generated: `dtypes_in` holds a dtype's name for each argument, None for one that is a number
    known at run time, the number itself for a constant.

    >>> supports("add", ("float32", 2.0), "float32"), supports("lgamma", ("float32",), "float32")
    (True, False)
    >>> supports("floor_divide", ("int64", 3), "int64"), supports("floor_divide", ("int64", "int64"), "int64")
    (True, False)
    """
    rule = STEPS.get(op)
    arrays = [k for k in dtypes_in if isinstance(k, str)]
    if rule is None or not all(available(k) for k in (*arrays, dtype_out)) or (rule.libm and not HAS_C_FUNCTIONS):
        return False
    try:
        if any(isinstance(p, complex) or (isinstance(p, float) and not is_float(dtype_out)) for _, p in params):
            return False
        if rule.args == "compare":
            kind = common(arrays or ["float64"])
            return kind is not None and dtype_out == "bool" and _served(rule, kind) and not _fractions(dtypes_in, kind)
        if rule.args == "own":
            return dtype_out == "bool" and all(_served(rule, k) for k in arrays)
        if rule.args == "keep":
            return dtypes_in[0] == dtype_out and _served(rule, dtype_out)
    except TypeError:
        return False
    if _fractions(dtypes_in, dtype_out):
        return False
    if op in DIVISIONS and not is_float(dtype_out):
        return _served(rule, dtype_out) and isinstance(dtypes_in[1], (int, float)) and int(dtypes_in[1]) != 0
    if op == "pow" and not is_float(dtype_out):
        other = dtypes_in[1]
        return _served(rule, dtype_out) and isinstance(other, int) and 0 <= other <= 64 and isinstance(dtypes_in[0], str)
    return _served(rule, dtype_out)


def _is_number(x: Any) -> bool:
    return not isinstance(x, Num) or isinstance(x, Weak)


def compute(m: Maker, op: str, args: list[Any], dtype: str, params: tuple[tuple[str, Any], ...]) -> Num:
    """The result of a step; arguments are `Num`s (`Weak` ones for numbers), Python numbers, or None where an optional one is left out."""
    rule, given = STEPS[op], dict(params)
    if rule.args == "compare":
        kind = common([a.kind for a in args if not _is_number(a)] or ["float64"])
        assert kind is not None
        return rule.function(m, *[m.cast(a, kind) for a in args])
    if rule.args == "own":
        return rule.function(m, *[a if isinstance(a, Num) else m.number(a, "bool") for a in args], **given)
    if rule.args == "choice":
        place = 1 if op == "masked_fill" else 0
        return rule.function(m, *[m.cast(a, "bool" if i == place else dtype) for i, a in enumerate(args)])
    if rule.args == "keep":
        return m.cast(rule.function(m, m.cast(args[0], dtype), args[1], **given), dtype)
    if rule.args == "power":
        return rule.function(m, m.cast(args[0], dtype), m.cast(args[1], dtype) if isinstance(args[1], Num) else args[1])
    if op in ("mul", "div") and is_half(dtype) and any(_is_number(a) for a in args):
        # Numbers are not rounded to two bytes (`wide_numbers` of the record).
        wide = [m.cast(a, "float32") if _is_number(a) else m.wide(m.cast(a, dtype)) for a in args]
        return m.cast(rule.function(m, *wide), dtype)
    function = FUSED[op] if dtype == "float32" and op in FUSED else rule.function
    return m.cast(function(m, *[a if a is None else m.cast(a, dtype) for a in args], **given), dtype)
