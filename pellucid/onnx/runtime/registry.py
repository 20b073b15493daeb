"""What an operator's implementation is given, and the table of them by name.

An implementation takes the call (attributes, version, number of results) and the values. Values
that say how (shapes, axes, counts) come as NumPy arrays, the others as Tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from pellucid.api import attach as _attach  # noqa: F401  (fills the table of functions)
from pellucid.core import observe
from pellucid.core.public import FUNCTIONS
from pellucid.core.tensor import Tensor, make_tensor
from pellucid.onnx.writer.errors import UnsupportedOperatorError
from pellucid.onnx.writer.read import ReadGraph

T = SimpleNamespace(**FUNCTIONS["torch"])


@dataclass
class Operator:
    """An implementation, and which of its inputs are read as numbers."""

    function: Callable[..., Any]
    static: frozenset[int] = frozenset()
    keeps: bool = False  # takes its values as they are: sequences, missing ones, arrays
    scoped: bool = False  # gets the scope of values as well, for subgraphs
    shape_only: bool = False  # the values of its input do not matter, and the result is known


@dataclass
class NodeCall:
    """One node as its implementation sees it."""

    op: str
    attributes: dict[str, Any]
    opset: int
    outputs: list[str]
    run: Callable[[ReadGraph, Sequence[Any], dict[str, Any]], list[Any]]

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        return self.attributes.get(name, default)

    def wants(self, k: int) -> bool:
        """Whether the k-th result is used."""
        return k < len(self.outputs) and self.outputs[k] != ""

    def refuse(self, why: str) -> UnsupportedOperatorError:
        """The error for a case that is not supported."""
        return UnsupportedOperatorError(f"onnx.load(): {self.op} {why} is not supported")


OPERATORS: dict[str, Operator] = {}


def operator(*names: str, static: Sequence[int] = (), **flags: bool) -> Callable[[Any], Any]:
    """Register an implementation for operators of ONNX's own domain."""

    def register(function: Any) -> Any:
        for name in names:
            OPERATORS[name] = Operator(function, frozenset(static), **flags)
        return function

    return register


def array_of(x: Any) -> Any:
    """The values of a Tensor as an array. They leave the engine, which is told of it."""
    if not isinstance(x, Tensor):
        return x
    if observe.observers:
        observe.notify("read", x, "onnx")
    return x._array


def tensor_of(x: Any) -> Any:
    """An array as a Tensor; other values as they are."""
    if isinstance(x, np.ndarray):
        if x.dtype.kind in "OU":
            raise UnsupportedOperatorError("onnx.load(): tensors of text are not supported")
        return make_tensor(x)
    return x


def ints(x: Any) -> list[int]:
    """The integers of an array."""
    return [int(n) for n in np.asarray(x).reshape(-1)]


def like(out: Any, x: Any) -> Any:
    """A result in the dtype of an argument: ONNX does not promote."""
    return out if out.dtype is x.dtype else out.to(x.dtype)


def kind(x: Any) -> str:
    """The letter of NumPy's kind of dtype: "f" for all floating point types."""
    return "f" if x.dtype.is_floating_point else str(x._array.dtype.kind)
