"""Exponentials, logarithms, roots and powers of e."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.primitive import defop
from ...core.public import public
from ...core.tensor import Tensor
from ...ir.formula import Formula
from .._rules import fused_gradient, require_tensor
from .._samples import POSITIVE, elementwise
from ._direct import write_directly
from ._unary import binary, real, unary

LN2 = math.log(2.0)
LN10 = math.log(10.0)
_ABOVE_ZERO = "keep the argument above zero, `x.clamp_min(1e-8).log()`, or compute the logarithm from the scores (F.logsigmoid, F.log_softmax)"
_SHIFTED = (
    "subtract the largest value first, as torch.logsumexp and softmax do, or clamp the argument"
)
_ROOT = "add a small number under the root: `(x + 1e-8).sqrt()`"

exp = unary(
    "exp",
    "exp",
    lambda F, g, out: g * F.conj(out),
    complex=True,
    advice=_SHIFTED,
    doc="e to the power of each element.",
    example="torch.exp(torch.tensor([0.0, 1.0]))",
    shows="tensor([1.0000, 2.7183])",
    onnx="Exp",
)

exp2 = unary(
    "exp2",
    "exp2",
    lambda F, g, out: g * F.conj(out) * LN2,
    complex=True,
    onnx=lambda c: c.emit("Pow", c.number(2), c[0]),
    doc="2 to the power of each element.",
    example="torch.exp2(torch.tensor([0.0, 3.0]))",
    shows="tensor([1., 8.])",
    namespace="torch special",
)

expm1 = unary(
    "expm1",
    "expm1",
    lambda F, g, out: g * F.conj(out + 1),
    complex=True,
    onnx=lambda c: c.emit("Sub", c.emit("Exp", c[0]), c.number(1)),
    advice=_SHIFTED,
    doc="`exp(input) - 1`, exact to rounding near 0 too.",
    example="torch.expm1(torch.tensor([0.0, 1e-6]))",
    shows="tensor([0.0000e+00, 1.0000e-06])",
    namespace="torch special",
)

log = unary(
    "log",
    "log",
    lambda F, g, input: g / F.conj(input),
    domain=POSITIVE,
    complex=True,
    advice=_ABOVE_ZERO,
    doc="Natural logarithm of each element; NaN for negative numbers.",
    example="torch.log(torch.tensor([1.0, 10.0]))",
    shows="tensor([0.0000, 2.3026])",
    onnx="Log",
)

log2 = unary(
    "log2",
    "log2",
    lambda F, g, input: g / (F.conj(input) * LN2),
    domain=POSITIVE,
    complex=True,
    onnx=lambda c: c.emit("Div", c.emit("Log", c[0]), c.number(math.log(2))),
    advice=_ABOVE_ZERO,
    doc="Logarithm to base 2 of each element.",
    example="torch.log2(torch.tensor([1.0, 8.0]))",
    shows="tensor([0., 3.])",
)

log10 = unary(
    "log10",
    "log10",
    lambda F, g, input: g / (F.conj(input) * LN10),
    domain=POSITIVE,
    complex=True,
    onnx=lambda c: c.emit("Div", c.emit("Log", c[0]), c.number(math.log(10))),
    advice=_ABOVE_ZERO,
    doc="Logarithm to base 10 of each element.",
    example="torch.log10(torch.tensor([1.0, 1000.0]))",
    shows="tensor([0., 3.])",
)

log1p = unary(
    "log1p",
    "log1p",
    lambda F, g, input: g / F.conj(input + 1),
    domain=(-0.8, 3.0),
    complex=True,
    grad_name="Log1P",
    onnx=lambda c: c.emit("Log", c.emit("Add", c[0], c.number(1))),
    advice=_ABOVE_ZERO,
    doc="`log(1 + input)`, exact to rounding near 0 too.",
    example="torch.log1p(torch.tensor([0.0, 1e-6]))",
    shows="tensor([0.0000e+00, 1.0000e-06])",
    namespace="torch special",
)

sqrt = unary(
    "sqrt",
    "sqrt",
    lambda F, g, out: g / (F.conj(out) * 2),
    domain=POSITIVE,
    complex=True,
    advice=_ROOT,
    doc="Square root of each element; NaN for negative numbers.",
    example="torch.sqrt(torch.tensor([4.0, 2.0]))",
    shows="tensor([2.0000, 1.4142])",
    onnx="Sqrt",
)

rsqrt = unary(
    "rsqrt",
    Formula(lambda m, x: 1 / m.sqrt(x)),
    lambda F, g, out: g * F.conj(out * out * out) * -0.5,
    domain=POSITIVE,
    complex=True,
    onnx=lambda c: c.emit("Reciprocal", c.emit("Sqrt", c[0])),
    advice=_ROOT,
    doc="1 divided by the square root of each element.",
    example="torch.rsqrt(torch.tensor([4.0, 0.25]))",
    shows="tensor([0.5000, 2.0000])",
)


sigmoid = unary(
    "sigmoid",
    "sigmoid",
    fused_gradient("sigmoid", lambda F, g, out: g * F.conj((1 - out) * out), "out"),
    formula=Formula(lambda m, x: 1 / (m.exp(-x) + 1)),
    complex=True,
    traits="saturates",
    doc="The logistic function `1 / (1 + exp(-input))` of each element.",
    example="torch.sigmoid(torch.tensor([-1.0, 0.0, 1.0]))",
    shows="tensor([0.2689, 0.5000, 0.7311])",
    onnx="Sigmoid",
)
public(namespace="nn.functional", names="sigmoid")(sigmoid.call)
public(namespace="special", names="expit", out=True)(sigmoid.call)


def _onnx_logaddexp(c: Any) -> Any:
    return c.emit(
        "Add",
        c.emit("Max", *c.names),
        c.emit("Softplus", c.emit("Neg", c.emit("Abs", c.emit("Sub", *c.names)))),
    )


logaddexp = binary(
    "logaddexp",
    "logaddexp",
    {
        "input": lambda F, g, input, other: g / F.conj(1 + F.exp(other - input)),
        "other": lambda F, g, input, other: g / F.conj(1 + F.exp(input - other)),
    },
    complex=True,
    onnx=_onnx_logaddexp,
    doc="`log(exp(input) + exp(other))`, without overflow.",
    example="torch.logaddexp(torch.tensor([-1000.0]), torch.tensor([-1000.0]))",
    shows="tensor([-999.3068])",
    inplace=False,
)

logaddexp2 = binary(
    "logaddexp2",
    "logaddexp2",
    {
        "input": lambda F, g, input, other: g / (1 + F.exp2(other - input)),
        "other": lambda F, g, input, other: g / (1 + F.exp2(input - other)),
    },
    doc="`log2(2 ** input + 2 ** other)`, without overflow.",
    example="torch.logaddexp2(torch.tensor([-1000.0]), torch.tensor([-1000.0]))",
    shows="tensor([-999.])",
    inplace=False,
)


def _logit(m: Any, x: Any, *, eps: float | None) -> Any:
    if eps is not None:
        x = m.where(x < eps, eps, m.where(x > 1 - eps, 1 - eps, x))
    return m.log(x / (1 - x))


def _logit_grad(F: Any, g: Any, input: Any, eps: float | None) -> Any:
    slope = F.where((input == 0) | (input == 1), g * math.inf, g / (input * (1 - input)))
    if eps is None:
        return F.where((input < 0) | (input > 1), math.nan, slope)
    return F.where((input < eps) | (input > 1 - eps), 0.0, slope)


def _onnx_logit(c: Any) -> Any:
    eps = c.p["eps"]
    x = c[0] if eps is None else c.emit("Clip", c[0], c.number(eps), c.number(1 - eps))
    return c.emit("Log", c.emit("Div", x, c.emit("Sub", c.number(1), x)))


logit_op = defop(
    "logit",
    "input",
    formula=Formula(_logit),
    vjp={"input": _logit_grad},
    jvp="elementwise",
    promote="float",
    elementwise=True,
    check=real,
    onnx=_onnx_logit,
    advice=_ABOVE_ZERO,
    samples=elementwise((0.1, 0.9), params=({"eps": None}, {"eps": 0.3})),
)


@public(namespace="torch special", methods="=", inplace="=", out=True)
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """`log(input / (1 - input))`, the inverse of the sigmoid.

    Args:
        input: probabilities.
        eps: clamp `input` to [eps, 1 - eps] first; None or a negative number: NaN outside [0, 1].

    >>> import pellucid as torch
    >>> torch.logit(torch.tensor([0.5, 0.75]))
    tensor([0.0000, 1.0986])
    """
    return logit_op.call(
        require_tensor(input, "logit"), eps=None if eps is not None and eps < 0 else eps
    )


write_directly("exp_", np.exp)
write_directly("log_", np.log)
