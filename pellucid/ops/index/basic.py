"""Indexing: `x[...]`, `x[...] = value`, index_put.

Integers, slices, None and Ellipsis make a view, in one NumPy call; index tensors, lists and masks
are then applied to that view and copy. (NumPy applies all at once and therefore places the picked
dimensions differently beside integers; PyTorch's rule follows from the two steps.)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from types import EllipsisType
from typing import Any

import numpy as np
from numpy import ndarray

from ... import shapes
from ...backends.numpy_cpu import strided
from ...backends.scatter import add_at
from ...core import tracing
from ...core.bind import view_result
from ...core.inplace import bump, check_read, check_writable, write
from ...core.modes import local, state
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import FUNCTIONS, METHODS
from ...core.tensor import Parameter, Tensor, make_tensor
from ...core.tracing import constant
from ...errors import (
    ArgumentTypeError,
    ArgumentValueError,
    IndexOutOfRangeError,
    OperationError,
    ShapeError,
    outside,
)
from .._numbers import check_fitting, scalar_array
from .._rules import as_index, require_tensor
from .._samples import Sample, cases
from ..shape.parts import part_op, select_op, slice_op
from ..shape.view import alias_op, expand, legacy_type, reshape, unsqueeze
from .scatter import first_outside, wrote_expanded

BASIC = (int, slice, type(None), EllipsisType)
ALL = slice(None)


# ---- basic indexing: views -------------------------------------------------------------------
def _basic(xp: Any, x: Any, *, index: tuple[Any, ...]) -> Any:
    r = x[index]
    return _torch_strides(r) if None in index and type(r) is ndarray else r


def _torch_strides(r: ndarray) -> ndarray:
    """New dimensions get the stride of what lies to their right, where NumPy gives them 0."""
    if r.flags.c_contiguous:
        return r.reshape(-1).reshape(r.shape)
    steps, step = [], r.dtype.itemsize
    for size, own in zip(reversed(r.shape), reversed(r.strides), strict=True):
        if own == 0 and size == 1:
            own = step
        steps.append(own)
        step = own * size
    steps.reverse()
    return strided(r, r.shape, tuple(steps))


def _onnx_index_part(c: Any) -> Any:
    """Slices first, which keep the axes; then the numbers, from the last axis on; then the new
    axes.
    """
    index = list(c.p["index"])
    shape = c.shape()
    used = sum(1 for item in index if item is not None and item is not ...)
    if ... in index:
        at = index.index(...)
        index[at : at + 1] = [slice(None)] * (len(shape) - used)
    name, axis, chosen, new, place = c[0], 0, [], [], 0
    for item in index:
        if item is None:
            new.append(place)
            place += 1
            continue
        if isinstance(item, slice):
            start = 0 if item.start is None else item.start
            end = c.LAST if item.stop is None or item.stop == shape[axis] else item.stop
            step = 1 if item.step is None else item.step
            if (start, end, step) != (0, c.LAST, 1):
                name = c.cut(name, axis, start, end, step)
            place += 1
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            chosen.append((axis, c.const(np.array(item, np.int64))))
        elif c.is_size(item):
            chosen.append((axis, c.emit("Squeeze", c.ints([item]), c.ints([0]))))
        else:
            raise c.refuse(f"by a {type(item).__name__}")
        axis += 1
    for where, number in reversed(chosen):
        name = c.emit("Gather", name, number, axis=where)
    if new:
        name = c.emit("Unsqueeze", name, c.ints(new))
    return name if name != c[0] else c.emit("Identity", name)


def _basic_op(
    name: str, grad_name: str, index: tuple[Any, ...], onnx: Any = _onnx_index_part
) -> Any:
    return part_op(
        name,
        _basic,
        lambda F, g, index, input_shape: F.embed(
            g, shape=input_shape, op=name, how={"index": index}
        ),
        grad_name=grad_name,
        batch=lambda b: b.call(b[0], index=(slice(None), *b.p["index"])),
        onnx=onnx,
        title="index",
        traits="passes",
        samples=cases((((3, 4, 2),), {"index": index}), complex=True),
    )


# One operation under the name that PyTorch's graph shows, which is that of the last step.
_BY_LAST = {
    int: _basic_op("index_select_int", "Select", (..., slice(0, 1), 1)),
    slice: _basic_op("index_slice", "Slice", (2, slice(None, None, 2))),
    type(None): _basic_op("index_unsqueeze", "Unsqueeze", (slice(1, 3), None)),
    EllipsisType: _basic_op("index_alias", "Alias", (1, ...), onnx="Identity"),
}


def _getitem(self: Tensor, index: Any) -> Tensor:
    """`x[index]`: a view for integers, slices, None and Ellipsis; a copy for index tensors, lists
    and masks.
    """
    kind = type(index)
    own = type(self)
    if (own is Tensor or own is Parameter) and not state.slow:
        a = self._array
        if type(a) is ndarray:
            try:
                if kind is int:
                    return view_result(select_op, self, a[index, ...], {"dim": 0, "index": index})
                if kind is slice:
                    step = index.step
                    if step is None or (type(step) is int and step > 0):
                        return view_result(
                            slice_op,
                            self,
                            a[index],
                            {"dim": 0, "start": index.start, "end": index.stop, "step": step},
                        )
                elif kind is Tensor:
                    picks = index._array
                    if (
                        type(picks) is ndarray
                        and picks.ndim
                        and a.ndim
                        and (picks.dtype == np.int64 or picks.dtype.kind == "b")
                    ):
                        return index_op.call(self, index, spec=(True,))
                elif index is None:
                    return unsqueeze(self, 0)
                elif index is ...:
                    return alias_op.call(self)
                elif kind is tuple:
                    full, last, new = _tuple(index)
                    if full is not None:
                        r = a[full]
                        if new:
                            r = _torch_strides(r)
                        return view_result(_BY_LAST[type(last)], self, r, {"index": full})
            except (IndexError, TypeError):
                pass
    basic, spec, tensors = parse(require_tensor(self, "__getitem__"), index)
    view = _take_view(self, basic)
    if spec:
        return index_op.call(view, *tensors, spec=spec)
    return view if view is not self else alias_op.call(self)


def _tuple(index: tuple[Any, ...]) -> tuple[Any, Any, bool]:
    """A basic index with an Ellipsis (so that NumPy returns an array always), its last step, and
    whether it has a None.

    (None, None, False) when it is not basic.
    """
    dots = new = False
    last: Any = ...
    for item in index:
        kind = type(item)
        if kind is int:
            last = item
        elif item is None:
            last = item
            new = True
        elif kind is slice:
            step = item.step
            if step is not None and not (type(step) is int and step > 0):
                return None, None, False
            if item != ALL or last is ...:
                last = item
        elif item is ...:
            if dots:
                return None, None, False
            dots = True
        else:
            return None, None, False
    return (index if dots else (*index, ...)), last, new


def _take_view(x: Tensor, basic: tuple[Any, ...]) -> Tensor:
    """The view that integers, slices and None make; `x` itself when there is nothing but full
    slices.
    """
    if all(item == ALL if isinstance(item, slice) else item is ... for item in basic):
        return x
    last = [item for item in basic if item is not ...]
    chosen = next((item for item in reversed(last) if item != ALL), ALL)
    return _BY_LAST[type(chosen)].call(x, index=basic)


# ---- reading an index ------------------------------------------------------------------------
def _as_tuple(index: Any) -> tuple[Any, ...]:
    """PyTorch's reading of a list as a tuple of indices: when it holds sequences, tensors, slices,
    None or Ellipsis.
    """
    if isinstance(index, tuple):
        return index
    if (
        isinstance(index, (Tensor, ndarray))
        or not isinstance(index, Sequence)
        or isinstance(index, (str, bytes))
    ):
        return (index,)
    if len(index) < 32 and any(
        isinstance(item, (Tensor, ndarray, slice, Sequence)) or item is None or item is ...
        for item in index
    ):
        return tuple(index)
    return (index,)


def _index_tensor(item: Any) -> Tensor:
    """An index tensor of a list, array or tensor."""
    if isinstance(item, Tensor):
        tensor = item
    elif isinstance(item, ndarray):
        tensor = make_tensor(item)
    elif isinstance(item, Sequence):
        tensor = FUNCTIONS["torch"]["tensor"](list(item) if not isinstance(item, str) else item)
        if tensor._array.size == 0 and tensor._array.dtype.kind == "f":
            tensor = make_tensor(constant(np.empty(tensor._array.shape, np.int64)))
    else:
        raise IndexOutOfRangeError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
            f"{type(item).__name__})"
        )
    return checked_index(tensor)


def checked_index(tensor: Tensor) -> Tensor:
    """The index tensor, bytes as a mask."""
    kind = tensor._array.dtype
    if kind.kind == "b" or kind == np.int64 or kind == np.int32:
        return tensor
    if kind == np.uint8:
        from warnings import warn

        text = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."
        warn(text, UserWarning, stacklevel=outside())
        return F.cast(tensor, dtype=np.dtype(bool))
    raise IndexOutOfRangeError("tensors used as indices must be long, int, byte or bool tensors")


def _consumed(item: Any) -> int:
    """How many dimensions of the indexed tensor an item takes."""
    if item is None or item is ... or isinstance(item, (bool, np.bool_)):
        return 0
    if (
        isinstance(item, Tensor)
        and item._array.dtype.kind in "b"
        or isinstance(item, Tensor)
        and item._array.dtype == np.uint8
    ):
        return item._array.ndim
    return 1


def parse(x: Tensor, index: Any) -> tuple[tuple[Any, ...], tuple[bool, ...], list[Tensor]]:
    """An index as (basic NumPy index, which dimensions of that view have an index tensor, the
    tensors).
    """
    shape = x._array.shape
    items = []
    for item in _as_tuple(index):
        kind = type(item)
        if kind not in BASIC and kind is not bool and not isinstance(item, (np.bool_, slice)):
            if (
                isinstance(item, Tensor)
                and not item._array.ndim
                and item._array.dtype.kind in "iu"
                and item._array.dtype != np.uint8
            ):
                # Mapped by `vmap`, it is a number per sample and stays a tensor.
                item = item if type(item)._interpreter is not None else int(item)
            elif (
                not isinstance(item, Tensor)
                and hasattr(item, "__index__")
                and not isinstance(item, ndarray)
            ):
                item = as_index(item)
            elif isinstance(item, ndarray) and not item.ndim and item.dtype.kind in "iu":
                item = int(item)
            else:
                item = _index_tensor(item)
        items.append(item)
    if not shape and len(items) == 1:
        if isinstance(items[0], int) and not isinstance(items[0], bool):
            raise IndexOutOfRangeError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
                "tensor to a number"
            )
        if isinstance(items[0], slice):
            raise IndexOutOfRangeError("slice() cannot be applied to a 0-dim tensor.")
    taken = sum(_consumed(item) for item in items)
    if taken > len(shape):
        raise IndexOutOfRangeError(
            f"too many indices for tensor of dimension {len(shape)}",
            op="index",
            found=f"{taken} indices for sizes {list(shape)}",
        )
    basic: list[Any] = []
    spec: list[bool] = []
    tensors: list[Tensor] = []
    dim = 0
    dots = False
    for item in items:
        if item is None:
            basic.append(None)
            spec.append(False)
        elif item is ...:
            if not dots:
                free = len(shape) - taken
                basic += [ALL] * free
                spec += [False] * free
                dim += free
                dots = True
        elif (
            isinstance(item, (bool, np.bool_))
            or isinstance(item, Tensor)
            and not item._array.ndim
            and item._array.dtype.kind == "b"
        ):
            basic.append(None)
            spec.append(True)
            tensors.append(make_tensor(constant(np.zeros(1 if bool(item) else 0, np.int64))))
        elif isinstance(item, int):
            basic.append(shapes.index_position(item, shape, dim))
            dim += 1
        elif isinstance(item, slice):
            try:
                start, length, step = shapes.slice_range(item, shape[dim])
            except TypeError:
                raise ArgumentTypeError(
                    "slice indices must be integers or None or have an __index__ method"
                ) from None
            whole = start == 0 and length == shape[dim] and step == 1
            basic.append(
                ALL
                if whole
                else slice(start, start + (length - 1) * step + 1 if length else start, step)
            )
            spec.append(False)
            dim += 1
        else:
            wide = _consumed(item)
            if item._array.dtype.kind == "b":
                _check_mask(item._array.shape, shape, dim)
            basic += [ALL] * wide
            spec.append(True)
            tensors.append(item)
            dim += wide
    while spec and not spec[-1]:
        spec.pop()
    return (*basic, ...), tuple(spec), tensors


def _check_mask(mask: tuple[int, ...], shape: tuple[int, ...], dim: int) -> None:
    for k, size in enumerate(mask):
        if size != shape[dim + k]:
            raise IndexOutOfRangeError(
                f"The shape of the mask {shapes.text(mask)} at index {k} does not match the shape of the indexed tensor "
                f"{shapes.text(shape)} at index {dim + k}"
            )


# ---- index tensors ---------------------------------------------------------------------------
def numpy_index(indices: Sequence[Any], spec: Sequence[bool]) -> tuple[Any, ...]:
    """The NumPy index of index arrays and full slices."""
    arrays = iter(indices)
    return tuple([next(arrays) if here else ALL for here in spec])


def _index(xp: Any, x: Any, *indices: Any, spec: tuple[bool, ...]) -> Any:
    if len(indices) == 1 and type(x) is ndarray:
        only = indices[0]
        if only.dtype.kind == "i" and x.flags.c_contiguous:
            return x.take(only, axis=len(spec) - 1)
    r = x[numpy_index(indices, spec)]
    return r if type(r) is not ndarray or r.flags.c_contiguous else xp.ascontiguousarray(r)


def _check_index(x: Any, *indices: Any, spec: tuple[bool, ...], **_: Any) -> None:
    """PyTorch's errors for index arrays that do not fit."""
    if type(x) is not ndarray:
        return
    dim, picked = 0, []
    # PyTorch's message counts the index tensors, not the dimensions.
    for item in numpy_index(indices, spec):
        if isinstance(item, slice):
            dim += 1
        elif item.dtype.kind == "b":
            if dim + item.ndim > x.ndim:
                raise IndexOutOfRangeError(f"too many indices for tensor of dimension {x.ndim}")
            _check_mask(item.shape, x.shape, dim)
            picked.append((int(np.count_nonzero(item)),))
            dim += item.ndim
        else:
            if dim >= x.ndim:
                raise IndexOutOfRangeError(f"too many indices for tensor of dimension {x.ndim}")
            size = x.shape[dim]
            if item.size:
                low, high = int(item.min()), int(item.max())
                if low < -size or high >= size:
                    raise IndexOutOfRangeError(
                        f"index {first_outside(item, -size, size)} is out of bounds for dimension {len(picked)} with size {size}",
                        found=f"sizes {list(x.shape)}, indexed in dimension {dim}",
                    )
            picked.append(item.shape)
            dim += 1
    try:
        np.broadcast_shapes(*picked)
    except ValueError:
        raise IndexOutOfRangeError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {', '.join(map(shapes.text, picked))}"
        ) from None


