"""Modules whose parameters get their shapes at the first call."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from ...errors import OperationError
from ..parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Makes a module lazy: the first call runs `initialize_parameters` and turns the module into
    `cls_to_become`.
    """

    cls_to_become: Any = None
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _load_state_dict_pre_hooks: Any
    _forward_pre_hooks: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self.register_load_state_dict_pre_hook(_lazy_load_hook)  # type: ignore[attr-defined]
        self._initialize_hook = self.register_forward_pre_hook(_infer_parameters, with_kwargs=True)  # type: ignore[attr-defined]

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Take shapes from the arguments of the call; defined by each lazy module."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """True before the first call."""
        return any(is_lazy(t) for t in (*self._parameters.values(), *self._buffers.values()))


def _lazy_load_hook(
    module: Any,
    state_dict: Any,
    prefix: str,
    local_metadata: Any,
    strict: Any,
    missing: Any,
    unexpected: Any,
    errors: Any,
) -> None:
    """Loading values gives their shapes to parameters that have none yet."""
    for name, value in (*module._parameters.items(), *module._buffers.items()):
        given = state_dict.get(prefix + name)
        if is_lazy(value) and isinstance(given, Tensor) and not is_lazy(given):
            value.materialize(given.shape)


def _infer_parameters(module: Any, args: Any, kwargs: Any = None) -> None:
    module.initialize_parameters(*args, **(kwargs or {}))
    if module.has_uninitialized_params():
        raise OperationError(f"module {module._get_name()} has not been fully initialized")
    module._initialize_hook.remove()
    module._load_hook.remove()
    delattr(module, "_initialize_hook")
    delattr(module, "_load_hook")
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become
