"""Linear layers: Linear, Bilinear, Identity."""

from __future__ import annotations

import math
from typing import Any

from ...core.tensor import Tensor
from ...errors import ArgumentValueError
from .. import functional as F
from .. import init
from .._functions import T
from ..parameter import Parameter, UninitializedParameter, is_lazy
from .lazy import LazyModuleMixin
from .module import Module

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Returns its input. It takes the place of a layer that you want to remove or make optional.

    Args:
        args, kwargs: ignored, so that the arguments of the layer that it replaces may stay.

    Shape:
        input: anything; the result is the same object.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Identity(54, unused=True)(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """A linear layer, also known as dense or fully connected: `y = x @ weight.T + bias`.

    It acts on the last dimension of the input; all others are batch dimensions.

    Args:
        in_features: size of the last dimension of the input.
        out_features: size of the last dimension of the result.
        bias: whether to add a learned bias. Default: True.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Shape:
        input: `(*, in_features)` with any number of dimensions in front, of the dtype of the
            weight.
        result: `(*, out_features)`.

    Attributes:
        weight: of shape (out_features, in_features), initially uniform in +-1/sqrt(in_features).
        bias: of shape (out_features,), initialized in the same way; None with bias=False.

    Raises:
        RuntimeError: the last dimension of the input is not `in_features`, or the dtypes differ.

    The gradients of a loss L are `dL/dx = dL/dy @ weight`, `dL/dweight = dL/dy.T @ x` and
    `dL/dbias`, the sum of dL/dy over the rows.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Linear(3, 2)(torch.ones(5, 3)).shape
        torch.Size([5, 2])
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(T.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(T.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        own = self.__dict__
        held = own["_parameters"]
        weight: Any
        bias: Any
        if (
            type(self) is Linear
            and "weight" in held
            and "bias" in held
            and not ("weight" in own or "bias" in own)
        ):  # a third of the time of looking them up as attributes
            weight, bias = held["weight"], held["bias"]
        else:
            # a subclass may have a lookup of its own; what stands in for a reparametrized or pruned
            # one is an ordinary attribute
            weight, bias = self.weight, self.bias
        return F.linear(input, weight, bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """A `Linear` that `quantize_dynamic` leaves alone. `MultiheadAttention` uses it for its output projection.

    >>> import pellucid as torch
    >>> type(torch.nn.MultiheadAttention(4, 2).out_proj).__name__
    'NonDynamicallyQuantizableLinear'
    """


class Bilinear(Module):
    """A bilinear layer with two inputs: `y[k] = x1^T weight[k] x2 + bias[k]` for each output
    feature k.

    Args:
        in1_features: size of the last dimension of the first input.
        in2_features: size of the last dimension of the second input.
        out_features: size of the last dimension of the result.
        bias: whether to add a learned bias. Default: True.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Shape:
        input1, input2: `(*, in1_features)` and `(*, in2_features)`, with the same dimensions in
            front.
        result: `(*, out_features)`.

    Attributes:
        weight: `(out_features, in1_features, in2_features)`, initially uniform in
            +-1/sqrt(in1_features).
        bias: `(out_features,)`, initialized in the same way; None with bias=False.

    Raises:
        ValueError: `in1_features` is not positive.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Bilinear(3, 4, 2)(torch.ones(5, 3), torch.ones(5, 4)).shape
        torch.Size([5, 2])
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ArgumentValueError(
                f"in1_features must be > 0, but got (in1_features={in1_features})"
            )
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(
            T.empty((out_features, in1_features, in2_features), device=device, dtype=dtype)
        )
        if bias:
            self.bias = Parameter(T.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """Linear whose `in_features` is inferred from the first input.

    Until the first call `weight` and `bias` have no shape. That call creates and initializes them,
    and the module becomes a Linear. Run one batch through it before you count the parameters; an
    optimizer may be made earlier.

    Args:
        out_features: size of the last dimension of the result.
        bias: whether to add a learned bias. Default: True.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Shape:
        input: `(*, in_features)`, where the first input decides `in_features`.
        result: `(*, out_features)`.

    Example:
        >>> import pellucid as torch
        >>> layer = torch.nn.LazyLinear(2)
        >>> layer(torch.ones(5, 3)).shape, layer.in_features
        (torch.Size([5, 2]), 3)
    """

    cls_to_become = Linear
    weight: Any
    bias: Any

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take shapes from the input and draw initial values."""
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if is_lazy(self.bias):
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
        if self.in_features == 0:
            assert input.shape[-1] == self.weight.shape[-1]
            self.in_features = input.shape[-1]
