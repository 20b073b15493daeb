"""Names of types as PyTorch writes them, and indentation of printed modules."""

from __future__ import annotations

from types import FunctionType
from typing import Any, TypeVar

from ...core.tensor import Parameter, Tensor

_HOME = __name__.partition(".")[0]


def typename(value: Any) -> str:
    """The full name of the type, under PyTorch's module names: 'torch.FloatTensor', 'list',
    'torch.nn.modules.linear.Linear'.
    """
    if isinstance(value, Tensor):
        return "torch.nn.parameter.Parameter" if isinstance(value, Parameter) else value.type()
    kind = value if isinstance(value, type) else type(value)
    home = kind.__module__
    if home in ("builtins", "__builtin__", None):
        return kind.__qualname__
    top, _, rest = home.partition(".")
    return ".".join(
        part for part in ("torch" if top == _HOME else top, rest, kind.__qualname__) if part
    )


_Layer = TypeVar("_Layer", bound=type[Any])


def separate_initializers(base: _Layer) -> _Layer:
    """Give each layer of the library that derives from `base` an `__init__` of its own: Python names
    the function in its errors, and people look for the layer that they wrote.
    """

    kind: Any = base

    def named(cls: Any, **options: Any) -> None:
        super(kind, cls).__init_subclass__(**options)
        if "__init__" in vars(cls) or cls.__module__.partition(".")[0] != _HOME:
            return
        shared = cls.__init__
        own: Any = FunctionType(
            shared.__code__,
            shared.__globals__,
            "__init__",
            shared.__defaults__,
            shared.__closure__,
        )
        own.__kwdefaults__, own.__annotations__ = shared.__kwdefaults__, shared.__annotations__
        own.__doc__, own.__module__ = shared.__doc__, shared.__module__
        own.__qualname__ = f"{cls.__qualname__}.__init__"
        cls.__init__ = own

    kind.__init_subclass__ = classmethod(named)
    return base


def add_indent(text: str, spaces: int) -> str:
    """All lines but the first indented."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line if line.strip() else "" for line in rest)])