def _index_grad(
    xp: Any, g: Any, *indices: Any, spec: tuple[bool, ...], shape: tuple[int, ...]
) -> Any:
    out = xp.zeros(shape, g.dtype)
    add_at(out, numpy_index(indices, spec), g)
    return out


def _front(spec: Sequence[bool]) -> int:
    """Where NumPy puts the dimensions that index tensors pick: at the first of them, in front of
    all if they stand apart.
    """
    if True not in spec:
        return 0
    first, last = spec.index(True), len(spec) - 1 - spec[::-1].index(True)
    return first if all(spec[first : last + 1]) else 0


def _batch_index(b: Any) -> Any:
    """Index tensors, batched or not; one without dimensions takes its dimension away, as a number
    would.
    """
    spec, (x, *indices), flags = b.p["spec"], b.values, b.flags
    if any(i._array.dtype.kind == "b" for i in indices):
        return None
    ranks = [i._array.ndim - f for i, f in zip(indices, flags[1:], strict=True)]
    picked, own = max(ranks), any(flags[1:])
    if own:
        # Dimensions of size 1 after the batch's, so that all batched indices have as many.
        indices = [
            b.F.reshape(i, shape=(b.size, *(1,) * (picked - n), *i._array.shape[1:])) if f else i
            for i, n, f in zip(indices, ranks, flags[1:], strict=True)
        ]
    places = iter(ranks)
    target = _front([here for here in spec if not here or next(places)])
    if flags[0]:
        # Samples and their own indices go together: the number of the sample is one more index.
        count = make_tensor(np.arange(b.size).reshape(b.size, *(1,) * picked))
        spec, indices = (own, *spec), [count, *indices] if own else indices
    r = b.call(x, *indices, spec=spec)
    at = _front(spec)
    block = list(range(at, at + picked + own))
    rest = [d for d in range(r._array.ndim) if d not in block]
    batch = [(block if own else rest).pop(0)]
    order = (*batch, *rest[:target], *block, *rest[target:])
    return r if order == tuple(range(len(order))) else b.F.permute(r, dims=order)


