"""A convolution and a ReLU of quantized tensors."""

from __future__ import annotations

from ....quantized.modules.conv import Conv1d, Conv2d, Conv3d


class ConvReLU1d(Conv1d):
    """A convolution and a ReLU."""

    _RELU = True


class ConvReLU2d(Conv2d):
    """A convolution and a ReLU."""

    _RELU = True


class ConvReLU3d(Conv3d):
    """A convolution and a ReLU."""

    _RELU = True
