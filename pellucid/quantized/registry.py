"""The table of `torch.ops.quantized`, and what all of its operators use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arrays.affine import QuantizedArray, Scheme, require_per_tensor
from ..errors import OperationError, UnsupportedError
from ._tensor import is_quantized

OPERATORS: dict[str, Callable[..., Any]] = {}  # by the names in `torch.ops.quantized`

ENGINES = ["qnnpack", "onednn", "x86", "fbgemm"]


class _Engine:
    """Whose rounding results have. All engines here are the same native code."""

    name = "x86"


engine = _Engine()


def _operator(function: Callable[..., Any]) -> Callable[..., Any]:
    OPERATORS[function.__name__] = function
    return function


def _quantized(x: Any, name: str) -> QuantizedArray:
    if not is_quantized(x):
        raise UnsupportedError(
            f"Could not run 'quantized::{name}' with arguments from the 'CPU' backend. This could be because the operator doesn't exist "
            "for this backend, or was omitted during the selective/custom build process (if using custom build)."
        )
    array: QuantizedArray = x._array
    return array


def _bytes_of(x: Any, name: str) -> tuple[Any, Scheme]:
    a = _quantized(x, name)
    if a.name != "quint8":
        raise OperationError(f"{name}: activations must be torch.quint8, not torch.{a.name}")
    return a.ints, require_per_tensor(a)
