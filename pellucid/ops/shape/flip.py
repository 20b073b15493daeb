"""Reordering of elements: roll, flip, rot90."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import shapes
from ...arrays.layout import laid_alike
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import method, public
from ...core.tape import titled
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, DimensionError, OperationError, type_name
from .._few import Few
from .._rules import as_index, keyword, require_tensor
from .._samples import cases
from ._sizes import sizes_of
from .transpose import transpose_op
from .view import reshape


def _onnx_roll(c: Any) -> Any:
    name, shape = c[0], c.shape()
    dims, shifts = c.p["dims"], c.p["shifts"]
    if not dims:
        raise c.refuse("of the flattened tensor")
    for dim, shift in zip(dims, shifts, strict=True):
        (size,) = c.fixed([shape[dim]])
        at = (size - shift % size) % size
        if at:
            name = c.emit(
                "Concat",
                c.cut(name, int(dim), at, c.LAST),
                c.cut(name, int(dim), 0, at),
                axis=int(dim),
            )
    return name if name != c[0] else c.emit("Identity", name)


def _roll(xp: Any, x: Any, *, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Any:
    if type(x) is not np.ndarray or not x.size:
        return xp.ascontiguousarray(xp.roll(x, shifts, dims))
    ahead: dict[int, int] = {}  # how far each dimension moves
    for d, shift in zip(dims, shifts, strict=True):
        ahead[d] = (ahead.get(d, 0) + shift) % x.shape[d]
    out = np.empty(x.shape, x.dtype)
    _put_rolled(x, out, [(d, n) for d, n in ahead.items() if n])
    return out


def _put_rolled(x: np.ndarray, out: np.ndarray, ahead: list[tuple[int, int]]) -> None:
    """Write `x` into `out`, shifted along dimensions. Both halves of the first dimension are
    written separately, recursively.
    """
    if not ahead:
        out[...] = x
        return
    (d, n), *rest = ahead
    before = (slice(None),) * d
    _put_rolled(x[(*before, slice(-n))], out[(*before, slice(n, None))], rest)
    _put_rolled(x[(*before, slice(-n, None))], out[(*before, slice(n))], rest)


roll_op = defop(
    "roll",
    "input",
    forward=_roll,
    aval=lambda x, shifts, dims: x,
    vjp={
        "input": lambda F, g, shifts, dims: F.roll(g, shifts=tuple(-s for s in shifts), dims=dims)
    },
    jvp="linear",
    traits="passes",
    autocast="promote",
    onnx=_onnx_roll,
    samples=cases(
        (((3, 4),), {"shifts": (1, -2), "dims": (0, 1)}),
        (((0, 2),), {"shifts": (1,), "dims": (0,)}),
    ),
)


def _as_tuple(given: Any) -> tuple[Any, ...]:
    if type(given) is int:  # faster than the check for a sequence
        return (given,)
    return tuple(given) if isinstance(given, Sequence) else (as_index(given),)


@public(methods="=")
def roll(
    input: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] | None = ()
) -> Tensor:
    """Shift elements along dimensions. Elements that leave at the end come back at the start.

    Args:
        input: any shape and dtype.
        shifts: by how many positions, one number for each of `dims`.
        dims: the dimensions. Default: none, which shifts the flattened tensor.

    >>> import pellucid as torch
    >>> torch.roll(torch.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    steps = _as_tuple(shifts)
    axes = () if dims is None else _as_tuple(dims)
    a = require_tensor(input, "roll")._array
    if not steps:
        raise OperationError("`shifts` required")
    if not a.size:
        return titled(F.clone(input), "Roll", of=(input,), shifts=steps, dims=axes)
    if not axes and len(steps) == 1:
        flat = reshape(input, (a.size,))
        made = reshape(roll_op.call(flat, shifts=steps, dims=(0,)), a.shape)
        return titled(made, "Roll", of=(input,), shifts=steps, dims=axes)
    if len(steps) != len(axes):
        raise OperationError(
            f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(axes)}"
        )
    return roll_op.call(
        input,
        shifts=steps,
        dims=tuple([shapes.normalize_dim(d, a.ndim, scalar_is_vector=False) for d in axes]),
    )


def _flip(xp: Any, x: Any, *, dims: tuple[int, ...]) -> Any:
    turned = x[tuple([slice(None, None, -1) if d in dims else slice(None) for d in range(x.ndim)])]
    if type(x) is not np.ndarray:
        return xp.copy(turned)
    if x.flags.c_contiguous:
        return xp.copy(turned, "C")
    made = laid_alike(x, x.dtype)
    made[...] = turned
    return made


def _onnx_flip(c: Any) -> Any:
    name = c[0]
    for dim in c.p["dims"]:
        name = c.cut(name, int(dim), -1, -c.LAST, -1)
    return name if name != c[0] else c.emit("Identity", name)


