"""`torch.nn.functional`: functions for neural networks. They are defined in `pellucid.ops`."""

from __future__ import annotations

import math

from ..api import attach as _attach
from ..core.tensor import Tensor as Tensor
from ..ops.linalg.grouped import _ScalingType as _ScalingType
from ..ops.linalg.grouped import _SwizzleType as _SwizzleType
from . import _attention as _attention
from . import _reduction as _reduction
from . import grad as grad

_attach.publish(globals(), "nn.functional")
_attention.multi_head_attention_forward.__module__ = __name__

ScalingType, SwizzleType = _ScalingType, _SwizzleType

_Reduction = _reduction

# Attention layers of other libraries, which began as copies of PyTorch's, import these.
_mha_shape_check = _attention._mha_shape_check
_canonical_mask = _attention._canonical_mask
_none_or_dtype = _attention._none_or_dtype
_in_projection = _attention._in_projection
_in_projection_packed = _attention._in_projection_packed


def _check_key_padding_mask(key_padding_mask: Tensor, src_len: int, bsz: int) -> None:
    """Raise AssertionError unless a mask of padding has the batch's size and the keys' length."""
    for axis, want in ((0, bsz), (1, src_len)):
        if key_padding_mask.size(axis) != want:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{axis}] to be {want}, but got {key_padding_mask.size(axis)}"
            )


def _verify_batch_size(size: list[int]) -> None:
    """Raise ValueError for one value per channel, of which batch normalization has no statistics."""
    if size[0] * math.prod(size[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {size}"
        )
