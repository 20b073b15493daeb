"""`torch.masked`: reductions and normalisations of the elements that a boolean mask keeps.

>>> import pellucid as torch
>>> torch.masked.mean(torch.tensor([1.0, 2.0, 9.0]), mask=torch.tensor([True, True, False]))
tensor(1.5000)
"""

from __future__ import annotations

from typing import Any

from ..errors import UnsupportedError
from ._normalizations import log_softmax as log_softmax
from ._normalizations import logaddexp as logaddexp
from ._normalizations import normalize as normalize
from ._normalizations import softmax as softmax
from ._normalizations import softmin as softmin
from ._reductions import amax as amax
from ._reductions import amin as amin
from ._reductions import argmax as argmax
from ._reductions import argmin as argmin
from ._reductions import cumprod as cumprod
from ._reductions import cumsum as cumsum
from ._reductions import logsumexp as logsumexp
from ._reductions import mean as mean
from ._reductions import median as median
from ._reductions import norm as norm
from ._reductions import prod as prod
from ._reductions import std as std
from ._reductions import sum as sum
from ._reductions import var as var

__all__ = [
    "amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum", "is_masked_tensor", "log_softmax", "logaddexp",
    "logsumexp", "masked_tensor", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip


def is_masked_tensor(obj: Any, /) -> bool:
    """False: there are no masked tensors here."""
    return False


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> Any:
    """Refused: keep the data and its mask as two tensors, and pass `mask=` to the functions of this namespace.

    Raises:
        NotImplementedError: always.
    """
    raise UnsupportedError(
        "torch.masked.masked_tensor: tensors that carry a mask are not supported; pass mask= to torch.masked functions"
    )


def as_masked_tensor(data: Any, mask: Any) -> Any:
    """Refused, as `masked_tensor`.

    Raises:
        NotImplementedError: always.
    """
    raise UnsupportedError(
        "torch.masked.as_masked_tensor: tensors that carry a mask are not supported; pass mask= to torch.masked functions"
    )
