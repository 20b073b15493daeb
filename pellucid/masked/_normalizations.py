"""Functions over the elements that a mask keeps whose result has the input's shape."""

from __future__ import annotations

from .. import dtypes
from ..core.tensor import Tensor
from ..ops.pointwise import explog
from ..ops.reduce import softmax as _softmax
from ._mask import combine, one_dim, require
from ._reductions import norm

Dtype = dtypes.dtype | None


def softmax(input: Tensor, dim: int, *, dtype: Dtype = None, mask: Tensor | None = None) -> Tensor:
    """The softmax along `dim` of the elements that `mask` keeps; 0 elsewhere, NaN in rows of which
    it keeps nothing.

    >>> import pellucid as torch
    >>> torch.masked.softmax(torch.zeros(4), 0, mask=torch.tensor([True, True, False, False]))
    tensor([0.5000, 0.5000, 0.0000, 0.0000])
    """
    dtype = require(input, "softmax").dtype if dtype is None else dtype
    d = one_dim(dim, input.ndim)
    return _softmax.softmax(combine("amax", input, mask), d, dtype=dtype)


def log_softmax(
    input: Tensor, dim: int, *, dtype: Dtype = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of `softmax`; -inf where `mask` is False.

    >>> import pellucid as torch
    >>> torch.masked.log_softmax(torch.zeros(3), 0, mask=torch.tensor([True, True, False]))
    tensor([-0.6931, -0.6931,    -inf])
    """
    dtype = require(input, "log_softmax").dtype if dtype is None else dtype
    d = one_dim(dim, input.ndim)
    return _softmax.log_softmax(combine("amax", input, mask), d, dtype=dtype)


def softmin(input: Tensor, dim: int, *, dtype: Dtype = None, mask: Tensor | None = None) -> Tensor:
    """The softmax of the negated elements that `mask` keeps; 0 elsewhere.

    >>> import pellucid as torch
    >>> torch.masked.softmin(torch.zeros(4), 0, mask=torch.tensor([True, True, False, False]))
    tensor([0.5000, 0.5000, 0.0000, 0.0000])
    """
    dtype = require(input, "softmin").dtype if dtype is None else dtype
    d = one_dim(dim, input.ndim)
    return _softmax.softmax(-combine("amin", input, mask), d, dtype=dtype)


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Dtype = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The elements that `mask` keeps divided by their norm of order `ord` along `dim`, which counts
    as at least `eps`; 0 elsewhere.

    >>> import pellucid as torch
    >>> torch.masked.normalize(torch.tensor([3.0, 4.0, 12.0]), 2, 0, mask=torch.tensor([True, True, False]))
    tensor([0.6000, 0.8000, 0.0000])
    """
    dtype = require(input, "normalize").dtype if dtype is None else dtype
    kept = combine("normalize", input, mask)
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return kept / size.maximum(size.new_full((), eps))


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Dtype = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """`log(exp(input) + exp(other))` of what the masks keep of each; -inf where they keep neither.

    >>> import pellucid as torch
    >>> x, y, keep = torch.tensor([-100.0, -200.0]), torch.tensor([-1.0, -2.0]), torch.tensor([True, False])
    >>> torch.masked.logaddexp(x, y, input_mask=keep, other_mask=keep)
    tensor([-1., -inf])
    """
    dtype = require(input, "logaddexp").dtype if dtype is None else dtype
    kept = combine("logaddexp", input, input_mask)
    rest = combine("logaddexp", require(other, "logaddexp", "other"), other_mask)
    return explog.logaddexp(kept, rest).to(dtype)
