"""`__torch_function__`: tensor types and modes that take over functions of the library.

Plain tensors pay nothing. A subclass of Tensor that defines `__torch_function__` gets dispatching versions of Tensor's methods and
properties of its own; with the first such class, or while a mode is active, the functions in the public namespaces are
replaced by dispatching ones; while a mode is active, Tensor's own methods are too.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable
from typing import Any

from ..core.modes import local
from ..core.public import FUNCTIONS, METHODS, PROPERTIES
from ..core.tensor import Parameter, Tensor
from ..errors import UnsupportedError
from . import attach

_NEVER = {
    "__init__", "__new__", "__hash__", "__init_subclass__", "__reduce_ex__", "__reduce__", "__class__", "__setstate__", "__array_priority__",
    "__dir__", "__torch_function__",
}  # fmt: skip
_PROPERTIES = ("shape", "dtype", "device", "ndim", "is_meta", "requires_grad", "is_leaf", "grad_fn", "grad", "data")


class _Off:
    """How many blocks say that subclasses, or everything, run without `__torch_function__` (per thread, in `local`)."""

    subclass = "function_off"
    everything = "function_all_off"


def _off(name: str) -> int:
    return getattr(local, name, 0)


def default(cls: Any, func: Callable[..., Any], types: Iterable[type], args: Any = (), kwargs: Any = None) -> Any:
    """What Tensor itself does: run the function, and give results the subclass.

    Subclasses call it as `super().__torch_function__(func, types, args, kwargs)`.
    """
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        if getattr(func, "__name__", "") == "__get__":
            return result
        return _converted(result, cls)


def _converted(result: Any, cls: Any) -> Any:
    if cls is Tensor or cls is Parameter:
        return result
    if isinstance(result, Tensor):
        if not isinstance(result, cls):
            result = result.as_subclass(cls)
        return result
    if isinstance(result, (tuple, list)):
        values = [_converted(r, cls) for r in result]
        return type(result)(*values) if hasattr(result, "_fields") else type(result)(values)
    return result


class DisableTorchFunctionSubclass:
    """Context manager: subclasses' `__torch_function__` is not called; modes still are."""

    _which = _Off.subclass

    def __enter__(self) -> None:
        setattr(local, self._which, _off(self._which) + 1)

    def __exit__(self, *exc: object) -> None:
        setattr(local, self._which, _off(self._which) - 1)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Context manager: neither subclasses' nor modes' `__torch_function__` is called."""

    _which = _Off.everything


def overloaded(values: Iterable[Any]) -> list[Any]:
    """The arguments whose type defines `__torch_function__`, one per type, subclasses before their bases."""
    if _off(_Off.subclass) or _off(_Off.everything):
        return []
    found: list[Any] = []
    kinds: list[type] = []
    for value in values:
        kind = type(value)
        if kind is Tensor or kind is Parameter or kind in kinds or not takes_over(kind):
            continue
        place = next((k for k, other in enumerate(kinds) if issubclass(kind, other)), len(kinds))
        kinds.insert(place, kind)
        found.insert(place, value)
    return found


def takes_over(kind: type) -> bool:
    """Whether a type defines `__torch_function__` itself and does not disable it."""
    own = getattr(kind, "__torch_function__", None)
    return own is not None and own is not disabled and getattr(own, "__func__", own) is not default


def disabled(*args: Any, **kwargs: Any) -> Any:
    """`__torch_function__ = torch._C._disabled_torch_function_impl`: the subclass takes no part."""
    return NotImplemented


def _leaves(args: Any, kwargs: Any) -> Iterable[Any]:
    for value in (*args, *kwargs.values()):
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def dispatch(public: Any, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Ask the innermost mode, then the arguments' types; run the function when nobody takes over."""
    modes = local.function_modes
    values = overloaded(_leaves(args, kwargs))
    if modes and not _off(_Off.everything):
        mode = modes[-1]
        local.function_modes = modes[:-1]
        try:
            result = mode.__torch_function__(public, tuple(type(v) for v in values), args, kwargs)
        finally:
            local.function_modes = modes
        if result is not NotImplemented:
            return result
    if not values:
        return run(*args, **kwargs)
    types = tuple(type(v) for v in values)
    for value in values:
        result = type(value).__torch_function__(public, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{getattr(public, '__module__', 'torch')}.{getattr(public, '__name__', public)}"
    raise TypeError(
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n\n"
        + "\n".join(f"  - tensor subclass {kind}" for kind in types)
        + "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


class Dispatching:
    """A function of a namespace that asks modes and argument types first; equal to the function it stands for."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        functools.update_wrapper(self, function)
        self.__name__ = name
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not local.function_modes and not any(type(v) not in _PLAIN for v in _leaves(args, kwargs)):
            return self.function(*args, **kwargs)
        return dispatch(self, self.function, args, kwargs)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.function or (isinstance(other, Dispatching) and other.function is self.function)

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return repr(self.function)

    def __reduce__(self) -> Any:
        return _by_name, (self.function.__module__, self.function.__qualname__)


def _by_name(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


_PLAIN = {Tensor, Parameter, int, float, bool, complex, str, type(None)}


def public_name(func: Any, preferred: frozenset[str] = frozenset()) -> str:
    """The public name of a function, method or property getter as `__torch_function__` gets it; of several, a preferred one."""
    name = getattr(func, "__name__", "")
    owner = getattr(func, "__self__", None)
    if name in ("__get__", "__set__") and isinstance(owner, property) and owner.fget is not None:
        return str(getattr(owner.fget, "__name__", name))
    return _method_names(preferred).get(getattr(func, "__wrapped_method__", func), str(name))


@functools.cache
def _method_names(preferred: frozenset[str]) -> dict[Any, str]:
    """Methods whose functions go by another name of their own."""
    named = [(function, name) for name, function in METHODS.items() if getattr(function, "__name__", name) != name]
    return dict(sorted(named, key=lambda pair: pair[1] in preferred))


class NoArray:
    """In place of the array of a tensor type that has none. Whoever asks for it learns that."""

    def __init__(self, kind: str = "nested tensor") -> None:
        self.kind = kind

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "kind":
            raise AttributeError(name)
        raise UnsupportedError(
            f"a {self.kind} has no array (`{name}` of it was asked for): this operation does not take {self.kind}s"
        )


# ---- putting the dispatching versions in place -----------------------------------------------
def _namespaces(wrap: bool) -> None:
    for scope, namespace in attach.SCOPES:
        _namespace(scope, namespace, wrap)


def _namespace(scope: dict[str, Any], namespace: str, wrap: bool) -> None:
    for name in FUNCTIONS.get(namespace, {}):
        value = scope.get(name)
        if wrap and callable(value) and not isinstance(value, (type, Dispatching)) and hasattr(value, "__name__"):
            scope[name] = Dispatching(value, name)
        elif not wrap and isinstance(value, Dispatching):
            scope[name] = value.function


def _published(scope: dict[str, Any], namespace: str) -> None:
    """A namespace that is loaded while functions can be taken over."""
    if _installed["classes"] or _installed["modes"]:
        _namespace(scope, namespace, True)


def _method(function: Any, name: str) -> Any:
    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        # What `torch.Tensor.name` is now: handlers compare with it.
        return dispatch(vars(Tensor)[name], function, args, kwargs)

    method.__name__ = name  # `__getitem__`, whatever the function that does it is called
    method.__wrapped_method__ = function  # type: ignore[attr-defined]
    return method


def _property(original: property, name: str) -> property:
    def get(self: Any) -> Any:
        return dispatch(vars(Tensor)[name].__get__, original.__get__, (self,), {})

    def put(self: Any, value: Any) -> None:
        dispatch(vars(Tensor)[name].__set__, original.__set__, (self, value), {})

    return property(get, put if original.fset is not None else None, original.fdel, original.__doc__)


def _versions() -> dict[str, Any]:
    """Dispatching versions of Tensor's methods and properties."""
    made: dict[str, Any] = {}
    own = vars(Tensor)
    for name in (*METHODS, *PROPERTIES, *_PROPERTIES):
        value = own.get(name)
        if name in _NEVER or value is None:
            continue
        if isinstance(value, property):
            made[name] = _property(value, name)
        elif callable(value) and not hasattr(value, "__wrapped_method__"):
            made[name] = _method(value, name)
    return made


_installed = {"classes": 0, "modes": 0}
_saved: dict[str, Any] = {}


def _init_subclass(cls: Any, **kwargs: Any) -> None:
    super(Tensor, cls).__init_subclass__(**kwargs)
    if "__torch_function__" not in vars(cls) or not takes_over(cls):
        return
    for name, value in _versions().items():
        if not any(name in vars(base) for base in cls.__mro__[: cls.__mro__.index(Tensor)]):
            setattr(cls, name, value)
    _installed["classes"] += 1
    if _installed["classes"] == 1:
        _namespaces(True)


def enter_mode(mode: Any) -> None:
    """Make a mode the innermost one of this thread."""
    local.function_modes = (*local.function_modes, mode)
    _installed["modes"] += 1
    if _installed["modes"] == 1:
        if not _installed["classes"]:
            _namespaces(True)
        for name, value in _versions().items():
            _saved[name] = vars(Tensor)[name]
            setattr(Tensor, name, value)


def exit_mode(mode: Any) -> None:
    """The reverse of `enter_mode`."""
    local.function_modes = local.function_modes[:-1]
    _installed["modes"] -= 1
    if _installed["modes"] == 0:
        for name, value in _saved.items():
            setattr(Tensor, name, value)
        _saved.clear()
        if not _installed["classes"]:
            _namespaces(False)


attach.after_publish.append(_published)
Tensor.__torch_function__ = classmethod(default)  # type: ignore[assignment, method-assign]
Tensor.__init_subclass__ = classmethod(_init_subclass)  # type: ignore[assignment]
