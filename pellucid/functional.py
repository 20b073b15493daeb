"""`torch.functional`: some of `torch`'s functions under a second name."""

from __future__ import annotations

import importlib as _importlib
from typing import Any as _Any

from .core.public import FUNCTIONS as _FUNCTIONS

_NAMES = (
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "einsum",
    "istft",
    "lu",
    "meshgrid",
    "norm",
    "pca_lowrank",
    "split",
    "stft",
    "svd_lowrank",
    "tensordot",
    "unique",
    "unique_consecutive",
    "unravel_index",
)
__all__ = list(_NAMES)

for _name in _NAMES:
    globals()[_name] = _FUNCTIONS["torch"][_name]


def __getattr__(name: str) -> _Any:
    if name == "F":  # libraries take `torch.nn.functional` from here
        return _importlib.import_module(f"{__package__}.nn.functional")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
