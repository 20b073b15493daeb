"""Names for type annotations (`torch.types`)."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import Any, TypeAlias

from .core.tensor import Tensor
from .dtypes import Size, device, dtype, layout
from .ops.shape.storage import TypedStorage, UntypedStorage

__all__ = ["Device", "FileLike", "Number", "Storage", "py_sym_types"]

_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_dtype: TypeAlias = dtype
_device: TypeAlias = device
_layout: TypeAlias = layout
_size: TypeAlias = Size | list[builtins.int] | tuple[builtins.int, ...]
_int: TypeAlias = builtins.int
_float: TypeAlias = builtins.float
_bool: TypeAlias = builtins.bool
_complex: TypeAlias = builtins.complex
Number: TypeAlias = int | float | bool
_Number = (int, float, bool)
FileLike: TypeAlias = str | os.PathLike[str] | Any
Device: TypeAlias = device | str | int | None
Storage: TypeAlias = TypedStorage | UntypedStorage
py_sym_types = ()
