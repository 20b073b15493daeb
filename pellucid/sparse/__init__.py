"""`torch.sparse`: tensors of which only some elements are stored.

>>> import pellucid as torch
>>> s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
>>> torch.sparse.mm(s, torch.ones(3, 1))
tensor([[3.],
        [9.]])
"""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..errors import OperationError, UnsupportedError
from ..ops._overloads import native as _native
from ..ops.linalg.matmul import mm as _dense_mm
from . import _arithmetic, _convert, _create, _display, _products, _shape
from ._create import check_sparse_tensor_invariants as check_sparse_tensor_invariants
from ._create import sparse_bsc_tensor as sparse_bsc_tensor
from ._create import sparse_bsr_tensor as sparse_bsr_tensor
from ._create import sparse_compressed_tensor as sparse_compressed_tensor
from ._create import sparse_coo_tensor as sparse_coo_tensor
from ._create import sparse_csc_tensor as sparse_csc_tensor
from ._create import sparse_csr_tensor as sparse_csr_tensor
from ._create import spdiags as spdiags
from ._gradcheck import as_sparse_gradcheck as as_sparse_gradcheck
from ._indices import _convert_indices_from_coo_to_csr as _convert_indices_from_coo_to_csr
from ._indices import _convert_indices_from_csr_to_coo as _convert_indices_from_csr_to_coo
from ._legacy import *  # noqa: F403 (the old types)
from ._products import hsmm as hsmm
from ._products import hspmm as hspmm
from ._products import saddmm as saddmm
from ._products import smm as smm
from ._products import sspaddmm as sspaddmm
from ._tensor import is_sparse as _is_sparse
from ._tensor import wrapped as wrapped

__all__ = [
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "softmax",
    "sum",
    "to_sparse_semi_structured",
]


@_native("_sparse.mm")
def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Any:
    """The matrix product of two matrices, sparse or dense. The gradient of a sparse matrix is
    sparse, too, with entries only where the matrix stores elements.

    Args:
        mat1: `(n, k)`, sparse or dense.
        mat2: `(k, m)`. The product is sparse where both are.
        reduce: how the products of a row are combined: "sum", "mean", "amax" or "amin". For a CSR
            `mat1` and a dense `mat2`.

    Raises:
        RuntimeError: shapes, dtypes or layouts that do not go together.

    >>> import pellucid as torch
    >>> torch.sparse.mm(torch.eye(2).to_sparse(), torch.tensor([[1.0], [2.0]]))
    tensor([[1.],
            [2.]])
    """
    if reduce is not None:
        return _products.reduced_mm(mat1, mat2, reduce)
    if not (_is_sparse(mat1) or _is_sparse(mat2)):
        return _dense_mm(mat1, mat2)
    return _products.mm(mat1, mat2, "SparseAddmm", True)


@_native("_sparse.addmm")
def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """`beta * mat + alpha * mat1 @ mat2` for a sparse `mat1`, whose gradient is sparse with the
    same positions.

    >>> import pellucid as torch
    >>> torch.sparse.addmm(torch.ones(2, 1), torch.eye(2).to_sparse(), torch.tensor([[1.0], [2.0]]), beta=2)
    tensor([[3.],
            [4.]])
    """
    return _products.sparse_addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


@_native("_sparse.sampled_addmm")
def sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0
) -> Any:
    """`beta * input + alpha * mat1 @ mat2`, computed only where `input`, a CSR tensor, stores
    elements.

    >>> import pellucid as torch
    >>> torch.sparse.sampled_addmm(torch.eye(2).to_sparse_csr(), torch.ones(2, 3), torch.ones(3, 2)).to_dense()
    tensor([[4., 0.],
            [0., 4.]])
    """
    return _products.sampled_addmm(input, mat1, mat2, beta=beta, alpha=alpha)


@_native("_sparse.sum")
def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Any:
    """The sum of a COO tensor: of all elements, or over dimensions.

    Args:
        dim: a dimension or several. The result is sparse unless no sparse dimension is left.
        dtype: convert to this type before adding.

    >>> import pellucid as torch
    >>> torch.sparse.sum(torch.eye(3).to_sparse(), 0).to_dense()
    tensor([1., 1., 1.])
    """
    return _shape.sparse_sum(input, dim, dtype)


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Any:
    """Softmax of a COO tensor over its stored elements. All others count as minus infinity.

    >>> import pellucid as torch
    >>> torch.sparse.softmax(torch.eye(2).to_sparse(), 1).to_dense()
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _shape.softmax(input, dim, dtype, False)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of `softmax`.

    >>> import pellucid as torch
    >>> x = torch.tensor([[1.0, 1.0]]).to_sparse()
    >>> torch.sparse.log_softmax(x, 1).to_dense()
    tensor([[-0.6931, -0.6931]])
    """
    return _shape.softmax(input, dim, dtype, True)


def _refusal(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"torch.sparse.{name}: not supported")

    refuse.__name__ = name
    refuse.__doc__ = f"""Not supported: always raises an error.

    >>> import pellucid as torch
    >>> torch.sparse.{name}(torch.eye(2).to_sparse())
    Traceback (most recent call last):
        ...
    NotImplementedError: torch.sparse.{name}: not supported...
    """
    return refuse


for _name in "ccol_indices col_indices crow_indices indices row_indices values".split():
    globals()[f"{_name}_copy"] = _convert.part_copy(f"{_name}_copy")


def resize_as_sparse_(input: Tensor, the_template: Tensor) -> Any:
    """`input.resize_as_sparse_(the_template)`.

    >>> import pellucid as torch
    >>> x = torch.sparse_coo_tensor(size=(2, 2))
    >>> torch.sparse.resize_as_sparse_(x, torch.eye(3).to_sparse()).shape
    torch.Size([3, 3])
    """
    return input.resize_as_sparse_(the_template)


spsolve = _refusal("spsolve")
to_sparse_semi_structured = _refusal("to_sparse_semi_structured")

assert _arithmetic and _convert and _create and _display and OperationError
