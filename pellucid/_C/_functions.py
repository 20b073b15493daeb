"""Functions of autograd under the names of `torch._C._functions`."""

from __future__ import annotations

from ..core.display.nodes import AccumulateGrad as AccumulateGrad
from ..core.function import once_differentiable as once_differentiable
