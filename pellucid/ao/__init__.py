"""`torch.ao`: quantisation, of which there are the names that models carry."""

from __future__ import annotations

from . import quantization as quantization
