"""Classical orthogonal polynomials of `torch.special` (NIST Digital Library of Mathematical Functions, chapter 18).

The degree is a tensor or number that broadcasts with the argument; its digits after the point are dropped, and polynomials of
negative degree are 0.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.inplace import into
from ..core.primitive import defop
from ..core.public import public
from ..core.tensor import Tensor
from ._rules import require_tensor
from ._samples import UNIT, elementwise
from ._unary import document


def _scipy(name: str) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    return getattr(importlib.import_module("scipy.special"), name)  # type: ignore[no-any-return]


def _second_kind(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.where(n < 0, 0.0, _scipy("eval_chebyu")(np.maximum(n, 0), x))


_RULES: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {
    "chebyshev_polynomial_t": ("Chebyshev polynomial of the first kind", lambda n, x: _scipy("eval_chebyt")(n, x)),
    "chebyshev_polynomial_u": ("Chebyshev polynomial of the second kind", _second_kind),
    "chebyshev_polynomial_v": (
        "Chebyshev polynomial of the third kind",
        lambda n, x: _second_kind(n, x) - _second_kind(n - 1, x),
    ),
    "chebyshev_polynomial_w": (
        "Chebyshev polynomial of the fourth kind",
        lambda n, x: _second_kind(n, x) + _second_kind(n - 1, x),
    ),
    "hermite_polynomial_h": ("Hermite polynomial (of physics)", lambda n, x: _scipy("eval_hermite")(n, x)),
    "hermite_polynomial_he": ("Hermite polynomial (of probability)", lambda n, x: _scipy("eval_hermitenorm")(n, x)),
    "laguerre_polynomial_l": ("Laguerre polynomial", lambda n, x: _scipy("eval_laguerre")(n, x)),
    "legendre_polynomial_p": ("Legendre polynomial", lambda n, x: _scipy("eval_legendre")(n, x)),
}


def _polynomial(name: str, doc: str, value: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> None:
    def forward(xp: Any, x: Any, n: Any) -> Any:
        kind = x.dtype
        degree = np.asarray(n).astype(np.int64)
        result = value(np.maximum(degree, 0), np.asarray(x, np.float64))
        return np.where(degree < 0, 0.0, result).astype(kind)

    op = defop(
        name,
        "input n",
        forward=forward,
        promote="float",
        elementwise=True,
        batch="elementwise",
        samples=elementwise(UNIT, "int"),
    )

    def function(input: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
        if not isinstance(input, Tensor) and not isinstance(n, Tensor):
            require_tensor(input, name)
        result = op.call(input, n)
        return result if out is None else into(out, result, name)

    function.__name__ = function.__qualname__ = name
    document(function, f"The {doc} of degree `n`.", f"torch.special.{name}(torch.tensor([2.0]), 0)", "tensor([1.])")
    public(namespace="special")(function)


for _name, (_doc, _value) in _RULES.items():
    _polynomial(_name, _doc, _value)


def _shifted(value: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    return lambda n, x: value(n, 2 * x - 1)


for _kind in "tuvw":
    _doc, _value = _RULES[f"chebyshev_polynomial_{_kind}"]
    _polynomial(f"shifted_chebyshev_polynomial_{_kind}", f"shifted {_doc}, of `2 * input - 1`,", _shifted(_value))
