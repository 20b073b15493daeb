"""`torch.nn.functional`: functions for neural networks. They are defined in `pellucid.ops`."""

from __future__ import annotations

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
