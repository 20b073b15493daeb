"""Translations of elementwise operations, comparisons, reductions and searches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .graph import RULES, Context, rule

SAME = {
    "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh", "atan": "Atan", "atanh": "Atanh",
    "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "erf": "Erf", "exp": "Exp", "floor": "Floor", "log": "Log", "neg": "Neg",
    "reciprocal": "Reciprocal", "relu": "Relu", "round": "Round", "sigmoid": "Sigmoid", "sign": "Sign", "sin": "Sin",
    "sinh": "Sinh", "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh", "isnan": "IsNaN", "isinf": "IsInf",
    "alias": "Identity", "clone": "Identity", "contiguous": "Identity", "index_alias": "Identity", "conj": "Identity",
    "replaced": "Identity", "softplus_of": "Softplus",
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "pow": "Pow", "where": "Where",
    "gt": "Greater", "ge": "GreaterOrEqual", "lt": "Less", "le": "LessOrEqual", "eq": "Equal", "maximum": "Max", "minimum": "Min",
}  # fmt: skip


def _same(op: str) -> Any:
    return lambda c: c.emit(op, *c.names)


for _name, _op in SAME.items():
    RULES[_name] = _same(_op)


@rule("ne")
def _ne(c: Context) -> Any:
    return c.emit("Not", c.emit("Equal", *c.names))


def _as_bool(c: Context, k: int) -> str:
    if c.dtype == np.bool_:
        return c[k]
    return c.cast(c[k], np.bool_)


@rule("logical_not")
def _not(c: Context) -> Any:
    return c.emit("Not", _as_bool(c, 0))


@rule("logical_and", "logical_or", "logical_xor")
def _logical(c: Context) -> Any:
    return c.emit(c.step.op.removeprefix("logical_").capitalize(), _as_bool(c, 0), _as_bool(c, 1))


@rule("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not")
def _bitwise(c: Context) -> Any:
    word = c.step.op.removeprefix("bitwise_").capitalize()
    if c.dtype == np.bool_:
        return c.emit(word, *c.names)
    if c.graph.opset < 18:
        raise c.refuse("of integers needs opset 18")
    return c.emit("Bitwise" + word, *c.names)


@rule("isfinite")
def _isfinite(c: Context) -> Any:
    return c.emit("Not", c.emit("Or", c.emit("IsNaN", c[0]), c.emit("IsInf", c[0])))


@rule("cast")
def _cast(c: Context) -> Any:
    return c.cast(c[0], c.p["dtype"])


@rule("masked_fill")
def _masked_fill(c: Context) -> Any:
    return c.emit("Where", c[1], c[2], c[0])


@rule("fill")
def _fill(c: Context) -> Any:
    return c.emit("Expand", c[1], c.emit("Shape", c[0]))


@rule("square")
def _square(c: Context) -> Any:
    return c.emit("Mul", c[0], c[0])


@rule("rsqrt")
def _rsqrt(c: Context) -> Any:
    return c.emit("Reciprocal", c.emit("Sqrt", c[0]))


@rule("exp2")
def _exp2(c: Context) -> Any:
    return c.emit("Pow", c.number(2), c[0])


@rule("expm1")
def _expm1(c: Context) -> Any:
    return c.emit("Sub", c.emit("Exp", c[0]), c.number(1))


@rule("log1p")
def _log1p(c: Context) -> Any:
    return c.emit("Log", c.emit("Add", c[0], c.number(1)))


@rule("log2", "log10")
def _log_base(c: Context) -> Any:
    return c.emit("Div", c.emit("Log", c[0]), c.number(math.log(2 if c.step.op == "log2" else 10)))


@rule("logaddexp")
def _logaddexp(c: Context) -> Any:
    return c.emit("Add", c.emit("Max", *c.names), c.emit("Softplus", c.emit("Neg", c.emit("Abs", c.emit("Sub", *c.names)))))


@rule("erfc")
def _erfc(c: Context) -> Any:
    return c.emit("Sub", c.number(1), c.emit("Erf", c[0]))


@rule("trunc")
def _trunc(c: Context, x: str = "") -> Any:
    x = x or c[0]
    return c.emit("Where", c.emit("Less", x, c.number(0)), c.emit("Ceil", x), c.emit("Floor", x))


@rule("frac")
def _frac(c: Context) -> Any:
    return c.emit("Sub", c[0], _trunc(c))


@rule("remainder")
def _remainder(c: Context) -> Any:
    if c.dtype.kind in "iu":
        return c.emit("Mod", *c.names)  # the sign of the divisor, as Python's
    whole = c.emit("Floor", c.emit("Div", *c.names))
    return c.emit("Sub", c[0], c.emit("Mul", whole, c[1]))


@rule("fmod")
def _fmod(c: Context) -> Any:
    return c.emit("Mod", *c.names, fmod=1)


@rule("floor_divide")
def _floor_divide(c: Context) -> Any:
    if c.dtype.kind in "iu":
        return c.emit("Div", c.emit("Sub", c[0], c.emit("Mod", *c.names)), c[1])
    return c.emit("Floor", c.emit("Div", *c.names))


@rule("trunc_divide")
def _trunc_divide(c: Context) -> Any:
    quotient = c.emit("Div", *c.names)
    return quotient if c.dtype.kind in "iu" else _trunc(c, quotient)


@rule("addcmul", "addcdiv")
def _addc(c: Context) -> Any:
    part = c.emit("Mul" if c.step.op == "addcmul" else "Div", c[1], c[2])
    return c.emit("Add", c[0], c.emit("Mul", part, c.number(c.p["value"])))


@rule("lerp", "lerp_number")
def _lerp(c: Context) -> Any:
    weight = c[2] if c.step.op == "lerp" else c.number(c.p["weight"])
    return c.emit("Add", c[0], c.emit("Mul", weight, c.emit("Sub", c[1], c[0])))


@rule("squared_difference")
def _squared_difference(c: Context) -> Any:
    d = c.emit("Sub", c[0], c[1])
    return c.emit("Mul", d, d)


@rule("deg2rad", "rad2deg")
def _degrees(c: Context) -> Any:
    return c.emit("Mul", c[0], c.number(math.pi / 180 if c.step.op == "deg2rad" else 180 / math.pi))


@rule("clamp", "hardtanh")
def _clamp(c: Context) -> Any:
    words = ("min", "max") if c.step.op == "clamp" else ("low", "high")
    low, high = ["" if c.p[w] is None else c.number(c.p[w]) for w in words]
    return c.emit("Clip", c[0], low, *([high] if high else []))


@rule("clamp_min_number")
def _clamp_min(c: Context) -> Any:
    return c.emit("Max", c[0], c.number(c.p["low"]))


@rule("minimum_number")
def _clamp_max(c: Context) -> Any:
    return c.emit("Min", c[0], c.number(c.p["high"]))


@rule("clamp_tensor")
def _clamp_tensor(c: Context) -> Any:
    out = c.emit("Max", c[0], c[1]) if c.has(1) else c[0]
    return c.emit("Min", out, c[2]) if c.has(2) else out


# ---- activations -----------------------------------------------------------------------------
@rule("leaky_relu")
def _leaky_relu(c: Context) -> Any:
    return c.emit("LeakyRelu", c[0], alpha=float(c.p["slope"]))


@rule("elu")
def _elu(c: Context) -> Any:
    alpha, scale, input_scale = (float(c.p[w]) for w in ("alpha", "scale", "input_scale"))
    if input_scale == 1 and scale == 1:
        return c.emit("Elu", c[0], alpha=alpha)
    inner = c.emit("Mul", c[0], c.number(input_scale)) if input_scale != 1 else c[0]
    low = c.emit("Mul", c.emit("Sub", c.emit("Exp", c.emit("Min", inner, c.number(0))), c.number(1)), c.number(alpha * scale))
    return c.emit("Where", c.emit("LessOrEqual", c[0], c.number(0)), low, c.emit("Mul", c[0], c.number(scale)))


@rule("gelu")
def _gelu(c: Context) -> Any:
    part = c.emit("Add", c.emit("Erf", c.emit("Mul", c[0], c.number(math.sqrt(0.5)))), c.number(1))
    return c.emit("Mul", c.emit("Mul", c[0], c.number(0.5)), part)


@rule("gelu_tanh")
def _gelu_tanh(c: Context) -> Any:
    cube = c.emit("Mul", c.emit("Mul", c[0], c[0]), c[0])
    inner = c.emit("Add", c[0], c.emit("Mul", cube, c.number(0.044715)))
    part = c.emit("Add", c.emit("Tanh", c.emit("Mul", inner, c.number(math.sqrt(2 / math.pi)))), c.number(1))
    return c.emit("Mul", c.emit("Mul", c[0], c.number(0.5)), part)


@rule("silu")
def _silu(c: Context) -> Any:
    return c.emit("Mul", c[0], c.emit("Sigmoid", c[0]))


@rule("mish")
def _mish(c: Context) -> Any:
    return c.emit("Mul", c[0], c.emit("Tanh", c.emit("Softplus", c[0])))


@rule("hardswish")
def _hardswish(c: Context) -> Any:
    if c.graph.opset >= 14:
        return c.emit("HardSwish", c[0])
    return c.emit("Mul", c[0], c.emit("HardSigmoid", c[0], alpha=1 / 6, beta=0.5))


@rule("hardsigmoid")
def _hardsigmoid(c: Context) -> Any:
    return c.emit("HardSigmoid", c[0], alpha=1 / 6, beta=0.5)


@rule("softplus")
def _softplus(c: Context) -> Any:
    beta = float(c.p["beta"])
    scaled = c.emit("Mul", c[0], c.number(beta)) if beta != 1 else c[0]
    soft = c.emit("Softplus", scaled)
    soft = c.emit("Div", soft, c.number(beta)) if beta != 1 else soft
    return c.emit("Where", c.emit("Greater", scaled, c.number(c.p["threshold"])), c[0], soft)


@rule("log_sigmoid")
def _log_sigmoid(c: Context) -> Any:
    return c.emit("Neg", c.emit("Softplus", c.emit("Neg", c[0])))


# ---- reductions and searches -----------------------------------------------------------------
def _dims(c: Context) -> Any:
    dim = c.p.get("dim")
    return dim if dim is None or isinstance(dim, (tuple, list)) else (dim,)


def _reduction(op: str) -> Any:
    def translate(c: Context) -> Any:
        x = c[0] if c.dtype == c.out_dtype else c.cast(c[0], c.out_dtype)
        dims = _dims(c)
        if dims is not None and len(dims) == 0:
            return c.emit("Identity", x)
        return c.reduce(op, x, dims, c.p.get("keepdim", False))

    return translate


for _name, _op in {
    "sum": "ReduceSum", "sum_all": "ReduceSum", "mean": "ReduceMean", "mean_all": "ReduceMean", "prod": "ReduceProd",
    "amax": "ReduceMax", "max_all": "ReduceMax", "amin": "ReduceMin", "min_all": "ReduceMin", "logsumexp": "ReduceLogSumExp",
}.items():  # fmt: skip
    RULES[_name] = _reduction(_op)


@rule("all", "any")
def _all_any(c: Context) -> Any:
    x = c.cast(_as_bool(c, 0), np.int32)
    return c.cast(c.reduce("ReduceMin" if c.step.op == "all" else "ReduceMax", x, _dims(c), c.p["keepdim"]), np.bool_)


@rule("var", "std")
def _var(c: Context) -> Any:
    dims = _dims(c)
    shape = c.shape()
    axes = tuple(range(len(shape))) if dims is None else dims
    count = math.prod(c.fixed([shape[d] for d in axes]))
    if count - c.p["correction"] <= 0:
        raise c.refuse("of too few values")
    d = c.emit("Sub", c[0], c.reduce("ReduceMean", c[0], axes, True))
    total = c.reduce("ReduceSum", c.emit("Mul", d, d), axes, c.p["keepdim"])
    out = c.emit("Div", total, c.number(count - c.p["correction"]))
    return c.emit("Sqrt", out) if c.step.op == "std" else out


@rule("vector_norm")
def _vector_norm(c: Context) -> Any:
    dims, keepdim, order = _dims(c), c.p["keepdim"], float(c.p["ord"])
    if order == 2:
        return c.reduce("ReduceL2", c[0], dims, keepdim)
    size = c.emit("Abs", c[0])
    if order == 1:
        return c.reduce("ReduceSum", size, dims, keepdim)
    if math.isinf(order):
        return c.reduce("ReduceMax" if order > 0 else "ReduceMin", size, dims, keepdim)
    total = c.reduce("ReduceSum", c.emit("Pow", size, c.number(order)), dims, keepdim)
    return c.emit("Pow", total, c.number(1 / order))


@rule("max_dim", "min_dim")
def _extreme(c: Context) -> Any:
    word = "Max" if c.step.op == "max_dim" else "Min"
    values = c.reduce(f"Reduce{word}", c[0], (c.p["dim"],), c.p["keepdim"])
    return [values, c.emit(f"Arg{word}", c[0], axis=int(c.p["dim"]), keepdims=int(c.p["keepdim"]))]


@rule("argmax", "argmin")
def _arg(c: Context) -> Any:
    x, dim, keepdim, op = c[0], c.p["dim"], c.p["keepdim"], "ArgMax" if c.step.op == "argmax" else "ArgMin"
    if dim is not None:
        return c.emit(op, x, axis=int(dim), keepdims=int(keepdim))
    if keepdim:
        raise c.refuse("over all dimensions with keepdim=True")
    return c.emit(op, c.emit("Reshape", x, c.ints([-1])), axis=0, keepdims=0)


@rule("cumsum")
def _cumsum(c: Context) -> Any:
    x = c[0] if c.dtype == c.out_dtype else c.cast(c[0], c.out_dtype)
    return c.emit("CumSum", x, c.const(np.array(c.p["dim"], np.int64)))


@rule("topk")
def _topk(c: Context) -> Any:
    return c.emit("TopK", c[0], c.ints([c.p["k"]]), count=2, axis=int(c.p["dim"]), largest=int(c.p["largest"]), sorted=1)


@rule("sort")
def _sort(c: Context) -> Any:
    dim = int(c.p["dim"])
    return c.emit("TopK", c[0], c.ints([c.shape()[dim]]), count=2, axis=dim, largest=int(c.p["descending"]), sorted=1)
