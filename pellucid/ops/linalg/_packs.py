"""The values that PyTorch's nodes of solutions and determinants save, which include the factors of
the matrix.
"""

from __future__ import annotations

from typing import Any

from ...arrays import numpy_cpu
from ...core.primitive import TENSORS as F
from ._linalg import tril, triu
from .factor import getrf


def _of_solution(input: Any, out: Any, out0: Any, vector: bool | None) -> list[Any]:
    made = out if out0 is None else out0
    return [input, *_factors(input), made[..., 0] if vector else made]


def _read_of_solution(kept: list[Any], vector: bool | None) -> dict[str, Any]:
    made = kept[3][..., None] if vector else kept[3]
    return {"input": kept[0], "out": made, "out0": made}


def _of_determinant(input: Any, out: Any, out0: Any) -> list[Any]:
    # a C-contiguous matrix is factorized transposed
    turned = input.mT if input.dtype.kind == "f" and input.flags.c_contiguous else input
    return [input, *_factors(turned), out if out0 is None else out0]


def of_factors(parts: Any, out: Any, b: Any, left: bool, adjoint: bool) -> Any:
    """The gradient of the compact factors P, L, U of a matrix, from the solution and the gradient of
    the right side.
    """
    p, lower, upper = parts
    first, second = (out, b) if adjoint == left else (b, out)
    turned = p.mT @ (first @ second.mH if left else first.mH @ second)  # of A = P L U
    return -(tril(F, turned @ upper.mH, -1) + triu(F, lower.mH @ turned))


def _factors(a: Any) -> list[Any]:
    lu, pivots, _ = getrf(numpy_cpu, a)
    return [lu, pivots]


# values of the field `packs` of records
SOLUTION = (_of_solution, _read_of_solution)
DETERMINANT = (
    _of_determinant,
    lambda kept: {"input": kept[0], "out": kept[3], "out0": kept[3]},
)
