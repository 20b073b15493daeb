"""The strided layout of nested tensors: a list of components that may differ in any dimension.
Functions run on each of them.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from ..core.primitive import TENSORS as F
from ..core.tensor import Tensor, make_tensor
from ..devices import strided
from ..errors import ArgumentValueError, DimensionError, OperationError, no_attribute, warn_once
from ._base import Functions, NoArray, dims_of, nested_among, plain, refuse, same_places


class StridedNestedTensor(Tensor):
    """A batch of tensors of the same number of dimensions and dtype, and of any sizes.

    Made by `torch.nested.nested_tensor(...)` without a layout.
    """

    __getattr__ = no_attribute
    _keeps_type = False
    _as_written = True
    _parts: tuple[Tensor, ...]
    _empty: Any  # the dtype where there are no parts

    @staticmethod
    def make(parts: Any, kind: Any = None) -> StridedNestedTensor:
        """The batch of some components; `kind` is the dtype where there are none."""
        warn_once(
            "The PyTorch API of nested tensors is in prototype stage and will change in the near future. We recommend specifying "
            "layout=torch.jagged when constructing a nested tensor, as this layout receives active development, has better operator "
            "coverage, and works with torch.compile."
        )
        t: StridedNestedTensor = make_tensor(NoArray(), StridedNestedTensor)
        t._parts = tuple(parts)
        t._empty = kind
        return t

    dtype = property(lambda self: self._parts[0].dtype if self._parts else self._empty)
    device = property(lambda self: make_tensor(np.empty(0)).device)
    ndim = property(lambda self: self._parts[0].ndim + 1 if self._parts else 1)
    is_meta = is_cuda = is_sparse = is_quantized = property(lambda self: False)
    is_cpu = is_nested = property(lambda self: True)
    layout = property(lambda self: strided)
    nbytes = property(lambda self: sum(p.nbytes for p in self._parts))
    requires_grad = property(
        lambda self: any(p.requires_grad for p in self._parts),
        lambda self, value: self.requires_grad_(value),
    )
    is_leaf = property(lambda self: all(p.is_leaf for p in self._parts))
    grad_fn = property(
        lambda self: next((p.grad_fn for p in self._parts if p.grad_fn is not None), None)
    )
    data = property(lambda self: self.detach())

    @property
    def shape(self) -> Any:
        raise OperationError(
            "Internal error: NestedTensorImpl doesn't support sizes. Please file an issue.",
            hint="the components of a nested tensor have sizes of their own: ask x.size(0), or the components of x.unbind()",
        )

    @property
    def grad(self) -> Any:
        found = [p.grad for p in self._parts]
        return None if any(g is None for g in found) else StridedNestedTensor.make(found)

    @grad.setter
    def grad(self, value: Any) -> None:
        for k, part in enumerate(self._parts):
            part.grad = None if value is None else value._parts[k]

    def size(self, dim: int | None = None) -> int:
        if dim is None:
            return self.shape
        at = dims_of(dim, self.ndim)[0]
        if at == 0:
            return len(self._parts)
        sizes = {p._array.shape[at - 1] for p in self._parts}
        if len(sizes) != 1:
            raise OperationError(f"Given dimension {at} is irregular and does not have a size.")
        return sizes.pop()

    def dim(self) -> int:
        return self.ndim

    def numel(self) -> int:
        return sum(p.numel() for p in self._parts)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return all(p.is_contiguous() for p in self._parts)

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def requires_grad_(self, requires_grad: bool = True) -> StridedNestedTensor:
        for part in self._parts:
            part.requires_grad_(requires_grad)
        return self

    def __repr__(self, **_: Any) -> str:
        inner = ",\n".join("  " + repr(p.detach()).replace("\n", "\n  ") for p in self._parts)
        node = self.grad_fn
        history = (
            f", grad_fn=<{node.name()}>"
            if node is not None
            else ", requires_grad=True"
            if self.requires_grad
            else ""
        )
        return f"nested_tensor([\n{inner}\n]{history})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __hash__(self) -> int:
        return id(self)

    def __len__(self) -> int:
        return len(self._parts)

    def __iter__(self) -> Any:
        return iter(self._parts)

    def __bool__(self) -> bool:
        raise OperationError("Boolean value of Tensor with more than one value is ambiguous")

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        return refuse("numpy")

    __array__ = tolist = numpy

    def item(self) -> Any:
        raise OperationError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")

    def __reduce_ex__(self, protocol: SupportsIndex = 2) -> Any:
        return _restored, (self._parts, self._empty)

    def __deepcopy__(self, memo: Any) -> StridedNestedTensor:
        from copy import deepcopy

        return StridedNestedTensor.make([deepcopy(p, memo) for p in self._parts], self._empty)

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        at = dims_of(dim, self.ndim)[0]
        if at:
            raise OperationError(
                f"NestedTensor can only be unbound along dimension 0 got dimension {at} instead."
            )
        return self._parts

    def values(self) -> Tensor:
        """All elements in one row."""
        return F.cat(*[p.reshape(-1) for p in self._parts], dim=0)

    def _described(self, rows: list[tuple[int, ...]]) -> Tensor:
        return make_tensor(np.array(rows, np.int64).reshape(len(rows), -1))

    def _nested_tensor_size(self) -> Tensor:
        """The shape of each part, one a row."""
        return self._described([tuple(p._array.shape) for p in self._parts])

    def _nested_tensor_strides(self) -> Tensor:
        """The strides of each part, one a row."""
        return self._described([tuple(p.stride()) for p in self._parts])

    def _nested_tensor_storage_offsets(self) -> Tensor:
        """Where each part begins, in elements behind the beginning of the first."""
        counts = [p.numel() for p in self._parts]
        return make_tensor(np.cumsum([0, *counts[:-1]])[: len(counts)])

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Tensor:
        """See `torch.nested.to_padded_tensor`."""
        sizes = np.array([p._array.shape for p in self._parts], np.int64).reshape(
            len(self._parts), -1
        )
        full = sizes.max(0, initial=0).tolist()
        if output_size is not None:
            if len(output_size) != len(full) + 1 or any(
                g < s for g, s in zip(output_size[1:], full, strict=True)
            ):
                raise OperationError(
                    "Value in output_size is less than NestedTensor padded size. Truncation is not supported."
                )
            full = [int(s) for s in output_size[1:]]
        rows = []
        for part in self._parts:
            widths = [
                w
                for s, g in zip(reversed(part._array.shape), reversed(full), strict=True)
                for w in (0, g - s)
            ]
            rows.append(
                plain("pad", "nn.functional")(part, widths, value=padding) if any(widths) else part
            )
        return F.stack(*rows, dim=0)

    def __getitem__(self, index: Any) -> Any:
        items = index if isinstance(index, tuple) else (index,)
        if isinstance(items[0], (int, np.integer)):
            count = len(self._parts)
            if not -count <= items[0] < count:
                raise DimensionError(
                    f"index {items[0]} is out of bounds for dimension 0 with size {count}"
                )
            part = self._parts[items[0]]
            return part[items[1:]] if len(items) > 1 else part
        if items[0] is ... or items[0] == slice(None):
            rest = items if items[0] is ... else items[1:]
            return StridedNestedTensor.make([p[rest] for p in self._parts])
        return refuse("index", "a part of the batch")

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return FUNCTIONS.call(func, args, kwargs)

    class _interpreter:  # noqa: N801
        @staticmethod
        def run(below: Any, op: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            if op.batch != "elementwise":
                refuse(op.name)
            return each(op.name, lambda *a: op.call(*a, **params), *args)


def _restored(parts: Any, kind: Any) -> StridedNestedTensor:
    return StridedNestedTensor.make(parts, kind)


def each(name: str, func: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of each component; nested arguments go component by component, others as they are."""
    nested = nested_among((*args, *kwargs.values()), StridedNestedTensor)
    count = len(nested[0])
    if any(len(other) != count for other in nested):
        raise OperationError(f"{name}: expected nested tensors of the same number of components")
    dense = [
        a
        for a in (*args, *kwargs.values())
        if isinstance(a, Tensor) and not isinstance(a, StridedNestedTensor)
    ]
    if same_places(name) and any(d._array.ndim for d in dense):
        raise OperationError(
            "Expected both self and other to be nested, but got a nested self and non-nested other"
        )

    def part(value: Any, k: int) -> Any:
        if isinstance(value, StridedNestedTensor):
            return value._parts[k]
        return type(value)(part(v, k) for v in value) if type(value) in (list, tuple) else value

    results = [
        func(*[part(a, k) for a in args], **{w: part(v, k) for w, v in kwargs.items()})
        for k in range(count)
    ]
    if (
        name.endswith("_")
        and not name.endswith("__")
        and args
        and isinstance(args[0], StridedNestedTensor)
    ):
        return args[0]
    return StridedNestedTensor.make(results, nested[0].dtype)


