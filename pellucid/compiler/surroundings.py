"""What a function can see besides its arguments, and guards on it.

From the function's closure, its globals, the object it is bound to and its arguments, everything that its code can reach is walked:
modules, optimizers, containers, plain objects, other functions. Tensors found on the way are state, known by the path to them;
numbers, strings, flags and the identity of objects become guards, as far as code that ran can have read them by name.
"""

from __future__ import annotations

import functools
import random
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy import ndarray

from ..core import bind, observe, source, tracing
from ..core.primitive import Primitive
from ..core.public import METHODS
from ..core.random import Generator
from ..core.tensor import Tensor
from ..nn.modules.module import Module
from ..optim.optimizer import Optimizer
from .backward import TracedRun
from .symbols import Namespace
from .trace import Tracer, bounds, owner

LIMIT = 50_000  # objects looked at
ARRAY_BYTES = 1 << 16  # of NumPy arrays whose contents are compared at each call
_SCALARS = (bool, int, float, complex, str, bytes, type(None), type(...), range)
_MODULE_TABLES = ("_parameters", "_buffers", "_modules")
_MISSING = object()
IMPURE = {
    "time": "asks for the time", "perf_counter": "asks for the time", "monotonic": "asks for the time",
    "random": "draws Python's random numbers", "randint": "draws random numbers past this library",
    "choice": "draws random numbers past this library", "uniform": "draws random numbers past this library",
    "shuffle": "draws random numbers past this library", "gauss": "draws Python's random numbers",
    "normalvariate": "draws Python's random numbers", "getrandbits": "draws Python's random numbers",
    "randrange": "draws Python's random numbers", "urandom": "draws the system's random numbers",
    "now": "asks for the time", "today": "asks for the time", "utcnow": "asks for the time", "time_ns": "asks for the time",
    "perf_counter_ns": "asks for the time", "monotonic_ns": "asks for the time", "process_time": "asks for the time",
    "input": "reads the keyboard", "print": "prints", "write": "writes to a file", "open": "opens a file",
}  # fmt: skip
_IMPURE_MODULES = ("random", "time", "numpy.random", "builtins", "_io", "posix", "_random", "io", "datetime")


# With one of these, code reads attributes that it does not name.
_DYNAMIC = frozenset(
    {"getattr", "vars", "globals", "locals", "eval", "exec", "attrgetter", "__dict__", "hasattr", "__getattribute__"}
)
# What objects of this library keep of their last call, to be quicker at the next.
_CACHES = frozenset({"_inv", "_cached_x_y"})
# Methods of arrays through which values reach Python.
_READERS = frozenset("all any sum max min item tolist argmax argmin nonzero prod argsort searchsorted".split())
# Code in which arrays may be looked at: it runs again at each call.
_INSIDE = tracing.independent_codes
_INSIDE |= {
    bind.general.__code__, Tracer.effect.__code__, Tracer.rule.__code__,
    Tracer._whole_rule.__code__, Namespace.apply.__code__, Tracer.constant.__code__, Tracer.check.__code__,
    observe.notify.__code__, TracedRun.send.__code__, bind._watch.__code__, METHODS["item"].__code__, METHODS["__index__"].__code__,
}  # fmt: skip


