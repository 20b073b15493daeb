"""`torch.storage`: the bytes under tensors."""

from __future__ import annotations

import io

from .api.attach import LENT
from .ops.shape.storage import StorageBase as StorageBase
from .ops.shape.storage import TypedStorage as TypedStorage
from .ops.shape.storage import UntypedStorage as UntypedStorage


def _load_from_bytes(b: bytes) -> TypedStorage | UntypedStorage:
    """What a pickled storage holds: its own file of `torch.save`."""
    return LENT["load"](io.BytesIO(b), weights_only=False)
