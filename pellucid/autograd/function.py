"""`torch.autograd.function`: custom operations and their context."""

from __future__ import annotations

from ..core.function import Function as Function
from ..core.function import FunctionCtx as FunctionCtx
from ..core.function import InplaceFunction as InplaceFunction
from ..core.function import once_differentiable as once_differentiable

BackwardCFunction = FunctionCtx
