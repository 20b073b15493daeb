"""Indexing: `x[...]`.

Integers, slices, None and Ellipsis make a view, in one NumPy call; index tensors, lists and masks
are then applied to that view and copy. (NumPy applies all at once and therefore places the picked
dimensions differently beside integers; PyTorch's rule follows from the two steps.)
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import EllipsisType
from typing import Any

import numpy as np
from numpy import ndarray

from ... import shapes
from ...arrays.numpy_cpu import strided
from ...arrays.scatter import add_at
from ...core import bind
from ...core.bind import wrap
from ...core.callers import make_recorder
from ...core.modes import local, state
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import FUNCTIONS, METHODS
from ...core.tape import value_at
from ...core.tensor import Parameter, Tensor, make_tensor
from ...core.tracing import constant
from ...core.transforms.arranging import become, node_before
from ...errors import ArgumentTypeError, IndexOutOfRangeError, type_name, warn
from .._rules import as_index
from .._samples import Sample, cases
from ..shape.parts import part_op, select_op, slice_op
from ..shape.squeeze import unsqueeze
from ..shape.view import alias_op
from ._bounds import first_outside

BASIC = (int, slice, type(None), EllipsisType)

ALL = slice(None)


# ---- basic indexing: views -------------------------------------------------------------------
def taken_over(name: str, x: Tensor, index: Any, *value: Any) -> Any:
    """What a class that takes functions over and is no Tensor makes of an index that it is in.

    `api.overriding` puts another function here once there are such classes.
    """
    return NotImplemented


def _basic(xp: Any, x: Any, *, index: tuple[Any, ...]) -> Any:
    r = x[index]
    return _torch_strides(r) if None in index and isinstance(r, ndarray) else r


def _torch_strides(r: ndarray) -> ndarray:
    """Return the view with PyTorch's strides: a new dimension has the stride of what lies to its
    right, where NumPy has 0.
    """
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
    """Translate to ONNX: slices first, as they keep the axes, then the numbers from the last axis
    on, then the new axes.
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


def _nodes(node: Any) -> tuple[Any, ...]:
    """Return PyTorch's nodes: one for each step, from the left. Whole slices have none."""
    edge, place = node.inputs[0], 1.0
    shape = list(value_at(edge)[0])
    rest = list(node.params["index"])
    steps: list[tuple[str, list[int], dict[str, Any]]] = []
    dim = 0
    while rest:
        one = rest.pop(0)
        if one is Ellipsis:
            dim = len(shape) - sum(r is not None for r in rest)
        elif one is None:
            shape.insert(dim, 1)
            steps.append(("unsqueeze", list(shape), {"dim": dim}))
            dim += 1
        elif isinstance(one, slice):
            start, end, step = one.indices(shape[dim])
            size = len(range(start, end, step))
            if (start, size) != (0, shape[dim]):
                shape[dim] = size
                steps.append(
                    ("slice", list(shape), {"dim": dim, "start": start, "end": end, "step": step})
                )
            dim += 1
        else:
            index = int(one) % shape.pop(dim)
            steps.append(("select", list(shape), {"dim": dim, "index": index}))
    if len(steps) > 1 and tuple(shape) == node.shape:
        for name, sizes, params in steps[:-1]:
            place /= 2
            edge = node_before(node, name, edge, tuple(sizes), place / 2, **params)
        name, _, params = steps[-1]
        become(node, name, (edge,), node.shape, node.dtype, **params)
    return (node,)


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
        nodes=_nodes,
        batch=lambda b: b.call(b[0], index=(slice(None), *b.p["index"])),
        onnx=onnx,
        title="index",
        traits="passes",
        samples=cases((((3, 4, 2),), {"index": index}), complex=True),
    )


