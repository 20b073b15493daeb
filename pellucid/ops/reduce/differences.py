"""Differences of neighbors, numerical gradients, integrals by the trapezoidal rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...core.bind import wrap
from ...core.public import FUNCTIONS, public
from ...core.tape import titled
from ...core.tensor import Tensor, make_tensor
from ...core.tracing import constant
from ...errors import (
    ArgumentTypeError,
    DimensionError,
    DtypeError,
    IndexOutOfRangeError,
    OperationError,
    ShapeError,
    type_name,
)
from ...shapes import normalize_dim, normalize_dims
from .._rules import is_direct, require_tensor
from ._reduction import numpy_names, to_float


# ---- differences and the trapezoid rule -------------------------------------------------------
def _slice(x: Any, dim: int, start: int, stop: int) -> Any:
    return x.narrow(dim, start, stop - start)


@public(methods="=", out=True)
@numpy_names
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """The n-th differences of neighbors along `dim`.

    Args:
        prepend, append: values put before and after along `dim` first.

    >>> import pellucid as torch
    >>> torch.diff(torch.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    shape = require_tensor(input, "diff")._array.shape
    if not shape:
        raise ShapeError("diff expects input to be at least one-dimensional")
    number = normalize_dim(dim, len(shape))
    for name, other in (("prepend", prepend), ("append", append)):
        if other is None:
            continue
        theirs = require_tensor(other, "diff", name)._array.shape
        if len(theirs) != len(shape):
            raise ShapeError("diff expects prepend or append to be the same dimension as input")
        for d, (a, b) in enumerate(zip(shape, theirs, strict=True)):
            if a != b and d != number:
                raise ShapeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the differencing "
                    f"dimension; input.size({d}) = {a}, but got tensor.size({d}) = {b}"
                )
    if n < 0:
        raise OperationError(f"order must be non-negative but got {n}")
    if n == 0:
        return FUNCTIONS["torch"]["zeros_like"](input).copy_(input)
    parts = [t for t in (prepend, input, append) if t is not None]
    x: Any = FUNCTIONS["torch"]["cat"](parts, number) if len(parts) > 1 else input
    for _ in range(n):
        size = x._array.shape[number]
        if size == 0:
            break
        if is_direct(x) and x._array.dtype.char in "fdl":
            a, lead = x._array, (slice(None),) * number
            x = wrap(a[(*lead, slice(1, None))] - a[(*lead, slice(-1))])
            continue
        after, before = _slice(x, number, 1, size), _slice(x, number, 0, size - 1)
        x = after.logical_xor(before) if x.dtype is dtypes.bool_ else after - before
    return x


def _trapezoids(name: str, y: Any, x: Any, dx: Any, number: int) -> Any:
    """Return twice the areas under neighboring values along a dimension."""
    if x is None:
        _refused(name, y, dx)
        width: Any = dx
    else:
        if dtypes.bool_ in (y.dtype, require_tensor(x, name, "x").dtype):
            raise DtypeError(
                f"{name}: received a bool input for `x` or `y`, but bool is not supported"
            )
        width = _widths(name, y, x, number)
    n = y._array.shape[number]
    both = _slice(y, number, min(1, n), n) + _slice(y, number, 0, max(n - 1, 0))
    return both * width if x is not None else _times(both, float(width))


def _refused(name: str, y: Any, dx: Any) -> None:
    if y.dtype is dtypes.bool_:
        raise DtypeError(f"{name}: received a bool input for `y`, but bool is not supported")
    if isinstance(dx, (bool, complex)):
        raise DtypeError(f"{name}: Currently, we only support dx as a real number.")


def _dim_of(name: str, y: Any, x: Any, dim: int) -> int:
    ndim = require_tensor(y, name, "y")._array.ndim
    dim = dim if x is None else normalize_dim(dim, ndim)
    return normalize_dim(dim, ndim, scalar_is_vector=False)


def _widths(name: str, y: Any, x: Any, dim: int) -> Any:
    """Return the distances of neighbors of `x`: a vector along the dimension, or something that
    broadcasts with `y`.
    """
    ndim, shape = y._array.ndim, x._array.shape
    if len(shape) == 1:
        if shape[0] != y._array.shape[dim]:
            raise ShapeError(f"{name}: There must be one `x` value for each sample point")
        x = x.reshape([-1 if d == dim else 1 for d in range(ndim)])
    elif len(shape) < ndim:
        x = x.reshape((*(1,) * (ndim - len(shape)), *shape))
    n = x._array.shape[dim]
    return _slice(x, dim, min(1, n), n) - _slice(x, dim, 0, max(n - 1, 0))


