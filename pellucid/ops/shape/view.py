"""Views that show all elements in another shape or order: view, reshape, flatten, transpose,
permute, squeeze, expand and kin.

A view's forward rule returns a NumPy view with PyTorch's strides. The public functions make the
NumPy view themselves in the usual case and hand it to `view_result`; meta tensors, subclasses,
observers and errors go through the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from ... import dtypes, shapes
from ...backends.numpy_cpu import broadcast_to as broadcast_array
from ...backends.numpy_cpu import element_offset
from ...core.bind import view_result
from ...core.modes import state
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import METHODS, PROPERTIES, method, public
from ...core.tape import titled
from ...core.tensor import Parameter, Tensor
from ...errors import ArgumentTypeError, DimensionError, OperationError, ShapeError, warn_once
from .._rules import as_index, keyword, require_tensor
from .._samples import cases
from ..pointwise.basic import expand as expand_op


def sizes_of(args: Sequence[Any], name: str, argument: str = "size") -> tuple[int, ...]:
    """The sizes of a call `f(2, 3)` or `f((2, 3))`."""
    if len(args) == 1 and not isinstance(args[0], int):
        only = args[0]
        args = only if isinstance(only, Sequence) else (only,)
    try:
        return tuple([as_index(size) for size in args])
    except TypeError:
        for position, size in enumerate(args):
            if not hasattr(size, "__index__"):
                raise ArgumentTypeError(
                    f"{name}(): argument '{argument}' (position 1) must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {position}"
                ) from None
        raise


def element_strides(a: Any) -> tuple[int, ...]:
    """Strides in elements."""
    size = a.dtype.itemsize
    return tuple([s // size for s in a.strides])


def viewable(x: Any, shape: Sequence[int]) -> bool:
    """Whether a view of these sizes needs no copy; of a tensor with data or without."""
    array = x._array
    stand_in = np.lib.stride_tricks.as_strided(np.empty(1, array.dtype), array.shape, array.strides)
    try:
        view_op.numpy_forward(stand_in, shape=tuple(shape))
    except Exception:  # whatever the refusal says: it is one
        return False
    return True


def is_fast(x: Any) -> bool:
    """True for a plain tensor with data when nobody watches."""
    kind = type(x)
    return (kind is Tensor or kind is Parameter) and not state.slow and type(x._array) is ndarray


# ---- view and reshape ------------------------------------------------------------------------
def _view(xp: Any, x: Any, *, shape: tuple[int, ...]) -> Any:
    if type(x) is not ndarray:
        return xp.reshape(x, shape)
    if x.flags.c_contiguous:
        return x.reshape(shape)
    strides = shapes.view_strides(x.shape, x.strides, shape)
    if strides is None:
        raise OperationError(shapes.VIEW_REFUSED)
    if 0 in x.shape:
        return x.reshape(shape)
    item = x.dtype.itemsize
    # view_strides counts the innermost stride of a scalar as 1 element; the other strides scale
    # with what went in.
    return xp.strided(x, shape, strides if x.ndim else (item,) * len(shape))


def _batch_shape(b: Any) -> Any:
    try:
        return b.call(b[0], shape=(b.size, *b.p["shape"]))
    except RuntimeError:
        if b.op.view:  # a batch with these strides has no such view, its samples have
            return None
        raise


view_op = defop(
    "view",
    "input",
    forward=_view,
    view=True,
    aval=None,
    vjp={"input": lambda F, g, input_shape: F.reshape(g, shape=input_shape)},
    jvp="linear",
    batch=_batch_shape,
    traits="passes",
    onnx=lambda c: c.reshape(c[0], c.p["shape"], c.shape()),
    aten=lambda A, x, *, shape: A.view(x, list(shape)),
    samples=cases(
        (((2, 3, 4),), {"shape": (6, 4)}),
        (((),), {"shape": (1, 1)}),
        (((0, 3),), {"shape": (3, 0)}),
        complex=True,
    ),
)

alias_op = defop(
    "alias",
    "input",
    forward=lambda xp, x: x[...],
    view=True,
    vjp={"input": lambda g: g},
    jvp="linear",
    batch="leading",
    traits="passes diagonal",
    title="view",
    onnx="Identity",
    samples=cases((((2, 3),), {}), (((),), {}), complex=True),
)

# A recorded gradient that stays connected to arguments it does not depend on (the field `linked` of
# records).
linked_op = defop(
    "linked",
    "input *others",
    forward=lambda xp, x, *others, zeros: x[...],
    view=True,
    aval=lambda x, *others, zeros: x,
    vjp=lambda F, g, input_dtype, others_shapes, zeros: (
        g,
        *[
            F.full(shape=s, value=0, dtype=input_dtype) if z else None
            for s, z in zip(others_shapes, zeros, strict=True)
        ],
    ),
    jvp=lambda F, tangents: tangents[0],
    traits="passes",
    samples=cases((((2, 3), (2, 3), (4,)), {"zeros": (True, True)})),
)

# The copy that `reshape` makes where no view exists.
unsafe_view_op = defop(
    "unsafe_view",
    "input",
    forward=lambda xp, x, *, shape: xp.reshape(x, shape),
    aval=lambda x, shape: (shape, x[1]),
    vjp={"input": lambda F, g, input_shape: F.reshape(g, shape=input_shape)},
    jvp="linear",
    batch=_batch_shape,
    traits="passes",
    title="view",
    onnx=lambda c: c.reshape(c[0], c.p["shape"], c.shape()),
    aten=lambda A, x, *, shape: A._unsafe_view(x, list(shape)),
    samples=cases((((2, 3, 4),), {"shape": (6, 4)}), (((0, 3),), {"shape": (0,)})),
)


def _reshape_to(x: Tensor, shape: Sequence[int]) -> Tensor:
    """View or copy of known shape (one size may be -1)."""
    a = x._array
    if type(a) is ndarray and a.flags.c_contiguous and is_fast(x):
        try:
            r = a.reshape(shape)
        except ValueError:
            r = a.reshape(shapes.infer_size(shape, a.size))
        if r.shape != shape and min(shape, default=0) < -1:
            shapes.infer_size(shape, a.size)
        return view_result(view_op, x, r, {"shape": r.shape})
    shape = shapes.infer_size(tuple(shape), a.size)
    strides = shapes.view_strides(a.shape, element_strides(a), shape)
    return (
        view_op.call(x, shape=shape) if strides is not None else unsafe_view_op.call(x, shape=shape)
    )


# What gradient rules call: `F.reshape(x, shape=...)` is a view or a copy, whichever it must be.
reshape_op = defop(
    "reshape",
    "input",
    forward=lambda xp, x, *, shape: xp.reshape(x, shape),
    aval=lambda x, shape: (shape, x[1]),
    vjp={"input": lambda F, g, input_shape: F.reshape(g, shape=input_shape)},
    jvp="linear",
    batch=_batch_shape,
    traits="passes",
    onnx=lambda c: c.reshape(c[0], c.p["shape"], c.shape()),
    call=lambda _: lambda x, *, shape: _reshape_to(x, shape),
    aten=lambda A, x, *, shape: (
        A.view(x, list(shape)) if viewable(x, shape) else A._unsafe_view(A.clone(x), list(shape))
    ),
    samples=cases(
        (((2, 3, 4),), {"shape": (4, 6)}),
        (((1,),), {"shape": ()}),
        (((0, 3),), {"shape": (3, 0)}),
        complex=True,
    ),
)


@method()
def view(self: Tensor, *shape: Any, **named: Any) -> Tensor:
    """View the same memory in another shape, or as another dtype.

    Args:
        shape: the new sizes, of which one may be -1. A dtype instead reinterprets the bytes.

    Raises:
        RuntimeError: another number of elements, or strides that no view can have. Use `reshape`.

    >>> import pellucid as torch
    >>> torch.arange(6).view(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    if not isinstance(self, Tensor):
        require_tensor(self, "view", "self")
    if named:
        shape = (keyword(named, "view", "size", "dtype"),)
    if len(shape) == 1:
        only = shape[0]
        if dtypes.is_dtype(only):
            return _view_dtype(self, dtypes.check_dtype(only, "view") or self.dtype)
        if type(only) is not int:
            shape = sizes_of(shape, "view")
    a = self._array
    if type(a) is ndarray and a.flags.c_contiguous and is_fast(self):
        try:
            r = a.reshape(shape)
        except (ValueError, TypeError):
            r = a.reshape(shapes.infer_size(sizes_of(shape, "view"), a.size))
        if r.shape != shape and min(shape, default=0) < -1:
            shapes.infer_size(shape, a.size)
        return view_result(view_op, self, r, {"shape": r.shape})
    if not shape and a.size != 1:
        raise ShapeError(f"shape '[]' is invalid for input of size {a.size}")
    return _strict_view(self, shapes.infer_size(sizes_of(shape, "view"), a.size))


def _strict_view(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    a = x._array
    if shapes.view_strides(a.shape, element_strides(a), shape) is None:
        maker = x.grad_fn
        notes = [f"the tensor's sizes are {list(a.shape)}, its strides {list(element_strides(a))}"]
        link = (
            x._view.chain[-1][0].name
            if x._view is not None
            else getattr(getattr(maker, "op", None), "name", None)
        )
        if link is not None:
            where = f" at {maker.line}" if maker is not None and maker.line else ""
            notes.append(f"it became non-contiguous by {link}{where}")
        raise OperationError(
            shapes.VIEW_REFUSED,
            op="view",
            notes=notes,
            hint="call .reshape(...), or .contiguous() before .view(...)",
        )
    return view_op.call(x, shape=shape)


@public(methods="=")
def reshape(input: Tensor, *shape: Any, **named: Any) -> Tensor:
    """Change the shape. The result is a view where possible, otherwise a copy.

    Args:
        input: any shape and dtype.
        shape: the new sizes. One of them may be -1, and is computed from the others.

    Raises:
        RuntimeError: the shape has another number of elements.

    >>> import pellucid as torch
    >>> torch.reshape(torch.arange(4), (2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    if named:
        shape = (keyword(named, "reshape", "shape"),)
    if len(shape) != 1 or type(shape[0]) is not int:
        shape = sizes_of(shape, "reshape", "shape")
    if not isinstance(input, Tensor):
        require_tensor(input, "reshape")
    return _reshape_to(input, shape)


@method()
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """View in the shape of another tensor; same as `view(other.size())`.

    >>> import pellucid as torch
    >>> torch.arange(4).view_as(torch.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return view(self, *require_tensor(other, "view_as", "other")._array.shape)


@method()
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """Reshape to the shape of another tensor; same as `reshape(other.size())`.

    >>> import pellucid as torch
    >>> torch.arange(4).reshape_as(torch.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return _reshape_to(self, require_tensor(other, "reshape_as", "other")._array.shape)


@public(methods="=")
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Flatten dimensions `start_dim` to `end_dim` into one. A view where possible, otherwise a
    copy.

    Args:
        input: any shape and dtype.
        start_dim: the first dimension to flatten. Default: 0.
        end_dim: the last one. Default: -1.

    >>> import pellucid as torch
    >>> torch.flatten(torch.ones(2, 3, 4), 1).shape
    torch.Size([2, 12])
    """
    a = require_tensor(input, "flatten")._array
    if start_dim == end_dim and a.ndim:
        shapes.normalize_dim(start_dim, a.ndim)
        return input
    shape = shapes.flatten_shape(a.shape, start_dim, end_dim)
    return input if shape == a.shape else _reshape_to(input, shape)


@public(methods="=")
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension.

    >>> import pellucid as torch
    >>> torch.ravel(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 2, 3, 4])
    """
    return _reshape_to(require_tensor(input, "ravel"), (-1,) if input._array.size else (0,))


@public(methods="=")
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Split dimension `dim` into several. The result is a view.

    Args:
        input: any shape and dtype.
        dim: the dimension.
        sizes: the new sizes; one of them may be -1.

    >>> import pellucid as torch
    >>> torch.unflatten(torch.ones(2, 12), 1, (3, -1)).shape
    torch.Size([2, 3, 4])
    """
    shape = require_tensor(input, "unflatten")._array.shape
    return _reshape_to(
        input, shapes.unflatten_shape(shape, dim, sizes_of((sizes,), "unflatten", "sizes"))
    )


# ---- another dtype ---------------------------------------------------------------------------
view_dtype_op = defop(
    "view_dtype", "input", forward=lambda xp, x, *, dtype: x.view(dtype), view=True
)


def _differentiable(kind: dtypes.dtype) -> bool:
    return kind.is_floating_point or kind.is_complex


def _view_dtype(x: Tensor, kind: dtypes.dtype) -> Tensor:
    a, target = x._array, kind.numpy
    if a.dtype == target:
        return alias_op.call(x)
    own, new = a.dtype.itemsize, target.itemsize
    if own != new:
        names = f"to view {x.dtype.scalar_type_name} as {kind.scalar_type_name} (different element sizes)"
        if a.ndim == 0:
            raise OperationError(f"self.dim() cannot be 0 {names}")
        strides = element_strides(a)
        if strides[-1] != 1 and a.size:
            raise OperationError(f"self.stride(-1) must be 1 {names}, but got {strides[-1]}")
        if own < new:
            ratio = new // own
            if a.shape[-1] % ratio:
                raise OperationError(
                    f"self.size(-1) must be divisible by {ratio} {names}, but got {a.shape[-1]}"
                )
            if (offset := element_offset(a)) % ratio:
                raise OperationError(
                    f"self.storage_offset() must be divisible by {ratio} {names}, but got {offset}"
                )
            for dim, stride in enumerate(strides[:-1]):
                if stride % ratio and a.size:
                    raise OperationError(
                        f"self.stride({dim}) must be divisible by {ratio} {names}, but got {stride}"
                    )
    made = view_dtype_op.call(x, dtype=target)
    if made._view is not None and not (_differentiable(x.dtype) and _differentiable(kind)):
        # no gradient passes: what is written through it is not for the base's graph
        made._view.kind, made._rg = "bits", False
    return made


# ---- order of dimensions ---------------------------------------------------------------------
def _inverse(dims: tuple[int, ...]) -> tuple[int, ...]:
    inverse = [0] * len(dims)
    for new, old in enumerate(dims):
        inverse[int(old)] = new  # the dimensions may be counted from the end
    return tuple(inverse)


def _onnx_permute(c: Any) -> Any:
    rank = len(c.shape())
    return (
        c.emit("Transpose", c[0], perm=[d % rank for d in c.p["dims"]])
        if rank
        else c.emit("Identity", c[0])
    )


permute_op = defop(
    "permute",
    "input",
    forward=lambda xp, x, *, dims: xp.transpose(x, dims),
    view=True,
    vjp={"input": lambda F, g, dims: F.permute(g, dims=_inverse(dims))},
    jvp="linear",
    batch=lambda b: b.call(b[0], dims=(0, *[d % b.ndim + 1 for d in b.p["dims"]])),
    traits="passes",
    onnx=_onnx_permute,
    aten=lambda A, x, *, dims: A.permute(x, list(dims)),
    samples=cases(
        (((2, 3, 4),), {"dims": (2, 0, 1)}),
        (((),), {"dims": ()}),
        (((0, 3),), {"dims": (1, 0)}),
        complex=True,
    ),
)


def _onnx_transpose(c: Any) -> Any:
    perm = list(range(len(c.shape())))
    if not perm:
        return c.emit("Identity", c[0])
    i, j = c.p["dim0"], c.p["dim1"]
    perm[i], perm[j] = perm[j], perm[i]
    return c.emit("Transpose", c[0], perm=perm)


transpose_op, t_op = (
    defop(
        name,
        "input",
        forward=lambda xp, x, *, dim0, dim1: xp.swapaxes(x, dim0, dim1),
        view=True,
        vjp={
            "input": (lambda F, g, dim0, dim1: F.t(g, dim0=dim0, dim1=dim1))
            if name == "t"
            else lambda F, g, dim0, dim1: F.transpose(g, dim0=dim0, dim1=dim1)
        },
        jvp="linear",
        batch="dims",
        onnx=_onnx_transpose,
        traits="passes",
        samples=cases((((2, 3),), {"dim0": 0, "dim1": 1}), complex=True),
        aten=(lambda A, x, *, dim0, dim1: A.t(x))
        if name == "t"
        else lambda A, x, *, dim0, dim1: A.transpose(x, dim0, dim1),
    )
    for name in ("transpose", "t")
)


@public(methods="=")
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions. The result is a view.

    Args:
        input: any shape and dtype.
        dim0, dim1: the two dimensions.

    >>> import pellucid as torch
    >>> torch.ones(2, 3).transpose(0, 1).shape
    torch.Size([3, 2])
    """
    if type(input) is Tensor and not state.slow:
        try:
            r = input._array.swapaxes(dim0, dim1)
        except Exception:
            pass
        else:
            return view_result(transpose_op, input, r, {"dim0": dim0, "dim1": dim1})
    ndim = require_tensor(input, "transpose")._array.ndim
    first, second = shapes.normalize_dim(dim0, ndim), shapes.normalize_dim(dim1, ndim)
    if not ndim:
        return alias_op.call(input)
    return transpose_op.call(input, dim0=first, dim1=second)


def _swap(name: str, first: str, second: str) -> None:
    """`swapaxes(axis0, axis1)`, `swapdims(dim0, dim1)`: `transpose` under other names of its
    arguments.
    """

    def function(input: Tensor, *args: int, **named: int) -> Tensor:
        given = list(args)
        for key in (first, second)[len(given) :]:
            if key not in named:
                raise ArgumentTypeError(
                    f'{name}() missing 1 required positional arguments: "{key}"'
                )
            given.append(named.pop(key))
        if named or len(given) > 2:
            raise ArgumentTypeError(f"{name}() got unexpected arguments")
        return transpose(input, *given)

    function.__name__ = name
    function.__doc__ = "Alias of :func:`transpose`."
    public(names=name, methods="=")(function)


_swap("swapaxes", "axis0", "axis1")
_swap("swapdims", "dim0", "dim1")


@public(methods="=")
def t(input: Tensor) -> Tensor:
    """Transpose a matrix, as a view. Vectors and scalars stay as they are.

    >>> import pellucid as torch
    >>> torch.t(torch.tensor([[1, 2], [3, 4]]))
    tensor([[1, 3],
            [2, 4]])
    """
    ndim = require_tensor(input, "t")._array.ndim
    if ndim == 2 and is_fast(input):
        return view_result(t_op, input, input._array.T, {"dim0": 0, "dim1": 1})
    if ndim > 2:
        raise ShapeError(f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D")
    return t_op.call(input, dim0=0, dim1=1) if ndim == 2 else alias_op.call(input)


@public(methods="=")
def permute(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """Reorder the dimensions. The result is a view.

    Args:
        input: any shape and dtype.
        dims: every dimension once, in the new order.

    >>> import pellucid as torch
    >>> torch.permute(torch.ones(2, 3, 5), (2, 0, 1)).shape
    torch.Size([5, 2, 3])
    """
    if named:
        dims = (keyword(named, "permute", "dims"),)
    if type(input) is Tensor and not state.slow and type(input._array) is ndarray:
        order = dims[0] if len(dims) == 1 and type(dims[0]) is not int else dims
        try:
            return view_result(
                permute_op, input, input._array.transpose(order), {"dims": tuple(order)}
            )
        except (ValueError, TypeError, IndexError):
            pass
    a = require_tensor(input, "permute")._array
    order = shapes.permutation(sizes_of(dims, "permute", "dims"), a.ndim)
    return permute_op.call(input, dims=order)


@public(names="movedim moveaxis", methods="=")
def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Move dimensions to new positions; the others keep their order. The result is a view.

    Args:
        input: any shape and dtype.
        source: a dimension or several.
        destination: where each of them goes.

    >>> import pellucid as torch
    >>> torch.movedim(torch.ones(2, 3, 5), 0, -1).shape
    torch.Size([3, 5, 2])
    """
    ndim = require_tensor(input, "movedim")._array.ndim
    before = (source,) if not isinstance(source, Iterable) else tuple(source)
    after = (destination,) if not isinstance(destination, Iterable) else tuple(destination)
    if len(before) != len(after):
        raise OperationError(
            "movedim: Invalid source or destination dims: source "
            f"({shapes.text(before)} dims) should contain the same number of dims as destination ({shapes.text(after)} dims)"
        )
    given = before, after
    before = tuple(shapes.normalize_dim(d, ndim) for d in before)
    after = tuple(shapes.normalize_dim(d, ndim) for d in after)
    for which, dims, shown in (("source", before, given[0]), ("destination", after, given[1])):
        if len(set(dims)) != len(dims):
            raise OperationError(f"movedim: repeated dim in `{which}` ({shapes.text(shown)})")
    if not ndim:
        return alias_op.call(input)
    rest = iter([d for d in range(ndim) if d not in before])
    place = dict(zip(after, before, strict=True))
    return permute_op.call(
        input, dims=tuple(place[d] if d in place else next(rest) for d in range(ndim))
    )


def _turned(name: str, doc: str, make: Any) -> None:
    make.__name__, make.__doc__ = name, doc
    PROPERTIES[name] = make


def _reversed_dims(x: Tensor) -> Tensor:
    if x._array.ndim == 2 and is_fast(x):
        return view_result(permute_op, x, x._array.T, {"dims": (1, 0)})
    if x._array.ndim not in (0, 2):
        from warnings import warn

        warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error in "
            "a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
            "reverse the dimensions of a tensor.",
            UserWarning,
            stacklevel=2,
        )
    return permute_op.call(x, dims=tuple(range(x._array.ndim - 1, -1, -1)))


def _matrix_transposed(x: Tensor) -> Tensor:
    ndim = x._array.ndim
    if ndim == 0:
        warn_once(
            "Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases."
        )
        return x
    if ndim < 2:
        raise OperationError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {ndim}-D tensor."
        )
    return transpose_op.call(x, dim0=-2, dim1=-1)