# the same operation under the names of PyTorch's graph, which depend on the last step
BY_LAST = {
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
                    return bind.view_result(
                        select_op, self, a[index, ...], {"dim": 0, "index": index}
                    )
                if kind is slice:
                    step = index.step
                    if step is None or (type(step) is int and step > 0):
                        return bind.view_result(
                            slice_op,
                            self,
                            a[index],
                            {"dim": 0, "start": index.start, "end": index.stop, "step": step},
                        )
                elif kind is Tensor:
                    picks = index._array
                    if type(picks) is ndarray and not picks.ndim and picks.dtype.char == "l":
                        at = picks.item()
                        return bind.view_result(
                            BY_LAST[int], self, a[at, ...], {"index": (at, ...)}
                        )
                    if (
                        type(picks) is ndarray
                        and picks.ndim
                        and a.ndim
                        and (picks.dtype == np.int64 or picks.dtype.kind == "b")
                    ):
                        if picks.dtype.kind == "b" and picks.shape == a.shape[: picks.ndim]:
                            rows = picks.ndim == 1 < a.ndim and a.flags.c_contiguous
                            picked = a.compress(picks, 0) if rows else a[picks]
                            return _masked(self, index, picked)
                        return index_op.call(self, index, spec=(True,))
                elif index is None:
                    return unsqueeze(self, 0)
                elif index is ...:
                    return alias_op.call(self)
                elif kind is tuple:
                    if _are_positions(index, a.ndim):
                        return index_op.call(self, *index, spec=_EACH[len(index)])
                    full, last, new = basic_tuple(index)
                    if full is not None:
                        r = a[full]
                        if new:
                            r = _torch_strides(r)
                        return bind.view_result(BY_LAST[type(last)], self, r, {"index": full})
            except (IndexError, TypeError):
                pass
    if not isinstance(self, Tensor):
        raise TypeError(
            f"descriptor '__getitem__' requires a 'torch._C.TensorBase' object but received a '{own.__name__}'"
        )
    if (answer := taken_over("__getitem__", self, index)) is not NotImplemented:
        return answer
    basic, spec, tensors = parse(self, index)
    view = take_view(self, basic)
    if spec:
        return index_op.call(view, *tensors, spec=spec)
    return view if view is not self else alias_op.call(self)


_EACH = tuple([(True,) * k for k in range(9)])


def _are_positions(index: tuple[Any, ...], ndim: int) -> bool:
    """Return whether an index consists of plain int64 tensors, at most one for each dimension."""
    if not 0 < len(index) <= min(ndim, 8):
        return False
    for item in index:
        if type(item) is not Tensor:
            return False
        a = item._array
        if type(a) is not ndarray or a.dtype != np.int64 or not a.ndim:
            return False
    return True


def _masked(x: Tensor, mask: Tensor, picked: ndarray) -> Tensor:
    """Return the elements that a mask of the first dimensions picked of a plain tensor, as a result
    of the operation: recorded if a gradient is wanted.
    """
    if not picked.flags.c_contiguous:
        picked = np.ascontiguousarray(picked)
    if not (x._rg and local.grad):
        return wrap(picked)
    return _record_masked()(x, mask, picked, {"spec": (True,)})


@functools.cache
def _record_masked() -> Any:
    return make_recorder(index_op, (True, False))


def basic_tuple(index: tuple[Any, ...]) -> tuple[Any, Any, bool]:
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


def take_view(x: Tensor, basic: tuple[Any, ...]) -> Tensor:
    """The view that integers, slices and None make; `x` itself when there is nothing but full
    slices.
    """
    if all(item == ALL if isinstance(item, slice) else item is ... for item in basic):
        return x
    last = [item for item in basic if item is not ...]
    chosen = next((item for item in reversed(last) if item != ALL), ALL)
    return BY_LAST[type(chosen)].call(x, index=basic)


# ---- reading an index ------------------------------------------------------------------------
def _as_tuple(index: Any) -> tuple[Any, ...]:
    """Return the index as a tuple. As in PyTorch, a list counts as a tuple if it holds sequences,
    tensors, slices, None or Ellipsis.
    """
    if isinstance(index, tuple):
        return index
    if isinstance(index, (Tensor, ndarray)) or not isinstance(index, Sequence):
        return (index,)
    if len(index) < 32 and any(
        isinstance(item, (Tensor, ndarray, slice, Sequence)) or item is None or item is ...
        for item in index
    ):
        warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use x[tuple(seq)] "
            "instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], which will result either "
            "in an error or a different result",
            UserWarning,
        )
        return tuple(index)
    return (index,)


def _index_tensor(item: Any) -> Tensor:
    """Return a list, an array or a tensor as an index tensor."""
    if isinstance(item, Tensor):
        tensor = item
    elif isinstance(item, ndarray):
        tensor = FUNCTIONS["torch"]["from_numpy"](item)
        if item.dtype.kind in "iufc" and item.dtype != np.uint8:  # read as a list of positions
            tensor = F.cast(tensor, dtype=np.dtype(np.int64))
    elif isinstance(item, Sequence):
        tensor = FUNCTIONS["torch"]["tensor"](list(item) if not isinstance(item, str) else item)
        if tensor._array.size == 0 and tensor._array.dtype.kind == "f":
            tensor = make_tensor(constant(np.empty(tensor._array.shape, np.int64)))
    else:
        raise IndexOutOfRangeError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
            f"{type_name(item)})",
            hint="`/` gives a float: use `//`, or int(...)" if isinstance(item, float) else None,
        )
    return checked_index(tensor)