def _onnx_index(c: Any) -> Any:
    """The indexed axes are brought to the front for GatherND, and the result's to where NumPy puts
    them.
    """
    axes = [k for k, here in enumerate(c.p["spec"]) if here]
    indices = [c[k + 1] for k in range(len(axes))]
    masks = [
        k for k, x in enumerate(c.step.inputs[1:]) if c.graph.trace.dtypes[x.value].kind == "b"
    ]
    if masks:
        if len(axes) > 1 or len(c.shape(1)) != 1:
            raise c.refuse("by a mask of several dimensions")
        indices = [c.const(np.flatnonzero(c.array(c.step.inputs[1])))]
    if len(axes) == 1:
        return c.emit("Gather", c[0], indices[0], axis=axes[0])
    rank, broad = len(c.shape()), max(len(c.shape(k + 1)) for k in range(len(axes)))
    rest = [k for k in range(rank) if k not in axes]
    front = (
        c.emit("Transpose", c[0], perm=axes + rest) if axes + rest != list(range(rank)) else c[0]
    )
    # Added to zeros of all their shapes, indices of different shapes come to the common one.
    zero = indices[0]
    for name in indices[1:]:
        zero = c.emit("Add", zero, name)
    zero = c.emit("Mul", zero, c.const(np.array(0)))
    columns = [c.emit("Unsqueeze", c.emit("Add", name, zero), c.ints([-1])) for name in indices]
    out = c.emit("GatherND", front, c.emit("Concat", *columns, axis=-1))
    if axes[0] == 0 or axes != list(range(axes[0], axes[0] + len(axes))):
        return out
    total = broad + len(rest)
    moved = (
        list(range(broad, broad + axes[0]))
        + list(range(broad))
        + list(range(broad + axes[0], total))
    )
    return c.emit("Transpose", out, perm=moved)