class Guard:
    """One thing that must be as it was: `holder[key]` (or attribute, or cell) is, or equals, `expected`."""

    __slots__ = ("by_name", "expected", "holder", "key", "kind", "path", "same")

    def __init__(self, kind: str, holder: Any, key: Any, expected: Any, path: str, same: bool, by_name: bool = False) -> None:
        self.kind = kind  # "item", "attr", "cell", "len"
        self.holder = holder
        self.key = key
        self.expected = expected
        self.path = path
        self.same = same
        self.by_name = by_name  # read only by code that has its name: an attribute, a global

    def now(self) -> Any:
        """What is there at present."""
        try:
            if self.kind == "item":
                return self.holder[self.key]
            if self.kind == "cell":
                return self.holder.cell_contents
            if self.kind == "len":
                return len(self.holder)
            if self.kind == "array":
                return self.holder
            if self.kind == "values":
                return [*map(id, self.holder.values())]
            return getattr(self.holder, self.key)
        except (KeyError, IndexError, ValueError, AttributeError):
            return _MISSING

    def holds(self) -> bool:
        value = self.now()
        if value is self.expected:
            return True
        if self.same:
            return False
        if self.kind == "array":
            return np.array_equal(value, self.expected)
        try:
            return type(value) is type(self.expected) and bool(value == self.expected) or _both_nan(value, self.expected)
        except Exception:  # an object whose comparison fails is not the one that was there
            return False

    def __str__(self) -> str:
        shown = self.expected if isinstance(self.expected, _SCALARS) else type(self.expected).__name__
        table = self.kind in ("len", "values")
        return (
            f"contents of {self.path}"
            if self.kind == "values"
            else f"len({self.path}) == {shown}"
            if table
            else (f"{self.path} {'is' if self.same else '=='} {shown!r}")
        )


def _both_nan(a: Any, b: Any) -> bool:
    return isinstance(a, float) and isinstance(b, float) and a != a and b != b


