"""Triangles and diagonals: tril, triu, diag, diag_embed, diagflat."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import shapes
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import public
from ...core.tape import titled
from ...core.tensor import Tensor
from ...errors import OperationError, ShapeError
from .._rules import require_tensor
from .._samples import cases
from .view import reshape


def _onnx_triangle(c: Any, upper: bool) -> Any:
    x = c.cast(c[0], np.int32) if c.dtype == np.bool_ else c[0]
    if c.graph.opset < 14:
        mask = c.triangle(c.shape()[-2], c.shape()[-1], int(c.p["diagonal"]), upper)
        zero = c.const(np.zeros((), np.int32)) if c.dtype == np.bool_ else c.number(0)
        out = c.emit("Where", mask, x, zero)
    else:
        out = c.emit("Trilu", x, c.const(np.array(c.p["diagonal"], np.int64)), upper=int(upper))
    return c.cast(out, np.bool_) if c.dtype == np.bool_ else out


def _triangle(name: str, which: str, example: str) -> None:
    op = defop(
        name,
        "input",
        forward=lambda xp, x, *, diagonal: xp.ascontiguousarray(
            xp.triangle(x, diagonal, name == "tril")
        ),
        aval=lambda x, diagonal: x,
        vjp={"input": lambda F, g, diagonal: getattr(F, name)(g, diagonal=diagonal)},
        jvp="linear",
        batch="leading",
        onnx=lambda c: _onnx_triangle(c, name == "triu"),
        traits="masks",
        samples=cases((((2, 3, 4),), {"diagonal": 1}), (((3, 2),), {"diagonal": -1}), complex=True),
    )

    def function(input: Tensor, diagonal: int = 0) -> Tensor:
        if require_tensor(input, name)._array.ndim < 2:
            raise OperationError(f"{name}: input tensor must have at least 2 dimensions")
        return op.call(input, diagonal=diagonal)

    function.__name__ = name
    function.__doc__ = f"""The {which} triangle of matrices, with zeros elsewhere.

    Args:
        input: `(..., m, n)`.
        diagonal: where the triangle ends. 0 is the main diagonal, positive ones are above it.
            Default: 0.

    >>> import pellucid as torch
    >>> torch.{name}(torch.ones(2, 2))
    {example}
    """
    public(names=name, methods="=", inplace="=", out="same")(function)


_triangle("tril", "lower", "tensor([[1., 0.],\n            [1., 1.]])")
_triangle("triu", "upper", "tensor([[1., 1.],\n            [0., 1.]])")


def _diag_embed(xp: Any, x: Any, *, offset: int, dim1: int, dim2: int) -> Any:
    size = x.shape[-1] + abs(offset)
    shape = list(x.shape[:-1])
    for d in sorted((dim1, dim2)):
        shape.insert(d, size)
    out = xp.zeros(tuple(shape), x.dtype)
    n = x.shape[-1]
    rows, columns = xp.arange(n) - min(offset, 0), xp.arange(n) + max(offset, 0)
    window = xp.moveaxis(out, (dim1, dim2), (-2, -1))
    window[..., rows, columns] = x
    return out


diag_embed_op = defop(
    "diag_embed",
    "input",
    forward=_diag_embed,
    vjp={
        "input": lambda F, g, offset, dim1, dim2: F.diagonal(g, offset=offset, dim1=dim1, dim2=dim2)
    },
    jvp="linear",
    batch="dims",
    samples=cases(
        (((2, 3),), {"offset": 1, "dim1": 0, "dim2": 2}),
        (((3,),), {"offset": -1, "dim1": 0, "dim2": 1}),
    ),
)


@public(methods="=")
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Put the last dimension on the diagonal of new matrices, which are zero elsewhere.

    Args:
        input: at least one dimension.
        offset: which diagonal; 0 is the main one, positive ones are above it. Default: 0.
        dim1, dim2: the dimensions of the new matrices. Default: -2 and -1.

    >>> import pellucid as torch
    >>> torch.diag_embed(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    ndim = require_tensor(input, "diag_embed")._array.ndim + 1
    first, second = shapes.normalize_dim(dim1, ndim), shapes.normalize_dim(dim2, ndim)
    if first == second:
        raise OperationError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return diag_embed_op.call(input, offset=offset, dim1=first, dim2=second)


@public(methods="=", out="same")
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Build a diagonal matrix from a vector, or copy the diagonal of a matrix.

    Args:
        input: a vector or a matrix.
        diagonal: which diagonal; 0 is the main one, positive ones are above it. Default: 0.

    >>> import pellucid as torch
    >>> torch.diag(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    ndim = require_tensor(input, "diag")._array.ndim
    if ndim not in (1, 2):
        raise ShapeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    if ndim == 1:
        return diag_embed(input, diagonal)
    made = F.clone(F.diagonal(input, offset=diagonal, dim1=0, dim2=1))
    return titled(made, "DiagonalBackward0_copy", of=(input,), offset=diagonal, dim1=0, dim2=1)


@public(methods="=")
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """Flatten a tensor and put it on the diagonal of a matrix.

    Args:
        input: any shape.
        offset: which diagonal; 0 is the main one, positive ones are above it. Default: 0.

    >>> import pellucid as torch
    >>> torch.diagflat(torch.tensor([[1], [2]]))
    tensor([[1, 0],
            [0, 2]])
    """
    return diag_embed(reshape(require_tensor(input, "diagflat"), (input._array.size,)), offset)
