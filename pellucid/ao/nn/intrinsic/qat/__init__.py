"""`torch.ao.nn.intrinsic.qat`: fused layers whose weights are rounded while they are trained."""

from __future__ import annotations

from . import modules as modules
from .modules import *  # noqa: F403
from .modules import __all__ as __all__
