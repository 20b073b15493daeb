"""`torch.ao.nn.quantized`: modules that compute with quantized tensors."""

from __future__ import annotations

from . import dynamic as dynamic
from . import functional as functional
from . import modules as modules
from .modules import *  # noqa: F403
from .modules import __all__ as __all__
