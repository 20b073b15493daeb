"""Backends of `torch.compile` (`torch._dynamo.backends`)."""

from __future__ import annotations

from . import common as common
from . import registry as registry
