"""`torch.storage`: the bytes under tensors."""

from __future__ import annotations

from .ops.view_storage import TypedStorage as TypedStorage
from .ops.view_storage import UntypedStorage as UntypedStorage
