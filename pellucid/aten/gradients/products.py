"""Gradients of matrix products."""

from __future__ import annotations

from typing import Any

from .rules import _times, rule


def _by_columns(t: Any) -> bool:
    """Return whether a matrix is column-major."""
    strides, size = t._array.strides, t._array.dtype.itemsize
    return bool(strides[0] == size and strides[1] == size * t._array.shape[0])


def _left(A: Any, g: Any, left: Any, right: Any) -> Any:
    if _by_columns(left):
        return A.t(A.mm(right, A.t(g)))
    return A.mm(g, A.t(right))


def _right(A: Any, g: Any, left: Any, right: Any) -> Any:
    if _by_columns(right):
        return A.t(A.mm(A.t(g), left))
    return A.mm(A.t(left), g)


@rule()
def mm(A: Any, g: Any, self: Any, mat2: Any) -> Any:
    return {"mat2": lambda: _right(A, g, self, mat2), "self": lambda: _left(A, g, self, mat2)}


@rule()
def addmm(A: Any, g: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    return {
        "mat1": lambda: _times(A, _left(A, g, mat1, mat2), alpha),
        "mat2": lambda: _times(A, _right(A, g, mat1, mat2), alpha),
        "self": lambda: _times(A, g, beta),
    }


@rule()
def bmm(A: Any, g: Any, self: Any, mat2: Any) -> Any:
    return {
        "mat2": lambda: A.bmm(A.transpose(self, 1, 2), g),
        "self": lambda: A.bmm(g, A.transpose(mat2, 1, 2)),
    }


@rule()
def baddbmm(A: Any, g: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    return {
        "batch1": lambda: _times(A, A.bmm(g, A.transpose(batch2, 1, 2)), alpha),
        "batch2": lambda: _times(A, A.bmm(A.transpose(batch1, 1, 2), g), alpha),
        "self": lambda: _times(A, g, beta),
    }


@rule()
def mv(A: Any, g: Any, self: Any, vec: Any) -> Any:
    return {
        "self": lambda: A.mul(A.unsqueeze(g, 1), A.unsqueeze(vec, 0)),
        "vec": lambda: A.mv(A.t(self), g),
    }


@rule()
def dot(A: Any, g: Any, self: Any, tensor: Any) -> Any:
    return {"self": lambda: A.mul(g, tensor), "tensor": lambda: A.mul(g, self)}
