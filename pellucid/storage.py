"""`torch.storage`: the bytes under tensors."""

from __future__ import annotations

from .ops.shape.storage import StorageBase as StorageBase
from .ops.shape.storage import TypedStorage as TypedStorage
from .ops.shape.storage import UntypedStorage as UntypedStorage