FUNCTIONS = Functions(each)
handles = FUNCTIONS.handles


@handles("cat concat concatenate")
def _cat(name: str, func: Any, tensors: Any, dim: int = 0, **kwargs: Any) -> StridedNestedTensor:
    if not all(isinstance(t, StridedNestedTensor) for t in tensors):
        raise OperationError("Expected each tensor in given list to be nested.")
    if dims_of(dim, tensors[0].ndim)[0] != 0:
        refuse(name, "dim=0")
    return StridedNestedTensor.make([part for t in tensors for part in t._parts])


@handles("linear embedding layer_norm rms_norm dropout")
def _layers(name: str, func: Any, *args: Any, **kwargs: Any) -> Any:
    """Functions of the last dimensions, which mean the same for each component."""
    return each(name, func, *args, **kwargs)


def _inner(x: StridedNestedTensor, name: str, *dims: int) -> list[int]:
    found = dims_of(dims, x.ndim)
    if 0 in found:
        raise OperationError(f"{name}(): not supported for NestedTensor on dim=0")
    return [d - 1 for d in found]


@handles("argmax argmin logsumexp var std softmax log_softmax cumsum cumprod squeeze unflatten")
def _dims(
    name: str, func: Any, x: StridedNestedTensor, dim: Any = None, *args: Any, **kwargs: Any
) -> Any:
    """Functions whose second argument is a dimension."""
    if dim is None:
        return refuse(name, "without a dimension")
    if isinstance(dim, (tuple, list)):
        return each(name, func, x, _inner(x, name, *dim), *args, **kwargs)
    return each(name, func, x, _inner(x, name, dim)[0], *args, **kwargs)


