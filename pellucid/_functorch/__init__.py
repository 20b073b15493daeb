"""Inner names of function transforms (`torch._functorch`)."""

from __future__ import annotations

from . import apis as apis
from . import config as config
from . import vmap as vmap
