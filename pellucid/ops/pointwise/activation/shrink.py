"""Functions that set small elements to 0: hardshrink, softshrink, tanhshrink."""

from __future__ import annotations

import numpy as np

from ....core.primitive import TENSORS as F
from ....core.public import METHODS, public
from ....core.tape import titled
from ....core.tensor import Tensor
from ....core.transforms.whole import one_node
from ....errors import OperationError
from ..._rules import require_tensor
from ._shared import require_floating


@public(namespace="nn.functional torch", out="found")
@one_node("Hardshrink", "input", "input")
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Hard shrinkage: `input` where |input| > lambd, otherwise 0.

    Args:
        input: any shape, a floating-point dtype.
        lambd: the threshold. Default: 0.5.

    >>> import pellucid as torch
    >>> torch.nn.functional.hardshrink(torch.tensor([-1.0, 0.2, 2.0]))
    tensor([-1.,  0.,  2.])
    """
    x = require_floating(input, "hardshrink_cpu")
    return titled(
        F.where((x >= -lambd) & (x <= lambd), 0.0, x), "Hardshrink", x, of=(x,), lambd=lambd
    )


METHODS["hardshrink"] = hardshrink


@public(namespace="nn.functional", out="found")
@one_node("Softshrink", "input", "input")
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Soft shrinkage: move `input` towards zero by `lambd`; 0 where |input| <= lambd.

    Args:
        input: any shape, a floating-point dtype.
        lambd: the distance. Default: 0.5.

    >>> import pellucid as torch
    >>> torch.nn.functional.softshrink(torch.tensor([-1.0, 0.2, 2.0]))
    tensor([-0.5000,  0.0000,  1.5000])
    """
    x = require_floating(input, "softshrink_check")
    most = np.finfo(x._array.dtype).max if x._array.dtype.kind == "f" else 3.38953e38
    if not 0 <= lambd <= most:
        raise OperationError(
            f"lambda must be in range [0, {most:g}] for input dtype {x.dtype.scalar_type_name}, but found {lambd:g}"
        )
    moved = F.where(x > lambd, x - lambd, x + lambd)
    inside = (x >= -lambd) & (x <= lambd)
    return titled(F.where(inside, x * 0.0, moved), "Softshrink", x, of=(x,), lambd=lambd)


@public(namespace="nn.functional")
def tanhshrink(input: Tensor) -> Tensor:
    """Tanh shrinkage, `input - tanh(input)`.

    >>> import pellucid as torch
    >>> torch.nn.functional.tanhshrink(torch.tensor([-1.0, 2.0]))
    tensor([-0.2384,  1.0360])
    """
    return require_tensor(input, "tanhshrink") - input.tanh()
