"""Everything that a function can see besides its arguments, and guards on it.

The walk starts from the function's closure, its globals, the object it is bound to and its
arguments, and follows everything that its code can reach: modules, optimizers, containers, plain
objects, classes, other functions. Tensors found on the way are state, identified by the path to
them. Numbers, strings, flags, contents and the identity of objects become guards. Each guard
belongs to an object. After the call, only guards on objects that the executed code can have reached
are kept: everything in closures and containers, but attributes, globals and class members only if
the code uses their name.
"""

from __future__ import annotations

import abc
import array
import contextvars
import functools
import keyword
import os
import random
import sys
import threading
import types
import weakref
from collections import deque
from collections.abc import Callable, Container, Iterable, MappingView
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from ...core import source, tracing
from ...core.primitive import Primitive
from ...core.streams.generator import Generator
from ...core.tensor import Tensor
from ...nn.modules._hooks import global_hooks
from ...nn.modules._tables import HOOKS, MEMBERS
from ...nn.modules.module import Module
from ...optim.optimizer import HOOK_TABLES, Optimizer, _global_post_hooks, _global_pre_hooks
from ..trace.arrays import bounds, memory_of
from ..trace.watch import LIBRARIES, OWN, builtins_of, is_ours, is_own, is_users, module_of
from .guards import MISSING, SCALARS, Absent, Guard, Lent, Opaque, TensorHooks, hooks_of
from .structure import members
from .witness import (
    GLOBAL,
    OPTION,
    Witness,
    attributes_of,
    called_as,
    compares_types,
    counts_exactly,
    loaded,
)

LIMIT = 50_000  # the largest number of objects to visit
ARGUMENTS = -1  # the pseudo-object that holds the arguments, which may differ at each call
LENGTH = 10_000  # at most so many items of a container are visited
ARRAY_BYTES = 1 << 16  # NumPy arrays up to this size are compared by contents at each call
# The attributes of every optimizer, including its tables of hooks.
_OPTIMIZER_PARTS = frozenset({"state", "param_groups", *HOOK_TABLES})
# Attributes in which objects of this library cache results of their last call.
_CACHES = frozenset({"_inv", "_cached_x_y"})
# types whose contents no program depends on
_FIXED = (
    types.BuiltinFunctionType,
    np.generic,
    Primitive,
    Generator,
    tracing.Fixed,
)
_STATES = frozenset({"_ctypes", "mmap", "sqlite3"})


class Edge(NamedTuple):
    """An edge of the walk: an object leads to a guard or to another object, for code that uses
    `name` (None: for all code).
    """

    # a name (prefix GLOBAL if loaded as a global, OPTION for a string constant), or a code's id
    name: str | int | None
    guard: Guard | None
    child: int | None


