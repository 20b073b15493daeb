"""Names that are patched while a trace runs, and functions that are recorded as a single call
(`torch.fx.wrap`).
"""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ._compatibility import compatibility
from .node import map_aggregate
from .proxy import Proxy

_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}
_wrapped_methods_to_patch: list[tuple[type, str]] = []
_MISSING = object()


class _Patcher:
    """A context manager that puts things into dictionaries and classes, and takes them back in
    reverse order.
    """

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._visited: set[int] = set()

    def patch(
        self,
        frame_dict: dict[str, Any],
        name: str,
        new_fn: Callable[..., Any],
        deduplicate: bool = True,
    ) -> None:
        """Let a global name be another function; a name that is no global yet (a builtin) becomes
        one.
        """
        if deduplicate and hasattr(frame_dict.get(name), "__fx_already_patched"):
            return
        new_fn.__fx_already_patched = deduplicate  # type: ignore[attr-defined]
        before = frame_dict.get(name, _MISSING)
        frame_dict[name] = new_fn
        self._undo.append(
            lambda: (
                frame_dict.pop(name, None)
                if before is _MISSING
                else frame_dict.__setitem__(name, before)
            )
        )

    def patch_method(
        self, cls: type, name: str, new_fn: Callable[..., Any], deduplicate: bool = True
    ) -> None:
        """Let a method of a class be another function."""
        before = getattr(cls, name)
        if deduplicate and hasattr(before, "__fx_already_patched"):
            return
        new_fn.__fx_already_patched = deduplicate  # type: ignore[attr-defined]
        own = name in vars(cls)
        setattr(cls, name, new_fn)
        self._undo.append(lambda: setattr(cls, name, before) if own else delattr(cls, name))

    def visit_once(self, thing: Any) -> bool:
        """True the first time for each thing."""
        if id(thing) in self._visited:
            return False
        self._visited.add(id(thing))
        return True

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *exc: object) -> None:
        while self._undo:
            self._undo.pop()()
        self._visited.clear()


def _find_proxy(*objects: Any) -> Proxy | None:
    """A proxy anywhere in the arguments, or None."""
    found: list[Proxy] = []

    def note(value: Any) -> Any:
        if not found and isinstance(value, Proxy):
            found.append(value)
        return value

    map_aggregate(objects, note)
    return found[0] if found else None


def _create_wrapped_func(orig_fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(orig_fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return orig_fn(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", orig_fn, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return wrapped


def _create_wrapped_method(cls: type, name: str) -> Callable[..., Any]:
    orig_fn = getattr(cls, name)

    @functools.wraps(orig_fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        return (
            orig_fn(*args, **kwargs)
            if proxy is None
            else proxy.tracer.create_proxy("call_method", name, args, kwargs)
        )

    return wrapped


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    for (_, name), frame_dict in _wrapped_fns_to_patch.copy().items():
        orig_fn = frame_dict[name] if name in frame_dict else getattr(builtins, name)
        patcher.patch(frame_dict, name, _create_wrapped_func(orig_fn))
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, _create_wrapped_method(cls, name))


def _autowrap_check(patcher: _Patcher, frame_dict: dict[str, Any], function_ids: set[int]) -> None:
    """Have the functions that are wrapped everywhere recorded when they are called by their names
    in these globals.
    """
    if not patcher.visit_once(frame_dict):
        return
    for name, value in list(frame_dict.items()):
        if not name.startswith("_") and callable(value) and id(value) in function_ids:
            patcher.patch(frame_dict, name, _create_wrapped_func(value))


@compatibility(is_backward_compatible=True)
def wrap(fn_or_name: str | Callable[..., Any]) -> str | Callable[..., Any]:
    """Record calls of a function as single nodes when a module that calls it is traced, instead of recording what the function does.

    Call it at the top level of the module that uses the function, or decorate the function there:

        @torch.fx.wrap
        def scale(x):
            return x * 10 if x.sum() > 0 else x  # tracing could not decide this

        print(torch.fx.symbolic_trace(lambda x: scale(x) + 1).graph)  # has a call_function node for scale

    Args:
        fn_or_name: the function, or its name (also the name of a builtin, such as "len").

    Returns:
        `fn_or_name`.

    Raises:
        RuntimeError: neither a function nor a name is given.
        NotImplementedError: it was called inside a function.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    current = inspect.currentframe()
    frame = current.f_back if current is not None else None
    if frame is None or frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[(id(frame.f_globals), name)] = frame.f_globals
    return fn_or_name


def patched_function(fn: FunctionType, nargs: int) -> FunctionType:
    """The function with all its parameters positional ones, `*args` and `**kwargs` among them as
    plain values.
    """
    flags = fn.__code__.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    code = fn.__code__.replace(
        co_argcount=nargs, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=flags
    )
    return FunctionType(code, fn.__globals__, fn.__name__, None, fn.__closure__)
