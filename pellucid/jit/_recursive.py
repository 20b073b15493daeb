"""`torch.jit._recursive`: what libraries look up about scripted modules."""

from __future__ import annotations

from typing import Any

from ._script import script, scripted


class _TypeStore(dict[Any, Any]):
    """Types by class; scripted classes are made from the class itself, so nothing is kept here."""


class ConcreteTypeStore:
    """Where PyTorch keeps the compiled types of modules."""

    def __init__(self) -> None:
        self.type_store = _TypeStore()
        self.methods_compiled: set[Any] = set()


concrete_type_store = ConcreteTypeStore()


def create_script_module(
    nn_module: Any, stubs_fn: Any = None, share_types: bool = True, is_tracing: bool = False
) -> Any:
    """The scripted form of a module."""
    return scripted(nn_module)


def try_compile_fn(fn: Any, loc: Any = None) -> Any:
    """The scripted form of a function."""
    return script(fn)
