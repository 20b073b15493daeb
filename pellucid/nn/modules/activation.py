"""Activation layers."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from ...errors import warn
from .. import functional as F
from .._functions import T
from ..init import constant_
from ..parameter import Parameter
from ._naming import separate_initializers
from .module import Module


@separate_initializers
class _InPlace(Module):
    """An activation with no argument but `inplace`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_InPlace):
    """Rectified linear unit: `max(x, 0)`.

    Args:
        inplace: whether to change the input itself. Default: False.

    Shape:
        input: any shape; the result has the same one.

    Source: Nair, Hinton, "Rectified linear units improve restricted Boltzmann machines", 2010.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.ReLU()(torch.tensor([[-1.0, 0.5], [2.0, -0.5]]))
        tensor([[0.0000, 0.5000],
                [2.0000, 0.0000]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace) if self.inplace else F.relu(input)


class ReLU6(Module):
    """ReLU with an upper bound: `min(max(x, 0), 6)`.

    Args:
        inplace: whether to change the input itself. Default: False.

    Shape:
        input: any shape; the result has the same one.

    Source: Howard et al., "MobileNets", 2017.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.ReLU6()(torch.tensor([-1.0, 2.0, 7.0]))
        tensor([0., 2., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
        self.min_val = 0.0
        self.max_val = 6.0

    def forward(self, input: Tensor) -> Tensor:
        return F.relu6(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class SiLU(_InPlace):
    """Sigmoid linear unit, also known as swish: `x * sigmoid(x)`.

    Args:
        inplace: whether to change the input itself. Default: False.

    Shape:
        input: any shape; the result has the same one.

    Source: Hendrycks, Gimpel, "Gaussian error linear units", 2016.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.SiLU()(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.2689,  0.0000,  1.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, inplace=self.inplace)


class Mish(_InPlace):
    """Mish: `x * tanh(softplus(x))`.

    Args:
        inplace: whether to change the input itself. Default: False.

    Shape:
        input: any shape; the result has the same one.

    Source: Misra, "Mish: a self regularized non-monotonic activation function", 2019.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Mish()(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.3034,  0.0000,  1.9440])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, inplace=self.inplace)


class SELU(_InPlace):
    """Scaled ELU: `scale * (max(0, x) + min(0, alpha * (exp(x) - 1)))`.

    With alpha = 1.6733 and scale = 1.0507, zero mean and unit variance are a fixed point from layer
    to layer. Initialize weights with `kaiming_normal_(weight, nonlinearity="linear")`.

    Args:
        inplace: whether to change the input itself. Default: False.

    Shape:
        input: any shape; the result has the same one.

    Source: Klambauer et al., "Self-normalizing neural networks", 2017.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.SELU()(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-1.1113,  0.0000,  2.1014])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class Hardswish(Module):
    """Piecewise approximation of SiLU: `x * relu6(x + 3) / 6`.

    Args:
        inplace: whether to change the input itself. Default: False.

    Shape:
        input: any shape; the result has the same one.

    Source: Howard et al., "Searching for MobileNetV3", 2019.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Hardswish()(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.3333,  0.0000,  1.6667])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class Hardsigmoid(Module):
    """Piecewise linear approximation of the sigmoid: `relu6(x + 3) / 6`.

    Args:
        inplace: whether to change the input itself. Default: False.

    Shape:
        input: any shape; the result has the same one.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Hardsigmoid()(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([0.3333, 0.5000, 0.8333])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Sigmoid(Module):
    """The logistic function: `1 / (1 + exp(-x))`, between 0 and 1.

    Shape:
        input: any shape; the result has the same one.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Sigmoid()(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([0.2689, 0.5000, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        return T.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent: `(exp(x) - exp(-x)) / (exp(x) + exp(-x))`, between -1 and 1.

    Shape:
        input: any shape; the result has the same one.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Tanh()(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.7616,  0.0000,  0.9640])
    """

    def forward(self, input: Tensor) -> Tensor:
        return T.tanh(input)


class LogSigmoid(Module):
    """The logarithm of the sigmoid: `log(1 / (1 + exp(-x)))`, computed without overflow.

    Shape:
        input: any shape; the result has the same one.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.LogSigmoid()(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-1.3133, -0.6931, -0.1269])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    """Softsign: `x / (1 + |x|)`, between -1 and 1.

    Shape:
        input: any shape; the result has the same one.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Softsign()(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.5000,  0.0000,  0.6667])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """Tanhshrink: `x - tanh(x)`.

    Shape:
        input: any shape; the result has the same one.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Tanhshrink()(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.2384,  0.0000,  1.0360])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class GELU(Module):
    """Gaussian error linear unit: `x * Phi(x)`, where Phi is the distribution function of the
    standard normal distribution.

    Args:
        approximate: "none", or "tanh" for `0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`,
            which is faster. Default: "none".

    Shape:
        input: any shape; the result has the same one.

    Source: Hendrycks, Gimpel, "Gaussian error linear units", 2016.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.GELU()(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.1587,  0.0000,  1.9545])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Threshold(Module):
    """Threshold: `x` where `x > threshold`, else `value`.

    Args:
        threshold: the threshold.
        value: what takes the place of smaller elements.
        inplace: whether to change the input itself. Default: False.

    Shape:
        input: any shape; the result has the same one.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Threshold(0.5, 0.0)(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([0., 0., 2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + (
            ", inplace=True" if self.inplace else ""
        )


class RReLU(Module):
    """Randomized leaky ReLU: `x` for x >= 0, else `a * x` with a random slope a for each element.

    Args:
        lower, upper: bounds of the slope, which is uniform between them while training; in
            evaluation mode it is their mean. Default: 1/8 and 1/3.
        inplace: whether to change the input itself. Default: False.

    Shape:
        input: any shape; the result has the same one.

    Source: Xu et al., "Empirical evaluation of rectified activations in convolutional network",
    2015.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.RReLU().eval()(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.2292,  0.0000,  2.0000])
    """

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (
            ", inplace=True" if self.inplace else ""
        )


class Hardtanh(Module):
    """Clamps to an interval: `min(max(x, min_val), max_val)`.

    Args:
        min_val, max_val: the bounds. Default: -1 and 1.
        inplace: whether to change the input itself. Default: False.

    Shape:
        input: any shape; the result has the same one.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Hardtanh()(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-1.,  0.,  1.])
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        for new, old, value in (
            ("min_val", "min_value", min_value),
            ("max_val", "max_value", max_value),
        ):
            if value is not None:
                warn(
                    f"keyword argument `{old}` is deprecated and renamed to `{new}`", FutureWarning
                )
        min_val = min_val if min_value is None else min_value
        max_val = max_val if max_value is None else max_value
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace
        if not self.max_val > self.min_val:
            raise AssertionError(
                f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})"
            )

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" + (
            ", inplace=True" if self.inplace else ""
        )


class ELU(Module):
    """Exponential linear unit: `x` for x > 0, else `alpha * (exp(x) - 1)`.

    Args:
        alpha: the negative limit is -alpha. Default: 1.
        inplace: whether to change the input itself. Default: False.

    Shape:
        input: any shape; the result has the same one.

    Source: Clevert, Unterthiner, Hochreiter, "Fast and accurate deep network learning by
    exponential linear units", 2016.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.ELU()(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.6321,  0.0000,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class CELU(Module):
    """Continuously differentiable ELU: `max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`.

    Args:
        alpha: the negative limit is -alpha; not 0. Default: 1.
        inplace: whether to change the input itself. Default: False.

    Shape:
        input: any shape; the result has the same one.

    Source: Barron, "Continuously differentiable exponential linear units", 2017.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.CELU()(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.6321,  0.0000,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class GLU(Module):
    """Gated linear unit: `a * sigmoid(b)`, where a and b are the halves of the input along a
    dimension.

    Args:
        dim: the dimension that is halved. Default: -1.

    Shape:
        input: any shape in which the size of `dim` is even; the result has half of it.

    Raises:
        RuntimeError: an odd size.

    Source: Dauphin et al., "Language modeling with gated convolutional networks", 2017.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.GLU()(torch.ones(4, 6)).shape
        torch.Size([4, 3])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Hardshrink(Module):
    """Hard shrinkage: `x` where |x| > lambd, else 0.

    Args:
        lambd: the threshold. Default: 0.5.

    Shape:
        input: any shape; the result has the same one.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Hardshrink()(torch.tensor([-1.0, 0.3, 2.0]))
        tensor([-1.,  0.,  2.])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Softshrink(Module):
    """Soft shrinkage: `x - lambd` where x > lambd, `x + lambd` where x < -lambd, else 0.

    Args:
        lambd: the threshold, not negative. Default: 0.5.

    Shape:
        input: any shape; the result has the same one.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Softshrink()(torch.tensor([-1.0, 0.3, 2.0]))
        tensor([-0.5000,  0.0000,  1.5000])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class LeakyReLU(Module):
    """Leaky ReLU: `x` for x > 0, else `negative_slope * x`.

    Args:
        negative_slope: the slope for negative elements. Default: 0.01.
        inplace: whether to change the input itself. Default: False.

    Shape:
        input: any shape; the result has the same one.

    Source: Maas, Hannun, Ng, "Rectifier nonlinearities improve neural network acoustic models",
    2013.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.LeakyReLU()(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.0100,  0.0000,  2.0000])
    """

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """Leaky ReLU with a learned slope: `x` for x >= 0, else `weight * x`.

    Args:
        num_parameters: 1, one slope for all, or the number of channels, one for each. Default: 1.
        init: initial value of the slopes. Default: 0.25.
        device, dtype: where the slopes are created and their element type; None: the default device
            and dtype.

    Shape:
        input: any shape; the channels are dimension 1. The result has the same shape.

    Attributes:
        weight: `(num_parameters,)`. Weight decay pulls the slopes to 0, so leave them out of it.

    Source: He, Zhang, Ren, Sun, "Delving deep into rectifiers", 2015.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.PReLU()(torch.tensor([-1.0, 2.0])).tolist()
        [-0.25, 2.0]
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight: Any = Parameter(T.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the slopes to their initial value."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Softplus(Module):
    """Softplus, a smooth ReLU: `log(1 + exp(beta * x)) / beta`.

    Args:
        beta: the larger, the closer to ReLU. Default: 1.
        threshold: where `beta * x` is larger, the result is x itself. Default: 20.

    Shape:
        input: any shape; the result has the same one.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Softplus()(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([0.3133, 0.6931, 2.1269])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


@separate_initializers
class _Softmax(Module):
    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("dim", None)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmin(_Softmax):
    """Softmin: `softmax(-x)`, which weighs small elements most.

    Args:
        dim: the dimension whose elements sum to 1. Without it a warning says which one was guessed.

    Shape:
        input: any shape; the result has the same one.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Softmin(dim=1)(torch.tensor([[0.0, 0.0, 1.0]]))
        tensor([[0.4223, 0.4223, 0.1554]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(_Softmax):
    """Softmax: `exp(x) / sum(exp(x))` over a dimension, computed without overflow. The results are
    positive and sum to 1.

    For a loss, use CrossEntropyLoss on the scores, or LogSoftmax with NLLLoss; the logarithm of a
    softmax loses precision.

    Args:
        dim: the dimension whose elements sum to 1. Without it a warning says which one was guessed.

    Shape:
        input: any shape; the result has the same one.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Softmax(dim=1)(torch.tensor([[0.0, 0.0, 1.0]]))
        tensor([[0.2119, 0.2119, 0.5761]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_Softmax):
    """The logarithm of the softmax: `x - log(sum(exp(x)))` over a dimension, computed without
    overflow.

    Args:
        dim: the dimension whose probabilities sum to 1. Without it a warning says which one was
            guessed.

    Shape:
        input: any shape; the result has the same one.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.LogSoftmax(dim=1)(torch.tensor([[0.0, 0.0]]))
        tensor([[-0.6931, -0.6931]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels of each pixel: `exp(x) / sum(exp(x))` over dimension -3.

    Shape:
        input: `(N, C, H, W)` or `(C, H, W)`; the result has the same shape.

    Raises:
        ValueError: another number of dimensions.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Softmax2d()(torch.ones(1, 4, 2, 2))[0, :, 0, 0]
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3, _stacklevel=5)


def __getattr__(name: str) -> Any:
    if name == "MultiheadAttention":  # where PyTorch has it
        from .attention import MultiheadAttention

        return MultiheadAttention
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
