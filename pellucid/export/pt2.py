"""Words of PyTorch's `pt2` archives: numbers of element types and memory formats, the arithmetic that
graphs compute sizes with.

Source: the schema of version 8 in PyTorch 2.13, `torch/_export/serde/schema.py`, and
`torch/export/pt2_archive/constants.py`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from .. import dtypes

SCHEMA = {"major": 8, "minor": 20}
ROOT = "archive"
STRIDED = 7
KINDS = {
    "uint8": 1,
    "int8": 2,
    "int16": 3,
    "int32": 4,
    "int64": 5,
    "float16": 6,
    "float32": 7,
    "float64": 8,
    "complex64": 10,
    "complex128": 11,
    "bool": 12,
    "bfloat16": 13,
    "uint16": 28,
    "float8_e4m3fn": 29,
    "float8_e5m2": 30,
    "float8_e4m3fnuz": 31,
    "float8_e5m2fnuz": 32,
    "float8_e8m0fnu": 33,
    "uint32": 34,
    "uint64": 35,
}
FORMATS: dict[Any, int] = {
    dtypes.contiguous_format: 1,
    dtypes.channels_last: 2,
    dtypes.channels_last_3d: 3,
    dtypes.preserve_format: 4,
}
# What graphs compute sizes with.
ARITHMETIC: dict[str, Callable[..., Any]] = {
    f"_operator.{name}": getattr(operator, name)
    for name in (
        *("add", "sub", "mul", "floordiv", "mod", "neg", "pow", "truediv", "and_", "or_"),
        *("eq", "ne", "lt", "le", "gt", "ge", "not_"),
    )
}
