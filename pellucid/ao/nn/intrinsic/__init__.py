"""`torch.ao.nn.intrinsic`: modules that are several fused into one."""

from __future__ import annotations

from . import modules as modules
from . import qat as qat
from . import quantized as quantized
from .modules.fused import *  # noqa: F403
from .modules.fused import __all__ as __all__
