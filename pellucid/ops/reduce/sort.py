"""Ordering: sort, argsort, topk, unique. In ascending order NaN comes last. Gradients follow the
elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...arrays.formulas import planned
from ...arrays.native import kernels
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import public
from ...core.tape import named_type
from ...core.tensor import OutputSlot, Tensor, make_tensor
from ...core.transforms.batching import Batched
from ...errors import ArgumentTypeError, DtypeError, OperationError, UnsupportedError, type_name
from ...shapes import normalize_dim
from .. import return_types
from .._rules import require_tensor
from .._samples import cases
from ..pointwise.basic import underivable
from ._order import ordered
from ._reduction import everyday_dim, numpy_names
from .select import chosen_grad


def _laid_out(values: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the values in the memory layout of `x`."""
    made = np.empty_like(x, values.dtype)
    np.copyto(made, values)
    return made


def _sort(xp: Any, x: Any, *, dim: int, descending: bool, how: str) -> Any:
    made = ordered(xp, x, dim, x.shape[dim] if x.ndim else 1, descending, how)
    # results have the memory layout of the input
    if type(x) is np.ndarray and not x.flags.c_contiguous:
        made = tuple([_laid_out(a, x) for a in made])
    return made


def _order_grad(F: Any, g: Any, out1: Any, input_shape: Any, dim: int) -> Any:
    return chosen_grad(F, g, out1, input_shape, dim, True)


def _onnx_sort(c: Any) -> Any:
    dim = int(c.p["dim"])
    return c.emit(
        "TopK",
        c[0],
        c.ints([c.shape()[dim]]),
        count=2,
        axis=dim,
        largest=int(c.p["descending"]),
        sorted=1,
    )


def _aten_sort(A: Any, x: Any, *, dim: int, descending: bool, how: str) -> Any:
    if how == "stable":
        return A.sort.stable(x, stable=True, dim=dim, descending=descending)
    return A.sort(x, dim, descending)


defop(
    "sort",
    "input",
    forward=_sort,
    host=True,  # native code finds the order of equal elements
    outputs=2,
    vjp={"input": _order_grad},
    aval=lambda x, dim, descending, how: [x, (x[0], np.dtype(np.int64))],
    batch="dims",
    onnx=_onnx_sort,
    aten=_aten_sort,
    samples=cases(
        *(
            (((3, 5),), {"dim": dim, "descending": down, "how": "sort"})
            for dim in (0, 1)
            for down in (False, True)
        )
    ),
    overload="sort.stable",
    variant=lambda n: f"SortBackward{int(n.params['how'] == 'stable')}",
)


def _topk(xp: Any, x: Any, *, k: int, dim: int, largest: bool, how: str) -> Any:
    return ordered(xp, x, dim, k, largest, how)


def _few_of_top(shape: Any, kind: Any, k: int, dim: int, largest: bool, how: str) -> Any:
    serves = how == "top" and shape and kind.itemsize > 2
    return kernels.ordering.order.few(shape, kind, dim, k, largest, how) if serves else None


def _topk_aval(x: Any, *, k: int, dim: int, largest: bool, how: str) -> Any:
    shape = (*x[0][:dim], k, *x[0][dim + 1 :]) if x[0] else ()
    return [(shape, x[1]), (shape, np.dtype(np.int64))]


def _onnx_topk(c: Any) -> Any:
    return c.emit(
        "TopK",
        c[0],
        c.ints([c.p["k"]]),
        count=2,
        axis=int(c.p["dim"]),
        largest=int(c.p["largest"]),
        sorted=1,
    )


defop(
    "topk",
    "input",
    forward=planned(_few_of_top, _topk),
    host=True,
    outputs=2,
    vjp={"input": _order_grad},
    aval=_topk_aval,
    batch="dims",
    onnx=_onnx_topk,
    aten=lambda A, x, *, k, dim, largest, how: A.topk(x, k, dim, largest, how == "top"),
    samples=cases(
        *(
            (((3, 40),), {"k": 3, "dim": 1, "largest": largest, "how": "top"})
            for largest in (False, True)
        )
    ),
)

_sorted = return_types.make("sort", "values indices")
_top = return_types.make("topk", "values indices")


