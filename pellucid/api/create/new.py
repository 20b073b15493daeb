"""`Tensor.new_tensor`."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...core.public import method
from ...core.tensor import Tensor
from .construct import tensor


@method()
def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: dtypes.dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
) -> Tensor:
    """A new tensor with a copy of `data`, of this tensor's dtype and device unless told otherwise.

    >>> import pellucid as torch
    >>> torch.ones(1, dtype=torch.float64).new_tensor([1, 2])
    tensor([1., 2.], dtype=torch.float64)
    """
    return tensor(
        data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad
    )
