"""Between layouts, and between a sparse tensor and its values; all of it differentiable."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from ..arrays.sparse import array as arrays
from ..arrays.sparse.array import BLOCKED, BY_ROWS, COMPRESSED, SparseArray
from ..core.inplace import bump, check_writable
from ..core.primitive import TENSORS as F
from ..core.public import with_out
from ..core.tensor import Tensor, alias, make_tensor
from ..devices import strided
from ..errors import ArgumentTypeError, OperationError, UnsupportedError
from ..shapes import normalize_dim
from ._tensor import (
    SparseTensor,
    function,
    is_sparse,
    method,
    operation,
    overwritten,
    recorded,
    refuse,
    wrapped,
)

NAMES = {
    "coo": "Sparse",
    "csr": "SparseCsr",
    "csc": "SparseCsc",
    "bsr": "SparseBsr",
    "bsc": "SparseBsc",
    "strided": "Strided",
}
_ROWS, _COLUMNS = "sparse row compressed", "sparse column compressed"


# ---- values and places -----------------------------------------------------------------------
def build(
    pattern: SparseArray, values: Tensor, name: str = "SparseCooTensorWithDimsAndTensors"
) -> Any:
    """The sparse tensor of some values in the places of a sparse array."""
    return recorded(name, pattern.like(values._array), (values,), lambda g: gather(g, pattern))


def values_of(s: Any) -> Tensor:
    """The stored values, in the memory of the sparse tensor."""
    a = s._array

    def rule(g: Any) -> Any:
        if a.layout != "coo" or a.coalesced:
            return build(a, g)
        # Entries in one place have the same gradient, which is that of the place.
        return build(a.coalesce(), F.index_select(g, make_tensor(a.first()), dim=0))

    made: Tensor = recorded("Values", a.values, (s,), rule)
    return made


def gather(x: Any, pattern: SparseArray) -> Any:
    """The values of a dense or sparse tensor at the places of a sparse array."""
    if not is_sparse(x):
        return x[tuple([make_tensor(i) for i in pattern.index()])]
    a = x._array
    if (
        a.indices is pattern.indices
        and a.plain is pattern.plain
        and a.values.shape == pattern.values.shape
    ):
        return values_of(x)
    return recorded("SparseMask", a.at(pattern), (x,), lambda g: build(pattern, g))


def masked(x: Any, pattern: SparseArray) -> Any:
    """The sparse tensor with the values of `x` at the places of a sparse array, outside of which it
    is zero.
    """
    return build(pattern, gather(x, pattern))


def dense(x: Any) -> Any:
    """A tensor as a dense one, recorded where it is sparse."""
    return to_dense(x) if is_sparse(x) else x


def as_layout(
    x: Any, layout: str, block: Any = None, dense_dim: int = 0, sparse_dim: int | None = None
) -> Any:
    """A tensor in one of the five layouts, recorded where it was in another."""
    a = x._array
    if not is_sparse(x):
        if layout == "coo":
            made = arrays.from_dense(a, a.ndim - dense_dim if sparse_dim is None else sparse_dim)
            return recorded(
                "ToSparseBackward0" if sparse_dim is not None else "ToSparseBackward1",
                made,
                (x,),
                dense,
            )
        try:
            made = arrays.compress(a, layout, block, dense_dim)
        except ValueError:
            raise OperationError(
                "Expect the same number of specified elements per batch."
            ) from None
        return recorded(f"To{NAMES[layout]}", made, (x,), dense)
    if a.layout == layout:
        return x
    own = a.block if a.layout in BLOCKED else None
    name = "ToSparseBackward1" if layout == "coo" else f"To{NAMES[layout]}"
    return recorded(
        name, a.to(layout, block), (x,), lambda g: as_layout(g, a.layout, own, a.dense_dim)
    )


@method()
def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
    """The dense tensor of the same elements.

    Args:
        masked_grad: whether the gradient is kept at the stored elements alone (the default), or
            everywhere.
    """
    if dtype is not None:
        raise OperationError("dtype argument is not supported by sparse_to_dense")
    a = self._array

    def rule(g: Any) -> Any:
        if masked_grad is False:
            return as_layout(g, a.layout, a.block if a.layout in BLOCKED else None, a.dense_dim)
        return masked(g, a.coalesce() if a.layout == "coo" else a)

    return recorded("ToDense", a.dense(), (self,), rule)


@method()
def coalesce(self: Any) -> Any:
    a = self._array
    if a.layout != "coo":
        raise OperationError(
            f"coalesce expected sparse coordinate tensor layout but got {NAMES[a.layout]}"
        )
    return self if a.coalesced else recorded("Coalesce", a.coalesce(), (self,), lambda g: g)


@method()
def is_coalesced(self: Any) -> bool:
    if self._array.layout != "coo":
        raise OperationError(
            f"is_coalesced expected sparse coordinate tensor layout but got {NAMES[self._array.layout]}"
        )
    return bool(self._array.coalesced)


@method()
def values(self: Any) -> Tensor:
    a = self._array
    if a.layout == "coo" and not a.coalesced:
        raise OperationError(
            "Cannot get values on an uncoalesced tensor, please call .coalesce() first"
        )
    return values_of(self)


@method()
def indices(self: Any) -> Tensor:
    a = self._array
    if a.layout != "coo":
        raise OperationError(
            f"indices expected sparse coordinate tensor layout but got {NAMES[a.layout]}"
        )
    if not a.coalesced:
        raise OperationError(
            "Cannot get indices on an uncoalesced tensor, please call .coalesce() first"
        )
    return make_tensor(a.indices)


def _part(name: str, wanted: str, layouts: tuple[str, ...], slot: str) -> None:
    def part(self: Any) -> Tensor:
        if self._array.layout not in layouts:
            raise OperationError(
                f"{name} expected {wanted} tensor layout but got {NAMES[self._array.layout]}"
            )
        return make_tensor(getattr(self._array, slot))

    part.__name__ = name
    method()(part)


_BY_COLUMNS = tuple(n for n in COMPRESSED if n not in BY_ROWS)
_part("crow_indices", _ROWS, BY_ROWS, "indices")
_part("col_indices", _ROWS, BY_ROWS, "plain")
_part("ccol_indices", _COLUMNS, _BY_COLUMNS, "indices")
_part("row_indices", _COLUMNS, _BY_COLUMNS, "plain")


@method()
def _indices(self: Any) -> Tensor:
    if self._array.layout != "coo":
        raise refuse("_indices", self)
    return make_tensor(self._array.indices)


@method()
def _values(self: Any) -> Tensor:
    if self._array.layout != "coo":
        raise refuse("_values", self)
    return make_tensor(self._array.values)


@method()
def _nnz(self: Any) -> int:
    return int(self._array.nnz)


@method()
def sparse_dim(self: Any) -> int:
    return int(self._array.sparse_dim)


@method()
def dense_dim(self: Any) -> int:
    return int(self._array.dense_dim)


@method()
def _coalesced_(self: Any, coalesced: bool) -> Any:
    self._array.coalesced = bool(coalesced)
    return self


# ---- layouts ---------------------------------------------------------------------------------
def _blocksize(blocksize: Any) -> tuple[int, int] | None:
    if blocksize is None:
        return None
    whole = isinstance(blocksize, int) or isinstance(blocksize, Tensor) and not blocksize.ndim
    return (int(blocksize),) * 2 if whole else tuple(blocksize)


def to_sparse(
    self: Any,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Any:
    """The tensor in a sparse layout; see `Tensor.to_sparse`."""
    if layout is None and blocksize is None and dense_dim is None and isinstance(sparse_dim, int):
        return _to_coo(self, sparse_dim)
    if sparse_dim is not None:
        raise TypeError("to_sparse() takes 0 positional arguments but 1 was given")
    if layout is strided:
        return dense(self)
    return _to_layout(
        "to_sparse",
        self,
        "coo" if layout is None else layout.name.removeprefix("sparse_"),
        _blocksize(blocksize),
        dense_dim,
    )


def _to_coo(x: Any, sparse_dim: int) -> Any:
    if is_sparse(x):
        layout = x._array.layout
        if sparse_dim != x._array.sparse_dim:
            name, most = (
                ("to_sparse", "self.sparse_dim()")
                if layout == "coo"
                else ("sparse_compressed_to_sparse", 2)
            )
            raise OperationError(
                f"{name}: conversion from {NAMES[layout]} to Sparse with sparse_dim argument !={most} is not supported"
            )
        return as_layout(x, "coo")
    if not 0 <= sparse_dim <= x._array.ndim:
        raise OperationError(
            f"dense_to_sparse: sparse_dim argument must be in [0,{x._array.ndim}] range, but {sparse_dim} is given"
        )
    if sparse_dim == 0 and x._array.ndim:
        raise OperationError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    return as_layout(x, "coo", sparse_dim=sparse_dim)


def _to_layout(name: str, x: Any, layout: str, block: Any, dense_dim: int | None) -> Any:
    a = x._array
    own = a.layout if is_sparse(x) else "strided"
    whole = name == "to_sparse"
    if own != layout:
        kinds = {"strided": "dense_", "coo": "sparse_coo_" if whole else "coo_"}
        name = kinds.get(own, "sparse_compressed_") + name
    if layout in BLOCKED and block is None and own != layout:
        raise OperationError(
            f"{name}: conversion from {NAMES[own]} to {NAMES[layout]} without blocksize argument given is not supported"
        )
    if dense_dim is not None and not isinstance(dense_dim, int):
        raise ArgumentTypeError(
            f"to_sparse_{layout}(): argument 'dense_dim' (position 1) must be int, not {type(dense_dim).__name__}"
        )
    if dense_dim is not None and own != "strided":
        raise OperationError(
            f"{name}: conversion from {NAMES[own]} to {NAMES[layout]} with dense_dim argument given is not supported"
        )
    if block is not None and (len(block) != 2 or min(block) <= 0):
        size = f"a tuple of size 2, but got {len(block)}"
        size = size if len(block) != 2 else f"positive, but got {list(block)}"
        raise OperationError(f"{name}: blocksize needs to be {size}")
    most = a.ndim - 2 if own == "strided" and layout != "coo" else a.ndim
    if dense_dim is not None and not 0 <= dense_dim <= most:
        if own == "strided" and layout in BLOCKED:
            normalize_dim(-dense_dim - 2, a.ndim)
        raise OperationError(
            f"{name}: dense_dim argument must be in [0,{most}] range, but {dense_dim} is given"
        )
    if layout not in BLOCKED and block is not None:
        raise OperationError(
            f"{name}: conversion from {NAMES[own]} to {NAMES[layout]} with blocksize argument given is not supported"
        )
    if own in BLOCKED and own == layout and block is not None and tuple(block) != a.block:
        name = "to_sparse_" + layout
        raise OperationError(
            f"{name}: conversion from {NAMES[own]} to {NAMES[layout]} with blocksize changed from {list(a.block)} to {list(block)} is not "
            "supported"
        )
    if own in BLOCKED and layout in ("csr", "csc", "bsr", "bsc") and layout != own:
        wanted = {
            "csr": "SparseCsr or SparseCsc",
            "csc": "SparseCsr or SparseCsc",
            "bsr": "SparseCsr, SparseCsc or SparseBsr",
            "bsc": "SparseCsr, SparseCsc or SparseBsc",
        }[layout]
        raise OperationError(
            f"sparse_compressed_to_sparse_{layout}: expected {wanted} layout but got {NAMES[own]}"
        )
    nd = a.dense_dim if own != "strided" else dense_dim or 0
    if layout in COMPRESSED and a.ndim - nd < 2:
        raise IndexError(
            f"select(): index 1 out of range for tensor of size [2, {a.ndim}] at dimension 1"
        )
    if layout in COMPRESSED and own == "coo" and a.sparse_dim != 2:
        raise OperationError(
            f"Only tensors with two sparse dimensions can be converted to the {NAMES[layout]} layout, got {a.sparse_dim}"
        )
    if block is not None:
        at = a.ndim - nd - 2
        rows, columns = a.shape[at : at + 2]
        if block[0] < 1 or block[1] < 1 or rows % block[0] or columns % block[1]:
            raise OperationError(
                f"{name}: tensor sparse size ({rows},{columns}) must be divisible by given blocksize ({block[0]},{block[1]})"
            )
    return as_layout(x, layout, block, nd)


def to_sparse_csr(self: Any, dense_dim: int | None = None) -> Any:
    """See `Tensor.to_sparse_csr`."""
    return _to_layout("to_sparse_csr", self, "csr", None, dense_dim)


def to_sparse_csc(self: Any, dense_dim: int | None = None) -> Any:
    """See `Tensor.to_sparse_csc`."""
    return _to_layout("to_sparse_csc", self, "csc", None, dense_dim)


def to_sparse_bsr(self: Any, blocksize: Any, dense_dim: int | None = None) -> Any:
    """See `Tensor.to_sparse_bsr`."""
    return _to_layout("to_sparse_bsr", self, "bsr", _blocksize(blocksize), dense_dim)


def to_sparse_bsc(self: Any, blocksize: Any, dense_dim: int | None = None) -> Any:
    """See `Tensor.to_sparse_bsc`."""
    return _to_layout("to_sparse_bsc", self, "bsc", _blocksize(blocksize), dense_dim)


for _f in (to_sparse, to_sparse_csr, to_sparse_csc, to_sparse_bsr, to_sparse_bsc):
    method()(_f)


@method()
def to_sparse_coo(self: Any) -> Any:
    return to_sparse(self)


def sparse_mask(self: Any, mask: Any) -> Any:
    """The elements of a tensor at the places that are stored in `mask`; see `Tensor.sparse_mask`."""
    if not is_sparse(mask):
        raise refuse("sparse_mask", mask)
    if self._array.shape != mask._array.shape:
        raise OperationError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self._array.shape)} but mask has size "
            f"{list(mask._array.shape)}"
        )
    pattern, own = mask._array, self._array

    def rule(g: Any) -> Any:
        return g if is_sparse(self) else dense(masked(g, pattern))

    if is_sparse(self):
        found = own.at(pattern)
    else:
        found = own[pattern.index()]
    return recorded("SparseMask", pattern.like(found), (self,), rule)


method()(sparse_mask)


# ---- the same places -------------------------------------------------------------------------
@function("detach")
def detach(self: Any) -> Any:
    return alias(self, SparseTensor)


@function("scalar_tensor", methods=False)
def _scalar_tensor(s: Any, **_: Any) -> Any:
    raise ArgumentTypeError("scalar_tensor(): argument 's' (position 1) must be Number, not Tensor")


@operation("clone")
def clone(x: Any, **params: Any) -> Any:
    return recorded("Clone", x._array.copy(), (x,), lambda g: g)


@operation("cast")
def cast(x: Any, *, dtype: Any) -> Any:
    if x._array.dtype == dtype:
        return x
    before = x._array.dtype
    return recorded("ToCopy", x._array.astype(dtype), (x,), lambda g: F.cast(g, dtype=before))


def _swapped(a: SparseArray, i: int, j: int) -> SparseArray:
    shape = list(a.shape)
    shape[i], shape[j] = shape[j], shape[i]
    if a.layout == "coo":
        order = list(range(a.ndim))
        order[i], order[j] = order[j], order[i]
        return _permuted(a, order)
    nb = len(a.batch)
    if i == j:
        return a
    if {i, j} == {nb, nb + 1}:
        other = {"csr": "csc", "csc": "csr", "bsr": "bsc", "bsc": "bsr"}[a.layout]
        v = a.values.swapaxes(nb + 1, nb + 2) if a.layout in BLOCKED else a.values
        return SparseArray(other, tuple(shape), v, a.indices, a.plain)
    if max(i, j) < nb:
        return SparseArray(
            a.layout, tuple(shape), *(x.swapaxes(i, j) for x in (a.values, a.indices, a.plain))
        )
    if min(i, j) >= nb + 2:
        k = 1 - 2 + 2 * (a.layout in BLOCKED)
        return SparseArray(
            a.layout, tuple(shape), a.values.swapaxes(i + k, j + k), a.indices, a.plain
        )
    raise OperationError(
        f"transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got {_type(a, i)} and {_type(a, j)}"
    )


def _type(a: SparseArray, d: int) -> str:
    nb = len(a.batch)
    return "Batch" if d < nb else "Sparse" if d < nb + 2 else "Dense"


def _permuted(a: SparseArray, order: Any) -> SparseArray:
    n = a.sparse_dim
    if any((d < n) != (k < n) for k, d in enumerate(order)):
        raise OperationError(
            "transpose(): can only transpose dimensions of the same type (Sparse, Dense)"
        )
    first = list(order[:n])
    values = a.values.transpose(0, *[d - n + 1 for d in order[n:]]) if n < a.ndim else a.values
    same = first == list(range(n))
    return SparseArray(
        "coo",
        tuple(a.shape[d] for d in order),
        values,
        a.indices if same else a.indices[first],
        None,
        a.coalesced and same,
    )


def transposed(x: Any, i: int, j: int, name: str = "Transpose") -> Any:
    """Two dimensions exchanged."""
    return recorded(name, _swapped(x._array, i, j), (x,), lambda g: g.transpose(i, j))


@operation("transpose")
def _transpose(x: Any, *, dim0: int, dim1: int) -> Any:
    return transposed(x, dim0, dim1)


@operation("t")
def _t(x: Any, *, dim0: int, dim1: int) -> Any:
    return transposed(x, dim0, dim1, "T")


def _dim(x: Any, d: int) -> int:
    n = x._array.ndim
    if not -n <= d < n:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})"
        )
    return d % n


@operation("permute")
def permute(x: Any, *, dims: Any) -> Any:
    order = [_dim(x, d) for d in dims]
    moved = [k for k, d in enumerate(order) if k != d]
    if x._array.layout != "coo":
        if len(moved) != 2:
            raise refuse("permute", x)
        return transposed(x, moved[0], moved[1])
    back = tuple(sorted(range(len(order)), key=lambda k: order[k]))
    return recorded("Permute", _permuted(x._array, order), (x,), lambda g: F.permute(g, dims=back))


for _name, _get in (("T", lambda self: self.t()), ("mT", lambda self: self.transpose(-2, -1))):
    setattr(SparseTensor, _name, property(_get))


# ---- what there is not -----------------------------------------------------------------------
@operation("reshape unsafe_view")
def reshape(x: Any, **_: Any) -> Any:
    raise OperationError("reshape is not implemented for sparse tensors")


@operation("expand repeat")
def expand(x: Any, **_: Any) -> Any:
    if x._array.layout != "coo":
        raise refuse("expand", x)
    raise OperationError("expand is unsupported for Sparse tensors")


@method("reshape reshape_as flatten ravel unflatten")
def _reshape(self: Any, *args: Any, **_: Any) -> Any:
    return reshape(self)


@method("view view_as")
def view(self: Any, *args: Any, **_: Any) -> Any:
    raise refuse("view", self)


@method()
def __setitem__(self: Any, index: Any, value: Any) -> None:
    raise ArgumentTypeError("Cannot assign to a sparse tensor")


# ---- in place --------------------------------------------------------------------------------
def _replaced(self: Any, array: SparseArray, name: str) -> Any:
    check_writable(self, name)
    self._array = array
    bump(self, name)
    return self


@method()
def zero_(self: Any) -> Any:
    a = self._array
    if a.layout == "coo":
        values, indices = a.values[:0].copy(), a.indices[:, :0].copy()
        return _replaced(
            self, SparseArray("coo", a.shape, values, indices, None, a.coalesced), "zero_"
        )
    empty = SparseArray(
        a.layout,
        a.shape,
        a.values[..., :0].reshape(*a.batch, 0, *a.values.shape[len(a.batch) + 1 :]).copy(),
        np.zeros_like(a.indices),
        a.plain[..., :0].copy(),
    )
    return _replaced(self, empty, "zero_")


@method()
def fill_(self: Any, value: Any) -> Any:
    if self._array.layout == "coo":
        raise refuse("fill_.Scalar", self)
    number = value.item() if isinstance(value, Tensor) else value
    return _replaced(self, self._array.like(np.full_like(self._array.values, number)), "fill_")


@method()
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    if not is_sparse(src):
        if self._array.layout == "coo":
            raise OperationError(
                "copy_() between dense and sparse Tensors is not implemented! Found self type = "
                f"{self.type()} and src type = {src.type()}"
            )
        raise OperationError(
            "copy_sparse_compressed_ expected sparse compressed tensor layout but got Strided"
        )
    a, b = self._array, src._array
    if a.layout != b.layout:
        raise OperationError(
            f"torch.copy_: copy of sparse compressed tensors having different layouts is not supported. self layout is {NAMES[a.layout]} "
            f"and src layout is {NAMES[b.layout]}"
        )
    if a.layout == "coo" and a.shape != b.shape:
        self.sparse_resize_(b.shape, b.sparse_dim, b.ndim - b.sparse_dim)
    elif a.layout != "coo" and a.values.shape != b.values.shape:
        raise OperationError(
            "torch.copy_: only sparse compressed tensors with the same number of specified elements are supported."
        )
    return overwritten(self, clone(src), "copy_")


@method()
def t_(self: Any) -> Any:
    made = self.t()
    return _replaced(self, made._array, "t_")


@method("transpose_ swapaxes_ swapdims_")
def transpose_(self: Any, dim0: int, dim1: int) -> Any:
    made = self.transpose(dim0, dim1)
    return _replaced(self, made._array, "transpose_")


@method()
def pow_(self: Any, exponent: Any) -> Any:
    raise refuse("pow_.Scalar", self)


@method()
def unsqueeze_(self: Any, dim: int) -> Any:
    raise refuse("as_strided_", self)


_SHRINKS = """ on a non-empty sparse tensor is not supported.
You could try the following options:
1. If you need an empty sparse tensor of this size, call `x = torch.sparse_coo_tensor(size)`.
2. If you need to resize this tensor, you have the following options:
    1. For both sparse and dense dimensions, keep the number of them constant and the size of them non-shrinking, and then try the same call again.
    2. Or, create a new sparse tensor with the correct indices and values from this sparse tensor."""


@method()
def sparse_resize_(self: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    a, shape = self._array, tuple(size)
    if a.layout != "coo":
        raise refuse("sparse_resize_", self)
    if sparse_dim + dense_dim != len(shape):
        raise OperationError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, sparse_dim = {sparse_dim}, "
            f"dense_dim = {dense_dim}"
        )
    n = a.sparse_dim
    if a.nnz:
        for what, old, new in (("sparse", n, sparse_dim), ("dense", a.dense_dim, dense_dim)):
            if old != new:
                raise OperationError(
                    f"changing the number of {what} dimensions (from {old} to {new}){_SHRINKS}"
                )
        for what, old_shape, new_shape in (
            ("sparse", a.shape[:n], shape[:n]),
            ("dense", a.shape[n:], shape[n:]),
        ):
            if any(s < t for s, t in zip(new_shape, old_shape, strict=True)):
                raise OperationError(
                    f"shrinking the size of {what} dimensions (from {list(old_shape)} to {list(new_shape)}){_SHRINKS}"
                )
    values = np.zeros((a.nnz, *shape[sparse_dim:]), a.dtype)
    values[tuple(slice(0, s) for s in a.values.shape)[: values.ndim]] = a.values if a.nnz else 0
    indices = a.indices if n == sparse_dim else np.zeros((sparse_dim, 0), np.int64)
    return _replaced(
        self, SparseArray("coo", shape, values, indices, None, a.coalesced), "sparse_resize_"
    )


@method()
def sparse_resize_and_clear_(self: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    a, shape = self._array, tuple(size)
    if a.layout != "coo":
        raise refuse("sparse_resize_and_clear_", self)
    if sparse_dim + dense_dim != len(shape):
        raise OperationError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, sparse_dim = {sparse_dim}, "
            f"dense_dim = {dense_dim}"
        )
    made = SparseArray(
        "coo",
        shape,
        np.zeros((0, *shape[sparse_dim:]), a.dtype),
        np.zeros((sparse_dim, 0), np.int64),
        None,
        True,
    )
    return _replaced(self, made, "sparse_resize_and_clear_")


@method()
def resize_as_sparse_(self: Any, the_template: Any) -> Any:
    b = the_template._array
    if not is_sparse(the_template) or b.layout != self._array.layout:
        raise OperationError("resize_as_sparse_: expected tensors of one sparse layout")
    if b.layout == "coo":
        return sparse_resize_(self, b.shape, b.sparse_dim, b.dense_dim)
    raise refuse("resize_as_sparse_", self)


@method()
def resize_(self: Any, *size: Any, memory_format: Any = None) -> Any:
    raise refuse("resize_", self)


@method()
def share_memory_(self: Any) -> Any:
    raise UnsupportedError(
        "Cannot access storage of SparseTensorImpl"
        if self.is_sparse
        else "Cannot access storage of SparseCsrTensorImpl"
    )


# ---- copies of parts -------------------------------------------------------------------------
_OF_EYE = {  # the parts of a 2-by-2 identity
    "crow_indices": "0, 1, 2",
    "ccol_indices": "0, 1, 2",
    "col_indices": "0, 1",
    "row_indices": "0, 1",
    "values": "1., 1.",
}


def part_copy(name: str) -> Any:
    """`crow_indices_copy` and the like."""
    part = name.removesuffix("_copy")

    def copied(input: Tensor) -> Any:
        if is_sparse(input) and input._array.layout == "coo":
            raise refuse(name, input)
        return getattr(input, part)().clone()

    copied.__name__ = copied.__qualname__ = name
    copied.__doc__ = (
        """Raises NotImplementedError, as in PyTorch on the CPU. Use `input.indices().clone()`.

    >>> import pellucid as torch
    >>> torch.eye(2).to_sparse().indices().clone()
    tensor([[0, 1],
            [0, 1]])
    """
        if part == "indices"
        else f"""A copy of `input.{part}()`, for tensors of a compressed sparse layout.

    >>> import pellucid as torch
    >>> torch.{name}(torch.eye(2).to_sparse_{"csc" if part in ("ccol_indices", "row_indices") else "csr"}())
    tensor([{_OF_EYE[part]}])
    """
    )
    return with_out(copied, "same", f"torch.{name}")


SparseTensor.data = property(detach, vars(Tensor)["data"].fset)  # type: ignore[assignment]


@method()
def __reduce_ex__(self: Any, protocol: Any = 2) -> Any:
    a = self._array
    parts = (a.layout, tuple(a.shape), a.values, a.indices, a.plain, a.coalesced)
    return _restored, (type(self), parts, self._rg), vars(self) or None


def _restored(kind: Any, parts: Any, requires_grad: bool) -> Any:
    made = wrapped(SparseArray(*parts))
    made.__class__, made._rg = kind, requires_grad
    return made


@method()
def __deepcopy__(self: Any, memo: Any) -> Any:
    if self._node is not None:
        raise OperationError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you were "
            "attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        return memo[id(self)]
    made = wrapped(self._array.copy())
    made.__class__ = type(self)
    made.__dict__.update(self.__dict__)
    made._rg = self._rg
    memo[id(self)] = made
    if self._grad is not None:
        made._grad = deepcopy(self._grad, memo)
    return made
