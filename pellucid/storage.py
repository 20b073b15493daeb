"""`torch.storage`: the bytes under tensors."""

from __future__ import annotations

import io
import sys
from typing import Any

from .ops.shape.storage import StorageBase as StorageBase
from .ops.shape.storage import TypedStorage as TypedStorage
from .ops.shape.storage import UntypedStorage as UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]


def _load_from_bytes(b: bytes) -> TypedStorage | UntypedStorage:
    """What a pickled storage holds: its own file of `torch.save`."""
    library: Any = sys.modules[__name__.partition(".")[0]]
    return library.load(io.BytesIO(b), weights_only=False)
