"""Reductions over the elements that a mask keeps. True in a mask keeps the element, as everywhere
in this namespace.
"""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..core.tensor import Tensor
from ..errors import ArgumentTypeError, ArgumentValueError
from ..ops.create.basic import ones
from ..ops.pointwise.complex import conj_physical as _conj
from ..ops.reduce import basic as reduce
from ..ops.reduce import norm as reduce_norm
from ..ops.reduce import scan, softmax
from ..ops.reduce import select as reduce_select
from ._mask import Dims, all_dims, combine, input_mask, one_dim, require

Dtype = dtypes.dtype | None


def _summed_type(input: Tensor, dtype: Dtype) -> dtypes.dtype:
    """Whole numbers are added and multiplied in int64 unless the caller asked for another type."""
    if dtype is not None:
        return dtype
    return input.dtype if input.dtype.category >= dtypes.FLOATING else dtypes.int64


def sum(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Dtype = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The sum over `dim` (all dimensions for None) of the elements that `mask` keeps; 0 where it
    keeps none.

    >>> import pellucid as torch
    >>> torch.masked.sum(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(5.)
    """
    dtype = _summed_type(require(input, "sum"), dtype)
    dims = all_dims(dim, input.ndim)
    return reduce.sum(combine("sum", input, mask), dims, bool(keepdim), dtype=dtype)


def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Dtype = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The product over `dim` (all dimensions for None) of the elements that `mask` keeps; 1 where
    it keeps none.

    >>> import pellucid as torch
    >>> torch.masked.prod(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(4.)
    """
    dtype = _summed_type(require(input, "prod"), dtype)
    result = combine("prod", input, mask).to(dtype)
    ndim = input.ndim if dim is None or dim == () else max(input.ndim, 1)
    for d in reversed(all_dims(dim, ndim)):
        result = reduce.prod(result, d, bool(keepdim))
    return result


def cumsum(input: Tensor, dim: int, *, dtype: Dtype = None, mask: Tensor | None = None) -> Tensor:
    """The running sum along `dim` of the elements that `mask` keeps, in the input's dtype unless
    `dtype` says otherwise.

    >>> import pellucid as torch
    >>> torch.masked.cumsum(torch.tensor([1.0, 2.0, 4.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 5.])
    """
    dtype = require(input, "cumsum").dtype if dtype is None else dtype
    d = one_dim(dim, input.ndim)
    return scan.cumsum(combine("cumsum", input, mask), d, dtype=dtype)


def cumprod(input: Tensor, dim: int, *, dtype: Dtype = None, mask: Tensor | None = None) -> Tensor:
    """The running product along `dim` of the elements that `mask` keeps, in the input's dtype
    unless `dtype` says otherwise.

    >>> import pellucid as torch
    >>> torch.masked.cumprod(torch.tensor([1.0, 2.0, 4.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 4.])
    """
    dtype = require(input, "cumprod").dtype if dtype is None else dtype
    d = one_dim(dim, input.ndim)
    return scan.cumprod(combine("cumprod", input, mask), d, dtype=dtype)


def amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Dtype = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The largest element that `mask` keeps, over `dim` (all dimensions for None); the least value
    of the dtype where it keeps none.

    >>> import pellucid as torch
    >>> torch.masked.amax(torch.tensor([1.0, 4.0]), mask=torch.tensor([True, False]))
    tensor(1.)
    """
    dtype = require(input, "amax").dtype if dtype is None else dtype
    kept = combine("amax", input, mask)
    return reduce.amax(kept, all_dims(dim, input.ndim), bool(keepdim)).to(dtype)


def amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Dtype = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The least element that `mask` keeps, over `dim` (all dimensions for None); the largest value
    of the dtype where it keeps none.

    >>> import pellucid as torch
    >>> torch.masked.amin(torch.tensor([1.0, 4.0]), mask=torch.tensor([False, True]))
    tensor(4.)
    """
    dtype = require(input, "amin").dtype if dtype is None else dtype
    kept = combine("amin", input, mask)
    return reduce.amin(kept, all_dims(dim, input.ndim), bool(keepdim)).to(dtype)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Dtype = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The position of the largest element that `mask` keeps, along `dim` or in the flattened input;
    in the input's dtype.

    >>> import pellucid as torch
    >>> torch.masked.argmax(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([True, True, False]), dtype=torch.int64)
    tensor(1)
    """
    dtype = require(input, "argmax").dtype if dtype is None else dtype
    found = reduce_select.argmax(combine("argmax", input, mask), dim, bool(keepdim))
    return found.to(dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Dtype = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The position of the least element that `mask` keeps, along `dim` or in the flattened input;
    in the input's dtype.

    >>> import pellucid as torch
    >>> torch.masked.argmin(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([False, True, True]), dtype=torch.int64)
    tensor(1)
    """
    dtype = require(input, "argmin").dtype if dtype is None else dtype
    found = reduce_select.argmin(combine("argmin", input, mask), dim, bool(keepdim))
    return found.to(dtype)


def _counted(
    input: Tensor, dim: Dims, keepdim: bool, mask: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """How many elements each result is made of, and the mask in the input's shape, if there is one."""
    kept = None if mask is None else input_mask(input, mask)
    n = reduce.sum(
        ones(input.shape, dtype=dtypes.bool_) if kept is None else kept,
        all_dims(dim, input.ndim),
        keepdim,
    )
    return n, kept


def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Dtype = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean over `dim` (all dimensions for None) of the elements that `mask` keeps; NaN where it
    keeps none.

    Raises:
        ValueError: the result would be in whole numbers.

    >>> import pellucid as torch
    >>> torch.masked.mean(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(2.5000)
    """
    require(input, "mean")
    source = "Input" if dtype is None else "Optional"
    dtype = input.dtype if dtype is None else dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ArgumentValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype. Got: {dtype}"
        )
    n, kept = _counted(input, dim, bool(keepdim), mask)
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=kept) / n


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: Dtype = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The lower median along `dim` of the elements that `mask` keeps; NaN where it keeps none.

    Raises:
        ValueError: whole numbers, and the mask keeps nothing of some row.

    >>> import pellucid as torch
    >>> torch.masked.median(torch.tensor([1.0, 2.0, 4.0, 8.0]), 0, mask=torch.tensor([False, True, True, True]))
    tensor(4.)
    """
    dtype = require(input, "median").dtype if dtype is None else dtype
    d = one_dim(dim, input.ndim)
    real = input.dtype.is_floating_point
    kept = combine("median", input if real else input.to(dtypes.float32), mask)
    result = reduce_select.nanmedian(kept, d, keepdim).values
    if real:
        return result
    if bool((result != result).any()):
        raise ArgumentValueError(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    return result.to(dtype)


def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Dtype = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The logarithm of the sum of exponentials over `dim` of the elements that `mask` keeps; -inf
    where it keeps none.

    >>> import pellucid as torch
    >>> torch.masked.logsumexp(torch.zeros(4), 0, mask=torch.tensor([True, True, False, False]))
    tensor(0.6931)
    """
    dtype = require(input, "logsumexp").dtype if dtype is None else dtype
    dims = all_dims(dim, input.ndim)
    return softmax.logsumexp(combine("logsumexp", input, mask), dims, keepdim).to(dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Dtype = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norm of order `ord` over `dim` (all dimensions for None) of the elements that
    `mask` keeps.

    >>> import pellucid as torch
    >>> torch.masked.norm(torch.tensor([3.0, 4.0, 12.0]), 2, mask=torch.tensor([True, True, False]))
    tensor(5.)
    """
    dtype = require(input, "norm").dtype if dtype is None else dtype
    kept = combine("norm", input, mask, ord)
    dims = all_dims(dim, input.ndim)
    return reduce_norm.vector_norm(
        kept, 2.0 if ord is None else ord, dims, bool(keepdim), dtype=dtype
    )


def _spread(
    name: str,
    input: Tensor,
    dim: Dims,
    unbiased: bool | None,
    correction: float | None,
    keepdim: bool,
    dtype: Dtype,
    mask: Tensor | None,
) -> Tensor:
    """The variance: squared distances from the mean of what is kept, by the count less the
    correction.
    """
    require(input, name)
    if unbiased is not None and correction is not None:
        raise ArgumentTypeError(f"{name}() takes either 'unbiased' or 'correction', not both")
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    number = input.dtype if dtype is None else dtype
    if not (number.is_floating_point or number.is_complex):
        number = dtypes.float32
    n, kept = _counted(input, dim, True, mask)
    centred: Any = input - sum(input, dim, keepdim=True, dtype=number, mask=kept) / n
    total: Any = sum(centred * _conj(centred), dim, keepdim=keepdim, dtype=number, mask=kept)
    n = n.reshape(total.shape)
    if correction:
        n = (n.to(number.to_real()) - correction).clamp(min=0)
    return (total / n).to(number if dtype is None else dtype)


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: Dtype = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance over `dim` (all dimensions for None) of the elements that `mask` keeps; NaN
    where it keeps too few.

    >>> import pellucid as torch
    >>> torch.masked.var(torch.tensor([1.0, 3.0, 100.0]), mask=torch.tensor([True, True, False]))
    tensor(2.)
    """
    return _spread("var", input, dim, unbiased, correction, bool(keepdim), dtype, mask)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: Dtype = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The standard deviation, the root of `var`.

    >>> import pellucid as torch
    >>> torch.masked.std(torch.tensor([1.0, 5.0, 100.0]), unbiased=False, mask=torch.tensor([True, True, False]))
    tensor(2.)
    """
    return _spread("std", input, dim, unbiased, correction, bool(keepdim), dtype, mask).sqrt()
