"""Gradients of reductions and scans."""

from __future__ import annotations

from typing import Any

from ...dtypes import BY_NUMPY
from .rules import rule


def _unsqueezed(A: Any, g: Any, shape: Any, dims: Any, keepdim: bool) -> Any:
    if keepdim or not shape:
        return g
    for d in sorted({d % len(shape) for d in dims}):
        g = A.unsqueeze(g, d)
    return g


@rule(names="sum__default")
def sum_all(A: Any, g: Any, self: Any) -> Any:
    return {"self": lambda: A.expand(g, list(self._array.shape))}


@rule(names="sum__dim_IntList", number=1)
def sum(A: Any, g: Any, self: Any, dim: Any, keepdim: Any) -> Any:
    shape = list(self._array.shape)
    return {
        "self": lambda: A.expand(_unsqueezed(A, g, shape, dim or range(len(shape)), keepdim), shape)
    }


@rule(names="mean__default")
def mean_all(A: Any, g: Any, self: Any) -> Any:
    return {"self": lambda: A.div.Scalar(A.expand(g, list(self._array.shape)), self._array.size)}


@rule(names="mean__dim", number=1)
def mean(A: Any, g: Any, self: Any, dim: Any, keepdim: Any) -> Any:
    shape = list(self._array.shape)

    def gradient() -> Any:
        dims = {d % len(shape) for d in dim or range(len(shape))} if shape else set()
        count = 1
        for d in dims:
            count *= shape[d]
        return A.div.Scalar(A.expand(_unsqueezed(A, g, shape, dims, keepdim), shape), count)

    return {"self": gradient}


@rule(names="max__dim min__dim", plain=(1,))
def extreme(A: Any, g: Any, c: Any, self: Any, dim: Any, keepdim: Any) -> Any:
    def gradient() -> Any:
        values, places = g[0], c.out(1)
        if not keepdim and self._array.shape:
            values, places = A.unsqueeze(values, dim), A.unsqueeze(places, dim)
        return A.scatter.src(A.new_zeros(values, list(self._array.shape)), dim, places, values)

    return {"self": gradient}


@rule()
def cumsum(A: Any, g: Any, dim: Any) -> Any:
    return {"self": lambda: A.flip(A.cumsum(A.flip(g, [dim]), dim), [dim])}


@rule(names="var__correction")
def var(A: Any, g: Any, self: Any, dim: Any, correction: Any, keepdim: Any) -> Any:
    shape = list(self._array.shape)

    def gradient() -> Any:
        if not dim:
            centered = A.sub.Tensor(self, A.mean(self))
            return A.mul.Tensor(
                A.mul.Scalar(
                    g, 2.0 / (self._array.size - (1 if correction is None else correction))
                ),
                centered,
            )
        dims = [d % len(shape) for d in dim]
        wide = _unsqueezed(A, g, shape, dims, keepdim)
        count = 1
        for d in dims:
            count *= shape[d]
        centered = A.sub.Tensor(self, A.mean.dim(self, dim, True))
        return A.mul.Tensor(
            A.mul.Scalar(wide, 2.0 / (count - (1 if correction is None else correction))), centered
        )

    return {"self": gradient}


@rule(keeps=(0,), names="std__correction")
def std(A: Any, g: Any, c: Any, self: Any, dim: Any, correction: Any, keepdim: Any) -> Any:
    def gradient() -> Any:
        out = c.out()
        slope = A.masked_fill.Scalar(A.div.Tensor(g, A.mul.Scalar(out, 2)), A.eq.Scalar(out, 0), 0)
        made = var(A, slope, self, dim, correction, keepdim)["self"]()
        return made

    return {"self": gradient}


@rule(keeps=(0,), names="max__default min__default")
def extreme_of_all(A: Any, g: Any, c: Any, self: Any) -> Any:
    return extremes(A, g, c, self, None, False)


@rule(keeps=(0,), names="amax amin")
def extremes(A: Any, g: Any, c: Any, self: Any, dim: Any, keepdim: Any) -> Any:
    shape = list(self._array.shape)
    dims = list(dim) if dim else list(range(len(shape)))

    def gradient() -> Any:
        top, wide = (
            _unsqueezed(A, c.out(), shape, dims, keepdim),
            _unsqueezed(A, g, shape, dims, keepdim),
        )
        mask = A._to_copy(A.eq.Tensor(self, top), dtype=BY_NUMPY[self._array.dtype])
        count = A.sum.dim_IntList(mask, dims, True) if shape else mask
        return A.mul.Tensor(A.div.Tensor(wide, count), mask)

    return {"self": gradient}


@rule(keeps=(0,))
def linalg_vector_norm(A: Any, g: Any, c: Any, self: Any, ord: Any, dim: Any, keepdim: Any) -> Any:
    shape = list(self._array.shape)
    dims = range(len(shape)) if dim is None or not len(dim) else dim

    def gradient() -> Any:
        norm, wide = (
            _unsqueezed(A, c.out(), shape, dims, keepdim),
            _unsqueezed(A, g, shape, dims, keepdim),
        )
        if ord == 0:
            return A.zeros_like(self)
        if ord == 1:
            return A.mul.Tensor(A.sgn(self), wide)
        if ord == 2:
            return A.mul.Tensor(
                self, A.masked_fill.Scalar(A.div.Tensor(wide, norm), A.eq.Scalar(norm, 0), 0)
            )
        size = A.abs(self)
        if ord in (float("inf"), float("-inf")):
            mask = A._to_copy(A.eq.Tensor(size, norm), dtype=BY_NUMPY[self._array.dtype])
            count = A.sum.dim_IntList(mask, list(dims), True) if shape else mask
            return A.mul.Tensor(A.mul.Tensor(A.sgn(self), mask), A.div.Tensor(wide, count))
        scale = A.masked_fill.Scalar(
            A.div.Tensor(wide, A.pow.Tensor_Scalar(norm, ord - 1)), A.eq.Scalar(norm, 0), 0
        )
        power = A.mul.Tensor(A.sgn(self), A.pow.Tensor_Scalar(size, ord - 1))
        return A.mul.Tensor(
            A.masked_fill.Scalar(power, A.eq.Scalar(self, 0), 0) if ord < 1 else power, scale
        )

    return {"self": gradient}


@rule(names="lerp__Scalar")
def lerp(A: Any, g: Any, weight: Any) -> Any:
    return {"self": lambda: A.mul.Scalar(g, 1 - weight), "end": lambda: A.mul.Scalar(g, weight)}


@rule()
def flip(A: Any, g: Any, dims: Any) -> Any:
    return {"self": lambda: A.flip(g, dims)}