def _conjugated(x: Tensor) -> Tensor:
    return F.conj(x) if x._array.dtype.kind == "c" else x


def _h(x: Tensor) -> Tensor:
    ndim = x._array.ndim
    if ndim == 0:
        warn_once("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().")
        return _conjugated(x)
    if ndim != 2:
        raise OperationError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor."
            + (" For batches of matrices, consider using tensor.mH" if ndim > 2 else "")
        )
    return _conjugated(transpose_op.call(x, dim0=0, dim1=1))


def _mh(x: Tensor) -> Tensor:
    ndim = x._array.ndim
    if ndim == 0:
        warn_once("Tensor.mH is deprecated on 0-D tensors. Consider using x.conj().")
        return _conjugated(x)
    if ndim < 2:
        raise OperationError(
            f"tensor.mH is only supported on matrices or batches of matrices. Got {ndim}-D tensor."
        )
    return _conjugated(transpose_op.call(x, dim0=-2, dim1=-1))


_turned("T", "The dimensions in reverse order, as a view.", _reversed_dims)
_turned("mT", "The last two dimensions exchanged, as a view.", _matrix_transposed)
_turned("H", "A matrix transposed and conjugated.", _h)
_turned("mH", "The last two dimensions exchanged and the values conjugated.", _mh)