class Surroundings:
    """Everything reachable from a function and its arguments at one moment."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> None:
        self.guards: list[Guard] = []
        self.tensors: dict[int, tuple[Tensor, str]] = {}  # by the identity of the array
        self.modules: list[tuple[Module, str]] = []
        self.streams: list[Any] = []  # NumPy's random generators
        self._kept: list[Any] = []
        self._by_root: dict[int, list[ndarray]] | None = None
        self.seen: dict[int, Any] = {}
        self._queue: list[tuple[Any, str]] = [(function, getattr(function, "__name__", "f"))]
        for k, a in enumerate(args):
            self._queue.append((a, f"argument {k + 1}"))
        for name, a in (kwargs or {}).items():
            self._queue.append((a, name))
        self.complete = True
        while self._queue:
            if len(self.seen) > LIMIT:
                self.complete = False
                break
            # Optimizers last: a parameter is better known by its place in a module.
            k = next((k for k, (v, _) in enumerate(self._queue) if not isinstance(v, Optimizer)), 0)
            self._look(*self._queue.pop(k))

    # ---- walking ---------------------------------------------------------------------------------
    def _look(self, value: Any, path: str) -> None:
        if isinstance(value, _SCALARS) or id(value) in self.seen:
            return
        self.seen[id(value)] = value
        if isinstance(value, Tensor):
            self._tensor(value, path)
        elif isinstance(value, Module):
            self._module(value, path)
        elif isinstance(value, Optimizer):
            self._optimizer(value, path)
        elif isinstance(value, types.FunctionType):
            self._function(value, path)
        elif isinstance(value, types.MethodType):
            self._queue.append((value.__self__, f"{path}.__self__" if "." not in path else path.rpartition(".")[0]))
            self._queue.append((value.__func__, path))
        elif "_torchdynamo_orig_callable" in getattr(value, "__dict__", ()):
            # A compiled function is guarded as what it compiles: what it traced changes from call to call.
            self._queue.append((value._torchdynamo_orig_callable, path))
        elif isinstance(value, functools.partial):
            self._queue += [(value.func, path), (value.args, f"{path}.args"), (value.keywords, f"{path}.keywords")]
        elif isinstance(value, dict) and value is not source._library:  # which remembers what files it saw
            self.guards.append(Guard("len", value, None, len(value), path, False))
            if len(value) <= 10_000:
                for k, v in list(value.items()):
                    self._slot("item", value, k, v, f"{path}[{k!r}]")
        elif isinstance(value, (list, tuple)):
            if isinstance(value, list):
                self.guards.append(Guard("len", value, None, len(value), path, False))
            if len(value) <= 10_000:
                for k, v in enumerate(list(value)):
                    self._slot("item", value, k, v, f"{path}[{k}]", isinstance(value, tuple))
        elif isinstance(value, (set, frozenset)):
            self.guards.append(Guard("len", value, None, len(value), path, False))
        elif type(value).__module__.startswith("numpy.random"):
            self.streams.append(value)
        elif isinstance(value, np.ndarray):
            if value.dtype.kind != "O" and value.nbytes <= ARRAY_BYTES:
                self.guards.append(Guard("array", value, None, value.copy(), path, False))
        elif isinstance(value, (types.ModuleType, type, types.BuiltinFunctionType, np.generic, Primitive, Generator)):
            return
        elif type(value).__module__.partition(".")[0] in ("pellucid", "builtins", "numpy") and not hasattr(value, "__dict__"):
            return
        else:
            self._object(value, path)

    def _slot(self, kind: str, holder: Any, key: Any, value: Any, path: str, constant: bool = False, by_name: bool = False) -> None:
        """A place that holds a value: guarded by value or identity, and walked on."""
        if not constant and not (isinstance(key, str) and key in _CACHES):
            scalar = isinstance(value, _SCALARS)
            self.guards.append(Guard(kind, holder, key, value, path, not scalar, by_name))
        if not isinstance(value, _SCALARS):
            self._queue.append((value, path))

    def _tensor(self, t: Tensor, path: str) -> None:
        if type(t._array) is ndarray:
            self.tensors.setdefault(id(t._array), (t, path))
        if t._grad is not None and type(t._grad._array) is ndarray and id(t._grad) not in self.seen:
            self.seen[id(t._grad)] = t._grad
            self.tensors.setdefault(id(t._grad._array), (t._grad, f"{path}.grad"))
        if t._view is not None:
            self._queue.append((t._view.base, f"{path}._base"))

    def _module(self, m: Module, path: str) -> None:
        self.modules.append((m, path))
        for name, value in list(m.__dict__.items()):
            if name in _MODULE_TABLES:
                table = value
                self.guards.append(Guard("len", table, None, len(table), f"{path}.{name}", False))
                for k, v in list(table.items()):
                    self._slot("item", table, k, v, f"{path}.{k}")
            elif name.endswith("_hooks") or name.startswith(("_forward_hooks", "_backward")):
                if hasattr(value, "__len__"):
                    self.guards.append(Guard("len", value, None, len(value), f"{path}.{name}", False))
                    for hook in list(getattr(value, "values", lambda: ())()):
                        self._queue.append((hook, f"{path}.{name}"))
            else:
                self._slot("attr", m, name, value, f"{path}.{name}", by_name=True)
        if type(m).__module__.partition(".")[0] != "pellucid":
            for klass in type(m).__mro__:
                if klass.__module__.partition(".")[0] not in ("pellucid", "builtins"):
                    self._class(klass, path)

    def _class(self, klass: type, path: str) -> None:
        """Class attributes and the globals that methods use."""
        if id(klass) in self.seen:
            return
        self.seen[id(klass)] = klass
        for name, value in list(vars(klass).items()):
            if isinstance(value, (staticmethod, classmethod)):
                value = value.__func__
            elif isinstance(value, property):
                value = value.fget
            if isinstance(value, types.FunctionType):
                self._function(value, f"{klass.__name__}.{name}")
            elif not name.startswith("__"):
                self._slot("attr", klass, name, value, f"{klass.__name__}.{name}", by_name=True)

    def _optimizer(self, o: Optimizer, path: str) -> None:
        """Options are read at each call and need no guard; which parameters and which state there is does."""
        self.guards.append(Guard("len", o.param_groups, None, len(o.param_groups), f"{path}.param_groups", False))
        self.guards.append(Guard("attr", o, "param_groups", o.param_groups, f"{path}.param_groups", True))
        for k, group in enumerate(o.param_groups):
            held = group["params"]
            self.guards.append(Guard("item", o.param_groups, k, group, f"{path}.param_groups[{k}]", True))
            self.guards.append(Guard("item", group, "params", held, f"{path}.param_groups[{k}]['params']", True))
            self.guards.append(Guard("len", held, None, len(held), f"{path}.param_groups[{k}]['params']", False))
            for i, p in enumerate(held):
                self._tensor(p, f"{path}.param_groups[{k}]['params'][{i}]")
                self.guards.append(Guard("item", held, i, p, f"{path}.param_groups[{k}]['params'][{i}]", True))
        self.guards.append(Guard("attr", o, "state", o.state, f"{path}.state", True))
        self._values(o.state, f"{path}.state")
        for entry in list(o.state.values()):
            if isinstance(entry, dict):
                self._values(entry, f"{path}.state[...]")
                for name, value in list(entry.items()):
                    if isinstance(value, Tensor):
                        self._tensor(value, f"{path}.state[...]['{name}']")
        for hooks in ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks"):
            self.guards.append(Guard("len", getattr(o, hooks), None, len(getattr(o, hooks)), f"{path}.{hooks}", False))

    def _values(self, table: dict[Any, Any], path: str) -> None:
        """That a dictionary holds the same objects in the same order."""
        self._kept.append(list(table.values()))  # their identities stay theirs
        self.guards.append(Guard("values", table, None, [*map(id, table.values())], path, False))

    def _function(self, f: types.FunctionType, path: str) -> None:
        names = f.__code__.co_freevars
        for name, cell in zip(names, f.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self._slot("cell", cell, None, value, name)
        if source.is_library(f.__code__.co_filename):
            return
        self._globals(f.__code__, f.__globals__)
        for name, value in (f.__kwdefaults__ or {}).items():
            self._slot("item", f.__kwdefaults__, name, value, name)
        if f.__defaults__:
            self._queue.append((f.__defaults__, f"{path}.__defaults__"))

    def _globals(self, code: types.CodeType, names: dict[str, Any]) -> None:
        for name in code.co_names:
            if name in names:
                value = names[name]
                if isinstance(value, types.ModuleType):
                    self.guards.append(Guard("item", names, name, value, name, True))
                    self._attributes(code, value, name)
                else:
                    self._slot("item", names, name, value, name, by_name=True)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._globals(constant, names)

    def _attributes(self, code: types.CodeType, module: types.ModuleType, path: str) -> None:
        """`config.scale`, where config is a module of the user's: what its names in the code hold."""
        file = getattr(module, "__file__", None)
        if (
            file is None
            or source.is_library(file)
            or "site-packages" in file
            or file.startswith(sys.prefix)
            or "/lib/python" in file
        ):
            return
        for name in code.co_names:
            if name in module.__dict__:
                self._slot("attr", module, name, module.__dict__[name], f"{path}.{name}", by_name=True)

    def _object(self, value: Any, path: str) -> None:
        held = getattr(value, "__dict__", None)
        if isinstance(held, dict):
            if type(value).__module__.partition(".")[0] not in ("pellucid", "builtins"):
                for klass in type(value).__mro__:
                    if klass.__module__.partition(".")[0] not in ("pellucid", "builtins"):
                        self._class(klass, path)
            for name, v in list(held.items()):
                self._slot("item", held, name, v, f"{path}.{name}", by_name=True)
        for klass in type(value).__mro__:
            for name in getattr(klass, "__slots__", ()) or ():
                v = getattr(value, name, _MISSING)
                if v is not _MISSING and not name.startswith("__"):
                    self._slot("attr", value, name, v, f"{path}.{name}", by_name=True)

    def drawn(self) -> Any:
        """The states of all random streams past this library that can be seen: they move when something draws."""
        own = [
            repr(getattr(g, "bit_generator", g).state) if hasattr(g, "bit_generator") else repr(g.get_state()) for g in self.streams
        ]
        _, words, place, *_ = np.random.get_state()
        return random.getstate(), words.tobytes(), place, own

    # ---- answers ---------------------------------------------------------------------------------
    def name_of(self, array: ndarray) -> str | None:
        """The path to the tensor that holds an array, when it is neither an argument nor unknown."""
        found = self.tensors.get(id(array))
        return None if found is None else found[1]

    def holder_of(self, array: ndarray) -> ndarray | None:
        """The array of a tensor in whose memory an array lies."""
        if self._by_root is None:
            self._by_root = {}
            for t, _ in self.tensors.values():
                self._by_root.setdefault(id(owner(t._array)), []).append(t._array)
        first, last = bounds(array)
        for a in self._by_root.get(id(owner(array)), ()):
            low, high = bounds(a)
            if low <= first and last <= high:
                return a
        return None

    def relevant(self, names: set[str], dynamic: bool = False) -> list[Guard]:
        """The guards on what code that ran, and used `names`, can have read; all of them when it makes names (`dynamic`)."""
        if dynamic:
            return list(self.guards)
        return [g for g in self.guards if not g.by_name or g.key in names]


