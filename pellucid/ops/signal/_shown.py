"""The attributes that nodes of transforms show, as in PyTorch."""

from __future__ import annotations

import math
from typing import Any

from ...core.tape import value_at


def added_sizes(shape: Any, node: Any) -> tuple[int, ...]:
    """The sizes that are added at the end of each dimension, as `pad` has them."""
    before = value_at(node.inputs[0])[0]
    return tuple([k for a, b in zip(before[::-1], shape[::-1], strict=True) for k in (0, b - a)])


def normalization(scale: float, dim: Any, node: Any) -> int:
    """PyTorch's number for how a transform is scaled: not, by the root of the size, by the size."""
    sizes = node.params.get("n") or value_at(node.inputs[0])[0][dim[-1]]
    count = math.prod(value_at(node.inputs[0])[0][d] for d in dim[:-1]) * sizes
    return 0 if scale == 1 else 1 if math.isclose(scale, count**-0.5) else 2