index_op = defop(
    "index",
    "input *indices",
    forward=_index,
    check=_check_index,
    vjp=lambda F, g, indices, input_shape, spec, needs: (
        F.index_grad(g, *indices, spec=spec, shape=input_shape),
        *[None] * len(indices),
    ),
    batch=_batch_index,
    traits="passes",
    onnx=_onnx_index,
    variant=lambda n: ("IndexBackward0", (0,)),
    samples=cases(
        (((4, 3),), {"spec": (True,)}),
        make=lambda x: (x, np.array([[2, 0, 2], [1, -1, 3]])),
        extra=[
            Sample(
                (np.arange(24.0).reshape(2, 3, 4), np.array([1, 0]), np.array([2, -1])),
                {"spec": (True, False, True)},
            ),
            Sample(
                (np.arange(6.0).reshape(2, 3), np.zeros((0,), np.int64)), {"spec": (False, True)}
            ),
        ],
    ),
)

index_grad_op = defop(
    "index_grad",
    "input *indices",
    forward=_index_grad,
    aval=lambda g, *indices, spec, shape: (shape, g[1]),
    vjp=lambda F, g, indices, spec, needs: (
        F.index(g, *indices, spec=spec),
        *[None] * len(indices),
    ),
    variant=lambda n: ("IndexGradBackward0", (0,)),
    host=True,
    samples=cases(
        (((2, 3, 3),), {"spec": (True,), "shape": (4, 3)}),
        make=lambda g: (g, np.array([[2, 0, 2], [1, -1, 3]])),
        extra=[
            Sample(
                (np.arange(6.0).reshape(2, 3), np.array([1, 0]), np.array([2, -1])),
                {"spec": (True, False, True), "shape": (2, 3, 4)},
            )
        ],
    ),
)


