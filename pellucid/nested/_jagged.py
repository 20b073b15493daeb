"""The jagged layout: all components in one packed tensor, and the offsets at which they start.

Autograd sees the packed values; a nested tensor is an arrangement of them. Functions on the dense
dimensions run on the values, those over the ragged dimension on a padded tensor, and attention
component by component.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, SupportsIndex

import numpy as np

from ..core.primitive import TENSORS as F
from ..core.tensor import Tensor, make_tensor
from ..devices import Size, jagged
from ..errors import ArgumentValueError, OperationError, UnsupportedError
from ._base import (
    Functions,
    NoArray,
    dims_of,
    nested_among,
    padding,
    plain,
    refuse,
)
from ._ragged import symbol


class NestedTensor(Tensor):
    """A batch of tensors that differ in the size of one dimension, in one packed tensor.

    Made by `torch.nested.nested_tensor(..., layout=torch.jagged)` and similar functions.
    """

    _keeps_type = False
    _as_written = True
    _values: Tensor  # type: ignore[assignment]
    _offsets: Tensor
    _lengths: Tensor | None
    _ragged_idx: int
    _known_sizes: tuple[int | None, int | None]

    def __new__(
        cls, values: Tensor, offsets: Tensor, *, lengths: Tensor | None = None, **kwargs: Any
    ) -> NestedTensor:
        sizes = map((kwargs.get("_metadata_cache") or {}).get, ("min_seqlen", "max_seqlen"))
        known = (None if rows is None else rows.shape[0] for rows in sizes)
        return NestedTensor.make(values, offsets, lengths, kwargs.get("_ragged_idx", 1), *known)

    @staticmethod
    def make(
        values: Tensor,
        offsets: Tensor,
        lengths: Tensor | None = None,
        ragged: int = 1,
        least: int | None = None,
        longest: int | None = None,
    ) -> NestedTensor:
        """The arrangement of packed values, whose ragged dimension is `ragged - 1`.

        `least` and `longest` are the sizes that padding goes by; the components' own when left out.
        """
        t: NestedTensor = make_tensor(NoArray(), NestedTensor)
        t._values, t._offsets, t._lengths, t._ragged_idx = values, offsets, lengths, ragged
        t._known_sizes = least, longest
        symbol(offsets)
        return t

    def like(self, values: Tensor, ragged: int | None = None) -> NestedTensor:
        """Other values in the same arrangement."""
        rest = self._ragged_idx if ragged is None else ragged, *self._known_sizes
        return NestedTensor.make(values, self._offsets, self._lengths, *rest)

    def measured(self) -> NestedTensor:
        """This tensor, with the sizes of its shortest and longest component noted."""
        self._known_sizes = self._min_seqlen, self._max_seqlen
        return self

    # ---- taken apart and put together, as tensors made of tensors are -------------------------
    _min_seqlen_tensor = property(lambda self: _empty_rows(self._known_sizes[0]))
    _max_seqlen_tensor = property(lambda self: _empty_rows(self._known_sizes[1]))

    def __tensor_flatten__(self) -> tuple[list[str], dict[str, Any]]:
        names = ["_values", "_offsets", "_lengths", "_min_seqlen_tensor", "_max_seqlen_tensor"]
        return [name for name in names if getattr(self, name) is not None], {
            "requires_grad": self.requires_grad,
            "ragged_idx": self._ragged_idx,
        }

    @staticmethod
    def __tensor_unflatten__(
        inner_tensors: dict[str, Tensor], meta: dict[str, Any], outer_size: Any, outer_stride: Any
    ) -> NestedTensor:
        least, longest = (
            None if rows is None else rows.shape[0]
            for rows in map(inner_tensors.get, ("_min_seqlen_tensor", "_max_seqlen_tensor"))
        )
        return NestedTensor.make(
            inner_tensors["_values"],
            inner_tensors["_offsets"],
            inner_tensors.get("_lengths"),
            meta["ragged_idx"],
            least,
            longest,
        )

    # ---- description -------------------------------------------------------------------------
    @property
    def shape(self) -> Size:
        sizes: list[Any] = list(self._values.shape)
        sizes[self._ragged_idx - 1] = symbol(self._offsets)
        return tuple.__new__(Size, (self._offsets._array.shape[0] - 1, *sizes))

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dims_of(dim, self.ndim)[0]]

    def stride(self, dim: int | None = None) -> Any:
        steps: list[Any] = []
        step: Any = 1
        for size in reversed(self.shape[1:]):
            steps.append(step)
            step = size * step
        strides = (step, *reversed(steps))
        return strides if dim is None else strides[dims_of(dim, self.ndim)[0]]

    dtype = property(lambda self: self._values.dtype)
    device = property(lambda self: self._values.device)
    ndim = property(lambda self: self._values.ndim + 1)
    is_meta = property(lambda self: False)
    is_cpu = property(lambda self: True)
    is_cuda = is_sparse = is_quantized = property(lambda self: False)
    layout = property(lambda self: jagged)
    is_nested = property(lambda self: True)
    nbytes = property(lambda self: self._values.nbytes)
    itemsize = property(lambda self: self._values.itemsize)
    requires_grad = property(
        lambda self: self._values.requires_grad, lambda self, value: self.requires_grad_(value)
    )
    is_leaf = property(lambda self: self._values.is_leaf)
    grad_fn = property(lambda self: self._values.grad_fn)
    mT = property(lambda self: self.transpose(-2, -1))  # noqa: N815 (PyTorch's name)
    data = property(lambda self: self.detach())

    @property
    def grad(self) -> Any:
        found = self._values.grad
        return None if found is None else self.like(found)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._values.grad = None if value is None else value._values

    def dim(self) -> int:
        return self.ndim

    def numel(self) -> int:
        return int(self.sizes().sum()) * int(np.prod(self._rest()))

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return self._lengths is None and bool(self._values.is_contiguous())

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def requires_grad_(self, requires_grad: bool = True) -> NestedTensor:
        self._values.requires_grad_(requires_grad)
        return self

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        wanted = [inputs] if isinstance(inputs, Tensor) else inputs
        if wanted is not None:
            wanted = [_packed(t) for t in wanted]
        self._values.backward(_packed(gradient), retain_graph, create_graph, wanted)

    def retain_grad(self) -> None:
        self._values.retain_grad()

    def __repr__(self, **_: Any) -> str:
        node = self.grad_fn
        history = (
            f", grad_fn=<{node.name()}>"
            if node is not None
            else ", requires_grad=True"
            if self.requires_grad
            else ""
        )
        return f"NestedTensor(size={tuple(self.shape)}, offsets={self._offsets}{history}, contiguous={self.is_contiguous()})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __hash__(self) -> int:
        return id(self)

    def __len__(self) -> int:
        return self._offsets._array.shape[0] - 1

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def __bool__(self) -> bool:
        raise OperationError("Boolean value of Tensor with more than one value is ambiguous")

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        raise OperationError(".numpy() is not supported for tensor subclasses.")

    __array__ = numpy

    def tolist(self) -> Any:
        raise OperationError(".tolist() is not supported for tensor subclasses, got NestedTensor")

    def item(self) -> Any:
        raise OperationError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")

    def __reduce_ex__(self, protocol: SupportsIndex = 2) -> Any:
        parts = self._values, self._offsets, self._lengths, self._ragged_idx, *self._known_sizes
        return NestedTensor.make, parts

    def __deepcopy__(self, memo: Any) -> NestedTensor:
        from copy import deepcopy

        values, offsets = deepcopy(self._values, memo), deepcopy(self._offsets, memo)
        rest = deepcopy(self._lengths, memo), self._ragged_idx, *self._known_sizes
        return NestedTensor.make(values, offsets, *rest)

    # ---- parts -------------------------------------------------------------------------------
    def values(self) -> Tensor:
        """The packed values."""
        return self._values

    def offsets(self) -> Tensor:
        """int64 `(B + 1,)`: where each component starts."""
        return self._offsets

    def lengths(self) -> Tensor | None:
        """int64 `(B,)`: sizes of the components, where the packed values have gaps between them;
        None without gaps.
        """
        return self._lengths

    def sizes(self) -> np.ndarray:
        """How long each component is in the ragged dimension."""
        return np.diff(self._offsets._array) if self._lengths is None else self._lengths._array

    @property
    def _max_seqlen(self) -> int:
        return self._known_sizes[1] or int(self.sizes().max(initial=0))

    @property
    def _min_seqlen(self) -> int:
        return self._known_sizes[0] or (int(self.sizes().min()) if len(self) else 0)

    def _get_max_seqlen(self) -> int:
        return self._max_seqlen

    def _rest(self) -> list[int]:
        """The sizes of the values beside the ragged dimension."""
        return [s for d, s in enumerate(self._values._array.shape) if d != self._ragged_idx - 1]

    def places(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each row of the packed values that counts: where it is, its component, and its number
        there.
        """
        sizes = self.sizes()
        component = np.repeat(np.arange(len(sizes)), sizes)
        number = np.arange(len(component)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self._offsets._array[:-1][component] + number, component, number

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        if dims_of(dim, self.ndim)[0] != 0:
            raise OperationError("unbind(): only supported for NestedTensor on dim=0")
        starts = self._offsets._array[:-1].tolist()
        return tuple(
            self._values.narrow(self._ragged_idx - 1, start, length)
            for start, length in zip(starts, self.sizes().tolist(), strict=True)
        )

    def packed(self) -> Tensor:
        """The values without gaps between components."""
        if self._lengths is None:
            return self._values
        return self._values.index_select(self._ragged_idx - 1, make_tensor(self.places()[0]))

    def pad(self, value: Any, length: int | None = None) -> Tensor:
        """`(B, ..., L, ...)`: the components side by side, filled up at their ends."""
        at = self._ragged_idx - 1
        rows = self.packed().movedim(at, 0) if at else self.packed()
        longest = self._max_seqlen if length is None else length
        _, component, number = self.places()
        if number.size and int(number.max()) >= longest:
            kept = np.flatnonzero(number < longest)
            component, number, rows = (
                component[kept],
                number[kept],
                rows.index_select(0, make_tensor(kept)),
            )
        empty = make_tensor(
            np.full((len(self), longest, *rows._array.shape[1:]), value, rows._array.dtype)
        )
        index = (make_tensor(component), make_tensor(number))
        out = plain("index_put")(empty, index, rows)
        return out.movedim(1, self._ragged_idx) if at else out

    def unpad(self, dense: Tensor) -> NestedTensor:
        """The reverse of `pad`, in this arrangement without gaps."""
        rows = dense.movedim(self._ragged_idx, 1) if self._ragged_idx != 1 else dense
        _, component, number = self.places()
        rows = rows[make_tensor(component), make_tensor(number)]
        rows = rows.movedim(0, self._ragged_idx - 1) if self._ragged_idx != 1 else rows
        if self._lengths is None:
            return self.like(rows)
        offsets = make_tensor(np.concatenate([[0], np.cumsum(self.sizes())]).astype(np.int64))
        return NestedTensor.make(rows, offsets, None, self._ragged_idx)

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Tensor:
        """See `torch.nested.to_padded_tensor`."""
        return self.pad(
            padding, None if output_size is None else int(output_size[self._ragged_idx])
        )

    def __getitem__(self, index: Any) -> Any:
        items = index if isinstance(index, tuple) else (index,)
        if items and isinstance(items[0], (int, np.integer)):
            part = self.unbind()[items[0]]
            return part[items[1:]] if len(items) > 1 else part
        if any(isinstance(i, (Tensor, list)) for i in items):
            refuse("index", "with index tensors")
        wide = sum(i is not None and i is not ... for i in items)
        dots = next((k for k, i in enumerate(items) if i is ...), None)
        if dots is not None:
            items = (*items[:dots], *[slice(None)] * (self.ndim - wide), *items[dots + 1 :])
        items = (*items, *[slice(None)] * (self.ndim - sum(i is not None for i in items)))
        whole = slice(None)
        if items[0] != whole or None in items[: self._ragged_idx]:
            raise OperationError("slice(): not supported for NestedTensor on dim=0")
        if items[self._ragged_idx] != whole:
            raise OperationError("slice(): not supported for NestedTensor on the ragged dimension")
        gone = sum(isinstance(i, (int, np.integer)) for i in items[1 : self._ragged_idx])
        return self.like(self._values[items[1:]], self._ragged_idx - gone)

    # ---- functions ---------------------------------------------------------------------------
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return FUNCTIONS.call(func, args, kwargs)

    class _interpreter:  # noqa: N801
        @staticmethod
        def run(below: Any, op: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            if op.batch != "elementwise":
                refuse(op.name)
            return pointwise(op.name, lambda *a: op.call(*a, **params), *args)


def _empty_rows(size: int | None) -> Tensor | None:
    """A size as the shape of a tensor without elements, which tensors made of tensors carry it in."""
    return None if size is None else make_tensor(np.empty((size, 0), np.float32))


# ---- element by element ----------------------------------------------------------------------
def pointwise(name: str, func: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of each element, on the packed values; dense arguments are broadcast against the
    components.
    """
    nested = nested_among((*args, *kwargs.values()), NestedTensor)
    first = nested[0]
    for other in nested[1:]:
        if (
            symbol(other._offsets) != symbol(first._offsets)
            or other._ragged_idx != first._ragged_idx
        ):
            raise OperationError(
                f"cannot call binary pointwise function {name.strip('_')}.Tensor with inputs of shapes {tuple(first.shape)} and {tuple(other.shape)}"
            )
    result = func(
        *[_against(first, a) for a in args], **{k: _against(first, v) for k, v in kwargs.items()}
    )
    target = next((a for a in args if isinstance(a, NestedTensor) and a._values is result), None)
    if target is not None and target is args[0]:
        return target
    return first.like(result) if isinstance(result, Tensor) else result


def _packed(value: Any) -> Any:
    """The packed values of a nested tensor; anything else as it is."""
    return value._values if isinstance(value, NestedTensor) else value


def _against(nested: NestedTensor, value: Any) -> Any:
    """An argument as it goes with the packed values."""
    if isinstance(value, NestedTensor):
        return value._values
    if not isinstance(value, Tensor) or not value._array.ndim:
        return value
    sizes, ragged = value._array.shape, nested._ragged_idx
    if len(sizes) > nested.ndim:
        raise OperationError(
            f"a tensor of shape {tuple(sizes)} does not broadcast to a nested tensor of shape {tuple(nested.shape)}"
        )
    missing = nested.ndim - len(sizes)
    length = sizes[ragged - missing] if ragged >= missing else 1
    batch = sizes[0] if not missing else 1
    if length == 1 and batch == 1:
        return value if missing else value.squeeze(0)
    if missing:
        value = value.reshape((1,) * missing + tuple(sizes))
    _, component, number = nested.places()
    if nested._lengths is not None:
        refuse("broadcasting", "a dense tensor against components with gaps between them")
    if batch not in (1, len(nested)) or length not in (1, nested._max_seqlen):
        raise OperationError(
            f"a tensor of shape {tuple(sizes)} does not broadcast to a nested tensor of shape {tuple(nested.shape)}"
        )
    rows = value.movedim(ragged, 1)
    rows = rows[
        make_tensor(component if batch > 1 else component * 0),
        make_tensor(number if length > 1 else number * 0),
    ]
    return rows.movedim(0, ragged - 1)


# ---- shapes ----------------------------------------------------------------------------------
def _inner(nested: NestedTensor, name: str, *dims: int, ragged: bool = False) -> list[int]:
    """Dimensions of a nested tensor as dimensions of its values.

    Raises:
        RuntimeError: the batch dimension, or the ragged one unless it is allowed.
    """
    found = dims_of(dims, nested.ndim)
    if 0 in found:
        raise OperationError(f"{name}(): not supported for NestedTensor on dim=0")
    if not ragged and nested._ragged_idx in found:
        raise OperationError(f"{name}(): not supported for NestedTensor on the ragged dimension")
    return [d - 1 for d in found]


FUNCTIONS = Functions(pointwise)
handles = FUNCTIONS.handles


@handles("transpose swapaxes swapdims")
def _transpose(name: str, func: Any, x: NestedTensor, dim0: int, dim1: int) -> NestedTensor:
    a, b = dims_of((dim0, dim1), x.ndim)
    if 0 in (a, b) and a != b:
        raise ArgumentValueError("Transpose is not supported on the batch dimension for jagged NT")
    ragged = {a: b, b: a}.get(x._ragged_idx, x._ragged_idx)
    return x.like(x._values.transpose(a - 1, b - 1), ragged)


@handles("permute")
def _permute(name: str, func: Any, x: NestedTensor, *dims: Any) -> NestedTensor:
    order = dims_of(dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims, x.ndim)
    if order[0] != 0:
        raise OperationError("permute(): not supported for NestedTensor on dim=0")
    return x.like(x._values.permute([d - 1 for d in order[1:]]), order.index(x._ragged_idx))


@handles("unsqueeze")
def _unsqueeze(name: str, func: Any, x: NestedTensor, dim: int) -> NestedTensor:
    at = dims_of(dim, x.ndim + 1)[0]
    if at == 0:
        raise OperationError("unsqueeze(): not supported for NestedTensor on dim=0")
    return x.like(x._values.unsqueeze(at - 1), x._ragged_idx + (at <= x._ragged_idx))


@handles("squeeze")
def _squeeze(name: str, func: Any, x: NestedTensor, dim: Any = None) -> NestedTensor:
    if dim is None:
        raise OperationError("squeeze(): For nested tensors, a dimension must be given")
    (at,) = _inner(x, name, dim)
    gone = x._values._array.shape[at] == 1 and at + 1 < x._ragged_idx
    return x.like(x._values.squeeze(at), x._ragged_idx - gone)


@handles("view reshape")
def _view(name: str, func: Any, x: NestedTensor, *shape: Any, **kwargs: Any) -> NestedTensor:
    sizes = list(shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)
    own = symbol(x._offsets)
    at = next((k for k, s in enumerate(sizes) if s == own), None)
    if at is None and len(sizes) > x._ragged_idx and sizes[x._ragged_idx] == -1:
        at = x._ragged_idx
    if at is None or not sizes or sizes[0] not in (len(x), -1):
        raise OperationError(
            f"{name}(): cannot view a nested tensor of shape {tuple(x.shape)} as {tuple(sizes)}: the batch stays first, and the ragged "
            "dimension keeps its place (-1) or is named by its size"
        )
    inner = [*sizes[1:at], x._values._array.shape[x._ragged_idx - 1], *sizes[at + 1 :]]
    before = math.prod(x._values._array.shape[: x._ragged_idx - 1])
    if -1 not in sizes[1:at] and math.prod(sizes[1:at]) != before:
        refuse(name, "moving elements across the ragged dimension")
    return x.like(func(x._values, inner), at)


@handles("flatten")
def _flatten(
    name: str, func: Any, x: NestedTensor, start_dim: int = 0, end_dim: int = -1
) -> NestedTensor:
    first, last = dims_of((start_dim, end_dim), x.ndim)
    if first == 0 or first <= x._ragged_idx <= last:
        raise OperationError(
            "flatten(): not supported for NestedTensor over the batch or ragged dimension"
        )
    moved = last - first if last < x._ragged_idx else 0
    return x.like(x._values.flatten(first - 1, last - 1), x._ragged_idx - moved)


@handles("unflatten")
def _unflatten(name: str, func: Any, x: NestedTensor, dim: int, sizes: Any) -> NestedTensor:
    (at,) = _inner(x, name, dim)
    moved = len(sizes) - 1 if at + 1 < x._ragged_idx else 0
    return x.like(x._values.unflatten(at, sizes), x._ragged_idx + moved)


@handles("chunk split split_with_sizes tensor_split")
def _split(
    name: str, func: Any, x: NestedTensor, how: Any, dim: int = 0
) -> tuple[NestedTensor, ...]:
    (at,) = _inner(x, name, dim)
    return tuple(x.like(part) for part in func(x._values, how, at))


@handles("narrow")
def _narrow(
    name: str, func: Any, x: NestedTensor, dim: int, start: int, length: int
) -> NestedTensor:
    (at,) = _inner(x, name, dim)
    return x.like(x._values.narrow(at, start, length))


@handles("select")
def _select(name: str, func: Any, x: NestedTensor, dim: int, index: int) -> Any:
    if dims_of(dim, x.ndim)[0] == 0:
        return x[index]
    (at,) = _inner(x, name, dim)
    return x.like(x._values.select(at, index), x._ragged_idx - (at + 1 < x._ragged_idx))


@handles("cat concat concatenate stack")
def _cat(name: str, func: Any, tensors: Any, dim: int = 0, **kwargs: Any) -> NestedTensor:
    first = next(t for t in tensors if isinstance(t, NestedTensor))
    if name == "stack" or dims_of(dim, first.ndim)[0] == 0:
        raise OperationError(f"{name}(): not supported for NestedTensor on dim=0")
    (at,) = _inner(first, name, dim)
    if any(
        not isinstance(t, NestedTensor) or symbol(t._offsets) != symbol(first._offsets)
        for t in tensors
    ):
        raise OperationError("cat(): expected all tensors to be nested, with the same ragged size")
    return first.like(F.cat(*[t._values for t in tensors], dim=at))


# ---- reductions ------------------------------------------------------------------------------
Fill = Callable[[Any], Any]  # from a dtype to what a reduction does not notice


def _lowest(kind: Any) -> Any:
    return padding(kind, False)


def _highest(kind: Any) -> Any:
    return padding(kind, True)


def _reduce(
    fill: Fill | None,
    name: str,
    func: Any,
    x: NestedTensor,
    dim: Any = None,
    *rest: Any,
    **kwargs: Any,
) -> Any:
    if isinstance(dim, (Tensor, float)):
        refuse(name, "with these arguments")
    if dim is None:
        if rest or kwargs.get("keepdim"):
            refuse(name, "keepdim over all dimensions")
        return func(x.packed(), **kwargs)
    dims = dims_of(dim, x.ndim)
    keep = bool(rest[0]) if rest else bool(kwargs.pop("keepdim", False))
    if len(rest) > 1:
        refuse(name, "with these arguments")
    ragged = x._ragged_idx
    if 0 in dims and ragged not in dims:
        raise OperationError(
            f"{name}(): reducing along the batch dimension but not the ragged dimension is not supported for nested tensors"
        )
    if 0 in dims:
        kept = func(x.packed(), [d - 1 for d in dims if d], keepdim=keep, **kwargs)
        return kept.unsqueeze(0) if keep else kept
    if ragged in dims:
        if len(dims) > 1:
            raise OperationError(
                f"{name}(): reducing along a ragged and non-batch dimension is not supported for nested tensors"
            )
        return _over_ragged(fill, name, func, x, keep, kwargs)
    inner: Any = [d - 1 for d in dims]
    result = func(
        x._values, inner if isinstance(dim, (tuple, list)) else inner[0], keepdim=keep, **kwargs
    )
    at = ragged - (0 if keep else sum(d < ragged for d in dims))
    if isinstance(result, tuple):
        return type(result)(*[x.like(part, at) for part in result])
    return x.like(result, at)


def _over_ragged(
    fill: Fill | None, name: str, func: Any, x: NestedTensor, keep: bool, kwargs: dict[str, Any]
) -> Any:
    """A reduction of each component over its own length; the result is dense."""
    if fill is None:
        return refuse(name, "over the ragged dimension")
    if fill in (_lowest, _highest) and name != "logsumexp" and not x.sizes().all():
        raise OperationError(f"{name}(): cannot reduce a component of length 0")
    if name == "mean":
        total = plain("sum")(x.pad(0), x._ragged_idx, keepdim=keep, **kwargs)
        shape = [1] * total.ndim
        shape[0] = len(x)
        return total / make_tensor(x.sizes().reshape(shape).astype(total._array.dtype))
    return func(x.pad(fill(x.dtype)), x._ragged_idx, keepdim=keep, **kwargs)


handles("sum mean")(partial(_reduce, lambda kind: 0))
handles("prod")(partial(_reduce, lambda kind: 1))
handles("any")(partial(_reduce, lambda kind: False))
handles("all")(partial(_reduce, lambda kind: True))
handles("amax max argmax logsumexp")(partial(_reduce, _lowest))
handles("amin min argmin")(partial(_reduce, _highest))
handles("var std norm median nansum nanmean")(partial(_reduce, None))


def _along(
    fill: Fill, name: str, func: Any, x: NestedTensor, dim: Any = None, *args: Any, **kwargs: Any
) -> NestedTensor:
    """Functions along a dimension that keep it."""
    if dim is None:
        raise OperationError(f"{name}(): dim must be given for nested tensors")
    (at,) = _inner(x, name, dim, ragged=True)
    if at + 1 != x._ragged_idx:
        return x.like(func(x._values, at, *args, **kwargs))
    return x.unpad(func(x.pad(fill(x.dtype)), x._ragged_idx, *args, **kwargs))


handles("softmax log_softmax _softmax logcumsumexp")(partial(_along, _lowest))
handles("softmin")(partial(_along, _highest))
handles("cumsum")(partial(_along, lambda kind: 0))
handles("cumprod")(partial(_along, lambda kind: 1))


@handles("normalize cosine_similarity glu")
def _last(name: str, func: Any, x: NestedTensor, *args: Any, **kwargs: Any) -> NestedTensor:
    if name != "normalize":
        refuse(name)
    p = args[0] if args else kwargs.get("p", 2.0)
    dim = args[1] if len(args) > 1 else kwargs.get("dim", 1)
    eps = args[2] if len(args) > 2 else kwargs.get("eps", 1e-12)
    (at,) = _inner(x, name, dim)
    return x.like(func(x._values, p, at, eps))


# ---- products and layers ---------------------------------------------------------------------
@handles("linear embedding layer_norm rms_norm")
def _rows(name: str, func: Any, x: NestedTensor, *args: Any, **kwargs: Any) -> NestedTensor:
    """Layers that treat each row of the packed values by itself."""
    if not isinstance(x, NestedTensor):
        refuse(name, "nested weights")
    wide = 0
    if name == "linear":
        wide = 1
    elif name in ("layer_norm", "rms_norm"):
        sizes = args[0] if args else kwargs["normalized_shape"]
        wide = 1 if isinstance(sizes, int) else len(sizes)
    if x._ragged_idx >= x.ndim - wide:
        refuse(name, "over the ragged dimension")
    if nested_among((*args, *kwargs.values()), NestedTensor):
        refuse(name, "nested weights")
    return x.like(func(x._values, *args, **kwargs))


@handles("matmul __matmul__ __rmatmul__ bmm mm")
def _matmul(name: str, func: Any, a: Any, b: Any) -> Any:
    if name == "__rmatmul__":
        a, b, func = b, a, plain("matmul")
    if name == "bmm":
        func = plain("matmul")
    if isinstance(a, NestedTensor) and not isinstance(b, NestedTensor):
        if a._ragged_idx == a.ndim - 1:
            refuse("matmul", "a product that sums over the ragged dimension with a dense tensor")
        if b._array.ndim <= 2:
            return a.like(func(a._values, b))
        if b._array.ndim == a.ndim and b._array.shape[0] == len(a):
            parts = [func(part, b[k]) for k, part in enumerate(a.unbind())]
            return NestedTensor.make(
                F.cat(*parts, dim=a._ragged_idx - 1), *_whole(a), a._ragged_idx
            )
    if (
        isinstance(a, NestedTensor)
        and isinstance(b, NestedTensor)
        and symbol(a._offsets) == symbol(b._offsets)
    ):
        if a._ragged_idx == a.ndim - 1 and b._ragged_idx == b.ndim - 2:
            return F.stack(
                *[func(x, y) for x, y in zip(a.unbind(), b.unbind(), strict=True)], dim=0
            )
    shapes = [tuple(t.shape) if isinstance(t, NestedTensor) else t.shape for t in (a, b)]
    raise OperationError(
        f"matmul(): not supported between inputs of shapes {shapes[0]} and {shapes[1]}"
    )


def _whole(x: NestedTensor) -> tuple[Tensor, None]:
    """Offsets of the components without gaps; the same ones where there are none."""
    if x._lengths is None:
        return x._offsets, None
    return make_tensor(np.concatenate([[0], np.cumsum(x.sizes())]).astype(np.int64)), None


@handles("scaled_dot_product_attention")
def _attention(
    name: str,
    func: Any,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> NestedTensor:
    """Attention within each component; the ragged dimension of queries is the last but one."""
    if attn_mask is not None:
        refuse(name, "attn_mask")
    for t in (query, key, value):
        if not isinstance(t, NestedTensor):
            raise OperationError(
                "scaled_dot_product_attention: expected query, key and value to be nested"
            )
        if t.ndim not in (3, 4) or t._ragged_idx != t.ndim - 2:
            raise OperationError(
                "For NestedTensor inputs, scaled_dot_product_attention expects 3 or 4 dimensions, the ragged one last but one"
            )
    if not len(query) == len(key) == len(value):
        raise OperationError(
            "scaled_dot_product_attention: query, key and value have different numbers of components"
        )
    parts = [
        func(
            *[t.unsqueeze(0) for t in own],
            None,
            dropout_p,
            is_causal,
            scale=scale,
            enable_gqa=enable_gqa,
        ).squeeze(0)
        for own in zip(query.unbind(), key.unbind(), value.unbind(), strict=True)
    ]
    return NestedTensor.make(
        F.cat(*parts, dim=query._ragged_idx - 1), *_whole(query), query._ragged_idx
    )


@handles("unbind")
def _unbind(name: str, func: Any, x: NestedTensor, dim: int = 0) -> tuple[Tensor, ...]:
    return x.unbind(dim)


@handles("numel is_floating_point requires_grad_ size stride dim __len__")
def _described(name: str, func: Any, x: NestedTensor, *args: Any, **kwargs: Any) -> Any:
    return getattr(x, name)(*args, **kwargs)


@handles("is_tensor is_nonzero is_complex is_same_size")
def _asked(name: str, func: Any, x: Any, *args: Any) -> Any:
    if name == "is_tensor":
        return True
    if name == "is_complex":
        return x._values.dtype.is_complex
    raise UnsupportedError(f"{name}(): not supported for NestedTensor")


@handles("contiguous")
def _contiguous(name: str, func: Any, x: NestedTensor, *args: Any, **kwargs: Any) -> NestedTensor:
    if x._lengths is None:
        return x.like(x._values.contiguous())
    return NestedTensor.make(x.packed(), *_whole(x), x._ragged_idx)
