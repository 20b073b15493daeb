"""What methods about sparse, quantised and foreign layouts answer for dense tensors, the only ones there are.

Questions are answered, conversions to dense are the tensor itself, and everything that would need another layout refuses by name.
"""

from __future__ import annotations

import warnings
from typing import Any

from .. import dtypes
from ..core.public import FUNCTIONS, METHODS, PROPERTIES, method, public
from ..core.tensor import Tensor
from ..errors import OperationError, UnsupportedError
from ..ops.linalg.matmul import mm
from .convert import TYPE_NAMES

# ---- answers ----------------------------------------------------------------------------------
for _name in ("is_xla", "is_mtia", "is_maia", "volatile"):
    PROPERTIES[_name] = lambda self: False


@method()
def is_distributed(self: Tensor) -> bool:
    """False."""
    return False


@method()
def sparse_dim(self: Tensor) -> int:
    """0: no dimension of a dense tensor is sparse."""
    return 0


@method()
def dense_dim(self: Tensor) -> int:
    """The number of dimensions, all of which are dense."""
    return self.ndim


@method()
def to_dense(self: Tensor, dtype: dtypes.dtype | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor itself, or its conversion to `dtype`.

    >>> import pellucid as torch
    >>> torch.ones(2).to_dense()
    tensor([1., 1.])
    """
    return self if dtype is None else self.to(dtype)


@public(methods="=")
def dequantize(input: Tensor) -> Tensor:
    """The tensor as float32: nothing is quantised."""
    return input.to(dtypes.float32)


@method()
def storage_type(self: Tensor) -> Any:
    """The old name of this tensor's storage, `torch.FloatStorage` for float32."""
    return FUNCTIONS["torch"][TYPE_NAMES[self.dtype].replace("Tensor", "Storage")]


@method()
def resize(self: Tensor, *sizes: Any) -> Tensor:
    """A view with these sizes; deprecated for `reshape`.

    Raises:
        RuntimeError: another number of elements.
    """
    warnings.warn("non-inplace resize is deprecated", UserWarning, stacklevel=2)
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
    """A view with the sizes of `tensor`; deprecated for `reshape`."""
    warnings.warn("non-inplace resize_as is deprecated", UserWarning, stacklevel=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return resize(self, tuple(tensor.shape))


public(names="spmm")(mm)
public(names="dsmm")(mm)


# ---- refusals ---------------------------------------------------------------------------------
_EXPECTED = {
    "coalesce": "sparse coordinate", "is_coalesced": "sparse coordinate", "indices": "sparse coordinate", "values": "sparse",
    "crow_indices": "sparse row compressed", "col_indices": "sparse row compressed", "ccol_indices": "sparse column compressed",
    "row_indices": "sparse column compressed",
}  # fmt: skip


def _only_of_sparse(name: str, layout: str) -> None:
    def refuse(self: Tensor) -> Any:
        raise OperationError(f"{name} expected {layout} tensor layout but got Strided")

    refuse.__name__ = name
    refuse.__doc__ = "Refused: the tensor is dense."
    METHODS[name] = refuse


for _name, _layout in _EXPECTED.items():
    _only_of_sparse(_name, _layout)


def _refusal(name: str, what: str, instead: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"{name}: {what} are not supported", hint=instead)

    refuse.__name__ = name.rpartition(".")[2]
    refuse.__doc__ = f"Refused: {what} are not supported; {instead}."
    return refuse


_SPARSE = ("sparse layouts", "keep the tensor dense")
_QUANTISED = ("quantised tensors", "keep the tensor in a floating-point dtype")
for _name in "to_sparse to_sparse_coo to_sparse_csr to_sparse_csc to_sparse_bsr to_sparse_bsc sparse_mask sparse_resize_".split():
    METHODS[_name] = _refusal(f"Tensor.{_name}", *_SPARSE)
for _name in "int_repr q_scale q_zero_point q_per_channel_scales q_per_channel_zero_points q_per_channel_axis qscheme".split():
    METHODS[_name] = _refusal(f"Tensor.{_name}", *_QUANTISED)
METHODS["to_mkldnn"] = _refusal("Tensor.to_mkldnn", "opaque layouts", "keep the tensor dense")
for _name in "quantize_per_tensor quantize_per_channel quantize_per_tensor_dynamic".split():
    FUNCTIONS["torch"][_name] = _refusal(f"torch.{_name}", *_QUANTISED)