def checked_index(tensor: Tensor) -> Tensor:
    """The index tensor, bytes as a mask."""
    kind = tensor._array.dtype
    if kind.kind == "b" or kind == np.int64 or kind == np.int32:
        return tensor
    if kind == np.uint8:
        if tensor._array.ndim:
            text = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."
            warn(text, UserWarning)
        return F.cast(tensor, dtype=np.dtype(bool))
    raise IndexOutOfRangeError("tensors used as indices must be long, int, byte or bool tensors")


def _consumed(item: Any) -> int:
    """Return how many dimensions of the indexed tensor `item` takes."""
    if item is None or item is ... or isinstance(item, bool):
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
        if kind not in BASIC and kind is not bool and not isinstance(item, slice):
            if (
                isinstance(item, Tensor)
                and not item._array.ndim
                and item._array.dtype.kind in "iu"
                and item._array.dtype != np.uint8
            ):
                # mapped by `vmap`, it is one number for each sample, so it stays a tensor
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
            isinstance(item, bool)
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


def in_nothing(x: ndarray, indices: Sequence[Any], spec: Sequence[bool]) -> list[Any]:
    """The indices of an array without elements, all 0: PyTorch asks for bounds only where it would
    pick elements of a dimension that has none.
    """
    dim, empty, picked = 0, False, []
    for item in numpy_index(indices, spec):
        wide = 1 if isinstance(item, slice) or item.dtype.kind != "b" else item.ndim
        if not isinstance(item, slice):
            empty = empty or 0 in x.shape[dim : dim + wide]
            mask = item.dtype.kind == "b"
            picked.append((int(np.count_nonzero(item)),) if mask else item.shape)
        dim += wide
    try:
        shape = np.broadcast_shapes(*picked)
    except ValueError:
        return list(indices)  # the operation refuses it
    if empty and 0 not in shape:
        raise IndexOutOfRangeError("index is out of bounds for dimension with size 0")
    return [item if item.dtype.kind == "b" else np.zeros_like(item) for item in indices]


def _index(xp: Any, x: Any, *indices: Any, spec: tuple[bool, ...]) -> Any:
    if not x.size and type(x) is ndarray:
        indices = tuple(in_nothing(x, indices, spec))
    if len(indices) == 1 and type(x) is ndarray:
        only = indices[0]
        if only.dtype.kind == "i" and x.flags.c_contiguous:
            return x.take(only, axis=len(spec) - 1)
        if only.dtype.kind == "b" and only.ndim == 1 and x.flags.c_contiguous:
            return x.compress(only, len(spec) - 1)  # NumPy's index by a mask is slow behind a slice
    r = x[numpy_index(indices, spec) if False in spec else indices]
    return r if type(r) is not ndarray or r.flags.c_contiguous else xp.ascontiguousarray(r)


def check_index(x: Any, *indices: Any, spec: tuple[bool, ...], **_: Any) -> None:
    """PyTorch's errors for index arrays that do not fit."""
    if type(x) is not ndarray:
        return
    if not x.size:
        in_nothing(x, indices, spec)
    dim, picked = 0, []
    # PyTorch's message counts index tensors, not dimensions
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
            if item.size and x.size:
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
    """Return where NumPy puts the dimensions that index tensors pick: at the first of the tensors,
    or in front of all dimensions if the tensors are not adjacent.
    """
    if True not in spec:
        return 0
    first, last = spec.index(True), len(spec) - 1 - spec[::-1].index(True)
    return first if all(spec[first : last + 1]) else 0


def _batch_index(b: Any) -> Any:
    """Batching rule of index tensors, batched or not. An index tensor without dimensions removes
    its dimension, as a number does.
    """
    spec, (x, *indices), flags = b.p["spec"], b.values, b.flags
    if any(i._array.dtype.kind == "b" for i in indices):
        return None
    ranks = [i._array.ndim - f for i, f in zip(indices, flags[1:], strict=True)]
    picked, own = max(ranks), any(flags[1:])
    if own:
        # Insert dimensions of size 1 after the batch's, so that all batched indices have equally
        # many.
        indices = [
            b.F.reshape(i, shape=(b.size, *(1,) * (picked - n), *i._array.shape[1:])) if f else i
            for i, n, f in zip(indices, ranks, flags[1:], strict=True)
        ]
    places = iter(ranks)
    target = _front([here for here in spec if not here or next(places)])
    if flags[0]:
        # Each sample goes with its own indices, so the number of the sample is one more index.
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
    """Translate to GatherND: bring the indexed axes to the front, and those of the result to where
    NumPy puts them.
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
    # Adding zeros of the common shape broadcasts all indices to it.
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
    check=check_index,
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
    overload="index.Tensor",
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


METHODS["__getitem__"] = _getitem
