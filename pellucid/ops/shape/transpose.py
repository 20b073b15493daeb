"""Reordering of dimensions: permute, transpose, movedim, `T` and others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from numpy import ndarray

from ... import shapes
from ...core import bind
from ...core.modes import state
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import METHODS, PROPERTIES, public
from ...core.tape import titled
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, OperationError, ShapeError, warn_once
from .._rules import keyword, require_tensor
from .._samples import cases
from ._sizes import is_fast, sizes_of
from .view import alias_op


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
            return bind.view_result(transpose_op, input, r, {"dim0": dim0, "dim1": dim1})
    ndim = require_tensor(input, "transpose")._array.ndim
    first, second = shapes.normalize_dim(dim0, ndim), shapes.normalize_dim(dim1, ndim)
    if not ndim:
        return titled(alias_op.call(input), "Transpose")
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
    function.__doc__ = (
        "Alias of :func:`transpose`.\n\n"
        f">>> import pellucid as torch\n>>> torch.{name}(torch.ones(2, 3), 0, 1).shape\n"
        "torch.Size([3, 2])\n"
    )
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
    fast = is_fast(input)
    ndim = (input if fast else require_tensor(input, "t"))._array.ndim
    if fast and ndim == 2:
        return bind.view_result(t_op, input, input._array.T, {"dim0": 0, "dim1": 1})
    if ndim > 2:
        raise ShapeError(f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D")
    return t_op.call(input, dim0=0, dim1=1) if ndim == 2 else titled(alias_op.call(input), "T")


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
            return bind.view_result(
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
    if type(source) is int and type(destination) is int and -ndim <= source < ndim > 1:
        if -ndim <= destination < ndim:
            order = list(range(ndim))
            order.insert(destination % ndim, order.pop(source))
            return permute_op.call(input, dims=tuple(order))
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


def _warn_of_numbers(name: str) -> None:
    warn_once(
        f"Tensor.{name} is deprecated on 0-D tensors. This function is the identity in these cases."
    )


def _reversed_dims(x: Tensor) -> Tensor:
    if x._array.ndim == 2 and is_fast(x):
        return bind.view_result(permute_op, x, x._array.T, {"dims": (1, 0)})
    if not x._array.ndim:
        _warn_of_numbers("T")
    elif x._array.ndim != 2:
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error in "
            "a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
            "reverse the dimensions of a tensor."
        )
    return permute_op.call(x, dims=tuple(range(x._array.ndim - 1, -1, -1)))


def _matrix_transposed(x: Tensor) -> Tensor:
    ndim = x._array.ndim
    if ndim == 0:
        _warn_of_numbers("mT")
        return x
    if ndim < 2:
        raise OperationError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {ndim}-D tensor."
        )
    return transpose_op.call(x, dim0=-2, dim1=-1)


def _conjugated(x: Tensor) -> Tensor:
    return F.conj(x) if x._array.dtype.kind in "cW" else x


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


METHODS["adjoint"] = adjoint
