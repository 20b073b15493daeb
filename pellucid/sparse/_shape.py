"""Parts of sparse tensors, several joined, and what is summed up over their elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.sparse import products as kernels
from ..arrays.sparse.array import BLOCKED, COMPRESSED, SparseArray
from ..core.primitive import TENSORS as F
from ..core.public import FUNCTIONS
from ..core.tape import titled
from ..core.tensor import make_tensor
from ..devices import strided
from ..dtypes import BY_NUMPY, get_default_dtype
from ..errors import (
    ArgumentTypeError,
    ArgumentValueError,
    IndexOutOfRangeError,
    OperationError,
    type_name,
)
from ..ops.linalg.legacy import TRIANGULAR
from ._convert import NAMES, as_layout, build, values_of
from ._create import empty
from ._tensor import function, is_sparse, method, operation, recorded, refuse, wrapped


def _coo(x: Any, name: str) -> SparseArray:
    if x._array.layout != "coo":
        raise refuse(name, x)
    a: SparseArray = x._array.sound()
    return a


def _moved(x: Any, indices: Any, shape: Any, kept: Any, title: str, coalesced: bool = False) -> Any:
    """The values that are kept (all: None) in other places."""
    v = values_of(x)
    if kept is not None:
        v = F.index_select(v, make_tensor(kept), dim=0)
    a = SparseArray("coo", tuple(shape), v._array, np.ascontiguousarray(indices), None, coalesced)
    return titled(build(a, v), title)


# ---- parts -----------------------------------------------------------------------------------
@operation("select")
def select(x: Any, *, dim: int, index: int) -> Any:
    if x._array.layout != "coo":
        return _select_compressed(x, dim, index)
    a, n = _coo(x, "select.int"), x._array.sparse_dim
    size = a.shape[dim]
    if not -size <= index < size:
        raise IndexOutOfRangeError(
            f"select(): index {index} out of range for tensor of size {list(a.shape)} at dimension {dim}"
        )
    index %= size
    shape = a.shape[:dim] + a.shape[dim + 1 :]
    if dim >= n:
        v = values_of(x).select(dim - n + 1, index)
        return titled(
            build(SparseArray("coo", shape, v._array, a.indices, None, a.coalesced), v), "Select"
        )
    kept = np.flatnonzero(a.indices[dim] == index)
    if n == 1:
        return titled(F.index_select(values_of(x), make_tensor(kept), dim=0).sum(0), "Select")
    return _moved(x, np.delete(a.indices, dim, 0)[:, kept], shape, kept, "Select", a.coalesced)


def _select_compressed(x: Any, dim: int, index: int) -> Any:
    a = x._array
    nb = len(a.batch)
    if dim < nb:
        shape = a.shape[:dim] + a.shape[dim + 1 :]
        v = values_of(x).select(dim, index)
        part = SparseArray(
            a.layout, shape, v._array, a.indices.take(index, dim), a.plain.take(index, dim)
        )
        return titled(build(part, v), "Select")
    if nb:
        raise OperationError(
            "select(): selecting sparse dimensions is not supported for batched sparse compressed tensors."
        )
    return select(as_layout(x, "coo"), dim=dim, index=index)


@operation("index_select_int index_slice index_unsqueeze index_alias")
def indexed(x: Any, *, index: Any) -> Any:
    dim = 0
    for item in index:
        if item is ...:
            dim = x._array.ndim - sum(
                i is not None and i is not ... for i in index[index.index(...) + 1 :]
            )
        elif item is None:
            x, dim = unsqueeze(x, dim=dim), dim + 1
        elif isinstance(item, slice):
            if item != slice(None):
                raise refuse("as_strided", x)
            dim += 1
        else:
            x = select(x, dim=dim, index=int(item)) if is_sparse(x) else x.select(dim, int(item))
    return x


@operation("slice split")
def sliced(x: Any, **_: Any) -> Any:
    raise refuse("as_strided", x)


@operation("alias")
def same(x: Any) -> Any:
    return recorded("Alias", x._array, (x,), lambda g: g)


@operation("unbind")
def unbind(x: Any, *, dim: int) -> Any:
    parts = [select(x, dim=dim, index=k) for k in range(x._array.shape[dim])]
    return tuple([titled(part, "Unbind") for part in parts])


@operation("unsqueeze")
def unsqueeze(x: Any, *, dim: int) -> Any:
    if x._array.layout != "coo":
        raise OperationError(f"Sparse {x._array.layout.upper()} tensors do not have strides")
    a, n = x._array, x._array.sparse_dim
    shape = (*a.shape[:dim], 1, *a.shape[dim:])
    if dim > n:
        v = values_of(x).unsqueeze(dim - n + 1)
        return titled(
            build(SparseArray("coo", shape, v._array, a.indices, None, a.coalesced), v), "Unsqueeze"
        )
    indices = np.insert(a.indices, dim, 0, 0)
    return _moved(x, indices, shape, None, "Unsqueeze", a.coalesced)


@operation("squeeze")
def squeeze(x: Any, **_: Any) -> Any:
    raise refuse("as_strided", x)


@method()
def narrow_copy(self: Any, dim: int, start: int, length: int) -> Any:
    """As `Tensor.narrow_copy`."""
    a = _coo(self, "narrow_copy")
    dim %= a.ndim
    if not 0 <= start <= a.shape[dim] - length:
        raise OperationError(
            f"start ({start}) + length ({length}) exceeds dimension size ({a.shape[dim]})."
        )
    shape = (*a.shape[:dim], length, *a.shape[dim + 1 :])
    if dim >= a.sparse_dim:
        v = values_of(self).narrow(dim - a.sparse_dim + 1, start, length)
        return titled(
            build(SparseArray("coo", shape, v._array, a.indices, None, a.coalesced), v),
            "NarrowCopy",
        )
    kept = np.flatnonzero((a.indices[dim] >= start) & (a.indices[dim] < start + length))
    indices = a.indices[:, kept].copy()
    indices[dim] -= start
    return _moved(self, indices, shape, kept, "NarrowCopy", a.coalesced)


@operation("index_select")
def index_select(x: Any, index: Any, *, dim: int) -> Any:
    if is_sparse(index):
        raise refuse("index_select", x, index)
    a, wanted = _coo(x, "index_select"), np.atleast_1d(index._array).astype(np.int64)
    size = a.shape[dim]
    outside = (wanted < -size) | (wanted >= size)
    if outside.any():
        raise IndexOutOfRangeError(
            f"index_select(): index contains {wanted[outside][0]} that is out of range for tensor of size {list(a.shape)} at dimension {dim}"
        )
    wanted = np.where(wanted < 0, wanted + size, wanted)
    shape = (*a.shape[:dim], len(wanted), *a.shape[dim + 1 :])
    if dim >= a.sparse_dim:
        v = F.index_select(values_of(x), make_tensor(wanted), dim=dim - a.sparse_dim + 1)
        return titled(
            build(SparseArray("coo", shape, v._array, a.indices, None, a.coalesced), v),
            "IndexSelect",
        )
    order = np.argsort(a.indices[dim], kind="stable")
    line = a.indices[dim][order]
    first, last = np.searchsorted(line, wanted), np.searchsorted(line, wanted, "right")
    count = last - first
    place = np.repeat(np.arange(len(wanted)), count)
    kept = order[
        np.arange(count.sum())
        - np.repeat(np.cumsum(count) - count, count)
        + np.repeat(first, count)
    ]
    indices = a.indices[:, kept].copy()
    indices[dim] = place
    return _moved(x, indices, shape, kept, "IndexSelect", a.coalesced and dim == 0)


# ---- several ---------------------------------------------------------------------------------
@operation("cat")
def cat(*tensors: Any, dim: int) -> Any:
    for x in tensors:
        if is_sparse(x) and x._array.layout != "coo":
            raise OperationError("Sparse CSR tensors do not have is_contiguous")
    for k, x in enumerate(tensors):
        if not is_sparse(x):
            if not k:
                raise refuse("_values", x)
            raise OperationError(
                f"Concatenating sparse tensors, but a dense tensor was found at position {k}."
            )
    first = tensors[0]._array
    for k, x in enumerate(tensors):
        other = x._array.shape
        if len(other) != first.ndim or any(
            s != t for d, (s, t) in enumerate(zip(other, first.shape, strict=True)) if d != dim
        ):
            raise OperationError(
                f"All tensors must have the same shape: {list(first.shape)} (except in the concatenating dimension), but found shape: "
                f"{list(other)} at position {k}."
            )
        if x._array.sparse_dim != first.sparse_dim:
            raise OperationError(
                f"All tensors must have the same sparse_dim and dense_dim: {first.sparse_dim}, {first.dense_dim}, but tensor at position "
                f"{k} has {x._array.sparse_dim}, {x._array.dense_dim}."
            )
    kind = first.dtype
    for x in tensors[1:]:
        kind = np.promote_types(kind, x._array.dtype)
    tensors = tuple([F.cast(x, dtype=kind) if x._array.dtype != kind else x for x in tensors])
    shape, at, indices, values = list(first.shape), 0, [], []
    shape[dim] = sum(x._array.shape[dim] for x in tensors)
    n = first.sparse_dim
    for x in tensors:
        a, v = x._array.sound(), values_of(x)
        places = a.indices
        if dim < n:
            places = places.copy()
            places[dim] += at
        else:
            rest = shape[dim] - at - a.shape[dim]
            before, after = list(v._array.shape), list(v._array.shape)
            before[dim - n + 1], after[dim - n + 1] = at, rest
            v = F.cat(
                make_tensor(np.zeros(before, kind)),
                v,
                make_tensor(np.zeros(after, kind)),
                dim=dim - n + 1,
            )
        indices.append(places)
        values.append(v)
        at += a.shape[dim]
    v = F.cat(*values, dim=0)
    return titled(
        build(SparseArray("coo", tuple(shape), v._array, np.concatenate(indices, 1)), v), "Cat"
    )


@operation("stack")
def stack(*tensors: Any, dim: int) -> Any:
    for x in tensors:
        if is_sparse(x) and x._array.layout != "coo":
            raise OperationError("Sparse CSR tensors do not have is_contiguous")
    made = cat(
        *[unsqueeze(x, dim=dim) if is_sparse(x) else F.unsqueeze(x, dim=dim) for x in tensors],
        dim=dim,
    )
    return titled(made, "Stack")


# ---- sums ------------------------------------------------------------------------------------
def summed(x: Any, dims: tuple[int, ...], keepdim: bool, title: str) -> Any:
    """The sum over some dimensions of a tensor in coordinates."""
    x = x.coalesce()
    a = x._array
    n, v = a.sparse_dim, values_of(x)
    inner = tuple(d - n + 1 for d in dims if d >= n)
    if inner:
        v = v.sum(inner, keepdim)
    gone = [d for d in dims if d < n]
    if not gone and v._array.dtype == a.dtype and not inner:
        return x
    shape = [1 if d in dims else s for d, s in enumerate(a.shape) if keepdim or d not in dims]
    if len(gone) == n and not keepdim:
        return titled(v.sum(0), title)
    if gone and not inner:
        v = v.to(BY_NUMPY[v.sum(())._array.dtype]) if v._array.dtype.kind in "biu" else v
    indices = a.indices.copy()
    if keepdim:
        indices[gone] = 0
    else:
        indices = np.delete(indices, gone, 0)
    pattern = SparseArray("coo", tuple(shape), v._array, indices, None, not gone)
    made = build(pattern, v)
    return titled(made.coalesce(), title)


@function("nonzero")
def nonzero(input: Any, *, out: Any = None, as_tuple: bool = False) -> Any:
    raise refuse("nonzero", input)


@function("argwhere")
def argwhere(input: Any) -> Any:
    raise refuse("nonzero", input)


@function("triangular_solve")
def triangular_solve(
    b: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:  # noqa: N803
    """As of dense matrices, for A in CSR: row after row."""
    if not is_sparse(A) or is_sparse(b) or A._array.layout not in ("csr", "csc"):
        raise refuse("triangular_solve", A if is_sparse(A) else b)
    solution = kernels.solve_triangular(A._array, b._array, upper, transpose, unitriangular)
    return TRIANGULAR(make_tensor(solution), make_tensor(np.empty(0, solution.dtype)))


@operation("sum_all")
def sum_all(x: Any) -> Any:
    a = x._array
    with_type = F.sum_all(make_tensor(a.values))
    return recorded("Sum", with_type._array, (x,), lambda g: g.expand(a.shape))


@operation("sum")
def sum_dims(x: Any, *, dim: Any, keepdim: bool) -> Any:
    a = x._array
    dims = (
        tuple(d % a.ndim for d in ((dim,) if isinstance(dim, int) else dim))
        if dim is not None
        else tuple(range(a.ndim))
    )
    if a.layout == "coo":
        return summed(x, dims, keepdim, "Sum" if dim is None else "SumBackward1")
    if not keepdim:
        raise OperationError(
            "reduction operations on CSR tensors with keepdim=False is unsupported"
        )
    return titled(
        as_layout(summed(as_layout(x, "coo"), dims, True, "Sum"), a.layout), "SumBackward1"
    )


def sparse_sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """`torch.sparse.sum`."""
    if not is_sparse(input):
        raise refuse("_sparse_sum.dim" if dim is not None else "coalesce", input)
    if dim is None:
        made = input.coalesce().values().sum(dtype=dtype)
        return made
    a = _coo(input, "_indices")
    given = (dim,) if isinstance(dim, int) else tuple(dim)
    for d in given:
        if not -a.ndim <= d < a.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-a.ndim}, {a.ndim - 1}], but got {d})"
            )
    dims = tuple(d % a.ndim for d in given)
    if dtype is not None:
        input = input.to(dtype)
    return summed(input, dims, False, "SparseSum")


@function("norm")
def norm(
    self: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None, **_: Any
) -> Any:
    if isinstance(p, str):
        if p not in ("fro", "nuc"):
            raise OperationError(f"only valid string values are 'fro' and 'nuc', found {p}")
        if dtype is not None:
            word = "frobenius" if p == "fro" else "nuclear"
            raise ArgumentValueError(f"dtype argument is not supported in {word} norm")
        if p == "nuc":
            raise refuse("_linalg_svd", self)
    elif p is not None and not isinstance(p, (int, float)) and getattr(p, "ndim", True):
        raise ArgumentTypeError(
            f"norm(): argument 'p' (position 2) must be Number, not {type_name(p)}"
        )
    if isinstance(dim, int):
        dim = (dim,)
    if dim and len(dim) < self._array.ndim:
        raise OperationError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all dimensions of the input"
        )
    if keepdim:
        raise OperationError("norm_sparse currently does not support keepdim=True")
    if dtype is not None:
        raise OperationError("norm_sparse currently does not support 'dtype' argument")
    if self._array.layout != "coo":
        raise refuse("norm.out", self)
    self = self.coalesce()
    made = FUNCTIONS["torch"]["norm"](
        values_of(self).reshape((-1,)), 2 if p in (None, "fro") else p
    )
    return titled(made, "Norm")


function("native_norm", methods=False)(norm)


@method("any")
def _any(self: Any, *args: Any, **kwargs: Any) -> Any:
    if args or kwargs or self._array.layout != "coo":
        raise refuse("any.dims" if args or kwargs else "any", self)
    return values_of(self.detach()).any()


# ---- softmax ---------------------------------------------------------------------------------
def softmax(input: Any, dim: int, dtype: Any, log: bool) -> Any:
    """Softmax over the stored elements of each line along `dim`; what is not stored counts as minus
    infinity.
    """
    name = "_sparse_log_softmax" if log else "_sparse_softmax"
    a = _coo(input, name) if is_sparse(input) else None
    if a is None:
        raise refuse(name, input)
    if not -a.ndim <= dim < a.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-a.ndim}, {a.ndim - 1}], but got {dim})"
        )
    dim %= a.ndim
    if dtype is not None:
        input = input.to(dtype)
    if input._array.dtype.kind in "biu":
        raise refuse(name, input)
    x = input.coalesce()
    a, v = x._array, values_of(x)
    title = "SparseLogSoftmax" if log else "SparseSoftmax"
    n = a.sparse_dim
    if dim >= n:
        made = FUNCTIONS["nn.functional"]["log_softmax" if log else "softmax"](v, dim - n + 1)
        return titled(build(a, made), title)
    if not a.nnz:
        return titled(build(a, v * 1), title)
    _, line = np.unique(np.delete(a.indices, dim, 0), axis=1, return_inverse=True)
    line = line.reshape(-1)
    top = np.full((int(line.max()) + 1, *a.values.shape[1:]), -np.inf, a.dtype)
    np.maximum.at(top, line, a.values)
    where = make_tensor(line)
    shifted = v - make_tensor(np.where(np.isfinite(top), top, 0).astype(a.dtype)[line])
    e = shifted.exp()
    total = F.index_add(make_tensor(np.zeros_like(top)), where, e, dim=0, alpha=1)
    made = (
        shifted - F.index_select(total.log(), where, dim=0)
        if log
        else e / F.index_select(total, where, dim=0)
    )
    return titled(build(a, made), title)


# ---- made anew -------------------------------------------------------------------------------
def like(x: Any, layout: Any, dtype: Any, name: str) -> Any:
    """`zeros_like`, `ones_like` and `empty_like` in a sparse layout; the latter two keep which
    elements of a compressed tensor are there.
    """
    a = x._array
    kind = (BY_NUMPY[a.dtype] if dtype is None else dtype).numpy
    own = a.layout if is_sparse(x) else "strided"
    wanted = own if layout is None else layout.name.removeprefix("sparse_")
    if name in ("ones_like", "empty_like") and own in COMPRESSED and wanted == own:
        fill = np.ones if name == "ones_like" else np.empty
        return wrapped(a.like(fill(a.values.shape, kind)))
    if name not in ("zeros_like", "empty_like"):
        raise refuse("uniform_" if "rand" in name else "fill_.Scalar", x)
    if own not in ("strided", "coo") and wanted != own:
        raise OperationError(
            f"empty_like with different sparse layout is not supported (self is {NAMES[own]} but you requested {NAMES[wanted]})"
        )
    if wanted == "coo" and own == "coo":
        made = SparseArray(
            "coo",
            a.shape,
            np.zeros((0, *a.values.shape[1:]), kind),
            np.zeros((a.sparse_dim, 0), np.int64),
            None,
            True,
        )
        return wrapped(made)
    return empty(a.shape, wanted, kind, a.block if own in BLOCKED else None)


def made(name: str, shape: tuple[int, ...], layout: Any, dtype: Any) -> Any:
    """`torch.zeros` and `torch.empty` in a sparse layout."""
    if name not in ("zeros", "empty"):
        raise OperationError("full(...) is not implemented for sparse layout")
    return empty(shape, layout.name.removeprefix("sparse_"), (dtype or get_default_dtype()).numpy)


def _new(
    self: Any,
    *size: Any,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **_: Any,
) -> Any:
    if not size:
        raise ArgumentTypeError('new_zeros() missing 1 required positional arguments: "size"')
    shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    kind = dtype or self.dtype
    new = (
        make_tensor(np.zeros(shape, kind.numpy))
        if layout is strided
        else made("zeros", shape, layout or self.layout, kind)
    )
    return new.requires_grad_() if requires_grad else new


method("new_zeros new_empty")(_new)


def _unfilled(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise refuse("fill_.Scalar", self)


method("new_ones new_full")(_unfilled)