# ---- writing ---------------------------------------------------------------------------------
def _put_into(
    xp: Any, out: Any, values: Any, *indices: Any, spec: tuple[bool, ...], accumulate: bool
) -> None:
    index = numpy_index(indices, spec)
    if not accumulate:
        out[index] = values
    elif out.dtype.kind == "b":
        xp.logical_or.at(out, index, values)
    else:
        add_at(out, index, values)


def _index_put(
    xp: Any, x: Any, values: Any, *indices: Any, spec: tuple[bool, ...], accumulate: bool
) -> Any:
    out = xp.copy(x)
    _put_into(xp, out, values, *indices, spec=spec, accumulate=accumulate)
    return out


def _check_put(
    x: Any, values: Any, *indices: Any, spec: tuple[bool, ...], accumulate: bool = False
) -> None:
    _check_index(x, *indices, spec=spec)
    if type(x) is ndarray:
        _check_put_shape(x, values, indices, spec)
    if x.dtype != values.dtype:
        raise OperationError(
            "Index put requires the source and destination dtypes match, got "
            f"{_scalar_name(x)} for the destination and {_scalar_name(values)} for the source."
        )


def _check_put_shape(x: Any, values: Any, indices: Sequence[Any], spec: tuple[bool, ...]) -> None:
    phantom = (
        strided(np.empty(1, np.uint8), x.shape, (0,) * x.ndim)
        if x.size
        else np.empty(x.shape, np.uint8)
    )
    shape = phantom[numpy_index(indices, spec)].shape if values.ndim else ()
    own = values.shape
    if len(own) > len(shape) or any(
        a not in (1, b) for a, b in zip(reversed(own), reversed(shape), strict=False)
    ):
        raise ShapeError(
            f"shape mismatch: value tensor of shape {shapes.text(own)} cannot be broadcast to indexing result of shape {shapes.text(shape)}"
        )


