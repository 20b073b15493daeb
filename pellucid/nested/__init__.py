"""`torch.nested`: batches of tensors that differ in size, without padding.

>>> import pellucid as torch
>>> words = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
>>> words.sum(1)
tensor([[2., 2., 2.],
        [4., 4., 4.]])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.primitive import TENSORS as F
from ..core.tensor import Tensor, make_tensor
from ..devices import jagged, strided
from ..errors import ArgumentTypeError, OperationError
from . import _files as _files
from ._base import is_plain, plain
from ._jagged import NestedTensor
from ._strided import StridedNestedTensor

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]


def nested_tensor(
    tensor_list: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A nested tensor with copies of some tensors (or nested lists of numbers) as its components,
    outside the graph.

    Args:
        tensor_list: all of the same dtype and number of dimensions. With `layout=torch.jagged` one
            dimension may differ in size; with the default, `torch.strided`, all may.

    Raises:
        TypeError: no list. RuntimeError: no tensors, or tensors that differ in dtype or number of
            dimensions.

    >>> import pellucid as torch
    >>> torch.nested.nested_tensor([torch.arange(2), torch.arange(3)])
    nested_tensor([
      tensor([0, 1]),
      tensor([0, 1, 2])
    ])
    """
    if not isinstance(tensor_list, (list, tuple)):
        raise ArgumentTypeError(
            "Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor"
        )
    tensor = plain("tensor")
    parts = [
        t.detach().clone() if isinstance(t, Tensor) else tensor(t, dtype=dtype) for t in tensor_list
    ]
    made = as_nested_tensor(parts, dtype, device, layout)
    return made.requires_grad_() if requires_grad else made


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Any:
    """A nested tensor of some tensors, through which gradients flow back to them; a nested tensor
    is converted.

    Args:
        ts: tensors as for :func:`nested_tensor`, or one tensor, whose first dimension is the batch.

    Raises:
        TypeError: something else. RuntimeError: as for `nested_tensor`.

    >>> import pellucid as torch
    >>> torch.nested.as_nested_tensor([torch.ones(2), torch.ones(3)]).size(0)
    2
    """
    kind = strided if layout is None else layout
    if kind is not strided and kind is not jagged:
        raise OperationError(f"Specified layout is unsupported for nested tensors: {layout}")
    if isinstance(ts, (NestedTensor, StridedNestedTensor)):
        same = isinstance(ts, NestedTensor) == (kind is jagged)
        return (
            (ts if dtype is None else ts.to(dtype))
            if same
            else as_nested_tensor(list(ts.unbind()), dtype, device, kind)
        )
    if not (is_plain(ts) or isinstance(ts, (list, tuple)) and all(is_plain(t) for t in ts)):
        raise ArgumentTypeError(
            "as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors "
        )
    parts = list(ts.unbind()) if isinstance(ts, Tensor) else list(ts)
    if dtype is not None or device is not None:
        parts = [t.to(device=device, dtype=dtype) for t in parts]
    if not parts:
        if kind is jagged:
            raise OperationError("Cannot construct a nested tensor from an empty tensor list")
        return StridedNestedTensor.make((), dtype or make_tensor(np.zeros(0, np.float32)).dtype)
    if kind is strided:
        parts = [t.to(parts[0].dtype) for t in parts]
    if len({t.dtype for t in parts}) > 1:
        raise OperationError(
            "When constructing a nested tensor, all tensors in list must have the same dtype"
        )
    odd = next((k for k, t in enumerate(parts) if t.ndim != parts[0].ndim), None)
    if odd is not None and kind is strided:
        raise OperationError(
            f"All Tensors given to nested_tensor must have the same dimension. Found dimension {parts[odd].ndim} for Tensor at index "
            f"{odd} and dimension {parts[0].ndim} for Tensor at index 0."
        )
    if odd is not None:
        raise OperationError(
            "When constructing a nested tensor, all tensors in list must have the same dim"
        )
    if kind is strided:
        return StridedNestedTensor.make(parts)
    if parts[0].ndim == 0:
        raise OperationError("Cannot construct a nested tensor from a list of zero-dim tensors")
    shapes = np.array([t._array.shape for t in parts])
    differ = np.flatnonzero((shapes != shapes[0]).any(0))
    if len(differ) > 1:
        raise OperationError(
            "The components of a nested tensor in the jagged layout may differ in the size of one dimension only, got shapes "
            f"{[tuple(s) for s in shapes.tolist()]}; layout=torch.strided takes them"
        )
    at = int(differ[0]) if len(differ) else 0
    offsets = make_tensor(np.concatenate([[0], np.cumsum(shapes[:, at])]).astype(np.int64))
    return NestedTensor.make(F.cat(*parts, dim=at), offsets, None, at + 1).measured()


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> NestedTensor:
    """The nested tensor whose components lie one after the other in packed values, which are
    shared.

    Args:
        values: `(..., sum of lengths, ...)`.
        offsets: int64 `(B + 1,)`, where each component starts, and the end. Tensors with the same
            `offsets` can be added.
        lengths: int64 `(B,)`; with `offsets`, the components may leave gaps between them.
        jagged_dim: which dimension of the result is ragged; 1 when left out.
        min_seqlen, max_seqlen: sizes of the shortest and the longest component, where they are
            known. They are believed: padding goes to `max_seqlen`, and cuts what is longer.

    Raises:
        RuntimeError: neither offsets nor lengths.

    >>> import pellucid as torch
    >>> x = torch.nested.nested_tensor_from_jagged(torch.arange(5.0), torch.tensor([0, 2, 5]))
    >>> x.to_padded_tensor(-1.0)
    tensor([[ 0.,  1., -1.],
            [ 2.,  3.,  4.]])
    """
    if offsets is None:
        if lengths is None:
            raise OperationError(
                "nested_tensor_from_jagged(): At least one of offsets or lengths is required."
            )
        offsets = make_tensor(np.concatenate([[0], np.cumsum(lengths._array)]).astype(np.int64))
        lengths = None
    at = 1 if jagged_dim is None else jagged_dim
    if not 1 <= at <= values._array.ndim:
        raise OperationError(
            f"nested_tensor_from_jagged(): jagged_dim {at} is no dimension of the components of {values.shape}"
        )
    ends = offsets._array[:-1] + lengths._array if lengths is not None else offsets._array
    if (
        offsets._array.ndim != 1
        or ends.max(initial=0) > values._array.shape[at - 1]
        or (np.diff(offsets._array) < 0).any()
    ):
        raise OperationError(
            f"nested_tensor_from_jagged(): offsets {offsets.tolist()} do not fit values of shape {tuple(values.shape)}"
        )
    return NestedTensor.make(values, offsets, lengths, at, min_seqlen, max_seqlen)


