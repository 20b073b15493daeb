"""Convolutions whose weights are rounded while they are trained."""

from __future__ import annotations

from typing import Any

from .....nn.modules import conv


def arguments(mod: Any) -> tuple[Any, ...]:
    """How a convolution was made."""
    return (
        mod.in_channels,
        mod.out_channels,
        mod.kernel_size,
        mod.stride,
        mod.padding,
        mod.dilation,
        mod.groups,
        mod.bias is not None,
        mod.padding_mode,
    )


def _rounding(base: Any, name: str) -> Any:
    class Conv(base):
        _FLOAT_MODULE = base

        def __init__(
            self,
            in_channels: int,
            out_channels: int,
            kernel_size: Any,
            stride: Any = 1,
            padding: Any = 0,
            dilation: Any = 1,
            groups: int = 1,
            bias: bool = True,
            padding_mode: str = "zeros",
            qconfig: Any = None,
            device: Any = None,
            dtype: Any = None,
        ) -> None:
            super().__init__(
                in_channels,
                out_channels,
                kernel_size,
                stride,
                padding,
                dilation,
                groups,
                bias,
                padding_mode,
            )
            if not qconfig:
                raise AssertionError("qconfig must be provided for QAT module")
            self.qconfig = qconfig
            self.weight_fake_quant = qconfig.weight()

        def forward(self, input: Any) -> Any:
            return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)

        @classmethod
        def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
            """Of a float layer with a qconfig, whose weight it shares."""
            if not getattr(mod, "qconfig", None):
                raise AssertionError("Input float module must have a valid qconfig")
            config = mod.qconfig
            mod = mod[0] if not hasattr(mod, "weight") else mod
            make: Any = cls
            made = make(*arguments(mod), config)
            made.weight, made.bias = mod.weight, mod.bias
            return made

        def to_float(self) -> Any:
            """The float layer with the trained weight."""
            made = base(*arguments(self))
            made.weight.data = self.weight.detach()
            if self.bias is not None:
                made.bias.data = self.bias.detach()
            return made

    Conv.__name__ = Conv.__qualname__ = name
    Conv.__doc__ = f"As `nn.{name}`; `qconfig.weight` makes what rounds the weight."
    return Conv


Conv1d = _rounding(conv.Conv1d, "Conv1d")
Conv2d = _rounding(conv.Conv2d, "Conv2d")
Conv3d = _rounding(conv.Conv3d, "Conv3d")
