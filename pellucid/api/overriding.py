"""`__torch_function__`: tensor types and modes that take over functions of the library.

Plain tensors pay nothing. A subclass of Tensor that defines `__torch_function__` gets dispatching
versions of Tensor's methods and properties of its own; with the first such class, or while a mode
is active, the public functions ask; while a mode is active, Tensor's own methods do, too, and both
while somebody holds an `Asked`, who has arguments that are no tensors.

A public function that asks has other code and is the same object: whoever imported it before, keeps
it as a default or compares it by `is` need not know.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from types import CodeType, FunctionType
from typing import Any

from numpy import ndarray

from .. import _class_statements
from ..core import bind
from ..core.display.assigned import ReplacedMethod, TensorMeta, place
from ..core.modes import local
from ..core.public import FUNCTIONS, METHODS, PROPERTIES
from ..core.tensor import Parameter, Tensor
from ..devices import Size, device
from ..dtypes import dtype
from ..errors import UnsupportedError, forwarding, warn, warn_once
from ..ops._overloads import overloads
from ..ops.index import basic as indexing
from . import attach, origins
from .exchange import code_for, twin

forwarding.add(__file__)
_NEVER = {
    "__init__",
    "__new__",
    "__hash__",
    "__init_subclass__",
    "__reduce_ex__",
    "__reduce__",
    "__class__",
    "__setstate__",
    "__array_priority__",
    "__dir__",
    "__iter__",
    "__torch_function__",
    "as_subclass",
}
_CONSTRUCTORS = (
    "tensor",
    "as_tensor",
    "asarray",
    "from_dlpack",
)  # which ask modes, but no type of an argument
_PROPERTIES = (
    "shape",
    "dtype",
    "device",
    "ndim",
    "is_meta",
    "requires_grad",
    "is_leaf",
    "grad_fn",
    "grad",
    "grad_dtype",
    "output_nr",
    "retains_grad",
    "data",
)
_AS_STORED = ("grad", "_grad", "_base")  # a tensor's own: they keep their class


def default(
    cls: Any, func: Callable[..., Any], types: Iterable[type], args: Any = (), kwargs: Any = None
) -> Any:
    """What Tensor itself does: run the function, and give results the subclass.

    Subclasses call it as `super().__torch_function__(func, types, args, kwargs)`.
    """
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        if not isinstance(func, FunctionType) and public_name(func) in _AS_STORED:
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
    """Context manager in which no `__torch_function__` of a subclass is called; those of modes still are. Results are plain tensors.

    >>> import pellucid as torch
    >>> class Meters(torch.Tensor): pass
    >>> x = torch.ones(2).as_subclass(Meters)
    >>> with torch._C.DisableTorchFunctionSubclass():
    ...     y = torch.exp(x)
    >>> type(torch.exp(x)).__name__, type(y).__name__
    ('Meters', 'Tensor')
    """

    _which = "function_off"

    def __enter__(self) -> None:
        setattr(local, self._which, getattr(local, self._which) + 1)

    def __exit__(self, *exc: object) -> None:
        setattr(local, self._which, getattr(local, self._which) - 1)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Context manager in which no `__torch_function__` is called, neither of subclasses nor of modes.

    >>> import pellucid as torch
    >>> class Loud(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print("called", func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> x = torch.ones(2)
    >>> with Loud():
    ...     y = torch.exp(x)
    ...     with torch._C.DisableTorchFunction():
    ...         y = torch.exp(x)
    called exp
    """

    _which = "function_all_off"


class _EnableTorchFunction:
    """Context manager in which `__torch_function__` is called again, inside of those above.

    >>> import pellucid as torch
    >>> with torch._C.DisableTorchFunctionSubclass(), torch._C._EnableTorchFunction():
    ...     torch._C._is_torch_function_enabled()
    True
    """

    def __enter__(self) -> None:
        self._before = local.function_off, local.function_all_off
        local.function_off = local.function_all_off = 0

    def __exit__(self, *exc: object) -> None:
        local.function_off, local.function_all_off = self._before


def overloaded(values: Iterable[Any], plain: bool = False, inherited: bool = False) -> list[Any]:
    """The arguments whose type defines `__torch_function__`, one per type, subclasses before their
    bases; with `plain` one plain tensor, too, with `inherited` subclasses that leave it as it is.
    """
    if local.function_off or local.function_all_off:
        return []
    found: list[Any] = []
    kinds: list[type] = []
    for value in values:
        kind = type(value)
        if kind in kinds or not (takes_over(kind, inherited) or plain and kind is Tensor):
            continue
        place = next((k for k, other in enumerate(kinds) if issubclass(kind, other)), len(kinds))
        kinds.insert(place, kind)
        found.insert(place, value)
    return found


