"""Nested sequences of numbers as PyTorch reads them: the first elements decide the shape, and all
others have to fit it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np

from ... import dtypes
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, ArgumentValueError, OperationError, type_name

_MOST_DIMENSIONS = 128  # further down a sequence is taken for one that contains itself


def _is_sequence(value: Any) -> bool:
    """Whether a value can be indexed by position. Text can, and so can an array without
    dimensions, which has no length. A tensor counts as a number.
    """
    if isinstance(value, np.generic):
        return isinstance(value, (str, bytes))
    return hasattr(type(value), "__getitem__") and not isinstance(value, (dict, Tensor))


def shape_of(data: Any) -> list[int]:
    """The shape of nested sequences, as the first element of each tells it.

    Raises:
        TypeError: text, or an array without dimensions. ValueError: too many dimensions, or an
            object with a length whose elements cannot be read.
    """
    sizes: list[int] = []
    if isinstance(data, (str, bytes)):
        raise ArgumentTypeError(f"new(): invalid data type '{type_name(data)}'")
    while _is_sequence(data):
        sizes.append(len(data))
        if len(sizes) > _MOST_DIMENSIONS:
            raise ArgumentValueError(f"too many dimensions '{type_name(data)}'")
        if not sizes[-1]:
            break
        try:
            data = data[0]
        except Exception:
            name = type_name(data)
            raise ArgumentValueError(
                f"could not determine the shape of object type '{name}'"
            ) from None
    return sizes


def dtype_of(data: Any) -> dtypes.dtype:
    """The dtype that holds all numbers of nested sequences.

    Raises:
        TypeError: text, or a list that contains itself. RuntimeError: something that is not a number.
    """
    if isinstance(data, Tensor):
        return data.dtype
    if isinstance(data, np.ndarray) or isinstance(data, (np.number, np.bool_)):
        return dtypes.from_numpy(data.dtype)
    if isinstance(data, (bool, int, float, complex)):
        return dtypes.number_dtype(data)
    if isinstance(data, (str, bytes)):
        raise ArgumentTypeError(f"new(): invalid data type '{type_name(data)}'")
    if not _is_sequence(data):
        raise OperationError(f"Could not infer dtype of {type_name(data)}")
    items = list(data)
    if any(x is data for x in items):
        raise ArgumentTypeError("new(): self-referential lists are incompatible")
    return reduce(dtypes.promote_types, map(dtype_of, items)) if items else dtypes.number_dtype(0.0)


def numbers_in(data: Any, sizes: list[int], kind: dtypes.dtype) -> list[Any]:
    """The numbers of nested sequences in row-major order, as Python numbers for `kind`.

    Raises:
        ValueError: a sequence that is shorter or longer than the first one of its dimension.
        TypeError: a number where a sequence should be, or something else where a number should be.
    """
    return list(_numbers(data, sizes, kind, 0)) if math.prod(sizes) else []


def _numbers(data: Any, sizes: list[int], kind: dtypes.dtype, dim: int) -> Iterator[Any]:
    if dim == len(sizes):
        yield _number(data, kind)
        return
    try:
        items = list(data)
    except TypeError:
        raise ArgumentTypeError("not a sequence") from None
    if len(items) != sizes[dim]:
        raise ArgumentValueError(
            f"expected sequence of length {sizes[dim]} at dim {dim} (got {len(items)})",
            hint="the rows have different lengths; pad them to a rectangle: "
            "nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)",
        )
    for x in items:
        yield from _numbers(x, sizes, kind, dim + 1)


def _number(value: Any, kind: dtypes.dtype) -> Any:
    """A Python number for a dtype. Python itself refuses what is none, in the words that PyTorch
    passes on.
    """
    if not (kind.is_floating_point or kind.is_complex):
        # a float is cut off; what is neither a float nor an integer is refused
        truth = kind is dtypes.bool_
        if not isinstance(value, (float, np.bool_) if truth else float):
            value = operator.index(value)
        return bool(value) if truth else float(value) if isinstance(value, float) else value
    if isinstance(value, Tensor):
        if value._array.size != 1:
            raise ArgumentValueError(
                "only one element tensors can be converted to Python scalars",
                hint="to join tensors, use torch.stack(list) for a new dimension, or torch.cat(list) along an existing one",
            )
        return value.item()
    if kind.is_complex and hasattr(type(value), "__complex__"):
        return complex(value)
    # float() would read text too
    return value if isinstance(value, (int, float)) else math.ldexp(value, 0)
