"""A batch norm and a ReLU of quantized tensors."""

from __future__ import annotations

from ....quantized.modules.batchnorm import BatchNorm2d, BatchNorm3d


class BNReLU2d(BatchNorm2d):
    """A batch norm and a ReLU."""

    _OP = "batch_norm2d_relu"


class BNReLU3d(BatchNorm3d):
    """A batch norm and a ReLU."""

    _OP = "batch_norm3d_relu"