def _check_fits(x: Any, values: Any, indices: Sequence[Any], spec: tuple[bool, ...]) -> None:
    _check_put(x, values, *indices, spec=spec)


def _scalar_name(array: Any) -> str:
    from ...dtypes import BY_NUMPY

    return BY_NUMPY[array.dtype].scalar_type_name


def _put_grad(
    F: Any,
    g: Any,
    indices: Any,
    spec: Any,
    accumulate: bool,
    values_shape: Any,
    values_dtype: Any,
    needs: Any,
) -> Any:
    base = None
    if needs[0]:
        base = (
            g
            if accumulate
            else F.index_put(
                g,
                F.full(shape=(), value=0, dtype=values_dtype),
                *indices,
                spec=spec,
                accumulate=False,
            )
        )
    part = F.sum_to(F.index(g, *indices, spec=spec), shape=values_shape) if needs[1] else None
    return (base, part, *[None] * len(indices))


def _onnx_index_put(c: Any) -> Any:
    """One value put where a mask is true; other forms have no translation."""
    whole = (
        len(c) == 3
        and c.shape(2) == c.shape(0)
        and c.graph.trace.dtypes[c.step.inputs[2].value].kind == "b"
    )
    if not whole or c.p["accumulate"] or any(n != 1 for n in c.shape(1)):
        raise c.refuse("other than one value under a mask")
    return c.emit("Where", c[2], c.emit("Reshape", c[1], c.const(np.zeros(0, np.int64))), c[0])


