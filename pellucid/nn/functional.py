"""`torch.nn.functional`: the functions of neural networks; they are defined in `pellucid.ops`."""

from __future__ import annotations

from ..api import attach as _attach
from . import _attention as _attention
from . import grad as grad

_attach.publish(globals(), "nn.functional")