flip_op = defop(
    "flip",
    "input",
    forward=_flip,
    aval=lambda x, dims: x,
    vjp={"input": lambda F, g, dims: F.flip(g, dims=dims)},
    jvp="linear",
    batch="dims",
    traits="passes",
    onnx=_onnx_flip,
    aten=lambda A, x, *, dims: A.flip(x, list(dims)),
    samples=cases(
        (((3, 4),), {"dims": (0, 1)}),
        (((2, 3, 2),), {"dims": (1,)}),
        (((0, 2),), {"dims": (0,)}),
        complex=True,
    ),
)


@public()
def flip(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Reverse the order of the elements along dimensions. The result is a copy.

    Args:
        input: any shape and dtype.
        dims: the dimensions to reverse.

    >>> import pellucid as torch
    >>> torch.flip(torch.tensor([1, 2, 3]), (0,))
    tensor([3, 2, 1])
    """
    plain = type(dims) is tuple and {*map(type, dims)} == {int}
    if plain and (quick := _few.made(input, dims)) is not None:
        return quick
    ndim = require_tensor(input, "flip")._array.ndim
    if not isinstance(dims, (tuple, list)):
        raise ArgumentTypeError(
            f"flip(): argument 'dims' (position 2) must be tuple of ints, not {type_name(dims)}"
        )
    axes = shapes.normalize_dims(sizes_of((dims,), "flip", "dims"), ndim)
    made = flip_op.call(input, dims=axes if ndim else ())
    return _few.remember(input, (dims,), lambda a: _flipper(a, axes), made) if plain else made


_few = Few(4096)


def _flipper(a: np.ndarray, axes: tuple[int, ...]) -> Any:
    """Return a function that reverses small contiguous arrays."""
    if not a.ndim or not a.flags.c_contiguous:
        return False
    turned = tuple([slice(None, None, -1 if d in axes else None) for d in range(a.ndim)])
    return lambda x: x[turned].copy()


@method("flip")
def _flip_of_tensor(self: Tensor, *dims: Any, **named: Any) -> Tensor:
    if named:
        return flip(self, keyword(named, "flip", "dims"))
    if not dims:
        raise ArgumentTypeError('flip() missing 1 required positional arguments: "dims"')
    return flip(self, dims if len(dims) > 1 or isinstance(dims[0], int) else dims[0])


@public(methods="=")
def fliplr(input: Tensor) -> Tensor:
    """Reverse the order along dimension 1: left and right change places.

    >>> import pellucid as torch
    >>> torch.fliplr(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    if require_tensor(input, "fliplr")._array.ndim < 2:
        raise OperationError("Input must be >= 2-d.")
    return flip_op.call(input, dims=(1,))


@public(methods="=")
def flipud(input: Tensor) -> Tensor:
    """Reverse the order along dimension 0: up and down change places.

    >>> import pellucid as torch
    >>> torch.flipud(torch.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    if require_tensor(input, "flipud")._array.ndim < 1:
        raise OperationError("Input must be >= 1-d.")
    return flip_op.call(input, dims=(0,))


@public(methods="=")
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Rotate by 90 degrees in the plane of two dimensions.

    Args:
        input: at least two dimensions.
        k: how many times; negative turns the other way. Default: 1.
        dims: the two dimensions; the rotation is from the first towards the second. Default: (0,
            1).

    >>> import pellucid as torch
    >>> torch.rot90(torch.tensor([[0, 1], [2, 3]]))
    tensor([[1, 3],
            [0, 2]])
    """
    ndim = require_tensor(input, "rot90")._array.ndim
    dims = tuple(dims)
    if len(dims) != 2:
        raise OperationError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise OperationError(f"expected total dims >= 2, but got total dims = {ndim}")
    for d in dims:
        if not -ndim <= d < ndim:
            raise DimensionError(
                f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {d})"
            )
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == ndim:
        raise OperationError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    first, second = (d % ndim for d in dims)
    turns, k = k, k % 4
    if k == 1:
        return titled(
            flip_op.call(transpose_op.call(input, dim0=first, dim1=second), dims=(first,)),
            "Rot90",
            of=(input,),
            k=turns,
            dims=dims,
        )
    if k == 2:
        return titled(
            flip_op.call(input, dims=(first, second)), "Rot90", of=(input,), k=turns, dims=dims
        )
    if k == 3:
        return titled(
            flip_op.call(transpose_op.call(input, dim0=first, dim1=second), dims=(second,)),
            "Rot90",
            of=(input,),
            k=turns,
            dims=dims,
        )
    return titled(F.clone(input), "Rot90", of=(input,), k=turns, dims=dims)
