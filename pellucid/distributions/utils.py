"""Broadcast parameters, probabilities and logits, triangular matrices as vectors, attributes
computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

from ..core.modes import enable_grad
from ..core.tensor import Tensor
from ..devices import Size
from ..dtypes import finfo, get_default_dtype
from ..errors import ArgumentValueError
from ..overrides import is_tensor_like
from ._functions import T

euler_constant = 0.57721566490153286060

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "euler_constant",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors of one shape from tensors and numbers; numbers take the first tensor's dtype, or else
    the default one.

    Raises:
        ValueError: something that is neither a tensor nor a number.

    >>> import pellucid as torch
    >>> torch.distributions.utils.broadcast_all(torch.zeros(2), 1)
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    if all(isinstance(v, Tensor) and v.shape == values[0].shape for v in values):
        return values  # nothing to expand
    if not all(isinstance(v, Number) or is_tensor_like(v) for v in values):
        raise ArgumentValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    first = next((v for v in values if isinstance(v, Tensor)), None)
    dtype = get_default_dtype() if first is None else first.dtype
    device = None if first is None else first.device
    tensors = [v if is_tensor_like(v) else T.tensor(v, dtype=dtype, device=device) for v in values]
    made: Any = T.broadcast_tensors(*tensors)
    return tuple(made) if isinstance(made, list) else made


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from logits: a sigmoid of each where they are binary, else a softmax over the
    last dimension.
    """
    result: Tensor = T.sigmoid(logits) if is_binary else T.softmax(logits, dim=-1)
    return result


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept the dtype's epsilon away from 0 and 1."""
    eps = finfo(probs.dtype).eps
    result: Tensor = T.clamp(probs, min=eps, max=1 - eps)
    return result


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Logits from probabilities, which are kept away from 0 and 1: log(p / (1 - p)) where they are
    binary, else log(p).
    """
    kept = clamp_probs(probs)
    result: Tensor = T.log(kept) - T.log1p(-kept) if is_binary else T.log(kept)
    return result


class lazy_property:
    """A property whose value is computed when first asked for, with gradients, and then kept on the
    instance.
    """

    _shown: Any = None

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.__name__ = wrapped.__name__
        self.__doc__ = wrapped.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            if self._shown is None:
                self._shown = _LazyClassProperty(self.wrapped)
            return self._shown
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.__name__, value)
        return value


class _LazyClassProperty(lazy_property, property):
    """What a lazy property is on the class: a property for documentation tools."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The entries on and below a diagonal, row by row: (..., D, D) to (..., count).

    Raises:
        ValueError: a diagonal outside the matrix.
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ArgumentValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = T.tril_indices(n, n, diag).unbind(0)
    result: Tensor = mat[..., rows, columns]
    return result


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """A matrix with the entries on and below a diagonal taken from a vector: the inverse of
    `tril_matrix_to_vec`.

    Raises:
        ValueError: a length that no square matrix has.
    """
    b = 1 + 2 * diag
    n = (-b + (b**2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > finfo(vec.dtype).eps:
        raise ArgumentValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    size = round(n)
    # Entry k of the vector goes to place (i, j); all other places read a zero put behind the
    # vector's end.
    rows, columns = T.tril_indices(size, size, diag).unbind(0)
    source = T.full((size, size), vec.shape[-1], dtype=rows.dtype)
    source[rows, columns] = T.arange(vec.shape[-1])
    padded = T.cat([vec, vec.new_zeros(vec.shape[:-1] + (1,))], dim=-1)
    result: Tensor = padded[..., source.reshape(-1)].reshape(vec.shape[:-1] + (size, size))
    return result


def sum_rightmost(value: Tensor, count: int) -> Tensor:
    """The sum over the last `count` dimensions."""
    return value if count == 0 else value.sum(tuple(range(-count, 0)))


def shape_of(parameter: Tensor, *given: Any) -> Size:
    """The batch shape of a distribution whose parameters were `given`, and broadcast to that of
    `parameter`.
    """
    return Size() if all(isinstance(g, Number) for g in given) else parameter.shape


def only_one(first: str, second: str, a: Any, b: Any) -> None:
    """Refuse two parametrizations at once, and none."""
    if (a is None) == (b is None):
        raise ArgumentValueError(f"Either `{first}` or `{second}` must be specified, but not both.")


def standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Normal random numbers of mean 0 and variance 1."""
    result: Tensor = T.randn(shape, dtype=dtype, device=device)
    return result


# The names under which libraries on top of PyTorch's distributions reach for these.
_sum_rightmost = sum_rightmost
_standard_normal = standard_normal
