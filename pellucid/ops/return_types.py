"""The named results of functions that return several tensors, for example `torch.return_types.max`
with `values` and `indices`.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

# `packed(kind, (values, indices))`: as `kind(values, indices)`, at half the cost.
packed: Any = tuple.__new__


def make(name: str, fields: str) -> Any:
    """A tuple type with these fields (space-separated) that prints as PyTorch's does."""
    kind = namedtuple(name, fields)  # type: ignore[misc]  # noqa: PYI024 (made from its arguments)

    def show(self: Any) -> str:
        parts = ",\n".join(
            f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True)
        )
        return f"torch.return_types.{name}(\n{parts})"

    kind.__repr__ = show  # type: ignore[method-assign]
    kind.__module__ = "pellucid.return_types"
    TYPES[name] = kind
    if not name.startswith("_") and not name.endswith("_out"):
        kind.written = make(f"{name}_out", fields)  # the type returned with `out=`
    return kind


TYPES: dict[str, Any] = {}


def __getattr__(name: str) -> Any:
    try:
        return TYPES[name]
    except KeyError:
        raise AttributeError(f"module 'torch.return_types' has no attribute {name!r}") from None
