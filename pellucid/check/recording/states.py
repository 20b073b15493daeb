"""Events from what modules save and load, from hooks that are registered on them, and from functions
of the program's with a backward of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..events import Applied, HookAdded, Loaded, Saved

HOOKS = (
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_full_backward_pre_hook",
)


def install(hooks: Any) -> None:
    """Replace the methods, to be restored by `hooks`."""
    recorder, module = hooks.recorder, hooks.torch.nn.Module
    hooks.replace(module, "state_dict", _saving(recorder))
    hooks.replace(module, "load_state_dict", _loading(recorder))
    for name in HOOKS:
        hooks.replace(module, name, _hooking(recorder))
    sampler = hooks.torch.utils.data.WeightedRandomSampler
    hooks.replace(sampler, "__init__", hooks._part_made)


def _saving(recorder: Any) -> Callable[[Any], Any]:
    inside = 0  # calls on submodules

    def make(old: Any) -> Any:
        def state_dict(self: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal inside
            inside += 1
            try:
                result = old(self, *args, **kwargs)
            finally:
                inside -= 1
            if not inside and not recorder.elsewhere:
                recorder.tell("on_saved", Saved(self, recorder.site(2), recorder.step))
            return result

        return state_dict

    return make


def _loading(recorder: Any) -> Callable[[Any], Any]:
    def make(old: Any) -> Any:
        def load_state_dict(self: Any, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
            result = old(self, state_dict, *args, **kwargs)
            if not recorder.elsewhere and hasattr(result, "missing_keys"):
                event = Loaded(
                    self,
                    state_dict,
                    list(result.missing_keys),
                    list(result.unexpected_keys),
                    recorder.site(2),
                    recorder.step,
                )
                recorder.tell("on_loaded", event)
            return result

        return load_state_dict

    return make


def _hooking(recorder: Any) -> Callable[[Any], Any]:
    def make(old: Any) -> Any:
        def register(self: Any, hook: Any, *args: Any, **kwargs: Any) -> Any:
            handle = old(self, hook, *args, **kwargs)
            tell_hook(recorder, self, hook, handle)
            return handle

        return register

    return make


def tell_hook(recorder: Any, owner: Any, hook: Any, handle: Any) -> None:
    """A hook was registered by the program."""
    if not recorder.elsewhere and recorder.wants("on_hook"):
        site = recorder.site(2)
        if site is not None:
            recorder.tell("on_hook", HookAdded(owner, hook, handle, site, recorder.step))


def of_program(recorder: Any, kind: type) -> bool:
    """Whether a class is defined in the program's own files."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return not recorder.is_library(file or "<made>")


def tell_applied(untried: set[Any], recorder: Any, function: Any, args: tuple[Any, ...]) -> None:
    """A function is applied; told once, when something that it is given wants a gradient."""
    wants = recorder.engine.grad_enabled() and any(
        isinstance(a, recorder.engine.Tensor) and recorder.engine.requires_grad(a) for a in args
    )
    untried.add(function)
    if wants and recorder.wants("on_applied"):
        untried.discard(function)
        recorder.tell("on_applied", Applied(function, args, recorder.site(2), recorder.step))
