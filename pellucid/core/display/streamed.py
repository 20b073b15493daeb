"""Tensors as PyTorch's C++ code prints them. A few of its errors contain such text."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

_WIDTH = 80


def streamed(values: Any, name: str) -> str:
    """An array of two or more dimensions, and the name of its type.

    Example:
        >>> print(streamed(np.array([[1.0, 0.5], [2.0, 10.0]]), "torch.DoubleTensor"))
          1.0000   0.5000
          2.0000  10.0000
        [ torch.DoubleTensor{2,2} ]
    """
    a = np.asarray(values.real if values.dtype.kind in "cW" else values).astype(np.float64)
    lines = ""
    if a.size and a.ndim == 2:
        lines = _matrix(a, 0)
    elif a.size:
        parts = [p[::-1] for p in itertools.product(*map(range, a.shape[:-2][::-1]))]
        lines = "\n".join(
            f"({','.join(str(k + 1) for k in part)},.,.) = \n{_matrix(a[part], 1)}"
            for part in parts
        )
    return f"{lines}[ {name}{{{','.join(map(str, a.shape))}}} ]"


def _matrix(a: np.ndarray, indent: int) -> str:
    scale, width, form = _format(a)
    rows, columns = a.shape
    each = (_WIDTH - indent) // (width + 1)
    text = ""
    for first in range(0, columns, each):
        last = min(first + each, columns)
        if each < columns:
            text += "\n" * (first > 0) + f"Columns {first + 1} to {last}" + " " * indent
        if scale != 1:
            text += f"{scale:{'.0f' if scale > 1 else 'g'}} *\n" + " " * indent
        for k in range(rows):
            text += " ".join(format(v / scale, form).rjust(width) for v in a[k, first:last]) + "\n"
            if k != rows - 1:
                text += " " * indent * (1 + (scale != 1))
    return text


def _format(a: np.ndarray) -> tuple[float, int, str]:
    """The common divisor, the width and the format of all numbers."""
    size = np.abs(a[np.isfinite(a)])
    low, high = (
        math.floor(math.log10(v)) + 1 if v else 1
        for v in ((size.min(), size.max()) if size.size else (0, 0))
    )
    if (size == np.ceil(size)).all():
        return (1, 11, ".4e") if high > 9 else (1, high + 1, "g")
    if high - low > 4:
        return 1, 11 + (abs(high) > 99 or abs(low) > 99), ".4e"
    if high > 5 or high < 0:
        return 10.0 ** (high - 1), 7, ".4f"
    return 1, 7 if high == 0 else high + 6, ".4f"
