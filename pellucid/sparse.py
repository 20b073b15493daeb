"""`torch.sparse` without sparse layouts: products of dense tensors are computed, everything else refuses and says so."""

from __future__ import annotations

from typing import Any

from .core.tensor import Tensor
from .errors import UnsupportedError
from .ops.linalg.matmul import addmm as _addmm
from .ops.linalg.matmul import mm as _mm


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The matrix product of dense matrices.

    Raises:
        NotImplementedError: `reduce` is given, which is for sparse matrices.

    >>> import pellucid as torch
    >>> torch.sparse.mm(torch.eye(2), torch.tensor([[1.0], [2.0]]))
    tensor([[1.],
            [2.]])
    """
    if reduce is not None:
        raise UnsupportedError("torch.sparse.mm: sparse layouts, and so reduce=, are not supported")
    return _mm(mat1, mat2)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """`beta * mat + alpha * mat1 @ mat2` of dense matrices."""
    return _addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def _refusal(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"torch.sparse.{name}: sparse layouts are not supported", hint="keep the tensor dense")

    refuse.__name__ = name
    refuse.__doc__ = "Refused: sparse layouts are not supported."
    return refuse


for _name in (
    "as_sparse_gradcheck", "log_softmax", "sampled_addmm", "softmax", "spdiags", "spsolve", "sum", "to_sparse_semi_structured",
):  # fmt: skip
    globals()[_name] = _refusal(_name)
