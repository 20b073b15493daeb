"""What methods about sparse, quantized and foreign layouts answer for dense tensors, the only ones
there are.

Questions are answered, conversions to dense are the tensor itself, and everything that would need
another layout refuses by name.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

from .. import dtypes
from ..arrays.affine import QuantizedArray, only_quantized
from ..arrays.affine import package as quantized_package
from ..arrays.sparse.array import SparseArray, package, refusal
from ..core.public import FUNCTIONS, METHODS, PROPERTIES, method, public
from ..core.tensor import Tensor
from ..errors import OperationError, UnsupportedError, warn
from ..ops.linalg.matmul import mm
from .create.by_name import TYPE_NAMES

# ---- answers ----------------------------------------------------------------------------------
for _name in ("is_xla", "is_mtia", "is_maia"):
    PROPERTIES[_name] = lambda self: False


def _volatile(self: Tensor) -> bool:
    warn("volatile was removed (Variable.volatile is always False)")
    return False


def _set_volatile(self: Tensor, value: Any) -> None:
    warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")


_volatile.setter = _set_volatile  # type: ignore[attr-defined]
PROPERTIES["volatile"] = _volatile


@method()
def reinforce(self: Tensor, reward: Any) -> Any:
    """Removed from PyTorch in 2017: always raises RuntimeError. Use `torch.distributions`.

    >>> import pellucid as torch
    >>> torch.ones(2).reinforce(1.0)
    Traceback (most recent call last):
        ...
    RuntimeError: reinforce() was removed...
    """
    raise OperationError(
        "reinforce() was removed.\nUse torch.distributions instead.\n"
        "See https://pytorch.org/docs/main/distributions.html\n\n"
        "Instead of:\n\nprobs = policy_network(state)\naction = probs.multinomial()\n"
        "next_state, reward = env.step(action)\naction.reinforce(reward)\naction.backward()\n\n"
        "Use:\n\nprobs = policy_network(state)\n"
        "# NOTE: categorical is equivalent to what used to be called multinomial\n"
        "m = torch.distributions.Categorical(probs)\naction = m.sample()\n"
        "next_state, reward = env.step(action)\nloss = -m.log_prob(action) * reward\n"
        "loss.backward()\n"
    )


@method()
def is_distributed(self: Tensor) -> bool:
    """False."""
    return False


@method()
def sparse_dim(self: Tensor) -> int:
    """How many dimensions are sparse; 0 of a dense tensor.

    >>> import pellucid as torch
    >>> torch.eye(2).to_sparse().sparse_dim()
    2
    """
    return self._array.sparse_dim if type(self._array) is SparseArray else 0


@method()
def dense_dim(self: Tensor) -> int:
    """How many dimensions are dense; all of a dense tensor.

    >>> import pellucid as torch
    >>> torch.eye(2).to_sparse(1).dense_dim()
    1
    """
    return self._array.dense_dim if type(self._array) is SparseArray else self.ndim


@method()
def to_dense(
    self: Tensor, dtype: dtypes.dtype | None = None, *, masked_grad: bool | None = None
) -> Tensor:
    """The tensor itself, or its conversion to `dtype`.

    >>> import pellucid as torch
    >>> torch.ones(2).to_dense()
    tensor([1., 1.])
    """
    return self if dtype is None else self.to(dtype)


@public(methods="=")
def dequantize(input: Tensor) -> Tensor:
    """The numbers that a quantized tensor stands for, as float32; of another tensor its conversion;
    of a list, those of each.

    >>> import pellucid as torch
    >>> torch.dequantize(torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.quint8))
    tensor([1., 1.])
    """
    if isinstance(input, Tensor) and type(input._array) is not QuantizedArray:
        return input.to(dtypes.float32)
    return quantized_package().dense_dequantize(input)


@method()
def storage_type(self: Tensor) -> Any:
    """The old name of this tensor's storage, `torch.FloatStorage` for float32; None where it has
    none.

    >>> import pellucid as torch
    >>> torch.ones(2).storage_type().__name__
    'FloatStorage'
    """
    return FUNCTIONS["torch"].get(TYPE_NAMES[self.dtype].replace("Tensor", "Storage"))


@method()
def resize(self: Tensor, *sizes: Any) -> Tensor:
    """A view with these sizes; deprecated for `reshape`.

    Raises:
        RuntimeError: another number of elements.

    >>> import pellucid as torch
    >>> import warnings
    >>> warnings.simplefilter("ignore")  # it warns that it is deprecated
    >>> torch.arange(4).resize(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    warn("non-inplace resize is deprecated", UserWarning)
    shape = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    total = 1
    for size in shape:
        total *= size
    if total != self._array.size:
        raise OperationError(
            f"requested resize to {'x'.join(map(str, shape))} ({total} elements in total), but the given tensor has a size of "
            f"{'x'.join(map(str, self._array.shape))} ({self._array.size} elements). autograd's resize can only change the shape of a "
            "given tensor, while preserving the number of elements. "
        )
    return self.contiguous().view(shape)


@method()
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """A view with the sizes of `tensor`; deprecated for `reshape`.

    >>> import pellucid as torch
    >>> import warnings
    >>> warnings.simplefilter("ignore")  # it warns that it is deprecated
    >>> torch.arange(4).resize_as(torch.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    warn("non-inplace resize_as is deprecated", UserWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return resize(self, tuple(tensor.shape))


public(names="spmm")(mm)
public(names="dsmm")(mm)


# ---- to sparse layouts -------------------------------------------------------------------------
@method()
def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """The tensor in a sparse layout, in which its zeros are not stored.

    Args:
        sparse_dim: how many of the first dimensions are sparse, for the COO layout. Default: all.
        layout: `torch.sparse_coo` (default), `sparse_csr`, `sparse_csc`, `sparse_bsr` or
            `sparse_bsc`.
        blocksize: rows and columns of a block, for the layouts with blocks.
        dense_dim: how many of the last dimensions are dense.

    Raises:
        RuntimeError: a conversion that does not exist, or blocks that do not fit.

    >>> import pellucid as torch
    >>> torch.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse()
    tensor(indices=tensor([[0],
                           [1]]),
           values=tensor([2.]),
           size=(2, 2), nnz=1, layout=torch.sparse_coo)
    """
    return package()._convert.to_sparse(
        self, sparse_dim, layout=layout, blocksize=blocksize, dense_dim=dense_dim
    )


@method()
def to_sparse_coo(self: Tensor) -> Tensor:
    """Convert to a sparse COO tensor; same as `to_sparse()`.

    >>> import pellucid as torch
    >>> torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_coo().indices()
    tensor([[0, 1],
            [1, 0]])
    """
    return to_sparse(self)


@method()
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """Convert to a sparse CSR tensor (compressed rows). If there are more than two sparse
    dimensions, the first ones are batch dimensions.

    >>> import pellucid as torch
    >>> torch.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse_csr()
    tensor(crow_indices=tensor([0, 1, 1]),
           col_indices=tensor([1]),
           values=tensor([2.]), size=(2, 2), nnz=1, layout=torch.sparse_csr)
    """
    return package()._convert.to_sparse_csr(self, dense_dim)


@method()
def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """Convert to a sparse CSC tensor (compressed columns); see `to_sparse_csr`.

    >>> import pellucid as torch
    >>> torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csc().row_indices()
    tensor([1, 0])
    """
    return package()._convert.to_sparse_csc(self, dense_dim)


@method()
def to_sparse_bsr(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """Convert to a sparse BSR tensor (compressed rows of blocks). `blocksize` is the number of rows
    and columns of a block.

    >>> import pellucid as torch
    >>> torch.eye(4).to_sparse_bsr((2, 2)).values().shape
    torch.Size([2, 2, 2])
    """
    return package()._convert.to_sparse_bsr(self, blocksize, dense_dim)


@method()
def to_sparse_bsc(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """Convert to a sparse BSC tensor (compressed columns of blocks). `blocksize` is the number of
    rows and columns of a block.

    >>> import pellucid as torch
    >>> torch.eye(4).to_sparse_bsc((2, 2)).values().shape
    torch.Size([2, 2, 2])
    """
    return package()._convert.to_sparse_bsc(self, blocksize, dense_dim)


@method()
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements of this tensor at the positions that the sparse tensor `mask` stores, as a
    sparse tensor of the same layout.

    Raises:
        RuntimeError: another shape. NotImplementedError: `mask` is dense.

    >>> import pellucid as torch
    >>> torch.ones(2, 2).sparse_mask(torch.eye(2).to_sparse()).to_dense()
    tensor([[1., 0.],
            [0., 1.]])
    """
    return package()._convert.sparse_mask(self, mask)


# ---- refusals ---------------------------------------------------------------------------------
def _only_of_sparse(name: str, layout: str, doc: str, example: str, shown: str) -> None:
    def refuse(self: Tensor) -> Any:
        raise OperationError(f"{name} expected {layout} tensor layout but got Strided")

    refuse.__name__ = name
    refuse.__doc__ = (
        f"{doc}\n\nRaises:\n    RuntimeError: the tensor is not {layout}, dense for example.\n\n"
        f">>> import pellucid as torch\n>>> torch.eye(2).{example}\n{shown}\n"
    )
    METHODS[name] = refuse


_TWO = "tensor([[0, 1],\n        [0, 1]])"
for _args in (
    (
        "coalesce",
        "sparse coordinate",
        "A sparse tensor with its indices sorted and the values of equal ones added.",
        "to_sparse().coalesce().is_coalesced()",
        "True",
    ),
    (
        "is_coalesced",
        "sparse coordinate",
        "Whether the indices of a sparse tensor are sorted and each occurs once.",
        "to_sparse().is_coalesced()",
        "True",
    ),
    (
        "indices",
        "sparse coordinate",
        "The indices of the stored elements of a sparse tensor, one column for each.",
        "to_sparse().indices()",
        _TWO,
    ),
    (
        "values",
        "sparse",
        "The stored elements of a sparse tensor.",
        "to_sparse().values()",
        "tensor([1., 1.])",
    ),
    (
        "crow_indices",
        "sparse row compressed",
        "Where each row of a CSR or BSR tensor begins among its stored elements.",
        "to_sparse_csr().crow_indices()",
        "tensor([0, 1, 2])",
    ),
    (
        "col_indices",
        "sparse row compressed",
        "The column of each stored element of a CSR tensor, or block of a BSR tensor.",
        "to_sparse_csr().col_indices()",
        "tensor([0, 1])",
    ),
    (
        "ccol_indices",
        "sparse column compressed",
        "Where each column of a CSC or BSC tensor begins among its stored elements.",
        "to_sparse_csc().ccol_indices()",
        "tensor([0, 1, 2])",
    ),
    (
        "row_indices",
        "sparse column compressed",
        "The row of each stored element of a CSC tensor, or block of a BSC tensor.",
        "to_sparse_csc().row_indices()",
        "tensor([0, 1])",
    ),
):
    _only_of_sparse(*_args)


def _refusal(name: str, what: str, instead: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"{name}: {what} are not supported", hint=instead)

    refuse.__name__ = name.rpartition(".")[2]
    refuse.__doc__ = (
        f"Not supported: {what}; {instead}.\n\n>>> import pellucid as torch\n"
        f">>> torch.ones(2).{refuse.__name__}()\nTraceback (most recent call last):\n    ...\n"
        f"NotImplementedError: {name}: {what} are not supported...\n"
    )
    return refuse


def _cpu_lacks(name: str, doc: str, example: str, shown: str) -> None:
    def refuse(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise refusal(name, "")

    refuse.__name__ = name
    refuse.__doc__ = (
        f"{doc}\n\nRaises:\n    NotImplementedError: the tensor is dense.\n\n"
        f">>> import pellucid as torch\n>>> s = torch.eye(2).to_sparse()\n>>> {example}\n{shown}\n"
    )
    METHODS[name] = refuse


for _row in (
    ("_indices", "As `indices`, of a tensor that need not be coalesced.", "s._indices()", _TWO),
    (
        "_values",
        "As `values`, of a tensor that need not be coalesced.",
        "s._values()",
        "tensor([1., 1.])",
    ),
    ("_nnz", "How many elements a sparse tensor stores.", "s._nnz()", "2"),
    (
        "sparse_resize_",
        "Give a sparse tensor another size, and numbers of sparse and dense dimensions.",
        "s.sparse_resize_((3, 3), 2, 0).shape",
        "torch.Size([3, 3])",
    ),
    (
        "sparse_resize_and_clear_",
        "As `sparse_resize_`, and remove all stored elements.",
        "s.sparse_resize_and_clear_((3, 3), 2, 0)._nnz()",
        "0",
    ),
    (
        "resize_as_sparse_",
        "Give a sparse tensor the size of another one.",
        "s.resize_as_sparse_(torch.eye(3).to_sparse()).shape",
        "torch.Size([3, 3])",
    ),
    (
        "smm",
        "The product of a sparse and a dense matrix, as a sparse tensor.",
        "s.smm(torch.ones(2, 2)).to_dense()",
        "tensor([[1., 1.],\n        [1., 1.]])",
    ),
    (
        "sspaddmm",
        "A sparse matrix plus the product of a sparse and a dense one, as a sparse tensor.",
        "s.sspaddmm(s, torch.ones(2, 2)).to_dense()",
        "tensor([[2., 1.],\n        [1., 2.]])",
    ),
):
    _cpu_lacks(*_row)
_refuse_opaque = _refusal("Tensor.to_mkldnn", "opaque layouts", "keep the tensor dense")
_OPAQUE = (dtypes.float32, dtypes.bfloat16, dtypes.float16, dtypes.uint8, dtypes.int8)


@functools.wraps(_refuse_opaque)
def _to_mkldnn(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    if self.dtype not in _OPAQUE:
        raise OperationError(
            "dense_to_mkldnn expects float, bfloat16, half, uint8, int8 tensor input"
        )
    return _refuse_opaque()


METHODS["to_mkldnn"] = _to_mkldnn


def _only_of_quantized(name: str, doc: str, made: str, shows: str) -> None:
    def ask(input: Tensor) -> Any:
        kind = type(input)
        if getattr(kind, name, None) is not METHODS[name] and isinstance(input, Tensor):
            return getattr(kind, name)(input)
        raise only_quantized(name)

    ask.__name__ = name
    ask.__doc__ = f"""{doc}. The tensor must be quantized.

    >>> import pellucid as torch
    >>> x = torch.{made}
    >>> x.{name}()
    {shows}
    """
    public(methods="=")(ask)


_WHOLE = "quantize_per_tensor(torch.tensor([0.0, 0.5]), 0.1, 3, torch.quint8)"
_ROWS = "quantize_per_channel(torch.eye(2), torch.tensor([0.1, 0.2]), torch.tensor([0, 1]), 0, torch.quint8)"
for _arguments in (
    ("int_repr", "The stored integers", _WHOLE, "tensor([3, 8], dtype=torch.uint8)"),
    ("q_scale", "The scale", _WHOLE, "0.1"),
    ("q_zero_point", "The integer that stands for zero", _WHOLE, "3"),
    (
        "q_per_channel_scales",
        "The scale of each channel",
        _ROWS,
        "tensor([0.1000, 0.2000], dtype=torch.float64)",
    ),
    (
        "q_per_channel_zero_points",
        "The integer that stands for zero in each channel",
        _ROWS,
        "tensor([0, 1])",
    ),
    ("q_per_channel_axis", "The dimension of the channels", _ROWS, "0"),
):
    _only_of_quantized(*_arguments)


@method()
def qscheme(self: Tensor) -> Any:
    """How a tensor is quantized: per tensor or per channel, affine or symmetric. The tensor must be quantized.

    >>> import pellucid as torch
    >>> torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8).qscheme()
    torch.per_tensor_affine
    """
    raise only_quantized("qscheme")
