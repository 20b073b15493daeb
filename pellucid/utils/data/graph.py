"""`torch.utils.data.graph`."""

from ...data.graph import traverse as traverse
from ...data.graph import traverse_dps as traverse_dps

__all__ = ["traverse", "traverse_dps"]