class CapturedEnvironment:
    """Everything reachable from a function and its arguments at one moment."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        places: Iterable[Guard] = (),
        logs: Iterable[Guard] = (),
    ) -> None:
        self.tensors: dict[int, tuple[Tensor, str]] = {}  # id of the array -> (tensor, path)
        # pairs (gradient, its tensor)
        self.gradients: list[tuple[weakref.ref[Tensor], Tensor]] = []
        self.twins: list[Tensor] = []  # further tensors on an array in `tensors`
        self.modules: list[tuple[Module, str]] = []
        self.streams: list[Any] = []  # NumPy's random generators
        self.kept: list[Any] = []  # objects kept alive because guards compare their ids
        # whether there are views of dictionaries, through which contents are visible
        self.views = False
        self._optimizers: dict[int, tuple[Optimizer, str, list[Guard]]] = {}
        self._by_root: dict[int, list[ndarray]] | None = None
        self.seen: dict[int, Any] = {}
        self.guarded: dict[int, Any] = {}  # holders of guards, parts of optimizers among them
        self._edges: dict[int, list[Edge]] = {}
        self._vocabulary: set[str] = set()  # all names in code that can run
        # attribute names that the user's code assigns -> all names in that code
        self._set: dict[str, set[str]] = {}
        # Python modules, except this library's
        self._spaces: list[tuple[types.ModuleType, str]] = []
        self._taken: set[tuple[int, str]] = set()
        self._codes: list[tuple[types.CodeType, dict[str, Any]]] = []
        self._always: list[types.CodeType] = []
        self._queue: deque[tuple[Any, str]] = deque()
        self._last: deque[tuple[Any, str]] = deque()
        self.given: set[int] = set()  # tensors that are arguments
        self.containers: set[int] = set()  # ids of lists and dictionaries that are arguments
        # argument tensors that the executed code can also have reached another way
        self.aliased: set[int] = set()
        # tensors that the executed code can have reached and that are not arguments
        self.reached: list[Tensor] = []
        self.groups: dict[int, Optimizer] = {}  # id of a parameter group -> its optimizer
        # For each list that the call may append to: all places that hold it; None if one of them
        # cannot be written to.
        self.holding: dict[int, list[Guard] | None] = {id(g.holder): [] for g in logs}
        # places whose tensors are treated as arguments
        self._places = {(id(g.holder), g.key) for g in places}
        # guards on attributes that the executed code assigns and does not read
        self.stored: list[Guard] = []
        self._at = 0  # the id of the object being visited
        self._entry = _name(function).rpartition(".")[2]  # the function's own name
        self._reach(function, _name(function))
        self._at = ARGUMENTS
        for k, a in enumerate(args):
            self._argument(a, f"argument {k + 1}")
        for name, a in (kwargs or {}).items():
            self._argument(a, name)
        self.complete = self._walk()

    # ---- walking ---------------------------------------------------------------------------------
    def _walk(self) -> bool:
        while True:
            # Optimizers last, so that parameters are named by their place in a module.
            queue = self._queue or self._last
            if not queue:
                if not self._name_spaces():
                    return True
                continue
            if len(self.seen) > LIMIT:
                return False
            value, path = queue.popleft()
            if id(value) not in self.seen:
                self.seen[id(value)] = value
                self._at = id(value)
                self._edges[self._at] = []
                try:
                    self._look(value, path)
                except Exception:
                    # its class runs its own code on attribute access (or for a module's name), and
                    # that code raises
                    self._edges[self._at].append(Edge(None, Opaque(value, path), None))

    def _reach(self, value: Any, path: str, name: str | int | None = None) -> None:
        """Note that the current object leads to another one, and queue that."""
        if id(value) in self.holding:
            self.holding[id(value)] = None
        if not isinstance(value, SCALARS):
            self._edges.setdefault(self._at, []).append(Edge(name, None, id(value)))
            if id(value) not in self.seen:
                (self._last if isinstance(value, Optimizer) else self._queue).append((value, path))

    def _argument(self, value: Any, path: str) -> None:
        """Visit an argument. Containers and tensors are compared at each call; the rest is walked."""
        if isinstance(value, Tensor):
            self.given.add(id(value))
            self._reach(value, path)
        elif isinstance(value, (list, tuple)):
            self._contains(value)
            for k, v in enumerate(value):
                self._argument(v, f"{path}[{k}]")
        elif isinstance(value, dict):
            self._contains(value)
            for k, v in value.items():
                self._argument(v, f"{path}[{k!r}]")
        elif (held := members(value)) is not None:
            self._contains(value)
            for field, v in held.items():
                self._argument(v, f"{path}.{field}")
            self._reach(type(value), type(value).__name__)
        else:
            self._reach(value, path)

    def _contains(self, value: Any) -> None:
        if not isinstance(value, tuple):
            self.containers.add(id(value))
            if id(value) in self.holding:
                self.holding[id(value)] = None

    def _guard(
        self,
        kind: str,
        holder: Any,
        key: Any,
        expected: Any,
        path: str,
        same: bool = False,
        name: Any = None,
    ) -> None:
        self.guarded[id(holder)] = holder
        self._edges[self._at].append(
            Edge(name, Guard(kind, holder, key, expected, path, same), None)
        )

    def _slot(
        self, kind: str, holder: Any, key: Any, value: Any, path: str, name: str | int | None = None
    ) -> None:
        """Visit a place that holds a value: add a guard by value or identity, and walk on from the
        value.
        """
        if (id(holder), key) in self._places:
            at, self._at = self._at, ARGUMENTS
            self._argument(value, path)
            self._at = at
            return
        if not (isinstance(key, str) and key in _CACHES):
            self._guard(kind, holder, key, value, path, not isinstance(value, SCALARS), name)
        held = self.holding.get(id(value))
        self._reach(value, path, name)
        if held is not None:
            held.append(Guard(kind, holder, key, value, path, True))
            self.holding[id(value)] = held

    def _length(self, value: Any, path: str) -> None:
        self._guard("len", value, None, len(value), path)

    def _look(self, value: Any, path: str) -> None:
        if isinstance(value, Tensor):
            self._tensor(value, path)
        elif isinstance(value, Module):
            self._module(value, path)
        elif isinstance(value, Optimizer):
            self._optimizer(value, path)
        elif isinstance(value, types.FunctionType):
            self._function(value, path)
        elif isinstance(value, types.MethodType):
            self._reach(value.__self__, path.rpartition(".")[0] or type(value.__self__).__name__)
            self._reach(value.__func__, path)
        elif isinstance(value, type):
            self._classes(value)
        elif isinstance(value, types.ModuleType):
            if value.__name__.partition(".")[0] not in OWN:
                self._spaces.append((value, path))
        elif "_torchdynamo_orig_callable" in getattr(value, "__dict__", ()):
            # A compiled function is guarded as the function that it compiles, because its own state
            # changes with each trace.
            self._reach(value._torchdynamo_orig_callable, path)
        elif isinstance(value, functools.partial):
            for name in ("func", "args", "keywords"):
                self._slot("attr", value, name, getattr(value, name), f"{path}.{name}")
        elif isinstance(value, functools._lru_cache_wrapper):
            # Its cached results matter even if its code does not run.
            if isinstance(value.__wrapped__, types.FunctionType):
                self._always.append(value.__wrapped__.__code__)
            self._reach(value.__wrapped__, path)
        elif isinstance(
            value,
            (
                dict,
                list,
                tuple,
                set,
                frozenset,
                deque,
                types.MappingProxyType,
                bytearray,
                array.array,
            ),
        ):
            self._container(value, path)
            if hasattr(value, "__dict__"):
                self._object(value, path)
        elif isinstance(value, MappingView):
            self.views = True
            self._reach(getattr(value, "mapping", None), path)
        elif module_of(type(value)).startswith("numpy.random"):
            self.streams.append(value)
        elif isinstance(value, ndarray):
            self._array(value, path)
        elif isinstance(value, contextvars.ContextVar):
            now = value.get(MISSING)
            self._guard("context", value, None, now, f"{path}.get()", not isinstance(now, SCALARS))
            self._reach(now, f"{path}.get()")
        elif isinstance(value, weakref.ref):
            self._weak(value, path)
        elif isinstance(value, types.BuiltinMethodType) and not isinstance(
            value.__self__, (types.ModuleType, type)
        ):
            self._reach(value.__self__, path)  # for example a method of a list
        elif isinstance(value, _FIXED):
            return
        elif (
            hasattr(type(value), "__next__")
            and not hasattr(value, "__dict__")
            or not _STATES.isdisjoint([module_of(c) for c in type(value).__mro__])
        ):
            self._edges[self._at].append(Edge(None, Opaque(value, path), None))
        else:
            self._object(value, path)

    def _weak(self, value: weakref.ref[Any], path: str) -> None:
        held = value()
        if isinstance(held, types.MethodType):  # from a WeakMethod
            self._reach(held.__func__, path)
            held = held.__self__
        if held is not None:
            self._reach(held, f"{path}()")
            self._edges[self._at][-1] = Edge(None, Lent(held, f"{path}()"), None)

    def _container(self, value: Any, path: str) -> None:
        if value is source._library:  # the library's cache of file names
            return
        if isinstance(value, (dict, types.MappingProxyType)):
            self.views |= not isinstance(value, dict)
            self._guard("keys", value, None, [*value], path)
            for k, v in [*value.items()][:LENGTH]:
                # the key object may also be an argument, by which the code looks it up
                if not isinstance(k, SCALARS):
                    self._reach(k, f"a key of {path}")
                self._slot("item", value, k, v, f"{path}[{k!r}]")
        elif isinstance(value, tuple):
            for k, v in enumerate(value[:LENGTH]):
                self._reach(v, f"{path}[{k}]")
        elif isinstance(value, (list, deque)):
            self._length(value, path)
            for k, v in enumerate([*value][:LENGTH] if self.holding.get(id(value)) is None else ()):
                self._slot("item", value, k, v, f"{path}[{k}]")
        else:
            if isinstance(value, (set, frozenset)):
                for v in [*value][:LENGTH]:
                    self._reach(v, f"an element of {path}")
            if isinstance(value, frozenset):
                return
            self._guard(
                "contents",
                value,
                None,
                type(value)(value) if isinstance(value, (set, bytearray)) else value[:],
                path,
            )

    def _array(self, value: ndarray, path: str) -> None:
        if value.dtype.kind == "O":
            for k, v in enumerate(value.reshape(-1)[:LENGTH].tolist()):
                self._slot("item", value.reshape(-1), k, v, f"{path}[{k}]")
        elif value.nbytes <= ARRAY_BYTES:
            self._guard("contents", value, None, value.copy(), path)
        else:
            self._edges[self._at].append(Edge(None, Opaque(value, path), None))

    @property
    def found(self) -> list[Tensor]:
        """All tensors found, including several on one array."""
        return [*[t for t, _ in self.tensors.values()], *self.twins]

    def _tensor(self, t: Tensor, path: str) -> None:
        if (
            type(t._array) is ndarray
            and self.tensors.setdefault(id(t._array), (t, path))[0] is not t
        ):
            self.twins.append(t)
        if t._grad is not None and type(t._grad._array) is ndarray and id(t._grad) not in self.seen:
            self.seen[id(t._grad)] = t._grad
            found, _ = self.tensors.setdefault(id(t._grad._array), (t._grad, f"{path}.grad"))
            if found is t._grad:
                self.gradients.append((weakref.ref(found), t))
        if t._rg and id(t) not in self.given:
            self._edges[self._at].append(Edge(None, TensorHooks(t, path), None))
            for hook in hooks_of(t):
                self._reach(hook, f"a hook on {path}")
        if t._view is not None:
            self._reach(t._view.base, f"{path}._base")

    def _module(self, m: Module, path: str) -> None:
        self.modules.append((m, path))
        self._reach(global_hooks, "global hooks")
        for name, value in list(m.__dict__.items()):
            if name in MEMBERS:
                self._guard("item", m.__dict__, name, value, f"{path}.{name}", True)
                self._length(value, f"{path}.{name}")
                for k, v in list(value.items()):
                    self._slot("item", value, k, v, f"{path}.{k}")
            elif name in HOOKS:
                called = next((w for w in ("load_state_dict", "state_dict") if w in name), None)
                self._guard("keys", value, None, [*value], f"{path}.{name}", name=called)
                for hook in list(value.values()):
                    self._reach(hook, f"{path}.{name}", called)
            else:
                self._slot("attr", m, name, value, f"{path}.{name}", name)
        self._guard("keys", m.__dict__, None, [*m.__dict__], path)
        self._kind(m, path)

    # ---- classes and plain objects ---------------------------------------------------------------------
    def _classes(self, klass: type) -> None:
        """Visit a user's class: its attributes, those of its bases, and what its methods use."""
        meta: type = type(klass)
        if issubclass(meta, abc.ABCMeta):  # another class may be registered with it
            token, where = abc.get_cache_token, "abc.get_cache_token()"
            self._guard("called", token, None, token(), where, name=GLOBAL + "isinstance")
        if issubclass(klass, Module) and (is_ours(klass) or "forward" not in vars(klass)):
            path = f"{klass.__name__}.forward"
            self._guard("attr", klass, "forward", klass.forward, path, True)
        for c in (*klass.__mro__, *meta.__mro__):
            if module_of(c).partition(".")[0] not in LIBRARIES:
                if c is klass:
                    self._class(c)
                else:
                    self._reach(c, c.__name__)

    def _class(self, klass: type) -> None:
        held = vars(klass)
        self._length(held, klass.__name__)
        self._guard("attr", klass, "__mro__", klass.__mro__, f"{klass.__name__}.__mro__", True)
        for name, value in list(held.items()):
            path = f"{klass.__name__}.{name}"
            functions = [
                f
                for f in (
                    value,
                    getattr(value, "__func__", None),
                    *[getattr(value, g, None) for g in ("fget", "fset", "func")],
                )
                if isinstance(f, types.FunctionType)
            ]
            if functions:  # operators call methods without naming them in code
                for f in functions:
                    self._guard("item", held, name, value, path, True, id(f.__code__))
                    self._reach(f, path, id(f.__code__))
            elif not name.startswith("__"):
                self._slot("item", held, name, value, path, name)

    def _object(self, value: Any, path: str) -> None:
        held: Any = getattr(value, "__dict__", None)
        mine = module_of(type(value)).partition(".")[0] not in (*OWN, "builtins", "numpy")
        if isinstance(value, threading.local):  # a call may come from another thread
            for name, v in list(held.items()):
                self._slot("attr", value, name, v, f"{path}.{name}", name)
            self._guard("names", value, None, [*held], path)
        elif isinstance(held, dict):
            for name, v in list(held.items()):
                if name == "_last_lr" and type(v) is list and not mine:
                    for k, rate in enumerate(v):
                        self._guard(
                            "rate",
                            held,
                            k,
                            rate,
                            f"{path}._last_lr[{k}]",
                            not isinstance(rate, SCALARS),
                            name,
                        )
                else:
                    self._slot("item", held, name, v, f"{path}.{name}", name)
            if mine:
                self._guard("keys", held, None, [*held], path)
        for klass in type(value).__mro__:
            slots = klass.__dict__.get("__slots__", ()) if mine else ()
            for name in (slots,) if isinstance(slots, str) else slots or ():
                v = getattr(value, name, MISSING)
                if not name.startswith("__"):
                    self._slot("attr", value, name, v, f"{path}.{name}", name)
        if mine:
            self._kind(value, path)

    def _kind(self, value: Any, path: str) -> None:
        """Guard the class of an object, which may be reassigned."""
        kind = type(value)
        if value.__class__ is kind and module_of(kind).partition(".")[0] not in LIBRARIES:
            self._guard("attr", value, "__class__", kind, f"{path}.__class__", True)
        self._reach(kind, kind.__name__)

    # ---- functions, their globals, modules ----------------------------------------------------------------
    def _function(self, f: types.FunctionType, path: str) -> None:
        ran = id(f.__code__)
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self._slot("cell", cell, None, value, name, ran)
        if source.is_library(f.__code__.co_filename):
            return
        self.kept.append(f.__code__)
        self._guard("attr", f, "__code__", f.__code__, f"{path}.__code__", True, ran)
        self._guard("attr", f, "__defaults__", f.__defaults__, f"{path}.__defaults__", True, ran)
        defaults = f.__defaults__ or ()
        count = f.__code__.co_argcount
        for name, value in zip(
            f.__code__.co_varnames[count - len(defaults) : count], defaults, strict=True
        ):
            self._reach(value, name, ran)
        if f.__code__.co_kwonlyargcount:
            self._slot("attr", f, "__kwdefaults__", f.__kwdefaults__, f"{path}.__kwdefaults__", ran)
        self._guard("keys", f.__dict__, None, [*f.__dict__], path)
        for name, v in f.__dict__.items():
            self._slot("item", f.__dict__, name, v, f"{path}.{name}", name)
        self._code(f.__code__, f.__globals__, ran)

    def _code(self, code: types.CodeType, names: dict[str, Any], ran: int) -> None:
        """Visit the names that code reads: globals, and modules that it imports."""
        self._codes.append((code, names))
        # In the order of the code, so that programs are the same in each process. Compiled code is
        # found on disk by its text.
        words = dict.fromkeys([*code.co_names, *[c for c in code.co_consts if type(c) is str]])
        self._vocabulary.update(words)
        if not source.is_library(code.co_filename):
            for name in words if "setattr" in words else attributes_of(code)[0]:
                self._set.setdefault(name, set()).update(words)
        for name in [*names] if "globals" in words else words:
            if name in names and not name.startswith("__"):
                self._slot("item", names, name, names[name], name, GLOBAL + name)
            elif name in (shared := builtins_of(names)) and name not in names:
                self._slot("item", shared, name, shared[name], name, GLOBAL + name)
            if name in ("environ", "getenv"):
                self._reach(os.environ, "os.environ", ran)
            for module in (name, f"{names.get('__package__') or ''}.{name}"):
                if module in sys.modules:  # the function itself may import it
                    self._reach(sys.modules[module], name, ran)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant, names, ran)

    def _name_spaces(self) -> bool:
        """Visit the attributes of Python modules that some code names. Returns False if there were
        no new ones.
        """
        before = len(self._taken)
        for module, path in list(self._spaces):
            self._at = id(module)
            users = is_users(module)
            for name in self._vocabulary & module.__dict__.keys():
                if (id(module), name) not in self._taken and not keyword.iskeyword(name):
                    self._taken.add((id(module), name))
                    value, where = module.__dict__[name], f"{path}.{name}"
                    if users or name in self._set or isinstance(value, types.ModuleType):
                        self._slot("attr", module, name, value, where, name)
                    else:  # someone may replace it
                        same = not isinstance(value, SCALARS)
                        self._guard("attr", module, name, value, where, same, name)
            for name in self._set.keys() - module.__dict__.keys():
                near = path.rpartition(".")[2] in self._set[name]
                if near and (id(module), name) not in self._taken:
                    self._taken.add((id(module), name))
                    there = functools.partial(hasattr, module, name)
                    self._guard("called", there, None, False, f"{path}.{name}", name=name)
        return len(self._taken) > before

    # ---- optimizers ------------------------------------------------------------------------------------
    def _optimizer(self, o: Optimizer, path: str) -> None:
        """Visit an optimizer. The library's own read their options at each call; guards are needed
        on which parameters and state exist.
        """
        if not is_ours(type(o)):
            for name, value in list(o.__dict__.items()):
                if name not in _OPTIMIZER_PARTS:
                    self._slot("item", o.__dict__, name, value, f"{path}.{name}", name)
            self._reach(type(o), type(o).__name__)
        self._length(o.param_groups, f"{path}.param_groups")
        self._guard("attr", o, "param_groups", o.param_groups, f"{path}.param_groups", True)
        for k, group in enumerate(o.param_groups):
            self.groups[id(group)] = o
            held = group["params"]
            self._guard("item", o.param_groups, k, group, f"{path}.param_groups[{k}]", True)
            self._guard("item", group, "params", held, f"{path}.param_groups[{k}]['params']", True)
            self._length(held, f"{path}.param_groups[{k}]['params']")
            for name, value in group.items():
                if name != "params":
                    same = not isinstance(value, SCALARS)
                    self._guard(
                        "item",
                        group,
                        name,
                        value,
                        f"{path}.param_groups[{k}][{name!r}]",
                        same,
                        OPTION + name,
                    )
            for i, p in enumerate(held):
                self._tensor(p, f"{path}.param_groups[{k}]['params'][{i}]")
                self._edges[self._at].append(Edge(None, None, id(p)))
                self._guard("item", held, i, p, f"{path}.param_groups[{k}]['params'][{i}]", True)
        self._guard("attr", o, "state", o.state, f"{path}.state", True)
        self._state(o, path)
        for hooks in ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks"):
            self._reach(getattr(o, hooks), f"{path}.{hooks}")
        for table in (_global_pre_hooks, _global_post_hooks):
            self._reach(table, "hooks of all optimizers")

    def _state(self, o: Optimizer, path: str) -> None:
        start = len(self._edges[self._at])
        self._values(o.state, f"{path}.state")
        for entry in list(o.state.values()):
            if isinstance(entry, dict):
                self._values(entry, f"{path}.state[...]")
                for name, value in list(entry.items()):
                    if isinstance(value, Tensor):
                        self._tensor(value, f"{path}.state[...]['{name}']")
        self._optimizers[id(o)] = (
            o,
            path,
            [e.guard for e in self._edges[self._at][start:] if e.guard is not None],
        )

    def begin(self, begun: dict[int, tuple[Any, dict[Any, Any], dict[Any, Any]]]) -> None:
        """Accept optimizer state that the call created as if it had existed before, if nothing else
        has changed in that state. `begun` maps the id of each such parameter state to the optimizer
        and to its contents after the update.
        """
        for o, path, guards in list(self._optimizers.values()):
            before = {id(g.holder): g for g in guards}
            table = list(o.state.values())
            old = before[id(o.state)].expected if id(o.state) in before else None
            if (
                old is None
                or [*map(id, table[: len(old)])] != old
                or all(g.holds() for g in guards)
            ):
                continue
            if all(_begun(entry, before.get(id(entry)), begun) for entry in table):
                self._at = id(o)
                edges = self._edges[self._at]
                self._edges[self._at] = [e for e in edges if all(e.guard is not g for g in guards)]
                self._state(o, path)

    def idle(self, stepped: Container[int]) -> None:
        """Drop the guards on the state of optimizers of this library that made no update and whose
        state was not read: LBFGS changes its state between two calls of a closure.
        """
        for o, _, guards in self._optimizers.values():
            if id(o) not in stepped and is_ours(type(o)):
                edges = self._edges[id(o)]
                self._edges[id(o)] = [e for e in edges if all(e.guard is not g for g in guards)]

    def _values(self, table: dict[Any, Any], path: str) -> None:
        """Guard that a dictionary holds the same objects in the same order."""
        self.kept.append(list(table.values()))  # keeps them alive, so that their ids remain unique
        self._guard("values", table, None, [*map(id, table.values())], path)

    # ---- answers ---------------------------------------------------------------------------------------
    def drawn(self) -> Any:
        """The states of all visible random streams outside of this library; a draw changes them."""
        own = [
            repr(getattr(g, "bit_generator", g).state)
            if hasattr(g, "bit_generator")
            else repr(g.get_state())
            for g in self.streams
        ]
        _, words, place, *_ = np.random.get_state()
        return random.getstate(), words.tobytes(), place, own

    def name_of(self, array: ndarray) -> str | None:
        """The path to the tensor that holds an array; None if it is an argument or unknown."""
        found = self.tensors.get(id(array))
        return None if found is None else found[1]

    def holder_of(self, array: ndarray) -> ndarray | None:
        """The array of a known tensor whose memory contains `array`."""
        if self._by_root is None:
            self._by_root = {}
            for key, (t, _) in self.tensors.items():
                if id(t._array) != key:  # the call has replaced its memory
                    continue
                self._by_root.setdefault(id(memory_of(t._array)), []).append(t._array)
        first, last = bounds(array)
        for a in self._by_root.get(id(memory_of(array)), ()):
            low, high = bounds(a)
            if low <= first and last <= high:
                return a
        return None

    def module_names(self) -> set[str]:
        """The names of globals that are Python modules."""
        return {
            name
            for _, names in self._codes
            for name, value in names.items()
            if isinstance(value, types.ModuleType)
        }

    def compares_types(self) -> bool:
        """Whether the user's code that can be reached may compare types, and so notice a watched
        number.
        """
        users = [(c, names) for c, names in self._codes if not is_own(c.co_filename)]
        if any(counts_exactly(c, names) for c, names in users):
            return True
        rest = {code for code, _ in users}
        names, called = {self._entry}, rest if any(map(compares_types, rest)) else set()
        while called:
            called = {code for code in rest if called_as(code) in (None, *names)}
            if any(map(compares_types, called)):
                return True
            rest -= called
            for code in called:
                names.update(code.co_names, [c for c in code.co_consts if type(c) is str])
        return False

    def words(self) -> set[str]:
        """The names of attributes that objects other than tensors have."""
        return {e.name for edges in self._edges.values() for e in edges if isinstance(e.name, str)}

    def guards(self) -> list[Guard]:
        """All guards."""
        return [e.guard for edges in self._edges.values() for e in edges if e.guard is not None]

    def relevant(self, witness: Witness) -> list[Guard]:
        """The guards on what the executed code can have reached; all if it constructs names
        dynamically.
        """
        used = witness.used(self._always)
        stored = witness.only_stored() if not self._always else set()
        first = {(id(g.owner), g.key) for g in witness.set_first()} if not self._always else set()
        found: list[Guard] = []
        lent: list[Lent] = []
        self.stored = []
        seen = {0, ARGUMENTS}
        for root in (0, ARGUMENTS):
            queue = [root]
            while queue:
                at = queue.pop()
                for name, guard, child in self._edges.get(at, ()):
                    if name in stored or (at, name) in first:
                        if guard is not None:
                            self.stored.append(guard)
                    elif name is None or name in used or witness.dynamic and isinstance(name, str):
                        if isinstance(guard, Lent):
                            lent.append(guard)
                        elif guard is not None:
                            found.append(guard)
                        elif child is not None and child not in seen:
                            seen.add(child)
                            queue.append(child)
            if root == 0:
                self.aliased = (self.given | self.containers) & seen
                reached = [self.seen[k] for k in seen if isinstance(self.seen.get(k), Tensor)]
                self.reached = [
                    t for t in reached if id(t) not in self.given and type(t._array) is ndarray
                ]
        return [*found, *[g for g in lent if id(g.holder) not in seen], *self._absent(used)]

    def owner_of(self, place: Guard) -> Any:
        """The object of which a place is an attribute, or None."""
        if place.kind == "attr" and isinstance(place.holder, Module):
            return place.holder
        return next(
            (
                o
                for o in self.seen.values()
                if not isinstance(o, (type, types.ModuleType, types.FunctionType))
                and getattr(o, "__dict__", None) is place.holder
            ),
            None,
        )

    def _absent(self, used: set[str | int]) -> list[Guard]:
        """Guards on names that were looked up among globals or builtins without success."""
        wanted: dict[int, tuple[dict[str, Any], set[str], str]] = {}
        for code, names in self._codes:
            if id(code) in used:
                rest = loaded(code)
                for space, path in ((names, "the globals"), (builtins_of(names), "the builtins")):
                    rest = rest - space.keys()
                    wanted.setdefault(id(space), (space, set(), path))[1].update(rest)
        return [Absent(space, frozenset(n), path) for space, n, path in wanted.values() if n]


def _begun(
    entry: Any, guard: Guard | None, begun: dict[int, tuple[Any, dict[Any, Any], dict[Any, Any]]]
) -> bool:
    """Whether a parameter's state is as it was before the call, or as the optimizer that created it
    left it.
    """
    if guard is not None and guard.holds():
        return True
    left = begun[id(entry)][2] if id(entry) in begun else None
    if left is None or guard is not None and guard.expected:
        return False
    return list(entry) == list(left) and all(entry[k] is left[k] for k in left)


def _name(function: Any) -> str:
    """The name of a function in the paths of guards; for a module or another object, the name of
    its class.
    """
    if isinstance(function, types.MethodType) and function.__name__ == "__call__":
        return f"{type(function.__self__).__name__}.__call__"
    return getattr(function, "__name__", None) or type(function).__name__
