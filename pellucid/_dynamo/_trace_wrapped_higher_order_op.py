"""`torch._dynamo._trace_wrapped_higher_order_op`, as far as libraries use it."""

from __future__ import annotations

from ..overrides import BaseTorchFunctionMode


class TransformGetItemToIndex(BaseTorchFunctionMode):
    """A block in which `x[i]` with tensors for `i` works inside of `vmap`; it does here in any
    case.
    """