@public(methods="=")
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged and the values conjugated.

    >>> import pellucid as torch
    >>> torch.adjoint(torch.tensor([[1.0, 2.0]])).shape
    torch.Size([2, 1])
    """
    ndim = require_tensor(input, "adjoint")._array.ndim
    if ndim == 0:
        warn_once("adjoint() is deprecated on 0-D tensors. Consider using x.conj().")
        return _conjugated(input)
    if ndim < 2:
        raise OperationError(
            f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {ndim}-D tensor."
        )
    return _mh(input)


# ---- dimensions of size 1 --------------------------------------------------------------------
def _onnx_squeeze(c: Any) -> Any:
    shape = c.shape()
    dims = c.p["dims"]
    wanted = (
        range(len(shape)) if dims is None else dims if isinstance(dims, (tuple, list)) else (dims,)
    )
    axes = [int(d) for d in wanted if shape[d] == 1]
    return c.emit("Squeeze", c[0], c.ints(axes)) if axes else c.emit("Identity", c[0])


squeeze_op = defop(
    "squeeze",
    "input",
    forward=lambda xp, x, *, dims: xp.squeeze(x, axis=dims),
    view=True,
    vjp={"input": lambda F, g, input_shape: F.reshape(g, shape=input_shape)},
    jvp="linear",
    batch="dims",
    traits="passes",
    onnx=_onnx_squeeze,
    aten=lambda A, x, *, dims: (
        A.squeeze.dim(x, dims[0]) if len(dims) == 1 else A.squeeze.dims(x, list(dims))
    ),
    samples=cases(
        (((2, 1, 3, 1),), {"dims": (1, 3)}),
        (((2, 1, 3),), {"dims": (1,)}),
        (((0, 1),), {"dims": (1,)}),
    ),
)


def _unsqueeze(xp: Any, x: Any, *, dim: int) -> Any:
    shape = (*x.shape[:dim], 1, *x.shape[dim:])
    if type(x) is not ndarray:
        return xp.reshape(x, shape)
    if x.flags.c_contiguous:
        return x.reshape(shape)
    step = x.strides[dim] * x.shape[dim] if dim < x.ndim else x.dtype.itemsize
    return xp.strided(x, shape, (*x.strides[:dim], step, *x.strides[dim:]))


unsqueeze_op = defop(
    "unsqueeze",
    "input",
    forward=_unsqueeze,
    view=True,
    vjp={"input": lambda F, g, input_shape: F.reshape(g, shape=input_shape)},
    jvp="linear",
    batch=lambda b: b.along_dims(),
    traits="passes",
    onnx=lambda c: c.emit("Unsqueeze", c[0], c.ints([c.p["dim"]])),
    aten=lambda A, x, *, dim: A.unsqueeze(x, dim),
    samples=cases((((2, 3),), {"dim": 1}), (((),), {"dim": 0}), (((0, 3),), {"dim": 2})),
)


@public(methods="=")
def squeeze(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Remove dimensions of size 1. The result is a view.

    Args:
        input: any shape and dtype.
        dim: a dimension or several; those of another size stay. Default: all of size 1.

    >>> import pellucid as torch
    >>> torch.squeeze(torch.ones(1, 3, 1), 0).shape
    torch.Size([3, 1])
    """
    shape = require_tensor(input, "squeeze")._array.shape
    if dim is None:
        wanted: Iterable[int] = range(len(shape))
    elif isinstance(dim, Sequence):
        wanted = shapes.normalize_dims(dim, len(shape))
    else:
        wanted = (shapes.normalize_dim(as_index(dim), len(shape)),)
    dims = tuple([d for d in wanted if shape and shape[d] == 1])
    result = squeeze_op.call(input, dims=dims)
    return (
        result
        if dim is None
        else titled(result, f"SqueezeBackward{2 if isinstance(dim, Sequence) else 1}")
    )


