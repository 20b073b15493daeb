"""Operators by namespace and name (`torch._ops`); they are defined in `pellucid.aten`."""

from __future__ import annotations

from typing import Any

from .aten import dispatch
from .aten.overload import DEFINED, OpOverload, OpOverloadPacket, Tag, ops, overload_of
from .aten.overload import OpNamespace as _OpNamespace
from .aten.overload import Ops as _Ops
from .aten.schema import Argument, FunctionSchema, aten, parse

OperatorBase = OpOverload
parse_schema = parse


def len_torch_dispatch_stack() -> int:
    """How many modes are active in this thread."""
    return len(dispatch.thread.modes)


def dispatch_get_all_op_names() -> list[str]:
    """The full names of all operators."""
    spaces: dict[str, Any] = {"aten": aten(), **{name: table for name, table in DEFINED.items() if name != "aten"}}
    return [
        f"{space}::{name}" + (f".{overload}" if overload != "default" else "")
        for space, table in spaces.items() for name, known in table.items() for overload, (about, _) in known.items() if "j" not in about
    ]  # fmt: skip


def dispatch_has_kernel_for_dispatch_key(name: str, key: Any) -> bool:
    """Whether there is something that computes an operator for a dispatch key."""
    return overload_of(name).has_kernel_for_dispatch_key(key)


def dispatch_has_kernel(name: str) -> bool:
    """Whether there is an operator of that name."""
    try:
        overload_of(name)
    except AttributeError:
        return False
    return True


def get_schema(name: str, overload: str) -> FunctionSchema:
    """The schema of an operator: of `aten::add` and `Tensor`."""
    return overload_of(f"{name}.{overload}" if overload else name)._schema


def jit_get_all_schemas() -> list[FunctionSchema]:
    """The schemas of all operators of aten."""
    return [parse(f"aten::{text}") for known in aten().values() for _, text in known.values()]


__all__ = [
    "Argument", "FunctionSchema", "Tag","OpOverload", "OpOverloadPacket", "OperatorBase", "_OpNamespace", "_Ops", "ops", "parse_schema",
]  # fmt: skip
