"""Classical orthogonal polynomials of `torch.special` (NIST Digital Library of Mathematical
Functions, chapter 18).

The degree is a tensor or number that broadcasts with the argument. Its fractional part is dropped,
and polynomials of negative degree are 0.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ....core.inplace import into
from ....core.primitive import defop
from ....core.public import public
from ....core.tensor import Tensor
from ..._rules import require_tensor
from ..._samples import UNIT, elementwise
from .._unary import document, without_halves

Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _scipy(name: str) -> Any:
    return getattr(importlib.import_module("scipy.special"), name)


# From this degree on use a closed form or an expansion, as a recurrence takes one step for each
# degree.
_LONGEST = 2.0**22


def _reflected(n: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Reflect an argument to the positive side. Returns its angle, the sign of the polynomial, and
    whether |x| is above 1.
    """
    beyond = np.abs(x) > 1
    angle = np.where(
        beyond, np.arccosh(np.maximum(np.abs(x), 1)), np.arccos(np.clip(np.abs(x), 0, 1))
    )
    return (
        np.where(np.isnan(x), np.nan, angle),
        np.where((x < 0) & (np.mod(n, 2) == 1), -1.0, 1.0),
        beyond,
    )


def _first_far(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    angle, sign, beyond = _reflected(n, x)
    return sign * np.where(beyond, np.cosh(n * angle), np.cos(n * angle))


def _second_far(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    angle, sign, beyond = _reflected(n, x)
    below = np.where(beyond, np.sinh(angle), np.sin(angle))
    above = np.where(beyond, np.sinh((n + 1) * angle), np.sin((n + 1) * angle))
    return sign * np.where(below == 0, n + 1, above / np.where(below == 0, 1, below))


def _legendre_far(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Compute Hilb's formula (DLMF 18.15.12), with a relative error of 1 / n."""
    angle, sign, beyond = _reflected(n, x)
    below = np.where(beyond, np.sinh(angle), np.sin(angle))
    bessel = np.where(beyond, _scipy("i0")((n + 0.5) * angle), _scipy("j0")((n + 0.5) * angle))
    return sign * np.sqrt(np.where(below == 0, 1, angle / np.where(below == 0, 1, below))) * bessel


def _laguerre_far(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Compute the expansion in Bessel functions (DLMF 18.15.19), with a relative error of 1 / n."""
    whole = 4 * n + 2
    part = np.minimum(np.abs(x) / whole, 0.5)
    rest = np.where(x < 0, 1 + part, 1 - part)
    angle = np.where(x < 0, np.arcsinh(np.sqrt(part)), np.arcsin(np.sqrt(part)))
    root = (np.sqrt(part * rest) + angle) / 2
    bessel = np.where(x < 0, _scipy("i0")(whole * root), _scipy("j0")(whole * root))
    return (
        np.exp(x / 2)
        * np.where(part == 0, 1, np.sqrt(root / np.sqrt(np.where(part == 0, 1, part * rest))))
        * bessel
    )


def _up_to(near: Rule, far: Rule) -> Rule:
    """Return a rule that uses `near` for low degrees and `far` for high ones."""

    def value(n: np.ndarray, x: np.ndarray) -> np.ndarray:
        high = n >= _LONGEST
        if not high.any():
            return near(n, x)
        with np.errstate(all="ignore"):
            return np.where(high, far(n.astype(np.float64), x), near(np.where(high, 0, n), x))

    return value


def _overflown(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.full(np.broadcast(n, x).shape, np.nan)


def _second_kind(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.where(n < 0, 0.0, _up_to(_scipy("eval_chebyu"), _second_far)(np.maximum(n, 0), x))


_RULES: dict[str, tuple[str, Rule]] = {
    "chebyshev_polynomial_t": (
        "Chebyshev polynomial of the first kind",
        lambda n, x: _up_to(_scipy("eval_chebyt"), _first_far)(n, x),
    ),
    "chebyshev_polynomial_u": ("Chebyshev polynomial of the second kind", _second_kind),
    "chebyshev_polynomial_v": (
        "Chebyshev polynomial of the third kind",
        lambda n, x: _second_kind(n, x) - _second_kind(n - 1, x),
    ),
    "chebyshev_polynomial_w": (
        "Chebyshev polynomial of the fourth kind",
        lambda n, x: _second_kind(n, x) + _second_kind(n - 1, x),
    ),
    "hermite_polynomial_h": (
        "Hermite polynomial (of physics)",
        lambda n, x: _up_to(_scipy("eval_hermite"), _overflown)(n, x),
    ),
    "hermite_polynomial_he": (
        "Hermite polynomial (of probability)",
        lambda n, x: _up_to(_scipy("eval_hermitenorm"), _overflown)(n, x),
    ),
    "laguerre_polynomial_l": (
        "Laguerre polynomial",
        lambda n, x: _up_to(_scipy("eval_laguerre"), _laguerre_far)(n, x),
    ),
    "legendre_polynomial_p": (
        "Legendre polynomial",
        lambda n, x: _up_to(_scipy("eval_legendre"), _legendre_far)(n, x),
    ),
}


def _polynomial(name: str, doc: str, value: Rule) -> None:
    def forward(xp: Any, x: Any, n: Any) -> Any:
        kind = x.dtype
        degree = np.asarray(n).astype(np.int64)
        result = value(np.maximum(degree, 0), np.asarray(x, np.float64))
        constant = np.where(degree == 0, 1.0, result)  # also for NaN
        return np.where(degree < 0, 0.0, constant).astype(kind)

    op = defop(
        name,
        "input n",
        host=True,
        forward=forward,
        promote="float",
        elementwise=True,
        samples=elementwise(UNIT, "int"),
    )

    call = without_halves(op.call, f"{name}_cpu")

    def function(input: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
        if not isinstance(input, Tensor) and not isinstance(n, Tensor):
            require_tensor(input, name)
        result = call(input, n)
        return result if out is None else into(out, result, name)

    function.__name__ = function.__qualname__ = name
    document(
        function,
        f"The {doc} of degree `n`.",
        f"torch.special.{name}(torch.tensor([2.0]), 0)",
        "tensor([1.])",
    )
    public(namespace="special")(function)


for _name, (_doc, _value) in _RULES.items():
    _polynomial(_name, _doc, _value)


def _shifted(value: Rule) -> Rule:
    return lambda n, x: value(n, 2 * x - 1)


for _kind in "tuvw":
    _doc, _value = _RULES[f"chebyshev_polynomial_{_kind}"]
    _polynomial(
        f"shifted_chebyshev_polynomial_{_kind}",
        f"shifted {_doc}, of `2 * input - 1`,",
        _shifted(_value),
    )
