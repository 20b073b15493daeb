"""`functorch.compile`: forward and backward graphs for compilers of a program's own."""

from __future__ import annotations

from .aot_autograd import *  # noqa: F403
from .aot_autograd import __all__ as __all__
