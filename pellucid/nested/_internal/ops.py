"""`torch.nested._internal.ops`: what a jagged tensor is made of."""

from __future__ import annotations

from typing import Any

from .._files import parts_of
from .._jagged import NestedTensor


def extract_kwargs(arg: NestedTensor) -> dict[str, Any]:
    """All arguments of `NestedTensor` but the values."""
    (parts,), _ = parts_of(arg)
    return {
        "offsets": arg.offsets(),
        "lengths": arg.lengths(),
        "_metadata_cache": parts["_metadata_cache"],
        "_ragged_idx": arg._ragged_idx,
    }