def _over(x: Any, divisor: Any) -> Any:
    """Return a quotient. PyTorch's C++ code has a separate node for division by a number."""
    quotient = x / divisor
    return (
        quotient
        if isinstance(divisor, Tensor)
        else titled(quotient, "DivBackward1", of=(x,), other=divisor)
    )


def _times(x: Any, factor: float) -> Any:
    """Return a product with a number, with PyTorch's node for such products."""
    return titled(x * factor, "MulBackward1", of=(x,), other=factor)


def _integral(name: str, y: Any, x: Any, dx: Any, dim: int) -> Tensor:
    number = _dim_of(name, y, x, dim)
    shape = y._array.shape
    if shape[number] == 0:  # in the dtype of y
        return make_tensor(
            constant(np.zeros((*shape[:number], *shape[number + 1 :]), y._array.dtype))
        )
    if x is None:
        _refused(name, y, dx)
        ends = y.select(number, 0) + y.select(number, shape[number] - 1)
        return _times(y.sum(number) - _times(ends, 0.5), float(dx))
    return _over(_trapezoids(name, y, x, dx, number).sum(number), 2.0)


@public()
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """Integrate samples along a dimension by the trapezoidal rule.

    Args:
        y: the samples.
        x: where they were taken. Default: None.
        dx: the distance between them, instead of `x`. Default: 1.
        dim: the dimension. Default: -1.

    >>> import pellucid as torch
    >>> torch.trapezoid(torch.tensor([1.0, 5.0, 10.0]))
    tensor(10.5000)
    """
    return _integral("trapezoid", y, x, 1 if dx is None else dx, dim)


@public()
def trapz(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """As `trapezoid`.

    >>> import pellucid as torch
    >>> torch.trapz(torch.tensor([1.0, 5.0, 10.0]), dx=2)
    tensor(21.)
    """
    return _integral("trapezoid", y, x, dx, dim)


@public()
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1
) -> Tensor:
    """The running integral of samples `y` along `dim` by the trapezoid rule; one value fewer than
    `y` has.

    >>> import pellucid as torch
    >>> torch.cumulative_trapezoid(torch.tensor([1.0, 5.0, 10.0]))
    tensor([ 3.0000, 10.5000])
    """
    if require_tensor(y, "cumulative_trapezoid", "y")._array.ndim == 0:
        raise IndexOutOfRangeError("slice() cannot be applied to a 0-dim tensor.")
    number = _dim_of("cumulative_trapezoid", y, x, dim)
    dx = 1 if dx is None else dx
    half = dx / 2.0 if isinstance(dx, (int, float)) and not isinstance(dx, bool) else dx
    parts = _trapezoids("cumulative_trapezoid", y, x, half, number).cumsum(number)
    return parts if x is None else _over(parts, 2.0)


# ---- numerical gradient -----------------------------------------------------------------------
def _steps(input: Any, spacing: Any, given: Any, dims: tuple[int, ...]) -> list[Any]:
    """Return for each dimension the distance of samples, a number, or their positions, a vector."""
    if spacing is None or isinstance(spacing, (int, float, complex)):
        return [1 if spacing is None else spacing] * len(dims)
    each = list(spacing)
    if len(each) != len(dims):
        if given is not None:
            raise OperationError(
                "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same length, "
                f"but got a spacing argument of length {len(each)} and a dim argument of length {len(dims)}."
            )
        raise OperationError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
            f"'self.dim() = {input._array.ndim}', since dim argument was not given, but got a list of length {len(each)}"
        )
    for k, step in enumerate(each):
        if isinstance(step, Tensor) != isinstance(each[0], Tensor):
            raise ArgumentTypeError(
                f"expected Tensor as element {k} in argument 1, but got {type_name(step)}"
            )
        if isinstance(step, Tensor) and step._array.ndim != 1:
            raise ShapeError(
                "torch.gradient expected each element of spacing to have one dimension, but got an element with "
                f"{step._array.ndim} dimensions!"
            )
    return each


