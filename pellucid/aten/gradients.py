"""The gradients of operators, written in operators: what backward calls when modes or types of
tensors handle them.

A rule has the operator's name, with the overload's after two underscores. Its parameters: `A`, the
operators of aten; `g`, the gradient of the result (a tuple for several); `c`, which tells what is
needed (`c.needs("self")`) and hands out results that the rule keeps (`c.out()`); and arguments by
their names in the schema. It returns functions for the arguments' gradients, by name; they are
called in that order. Operators without a rule here have that of their record (`core.primitive`).

Source: the formulas are those of PyTorch's autograd, `tools/autograd/derivatives.yaml` there names
them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..dtypes import BY_NUMPY, contiguous_format, strided
from .memory import contiguous, viewable
from .overload import ops

ATEN: Any = ops.aten
END = 9223372036854775807

Rule = Callable[..., dict[str, Callable[[], Any]]]


def of(func: Any) -> Any:
    """The rule of an operator, or None."""
    if func.namespace != "aten":
        return None
    own = f"{func._opname.lstrip('_')}__{func._overloadname}"
    found = _RULES.get(own) or _RULES.get(func._opname.lstrip("_"))
    return found


_RULES: dict[str, Any] = {}

# Operators whose results depend on their arguments' shapes alone.
SHAPES_ALONE = frozenset(
    f"{kind}_like" for kind in ("empty", "full", "ones", "rand", "randint", "randn", "zeros")
) | frozenset(f"new_{kind}" for kind in ("empty", "empty_strided", "full", "ones", "zeros"))  # fmt: skip


def rule(
    *, keeps: tuple[int, ...] = (), plain: tuple[int, ...] = (), number: int = 0, names: str = ""
) -> Callable[[Rule], Rule]:
    """Decorator: a rule, the results that it keeps (`plain`: those without a gradient), and the
    number in its node's name.
    """

    def register(function: Any) -> Any:
        function.keeps, function.keeps_plain, function.number = keeps, plain, number
        words = inspect.signature(function).parameters
        function.asks = "c" in words
        function.words = [word for word in words if word not in ("A", "g", "c")]
        for name in names.split() or [function.__name__]:
            _RULES[name] = function
        return function

    return register


# ---- matrix products ---------------------------------------------------------------------------
def _by_columns(t: Any) -> bool:
    """Whether a matrix lies in memory column by column."""
    strides, size = t._array.strides, t._array.dtype.itemsize
    return bool(strides[0] == size and strides[1] == size * t._array.shape[0])


def _left(A: Any, g: Any, left: Any, right: Any) -> Any:
    if _by_columns(left):
        return A.t(A.mm(right, A.t(g)))
    return A.mm(g, A.t(right))


def _right(A: Any, g: Any, left: Any, right: Any) -> Any:
    if _by_columns(right):
        return A.t(A.mm(A.t(g), left))
    return A.mm(A.t(left), g)


@rule()
def mm(A: Any, g: Any, self: Any, mat2: Any) -> Any:
    return {"mat2": lambda: _right(A, g, self, mat2), "self": lambda: _left(A, g, self, mat2)}


@rule()
def addmm(A: Any, g: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    return {
        "mat1": lambda: _times(A, _left(A, g, mat1, mat2), alpha),
        "mat2": lambda: _times(A, _right(A, g, mat1, mat2), alpha),
        "self": lambda: _times(A, g, beta),
    }


def _times(A: Any, t: Any, number: Any) -> Any:
    return t if number == 1 else A.mul.Scalar(t, number)


@rule()
def bmm(A: Any, g: Any, self: Any, mat2: Any) -> Any:
    return {
        "mat2": lambda: A.bmm(A.transpose(self, 1, 2), g),
        "self": lambda: A.bmm(g, A.transpose(mat2, 1, 2)),
    }


@rule()
def baddbmm(A: Any, g: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    return {
        "batch1": lambda: _times(A, A.bmm(g, A.transpose(batch2, 1, 2)), alpha),
        "batch2": lambda: _times(A, A.bmm(A.transpose(batch1, 1, 2), g), alpha),
        "self": lambda: _times(A, g, beta),
    }


@rule()
def mv(A: Any, g: Any, self: Any, vec: Any) -> Any:
    return {
        "self": lambda: A.mul(A.unsqueeze(g, 1), A.unsqueeze(vec, 0)),
        "vec": lambda: A.mv(A.t(self), g),
    }


@rule()
def dot(A: Any, g: Any, self: Any, tensor: Any) -> Any:
    return {"self": lambda: A.mul(g, tensor), "tensor": lambda: A.mul(g, self)}


# ---- element by element ------------------------------------------------------------------------
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


def _dtype(t: Any) -> Any:
    return BY_NUMPY[t._array.dtype]


def _number(A: Any, value: Any, like: Any) -> Any:
    return A.scalar_tensor(value, **_options(like))


def _options(like: Any) -> dict[str, Any]:
    return {"dtype": _dtype(like), "layout": strided, "device": like.device}


@rule(names="masked_fill__Scalar")
def masked_fill(A: Any, g: Any, mask: Any) -> Any:
    return {"self": lambda: A.masked_fill.Scalar(g, mask, 0)}


@rule()
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


# ---- softmax and losses ------------------------------------------------------------------------
@rule(keeps=(0,))
def softmax(A: Any, g: Any, c: Any, self: Any, dim: Any) -> Any:
    return {"self": lambda: A._softmax_backward_data(g, c.out(), dim, _dtype(self))}


@rule(keeps=(0,))
def log_softmax(A: Any, g: Any, c: Any, self: Any, dim: Any) -> Any:
    return {"self": lambda: A._log_softmax_backward_data(g, c.out(), dim, _dtype(self))}


@rule(plain=(1,), names="nll_loss_forward nll_loss2d_forward")
def nll_loss_forward(
    A: Any, g: Any, c: Any, self: Any, target: Any, weight: Any, reduction: Any, ignore_index: Any
) -> Any:
    back = getattr(A, c.func._opname.replace("forward", "backward"))
    return {"self": lambda: back(g[0], self, target, weight, reduction, ignore_index, c.out(1))}


@rule()
def mse_loss(A: Any, g: Any, self: Any, target: Any, reduction: Any) -> Any:
    return {
        "self": lambda: A.mse_loss_backward(g, self, target, reduction),
        "target": lambda: A.mse_loss_backward(g, target, self, reduction),
    }


@rule()
def smooth_l1_loss(A: Any, g: Any, self: Any, target: Any, reduction: Any, beta: Any) -> Any:
    return {
        "self": lambda: A.smooth_l1_loss_backward(g, self, target, reduction, beta),
        "target": lambda: A.smooth_l1_loss_backward(g, target, self, reduction, beta),
    }


@rule()
def huber_loss(A: Any, g: Any, self: Any, target: Any, reduction: Any, delta: Any) -> Any:
    return {
        "self": lambda: A.huber_loss_backward(g, self, target, reduction, delta),
        "target": lambda: A.huber_loss_backward(g, target, self, reduction, delta),
    }


@rule()
def binary_cross_entropy(
    A: Any, g: Any, self: Any, target: Any, weight: Any, reduction: Any
) -> Any:
    return {"self": lambda: A.binary_cross_entropy_backward(g, self, target, weight, reduction)}


@rule()
def binary_cross_entropy_with_logits(
    A: Any, g: Any, self: Any, target: Any, weight: Any, pos_weight: Any, reduction: Any
) -> Any:
    def gradient() -> Any:
        if pos_weight is not None:
            t = A.mul.Tensor(pos_weight, target)
            part = A.sub.Tensor(
                A.mul.Tensor(A.sub.Tensor(A.add.Tensor(t, 1), target), A.sigmoid(self)), t
            )
        else:
            part = A.sub.Tensor(A.sigmoid(self), target)
        made = A.mul.Tensor(part, g)
        made = made if weight is None else A.mul.Tensor(made, weight)
        return A.div_.Scalar(made, self._array.size) if reduction == 1 else made

    return {"self": gradient}


# ---- convolution, pooling, normalization, attention ------------------------------------------
def _one_of(whole: Callable[[], Any], place: int, memory: dict[str, Any]) -> Callable[[], Any]:
    """One of the gradients that a joint operator computes, which runs once."""

    def gradient() -> Any:
        if "made" not in memory:
            memory["made"] = whole()
        return memory["made"][place]

    return gradient


@rule()
def convolution(
    A: Any,
    g: Any,
    c: Any,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: Any,
    output_padding: Any,
    groups: Any,
) -> Any:
    names = ("input", "weight", "bias")
    sizes = [0] if bias is None else list(bias._array.shape)

    def whole() -> Any:
        mask = [c.needs(n) for n in names]
        return A.convolution_backward(
            g,
            input,
            weight,
            sizes,
            stride,
            padding,
            dilation,
            transposed,
            output_padding,
            groups,
            mask,
        )

    memory: dict[str, Any] = {}
    return {n: _one_of(whole, k, memory) for k, n in enumerate(names)}


@rule(plain=(1,))
def max_pool2d_with_indices(
    A: Any,
    g: Any,
    c: Any,
    self: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: Any,
) -> Any:
    return {
        "self": lambda: A.max_pool2d_with_indices_backward(
            g[0], self, kernel_size, stride, padding, dilation, ceil_mode, c.out(1)
        )
    }


@rule()
def avg_pool2d(
    A: Any,
    g: Any,
    self: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: Any,
    count_include_pad: Any,
    divisor_override: Any,
) -> Any:
    return {
        "self": lambda: A.avg_pool2d_backward(
            g, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )
    }


@rule()
def adaptive_avg_pool2d(A: Any, g: Any, self: Any) -> Any:
    return {"self": lambda: A._adaptive_avg_pool2d_backward(g, self)}


@rule(plain=(1, 2))
def native_layer_norm(
    A: Any, g: Any, c: Any, input: Any, normalized_shape: Any, weight: Any, bias: Any
) -> Any:
    names = ("input", "weight", "bias")

    def whole() -> Any:
        mask = [c.needs(n) for n in names]
        return A.native_layer_norm_backward(
            g[0], input, normalized_shape, c.out(1), c.out(2), weight, bias, mask
        )

    memory: dict[str, Any] = {}
    return {n: _one_of(whole, k, memory) for k, n in enumerate(names)}


@rule(keeps=(1, 2))
def native_group_norm(
    A: Any, g: Any, c: Any, input: Any, weight: Any, N: Any, C: Any, HxW: Any, group: Any
) -> Any:
    names = ("input", "weight", "bias")

    def whole() -> Any:
        mask = [c.needs(n) for n in names]
        mean, rstd = c.out(1), c.out(2)
        whole = g[0] if contiguous(g[0]) else A.clone(g[0], memory_format=contiguous_format)
        return A.native_group_norm_backward(
            whole, input, mean, rstd, weight, N, C, HxW, group, mask
        )

    memory: dict[str, Any] = {}
    return {n: _one_of(whole, k, memory) for k, n in enumerate(names)}


@rule(plain=(1, 2))
def native_batch_norm(
    A: Any,
    g: Any,
    c: Any,
    input: Any,
    weight: Any,
    running_mean: Any,
    running_var: Any,
    training: Any,
    eps: Any,
) -> Any:
    names = ("input", "weight", "bias")

    def whole() -> Any:
        mask = [c.needs(n) for n in names]
        return A.native_batch_norm_backward(
            g[0], input, weight, running_mean, running_var, c.out(1), c.out(2), training, eps, mask
        )

    memory: dict[str, Any] = {}
    return {n: _one_of(whole, k, memory) for k, n in enumerate(names)}


@rule(keeps=(0,), plain=(1,))
def scaled_dot_product_flash_attention_for_cpu(
    A: Any,
    g: Any,
    c: Any,
    query: Any,
    key: Any,
    value: Any,
    dropout_p: Any,
    is_causal: Any,
    attn_mask: Any,
    scale: Any,
) -> Any:
    def whole() -> Any:
        return A._scaled_dot_product_flash_attention_for_cpu_backward(
            g[0],
            query,
            key,
            value,
            c.out(0),
            c.out(1),
            dropout_p,
            is_causal,
            attn_mask=attn_mask,
            scale=scale,
        )

    memory: dict[str, Any] = {}
    return {n: _one_of(whole, k, memory) for k, n in enumerate(("query", "key", "value"))}


@rule()
def embedding(
    A: Any, g: Any, weight: Any, indices: Any, padding_idx: Any, scale_grad_by_freq: Any
) -> Any:
    return {
        "weight": lambda: A.embedding_dense_backward(
            g, indices, weight._array.shape[0], padding_idx, scale_grad_by_freq
        )
    }


# ---- reductions --------------------------------------------------------------------------------
def _unsqueezed(A: Any, g: Any, shape: Any, dims: Any, keepdim: bool) -> Any:
    if keepdim or not shape:
        return g
    for d in sorted({d % len(shape) for d in dims}):
        g = A.unsqueeze(g, d)
    return g


@rule(names="sum__default")
def sum_all(A: Any, g: Any, self: Any) -> Any:
    return {"self": lambda: A.expand(g, list(self._array.shape))}


@rule(names="sum__dim_IntList", number=1)
def sum(A: Any, g: Any, self: Any, dim: Any, keepdim: Any) -> Any:
    shape = list(self._array.shape)
    return {
        "self": lambda: A.expand(_unsqueezed(A, g, shape, dim or range(len(shape)), keepdim), shape)
    }


@rule(names="mean__default")
def mean_all(A: Any, g: Any, self: Any) -> Any:
    return {"self": lambda: A.div.Scalar(A.expand(g, list(self._array.shape)), self._array.size)}


@rule(names="mean__dim", number=1)
def mean(A: Any, g: Any, self: Any, dim: Any, keepdim: Any) -> Any:
    shape = list(self._array.shape)

    def gradient() -> Any:
        dims = {d % len(shape) for d in dim or range(len(shape))} if shape else set()
        count = 1
        for d in dims:
            count *= shape[d]
        return A.div.Scalar(A.expand(_unsqueezed(A, g, shape, dims, keepdim), shape), count)

    return {"self": gradient}


@rule(names="max__dim min__dim", plain=(1,))
def extreme(A: Any, g: Any, c: Any, self: Any, dim: Any, keepdim: Any) -> Any:
    def gradient() -> Any:
        values, places = g[0], c.out(1)
        if not keepdim and self._array.shape:
            values, places = A.unsqueeze(values, dim), A.unsqueeze(places, dim)
        return A.scatter.src(A.new_zeros(values, list(self._array.shape)), dim, places, values)

    return {"self": gradient}


@rule()
def cumsum(A: Any, g: Any, dim: Any) -> Any:
    return {"self": lambda: A.flip(A.cumsum(A.flip(g, [dim]), dim), [dim])}


@rule(names="var__correction")
def var(A: Any, g: Any, self: Any, dim: Any, correction: Any, keepdim: Any) -> Any:
    shape = list(self._array.shape)

    def gradient() -> Any:
        if not dim:
            centered = A.sub.Tensor(self, A.mean(self))
            return A.mul.Tensor(
                A.mul.Scalar(
                    g, 2.0 / (self._array.size - (1 if correction is None else correction))
                ),
                centered,
            )
        dims = [d % len(shape) for d in dim]
        wide = _unsqueezed(A, g, shape, dims, keepdim)
        count = 1
        for d in dims:
            count *= shape[d]
        centered = A.sub.Tensor(self, A.mean.dim(self, dim, True))
        return A.mul.Tensor(
            A.mul.Scalar(wide, 2.0 / (count - (1 if correction is None else correction))), centered
        )

    return {"self": gradient}


@rule(keeps=(0,), names="std__correction")
def std(A: Any, g: Any, c: Any, self: Any, dim: Any, correction: Any, keepdim: Any) -> Any:
    def gradient() -> Any:
        out = c.out()
        slope = A.masked_fill.Scalar(A.div.Tensor(g, A.mul.Scalar(out, 2)), A.eq.Scalar(out, 0), 0)
        made = var(A, slope, self, dim, correction, keepdim)["self"]()
        return made

    return {"self": gradient}


@rule(keeps=(0,), names="max__default min__default")
def extreme_of_all(A: Any, g: Any, c: Any, self: Any) -> Any:
    return extremes(A, g, c, self, None, False)


@rule(keeps=(0,), names="amax amin")
def extremes(A: Any, g: Any, c: Any, self: Any, dim: Any, keepdim: Any) -> Any:
    shape = list(self._array.shape)
    dims = list(dim) if dim else list(range(len(shape)))

    def gradient() -> Any:
        top, wide = (
            _unsqueezed(A, c.out(), shape, dims, keepdim),
            _unsqueezed(A, g, shape, dims, keepdim),
        )
        mask = A._to_copy(A.eq.Tensor(self, top), dtype=BY_NUMPY[self._array.dtype])
        count = A.sum.dim_IntList(mask, dims, True) if shape else mask
        return A.mul.Tensor(A.div.Tensor(wide, count), mask)

    return {"self": gradient}


@rule(keeps=(0,))
def linalg_vector_norm(A: Any, g: Any, c: Any, self: Any, ord: Any, dim: Any, keepdim: Any) -> Any:
    shape = list(self._array.shape)
    dims = range(len(shape)) if dim is None or not len(dim) else dim

    def gradient() -> Any:
        norm, wide = (
            _unsqueezed(A, c.out(), shape, dims, keepdim),
            _unsqueezed(A, g, shape, dims, keepdim),
        )
        if ord == 0:
            return A.zeros_like(self)
        if ord == 1:
            return A.mul.Tensor(A.sgn(self), wide)
        if ord == 2:
            return A.mul.Tensor(
                self, A.masked_fill.Scalar(A.div.Tensor(wide, norm), A.eq.Scalar(norm, 0), 0)
            )
        size = A.abs(self)
        if ord in (float("inf"), float("-inf")):
            mask = A._to_copy(A.eq.Tensor(size, norm), dtype=BY_NUMPY[self._array.dtype])
            count = A.sum.dim_IntList(mask, list(dims), True) if shape else mask
            return A.mul.Tensor(A.mul.Tensor(A.sgn(self), mask), A.div.Tensor(wide, count))
        scale = A.masked_fill.Scalar(
            A.div.Tensor(wide, A.pow.Tensor_Scalar(norm, ord - 1)), A.eq.Scalar(norm, 0), 0
        )
        power = A.mul.Tensor(A.sgn(self), A.pow.Tensor_Scalar(size, ord - 1))
        return A.mul.Tensor(
            A.masked_fill.Scalar(power, A.eq.Scalar(self, 0), 0) if ord < 1 else power, scale
        )

    return {"self": gradient}


@rule(names="lerp__Scalar")
def lerp(A: Any, g: Any, weight: Any) -> Any:
    return {"self": lambda: A.mul.Scalar(g, 1 - weight), "end": lambda: A.mul.Scalar(g, weight)}


@rule()
def flip(A: Any, g: Any, dims: Any) -> Any:
    return {"self": lambda: A.flip(g, dims)}


# ---- views and copies --------------------------------------------------------------------------
@rule()
def t(A: Any, g: Any) -> Any:
    return {"self": lambda: A.t(g)}


@rule(names="transpose__int")
def transpose(A: Any, g: Any, dim0: Any, dim1: Any) -> Any:
    return {"self": lambda: A.transpose(g, dim0, dim1)}


@rule()
def permute(A: Any, g: Any, dims: Any) -> Any:
    def gradient() -> Any:
        back = [0] * len(dims)
        for k, d in enumerate(dims):
            back[d % len(dims)] = k
        return A.permute(g, back)

    return {"self": gradient}


@rule(names="view__default")
def view(A: Any, g: Any, self: Any) -> Any:
    shape = list(self._array.shape)

    def gradient() -> Any:
        return (
            A.view(g, shape)
            if viewable(g, shape)
            else A._unsafe_view(A.clone(g, memory_format=contiguous_format), shape)
        )

    return {"self": gradient}


@rule()
def unsafe_view(A: Any, g: Any, self: Any) -> Any:
    return view(A, g, self)


@rule()
def unsqueeze(A: Any, g: Any, dim: Any) -> Any:
    return {"self": lambda: A.squeeze.dim(g, dim)}


@rule(names="squeeze__default")
def squeeze_all(A: Any, g: Any, self: Any) -> Any:
    def gradient() -> Any:
        made = g
        for d, size in enumerate(self._array.shape):
            made = A.unsqueeze(made, d) if size == 1 else made
        return made

    return {"self": gradient}


@rule(names="squeeze__dim", number=1)
def squeeze(A: Any, g: Any, self: Any, dim: Any) -> Any:
    shape = self._array.shape
    return {"self": lambda: A.unsqueeze(g, dim % len(shape)) if shape and shape[dim] == 1 else g}


@rule()
def expand(A: Any, g: Any, self: Any) -> Any:
    return {"self": lambda: g}


@rule(names="select__int")
def select(A: Any, g: Any, self: Any, dim: Any, index: Any) -> Any:
    return {"self": lambda: A.select_backward(g, list(self._array.shape), dim, index)}


@rule(names="slice__Tensor")
def slice(A: Any, g: Any, self: Any, dim: Any, start: Any, end: Any, step: Any) -> Any:
    first, last = 0 if start is None else start, END if end is None else end
    return {"self": lambda: A.slice_backward(g, list(self._array.shape), dim, first, last, step)}


@rule(names="split__Tensor")
def split(A: Any, g: Any, dim: Any) -> Any:
    return {"self": lambda: A.cat(list(g), dim)}


@rule(names="split_with_sizes__default")
def split_with_sizes(A: Any, g: Any, dim: Any) -> Any:
    return {"self": lambda: A.cat(list(g), dim)}


@rule(names="unbind__int")
def unbind(A: Any, g: Any, dim: Any) -> Any:
    return {"self": lambda: A.stack(list(g), dim)}


@rule()
def cat(A: Any, g: Any, tensors: Any, dim: Any) -> Any:
    def gradient() -> Any:
        found, start = [], 0
        for x in tensors:
            end = start + x._array.shape[dim]
            found.append(A.slice.Tensor(g, dim, start, end))
            start = end
        return found

    return {"tensors": gradient}


@rule()
def stack(A: Any, g: Any, tensors: Any, dim: Any) -> Any:
    return {"tensors": lambda: [A.select.int(g, dim, k) for k in range(len(tensors))]}


@rule(names="index__Tensor")
def index(A: Any, g: Any, self: Any, indices: Any) -> Any:
    return {
        "self": lambda: A.index_put(
            A.new_zeros(g, list(self._array.shape), **_options(self)), indices, g, True
        )
    }


@rule()
def gather(A: Any, g: Any, self: Any, dim: Any, index: Any) -> Any:
    return {"self": lambda: A.scatter_add(A.new_zeros(g, list(self._array.shape)), dim, index, g)}


@rule(plain=(1,))
def native_dropout(A: Any, g: Any, c: Any, p: Any) -> Any:
    return {
        "input": lambda: A.native_dropout_backward(g[0], c.out(1), 1 / (1 - p) if p < 1 else 0.0)
    }