@handles("sum mean prod amax amin any all")
def _reduced(
    name: str, func: Any, x: StridedNestedTensor, dim: Any = None, *args: Any, **kwargs: Any
) -> Any:
    if dim is None:
        return func(x.values(), **kwargs)
    return _dims(name, func, x, dim, *args, **kwargs)


@handles("unsqueeze")
def _unsqueeze(name: str, func: Any, x: StridedNestedTensor, dim: int) -> Any:
    at = dims_of(dim, x.ndim + 1)[0]
    return refuse(name, "dim=0") if at == 0 else each(name, func, x, at - 1)


@handles("transpose")
def _transpose(name: str, func: Any, x: StridedNestedTensor, dim0: int, dim1: int) -> Any:
    if 0 in dims_of((dim0, dim1), x.ndim):
        raise OperationError("Nested tensor dimension 0 cannot be transposed")
    return each(name, func, x, *_inner(x, name, dim0, dim1))


@handles("flatten")
def _flatten(
    name: str, func: Any, x: StridedNestedTensor, start_dim: int = 0, end_dim: int = -1
) -> Any:
    return each(name, func, x, *_inner(x, name, start_dim, end_dim))


@handles("view reshape")
def _view(name: str, func: Any, x: StridedNestedTensor, *shape: Any) -> Any:
    """-1 keeps a component's own size where it stands; one more is worked out."""
    sizes = list(shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)
    if sizes[0] not in (len(x), -1):
        raise OperationError(
            f"{name}: For now nested_view cannot change or infer the implicit batch dimension"
        )
    results = []
    for part in x._parts:
        own = part._array.shape
        inner = [own[k] if s == -1 and k < len(own) else s for k, s in enumerate(sizes[1:])]
        results.append(func(part, inner))
    return StridedNestedTensor.make(results, x.dtype)


@handles("matmul __matmul__ bmm")
def _matmul(name: str, func: Any, a: Any, b: Any) -> Any:
    if not isinstance(a, StridedNestedTensor):
        raise OperationError(
            "Expected both to be nested, but got a non-nested self and nested other"
        )
    if isinstance(b, StridedNestedTensor):
        return each(name, plain("matmul"), a, b)
    if name == "bmm" and b._array.ndim == 3 and b._array.shape[0] == len(a):
        return StridedNestedTensor.make([plain("matmul")(p, b[k]) for k, p in enumerate(a._parts)])
    raise OperationError("Expected both to be nested, but got a nested self and non-nested other")


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
) -> Any:
    if attn_mask is not None:
        refuse(name, "attn_mask")
    if not all(isinstance(t, StridedNestedTensor) for t in (query, key, value)):
        raise ArgumentValueError(
            "scaled_dot_product_attention: expected query, key and value to be nested"
        )
    return StridedNestedTensor.make(
        [
            func(
                q[None],
                k[None],
                v[None],
                None,
                dropout_p,
                is_causal,
                scale=scale,
                enable_gqa=enable_gqa,
            )[0]
            for q, k, v in zip(query._parts, key._parts, value._parts, strict=True)
        ]
    )


@handles("unbind numel is_floating_point requires_grad_ size dim __len__")
def _described(name: str, func: Any, x: StridedNestedTensor, *args: Any, **kwargs: Any) -> Any:
    return getattr(x, name)(*args, **kwargs)


@handles("is_tensor")
def _is_tensor(name: str, func: Any, x: Any) -> bool:
    return True


@handles("select")
def _select(name: str, func: Any, x: StridedNestedTensor, dim: int, index: int) -> Any:
    if dims_of(dim, x.ndim)[0] == 0:
        return x._parts[index]
    return each(name, func, x, _inner(x, name, dim)[0], index)


def _nested_compute_contiguous_strides_offsets(nested_size: Tensor) -> tuple[Tensor, Tensor]:
    """Strides, and where each component begins, of components that lie one after the other;
    `nested_size` has a row of sizes for each.
    """
    sizes = nested_size._array
    strides = np.ones_like(sizes)
    strides[:, :-1] = np.cumprod(sizes[:, :0:-1], axis=1)[:, ::-1]
    begins = np.cumsum(sizes.prod(axis=1))
    return make_tensor(strides), make_tensor(np.concatenate([[0], begins[:-1]])[: len(sizes)])


def _nested_view_from_buffer(
    self: Tensor, nested_size: Tensor, nested_strides: Tensor, offsets: Tensor
) -> StridedNestedTensor:
    """The batch whose components lie in a buffer's storage, which is shared."""
    places = zip(nested_size.tolist(), nested_strides.tolist(), offsets.tolist(), strict=True)
    return StridedNestedTensor.make([self.as_strided(*place) for place in places], self.dtype)
