"""Where elements are: nonzero, argwhere, unravel_index; and one_hot, the way back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from ...arrays.meta import MetaArray
from ...arrays.numpy_cpu import namespace_of
from ...core import tracing
from ...core.bind import wrap
from ...core.inplace import check_out, into
from ...core.primitive import TENSORS as F
from ...core.public import public
from ...core.tensor import Tensor, make_tensor
from ...core.tracing import constant
from ...core.transforms.batching import Batched
from ...errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DtypeError,
    NeedsValuesError,
    OperationError,
    UnsupportedError,
    type_name,
)
from .._rules import require_tensor
from ..shape.view import reshape


@public(methods="=")
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """The positions of the nonzero elements.

    Args:
        input: any shape and dtype.
        as_tuple: return one vector of positions for each dimension, as indexing takes them,
            instead of a matrix with one row for each element. Default: False.

    >>> import pellucid as torch
    >>> torch.nonzero(torch.tensor([0, 5, 6]))
    tensor([[1],
            [2]])
    """
    a = require_tensor(input, "nonzero")._array
    if type(a) is not ndarray:
        if isinstance(input, Batched):
            raise OperationError(
                "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::nonzero. "
                "Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature.",
                hint="compute a mask of a fixed shape: torch.where(condition, x, 0)",
            )
        if input.is_meta:
            raise UnsupportedError(
                "The register_meta function for torch.nonzero() raises unimplemented by default, as a correct data-independent "
                "implementation does not exist. This implementation returns a fake value, assuming all elements of the tensor are "
                "non-zero. To enable this registration, please set "
                "'torch.fx.experimental._config.meta_nonzero_assume_all_nonzero' to True.",
                hint="how many elements are not zero depends on values, which a meta tensor does not have",
            )
        raise NeedsValuesError(
            "nonzero(): the number of elements that are not zero depends on values, which a meta tensor does not have"
        )
    if out is not None:
        if not isinstance(out, Tensor):
            raise ArgumentTypeError(
                f"nonzero(): argument 'out' must be Tensor, not {type_name(out)}"
            )
        if out._array.dtype != np.int64:
            raise DtypeError(
                f"nonzero: Expected out tensor to have scalar type Long but got scalar type{out.dtype.scalar_type_name}"
            )
        check_out(out, (input,), False)
        return into(out, nonzero(input), "nonzero")
    tracing.seen(a)
    found = _places(a) if a.size >= _MANY else (a.reshape(1) if a.ndim == 0 else a).nonzero()
    if as_tuple:
        return tuple(wrap(np.ascontiguousarray(d)) for d in found)
    if a.ndim == 0:
        return wrap(np.empty((len(found[0]), 0), np.int64))
    # PyTorch's memory layout
    return wrap(np.array(found).T if len(found[0]) else np.empty((0, a.ndim), np.int64))


# from this many elements on, positions are computed from those in the flattened array
_MANY = 1 << 12


def _places(a: ndarray) -> list[ndarray]:
    """Return the same as `a.nonzero()`, but faster: NumPy is fast only for one-dimensional
    booleans.
    """
    truth = a if a.dtype.kind == "b" else a != 0
    flat: ndarray = truth.reshape(-1).nonzero()[0]
    found = []
    for size in a.shape[:0:-1]:
        above = flat // size
        found.append(flat - above * size)
        flat = above
    return [flat, *found[::-1]]


@public(methods="=")
def argwhere(input: Tensor) -> Tensor:
    """The positions of the elements that are not 0, as rows.

    >>> import pellucid as torch
    >>> torch.argwhere(torch.tensor([[0, 1]]))
    tensor([[0, 1]])
    """
    return nonzero(input)


@public(namespace="nn.functional")
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Class numbers as vectors with a 1 at the number.

    Args:
        tensor: int64, any shape.
        num_classes: length of the vectors; -1: one more than the greatest number. Default: -1.

    Returns:
        int64, the shape of `tensor` with a new last dimension.

    Raises:
        RuntimeError: another dtype, or a number outside 0 to num_classes - 1.

    >>> import pellucid as torch
    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    a = require_tensor(tensor, "one_hot")._array
    if a.dtype != np.int64:
        raise OperationError("one_hot is only applicable to index tensor of type LongTensor.")
    if not a.size:
        if num_classes <= 0:
            raise OperationError("Can not infer total number of classes from empty tensor.")
        return wrap(constant(np.empty((*a.shape, num_classes), np.int64)))
    if tensor.is_meta:
        length = num_classes if num_classes != -1 else int(tensor.max().item()) + 1
        return make_tensor(MetaArray((*a.shape, length), np.int64))
    tracing.check(_check_classes, a, num_classes)
    if num_classes == -1:
        num_classes = int(namespace_of(a).to_host(a).max()) + 1
    if tracing.tracer():
        classes = wrap(constant(np.arange(num_classes)))
        return F.cast(
            F.eq(reshape(tensor.contiguous(), (*a.shape, 1)), classes), dtype=np.dtype(np.int64)
        )
    return wrap(tracing.effect(_ones_at, a, num_classes))


def _check_classes(a: ndarray, num_classes: int) -> None:
    if a.min() < 0:
        raise OperationError("Class values must be non-negative.")
    if num_classes != -1 and (num_classes < 1 or a.max() >= num_classes):
        raise OperationError("Class values must be smaller than num_classes.")


def _ones_at(a: ndarray, num_classes: int) -> ndarray:
    out = np.zeros((a.size, num_classes), np.int64)
    out[np.arange(a.size), a.reshape(-1)] = 1
    return out.reshape(*a.shape, num_classes)


@public(
    methods="=",
    out="nonzero_static: Expected out tensor to have scalar type {wanted} but got scalar type{given}",
)
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """As `nonzero`, cut or filled up to `size` rows.

    >>> import pellucid as torch
    >>> torch.nonzero_static(torch.tensor([0, 5]), size=2)
    tensor([[ 1],
            [-1]])
    """
    if size < 0:
        raise OperationError("nonzero_static: 'size' must be an non-negative integer")
    if require_tensor(input, "nonzero_static").is_meta:
        return nonzero(input)
    return wrap(tracing.effect(_first_places, input._array, size, fill_value))


def _first_places(a: ndarray, size: int, fill_value: int) -> ndarray:
    """Return the positions of the first `size` nonzero elements as rows, padded with rows of
    `fill_value`.
    """
    found = (
        np.stack(a.nonzero(), axis=1)[:size]
        if a.ndim
        else np.empty((int(bool(a)), 0), np.int64)[:size]
    )
    out = np.full((size, a.ndim), fill_value, np.int64)
    out[: len(found)] = found
    return out


@public()
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Turn positions in a flattened tensor into positions in each dimension.

    Args:
        indices: integers of any shape.
        shape: the sizes of the tensor.

    >>> import pellucid as torch
    >>> torch.unravel_index(torch.tensor([3, 5]), (2, 3))
    (tensor([1, 1]), tensor([0, 2]))
    """
    a = require_tensor(indices, "unravel_index", "indices")._array
    if a.dtype.kind not in "iu":
        raise ArgumentTypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise ArgumentTypeError(
            f"expected 'shape' to be int or sequence of ints, but got {type(shape)}"
        )
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for n in sizes:
        if not isinstance(n, int):
            raise ArgumentTypeError(
                f"expected 'shape' sequence to only contain ints, but got {type(n)}"
            )
    if any(n < 0 for n in sizes):
        raise ArgumentValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    return tuple(map(wrap, tracing.effect(_unravelled, a, sizes)))


def _unravelled(a: ndarray, sizes: tuple[int, ...]) -> tuple[ndarray, ...]:
    out, rest = [], a.astype(np.int64)
    for size in reversed(sizes):
        out.append(np.asarray(rest % size))
        rest = rest // size
    return tuple(reversed(out))
