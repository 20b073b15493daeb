"""Nested tensors in files: the functions and arguments that PyTorch writes for them, and nested
tensors made of what a file says. A file is not trusted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.modes import no_grad
from ..core.primitive import TENSORS as F
from ..core.tensor import Tensor, make_tensor
from ._jagged import NestedTensor
from ._strided import StridedNestedTensor

KINDS = (StridedNestedTensor, NestedTensor)
_OWN = {"_parts", "_empty", "_values", "_offsets", "_lengths", "_ragged_idx", "_known_sizes"}


def parts_of(t: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of PyTorch's rebuild function for the layout, and the user's attributes."""
    attributes = {name: value for name, value in vars(t).items() if name not in _OWN}
    if isinstance(t, NestedTensor):
        ends = zip(("min_seqlen", "max_seqlen"), t._known_sizes, strict=True)
        return (
            {
                "values": t._values.detach(),
                "offsets": t._offsets.detach(),
                "lengths": t._lengths,
                "_ragged_idx": t._ragged_idx,
                "_metadata_cache": {
                    name: make_tensor(np.empty((size, 0), np.float32))
                    for name, size in ends
                    if size is not None
                },
                "requires_grad": t.requires_grad,
            },
        ), attributes
    with no_grad():
        parts = [p.contiguous() for p in t._parts]
        buffer = (
            F.cat(*[p.reshape(-1) for p in parts], dim=0)
            if parts
            else make_tensor(np.empty(0, t.dtype.numpy))
        )
    if t.requires_grad:
        buffer.requires_grad_()
    sizes, strides = (
        np.array(rows, np.int64).reshape(len(parts), -1) if parts else np.empty(0, np.int64)
        for rows in ([p.shape for p in parts], [p.stride() for p in parts])
    )
    starts = np.cumsum([0, *[p.numel() for p in parts]])[:-1].astype(np.int64)
    return (buffer, *map(make_tensor, (sizes, strides, starts))), attributes


def _rows(t: Any, what: str, *ranks: int) -> np.ndarray:
    array: Any = t._array if type(t) is Tensor else None
    if (
        type(array) is not np.ndarray
        or array.dtype != np.int64
        or array.ndim not in ranks
        # one number may stand for as many as it likes, and rows of nothing cost nothing
        or not array.flags.c_contiguous
        or (array.ndim == 2 and not array.size and array.shape[0])
    ):
        raise RuntimeError(f"the {what} of a nested tensor must be a contiguous int64 tensor")
    return array


def rebuild_strided(buffer: Any, sizes: Any, strides: Any, starts: Any) -> StridedNestedTensor:
    """A nested tensor of components that lie within a row of elements."""
    if type(buffer) is not Tensor or type(buffer._array) is not np.ndarray or buffer.ndim != 1:
        raise RuntimeError("the elements of a nested tensor must be a tensor of one dimension")
    if not buffer.is_contiguous():
        raise RuntimeError("the elements of a nested tensor must be contiguous")
    extents, steps = _rows(sizes, "sizes", 1, 2), _rows(strides, "strides", 1, 2)
    begins = _rows(starts, "offsets", 1)
    if extents.ndim == 1 and not extents.size:
        extents = steps = np.empty((0, 0), np.int64)
    if extents.ndim != 2 or extents.shape != steps.shape or begins.shape != extents.shape[:1]:
        raise RuntimeError("sizes, strides and offsets of a nested tensor must have a row each")
    if not extents.size and begins.size:
        raise RuntimeError("the components of a nested tensor must have a dimension")
    made = []
    for size, step, begin in zip(extents.tolist(), steps.tolist(), begins.tolist(), strict=True):
        last = begin + sum((n - 1) * s for n, s in zip(size, step, strict=True)) + 1
        if min((*size, *step, begin)) < 0 or (0 not in size and last > buffer.shape[0]):
            raise RuntimeError(
                f"setStorage: sizes {size}, strides {step}, storage offset {begin} are out of bounds for a nested tensor of "
                f"{buffer.shape[0]} elements"
            )
        if 0 in size:
            begin = 0
        made.append(buffer.as_strided(size, step, begin))
    return StridedNestedTensor.make(made, buffer.dtype)


def rebuild_jagged(parts: Any) -> NestedTensor:
    """A nested tensor of packed values and the offsets of its components."""
    if type(parts) is not dict or not {"values", "offsets"} <= set(parts):
        raise TypeError("a nested tensor is made from a dict with its values and offsets")
    values, ragged, cache = (
        parts["values"],
        parts.get("_ragged_idx", 1),
        parts.get("_metadata_cache"),
    )
    if type(values) is not Tensor or type(values._array) is not np.ndarray:
        raise TypeError("the values of a nested tensor must be a tensor")
    begins = _rows(parts["offsets"], "offsets", 1)
    lengths = parts.get("lengths")
    rows = np.diff(begins) if lengths is None else _rows(lengths, "lengths", 1)
    if type(ragged) is not int or not 1 <= ragged <= values.ndim:
        raise RuntimeError("a nested tensor's ragged dimension must be one of its values'")
    if (
        not begins.size
        or rows.shape != (begins.size - 1,)
        or begins.min() < 0
        or (rows.size and (rows.min() < 0 or (begins[:-1] + rows).max() > values.shape[ragged - 1]))
        or begins.max() > values.shape[ragged - 1]
    ):
        raise RuntimeError("the components of a nested tensor must lie within its values")
    if cache is None:
        cache = {}
    if type(cache) is not dict or not all(
        type(t) is Tensor and t.ndim == 2 and t.shape[1] == 0 for t in cache.values()
    ):
        raise TypeError("the cache of a nested tensor must be a dict of tensors without elements")
    bounds = [cache[k].shape[0] if k in cache else None for k in ("min_seqlen", "max_seqlen")]
    longest = int(rows.max()) if rows.size else 0
    if bounds[0] is not None and rows.size and bounds[0] > rows.min():
        raise RuntimeError("the shortest component of a nested tensor is shorter than it says")
    if bounds[1] is not None and not longest <= bounds[1] <= values.shape[ragged - 1]:
        raise RuntimeError("the longest component of a nested tensor is not as long as it says")
    wanted = parts.get("requires_grad", False)
    if type(wanted) is not bool:
        raise RuntimeError("requires_grad must be a bool")
    made = NestedTensor.make(values.detach(), parts["offsets"], lengths, ragged, *bounds)
    return made.requires_grad_() if wanted else made
