"""The named results of functions that return several tensors, for example `torch.return_types.max`
with `values` and `indices`.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

# `packed(kind, (values, indices))`: as `kind(values, indices)`, at half the cost.
packed: Any = tuple.__new__


def make(name: str, fields: str) -> Any:
    """A tuple type with these fields (space-separated) that prints as PyTorch's does.

    As in PyTorch it is made from one sequence, which is also how it is pickled. The library itself
    gives it the values one by one.
    """
    kind = namedtuple(name, fields)  # type: ignore[misc]  # noqa: PYI024 (made from its arguments)

    def show(self: Any) -> str:
        parts = ",\n".join(
            f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True)
        )
        return f"torch.return_types.{name}(\n{parts})"

    count = len(kind._fields)

    def new(cls: Any, *values: Any) -> Any:
        if len(values) == count and not isinstance(values[1], dict):
            return packed(cls, values)
        if not values:
            raise TypeError("structseq() missing required argument 'sequence' (pos 1)")
        if len(values) > 1 and not isinstance(values[1], dict):
            raise TypeError(f"torch.return_types.{name}() takes a dict as second arg, if any")
        items = tuple(values[0])
        if len(items) != count:
            raise TypeError(
                f"torch.return_types.{name}() takes a {count}-sequence ({len(items)}-sequence given)"
            )
        return packed(cls, items)

    kind.__new__ = new  # type: ignore[assignment]
    kind.__reduce__ = lambda self: (type(self), (tuple(self), {}))  # type: ignore[method-assign]
    kind.n_fields = kind.n_sequence_fields = count
    kind.n_unnamed_fields = 0
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