def narrow(tensor: Tensor, dim: int, start: Any, length: Any, layout: Any = strided) -> Any:
    """Pieces of the rows of a tensor as components, without a copy.

    Args:
        tensor: `(B, L, ...)`. dim: 1.
        start, length: one number for all rows, or int64 `(B,)` with the jagged layout.

    Raises:
        RuntimeError: another dimension, or tensors with the strided layout.

    >>> import pellucid as torch
    >>> x = torch.arange(6.0).view(2, 3)
    >>> rows = torch.nested.narrow(x, 1, 0, torch.tensor([1, 2]), layout=torch.jagged)
    >>> [row.tolist() for row in rows.unbind()]
    [[0.0], [3.0, 4.0]]
    """
    if layout is strided:
        if isinstance(start, Tensor) or isinstance(length, Tensor):
            raise OperationError("start and length must be integers for the strided layout NT impl")
        return StridedNestedTensor.make(tensor.narrow(dim, start, length).unbind())
    if layout is not jagged:
        raise OperationError(f"Specified layout is unsupported for nested narrow: {layout}")
    if dim != 1:
        raise OperationError("jagged layout only supports dim=1")
    batch, longest = tensor._array.shape[:2]
    starts, lengths = (
        np.broadcast_to(np.asarray(v._array if isinstance(v, Tensor) else v, np.int64), (batch,))
        for v in (start, length)
    )
    if (starts < 0).any() or (lengths < 0).any() or (starts + lengths > longest).any():
        raise OperationError(f"narrow(): start and length go beyond the {longest} entries of a row")
    values = tensor.contiguous().flatten(0, 1)
    first = np.arange(batch) * longest + starts
    last = [first[-1] + lengths[-1]] if batch else [0]
    return NestedTensor.make(
        values, make_tensor(np.concatenate([first, last])), make_tensor(lengths.copy())
    ).measured()


def masked_select(tensor: Tensor, mask: Tensor) -> NestedTensor:
    """The elements of each row that a mask keeps, `(B, j)`.

    Args:
        tensor: `(B, L)`. mask: bool, broadcast to the same shape.

    Raises:
        RuntimeError: a mask that is not bool, a nested tensor, or more than two dimensions.

    >>> import pellucid as torch
    >>> kept = torch.nested.masked_select(torch.arange(6).reshape(2, 3), torch.tensor([[True, False, True], [True, False, False]]))
    >>> kept.unbind()
    (tensor([0, 2]), tensor([3]))
    """
    if not is_plain(tensor):
        raise OperationError(
            "torch.nested.masked_select requires a strided tensor, got a nested one"
        )
    if mask._array.dtype.kind != "b":
        raise OperationError(f"torch.nested.masked_select requires a bool mask, got {mask.dtype}")
    values = plain("masked_select")(tensor, mask)
    kept = np.broadcast_to(mask._array, tensor._array.shape)
    if kept.ndim != 2:
        raise OperationError(
            f"torch.nested.masked_select takes tensors of 2 dimensions, got {kept.ndim}"
        )
    return NestedTensor.make(
        values, make_tensor(np.concatenate([[0], np.cumsum(kept.sum(1))]).astype(np.int64))
    )


def to_padded_tensor(input: Any, padding: float, output_size: Any = None) -> Tensor:
    """The components in one dense tensor `(B, L, ...)`, filled up with a number.

    Args:
        output_size: the result's shape, batch included; as large as the largest component when left
            out.

    Raises:
        TypeError: no nested tensor.

    >>> import pellucid as torch
    >>> x = torch.nested.nested_tensor([torch.ones(1), torch.ones(3)])
    >>> torch.nested.to_padded_tensor(x, 0.0)
    tensor([[1., 0., 0.],
            [1., 1., 1.]])
    """
    if not isinstance(input, (NestedTensor, StridedNestedTensor)):
        raise ArgumentTypeError("to_padded_tensor(): input must be a nested tensor")
    return input.to_padded_tensor(padding, output_size)
