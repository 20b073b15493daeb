"""Modules in a row that quantization treats as one; until then they run one after the other."""

from __future__ import annotations

from typing import Any

from .....nn.modules.container import Sequential

__all__ = [
    "BNReLU2d",
    "BNReLU3d",
    "ConvBn1d",
    "ConvBn2d",
    "ConvBn3d",
    "ConvBnReLU1d",
    "ConvBnReLU2d",
    "ConvBnReLU3d",
    "ConvReLU1d",
    "ConvReLU2d",
    "ConvReLU3d",
    "LinearBn1d",
    "LinearReLU",
]


class _FusedModule(Sequential):
    _TYPES: tuple[str, ...] = ()

    def __init__(self, *modules: Any) -> None:
        for module, name in zip(modules, self._TYPES, strict=True):
            if name not in [kind.__name__ for kind in type(module).__mro__]:
                kinds = "".join(type(m).__name__ for m in modules)
                raise AssertionError(f"Incorrect types for input modules{kinds}")
        super().__init__(*modules)


class BNReLU2d(_FusedModule):
    """A batch norm and a ReLU."""

    _TYPES = ("BatchNorm2d", "ReLU")


class BNReLU3d(_FusedModule):
    """A batch norm and a ReLU."""

    _TYPES = ("BatchNorm3d", "ReLU")


class ConvReLU1d(_FusedModule):
    """A convolution and a ReLU."""

    _TYPES = ("Conv1d", "ReLU")


class ConvReLU2d(_FusedModule):
    """A convolution and a ReLU."""

    _TYPES = ("Conv2d", "ReLU")


class ConvReLU3d(_FusedModule):
    """A convolution and a ReLU."""

    _TYPES = ("Conv3d", "ReLU")


class ConvBn1d(_FusedModule):
    """A convolution and a batch norm."""

    _TYPES = ("Conv1d", "BatchNorm1d")


class ConvBn2d(_FusedModule):
    """A convolution and a batch norm."""

    _TYPES = ("Conv2d", "BatchNorm2d")


class ConvBn3d(_FusedModule):
    """A convolution and a batch norm."""

    _TYPES = ("Conv3d", "BatchNorm3d")


class ConvBnReLU1d(_FusedModule):
    """A convolution, a batch norm and a ReLU."""

    _TYPES = ("Conv1d", "BatchNorm1d", "ReLU")


class ConvBnReLU2d(_FusedModule):
    """A convolution, a batch norm and a ReLU."""

    _TYPES = ("Conv2d", "BatchNorm2d", "ReLU")


class ConvBnReLU3d(_FusedModule):
    """A convolution, a batch norm and a ReLU."""

    _TYPES = ("Conv3d", "BatchNorm3d", "ReLU")


class LinearReLU(_FusedModule):
    """A linear layer and a ReLU."""

    _TYPES = ("Linear", "ReLU")


class LinearBn1d(_FusedModule):
    """A linear layer and a batch norm."""

    _TYPES = ("Linear", "BatchNorm1d")
