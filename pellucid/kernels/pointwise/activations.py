"""Operations as fused ufuncs of float32: activation functions and their gradients, elementary
functions.

    >>> from pellucid.kernels.pointwise import activations
    >>> activations.gelu is None or activations.gelu(np.zeros(3, np.float32)).tolist() == [0.0, 0.0, 0.0]
    True

A name is that of a formula, whose values and then numbers are the arguments: `gelu(x)`,
`gelu_backward(g, x)`, `softplus(x, beta, threshold)`. It is compiled when it is first used, and is
None where that is impossible.
"""

from __future__ import annotations

import numpy as np

from ...ir.formula import FORMULAS, word
from .ufunc import make_ufunc


def __getattr__(name: str) -> np.ufunc | None:
    formula = FORMULAS.get(name) or word(name)
    if formula is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = make_ufunc(name, formula, named=True)
    return globals()[name]
