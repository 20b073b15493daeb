"""Removal and insertion of dimensions of size 1: squeeze, unsqueeze, atleast_1d and others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from numpy import ndarray

from ... import shapes
from ...core import bind
from ...core.primitive import defop
from ...core.public import method, public
from ...core.tape import titled
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, DimensionError, type_name
from .._rules import as_index, checked_tensors, require_tensor
from .._samples import cases
from ._sizes import is_fast
from .view import reshape_to


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
    shows={"dim": "dims"},
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


@public()
def squeeze(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Remove dimensions of size 1. The result is a view.

    Args:
        input: any shape and dtype.
        dim: a dimension or several; those of another size stay. Default: all of size 1.

    >>> import pellucid as torch
    >>> torch.squeeze(torch.ones(1, 3, 1), 0).shape
    torch.Size([3, 1])
    """
    fast = is_fast(input)
    a = (input if fast else require_tensor(input, "squeeze"))._array
    shape, several = a.shape, False
    if dim is None:
        wanted: Iterable[int] = range(len(shape))
    elif type(dim) is not int and isinstance(dim, Sequence):
        several, wanted = True, shapes.normalize_dims(dim, len(shape))
    else:
        wanted = (shapes.normalize_dim(as_index(dim), len(shape)),)
    dims = tuple([d for d in wanted if shape and shape[d] == 1])
    if fast:
        result = bind.view_result(squeeze_op, input, a.squeeze(dims), {"dims": dims})
    else:
        result = squeeze_op.call(input, dims=dims)
    return result if dim is None else titled(result, f"SqueezeBackward{2 if several else 1}")


@method("squeeze")
def squeeze_of_tensor(self: Tensor, dim: int | Sequence[int] | None = None, *more: int) -> Tensor:
    """`squeeze(0, 2)` is `squeeze((0, 2))`."""
    return squeeze(self, (dim, *more) if more else dim)  # type: ignore[arg-type]


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
    fast = is_fast(input)
    a = (input if fast else require_tensor(input, "unsqueeze"))._array
    place = dim + a.ndim + 1 if dim < 0 else dim
    if not 0 <= place <= a.ndim:
        raise DimensionError(
            f"Dimension out of range (expected to be in range of [{-a.ndim - 1}, {a.ndim}], but got {dim})"
        )
    if fast and a.flags.c_contiguous:
        return bind.view_result(
            unsqueeze_op, input, a.reshape((*a.shape[:place], 1, *a.shape[place:])), {"dim": place}
        )
    return unsqueeze_op.call(input, dim=place)


def _atleast(n: int, grow: Any) -> None:
    name = f"atleast_{n}d"

    def function(*tensors: Any) -> Any:
        if len(tensors) == 1 and not isinstance(tensors[0], (tuple, list)):
            if not isinstance(tensors[0], Tensor):
                kind = type_name(tensors[0])
                why = f"      didn't match because some of the arguments have invalid types: (!{kind}!)"
                raise ArgumentTypeError(
                    f"{name}() received an invalid combination of arguments - got ({kind}), but expected one of:\n"
                    f" * (Tensor input)\n{why}\n * (tuple of Tensors tensors)\n{why}\n"
                )
            return grow(tensors[0])
        several = tensors[0] if len(tensors) == 1 else tensors
        return tuple([grow(x) for x in checked_tensors(several)])

    function.__name__ = name
    function.__doc__ = (
        f"Each tensor with at least {n} dimension{'s' if n > 1 else ''}; several give a tuple.\n\n"
        f">>> import pellucid as torch\n>>> torch.{name}(torch.tensor(1.0)).shape\n"
        f"torch.Size({[1] * n})\n"
    )
    public(names=name)(function)


_atleast(1, lambda x: x if x._array.ndim else reshape_to(x, (1,)))
_atleast(
    2,
    lambda x: (
        x if x._array.ndim > 1 else unsqueeze(x, 0) if x._array.ndim else reshape_to(x, (1, 1))
    ),
)
_atleast(
    3,
    lambda x: {
        0: lambda: reshape_to(x, (1, 1, 1)),
        1: lambda: unsqueeze(unsqueeze(x, 0), -1),
        2: lambda: unsqueeze(x, -1),
    }.get(x._array.ndim, lambda: x)(),
)
