"""`Tensor.new_tensor` and the old `Tensor.new`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..core.public import method
from ..core.tensor import Tensor
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
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor with a copy of `data`, of this tensor's dtype and device unless told otherwise.

    >>> import pellucid as torch
    >>> torch.ones(1, dtype=torch.float64).new_tensor([1, 2])
    tensor([1., 2.], dtype=torch.float64)
    """
    return tensor(
        data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad
    )


@method()
def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A new tensor of this tensor's dtype: of arbitrary values in the given sizes, or with the
    values of a sequence.
    """
    if len(args) == 1 and not isinstance(args[0], (int, np.integer, dtypes.Size)):
        if isinstance(args[0], Tensor):
            return args[0].detach()
        return tensor(args[0], dtype=self.dtype, device=device or self.device)
    if len(args) == 1 and isinstance(args[0], dtypes.Size):
        return self.new_empty(args[0], device=device)
    return self.new_empty(args or (0,), device=device)
