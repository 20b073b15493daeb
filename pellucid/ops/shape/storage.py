"""Memory under tensors: storages, strides, offsets, contiguity, and views with any strides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from ... import dtypes, shapes
from ...arrays.meta import MetaArray
from ...arrays.numpy_cpu import address, check_resizable, element_offset, owner, strided
from ...arrays.sparse.array import SparseArray
from ...core import bind, tracing
from ...core.bind import as_one_view
from ...core.inplace import bump, check_writable, rebase
from ...core.modes import local
from ...core.primitive import PRIMITIVES, defop
from ...core.public import FUNCTIONS, METHODS, method, public, tensor_property
from ...core.tape import joined, make_tensor
from ...core.tensor import Tensor, hand_out_copies, version_of
from ...core.transforms.capturing import check_own
from ...errors import ArgumentTypeError, OperationError, ShapeError, UnsupportedError, type_name
from .._rules import as_index, require_tensor
from .._samples import cases
from .._unset import unset
from ..pointwise.basic import underivable
from ._sizes import element_strides, is_fast, sizes_of
from .parts import part_op
from .storages import StorageBase as StorageBase
from .storages import TypedStorage, UntypedStorage, typed_storage_deprecated

# ---- where a tensor lies ---------------------------------------------------------------------
WHERE = "where a tensor lies in memory"


def storage_offset_of(x: Tensor) -> int:
    """Elements between the start of the storage and the tensor's first element."""
    return element_offset(x._array)


@method()
def storage_offset(self: Tensor) -> int:
    """Elements between the start of the storage and the tensor's first element.

    >>> import pellucid as torch
    >>> torch.arange(6)[2:].storage_offset()
    2
    """
    tracing.unkept(WHERE)
    return storage_offset_of(self)


def _strides(a: Any) -> tuple[int, ...]:
    if 0 in a.shape and not any(a.strides):  # NumPy gives empty arrays strides of 0
        return shapes.contiguous_strides(a.shape)
    return element_strides(a)


@method()
def stride(self: Tensor, dim: int | None = None) -> Any:
    """Elements between neighbors in memory, for each dimension or one.

    >>> import pellucid as torch
    >>> torch.ones(2, 3).t().stride()
    (1, 3)
    """
    strides = _strides(self._array)
    return (
        strides
        if dim is None
        else strides[shapes.normalize_dim(dim, len(strides), scalar_is_vector=False)]
    )


