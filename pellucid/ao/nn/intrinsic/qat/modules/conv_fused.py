"""Convolutions with batch norms whose weights are rounded while they are trained."""

from __future__ import annotations

from typing import Any

import numpy as np

from ......core.tensor import make_tensor
from ......nn import init
from ......nn.modules import batchnorm, conv
from ....qat.modules import conv as qat_conv
from ....qat.modules.conv import arguments

_FLOATS = {
    1: (conv.Conv1d, batchnorm.BatchNorm1d),
    2: (conv.Conv2d, batchnorm.BatchNorm2d),
    3: (conv.Conv3d, batchnorm.BatchNorm3d),
}


def _with_norm(dims: int, relu: bool) -> Any:
    base, norm = _FLOATS[dims]

    class ConvBn(base):  # type: ignore[misc,valid-type]
        _version = 2

        def __init__(
            self,
            in_channels: int,
            out_channels: int,
            kernel_size: Any,
            stride: Any = 1,
            padding: Any = 0,
            dilation: Any = 1,
            groups: int = 1,
            bias: Any = None,
            padding_mode: str = "zeros",
            eps: float = 1e-05,
            momentum: float = 0.1,
            freeze_bn: bool = False,
            qconfig: Any = None,
        ) -> None:
            super().__init__(
                in_channels,
                out_channels,
                kernel_size,
                stride,
                padding,
                dilation,
                groups,
                bool(bias),
                padding_mode,
            )
            if not qconfig:
                raise AssertionError("qconfig must be provided for QAT module")
            self.qconfig = qconfig
            self.freeze_bn = freeze_bn if self.training else True
            self.bn = norm(out_channels, eps, momentum)
            init.uniform_(self.bn.weight)
            self.weight_fake_quant = qconfig.weight()
            if self.training:
                self.freeze_bn_stats() if freeze_bn else self.update_bn_stats()
            else:
                self.freeze_bn_stats()

        def forward(self, input: Any) -> Any:
            """The weight is rounded as it will be when the norm is folded into it; the result is
            scaled back for the norm to see.
            """
            spread = (self.bn.running_var + self.bn.eps).sqrt()
            factor = self.bn.weight / spread
            shape = [-1] + [1] * (self.weight.ndim - 1)
            weight = self.weight_fake_quant(self.weight * factor.reshape(shape))
            zero = make_tensor(np.zeros(self.out_channels, self.weight._array.dtype))
            made = self._conv_forward(input, weight, zero)
            shape = [1, -1] + [1] * (self.weight.ndim - 2)
            made = made / factor.reshape(shape)
            if self.bias is not None:
                made = made + self.bias.reshape(shape)
            made = self.bn(made)
            return made.relu() if relu else made

        def freeze_bn_stats(self) -> Any:
            """The norm uses its running statistics from now on."""
            self.freeze_bn = True
            self.bn.training = False
            return self

        def update_bn_stats(self) -> Any:
            """The norm uses the statistics of batches from now on."""
            self.freeze_bn = False
            self.bn.training = True
            return self

        def train(self, mode: bool = True) -> Any:
            """As `Module.train`; a frozen norm stays frozen."""
            self.training = mode
            if not self.freeze_bn:
                for module in self.children():
                    module.train(mode)
            return self

        @classmethod
        def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
            """Of a fused float module with a qconfig, whose parameters it shares."""
            if not getattr(mod, "qconfig", None):
                raise AssertionError("Input float module must have a valid qconfig")
            config, inner, bn = mod.qconfig, mod[0], mod[1]
            how = arguments(inner)
            make: Any = cls
            made = make(*how, bn.eps, bn.momentum, False, config)
            made.weight, made.bias = inner.weight, inner.bias
            made.bn.weight, made.bn.bias = bn.weight, bn.bias
            made.bn.running_mean, made.bn.running_var = bn.running_mean, bn.running_var
            made.bn.num_batches_tracked = bn.num_batches_tracked
            return made

    ConvBn.__name__ = ConvBn.__qualname__ = f"ConvBn{'ReLU' if relu else ''}{dims}d"
    ConvBn.__doc__ = "A convolution and a batch norm" + (" and a ReLU." if relu else ".")
    return ConvBn


def _with_relu(dims: int) -> Any:
    base = getattr(qat_conv, f"Conv{dims}d")

    class ConvReLU(base):  # type: ignore[misc,valid-type]
        def forward(self, input: Any) -> Any:
            return super().forward(input).relu()

    ConvReLU.__name__ = ConvReLU.__qualname__ = f"ConvReLU{dims}d"
    ConvReLU.__doc__ = "A convolution and a ReLU."
    return ConvReLU


ConvBn1d, ConvBn2d, ConvBn3d = (_with_norm(_dims, False) for _dims in (1, 2, 3))
ConvBnReLU1d, ConvBnReLU2d, ConvBnReLU3d = (_with_norm(_dims, True) for _dims in (1, 2, 3))
ConvReLU1d, ConvReLU2d, ConvReLU3d = (_with_relu(_dims) for _dims in (1, 2, 3))


def update_bn_stats(mod: Any) -> None:
    """For `model.apply`: norms use the statistics of batches from now on."""
    if hasattr(mod, "update_bn_stats"):
        mod.update_bn_stats()


def freeze_bn_stats(mod: Any) -> None:
    """For `model.apply`: norms use their running statistics from now on."""
    if hasattr(mod, "freeze_bn_stats"):
        mod.freeze_bn_stats()