@public(methods="=")
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Insert a dimension of size 1 at position `dim`. The result is a view.

    Args:
        input: any shape and dtype.
        dim: where it goes in the result; negative counts from the end.

    >>> import pellucid as torch
    >>> torch.unsqueeze(torch.tensor([1, 2]), 1).shape
    torch.Size([2, 1])
    """
    a = require_tensor(input, "unsqueeze")._array
    place = dim + a.ndim + 1 if dim < 0 else dim
    if not 0 <= place <= a.ndim:
        raise DimensionError(
            f"Dimension out of range (expected to be in range of [{-a.ndim - 1}, {a.ndim}], but got {dim})"
        )
    if type(a) is ndarray and a.flags.c_contiguous and is_fast(input):
        return view_result(
            unsqueeze_op, input, a.reshape((*a.shape[:place], 1, *a.shape[place:])), {"dim": place}
        )
    return unsqueeze_op.call(input, dim=place)


def _atleast(n: int, grow: Any) -> None:
    name = f"atleast_{n}d"

    def function(*tensors: Any) -> Any:
        if len(tensors) == 1:
            if isinstance(tensors[0], (tuple, list)):
                return tuple(function(x) for x in tensors[0])
            return grow(require_tensor(tensors[0], name))
        return tuple(function(x) for x in tensors)

    function.__name__ = name
    function.__doc__ = (
        f"Each tensor with at least {n} dimension{'s' if n > 1 else ''}; several give a tuple."
    )
    public(names=name)(function)


_atleast(1, lambda x: x if x._array.ndim else _reshape_to(x, (1,)))
_atleast(
    2,
    lambda x: (
        x if x._array.ndim > 1 else unsqueeze(x, 0) if x._array.ndim else _reshape_to(x, (1, 1))
    ),
)
_atleast(
    3,
    lambda x: {
        0: lambda: _reshape_to(x, (1, 1, 1)),
        1: lambda: unsqueeze(unsqueeze(x, 0), -1),
        2: lambda: unsqueeze(x, -1),
    }.get(x._array.ndim, lambda: x)(),
)


# ---- expanding -------------------------------------------------------------------------------
def legacy_type(x: Tensor) -> str:
    """`torch.FloatTensor`, as older messages name types."""
    return f"torch.{x.dtype.scalar_type_name}Tensor"


@method()
def expand(self: Tensor, *size: Any, implicit: bool = False, **named: Any) -> Tensor:
    """Broadcast to a larger shape, as a view. Nothing is copied, so do not write to the result.

    Args:
        size: the new sizes. -1 keeps a size, dimensions of size 1 are stretched, and new dimensions
            go in front.

    Raises:
        RuntimeError: a size other than 1 would change.

    >>> import pellucid as torch
    >>> torch.tensor([[1], [2]]).expand(-1, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    if named:
        size = (keyword(named, "expand", "size"),)
    if type(self) is Tensor and not state.slow and type(self._array) is ndarray:
        wanted = size[0] if len(size) == 1 and type(size[0]) in (tuple, dtypes.Size) else size
        if -1 in wanted and len(wanted) >= self._array.ndim:
            before = len(wanted) - self._array.ndim  # new dimensions have no size to keep
            own = (-1,) * before + self._array.shape
            wanted = tuple([kept if n == -1 else n for n, kept in zip(wanted, own)])
        if -1 not in wanted:
            try:
                return view_result(
                    expand_op, self, broadcast_array(self._array, wanted), {"shape": tuple(wanted)}
                )
            except (ValueError, TypeError):
                pass
    a = require_tensor(self, "expand")._array
    shape, _ = shapes.expand(a.shape, (1,) * a.ndim, sizes_of(size, "expand"), legacy_type(self))
    return expand_op.call(self, shape=shape)


@method()
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Broadcast to the shape of another tensor; same as `expand(other.size())`.

    >>> import pellucid as torch
    >>> torch.tensor([1, 2]).expand_as(torch.zeros(2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return expand(self, require_tensor(other, "expand_as", "other")._array.shape)


@public(methods="=")
def broadcast_to(input: Tensor, *size: Any, **named: Any) -> Tensor:
    """Broadcast a tensor to a shape, as a view. Same as `input.expand(size)`.

    Args:
        input: any shape that broadcasts to `size`.
        size: the sizes of the result.

    >>> import pellucid as torch
    >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return expand(require_tensor(input, "broadcast_to"), *size, **named)


@public()
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape.

    >>> import pellucid as torch
    >>> a, b = torch.broadcast_tensors(torch.ones(3, 1), torch.ones(2))
    >>> a.shape == b.shape == (3, 2)
    True
    """
    for position, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(
                f"expected Tensor as element {position} in argument 0, but got {type(x).__name__}"
            )
    shape = shapes.broadcast_shapes(*[x._array.shape for x in tensors])
    return tuple(x if x._array.shape == shape else expand(x, shape) for x in tensors)


@public()
def broadcast_shapes(*shapes_: Any) -> dtypes.Size:
    """The common shape of operands.

    >>> import pellucid as torch
    >>> torch.broadcast_shapes((2,), (3, 1))
    torch.Size([3, 2])
    """
    return dtypes.Size(shapes.broadcast_shapes_api(*shapes_))


METHODS["adjoint"] = adjoint
