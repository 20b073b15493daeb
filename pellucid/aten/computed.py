"""Operators of aten without a public function, implemented with public ones.

A function has the operator's name, with the overload's after two underscores where overloads
differ.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

from ..api import overriding
from ..arrays.meta import MetaArray
from ..core import reverse
from ..core.modes import enable_grad, local, no_grad
from ..core.primitive import TENSORS as F
from ..core.public import FUNCTIONS, METHODS
from ..core.tape import titled
from ..core.tensor import Tensor, make_tensor
from ..core.transforms.whole import one_node
from ..dtypes import contiguous_format, get_default_dtype
from ..errors import OperationError


class _Functions:
    """The public functions of a namespace, as attributes."""

    def __init__(self, namespace: str) -> None:
        self._table = FUNCTIONS[namespace]

    def __getattr__(self, name: str) -> Any:
        try:
            return self._table[name]
        except KeyError:
            raise AttributeError(name) from None


T: Any = _Functions("torch")
N: Any = _Functions("nn.functional")

REDUCTIONS = ("none", "mean", "sum")
_whole = builtins.slice(None)


def reduction_number(reduction: Any, *others: Any) -> int | None:
    """Return the number by which operators know a loss's `reduction`. None for an unknown one, or
    if another argument (a deprecated flag, weights) is given.
    """
    if reduction not in REDUCTIONS or any(v is not None for v in others):
        return None
    return REDUCTIONS.index(reduction)


def gradients(
    function: Callable[..., Tensor], inputs: Sequence[Tensor | None], g: Tensor
) -> list[Tensor | None]:
    """Return the gradients of a function with respect to its inputs that are not None."""
    if any(x is not None and x.is_meta for x in inputs):
        return [None if x is None else T.empty_like(x) for x in inputs]
    further = local.grad and (g._rg or any(x is not None and x._rg for x in inputs))
    with enable_grad():
        leaves = [
            None if x is None else F.alias(x) if further and x._rg else x.detach().requires_grad_()
            for x in inputs
        ]
        out = function(*leaves)
        wanted = [x for x in leaves if x is not None]
        found = iter(reverse.grad([out], wanted, [g], create_graph=further, allow_unused=True))
    return [None if x is None else next(found) for x in leaves]


def _gradient(function: Callable[..., Tensor], input: Tensor, g: Tensor) -> Tensor:
    made = gradients(function, [input], g)[0]
    assert made is not None
    return made


def _masked(
    gradients: Sequence[Tensor | None], output_mask: Sequence[bool]
) -> tuple[Tensor | None, ...]:
    return tuple([g if wanted else None for g, wanted in zip(gradients, output_mask, strict=True)])


def clone(self: Tensor, *, memory_format: Any = None) -> Tensor:
    if self.is_meta and memory_format is contiguous_format:
        return make_tensor(MetaArray(self._array.shape, self._array.dtype))
    named = {} if memory_format is None else {"memory_format": memory_format}
    return overriding.own(METHODS["clone"])(self, **named)


# ---- copies, views and memory ------------------------------------------------------------------
def _to_copy(
    self: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    non_blocking: bool = False,
    memory_format: Any = None,
) -> Tensor:
    options = {"memory_format": memory_format} if memory_format is not None else {}
    made: Tensor = self.to(
        device=device, dtype=self.dtype if dtype is None else dtype, copy=True, **options
    )
    return made


def _unsafe_view(self: Tensor, size: Sequence[int]) -> Tensor:
    return F.unsafe_view(self, shape=tuple(F.view(self, shape=_sizes(self, size))._array.shape))


def _sizes(self: Tensor, size: Sequence[int]) -> tuple[int, ...]:
    known = math.prod(s for s in size if s != -1)
    return tuple(self._array.size // max(known, 1) if s == -1 else s for s in size)


def alias(self: Tensor) -> Tensor:
    return F.alias(self)


def lift(self: Tensor) -> Tensor:
    return self


def lift_fresh(self: Tensor) -> Tensor:
    return self


def lift_fresh_copy(self: Tensor) -> Tensor:
    return T.clone(self)


def _reshape_alias(self: Tensor, size: Sequence[int], stride: Sequence[int]) -> Tensor:
    return T.as_strided(self, size, stride, self.storage_offset())


def slice(
    self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    index: list[Any] = [_whole] * self.ndim
    index[dim] = builtins.slice(start, end, step)
    return self[tuple(index)]


def index__Tensor(self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:  # noqa: N802 (the overload's name)
    if not any(i is not None for i in indices):
        return T.clone(self)
    return self[tuple(_whole if i is None else i for i in indices)]


def size__int(self: Tensor, dim: int) -> int:
    return self.shape[dim]


def size__default(self: Tensor) -> list[int]:
    return list(self.shape)


def sym_size__int(self: Tensor, dim: int) -> int:
    return self.shape[dim]


def sym_size__default(self: Tensor) -> list[int]:
    return list(self.shape)


def stride__int(self: Tensor, dim: int) -> int:
    return self.stride(dim)


def sym_stride__int(self: Tensor, dim: int) -> int:
    return self.stride(dim)


def stride__default(self: Tensor) -> list[int]:
    return list(self.stride())


def sym_numel(self: Tensor) -> int:
    return self._array.size


def sym_storage_offset(self: Tensor) -> int:
    return self.storage_offset()


def is_contiguous__default(self: Tensor) -> bool:
    return self.is_contiguous()


def _local_scalar_dense(self: Tensor) -> Any:
    return self.item()


def detach(self: Tensor) -> Tensor:
    return METHODS["detach"](self)


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    made: Tensor = METHODS["copy_"](
        self, src if isinstance(src, Tensor) else T.full((), src), non_blocking
    )
    return made


# ---- factories ---------------------------------------------------------------------------------
def scalar_tensor(
    s: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None
) -> Tensor:
    return T.full((), s, dtype=get_default_dtype() if dtype is None else dtype, device=device)


def new_empty_strided(
    self: Tensor, size: Any, stride: Any, *, dtype: Any = None, device: Any = None, **idle: Any
) -> Tensor:
    return T.empty_strided(size, stride, dtype=dtype or self.dtype, device=device or self.device)


# ---- matrix products ---------------------------------------------------------------------------
def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return T.softmax(self, dim)


def _log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return T.log_softmax(self, dim)


@one_node("SoftmaxBackwardData", "grad_output output", "grad_output output")
def _softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any
) -> Tensor:
    part: Any = grad_output * output
    return part - output * T.sum(part, dim, keepdim=True)


@one_node("LogSoftmaxBackwardData", "grad_output output", "grad_output output")
def _log_softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any
) -> Tensor:
    return grad_output - T.exp(output) * T.sum(grad_output, dim, keepdim=True)


# ---- activations -------------------------------------------------------------------------------
def threshold_backward(grad_output: Tensor, self: Tensor, threshold: Any) -> Tensor:
    return T.where(self <= threshold, T.zeros_like(grad_output), grad_output)


def sigmoid_backward(grad_output: Any, output: Any) -> Tensor:
    return grad_output * (output * (1 - output))


def tanh_backward(grad_output: Any, output: Any) -> Tensor:
    return grad_output * (1 - output * output)


def gelu_backward(grad_output: Tensor, self: Tensor, *, approximate: str = "none") -> Tensor:
    return _gradient(lambda x: N.gelu(x, approximate=approximate), self, grad_output)


def silu_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    return _gradient(N.silu, self, grad_output)


def mish_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    return _gradient(N.mish, self, grad_output)


def hardswish_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    return _gradient(N.hardswish, self, grad_output)


def hardsigmoid_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    return _gradient(N.hardsigmoid, self, grad_output)


def hardtanh_backward(grad_output: Tensor, self: Tensor, min_val: Any, max_val: Any) -> Tensor:
    return _gradient(lambda x: N.hardtanh(x, min_val, max_val), self, grad_output)


def leaky_relu_backward(
    grad_output: Tensor, self: Tensor, negative_slope: Any, self_is_result: bool
) -> Tensor:
    return _gradient(lambda x: N.leaky_relu(x, negative_slope), self, grad_output)


def softplus_backward(grad_output: Tensor, self: Tensor, beta: Any, threshold: Any) -> Tensor:
    return _gradient(lambda x: N.softplus(x, beta, threshold), self, grad_output)


def elu(self: Tensor, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Tensor:
    return F.elu(self, alpha=float(alpha), scale=float(scale), input_scale=float(input_scale))


def elu_backward(
    grad_output: Tensor,
    alpha: Any,
    scale: Any,
    input_scale: Any,
    is_result: bool,
    self_or_result: Tensor,
) -> Tensor:
    if is_result:
        result: Any = self_or_result
        return grad_output * T.where(
            result <= 0,
            input_scale * (result + alpha * scale),
            T.full((), float(scale), dtype=result.dtype),
        )
    return _gradient(lambda x: elu(x, alpha, scale, input_scale), self_or_result, grad_output)


def log_sigmoid_forward(self: Tensor) -> tuple[Tensor, Tensor]:
    return N.logsigmoid(self), T.empty_like(self)


def log_sigmoid_backward(grad_output: Tensor, self: Tensor, buffer: Tensor) -> Tensor:
    return _gradient(N.logsigmoid, self, grad_output)


def glu_backward(grad_output: Tensor, self: Tensor, dim: int) -> Tensor:
    return _gradient(lambda x: N.glu(x, dim), self, grad_output)


@one_node("NativeDropoutBackward", "grad_output", "grad_output mask")
def native_dropout_backward(grad_output: Any, mask: Any, scale: float) -> Tensor:
    return grad_output * (mask * scale)


# ---- normalization -----------------------------------------------------------------------------
def native_layer_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    found = gradients(
        lambda x, w, b: _normalized(x, mean, rstd, len(normalized_shape), w, b),
        [input, weight, bias],
        grad_out,
    )
    return _masked(found, output_mask)


def _normalized(x: Any, mean: Any, rstd: Any, dims: int, w: Any, b: Any) -> Any:
    """Return the normalized values as a function of `x`, including through the mean and the
    deviation, whose value is kept at `1 / rstd`.
    """
    axes = tuple(range(x.ndim - dims, x.ndim))
    centered = x - T.mean(x, axes, keepdim=True)
    power = T.mean(centered * centered, axes, keepdim=True)
    wanted = 1 / (rstd * rstd)
    made = centered * T.rsqrt(power + (wanted - power).detach())
    made = made if w is None else made * w
    return made if b is None else made + b


def native_group_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    def function(x: Any, w: Any, b: Any) -> Any:
        parts = x.reshape(N, group, C // group * HxW)
        centered = parts - T.mean(parts, -1, keepdim=True)
        power = T.mean(centered * centered, -1, keepdim=True)
        wanted = 1 / (rstd * rstd).reshape(N, group, 1)
        made = (centered * T.rsqrt(power + (wanted - power).detach())).reshape(x.shape)
        shape = (1, C, *(1,) * (x.ndim - 2))
        made = made if w is None else made * w.reshape(shape)
        return made + b.reshape(shape)

    bias = T.zeros(C, dtype=input.dtype)
    return _masked(gradients(function, [input, weight, bias], grad_out), output_mask)


def _native_batch_norm_legit(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    made = T.native_batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )
    return titled(made[0], "NativeBatchNormLegit"), *made[1:]


def _native_batch_norm_legit__no_stats(
    input: Tensor, weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> Any:
    made = T.native_batch_norm(input, weight, bias, None, None, training, momentum, eps)
    return titled(made[0], "NativeBatchNormLegitBackward1"), *made[1:]


def native_batch_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    save_mean: Tensor | None,
    save_invstd: Tensor | None,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    bias = T.zeros(input.shape[1], dtype=input.dtype) if output_mask[2] else None

    def function(x: Any, w: Any, b: Any) -> Any:
        return N.batch_norm(
            x,
            running_mean if not train else None,
            running_var if not train else None,
            w,
            b,
            train,
            0.0,
            eps,
        )

    with no_grad():
        return _masked(gradients(function, [input, weight, bias], grad_out), output_mask)


# ---- convolution and pooling -------------------------------------------------------------------
def convolution_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    def function(x: Any, w: Any, b: Any) -> Any:
        return T.convolution(x, w, b, stride, padding, dilation, transposed, output_padding, groups)

    bias = (
        T.zeros(grad_output.shape[1], dtype=input.dtype, device=input.device)
        if output_mask[2]
        else None
    )
    return _masked(gradients(function, [input, weight, bias], grad_output), output_mask)


def max_pool2d_with_indices(
    self: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:
    return N.max_pool2d_with_indices(
        self, kernel_size, stride or None, padding, dilation, ceil_mode
    )


def max_pool3d_with_indices(
    self: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:
    return N.max_pool3d_with_indices(
        self, kernel_size, stride or None, padding, dilation, ceil_mode
    )


@one_node(
    "MaxPool2DWithIndicesBackward",
    "grad_output self",
    "indices",
    lambda g, indices: (F.pool_gather(g, index=indices._array), g * 0),
)
def max_pool2d_with_indices_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: Tensor,
) -> Tensor:
    return _gradient(
        lambda x: N.max_pool2d(x, kernel_size, stride or None, padding, dilation, ceil_mode),
        self,
        grad_output,
    )


def avg_pool2d(
    self: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    return N.avg_pool2d(
        self, kernel_size, stride or None, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool2d_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    return _gradient(
        lambda x: avg_pool2d(
            x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        ),
        self,
        grad_output,
    )


def _adaptive_avg_pool2d(self: Tensor, output_size: Any) -> Tensor:
    return N.adaptive_avg_pool2d(self, output_size)


def _adaptive_avg_pool3d(self: Tensor, output_size: Any) -> Tensor:
    return N.adaptive_avg_pool3d(self, output_size)


def _adaptive_avg_pool2d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    return _gradient(lambda x: N.adaptive_avg_pool2d(x, grad_output.shape[-2:]), self, grad_output)


def adaptive_max_pool2d(self: Tensor, output_size: Any) -> Any:
    return N.adaptive_max_pool2d(self, output_size, return_indices=True)


# ---- embeddings and losses ---------------------------------------------------------------------
def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    return N.embedding(
        indices,
        weight,
        None if padding_idx < 0 else padding_idx,
        scale_grad_by_freq=scale_grad_by_freq,
        sparse=sparse,
    )


def embedding_dense_backward(
    grad_output: Tensor,
    indices: Tensor,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> Tensor:
    weight = T.empty(
        (num_weights, grad_output.shape[-1]), dtype=grad_output.dtype, device=grad_output.device
    )
    return _gradient(
        lambda w: embedding(w, indices, padding_idx, scale_grad_by_freq), weight, grad_output
    )


def _total_weight(self: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> Tensor:
    kept: Any = (target != ignore_index).to(self.dtype)
    if weight is not None:
        kept = kept * weight[T.where(target == ignore_index, 0, target)]
    return kept.sum()


def nll_loss_forward(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    made = N.nll_loss(
        self, target, weight, ignore_index=ignore_index, reduction=REDUCTIONS[reduction]
    )
    return made, _total_weight(self, target, weight, ignore_index)


nll_loss2d_forward = nll_loss_forward


def nll_loss_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    return _gradient(
        lambda x: N.nll_loss(
            x, target, weight, ignore_index=ignore_index, reduction=REDUCTIONS[reduction]
        ),
        self,
        grad_output,
    )


nll_loss2d_backward = nll_loss_backward


def mse_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    return N.mse_loss(self, target, reduction=REDUCTIONS[reduction])


def mse_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    return _gradient(lambda x: mse_loss(x, target, reduction), self, grad_output)


def l1_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    return N.l1_loss(self, target, reduction=REDUCTIONS[reduction])


def smooth_l1_loss(self: Tensor, target: Tensor, reduction: int = 1, beta: float = 1.0) -> Tensor:
    return N.smooth_l1_loss(self, target, reduction=REDUCTIONS[reduction], beta=beta)


def smooth_l1_loss_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, beta: float
) -> Tensor:
    return _gradient(lambda x: smooth_l1_loss(x, target, reduction, beta), self, grad_output)


def huber_loss(self: Tensor, target: Tensor, reduction: int = 1, delta: float = 1.0) -> Tensor:
    return N.huber_loss(self, target, reduction=REDUCTIONS[reduction], delta=delta)


def huber_loss_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, delta: float
) -> Tensor:
    return _gradient(lambda x: huber_loss(x, target, reduction, delta), self, grad_output)


def binary_cross_entropy(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1
) -> Tensor:
    return N.binary_cross_entropy(self, target, weight, reduction=REDUCTIONS[reduction])


def binary_cross_entropy_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = 1,
) -> Tensor:
    return _gradient(
        lambda x: binary_cross_entropy(x, target, weight, reduction), self, grad_output
    )


# ---- attention ---------------------------------------------------------------------------------
def _scaled_dot_product_flash_attention_for_cpu(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    if dropout_p:
        raise OperationError(
            "scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0"
        )
    made = N.scaled_dot_product_attention(query, key, value, attn_mask, 0.0, is_causal, scale=scale)
    scores: Any = T.matmul(query, key.transpose(-2, -1)) * (
        1 / math.sqrt(query.shape[-1]) if scale is None else scale
    )
    if is_causal:
        scores = scores + T.triu(T.full(scores.shape[-2:], -math.inf, dtype=scores.dtype), 1)
    scores = scores if attn_mask is None else scores + attn_mask
    return made, T.logsumexp(scores, -1)


def _scaled_dot_product_flash_attention_for_cpu_backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor | None, ...]:
    def function(q: Any, k: Any, v: Any) -> Any:
        return N.scaled_dot_product_attention(q, k, v, attn_mask, 0.0, is_causal, scale=scale)

    return tuple(gradients(function, [query, key, value], grad_out))


# ---- gradients of views ------------------------------------------------------------------------
def _filled(shape: Sequence[int], g: Tensor, put: Callable[[Any], Any]) -> Tensor:
    made = T.zeros(tuple(shape), dtype=g.dtype, device=g.device)
    if not g.is_meta:
        put(made).copy_(g)
    return made


def select_backward(
    grad_output: Tensor, input_sizes: Sequence[int], dim: int, index: int
) -> Tensor:
    return _filled(input_sizes, grad_output, lambda whole: whole.select(dim, index))


def slice_backward(
    grad_output: Tensor, input_sizes: Sequence[int], dim: int, start: int, end: int, step: int
) -> Tensor:
    return _filled(input_sizes, grad_output, lambda whole: slice(whole, dim, start, end, step))


def diagonal_backward(
    grad_output: Tensor, input_sizes: Sequence[int], offset: int, dim1: int, dim2: int
) -> Tensor:
    return _filled(input_sizes, grad_output, lambda whole: whole.diagonal(offset, dim1, dim2))


def unfold_backward(
    grad_in: Tensor, input_sizes: Sequence[int], dim: int, size: int, step: int
) -> Tensor:
    return F.unfold_grad(grad_in, shape=tuple(input_sizes), dim=dim, size=size, step=step)


def value_selecting_reduction_backward(
    grad: Any, dim: int, indices: Any, sizes: Sequence[int], keepdim: bool
) -> Tensor:
    if not keepdim and len(sizes):
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return T.scatter(
        T.zeros(tuple(sizes), dtype=grad.dtype, device=grad.device), dim, indices, grad
    )
