"""Operators by namespace and name (`torch._ops`); they are defined in `pellucid.aten`."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

from .aten import dispatch
from .aten.overload import DEFINED, OpOverload, OpOverloadPacket, Tag, ops, overload_of
from .aten.overload import OpNamespace as _OpNamespace
from .aten.overload import Ops as _Ops
from .aten.parts import recorded as recorded
from .aten.schema import Argument, FunctionSchema, aten, parse

OperatorBase = OpOverload
parse_schema = parse


def len_torch_dispatch_stack() -> int:
    """How many modes are active in this thread."""
    return len(dispatch.thread.modes)


def dispatch_get_all_op_names() -> list[str]:
    """The full names of all operators."""
    spaces: dict[str, Any] = {
        "aten": aten(),
        **{name: table for name, table in DEFINED.items() if name != "aten"},
    }
    return [
        f"{space}::{name}" + (f".{overload}" if overload != "default" else "")
        for space, table in spaces.items()
        for name, known in table.items()
        for overload, (about, _) in known.items()
        if "j" not in about
    ]


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


class HigherOrderOperator(abc.ABC):
    """An operator that takes functions: a base class of programs' own, and the class that handlers
    of operators ask for.

    `py_impl` registers what computes it for a dispatch key; the class's own call runs that of
    "Autograd", "CompositeExplicitAutograd" or "CPU".
    """

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        self._name = self.__name__ = name
        self.namespace = self._ns = "higher_order"
        self._cacheable = cacheable
        self.py_kernels: dict[Any, Callable[..., Any]] = {}

    def py_impl(self, k: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorator: the function computes the operator for a dispatch key."""

        def inner(fn: Callable[..., Any]) -> Callable[..., Any]:
            key = getattr(k, "name", k)
            if key in self.py_kernels:
                raise AssertionError(f"{self._name} already has an implementation for {key}")
            self.py_kernels[key] = fn
            return fn

        return inner

    def name(self) -> str:
        """What it is called."""
        return self._name

    def cacheable(self) -> bool:
        """Whether programs with it may be kept."""
        return self._cacheable

    @abc.abstractmethod
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for key in ("Autograd", "AutogradCPU", "CompositeExplicitAutograd", "CPU"):
            if key in self.py_kernels:
                return self.py_kernels[key](*args, **kwargs)
        raise NotImplementedError(
            f"could not find kernel for HigherOrderOperator {self._name} at dispatch key CPU"
        )

    def __str__(self) -> str:
        return self._name


__all__ = [
    "Argument",
    "FunctionSchema",
    "HigherOrderOperator",
    "Tag",
    "OpOverload",
    "OpOverloadPacket",
    "OperatorBase",
    "_OpNamespace",
    "_Ops",
    "ops",
    "parse_schema",
]
