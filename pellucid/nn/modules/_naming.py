"""Names of types as PyTorch writes them, and indentation of printed modules."""

from __future__ import annotations

from typing import Any

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


def add_indent(text: str, spaces: int) -> str:
    """All lines but the first indented."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line if line.strip() else "" for line in rest)])