def takes_over(kind: type, inherited: bool = False) -> bool:
    """Whether a type defines `__torch_function__`, itself unless `inherited`, and does not disable it."""
    if kind is Tensor or kind is Parameter:
        return False
    own = getattr(kind, "__torch_function__", None)
    return (
        own is not None
        and own is not disabled
        and (inherited or getattr(own, "__func__", own) is not default)
    )


def disabled(*args: Any, **kwargs: Any) -> Any:
    """`__torch_function__ = torch._C._disabled_torch_function_impl`: the subclass takes no part.
    Called, it runs the function.
    """
    return _without_subclasses(*args, **kwargs)


def _without_subclasses(
    func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


disabled.keeps_type = False  # type: ignore[attr-defined]


def _leaves(args: Any, kwargs: Any) -> Iterable[Any]:
    for value in (*args, *kwargs.values()):
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def concerns(relevant: Iterable[Any]) -> bool:
    """Whether one of these arguments, or a mode, takes over functions."""
    return bool(local.function_modes and not local.function_all_off) or bool(
        overloaded(relevant, inherited=True)
    )


def dispatch(
    public: Any,
    run: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    deeper: Sequence[Any] = (),
) -> Any:
    """Ask the innermost mode, then the arguments' types; run the function when nobody takes over."""
    name = getattr(public, "__name__", "")
    constructs = name in _CONSTRUCTORS and public is FUNCTIONS["torch"][name]
    values = [] if constructs else overloaded((*_leaves(args, kwargs), *deeper))

    def ask(handler: Any) -> Any:
        return _ask(handler, public, args, kwargs, values)

    def in_python() -> bool:
        return (origins.origin_of(public) or "").startswith(origins.PYTHON)

    result = _answer(ask, values, in_python)
    if result is not NotImplemented:
        return result
    modes = () if local.function_all_off else local.function_modes
    if not (values or modes):
        if below is not None and below.takes(args, kwargs):
            return below.enter(public, run, args, kwargs)
        return run(*args, **kwargs)
    name = str(origins.origin_of(public) or getattr(public, "__name__", public))
    if in_python():
        raise _nobody(name, values)
    name = name.replace("._C._", ".")
    raise TypeError(
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n\n"
        + "".join(f"  - mode object {mode!r}\n" for mode in modes[-1:])
        + "".join(f"  - tensor subclass {type(value)}\n" for value in values)
        + "\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def handle(
    public: Callable[..., Any], relevant: Iterable[Any], args: tuple[Any, ...], kwargs: Any
) -> Any:
    """What the innermost mode, or the first of the arguments that wants to, answers to a call of a
    function written in Python, with its arguments as they are handed on.
    """
    values = overloaded(relevant, True, True)
    types = tuple(type(value) for value in values)

    def ask(handler: Any) -> Any:
        return handler.__torch_function__(public, types, args, kwargs)

    result = _answer(ask, values, lambda: True)
    if result is not NotImplemented:
        return result
    raise _nobody(f"{public.__module__}.{public.__name__}", values)


def _answer(ask: Callable[[Any], Any], values: Sequence[Any], in_python: Callable[[], bool]) -> Any:
    """What the innermost mode, which is not active meanwhile, or else the first of the values that
    takes over answers; NotImplemented when nobody does. PyTorch warns otherwise where the function
    is written in Python.
    """
    modes = local.function_modes
    if modes and not local.function_all_off:
        local.function_modes = modes[:-1]
        try:
            result = ask(modes[-1])
        finally:
            local.function_modes = modes
        if result is not NotImplemented:
            return result
    for value in values:
        if getattr(value.__torch_function__, "__self__", None) is value:  # not of its class
            text = "as a plain method is deprecated and will be an error in future, please define it as a classmethod."
            if in_python():
                warn(f"Defining your `__torch_function__ {text}", DeprecationWarning)
            else:
                warn_once(f"Defining your `__torch_function__` {text}")
        result = ask(value)
        if result is not NotImplemented:
            return result
    return NotImplemented


def _nobody(name: str, values: Sequence[Any]) -> TypeError:
    """All decline a function that is written in Python."""
    modes = local.function_modes
    return TypeError(
        f"no implementation found for '{name}' on types that implement __torch_function__: {[type(value) for value in values]}"
        + (f" nor in mode {modes[-1]}" if modes else "")
    )


def _ask(
    handler: Any, public: Any, args: tuple[Any, ...], kwargs: dict[str, Any], values: list[Any]
) -> Any:
    """What a mode or a value answers to a call."""
    call = origins.handed(public, args, kwargs, getattr(type(handler), "_as_written", False))
    if call.typed:
        values = overloaded(_leaves(call.typed, {}), True)
    types = tuple(type(v) for v in values)
    if call.kwargs is None:
        return handler.__torch_function__(call.function, types, call.args)
    return handler.__torch_function__(call.function, types, call.args, call.kwargs)


# the level of operators (`pellucid.aten.level`), once there is somebody on it: who is asked after
# functions were
below: Any = None

_PLAIN = {Tensor, Parameter, int, float, bool, complex, str, type(None), dtype, Size, device}
_LISTS = (tuple, list)
_plain_now = set(_PLAIN)  # the same; nothing while there are modes


def public_name(func: Any, preferred: frozenset[str] = frozenset()) -> str:
    """The public name of a function, method or property getter as `__torch_function__` gets it; of
    several, a preferred one.
    """
    name = getattr(func, "__name__", "")
    owner = getattr(func, "__self__", None)
    if name in ("__get__", "__set__") and isinstance(owner, property) and owner.fget is not None:
        return str(getattr(owner.fget, "__name__", name))
    return _method_names(preferred).get(getattr(func, "__wrapped_method__", func), str(name))


@functools.cache
def _method_names(preferred: frozenset[str]) -> dict[Any, str]:
    """Methods whose functions go by another name of their own."""
    named = [
        (function, name)
        for name, function in METHODS.items()
        if METHODS.get(getattr(function, "__name__", name)) is not function
    ]
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


# ---- functions that ask ------------------------------------------------------------------------
# They tell what something is, whoever has taken over.
_TELLING = {"is_tensor", "is_storage", "typename"}
_own_code: dict[FunctionType, FunctionType] = {}  # functions that ask -> what they do
# the same and the code that asks, made once
_made: dict[FunctionType, tuple[FunctionType, CodeType]] = {}


def own(function: Any) -> Any:
    """What a function does without asking."""
    return _own_code.get(function, function)


def _public_functions() -> set[FunctionType]:
    found = set()
    for table in FUNCTIONS.values():
        found |= {
            value
            for name, value in table.items()
            if isinstance(value, FunctionType) and name not in _TELLING
        }
    return found | _methods_of_two()


_OF_TWO = {
    *(f"__i{name}__" for name in "add sub mul div truediv floordiv mod pow".split()),
    *(f"__i{name}__" for name in "and or xor lshift rshift".split()),
}


@functools.cache
def _methods_of_two() -> set[FunctionType]:
    """Tensor's methods that take another tensor, which may be of a class that takes over."""
    found = set()
    for name in METHODS:
        known = overloads(f"Tensor.{name}") or overloads(f"torch.{name}")
        if name in _OF_TWO or (
            known is not None and any("Tensor " in each for each in known.signatures)
        ):
            found.add(vars(Tensor).get(name))
    return {value for value in found if isinstance(value, FunctionType)}


def _functions(asking: bool) -> None:
    """Have the public functions ask, or no longer."""
    if not asking:
        for function, itself in _own_code.items():
            function.__code__ = itself.__code__
            if function.__dict__.get("__wrapped__") is itself:
                del function.__wrapped__  # type: ignore[attr-defined]
        _own_code.clear()
        return
    for function in _public_functions():
        if function in _own_code:
            continue
        made = _made.get(function)
        if made is None or made[0].__code__ is not function.__code__:
            itself = twin(function)
            made = _made[function] = itself, _asking(function, itself)
        _own_code[function] = made[0]
        # so that `inspect.signature` finds the parameters
        function.__dict__.setdefault("__wrapped__", made[0])
        function.__code__ = made[1]


def _published(scope: dict[str, Any], namespace: str) -> None:
    """Functions that are new while functions ask: those of a namespace that is loaded."""
    if _own_code:
        _functions(True)


def _entry(
    function: FunctionType, itself: FunctionType
) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    def entry(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not _installed["modes"]:
            for value in (*args, *kwargs.values()):
                if type(value) not in _PLAIN and (
                    type(value) not in _LISTS or not _PLAIN.issuperset(map(type, value))
                ):
                    break
            else:
                return itself(*args, **kwargs)
        return dispatch(function, itself, args, kwargs)

    return entry


# Where all arguments are plain, which is what programs do most, what the function does is called at
# once.
_ASK = (
    "plain__ = 'whether all of these types are plain'",
    "if args__ and plain__(map(type, args__)) and (not kwargs__ or plain__(map(type, kwargs__.values()))):",
    "    itself__ = 'what the function does'",
    "    return itself__(*args__, **kwargs__)",
    "entry__ = 'the entry of the function'",
    "return entry__(args__, kwargs__)",
)


def _asking(function: FunctionType, itself: FunctionType) -> CodeType:
    """Code that asks the arguments' types before it runs what the function does."""
    constants = {
        "whether all of these types are plain": _plain_now.issuperset,
        "what the function does": itself,
        "the entry of the function": _entry(function, itself),
    }
    return code_for(function, _ASK, constants, function.__name__)


def _method(function: Any, name: str) -> Any:
    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        # What `torch.Tensor.name` is now: handlers compare with it.
        return dispatch(vars(Tensor)[name], own(function), args, kwargs)

    method.__wrapped_method__ = function  # type: ignore[attr-defined]
    return method


def _property(original: property, name: str) -> property:
    def get(self: Any) -> Any:
        return dispatch(vars(Tensor)[name].__get__, original.__get__, (self,), {})

    def put(self: Any, value: Any) -> None:
        dispatch(vars(Tensor)[name].__set__, original.__set__, (self, value), {})

    def remove(self: Any) -> None:
        dispatch(vars(Tensor)[name].__delete__, original.__delete__, (self,), {})

    get.__name__ = name  # what `public_name` calls it
    return property(
        get,
        put if original.fset is not None else None,
        remove if original.fdel is not None else None,
        original.__doc__,
    )


# name -> (what Tensor has, its dispatching version)
_asking_methods: dict[str, tuple[Any, Any]] = {}


def _versions() -> dict[str, Any]:
    """Dispatching versions of Tensor's methods and properties."""
    made: dict[str, Any] = {}
    own = vars(Tensor)
    for name in (*METHODS, *PROPERTIES, *_PROPERTIES):
        value = own.get(name)
        if name in _NEVER or value is None:
            continue
        known = _asking_methods.get(name)
        if known is not None and known[0] is value:
            made[name] = known[1]
        elif isinstance(value, property):
            made[name] = _property(value, name)
        elif callable(value) and not hasattr(value, "__wrapped_method__"):
            made[name] = _method(value, name)
        else:
            continue
        _asking_methods[name] = value, made[name]
    return made


# `modes` counts what needs Tensor's own methods to ask.
_installed = {"classes": 0, "modes": 0}
_saved: dict[str, Any] = {}
_lock = threading.RLock()  # the last holder of an `Asked` may go away in any thread


# classes that functions need not ask before there is an object of them
_without_objects: set[type] = set()


def _init_subclass(cls: Any, asked_from_first_object: bool = False, **kwargs: Any) -> None:
    super(Tensor, cls).__init_subclass__(**kwargs)
    first_object(cls)  # of a base that waits: a class of a program may make its objects in any way
    operators = "__torch_dispatch__" in vars(cls)
    if operators:
        on_operators(cls)
    if not operators and ("__torch_function__" not in vars(cls) or not takes_over(cls)):
        return
    for name, value in _versions().items():
        if not any(name in vars(base) for base in cls.__mro__[: cls.__mro__.index(Tensor)]):
            setattr(cls, name, value)
    if asked_from_first_object:
        _without_objects.add(cls)
    else:
        ask_for(cls)


def first_object(cls: type) -> None:
    """Have functions ask, since there will be an object of a class that was made with
    `asked_from_first_object`. Later objects change nothing.
    """
    for kind in _without_objects.intersection(cls.__mro__):
        _without_objects.discard(kind)
        ask_for(kind)


def ask_for(cls: type) -> None:
    """Have functions ask from now on, since there is a class that takes them over."""
    with _lock:
        _installed["classes"] += 1
        first = _installed["classes"] == 1 and not _installed["modes"]
        if not issubclass(cls, Tensor):
            bind.other_type = _operator
            indexing.taken_over = _index
        if first:
            _functions(True)


def _notice(made: type) -> None:
    """Look at a class that a program made. One that is no Tensor tells nobody else that it has
    `__torch_function__`, and functions that PyTorch writes in C stay functions in it.
    """
    members = type.__dict__["__dict__"].__get__(made)  # past what its metaclass says
    home = members.get("__module__")
    if str(home).startswith("pellucid."):
        return
    if "__torch_function__" in members and not issubclass(made, Tensor):
        ask_for(made)
    for name in [
        name
        for name, value in members.items()
        if type(value) is FunctionType and value.__module__ != home and _written_in_c(value)
    ]:
        setattr(made, name, staticmethod(members[name]))


def _written_in_c(function: FunctionType) -> bool:
    """Whether PyTorch writes this function in C: such a function does not become a method of a
    class whose attribute it is.
    """
    if not str(function.__module__).startswith("pellucid"):
        return False
    name = origins.origin_of(function) or ""
    if name.startswith("torch._C."):
        return True
    listed = overloads(name) if name.count(".") == 1 else None
    return listed is not None and listed.inner is None


def _operator(name: str, x: Any, y: Any) -> Any:
    """What an operator of Tensor gives whose operands are not both tensors; NotImplemented leaves it
    to Python, which asks the other operand: also where a handler raises TypeError, or all decline.
    """
    if takes_over(type(y)) and overloaded((x, y)):
        with contextlib.suppress(TypeError):
            return dispatch(vars(Tensor)[name], _refusing, (x, y), {})
    return beside_an_array(name, x, y)


def _index(name: str, x: Any, index: Any, *value: Any) -> Any:
    """What a class makes of an index of a tensor that one of its objects is in, however deep, or
    of a value that is one.
    """
    found = overloaded((*_within(index), *(v for v in value if not isinstance(v, Tensor))))
    if not found:
        return NotImplemented
    return dispatch(vars(Tensor)[name], _refusing, (x, index, *value), {}, found)


def _within(index: Any) -> Iterable[Any]:
    if isinstance(index, (list, tuple)):
        for item in index:
            yield from _within(item)
    elif not isinstance(index, Tensor):
        yield index


def beside_an_array(name: str, x: Any, y: Any) -> Any:
    """What an operator of Tensor gives beside a NumPy array: `==` compares with its elements, the
    others leave it to NumPy.
    """
    if name != "eq" or not isinstance(y, ndarray):
        return NotImplemented
    try:
        other = FUNCTIONS["torch"]["from_numpy"](y)
    except TypeError:  # elements that tensors cannot hold
        return NotImplemented
    return FUNCTIONS["torch"]["eq"](x, other)


bind.other_type = beside_an_array


def _refusing(*args: Any) -> Any:
    return NotImplemented


def install() -> None:
    """Have Tensor's methods ask, too, until `uninstall`."""
    with _lock:
        _installed["modes"] += 1
        if _installed["modes"] == 1:
            _plain_now.clear()
            if not _installed["classes"]:
                _functions(True)
            for name, value in _versions().items():
                _saved[name] = vars(Tensor)[name]
                place(Tensor, name, value)


def uninstall() -> None:
    """The reverse of `install`."""
    with _lock:
        _installed["modes"] -= 1
        if _installed["modes"] == 0:
            _plain_now.update(_PLAIN)
            for name, value in _saved.items():
                now = vars(Tensor).get(name)
                if isinstance(now, ReplacedMethod):  # by the program, meanwhile
                    now.own = value
                else:
                    place(Tensor, name, value)
            _saved.clear()
            if not _installed["classes"]:
                _functions(False)


def seeds(roots: Any) -> tuple[Any, ...]:
    """What backward starts with at each of the roots: a tensor where somebody handles operators,
    None where nobody does.
    """
    return tuple([None if below is None else below.seed(t) for t in roots])


def on_operators(cls: Any) -> None:
    """A type that defines `__torch_dispatch__`: the level of operators is told."""
    global below
    below = attach.LENT["operators"]()
    below.adopt(cls)


def enter_mode(mode: Any) -> None:
    """Make a mode the innermost one of this thread."""
    local.function_modes = (*local.function_modes, mode)
    install()


def exit_mode(mode: Any) -> None:
    """The reverse of `enter_mode`."""
    local.function_modes = local.function_modes[:-1]
    uninstall()


class Asked:
    """As long as it lives, functions and Tensor's methods ask arguments of other types, too."""

    def __init__(self) -> None:
        install()
        weakref.finalize(self, uninstall).atexit = False


attach.after_publish.append(_published)
attach.own = own
_class_statements.tell(_notice)
Tensor.__torch_function__ = classmethod(default)  # type: ignore[assignment, method-assign]
Parameter.__torch_function__ = staticmethod(disabled)  # type: ignore[method-assign]
Tensor.__init_subclass__ = classmethod(_init_subclass)  # type: ignore[assignment]
TensorMeta.sealed = Tensor
