"""Gradients of views and copies."""

from __future__ import annotations

from typing import Any

from ...dtypes import contiguous_format
from ..memory import viewable
from .rules import _options, rule

END = 9223372036854775807


@rule()
def t(A: Any, g: Any) -> Any:
    return {"self": lambda: A.t(g)}


@rule(names="transpose__int")
def transpose(A: Any, g: Any, dim0: Any, dim1: Any) -> Any:
    return {"self": lambda: A.transpose(g, dim0, dim1)}


@rule()
def permute(A: Any, g: Any, dims: Any) -> Any:
    def gradient() -> Any:
        back = [0] * len(dims)
        for k, d in enumerate(dims):
            back[d % len(dims)] = k
        return A.permute(g, back)

    return {"self": gradient}


@rule(names="view__default")
def view(A: Any, g: Any, self: Any) -> Any:
    shape = list(self._array.shape)

    def gradient() -> Any:
        return (
            A.view(g, shape)
            if viewable(g, shape)
            else A._unsafe_view(A.clone(g, memory_format=contiguous_format), shape)
        )

    return {"self": gradient}


@rule()
def unsafe_view(A: Any, g: Any, self: Any) -> Any:
    return view(A, g, self)


@rule()
def unsqueeze(A: Any, g: Any, dim: Any) -> Any:
    return {"self": lambda: A.squeeze.dim(g, dim)}


@rule(names="squeeze__default")
def squeeze_all(A: Any, g: Any, self: Any) -> Any:
    def gradient() -> Any:
        made = g
        for d, size in enumerate(self._array.shape):
            made = A.unsqueeze(made, d) if size == 1 else made
        return made

    return {"self": gradient}


@rule(names="squeeze__dim", number=1)
def squeeze(A: Any, g: Any, self: Any, dim: Any) -> Any:
    shape = self._array.shape
    return {"self": lambda: A.unsqueeze(g, dim % len(shape)) if shape and shape[dim] == 1 else g}


@rule()
def expand(A: Any, g: Any, self: Any) -> Any:
    return {"self": lambda: g}


@rule(names="select__int")
def select(A: Any, g: Any, self: Any, dim: Any, index: Any) -> Any:
    return {"self": lambda: A.select_backward(g, list(self._array.shape), dim, index)}


@rule(names="slice__Tensor")
def slice(A: Any, g: Any, self: Any, dim: Any, start: Any, end: Any, step: Any) -> Any:
    first, last = 0 if start is None else start, END if end is None else end
    return {"self": lambda: A.slice_backward(g, list(self._array.shape), dim, first, last, step)}


@rule(names="split__Tensor")
def split(A: Any, g: Any, dim: Any) -> Any:
    return {"self": lambda: A.cat(list(g), dim)}


@rule(names="split_with_sizes__default")
def split_with_sizes(A: Any, g: Any, dim: Any) -> Any:
    return {"self": lambda: A.cat(list(g), dim)}


@rule(names="unbind__int")
def unbind(A: Any, g: Any, dim: Any) -> Any:
    return {"self": lambda: A.stack(list(g), dim)}


@rule()
def cat(A: Any, g: Any, tensors: Any, dim: Any) -> Any:
    def gradient() -> Any:
        found, start = [], 0
        for x in tensors:
            end = start + x._array.shape[dim]
            found.append(A.slice.Tensor(g, dim, start, end))
            start = end
        return found

    return {"tensors": gradient}


@rule()
def stack(A: Any, g: Any, tensors: Any, dim: Any) -> Any:
    return {"tensors": lambda: [A.select.int(g, dim, k) for k in range(len(tensors))]}


@rule(names="index__Tensor")
def index(A: Any, g: Any, self: Any, indices: Any) -> Any:
    return {
        "self": lambda: A.index_put(
            A.new_zeros(g, list(self._array.shape), **_options(self)), indices, g, True
        )
    }


@rule()
def gather(A: Any, g: Any, self: Any, dim: Any, index: Any) -> Any:
    return {"self": lambda: A.scatter_add(A.new_zeros(g, list(self._array.shape)), dim, index, g)}