@method("size")
def size_method(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or the size of one dimension.

    Args:
        dim: one dimension. Default: None, for the whole shape.

    >>> import pellucid as torch
    >>> torch.zeros(2, 3).size(), torch.zeros(2, 3).size(1)
    (torch.Size([2, 3]), 3)
    """
    shape = self._array.shape
    if dim is None:
        return dtypes.size_of(shape)
    if type(dim) is int and -len(shape) <= dim < len(shape):
        return shape[dim]
    return shape[shapes.normalize_dim(as_index(dim), len(shape), scalar_is_vector=False)]


@method("dim ndimension")
def dim_method(self: Tensor) -> int:
    """The number of dimensions.

    >>> import pellucid as torch
    >>> torch.ones(2, 3).dim()
    2
    """
    return self._array.ndim


@public(names="numel", methods="numel nelement")
def numel(input: Tensor) -> int:
    """The number of elements.

    >>> import pellucid as torch
    >>> torch.numel(torch.ones(2, 3))
    6
    """
    return int(require_tensor(input, "numel")._array.size)


@method()
def element_size(self: Tensor) -> int:
    """Bytes of one element.

    >>> import pellucid as torch
    >>> torch.tensor([1.0], dtype=torch.float64).element_size()
    8
    """
    return self._array.dtype.itemsize


@tensor_property
def itemsize(self: Tensor) -> int:
    """Bytes of one element."""
    return self._array.dtype.itemsize


@tensor_property
def nbytes(self: Tensor) -> int:
    """Bytes of all elements."""
    return int(self._array.size) * self._array.dtype.itemsize


@method()
def data_ptr(self: Tensor) -> int:
    """The address of the first element; 0 for an empty tensor.

    >>> import pellucid as torch
    >>> x = torch.ones(4)
    >>> x[1:].data_ptr() - x.data_ptr()  # bytes
    4
    """
    tracing.unkept(WHERE)
    a = self._array
    if type(a) is SparseArray:
        raise OperationError("Cannot access data pointer of Tensor that doesn't have storage")
    return address(a) if type(a) is ndarray and a.size else 0


METHODS["const_data_ptr"] = data_ptr


@method()
def dim_order(self: Tensor, ambiguity_check: bool = False) -> tuple[int, ...]:
    """The dimensions from the outermost in memory to the innermost.

    >>> import pellucid as torch
    >>> torch.ones(2, 3).dim_order(), torch.ones(2, 3).t().dim_order()
    ((0, 1), (1, 0))
    """
    strides = _strides(self._array)
    return tuple(sorted(range(len(strides)), key=lambda d: (-strides[d], d)))


# ---- contiguity ------------------------------------------------------------------------------
def order_of(memory_format: Any, ndim: int) -> tuple[int, ...] | None:
    """The dimensions from the outermost in memory to the innermost; None: as they come."""
    if memory_format in (dtypes.contiguous_format, None):
        return None
    if memory_format is dtypes.preserve_format:
        raise OperationError("preserve memory format is unsupported by the contiguous operator")
    wanted = 4 if memory_format is dtypes.channels_last else 5
    if ndim != wanted:
        raise ShapeError(
            f"required rank {wanted} tensor to use {'channels_last' if wanted == 4 else 'channels_last_3d'} format"
        )
    return (0, *range(2, ndim), 1)


@method()
def is_contiguous(self: Tensor, *, memory_format: Any = dtypes.contiguous_format) -> bool:
    """Test whether the elements lie in memory in the order of the dimensions, without gaps.

    Args:
        memory_format: another order to test for, such as `torch.channels_last`.

    >>> import pellucid as torch
    >>> torch.zeros(2, 3).is_contiguous(), torch.zeros(2, 3).t().is_contiguous()
    (True, False)
    """
    a = self._array
    if memory_format is dtypes.contiguous_format or memory_format is dtypes.preserve_format:
        return (
            a.flags.c_contiguous
            if type(a) is ndarray
            else shapes.is_contiguous(a.shape, element_strides(a))
        )
    wanted = 4 if memory_format is dtypes.channels_last else 5
    return a.ndim == wanted and shapes.is_channels_last(a.shape, element_strides(a))


def _contiguous(xp: Any, x: Any, *, order: tuple[int, ...] | None) -> Any:
    if order is None:
        return xp.copy(x, "C")
    inverse = [0] * len(order)
    for place, d in enumerate(order):
        inverse[d] = place
    return xp.transpose(xp.copy(xp.transpose(x, order), "C"), inverse)


def _contiguous_aval(x: Any, order: Any) -> Any:
    shape, kind = x
    return (
        (shape, kind)
        if order is None
        else (shape, kind, tuple(s * kind.itemsize for s in shapes.channels_last_strides(shape)))
    )


contiguous_op = defop(
    "contiguous",
    "input",
    forward=_contiguous,
    aval=_contiguous_aval,
    vjp={"input": lambda g: g},
    jvp="linear",
    grad_name="Clone",
    batch=lambda b: b.F.clone(b[0]),
    traits="passes copies",
    onnx="Identity",
    aten=lambda A, x, *, order: A.clone(x),
    samples=cases(
        (((2, 3, 4, 2),), {"order": None}),
        (((2, 3, 4, 2),), {"order": (0, 2, 3, 1)}),
        (((0, 3),), {"order": None}),
    ),
    overload="select_copy.int",
)


@method()
def contiguous(self: Tensor, *, memory_format: Any = dtypes.contiguous_format) -> Tensor:
    """The tensor itself if its elements are in order in memory, otherwise a contiguous copy.

    >>> import pellucid as torch
    >>> torch.ones(2, 3).t().contiguous().stride()
    (2, 1)
    """
    a = self._array
    if memory_format is dtypes.contiguous_format and type(a) is ndarray and a.flags.c_contiguous:
        return self
    if is_contiguous(self, memory_format=memory_format):
        return self
    return contiguous_op.call(self, order=order_of(memory_format, a.ndim))


def suggested_format(t: Tensor) -> Any:
    """The memory format in which a tensor lies: channels last where its strides say so, else contiguous."""
    strides = element_strides(t._array)
    last = (
        t._array.ndim in (4, 5)
        and strides[1] == 1
        and shapes.is_channels_last(t._array.shape, strides)
    )
    if not last or strides[1] == strides[0] or min(strides[2:]) < t._array.shape[1]:
        return dtypes.contiguous_format
    return dtypes.channels_last if t._array.ndim == 4 else dtypes.channels_last_3d


# ---- any strides -----------------------------------------------------------------------------
def _as_strided(xp: Any, x: Any, *, size: Any, stride: Any, shift: int, geometry: Any) -> Any:
    # a gradient or a copy of the base may have another layout, or lack the surrounding memory
    if element_strides(x) != geometry or not _within_memory(x, size, stride, shift):
        return _as_strided_read(xp, x, size=size, stride=stride, shift=shift, geometry=geometry)
    item = x.dtype.itemsize
    return xp.strided(x, size, tuple([s * item for s in stride]), shift * item)


def _within_memory(x: Any, size: Any, stride: Any, shift: int) -> bool:
    """Return whether these places are inside the memory of the array."""
    if type(x) is not ndarray:
        return True
    low, high = _span(size, stride, element_offset(x) + shift)
    return low >= 0 and high * x.itemsize < max(owner(x).nbytes, 1)


def _places(xp: Any, shape: Any, stride: Any, shift: int) -> Any:
    """Return the flat position of each element of a strided tensor."""
    out = xp.full(shape, shift, np.int64)
    for d, (n, step) in enumerate(zip(shape, stride, strict=True)):
        out = out + (xp.arange(n) * step).reshape((n,) + (1,) * (len(shape) - 1 - d))
    return out


def _span(shape: Any, stride: Any, shift: int) -> tuple[int, int]:
    """Return the lowest and the highest of these positions; (0, 0) without elements."""
    if 0 in shape:
        return 0, 0
    low = high = shift
    for n, step in zip(shape, stride, strict=True):
        if step > 0:
            high += (n - 1) * step
        else:
            low += (n - 1) * step
    return low, high


def _memory(xp: Any, kind: Any, inner: Any, outer: Any) -> tuple[Any, int]:
    """Return zeros for all places of two geometries `(shape, stride, shift)`, and the place of the
    first zero.
    """
    (low, high), (first, last) = _span(*inner), _span(*outer)
    start = min(low, first, 0)
    return xp.zeros(max(high, last, 0) - start + 1, kind), start


def _as_strided_grad(
    xp: Any, g: Any, *, shape: Any, size: Any, stride: Any, shift: int, geometry: Any
) -> Any:
    """Add the gradients of all places in memory, and read them where the elements of the input are.
    Elements of an input that overlaps itself share theirs.
    """
    inner, outer = (shape, geometry, 0), (size, stride, shift)
    flat, start = _memory(xp, g.dtype, inner, outer)
    inside = _places(xp, *inner) - start
    xp.add.at(flat, (_places(xp, *outer) - start).reshape(-1), g.reshape(-1))
    if any(s == 0 and n > 1 for s, n in zip(geometry, shape, strict=True)):
        count = xp.zeros(flat.shape, flat.real.dtype)
        xp.add.at(count, inside.reshape(-1), 1)
        flat = flat / xp.maximum(count, 1)
    return flat[inside]


def _as_strided_read(xp: Any, x: Any, *, size: Any, stride: Any, shift: int, geometry: Any) -> Any:
    """Return what `as_strided` reads, for values with any layout."""
    inner, outer = (x.shape, geometry, 0), (size, stride, shift)
    flat, start = _memory(xp, x.dtype, inner, outer)
    flat[_places(xp, *inner) - start] = x
    return flat[_places(xp, *outer) - start]


def _as_strided_regrad(
    F: Any, g: Any, input_shape: Any, size: Any, stride: Any, shift: int, geometry: Any
) -> Any:
    return F.as_strided_grad(
        g, shape=input_shape, size=size, stride=stride, shift=shift, geometry=geometry
    )


as_strided_op = part_op(
    "as_strided",
    _as_strided,
    _as_strided_regrad,
    traits="passes",
    samples=cases(
        (((3, 4),), {"size": (2, 3), "stride": (4, 1), "shift": 1, "geometry": (4, 1)}),
        (((6,),), {"size": (3, 3), "stride": (1, 1), "shift": 0, "geometry": (1,)}),
    ),
)
as_strided_grad_op = defop(
    "as_strided_grad",
    "input",
    forward=_as_strided_grad,
    aval=lambda g, shape, size, stride, shift, geometry: (shape, g[1]),
    vjp={
        # a copy: the memory around a gradient holds other values
        "input": lambda F, g, size, stride, shift, geometry: F.as_strided(
            F.clone(g), size=size, stride=stride, shift=shift, geometry=geometry
        )
    },
    jvp="linear",
    samples=cases(
        (
            ((2, 3),),
            {"shape": (3, 4), "size": (2, 3), "stride": (4, 1), "shift": 1, "geometry": (4, 1)},
        ),
        (
            ((3, 3),),
            {"shape": (6,), "size": (3, 3), "stride": (1, 1), "shift": 0, "geometry": (1,)},
        ),
    ),
)


def strided_params(
    input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None
) -> dict[str, Any]:
    """The parameters of `as_strided_op` for these places of the storage, checked."""
    a = input._array
    size, stride = sizes_of((size,), "as_strided"), sizes_of((stride,), "as_strided", "stride")
    own, item = storage_offset_of(input), a.dtype.itemsize
    offset = own if storage_offset is None else as_index(storage_offset)
    held = a if type(a) is not ndarray or a.base is None else owner(a)
    room = held.nbytes // item if type(a) is ndarray else a.size
    shapes.check_as_strided(size, stride, offset, room, item)
    return {"size": size, "stride": stride, "shift": offset - own, "geometry": element_strides(a)}


def _from_base(a: ndarray, r: ndarray) -> Any:
    """Return the chain of views that leads from the base's array to an array of its storage, by
    places in memory. None if there is none.
    """
    if a.dtype.kind == r.dtype.kind:
        return as_one_view(a, r)
    real, complex_ = PRIMITIVES["view_as_real"], PRIMITIVES["view_as_complex"]
    if a.dtype.kind in "cW":
        chain = as_one_view(real.numpy_forward(a), r)
        return chain and ((real, {}, None), *chain)
    chain = as_one_view(a, real.numpy_forward(r)) if r.dtype.kind in "cW" else None
    return chain and (*chain, (complex_, {}, None))


@public(methods="=")
def as_strided(
    input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A view of the tensor's storage with any sizes, strides and offset.

    Args:
        input: any shape and dtype.
        size: the sizes of the view.
        stride: its steps in memory, in elements.
        storage_offset: where it begins. Default: where `input` begins.

    Raises:
        RuntimeError: the view would reach outside the storage, or a stride is negative.

    >>> import pellucid as torch
    >>> torch.as_strided(torch.arange(5), (3, 2), (1, 1))
    tensor([[0, 1],
            [1, 2],
            [2, 3]])
    """
    params = strided_params(require_tensor(input, "as_strided"), size, stride, storage_offset)
    if is_fast(input):  # these places are known to be in its memory
        a = input._array
        item = a.itemsize
        steps = tuple([step * item for step in params["stride"]])
        r = strided(a, params["size"], steps, params["shift"] * item)
        made = bind.view_result(as_strided_op, input, r, params)
    else:
        made = as_strided_op.call(input, **params)
    view = made._view
    if view is not None and len(view.chain) > 1:
        # It may show elements that its source does not show, so it is a view of the base.
        base, own = view.base._array, made._array
        if type(base) is ndarray is type(own):
            view.chain = _from_base(base, own) or view.chain
    return made


# ---- storages --------------------------------------------------------------------------------
@method()
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The bytes that the tensor and its views lie in.

    >>> import pellucid as torch
    >>> torch.ones(4)[1:].untyped_storage().nbytes()
    16
    """
    tracing.unkept(WHERE)
    hand_out_copies(version_of(self), past_the_counter=True)
    a = self._array
    if type(a) is SparseArray:
        raise UnsupportedError(
            "Cannot access storage of SparseTensorImpl"
            if a.layout == "coo"
            else "Cannot access storage of SparseCsrTensorImpl"
        )
    return UntypedStorage.under(self, owner(a) if type(a) is ndarray else a)


@method()
def storage(self: Tensor) -> TypedStorage:
    """The storage counted in elements; deprecated for `untyped_storage`.

    >>> import pellucid as torch
    >>> import warnings
    >>> warnings.simplefilter("ignore")  # it warns that it is deprecated
    >>> len(torch.ones(2, 3).storage())
    6
    """
    tracing.unkept(WHERE)
    typed_storage_deprecated()
    return _typed_storage(self)


@method()
def _typed_storage(self: Tensor) -> TypedStorage:
    """As `storage`, without the warning."""
    return TypedStorage(untyped_storage(self), self.dtype)


@method()
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both show the same memory with the same sizes and strides.

    >>> import pellucid as torch
    >>> x = torch.ones(4)
    >>> x.is_set_to(x.view(4)), x.is_set_to(x.clone())
    (True, False)
    """
    a, b = self._array, tensor._array
    same = a.shape == b.shape and element_strides(a) == element_strides(b) and a.dtype == b.dtype
    return same and data_ptr(self) == data_ptr(tensor) != 0


# ---- changing the geometry in place ----------------------------------------------------------
@method()
def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Take another shape in the same storage; where that is too small, in new memory that begins
    with the old elements.

    New elements are not initialized.

    >>> import pellucid as torch
    >>> torch.tensor([[1, 2], [3, 4]]).resize_(3)
    tensor([1, 2, 3])
    """
    check_own(self, values=False)
    if self._rg and not local.inference:
        raise OperationError("cannot resize variables that require grad")
    shape = sizes_of(sizes, "resize_")
    if any(n < 0 for n in shape):
        raise OperationError("numel: integer multiplication overflow")
    a = self._array
    if memory_format is dtypes.preserve_format:
        raise OperationError("Unsupported memory formatPreserve")
    order = order_of(memory_format, len(shape))
    if shape == a.shape and memory_format is None:
        return self
    bump(self, "resize_")
    if type(a) is MetaArray:
        self._array = MetaArray(shape, a.dtype)
        return self
    strides = shapes.contiguous_strides(shape)
    _check_sizes(shape, strides, a.dtype.itemsize)
    if order is not None:
        strides = shapes.channels_last_strides(shape)
    self._array = _placed(a, shape, strides, storage_offset_of(self))
    return self


def _check_sizes(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> None:
    """Refuse sizes that overflow 64 bits."""
    limit = 1 << 63
    if math.prod(shape) >= limit:
        raise OperationError("numel: integer multiplication overflow")
    if any(s >= limit for s in strides):
        raise OperationError(f"Stride calculation overflowed with sizes={list(shape)}")
    if math.prod(shape) * itemsize >= limit:
        raise OperationError(
            f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(strides)}"
        )


@method()
def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """`self.resize_(the_template.size())`; `torch.preserve_format` stands for the template's own format.

    >>> import pellucid as torch
    >>> torch.tensor([[1, 2], [3, 4]]).resize_as_(torch.zeros(3))
    tensor([1, 2, 3])
    """
    if self.is_sparse and the_template.is_sparse:
        return self.resize_as_sparse_(the_template)
    if memory_format is dtypes.preserve_format:
        memory_format = suggested_format(the_template)
    return resize_(self, the_template._array.shape, memory_format=memory_format)


FUNCTIONS["torch"]["resize_as_"] = resize_as_


def _placed(a: ndarray, shape: Any, strides: Any, offset: int) -> ndarray:
    """Return the storage of `a` with another geometry. It grows (by a copy) if it is too small."""
    held, item = owner(a), a.dtype.itemsize
    needed = (
        offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        if 0 not in shape
        else 0
    )
    steps = tuple([s * item for s in strides])
    if needed * item > held.nbytes:
        check_resizable(held)
        grown = unset((needed,), a.dtype)
        old = UntypedStorage(held)._bytes()
        grown.view(np.uint8)[: len(old)] = old
        return np.ndarray(shape, a.dtype, grown, offset * item, steps)
    return np.ndarray(shape, a.dtype, UntypedStorage(held)._bytes(), offset * item, steps)


@method()
def set_(
    self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Show another tensor's memory, or a storage in the geometry given.

    >>> import pellucid as torch
    >>> x = torch.zeros(1)
    >>> x.set_(torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    check_own(self, values=False)
    if self._rg and self._node is None and self._view is None:
        check_writable(self, "set_")
    recorded = local.grad and (self._rg or isinstance(source, Tensor) and source._rg)
    if recorded and self._view is not None:
        raise OperationError("set_() on a view that requires gradients is not supported")
    before = joined(self._array, self._node) if recorded and self._rg else None
    if source is None:
        self._array = np.empty(0, self._array.dtype)
    elif isinstance(source, Tensor) and size is None:
        if source._array.dtype != self._array.dtype:
            raise OperationError(
                f"Could not set tensor of type {source.dtype.c_name} to a tensor of type {self.dtype.c_name}"
            )
        self._array = source._array
    else:
        held = (
            untyped_storage(source)
            if isinstance(source, Tensor)
            else source.untyped()
            if isinstance(source, TypedStorage)
            else source
        )
        if not isinstance(held, UntypedStorage):
            raise ArgumentTypeError(
                f"set_(): argument 'source' (position 1) must be Tensor, not {type_name(source)}"
            )
        if isinstance(source, TypedStorage) and source.dtype is not self.dtype:
            raise OperationError(
                f"Expected a Storage of type {self.dtype.c_name} or an UntypedStorage, but got type "
                f"{source.dtype.scalar_type_name} for argument 1 'storage'"
            )
        item = self._array.dtype.itemsize
        shape = tuple(size) if size is not None else (held.nbytes() // item,)
        strides = (
            tuple(stride)
            if stride or stride is not None and not shape
            else shapes.contiguous_strides(shape)
        )
        if 0 not in shape and held.resizable() and all(step >= 0 for step in strides):
            needed = (storage_offset + 1 + _span(shape, strides, 0)[1]) * item
            if needed > held.nbytes():  # the memory grows, as in PyTorch
                held.resize_(needed)
        shapes.check_as_strided(shape, strides, storage_offset, held.nbytes() // item, item)
        steps = tuple([s * item for s in strides])
        self._array = np.ndarray(
            shape, self._array.dtype, held._bytes(), storage_offset * item, steps
        )
    if not self.is_inference():
        bump(self, "set_")  # for the nodes that saved the old value
        count, self._ver = version_of(self).count, None
        version_of(self).count = count
    if recorded:
        # The old value no longer counts, and the tensor was not computed from the new one.
        rebase(self, underivable(make_tensor(self._array), (before, source), "set_")._node)
    return self