index_put_op = defop(
    "index_put",
    "input values *indices",
    forward=_index_put,
    inplace=_put_into,
    check=_check_put,
    aval=lambda x, *rest, spec, accumulate: x,
    vjp=_put_grad,
    onnx=_onnx_index_put,
    variant=lambda n: ("IndexPutBackward0", (0, 1)),
    host=True,
    samples=lambda rng: [
        Sample(
            (rng.random((4, 3)), rng.random((2, 3)), np.array([2, 0])),
            {"spec": (True,), "accumulate": False},
        ),
        Sample(
            (rng.random((4, 3)), rng.random((3, 1)), np.array([2, 0, 2])),
            {"spec": (True,), "accumulate": True},
        ),
        Sample(
            (rng.random((2, 3)), np.asarray(rng.random()), np.array([1]), np.array([-1])),
            {"spec": (True, True), "accumulate": False},
        ),
    ],
)


def _setitem(self: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`."""
    own, kind = type(self), type(value)
    if (own is Tensor or own is Parameter) and not state.slow and self._x is None:
        plain = kind is Tensor or kind is Parameter
        graph = local.grad and (
            self._rg or plain and value._rg or self._view is not None and self._view.kind != "grad"
        )
        if (plain or kind is float or kind is int or kind is bool) and not graph:
            a = self._array
            target = _target(index)
            if type(target) is ndarray and not target.size:
                target = None  # NumPy takes a mask of no elements for any shape
            if (
                target is not None
                and type(a) is ndarray
                and a.flags.writeable
                and 0 not in a.strides
            ):
                source = value._array if plain else value
                one = plain and (
                    value is self or value._ver is not None and value._ver is self._ver
                )
                if one and np.may_share_memory(a, source):
                    # Parts of the same memory: NumPy would write the right thing, PyTorch refuses
                    # when they meet.
                    if type(target) is ndarray or np.may_share_memory(a[target], source):
                        return _set_slowly(self, index, value)
                if (not plain and _held(value, kind, a.dtype)) or (
                    plain
                    and type(source) is ndarray
                    and (
                        source.dtype is a.dtype
                        or (type(target) is not ndarray and source.dtype.kind != "c")
                    )
                ):
                    try:
                        a[target] = source
                    except (IndexError, ValueError, TypeError, OverflowError):
                        pass
                    else:
                        bump(self, "__setitem__")
                        return
    _set_slowly(self, index, value)


def _held(value: Any, kind: Any, dtype: Any) -> bool:
    """Whether NumPy writes a plain number into an array as PyTorch does, and refuses it where
    PyTorch refuses it.
    """
    if kind is bool or dtype.kind in "iub":
        return kind is bool or kind is int and -(1 << 63) <= value < 1 << 63
    return -65504 <= value <= 65504 or (
        dtype.char in "df" and (-3.4e38 < value < 3.4e38 or not isfinite(value))
    )


def _target(index: Any) -> Any:
    """The NumPy index of a simple index: basic, or one index tensor or mask; None when it is not
    simple.
    """
    kind = type(index)
    if kind is int:
        return index
    if kind is slice:
        step = index.step
        return index if step is None or (type(step) is int and step > 0) else None
    if kind is tuple:
        return _tuple(index)[0]
    if kind is Tensor:
        a = index._array
        if type(a) is ndarray and (a.dtype == np.int64 or a.dtype.kind == "b") and a.ndim:
            return a
    return None


def _set_slowly(x: Tensor, index: Any, value: Any) -> None:
    if index is False:
        return
    basic, spec, tensors = parse(x, index)
    if not isinstance(value, Tensor):
        value = _scalar(x, value)
    else:
        value = _without_leading_ones(value)
    if not spec:
        view = _BY_LAST[slice].call(x, index=basic)
        shape = view._array.shape
        own = value._array.shape
        if own != shape:
            value = expand(value, shape)
        check_read(view, (value,))
        view.copy_(value)
        return
    part = _take_view(x, basic)
    if value._array.dtype != x._array.dtype:
        if value._array.size != 1 or len(tensors) != 1 or tensors[0]._array.dtype.kind != "b":
            _check_put(part._array, value._array, *[index._array for index in tensors], spec=spec)
        tracing.check(check_fitting, value._array, x._array.dtype)
        value = F.cast(value, dtype=x._array.dtype)
    put_(part, tensors, spec, value, False, "index_put_")


def _scalar(x: Tensor, value: Any) -> Tensor:
    """A number as a 0-d tensor of the dtype of `x`."""
    if not isinstance(value, (bool, int, float, complex, np.number, np.bool_)):
        raise ArgumentTypeError(f"can't assign a {type(value).__name__} to a {legacy_type(x)}")
    if type(value) is int and not -(1 << 63) <= value < 1 << 63:
        raise ArgumentValueError("Overflow when unpacking long long")
    return make_tensor(scalar_array(value, x._array.dtype))


def _without_leading_ones(value: Tensor) -> Tensor:
    shape = value._array.shape
    k = 0
    while k < len(shape) and shape[k] == 1:
        k += 1
    if not k:
        return value
    return reshape(value, shape[k:])


def put_(
    x: Tensor,
    tensors: Sequence[Tensor],
    spec: tuple[bool, ...],
    values: Tensor,
    accumulate: bool,
    name: str,
) -> Tensor:
    """`index_put` into the tensor itself."""
    a = x._array
    check_writable(x, name)
    tracing.check(_check_fits, a, values._array, [t._array for t in tensors], spec)
    # the one value of a fill is read once, before anything is written
    if name != "masked_scatter_" and values._array.ndim:
        check_read(x, (values, *tensors), exact=True)
    if type(a) is ndarray and np.may_share_memory(a, values._array):
        values = F.clone(values)
    if name == "index_put_" and not accumulate:
        example = "tensor[indices] = tensor"
        if wrote_expanded(
            x,
            name,
            index_put_op,
            (values, *tensors),
            {"spec": spec, "accumulate": accumulate},
            example,
        ):
            return x
    return write(
        x, name, index_put_op, (values, *tensors), {"spec": spec, "accumulate": accumulate}
    )


METHODS["__getitem__"] = _getitem
METHODS["__setitem__"] = _setitem


def _arguments(
    x: Tensor, indices: Any, values: Any, name: str
) -> tuple[tuple[bool, ...], list[Tensor], Tensor]:
    require_tensor(x, name)
    if not isinstance(indices, (tuple, list)):
        raise ArgumentTypeError(
            f"{name}(): argument 'indices' (position 1) must be tuple of Tensors, not {type(indices).__name__}"
        )
    if not isinstance(values, Tensor):
        raise ArgumentTypeError(
            f"{name}(): argument 'values' (position 2) must be Tensor, not {type(values).__name__}"
        )
    tensors, spec = [], []
    for item in indices:
        spec.append(item is not None)
        if item is not None:
            tensors.append(checked_index(require_tensor(item, name, "indices", 2)))
    if len(spec) > x._array.ndim:
        raise IndexOutOfRangeError(
            f"too many indices for tensor of dimension {x._array.ndim} (got {len(spec)})"
        )
    if (
        values._array.dtype != x._array.dtype
        and values._array.size == 1
        and [t._array.dtype.kind for t in tensors] == ["b"]
    ):
        tracing.check(check_fitting, values._array, x._array.dtype)
        # one value under a mask is a fill, which converts
        values = F.cast(values, dtype=x._array.dtype)
    return tuple(spec), tensors, values


def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with `values` put at the places that the index tensors pick.

    Args:
        indices: index tensors or masks, one for each leading dimension (None: all positions).
        values: same dtype as `input`; broadcasts to the shape of `input[indices]`.
        accumulate: add instead of replacing; places that repeat are counted each time.

    >>> import pellucid as torch
    >>> torch.index_put(torch.zeros(3), (torch.tensor([0, 2]),), torch.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    spec, tensors, values = _arguments(input, indices, values, "index_put_")
    if type(input._array) is ndarray:
        tracing.check(_check_fits, input._array, values._array, [t._array for t in tensors], spec)
    return index_put_op.call(input, values, *tensors, spec=spec, accumulate=accumulate)


def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Put `values` at the places that the index tensors pick; see :func:`index_put`."""
    spec, tensors, values = _arguments(self, indices, values, "index_put_")
    return put_(self, tensors, spec, values, accumulate, "index_put_")


FUNCTIONS["torch"]["index_put"] = METHODS["index_put"] = index_put
FUNCTIONS["torch"]["index_put_"] = METHODS["index_put_"] = index_put_
