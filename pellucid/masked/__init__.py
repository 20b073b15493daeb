"""`torch.masked`: reductions and normalizations of the elements that a boolean mask keeps.

>>> import pellucid as torch
>>> torch.masked.mean(torch.tensor([1.0, 2.0, 9.0]), mask=torch.tensor([True, True, False]))
tensor(1.5000)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from ._tensor import MaskedTensor as MaskedTensor
    from ._tensor import as_masked_tensor as as_masked_tensor
    from ._tensor import is_masked_tensor as is_masked_tensor
    from ._tensor import masked_tensor as masked_tensor

__all__ = [
    "MaskedTensor",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "as_masked_tensor",
    "cumprod",
    "cumsum",
    "is_masked_tensor",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "masked_tensor",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]


def __getattr__(name: str) -> Any:
    # A tensor type that takes functions over makes each of them ask for it: only programs that use
    # it pay.
    if name in ("MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"):
        from . import _tensor

        return getattr(_tensor, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