def _dim(input: Any, name: str, dim: Any) -> int:
    number = everyday_dim(input, dim)
    if number >= 0:
        return number
    shape = require_tensor(input, name)._array.shape
    if input._array.dtype.kind in "cW":
        raise DtypeError(
            f" {'topk' if name == 'topk' else 'Sort'} does not support complex dtypes on CPU"
        )
    if type(dim) is int:
        return normalize_dim(dim, len(shape))
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise ArgumentTypeError(
            f"{name}(): argument 'dim' (position 2) must be int, not {type_name(dim)}"
        )
    return normalize_dim(dim.__index__(), len(shape))


@public(methods="=", out="same")
@numpy_names
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool | None = None) -> Any:
    """Sort along a dimension.

    Args:
        input: any shape, a real dtype. NaN counts as largest.
        dim: the dimension. Default: -1.
        descending: largest first. Default: False.
        stable: keep equal elements in their order; otherwise they come in PyTorch's. Default: False.

    Returns:
        A named tuple of `values` and `indices` (int64), both in the shape of `input`.

    Raises:
        IndexError: `dim` is out of range.

    >>> import pellucid as torch
    >>> torch.sort(torch.tensor([3.0, 1.0, 2.0])).indices
    tensor([1, 2, 0])
    """
    if isinstance(dim, bool):
        descending, dim = dim, -1
    how = "stable" if stable else "sort"
    made = F.sort(input, dim=_dim(input, "sort", dim), descending=bool(descending), how=how)
    if stable is not None and type(made[0]._node) is OutputSlot:
        made[0]._node.node.__class__ = named_type("SortBackward1")
    return return_types.packed(_sorted, made)


@public(methods="=", out="same")
@numpy_names
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that sort a tensor along a dimension.

    Args:
        input: any shape, a real dtype. NaN counts as largest.
        dim: the dimension. Default: -1.
        descending: largest first. Default: False.
        stable: keep equal elements in their order; otherwise they come in PyTorch's. Default: False.

    Returns:
        int64 indices in the shape of `input`.

    >>> import pellucid as torch
    >>> torch.argsort(torch.tensor([3.0, 1.0, 2.0]))
    tensor([1, 2, 0])
    """
    if isinstance(dim, bool):
        descending, dim = dim, -1
    how = "stable" if stable else "sort"
    return F.sort(input, dim=_dim(input, "argsort", dim), descending=bool(descending), how=how)[1]


@public(methods="=", out="same")
def msort(input: Tensor) -> Tensor:
    """The elements in ascending order along the first dimension.

    >>> import pellucid as torch
    >>> torch.msort(torch.tensor([3.0, 1.0, 2.0]))
    tensor([1., 2., 3.])
    """
    return F.sort(input, dim=_dim(input, "msort", 0), descending=False, how="sort")[0]


@public(methods="=", out="same")
@numpy_names
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest elements along a dimension, in descending order, and their indices.

    Args:
        input: any shape, a real dtype. NaN counts as largest.
        k: how many.
        dim: the dimension. Default: -1.
        largest: False returns the k smallest, in ascending order. Default: True.
        sorted: return them in order; otherwise in the order in which PyTorch finds them.
            Default: True.

    Returns:
        A named tuple of `values` and `indices` (int64), in the shape of `input` with size k in
        `dim`.

    Raises:
        RuntimeError: the dimension has fewer than k elements.

    >>> import pellucid as torch
    >>> torch.topk(torch.tensor([3.0, 1.0, 2.0]), 2).values
    tensor([3., 2.])
    """
    number = _dim(input, "topk", dim)
    shape = input._array.shape
    if type(k) is not int and (isinstance(k, bool) or not hasattr(k, "__index__")):
        raise ArgumentTypeError(
            f"topk(): argument 'k' (position 2) must be int, not {type_name(k)}"
        )
    if not 0 <= k <= (shape[number] if shape else 1):
        raise OperationError("selected index k out of range")
    if input.dtype is dtypes.bool_:
        raise DtypeError("topk does not support bool dtypes on CPU")
    how = "top" if sorted else "top unordered"
    made = F.topk(input, k=int(k), dim=number, largest=bool(largest), how=how)
    return return_types.packed(_top, made)


# ---- distinct elements (no gradient) ----------------------------------------------------------
def _lines(x: Any, dim: int) -> Any:
    """Return the lines along `dim`, and the lines flattened to comparable rows."""
    moved = np.moveaxis(x, dim, 0)
    return moved, moved.reshape(moved.shape[0], int(np.prod(moved.shape[1:])))


