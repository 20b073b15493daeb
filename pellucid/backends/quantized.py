"""Engines of quantised operations, of which Pellucid has none.

>>> import pellucid as torch
>>> torch.backends.quantized.supported_engines
['none']
"""

from __future__ import annotations

engine = "none"
supported_engines = ["none"]
