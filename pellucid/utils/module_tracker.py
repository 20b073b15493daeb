"""Which modules are running, in forward and in backward (`torch.utils.module_tracker`)."""

from __future__ import annotations

import weakref
from typing import Any

from .._pytree import tree_leaves
from ..core import observe
from ..core.tensor import Tensor
from ..nn import Module
from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """Context manager that knows which modules are running, by their path from the outermost one.

    Attributes:
        parents: the names of the modules that are running, and "Global".
        is_bw: whether backward is running.

    >>> import pellucid as torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    >>> with ModuleTracker() as tracker:
    ...     hook = model[0].register_forward_pre_hook(lambda *_: print(sorted(tracker.parents)))
    ...     _ = model(torch.ones(1, 2))
    ['Global', 'Sequential', 'Sequential.0']
    """

    parents: set[str]

    def __init__(self) -> None:
        self.parents = {"Global"}
        self.is_bw = False
        self._names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._seen: weakref.WeakSet[Module] = weakref.WeakSet()
        self._handles: list[Any] = []

    def _name(self, module: Module) -> str:
        if module not in self._names:
            self._names[module] = type(module).__name__
        name = self._names[module]
        if module not in self._seen:
            for child_name, child in module.named_children():
                self._names[child] = f"{name}.{child_name}"
            self._seen.add(module)
        return name

    def _enter(self, module: Module, inputs: Any) -> None:
        name = self._name(module)
        self.parents.add(name)
        for t in tree_leaves(inputs):
            if isinstance(t, Tensor) and t.requires_grad:
                t.register_hook(lambda g: self.parents.discard(name) if self.is_bw else None)

    def _leave(self, module: Module, inputs: Any, outputs: Any) -> None:
        name = self._name(module)
        self.parents.discard(name)
        for t in tree_leaves(outputs):
            if isinstance(t, Tensor) and t.requires_grad:
                t.register_hook(lambda g: self.parents.add(name) if self.is_bw else None)

    def backward_start(self, tensors: Any) -> None:
        """Backward begins."""
        self.is_bw, self._forward = True, set(self.parents)

    def backward_end(self, tensors: Any) -> None:
        """Backward is done: what ran in forward runs again."""
        self.is_bw, self.parents = False, self._forward

    def __enter__(self) -> ModuleTracker:
        self._handles = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave),
        ]
        observe.add_observer(self)
        return self

    def __exit__(self, *exc: object) -> None:
        observe.remove_observer(self)
        for handle in self._handles:
            handle.remove()
        self._handles = []