def _groups(rows: Any, ordered: bool) -> Any:
    """Return the position of the first row of each group, the group of each row, and the sizes.
    Groups are in lexicographic order unless the rows are `ordered`.
    """
    n = rows.shape[0]
    order = np.arange(n) if ordered else np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(n)
    put = rows[order]
    fresh = np.ones(n, bool)
    fresh[1:] = (put[1:] != put[:-1]).any(1)
    group = np.cumsum(fresh) - 1
    inverse = np.empty(n, np.int64)
    inverse[order] = group
    first = order[fresh]
    return first, inverse, np.bincount(group, minlength=len(first)) if n else np.zeros(0, np.int64)


def _values(flat: np.ndarray, ordered: bool) -> np.ndarray:
    """Return the first element of each group of a vector, in the order of `_groups`."""
    put = flat if ordered else flat[flat.argsort(kind="stable")]
    fresh = np.ones(put.size, bool)
    np.not_equal(put[1:], put[:-1], fresh[1:])
    return put[fresh]


def _distinct(x: Any, dim: int | None, ordered: bool) -> tuple[Any, Any, Any]:
    if dim is None:
        first, inverse, sizes = _groups(x.reshape(-1, 1), ordered)
        return x.reshape(-1)[first], inverse.reshape(x.shape), sizes
    moved, rows = _lines(x, dim)
    first, inverse, sizes = _groups(rows, ordered)
    return np.moveaxis(moved[first], 0, dim), inverse, sizes


def _answer(parts: tuple[Any, Any, Any], return_inverse: bool, return_counts: bool) -> Any:
    made = [make_tensor(np.asarray(parts[0], order="C"))]
    if return_inverse:
        made.append(make_tensor(np.asarray(parts[1], np.int64, order="C")))
    if return_counts:
        made.append(make_tensor(np.ascontiguousarray(parts[2], np.int64)))
    return made[0] if len(made) == 1 else tuple(made)


def _unique(
    name: str, input: Any, dim: Any, return_inverse: bool, return_counts: bool, ordered: bool
) -> Any:
    what = "_unique2" if name == "unique" and dim is None else name if dim is None else "unique_dim"
    x = require_tensor(input, what)._array
    if input.is_meta:
        raise UnsupportedError(
            f"{name} on a meta tensor: the shape of its result depends on the values"
        )
    if isinstance(input, Batched):
        raise OperationError(
            f"vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{what}. "
            "Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
        )
    if input.dtype.is_complex:
        raise UnsupportedError(f"\"unique\" not implemented for '{input.dtype.scalar_type_name}'")
    if dim is not None:
        dim = normalize_dim(dim, x.ndim)
        others = (*x.shape[:dim], *x.shape[dim + 1 :])
        if x.ndim == 0:
            dim = None
        elif 0 in others:
            if x.shape[dim] == 0:
                raise OperationError(
                    "Number of zero sized dimensions is more than one, so unique cannot be applied "
                )
            raise OperationError(
                "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
            )
    if dim is None and not return_inverse and not return_counts and type(x) is np.ndarray:
        alone = make_tensor(_values(x.reshape(-1), ordered))
        return underivable(alone, (input,), what)
    made = _answer(_distinct(x, dim, ordered), return_inverse, return_counts)
    first, *rest = made if isinstance(made, tuple) else (made,)
    first = underivable(first, (input,), what)
    return (first, *rest) if rest else first


@public(methods="=")
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements in ascending order, or the distinct slices along a dimension.

    Args:
        input: any shape and dtype.
        sorted: accepted; the result is always sorted.
        return_inverse: also return the index of each element in the result. Default: False.
        return_counts: also return how often each one occurs. Default: False.
        dim: compare slices along this dimension. Default: None, which flattens the tensor.

    >>> import pellucid as torch
    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    return _unique("unique", input, dim, return_inverse, return_counts, False)


@public(methods="=")
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Remove all but the first of each run of equal elements.

    Args:
        input: any shape and dtype.
        return_inverse: also return where each element of `input` went. Default: False.
        return_counts: also return the length of each run. Default: False.
        dim: compare slices along this dimension. Default: None, which flattens the tensor.

    >>> import pellucid as torch
    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    return _unique("unique_consecutive", input, dim, return_inverse, return_counts, True)
