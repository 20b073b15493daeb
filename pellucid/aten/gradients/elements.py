"""Gradients of element-wise operators."""

from __future__ import annotations

from typing import Any

from .rules import _dtype, _number, _times, rule


@rule(names="add__Tensor")
def add(A: Any, g: Any, alpha: Any) -> Any:
    return {"self": lambda: g, "other": lambda: _times(A, g, alpha)}


@rule(names="sub__Tensor")
def sub(A: Any, g: Any, alpha: Any) -> Any:
    return {
        "self": lambda: g,
        "other": lambda: A.neg(g) if alpha == 1 else A.mul.Scalar(A.neg(g), alpha),
    }


@rule(names="mul__Tensor")
def mul(A: Any, g: Any, self: Any, other: Any) -> Any:
    return {"other": lambda: A.mul.Tensor(g, self), "self": lambda: A.mul.Tensor(g, other)}


@rule(names="mul__Scalar")
def mul_number(A: Any, g: Any, other: Any) -> Any:
    return {"self": lambda: A.mul.Scalar(g, other)}


@rule(names="div__Scalar")
def div_number(A: Any, g: Any, other: Any) -> Any:
    return {"self": lambda: A.div.Scalar(g, other)}


@rule(names="div__Tensor")
def div(A: Any, g: Any, self: Any, other: Any) -> Any:
    return {
        "other": lambda: A.mul.Tensor(A.neg(g), A.div.Tensor(A.div.Tensor(self, other), other)),
        "self": lambda: A.div.Tensor(g, other),
    }


@rule(names="rsub__Scalar", number=1)
def rsub(A: Any, g: Any, alpha: Any) -> Any:
    return {"self": lambda: A.neg(g) if alpha == 1 else A.mul.Scalar(A.neg(g), alpha)}


@rule()
def neg(A: Any, g: Any) -> Any:
    return {"self": lambda: A.neg(g)}


@rule(names="pow__Tensor_Scalar")
def pow(A: Any, g: Any, self: Any, exponent: Any) -> Any:
    def gradient() -> Any:
        if exponent == 0:
            return A.zeros_like(self)
        return A.mul.Tensor(
            g, A.mul.Scalar(A.pow.Tensor_Scalar(self, exponent - 1.0), float(exponent))
        )

    return {"self": gradient}


@rule(keeps=(0,))
def exp(A: Any, g: Any, c: Any) -> Any:
    return {"self": lambda: A.mul.Tensor(g, c.out())}


@rule()
def log(A: Any, g: Any, self: Any) -> Any:
    return {"self": lambda: A.div.Tensor(g, self)}


@rule()
def sin(A: Any, g: Any, self: Any) -> Any:
    return {"self": lambda: A.mul.Tensor(g, A.cos(self))}


@rule()
def cos(A: Any, g: Any, self: Any) -> Any:
    return {"self": lambda: A.mul.Tensor(g, A.neg(A.sin(self)))}


@rule()
def abs(A: Any, g: Any, self: Any) -> Any:
    return {"self": lambda: A.mul.Tensor(g, A.sgn(self))}


@rule(keeps=(0,))
def sqrt(A: Any, g: Any, c: Any) -> Any:
    return {"self": lambda: A.div.Tensor(g, A.mul.Scalar(c.out(), 2))}


@rule(keeps=(0,))
def sigmoid(A: Any, g: Any, c: Any) -> Any:
    return {"self": lambda: A.sigmoid_backward(g, c.out())}


@rule(keeps=(0,))
def tanh(A: Any, g: Any, c: Any) -> Any:
    return {"self": lambda: A.tanh_backward(g, c.out())}


@rule(keeps=(0,))
def relu(A: Any, g: Any, c: Any) -> Any:
    return {"self": lambda: A.threshold_backward(g, c.out(), 0)}


@rule()
def gelu(A: Any, g: Any, self: Any, approximate: Any) -> Any:
    return {"self": lambda: A.gelu_backward(g, self, approximate=approximate)}


@rule(names="silu mish hardswish hardsigmoid")
def of_input(A: Any, g: Any, c: Any, self: Any) -> Any:
    return {"self": lambda: getattr(A, f"{c.func._opname}_backward")(g, self)}


@rule()
def elu(A: Any, g: Any, self: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    return {"self": lambda: A.elu_backward(g, alpha, scale, input_scale, False, self)}


@rule()
def leaky_relu(A: Any, g: Any, self: Any, negative_slope: Any) -> Any:
    return {"self": lambda: A.leaky_relu_backward(g, self, negative_slope, False)}


@rule()
def hardtanh(A: Any, g: Any, self: Any, min_val: Any, max_val: Any) -> Any:
    return {"self": lambda: A.hardtanh_backward(g, self, min_val, max_val)}


@rule()
def softplus(A: Any, g: Any, self: Any, beta: Any, threshold: Any) -> Any:
    return {"self": lambda: A.softplus_backward(g, self, beta, threshold)}


@rule(plain=(1,))
def log_sigmoid_forward(A: Any, g: Any, c: Any, self: Any) -> Any:
    return {"self": lambda: A.log_sigmoid_backward(g[0], self, c.out(1))}


@rule(names="where__self")
def where(A: Any, g: Any, c: Any, condition: Any) -> Any:
    def zero() -> Any:
        return _number(A, 0, g)

    return {
        "self": lambda: A.where.self(condition, g, zero()),
        "other": lambda: A.where.self(condition, zero(), g),
    }


@rule(names="masked_fill__Scalar")
def masked_fill(A: Any, g: Any, mask: Any) -> Any:
    return {"self": lambda: A.masked_fill.Scalar(g, mask, 0)}


@rule(names="clamp__default")
def clamp(A: Any, g: Any, self: Any, min: Any, max: Any) -> Any:
    def gradient() -> Any:
        zero = _number(A, 0.0, g)
        inside = [A.ge.Scalar(self, min)] if min is not None else []
        inside += [A.le.Scalar(self, max)] if max is not None else []
        return A.where.self(inside[0] if len(inside) == 1 else A.logical_and(*inside), g, zero)

    return {"self": gradient}


@rule()
def clone(A: Any, g: Any) -> Any:
    return {"self": lambda: g}


@rule()
def to_copy(A: Any, g: Any, c: Any, self: Any) -> Any:
    return {
        "self": lambda: (
            g if g._array.dtype == self._array.dtype else A._to_copy(g, dtype=_dtype(self))
        )
    }


@rule(names="lift_fresh alias")
def passes(A: Any, g: Any) -> Any:
    return {"self": lambda: g}