class Witness:
    """The names that running code used, and the calls it made that a replay could not repeat."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.impure: list[tuple[str, Any]] = []
        self.read: tuple[str, Any] | None = None
        self.entry: Any = None  # the function's first line
        self.calling: Any = None  # the function in C that is running
        self.dynamic = False  # whether the user's code reads attributes whose names it makes
        self._codes: set[int] = set()
        self._kept: list[Any] = []

    @contextmanager
    def watching(self) -> Iterator[Witness]:
        """Watch the calls made inside the block."""
        before = sys.getprofile()
        sys.setprofile(self._event)
        try:
            yield self
        finally:
            sys.setprofile(before if before is None or callable(before) else None)
            if hasattr(before, "enable"):  # cProfile's, which is no Python function
                before.enable()

    def _event(self, frame: Any, event: str, arg: Any) -> None:
        if event == "call":
            code = frame.f_code
            if id(code) not in self._codes:
                self._codes.add(id(code))
                self._kept.append(code)
                if self.entry is None and not source.is_library(code.co_filename):
                    self.entry = source.describe((code, 0))
                self.names.update(code.co_names, code.co_freevars)
                self.names.update(c for c in code.co_consts if type(c) is str)
                if not self.dynamic and not _DYNAMIC.isdisjoint(code.co_names) and _of_the_user(frame):
                    self.dynamic = True
        elif event != "c_call":
            self.calling = None
        else:
            self.calling = arg
            name = getattr(arg, "__name__", "")
            if name in _READERS and isinstance(getattr(arg, "__self__", None), ndarray) and self.read is None:
                self._array_read(frame, arg.__self__)
            owner = getattr(arg, "__self__", None)
            if type(owner).__module__.startswith(("numpy.random", "random")) and _of_the_user(frame):
                self.impure.append(("draws random numbers past this library", source.describe((frame.f_code, frame.f_lasti))))
            elif name in IMPURE and _of_the_user(frame) and not isinstance(owner, (Tensor, ndarray)):
                module = getattr(arg, "__module__", None) or (owner if isinstance(owner, type) else type(owner)).__module__
                if module.startswith(_IMPURE_MODULES):
                    self.impure.append((IMPURE[name], source.describe((frame.f_code, frame.f_lasti))))

    def _array_read(self, frame: Any, array: ndarray) -> None:
        """An array's method that looks at values was called: where the library does it outside of an operation, its result may decide
        something that the program would repeat for other values.
        """
        if not source.is_library(frame.f_code.co_filename):
            return  # a user's array is no tensor's: those that are were read through numpy(), which is told of
        inner = frame
        while frame is not None and (source.is_library(frame.f_code.co_filename) or frame.f_code.co_filename == "<string>"):
            if frame.f_code in _INSIDE:
                return
            frame = frame.f_back
        self.read = (inner.f_code.co_name, None if frame is None else source.describe((frame.f_code, frame.f_lasti)))


def _of_the_user(frame: Any) -> bool:
    """True when the user's code, perhaps through the standard library, makes the call; False for what this library does."""
    while frame is not None:
        file = frame.f_code.co_filename
        if source.is_library(file) or file.startswith("<frozen importlib"):
            return False
        if "/lib/python" not in file and not file.startswith("<frozen"):
            return True
        frame = frame.f_back
    return False


def changed(guards: Iterable[Guard]) -> list[Guard]:
    """The guards that do not hold."""
    return [g for g in guards if not g.holds()]
