"""Errors of operations: PyTorch's message, the user's line, and the operands with where they came
from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from .. import dtypes
from ..errors import (
    ArgumentTypeError,
    DimensionError,
    Operand,
    OperationError,
    UnsupportedError,
    add,
    facts_of,
    module_path,
    out_of_memory,
)
from ..shapes import broadcast_shapes
from . import observe, source
from .display.kernels import no_kernel
from .primitive import Primitive
from .tensor import Tensor


def _operands(op: Primitive, tensors: list[Any]) -> list[Operand]:
    fixed = len(op.args) - op.variadic
    return [
        operand(op.args[i] if i < fixed else f"{op.args[-1]}[{i - fixed}]", x)
        for i, x in enumerate(tensors)
        if isinstance(x, Tensor)
    ]


def located_op(error: Exception, op: Primitive, tensors: list[Any]) -> Exception:
    """Add the operation, the user's line and the operands to an error, and notify the observers."""
    located(error, op.name, _operands(op, tensors))
    observe.notify("error", error, op, tensors)
    return error


def located(error: Exception, name: str, operands: list[Operand]) -> Exception:
    """Add the function's name, the user's line, the running module and the operands to an error."""
    notes = [f"in module {module}"] if (module := module_path()) and not error.facts.notes else []  # type: ignore[attr-defined]
    return add(
        error, op=name, source=source.describe(source.capture(3)), operands=operands, notes=notes
    )


def operand(name: str, x: Tensor) -> Operand:
    """Describe a tensor for an error: its shape and dtype, and the operation and line that made it."""
    return Operand(
        name,
        tuple(x._array.shape),
        x.dtype,
        *(() if x.grad_fn is None else (x.grad_fn.name(), x.grad_fn.line)),
    )


def explained(
    error: Exception, op: Primitive, tensors: list[Any], arrays: list[Any], params: dict[str, Any]
) -> Exception:
    """Translate NumPy's error into PyTorch's. The shape rule (`aval`) runs first, since it raises
    PyTorch's errors itself.
    """
    if isinstance(error, MemoryError):
        return located_op(out_of_memory(error), op, tensors)
    shapes = [a.shape for a in arrays if isinstance(a, ndarray)]
    if op.elementwise and len(shapes) > 1:
        try:
            broadcast_shapes(*shapes)
        except RuntimeError as ours:
            return located_op(ours, op, tensors)
    if op.aval is not None:
        try:
            op.aval(
                *[(a.shape, a.dtype) if isinstance(a, ndarray) else a for a in arrays], **params
            )
        except Exception as ours:
            return located_op(ours, op, tensors) if facts_of(ours) is not None else ours
    kind = next((a.dtype for a in arrays if isinstance(a, ndarray)), None)
    if isinstance(error, np.exceptions.AxisError):
        bound = max(error.ndim or 0, 1)
        sentence = f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {error.axis})"
        return located_op(DimensionError(sentence), op, tensors)
    if (
        isinstance(error, TypeError)
        and kind is not None
        and ("ufunc" in str(error) or "not supported" in str(error))
    ):
        name = dtypes.BY_NUMPY[kind].scalar_type_name if kind in dtypes.BY_NUMPY else str(kind)
        return located_op(UnsupportedError(no_kernel(op.name, name, tensors, arrays)), op, tensors)
    cls = ArgumentTypeError if isinstance(error, TypeError) else OperationError
    known = isinstance(
        error,
        (TypeError, ValueError, IndexError, RuntimeError, ArithmeticError, np.linalg.LinAlgError),
    )
    return located_op(cls(f"{op.name}: {error}"), op, tensors) if known else error
