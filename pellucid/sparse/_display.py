"""How sparse tensors print, and what they answer to questions about memory."""

from __future__ import annotations

from typing import Any

from ..arrays.sparse.array import BY_ROWS
from ..core.display.formatting import parts_str
from ..core.tensor import Parameter
from ..errors import ArgumentTypeError, OperationError, UnsupportedError
from ._tensor import SparseTensor, method


def _repr(self: Any, *, tensor_contents: str | None = None) -> str:
    a = self._array
    if a.layout == "coo":
        parts = [("indices", a.indices), ("values", a.values)]
    else:
        first, second = (
            ("crow_indices", "col_indices")
            if a.layout in BY_ROWS
            else ("ccol_indices", "row_indices")
        )
        parts = [(first, a.indices), (second, a.plain), ("values", a.values)]
    suffixes = [f"size={tuple(a.shape)}", f"nnz={a.nnz}", f"layout={self.layout}"]
    node = self.grad_fn
    if node is not None:
        suffixes.append(f"grad_fn=<{node.name()}>")
    elif self._rg:
        suffixes.append("requires_grad=True")
    kind = type(self).__name__
    return parts_str(
        parts,
        suffixes,
        self.dtype,
        class_name="Tensor" if kind == "SparseParameter" else kind,
        new_line=a.layout == "coo",
        parameter=isinstance(self, Parameter) or getattr(self, "_is_param", False),
    )


method("__repr__ __str__")(_repr)


@method()
def __format__(self: Any, spec: str) -> str:  # noqa: N807
    if spec:
        raise ArgumentTypeError("unsupported format string passed to Tensor.__format__")
    return _repr(self)


@method()
def stride(self: Any, dim: int | None = None) -> Any:
    if self._array.layout != "coo":
        raise OperationError(f"Sparse {self._array.layout.upper()} tensors do not have strides")
    return (0,) * self._array.ndim if dim is None else 0


@method()
def storage_offset(self: Any) -> int:
    return 0


@method()
def is_contiguous(self: Any, memory_format: Any = None) -> bool:
    if self._array.layout != "coo":
        raise OperationError(
            f"Sparse {self._array.layout.upper()} tensors do not have is_contiguous"
        )
    return False


@method()
def contiguous(self: Any, memory_format: Any = None) -> Any:
    raise OperationError("unsupported memory format option Contiguous")


@method("numpy __array__")
def numpy(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise ArgumentTypeError(
        "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first."
    )


@method("tolist data_ptr")
def tolist(self: Any) -> Any:
    raise OperationError("Cannot access data pointer of Tensor that doesn't have storage")


@method("storage untyped_storage")
def storage(self: Any) -> Any:
    raise UnsupportedError(
        "Cannot access storage of SparseTensorImpl"
        if self.is_sparse
        else "Cannot access storage of SparseCsrTensorImpl"
    )


@method()
def item(self: Any) -> Any:
    if self._array.size != 1:
        raise OperationError(
            f"a Tensor with {self._array.size} elements cannot be converted to Scalar"
        )
    return self._array.dense().reshape(-1)[0].item()


@method()
def __bool__(self: Any) -> bool:  # noqa: N807
    if self._array.size != 1:
        raise OperationError(
            "Boolean value of Tensor with "
            + ("no values" if not self._array.size else "more than one value")
            + " is ambiguous"
        )
    return bool(item(self))


for _name, _convert in (("__float__", float), ("__int__", int), ("__complex__", complex)):
    setattr(SparseTensor, _name, lambda self, _convert=_convert: _convert(item(self)))


@method()
def __len__(self: Any) -> int:  # noqa: N807
    if not self._array.shape:
        raise ArgumentTypeError("len() of a 0-d tensor")
    return int(self._array.shape[0])


def _nbytes(self: Any) -> int:
    if self._array.layout != "coo":
        return int(self._array.size * self._array.itemsize)
    raise OperationError(
        "nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add the nbytes of the indices and "
        "values.  If you want the size of the  equivalent dense tensor, multiply numel() by element_size()"
    )


setattr(SparseTensor, "nbytes", property(_nbytes))  # noqa: B010 (a method there to type checkers)
