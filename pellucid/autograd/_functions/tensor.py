"""Functions of tensors that PyTorch keeps for old code (`torch.autograd._functions.tensor`)."""

from __future__ import annotations

import math
from typing import Any

from ...core.function import Function
from ...core.tensor import Tensor


class Type(Function):
    """`tensor.type(dest_type)`; the gradient goes back in the tensor's own type."""

    @staticmethod
    def forward(ctx: Any, i: Tensor, dest_type: Any) -> Any:
        ctx.input_type = i.type()
        return i.type(dest_type)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.type(ctx.input_type), None


class Resize(Function):
    """The elements of a tensor, in order, in another shape of as many."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, sizes: Any) -> Any:
        sizes = tuple(sizes)
        ctx.input_size = tuple(tensor.shape)
        if math.prod(sizes) != tensor.numel():
            shapes = " x ".join(map(str, sizes)), "x".join(map(str, tensor.shape))
            raise RuntimeError(
                f"requested resize to {shapes[0]} ({math.prod(sizes)} elements in total), but the given tensor has a size of {shapes[1]} "
                f"({tensor.numel()} elements). autograd's resize can only change the shape of a given tensor, while preserving the number "
                "of elements. "
            )
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.contiguous().view(ctx.input_size), None
