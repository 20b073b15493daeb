"""`torch.utils.data.graph`."""

from ...data.pipes.graph import traverse as traverse
from ...data.pipes.graph import traverse_dps as traverse_dps

__all__ = ["traverse", "traverse_dps"]