def _gradient_along(x: Any, dim: int, step: Any, edge_order: int) -> Any:
    """Return second-order differences inside, for samples at any positions, and one-sided ones at
    the ends.
    """
    n = x._array.shape[dim]

    def at(start: int, stop: int) -> Any:
        return _slice(x, dim, start, stop)

    if isinstance(step, Tensor):
        shape = [-1 if d == dim else 1 for d in range(x._array.ndim)]
        places = step._array.shape[0]  # one position for each sample, or a single one
        width = (_slice(step, 0, 1, places) - _slice(step, 0, 0, places - 1)).reshape(shape)
        h1, h2 = _slice(width, dim, 0, places - 2), _slice(width, dim, 1, places - 1)
        inner = (
            (-h2 / (h1 * (h1 + h2))) * at(0, n - 2)
            + ((h2 - h1) / (h1 * h2)) * at(1, n - 1)
            + (h1 / (h2 * (h1 + h2))) * at(2, n)
        )
        first, last = _slice(width, dim, 0, 1), _slice(width, dim, places - 2, places - 1)
        second, before = (
            (_slice(width, dim, 1, 2), _slice(width, dim, places - 3, places - 2))
            if edge_order == 2
            else (None, None)
        )
    else:
        inner = _over(_over(at(2, n) - at(0, n - 2), step), 2)
        first = last = second = before = step
    if edge_order == 1:
        low, high = (
            _over(at(1, 2) - at(0, 1), first),
            _over(at(n - 1, n) - at(n - 2, n - 1), last),
        )
    elif isinstance(step, Tensor):
        low = _edge(at(0, 1), at(1, 2), at(2, 3), first, second, 1)
        high = _edge(at(n - 3, n - 2), at(n - 2, n - 1), at(n - 1, n), before, last, -1)
    else:
        low = _times(at(0, 1), -1.5) + _times(at(1, 2), 2) - _times(at(2, 3), 0.5)
        high = (
            _times(at(n - 3, n - 2), 0.5) - _times(at(n - 2, n - 1), 2) + _times(at(n - 1, n), 1.5)
        )
        low, high = _over(low, step), _over(high, step)
    return FUNCTIONS["torch"]["cat"]([low, inner, high], dim)


def _edge(x0: Any, x1: Any, x2: Any, h1: Any, h2: Any, sign: int) -> Any:
    """Return the slope of the parabola through three samples, at the first (`sign` 1) or the last
    one (-1).
    """
    one, two = (h1, h2) if sign == 1 else (h2, h1)
    near, far = (2 * one + two) / (one * (one + two)), one / (two * (one + two))
    middle = (h1 + h2) / (h1 * h2)
    if sign == 1:
        return -near * x0 + middle * x1 + -far * x2
    return far * x0 + -middle * x1 + near * x2


@public()
def gradient(
    input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """The numerical derivatives of samples along dimensions (all by default), by central
    differences, one tensor for each.

    Args:
        spacing: distance of samples, one for all dimensions or a list; or a list of vectors with
            their places.
        edge_order: 1 or 2, the order of the one-sided differences at the ends.

    >>> import pellucid as torch
    >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0]))
    (tensor([3., 4., 5.]),)
    """
    shape = require_tensor(input, "gradient")._array.shape
    asked = range(len(shape)) if dim is None else (dim,) if isinstance(dim, int) else dim
    if not shape and asked:
        raise DimensionError(
            f"Dimension specified as {next(iter(asked))} but tensor has no dimensions"
        )
    steps = _steps(input, spacing, dim, tuple(asked))
    dims = normalize_dims(asked, len(shape))
    if edge_order not in (1, 2):
        raise OperationError("torch.gradient only supports edge_order=1 and edge_order=2.")
    if any(shape[d] < edge_order + 1 for d in dims):
        raise ShapeError("torch.gradient expected each dimension size to be at least edge_order+1")
    if input.dtype is dtypes.bool_:
        input - input  # raises the error for bools
    x: Any = input if input.dtype.is_floating_point or input.dtype.is_complex else to_float(input)
    return tuple(
        _gradient_along(x, d, step, edge_order) for d, step in zip(dims, steps, strict=True)
    )
