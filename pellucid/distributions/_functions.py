"""The functions that PyTorch has directly under `torch`, for use inside this package, which may not
import the root.
"""

from __future__ import annotations

import math
from typing import Any

from ..api import attach as _attach  # noqa: F401  (the Tensor has its methods only once this is loaded)
from ..core.public import FUNCTIONS
from ..core.tensor import Tensor


class Functions:
    """`T.exp` is the public function `exp` of the first namespace that has it."""

    def __init__(self, *namespaces: str) -> None:
        self._namespaces = namespaces

    def __getattr__(self, name: str) -> Any:
        for namespace in self._namespaces:
            function = FUNCTIONS[namespace].get(name)
            if function is not None:
                setattr(self, name, function)
                return function
        raise AttributeError(f"there is no function {name} in {' or '.join(self._namespaces)}")


T = Functions("torch", "nn.functional", "special")
N = Functions("nn.functional")
L = Functions("linalg")

EULER = 0.57721566490153286060
LOG_2PI = math.log(2 * math.pi)


def as_parameter(value: Any, like: Tensor) -> Tensor:
    """A number as a 0-d tensor of `like`'s dtype; a tensor as it is."""
    return (
        value
        if isinstance(value, Tensor)
        else T.tensor(value, dtype=like.dtype, device=like.device)
    )


def xlog1py(x: Any, y: Tensor) -> Tensor:
    """`x * log(1 + y)`, 0 where x is 0."""
    result: Tensor = (
        T.xlogy(x, y + 1)
        if not isinstance(x, Tensor)
        else T.where((x == 0) & ~T.isnan(y), x * 0, x * T.log1p(y))
    )
    return result


def logbeta(a: Tensor, b: Tensor) -> Tensor:
    """The logarithm of the beta function."""
    return T.lgamma(a) + T.lgamma(b) - T.lgamma(a + b)
