"""Gradients of convolutions as functions (`torch.nn.grad`), which can be differentiated themselves.

>>> import pellucid as torch
>>> torch.nn.grad.conv1d_weight(torch.tensor([[[1.0, 2.0, 3.0]]]), (1, 1, 2), torch.ones(1, 1, 2))
tensor([[[3., 5.]]])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..api.transforms import grad as _grad
from ..core.modes import enable_grad, is_grad_enabled
from ..core.tensor import Tensor
from ..core.transforms import linking
from ..ops.nn import conv as nn_conv

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]


def _pull(function: Callable[[Tensor], Tensor], at: Tensor, grad_output: Tensor) -> Tensor:
    """The gradient of a linear function, whose value at 0 is as good as any other."""
    keep = is_grad_enabled()
    with enable_grad(), linking.apart():  # the result depends on no value of `at`
        at = at.requires_grad_()
        out = function(at)
        (found,) = _grad((out,), (at,), grad_output, None, keep, False, False, False)
    assert found is not None
    return found


def _make(n: int) -> tuple[Any, Any]:
    conv: Any = (nn_conv.conv1d, nn_conv.conv2d, nn_conv.conv3d)[n - 1]

    def conv_input(
        input_size: Sequence[int],
        weight: Tensor,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        start = weight.new_zeros(tuple(input_size))
        return _pull(
            lambda x: conv(x, weight, None, stride, padding, dilation, groups), start, grad_output
        )

    def conv_weight(
        input: Tensor,
        weight_size: Sequence[int],
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        start = input.new_zeros(tuple(weight_size))
        return _pull(
            lambda w: conv(input, w, None, stride, padding, dilation, groups), start, grad_output
        )

    for function, what in ((conv_input, "input"), (conv_weight, "weight")):
        function.__name__ = function.__qualname__ = f"conv{n}d_{what}"
        function.__doc__ = f"The gradient of `conv{n}d` with respect to its {what}, from the gradient of its output."
    return conv_input, conv_weight


conv1d_input, conv1d_weight = _make(1)
conv2d_input, conv2d_weight = _make(2)
conv3d_input, conv3d_weight = _make(3)
