"""Bessel and Airy functions (NIST Digital Library of Mathematical Functions, chapters 9 and 10).

Exact to rounding in float64, where PyTorch 2.13's kernels of j0, j1, y0 and y1 are off by up to
1e-7 for arguments beyond 5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....core.public import FUNCTIONS
from ..._samples import POSITIVE, REAL
from .._unary import real, unary, without_halves


def _i1_gradient(F: Any, g: Any, input: Any, out: Any) -> Any:
    small = abs(input) < _eps(input)
    safe = F.where(small, 1.0, input)
    return g * F.where(small, 0.5, F.i0(safe) - out / safe)


def _i1e_gradient(F: Any, g: Any, input: Any, out: Any) -> Any:
    small = abs(input) < _eps(input)
    safe = F.where(small, 1.0, input)
    return g * F.where(small, 0.5, F.i0e(safe) - out * (F.sign(safe) + 1 / safe))


def _eps(x: Any) -> float:
    kind = x.dtype if isinstance(x.dtype, np.dtype) else x.dtype.numpy
    return 2.0**-52 if kind == np.float64 else 2.0**-23


def _by_argument(F: Any, value: Any, input: Any, limit: float) -> Any:
    """Return `value / input`, with the given limit at 0."""
    return F.where(input == 0, limit, value / F.where(input == 0, 1.0, input))


i0 = unary(
    "i0",
    "i0",
    lambda F, g, input: g * F.i1(input),
    namespace="torch special",
    doc="The modified Bessel function of the first kind, order 0.",
    example="torch.i0(torch.tensor([0.0, 1.0]))",
    shows="tensor([1.0000, 1.2661])",
)

i0e = unary(
    "i0e",
    "i0e",
    lambda F, g, input, out: g * (F.i1e(input) - F.sign(input) * out),
    namespace="special",
    methods=None,
    grad_name="SpecialI0E",
    doc="`exp(-|input|) * i0(input)`.",
    example="torch.special.i0e(torch.tensor([0.0, 1.0]))",
    shows="tensor([1.0000, 0.4658])",
)

i1 = unary(
    "i1",
    "i1",
    _i1_gradient,
    namespace="special",
    methods=None,
    grad_name="SpecialI1",
    doc="The modified Bessel function of the first kind, order 1.",
    example="torch.special.i1(torch.tensor([0.0, 1.0]))",
    shows="tensor([0.0000, 0.5652])",
)

i1e = unary(
    "i1e",
    "i1e",
    _i1e_gradient,
    namespace="special",
    methods=None,
    grad_name="SpecialI1E",
    doc="`exp(-|input|) * i1(input)`.",
    example="torch.special.i1e(torch.tensor([0.0, 1.0]))",
    shows="tensor([0.0000, 0.2079])",
)
for _order in ("i0", "i1"):
    FUNCTIONS["special"][f"modified_bessel_{_order}"] = without_halves(
        FUNCTIONS["special"][_order], f"modified_bessel_{_order}_cpu"
    )


def _special(name: str, vjp: Any, doc: str, value: str) -> None:
    below_zero = name.startswith(("bessel_j", "spherical", "airy"))
    unary(
        name,
        name,
        vjp,
        namespace="special",
        methods=None,
        domain=REAL if below_zero else POSITIVE,
        check=real,
        halves=False,
        doc=doc,
        example=f"torch.special.{name}(torch.tensor([1.0]))",
        shows=f"tensor([{value}])",
    )


_special(
    "bessel_j0",
    lambda F, g, input: -g * F.bessel_j1(input),
    "The Bessel function of the first kind, order 0.",
    "0.7652",
)
_special(
    "bessel_j1",
    lambda F, g, input, out: g * (F.bessel_j0(input) - _by_argument(F, out, input, 0.5)),
    "The Bessel function of the first kind, order 1.",
    "0.4401",
)
_special(
    "bessel_y0",
    lambda F, g, input: -g * F.bessel_y1(input),
    "The Bessel function of the second kind, order 0.",
    "0.0883",
)
_special(
    "bessel_y1",
    lambda F, g, input, out: g * (F.bessel_y0(input) - out / input),
    "The Bessel function of the second kind, order 1.",
    "-0.7812",
)
_special(
    "modified_bessel_k0",
    lambda F, g, input: -g * F.modified_bessel_k1(input),
    "The modified Bessel function of the second kind, order 0.",
    "0.4210",
)
_special(
    "modified_bessel_k1",
    lambda F, g, input, out: -g * (F.modified_bessel_k0(input) + out / input),
    "The modified Bessel function of the second kind, order 1.",
    "0.6019",
)
_special(
    "scaled_modified_bessel_k0",
    lambda F, g, input, out: g * (out - F.scaled_modified_bessel_k1(input)),
    "`exp(input) * modified_bessel_k0(input)`.",
    "1.1445",
)
_special(
    "scaled_modified_bessel_k1",
    lambda F, g, input, out: g * (out - F.scaled_modified_bessel_k0(input) - out / input),
    "`exp(input) * modified_bessel_k1(input)`.",
    "1.6362",
)
_special(
    "spherical_bessel_j0",
    lambda F, g, input, out: g * _by_argument(F, F.cos(input) - out, input, 0.0),
    "The spherical Bessel function of the first kind, order 0: `sin(input) / input`.",
    "0.8415",
)
_special("airy_ai", None, "The Airy function Ai; not differentiable here.", "0.1353")
