"""Inner names of function transforms (`torch._functorch`)."""

from __future__ import annotations

from . import vmap as vmap
