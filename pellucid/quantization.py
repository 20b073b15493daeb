"""`torch.quantization`: the old name of `torch.ao.quantization`."""

from __future__ import annotations

from .ao.quantization import *  # noqa: F403
from .ao.quantization import fake_quantize as fake_quantize
from .ao.quantization import observer as observer
from .ao.quantization import qconfig as qconfig
from .ao.quantization import stubs as stubs
