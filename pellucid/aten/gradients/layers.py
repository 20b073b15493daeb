"""Gradients of the layers of networks: softmax and losses, convolution, pooling, normalization,
attention, embedding, dropout.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dtypes import contiguous_format
from ..memory import contiguous
from .rules import _dtype, rule


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


def _of_loss(A: Any, terms: Any, weight: Any, reduction: Any) -> Any:
    """Return the gradient of an elementwise loss from the gradients of its terms, by applying the
    weight and the reduction.
    """
    terms = terms if weight is None else A.mul.Tensor(terms, weight)
    return A.div_.Scalar(terms, terms._array.size) if reduction == 1 else terms


@rule()
def binary_cross_entropy(
    A: Any, g: Any, self: Any, target: Any, weight: Any, reduction: Any
) -> Any:
    def of_target() -> Any:
        logs = A.sub.Tensor(A.log1p(A.neg(self)), A.log(self))
        return _of_loss(A, A.mul.Tensor(A.clamp(logs, -100.0, 100.0), g), weight, reduction)

    return {
        "self": lambda: A.binary_cross_entropy_backward(g, self, target, weight, reduction),
        "target": of_target,
    }


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
        return _of_loss(A, A.mul.Tensor(part, g), weight, reduction)

    def of_target() -> Any:
        if pos_weight is None:
            return _of_loss(A, A.mul.Tensor(A.neg(self), g), weight, reduction)
        logs = A.sub.Tensor(
            A.log_sigmoid(A.neg(self)), A.mul.Tensor(pos_weight, A.log_sigmoid(self))
        )
        return _of_loss(A, A.mul.Tensor(logs, g), weight, reduction)

    return {"self": gradient, "target": of_target}


# ---- convolution, pooling, normalization, attention ------------------------------------------
def _one_of(whole: Callable[[], Any], place: int, memory: dict[str, Any]) -> Callable[[], Any]:
    """Return a function for one of the gradients that a joint operator computes. The operator runs
    once.
    """

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


@rule(keeps=(1, 2), fills=False)
def native_group_norm(
    A: Any, g: Any, c: Any, input: Any, weight: Any, N: Any, C: Any, HxW: Any, group: Any
) -> Any:
    names = ("input", "weight", "bias")

    def whole() -> Any:
        mask = [c.needs(n) for n in names]
        mean, rstd = c.out(1), c.out(2)
        made = [None, None, None]
        if g[0] is not None:
            whole = g[0] if contiguous(g[0]) else A.clone(g[0], memory_format=contiguous_format)
            made = list(
                A.native_group_norm_backward(
                    whole, input, mean, rstd, weight, N, C, HxW, group, mask
                )
            )
        if mask[0] and (g[1] is not None or g[2] is not None):
            more = _of_statistics(A, g[1], g[2], input, mean, rstd, [N, group, C // group * HxW])
            made[0] = more if made[0] is None else A.add.Tensor(made[0], more)
        return made

    memory: dict[str, Any] = {}
    return {n: _one_of(whole, k, memory) for k, n in enumerate(names)}


def _of_statistics(
    A: Any, of_mean: Any, of_rstd: Any, input: Any, mean: Any, rstd: Any, shape: list[int]
) -> Any:
    """Return the gradient of the input through the means and reciprocal standard deviations of
    groups.
    """
    whole = A.clone(input, memory_format=contiguous_format)
    made: Any = None
    if of_mean is not None:
        made = A.mul.Scalar(A.unsqueeze(of_mean, -1), 1 / shape[-1])
    if of_rstd is not None:
        slope = A.mul.Scalar(A.mul.Tensor(of_rstd, A.pow.Tensor_Scalar(rstd, 3)), -1 / shape[-1])
        centered = A.sub.Tensor(A.view(whole, shape), A.unsqueeze(mean, -1))
        part = A.mul.Tensor(centered, A.unsqueeze(slope, -1))
        made = part if made is None else A.add.Tensor(part, made)
    return A._unsafe_view(
        A.clone(A.expand(made, shape), memory_format=contiguous_format), list(input._array.shape)
    )


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


@rule(plain=(1,))
def native_dropout(A: Any, g: Any, c: Any, p: Any) -> Any:
    return {
        "input": lambda: A.native_dropout_backward(g[0], c.out(1), 1 / (1 - p) if p < 1 else 0.0)
    }
