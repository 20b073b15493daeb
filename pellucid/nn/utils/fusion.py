"""Fold batch normalization in eval mode into the layer before it."""

from __future__ import annotations

import copy
from typing import Any

from .._functions import T
from ..parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]


def fuse_conv_bn_weights(
    conv_w: Any,
    conv_b: Any,
    bn_rm: Any,
    bn_rv: Any,
    bn_eps: float,
    bn_w: Any,
    bn_b: Any,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution followed by batch normalization with these statistics.

    >>> import pellucid as torch
    >>> w, mean, var = torch.ones(1, 1, 1, 1), torch.tensor([2.0]), torch.tensor([4.0])
    >>> weight, bias = torch.nn.utils.fuse_conv_bn_weights(
    ...     w, None, mean, var, 0.0, torch.tensor([1.0]), torch.tensor([0.0])
    ... )
    >>> weight.item(), bias.item()
    (0.5, -1.0)
    """
    conv_b = T.zeros_like(bn_rm) if conv_b is None else conv_b
    bn_w = T.ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = T.zeros_like(bn_rm) if bn_b is None else bn_b
    factor = bn_w * T.rsqrt(bn_rv + bn_eps)
    shape = [1, -1] if transpose else [-1, 1]
    weight = (conv_w * factor.reshape(shape + [1] * (conv_w.ndim - 2))).to(conv_w.dtype)
    bias = ((conv_b - bn_rm) * factor + bn_b).to(conv_b.dtype)
    return Parameter(weight.detach(), conv_w.requires_grad), Parameter(
        bias.detach(), conv_b.requires_grad
    )


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """One convolution that does what `conv` followed by `bn` does in evaluation mode.

    Args:
        conv: a convolution in eval mode. It is copied, not changed.
        bn: a batch norm in eval mode with as many features as `conv` has output channels.
        transpose: whether `conv` is a transposed convolution. Default: False.

    Raises:
        AssertionError: one of them is in train mode.

    >>> from pellucid import nn
    >>> import pellucid as torch
    >>> conv, bn = nn.Conv2d(3, 4, 3).eval(), nn.BatchNorm2d(4).eval()
    >>> x = torch.ones(1, 3, 5, 5)
    >>> torch.allclose(nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
    True
    """
    assert not (conv.training or bn.training), "Fusion only for eval!"
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight,
        fused.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer followed by batch normalization with these statistics.

    >>> import pellucid as torch
    >>> w, mean, var = torch.ones(1, 1), torch.tensor([2.0]), torch.tensor([4.0])
    >>> weight, bias = torch.nn.utils.fuse_linear_bn_weights(
    ...     w, None, mean, var, 0.0, torch.tensor([1.0]), torch.tensor([0.0])
    ... )
    >>> weight.item(), bias.item()
    (0.5, -1.0)
    """
    linear_b = T.zeros_like(bn_rm) if linear_b is None else linear_b
    factor = bn_w * T.rsqrt(bn_rv + bn_eps)
    weight = (linear_w * factor.unsqueeze(-1)).to(linear_w.dtype)
    bias = ((linear_b - bn_rm) * factor + bn_b).to(linear_b.dtype)
    return Parameter(weight.detach(), linear_w.requires_grad), Parameter(
        bias.detach(), linear_b.requires_grad
    )


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """One linear layer that does what `linear` followed by `bn` does in evaluation mode.

    Args:
        linear: a linear layer in eval mode. It is copied, not changed.
        bn: a batch norm in eval mode with `linear.out_features` features, or one.

    Raises:
        AssertionError: one of them is in train mode, or the numbers of features differ.

    >>> from pellucid import nn
    >>> import pellucid as torch
    >>> linear, bn = nn.Linear(3, 4).eval(), nn.BatchNorm1d(4).eval()
    >>> x = torch.ones(2, 3)
    >>> torch.allclose(nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)), atol=1e-6)
    True
    """
    assert not (linear.training or bn.training), "Fusion only for eval!"
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused
