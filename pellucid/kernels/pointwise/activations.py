"""Fused ufuncs of float32 for operations with a formula: activation functions with their gradients,
and elementary functions.

Attributes of this module are named like formulas. Their arguments are the formula's values followed
by its numbers: `gelu(x)`, `gelu_backward(g, x)`, `softplus(x, beta, threshold)`. A ufunc is
compiled on first use; the attribute is None if that is impossible.

    >>> from pellucid.kernels.pointwise import activations
    >>> activations.gelu is None or activations.gelu(np.zeros(3, np.float32)).tolist() == [0.0, 0.0, 0.0]
    True
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
