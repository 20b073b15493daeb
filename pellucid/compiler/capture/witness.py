"""Observation of code while it is traced: the names it uses, and calls that a program cannot
repeat.
"""

from __future__ import annotations

import dis
import functools
import gc
import inspect
import json
import sys
import threading
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from numpy import ndarray

from ...core import bind, observe, source, tracing
from ...core.public import METHODS
from ...core.tensor import Tensor
from ..trace.backward import TracedBackwardPass
from ..trace.numbers import observe_in
from ..trace.refusal import callees_of, line_in, names_in
from ..trace.symbols import Namespace
from ..trace.tracer import Tracer
from ..trace.watch import is_own, module_of, watch
from .guards import Guard
from .side_effects import Replaced

IMPURE = {
    "time": "asks for the time",
    "perf_counter": "asks for the time",
    "monotonic": "asks for the time",
    "random": "draws Python's random numbers",
    "randint": "draws random numbers past this library",
    "choice": "draws random numbers past this library",
    "uniform": "draws random numbers past this library",
    "shuffle": "draws random numbers past this library",
    "gauss": "draws Python's random numbers",
    "normalvariate": "draws Python's random numbers",
    "getrandbits": "draws Python's random numbers",
    "randrange": "draws Python's random numbers",
    "urandom": "draws the system's random numbers",
    "now": "asks for the time",
    "today": "asks for the time",
    "utcnow": "asks for the time",
    "time_ns": "asks for the time",
    "perf_counter_ns": "asks for the time",
    "monotonic_ns": "asks for the time",
    "process_time": "asks for the time",
    "input": "reads the keyboard",
    "print": "prints",
    "write": "writes to a file",
    "open": "opens a file",
    "sleep": "waits",
    "breakpoint": "stops for a debugger",
}
_IMPURE_MODULES = (
    "random",
    "time",
    "numpy.random",
    "builtins",
    "_io",
    "posix",
    "_random",
    "io",
    "datetime",
)
# Functions of the operating system. They need their module's name, because methods of strings and
# lists have the same names.
_OF_THE_SYSTEM = {
    **dict.fromkeys(
        (
            "stat",
            "lstat",
            "listdir",
            "scandir",
            "access",
            "_path_exists",
            "_path_isfile",
            "_path_isdir",
        ),
        "looks at files",
    ),
    **dict.fromkeys(
        (
            "mkdir",
            "rmdir",
            "remove",
            "unlink",
            "rename",
            "replace",
            "link",
            "symlink",
            "utime",
            "chmod",
            "truncate",
        ),
        "changes files",
    ),
    **dict.fromkeys(("system", "fork", "fork_exec", "posix_spawn"), "runs a program"),
    **dict.fromkeys(("recv", "send", "sendall", "connect"), "uses a connection"),
    **dict.fromkeys(("getcwd", "chdir"), "uses the working directory"),
    "getpid": "asks for its process",
    "kill": "sends a signal",
}
_SYSTEM_MODULES = ("posix", "nt", "_socket", "_posixsubprocess")
# Functions of the standard library, written in C, with effects outside of their arguments.
_OF_THE_LIBRARY = {
    "start_new_thread": ("starts a thread", "_thread"),
    "start_joinable_thread": ("starts a thread", "_thread"),
    "dump": ("writes to a file", "_pickle"),
    "load": ("reads a file", "_pickle"),
    **dict.fromkeys(("writerow", "writerows"), ("writes to a file", "_csv")),
    **dict.fromkeys(
        ("put", "put_nowait", "get", "get_nowait", "qsize", "empty"), ("uses a queue", "_queue")
    ),
    **dict.fromkeys(
        ("tell", "seek", "getvalue", "getbuffer", "read", "readline", "readlines", "readinto"),
        ("looks into a file", "_io"),
    ),
    **dict.fromkeys(("digest", "hexdigest"), ("asks for a hash so far", "_")),
    **dict.fromkeys(
        ("setrecursionlimit", "setswitchinterval", "settrace", "setprofile"),
        ("changes the interpreter", "sys"),
    ),
    **dict.fromkeys(
        ("getrecursionlimit", "getswitchinterval", "getrefcount"),
        ("asks the interpreter for its state", "sys"),
    ),
    **dict.fromkeys(
        ("isenabled", "get_count", "get_stats", "get_threshold", "enable", "disable"),
        ("uses Python's collector", "gc"),
    ),
    **dict.fromkeys(
        ("localtime", "gmtime", "ctime", "asctime", "strftime", "thread_time", "clock_gettime"),
        ("asks for the time", "time"),
    ),
}
# name -> (what the call does, the modules that the function must belong to)
_IMPURE = {
    **{name: (what, _IMPURE_MODULES) for name, what in IMPURE.items()},
    **{name: (what, _SYSTEM_MODULES) for name, what in _OF_THE_SYSTEM.items()},
    **{name: (what, (module,)) for name, (what, module) in _OF_THE_LIBRARY.items()},
}

# With one of these names, code reads attributes that it does not name. With a name from `_BY_NAME`,
# it may, unless the attribute is written as a constant.
_DYNAMIC = frozenset(
    {"vars", "globals", "locals", "eval", "exec", "attrgetter", "__dict__", "__getattribute__"}
)
_BY_NAME = frozenset({"getattr", "hasattr"})
_OF_GRAPHS = frozenset(
    {
        "autograd",
        "create_graph",
        "grad_fn",
        "next_functions",
        "register_hook",
        "register_post_accumulate_grad_hook",
        "retain_grad",
        "saved_tensors_hooks",
    }
)
# Array methods through which values reach Python.
_READERS = frozenset(
    "all any sum max min item tolist argmax argmin nonzero prod argsort searchsorted".split()
)
# Code that may read arrays, because it runs again at each call.
_INSIDE = tracing.independent_codes
_INSIDE |= {
    bind.execute.__code__,
    Tracer.effect.__code__,
    Tracer.rule.__code__,
    Tracer._whole_rule.__code__,
    Namespace.apply.__code__,
    Tracer.constant.__code__,
    Tracer.check.__code__,
    observe.notify.__code__,
    TracedBackwardPass.send.__code__,
    # the inner functions: the wrappers that check arguments share one code object
    inspect.unwrap(METHODS["item"]).__code__,
    inspect.unwrap(METHODS["__index__"]).__code__,
}


GLOBAL = "global "  # prefix of names in `Witness.used` that were loaded as globals
OPTION = "option "  # prefix of string constants of the user's code
_LOADS = frozenset(
    {"LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"}
)


def called_as(code: CodeType) -> str | None:
    """The name by which code calls a method of a class. None for functions, which may be stored
    elsewhere, and for methods that are called without being named.
    """
    owner, _, name = code.co_qualname.rpartition(".")
    if name in ("__init__", "__new__", "__post_init__"):
        return owner.rpartition(".")[2]
    unnamed = name.startswith("__") or name == "forward"
    return None if unnamed or not owner or owner.endswith("<locals>") else name


@functools.lru_cache(maxsize=512)
def loaded(code: CodeType) -> frozenset[str]:
    """The names that code uses as globals. An attribute of the same name does not count."""
    return frozenset([i.argval for i in dis.get_instructions(code) if i.opname in _LOADS])


def _steps(code: CodeType) -> list[dis.Instruction]:
    """The instructions without those that differ between Python versions."""
    skipped = ("PRECALL", "PUSH_NULL", "EXTENDED_ARG", "CACHE")
    return [i for i in dis.get_instructions(code) if i.opname not in skipped]


@functools.lru_cache(maxsize=512)
def makes_names(code: CodeType) -> bool:
    """Whether code may read attributes whose names do not occur in it: `getattr(x, name)`, but not
    `getattr(x, "scale", 1.0)`.

    >>> makes_names((lambda x: getattr(x, "scale", 1.0) if hasattr(x, "on") else x).__code__)
    False
    >>> makes_names((lambda x, name: getattr(x, name)).__code__), makes_names((lambda x: vars(x)["a"]).__code__)
    (True, True)
    """
    if not _DYNAMIC.isdisjoint(code.co_names):
        return True
    if _BY_NAME.isdisjoint((*code.co_names, *code.co_freevars)):
        return False
    rest = _steps(code)
    return any(
        i.argval in _BY_NAME and not _names_a_constant(rest[k + 1 :]) for k, i in enumerate(rest)
    )


@functools.lru_cache(maxsize=512)
def compares_types(code: CodeType) -> bool:
    """Whether code uses `type(x)` for more than its name.

    >>> compares_types((lambda x: type(x) is float).__code__)
    True
    >>> compares_types((lambda x: type(x).__name__).__code__)
    False
    """
    rest = _steps(code)
    for k, i in enumerate(rest):
        if i.opname in _LOADS and i.argval == "type":
            operand, call, then = (*rest[k + 1 : k + 4], i, i, i)[:3]
            named = operand.argval == "self" or then.opname in ("LOAD_ATTR", "LOAD_METHOD")
            if not (call.opname.startswith("CALL") and named):
                return True
    return False


# standard modules that check the types of numbers
_EXACT = frozenset({"statistics", "decimal", "fractions", "datetime", "timedelta"})


def counts_exactly(code: CodeType, names: dict[str, Any]) -> bool:
    """Whether code uses the standard library's modules for exact numbers, which check types."""
    return any(
        name in _EXACT or (name in names and module_of(names[name]) in _EXACT)
        for name in code.co_names
    )


def _names_a_constant(rest: list[dis.Instruction]) -> bool:
    """Whether the instructions after the load of `getattr` push operands, the second of them a
    string, and make the call.
    """
    operands: list[Any] = []
    for i in rest:
        if i.opname == "LOAD_ATTR" and operands:
            operands[-1] = None
        elif i.opname in ("LOAD_CONST", "LOAD_SMALL_INT"):
            operands.append(i.argval)
        elif i.opname.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME")):
            # some Python versions load two variables with one instruction
            operands += [None] * (len(i.argval) if isinstance(i.argval, tuple) else 1)
        else:
            return (
                i.opname == "CALL" and i.arg == len(operands) > 1 and isinstance(operands[1], str)
            )
    return False


@functools.lru_cache(maxsize=512)
def graph_lines(code: CodeType) -> frozenset[int]:
    """The lines of code whose names suggest that it uses graphs for more than calling `backward`."""
    lines = set()
    for i in dis.get_instructions(code):
        words = i.argval if type(i.argval) is tuple else (i.argval,)
        named = (
            any(type(w) is str and w in _OF_GRAPHS for w in words)
            or i.opname in _LOADS
            and i.argval == "grad"
        )
        keywords = code.co_consts[i.arg] if i.opname == "KW_NAMES" and i.arg is not None else ()
        if named or not _OF_GRAPHS.isdisjoint(keywords):
            lines.add((i.positions and i.positions.lineno) or code.co_firstlineno)
    return frozenset(lines)


@functools.lru_cache(maxsize=512)
def attributes_of(code: CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """The attribute names that code assigns, and all names that it uses in other ways."""
    stored, others = set(), {c for c in code.co_consts if type(c) is str}
    for i in dis.get_instructions(code):
        if i.opname == "STORE_ATTR":
            stored.add(i.argval)
        elif type(i.argval) is str:
            others.add(i.argval)
    return frozenset(stored), frozenset(others)


@functools.lru_cache(maxsize=512)
def setting_argument(code: CodeType, name: str) -> str | None:
    """The argument whose attribute `name` code assigns before it uses that name in any other way.
    None if it may use the name first, judging by the order of instructions.

    >>> def f(self, x):
    ...     self.last = x
    ...     return self.last + 1
    >>> setting_argument(f.__code__, "last")
    'self'
    >>> setting_argument((lambda self: self.last).__code__, "last")
    """
    if name in code.co_consts or name in (*code.co_freevars, *code.co_cellvars):
        return None
    listed = [i for i in dis.get_instructions(code) if i.opname not in _NOTHING]
    uses = [k for k, i in enumerate(listed) if i.opcode in dis.hasname and i.argval == name]
    if not uses or listed[uses[0]].opname != "STORE_ATTR":
        return None
    owners = {_loaded_last(listed[k - 1]) for k in uses if listed[k].opname in _OF_ATTRIBUTES}
    owner = owners.pop() if len(owners) == 1 else None
    if owner not in code.co_varnames[: code.co_argcount] or any(
        i.opname.startswith(("STORE_FAST", "DELETE_FAST", "STORE_DEREF")) and owner in _names(i)
        for i in listed
    ):
        return None
    if any(listed[k].opname not in _OF_ATTRIBUTES for k in uses):
        return None
    at = listed[uses[0]].offset
    past = any(i.opcode in _JUMPS and i.argval > at for i in listed[: uses[0]])
    entries = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
    return None if past or any(e.start <= at < e.target for e in entries) else owner


_NOTHING = frozenset({"CACHE", "EXTENDED_ARG", "NOP", "PRECALL", "PUSH_NULL"})
_OF_ATTRIBUTES = frozenset({"STORE_ATTR", "LOAD_ATTR", "LOAD_METHOD"})
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))


def _names(i: dis.Instruction) -> tuple[Any, ...]:
    """The names in an instruction; some Python versions load two variables with one instruction."""
    return i.argval if isinstance(i.argval, tuple) else (i.argval,)


def _loaded_last(i: dis.Instruction) -> str | None:
    """The variable that an instruction loads last; None for other instructions."""
    return _names(i)[-1] if i.opname.startswith("LOAD_FAST") else None


_HASH = Tensor.__hash__.__code__
# the C code that they call accepts plain numbers only
_ENCODERS = {json.JSONEncoder.encode.__code__, json.JSONEncoder.iterencode.__code__}
_THREAD = threading.current_thread.__code__
_FRAME = inspect.currentframe.__code__
# functions that are harmless when libraries call them for their own tables
_IDENTITIES: dict[Any, str] = {
    **dict.fromkeys((id, hash), "asks which object something is, as a number"),
    **dict.fromkeys((threading.get_ident, threading.get_native_id), "asks which thread runs it"),
    sys._getframe: "asks who calls it",
    sys._current_frames: "asks what runs",
    **dict.fromkeys((sys.exc_info, sys.exception), "asks which exception is handled"),
}


class Witness:
    """Collects the names that running code uses, and the calls it makes that a program cannot
    repeat.
    """

    def __init__(
        self,
        root: CodeType | None = None,
        given: Container[int] = (),
        replaced: Iterable[Replaced] = (),
    ) -> None:
        self.root = root  # the code of the traced function
        self.given = given  # ids of the tensors that differ at each call
        # places that may get a new object before they are read
        self.replaced = {(id(g.holder), g.key): g for g in replaced}
        self._unset = [*self.replaced.values()]  # those that have not got one yet
        self._looked: set[int] = set()  # ids of those that were read before
        self.names: set[str] = set()
        self.users: set[str] = set()  # names used by code outside of this library
        self.keys: set[str] = set()  # string constants in that code
        self.impure: list[tuple[str, Any, int | None]] = []
        # code objects between the traced function and those calls
        self.callees: set[CodeType] = set()
        # A read of array values: by what, where, and the line of the traced function.
        self.read: tuple[str, Any, int | None] | None = None
        self.entry: Any = None  # the first line of the function
        self.calling: Any = None  # the C function that is running
        self.dynamic = False  # whether the user's code reads attributes under computed names
        # id of each code object that ran -> whether it is this library's
        self.codes: dict[int, bool] = {}
        self._makers: set[int] = set()  # ids of code objects that compute attribute names
        # ids of code objects that may use graphs for more than calling `backward`
        self._graphic: set[int] = set()
        # lines of the traced function that called such code
        self._graph_lines: set[int | None] = set()
        self._kept: list[Any] = []
        self._collecting = False
        self.lost = False  # whether other code has replaced the profile function

    def used(self, more: Iterable[CodeType] = ()) -> set[str | int]:
        """All names used, the globals among them with their prefix, and the ids of the code objects
        that ran (and of `more`).
        """
        codes = [*[c for c in self._kept if not source.is_library(c.co_filename)], *more]
        found: set[str | int] = {*self.names, *self.codes, *[OPTION + key for key in self.keys]}
        for code in codes:
            found.update(GLOBAL + name for name in loaded(code))
        for code in more:
            found |= {id(code), *code.co_names, *code.co_freevars}
        return found

    def codes_of_users(self) -> list[CodeType]:
        """The code that ran and does not belong to a library."""
        return [c for c in self._kept if not source.is_library(c.co_filename)]

    def only_stored(self) -> set[str]:
        """Attributes that the user's code assigns and that no executed code uses in any other way."""
        if self.dynamic:
            return set()
        stored: set[str] = set()
        others: set[str] = set()
        for code in self._kept:
            if source.is_library(code.co_filename):
                others.update(
                    code.co_names, code.co_freevars, (c for c in code.co_consts if type(c) is str)
                )
            else:
                own, used = attributes_of(code)
                stored |= own
                others |= used
        return stored - others

    def loads(self, name: str) -> bool:
        """Whether the user's code loads a global or builtin of this name."""
        return any(
            name in loaded(code) for code in self._kept if not source.is_library(code.co_filename)
        )

    def line_of(self, guard: Guard) -> Any:
        """The user's line that changes what a guard checks, judging by names: the first line that
        assigns it, or else uses it.
        """
        words = names_in(guard.path)
        word = words[-1] if words else ""
        key = guard.key if isinstance(guard.key, str) else word
        used = None
        for code in self._kept:
            if source.is_library(code.co_filename):
                continue
            for i in dis.get_instructions(code):
                if i.argval == key or word and i.argval == word:
                    if i.opname.startswith("STORE_") and i.opname != "STORE_FAST":
                        return source.describe((code, i.offset))
                    used = used or (code, i.offset)
        return None if used is None else source.describe(used)

    @contextmanager
    def watching(self) -> Iterator[Witness]:
        """Watch the calls made inside the block."""
        before: Any = sys.getprofile()
        watch.event = self._event
        # Around the callbacks of other code. The end callback is registered first, because a
        # collection may start at any line.
        gc.callbacks.append(self._collection_ends)
        gc.callbacks.insert(0, self._collection_starts)
        sys.setprofile(self._event)
        try:
            yield self
        finally:
            self.lost = sys.getprofile() != self._event
            gc.callbacks.remove(self._collection_starts)
            gc.callbacks.remove(self._collection_ends)
            watch.event = None
            sys.setprofile(before if before is None or callable(before) else None)
            if hasattr(before, "enable"):  # cProfile's, which is not a Python function
                before.enable()

    @contextmanager
    def inside(self, codes: list[CodeType]) -> Iterator[None]:
        """Inside the block, only note the user's code that runs."""

        def event(frame: Any, kind: str, arg: Any) -> None:
            code = frame.f_code
            if (
                kind == "call"
                and not self._collecting
                and not source.is_library(code.co_filename)
                and code not in codes
            ):
                codes.append(code)

        before = watch.event
        watch.event = None
        sys.setprofile(event)
        try:
            yield
        finally:
            watch.event = before
            sys.setprofile(before)

    def _collection_starts(self, phase: str, _: Any) -> None:
        """Garbage collection starts: what finalizers do is not part of the step."""
        if phase == "start":
            self._collecting = True

    def _collection_ends(self, phase: str, _: Any) -> None:
        if phase == "stop":
            self._collecting = False

    def _event(self, frame: Any, event: str, arg: Any) -> None:
        if self._collecting:
            return
        if event == "call":
            code = frame.f_code
            if id(code) not in self.codes:
                self.codes[id(code)] = own = is_own(code.co_filename)
                self._kept.append(code)
                if not own:
                    self.users.update(code.co_names)
                    self.keys.update(c for c in code.co_consts if type(c) is str)
                if self.entry is None and not source.is_library(code.co_filename):
                    self.entry = source.describe((code, 0))
                self.names.update(code.co_names, code.co_freevars)
                self.names.update(c for c in code.co_consts if type(c) is str)
                if makes_names(code):
                    self._makers.add(id(code))
                if not source.is_library(code.co_filename) and graph_lines(code):
                    self._graphic.add(id(code))
            if id(code) in self._graphic and code is not self.root:
                self._graph_lines.add(line_in(self.root, frame) if self.root is not None else None)
            if self._unset:
                self._look_at(code)
            if code.co_name == "__del__" and not self.codes[id(code)]:
                self._impure(frame, "ends the life of an object with a finalizer")
            if code in _ENCODERS:
                observe_in(frame.f_locals["o"])
            if code is _FRAME and _users(frame.f_back) is frame.f_back:
                self._impure(frame.f_back, _IDENTITIES[sys._getframe])
            if code is _THREAD and _users(frame) is not None:
                self._impure(frame.f_back, "asks which thread runs it")
            if code is _HASH and id(frame.f_locals["self"]) in self.given:
                # looked up in a dictionary or set
                self._impure(frame.f_back, "asks where a tensor that it is given is kept")
            if id(code) in self._makers and not self.dynamic and _users(frame) is not None:
                self.dynamic = True
        elif event != "c_call":
            self.calling = None
        else:
            self.calling = arg
            name = getattr(arg, "__name__", "")
            if (
                name in _READERS
                and isinstance(getattr(arg, "__self__", None), ndarray)
                and self.read is None
            ):
                self._array_read(frame, arg.__self__)
            if self.codes.get(id(frame.f_code)):
                return
            owner = getattr(arg, "__self__", None)
            if module_of(type(owner)).startswith(("numpy.random", "random")):
                self._impure(frame, "draws random numbers past this library")
            elif name in _IMPURE and not isinstance(owner, (Tensor, ndarray)):
                what, modules = _IMPURE[name]
                module = module_of(arg) or module_of(
                    owner if isinstance(owner, type) else type(owner)
                )
                if module.startswith(modules):
                    self._impure(frame, what)
            elif arg in _IDENTITIES and _users(frame) is frame:
                self._impure(frame, _IDENTITIES[arg])

    def _look_at(self, code: CodeType) -> None:
        """When code begins to run, note the unset places that it may read."""
        words = {*code.co_names, *code.co_freevars}
        # string constants in this library only matter if it looks attributes up by name
        if not self.codes[id(code)] or not words.isdisjoint(_BY_NAME):
            words.update(c for c in code.co_consts if type(c) is str)
        for g in [*self._unset]:
            if g.now() is not g.expected:
                self._unset.remove(g)
            elif g.key in words:
                if setting_argument(code, g.key) is None:
                    self._looked.add(id(g))
                    self._unset.remove(g)

    def set_first(self) -> list[Replaced]:
        """The places that got a new object before any code read them, judging by names."""
        if self.dynamic:
            return []
        return [g for g in self.replaced.values() if id(g) not in self._looked]

    def _impure(self, frame: Any, what: str) -> None:
        caller = _users(frame)
        if caller is not None:
            self.impure.append(
                (what, source.describe((caller.f_code, caller.f_lasti)), line_in(self.root, caller))
            )
            self.callees |= callees_of(self.root, caller)

    @property
    def uses_graphs(self) -> set[int] | None:
        """The lines of the traced function at which user code may use graphs for more than calling
        `backward`, judging by names. None if the line is unknown.
        """
        if self.dynamic or None in self._graph_lines or self.root is None and self._graphic:
            return None
        own = (
            graph_lines(self.root)
            if self.root is not None and id(self.root) in self._graphic
            else ()
        )
        return {line for line in (*self._graph_lines, *own) if line is not None}

    @property
    def asks_for_state(self) -> bool:
        """Whether the user's code may have read an optimizer's state."""
        return self._asks("state", "state_dict", "__getstate__", "__reduce_ex__", "deepcopy")

    @property
    def asks_for_graphs(self) -> bool:
        """Whether the user's code may have read a `grad_fn`."""
        return self._asks("grad_fn")

    @property
    def asks_for_gradients(self) -> bool:
        """Whether the user's code may have read a `grad`."""
        return self._asks("grad")

    def _asks(self, *names: str) -> bool:
        """Whether the user's code may have used one of these attributes, possibly through
        `getattr`.
        """
        return self.dynamic or not self.users.isdisjoint(names) or not self.keys.isdisjoint(names)

    def _array_read(self, frame: Any, array: ndarray) -> None:
        """Note a call of an array method that reads values. If the library makes it outside of an
        operation, the result may decide something that a program would wrongly repeat for other
        values.
        """
        if not source.is_library(frame.f_code.co_filename):
            # a user's array; a tensor's values would have been read through `numpy()`, which is
            # noticed
            return
        inner = frame
        while frame is not None and (
            source.is_library(frame.f_code.co_filename) or frame.f_code.co_filename == "<string>"
        ):
            if frame.f_code in _INSIDE:
                return
            frame = frame.f_back
        self.read = (
            inner.f_code.co_name,
            None if frame is None else source.describe((frame.f_code, frame.f_lasti)),
            line_in(self.root, inner),
        )
        self.callees |= callees_of(self.root, inner)


def _users(frame: Any) -> Any:
    """The frame of the user's code that makes a call, possibly through Python's library or a
    package. None for calls made by this library.
    """
    while frame is not None:
        file = frame.f_code.co_filename
        if is_own(file) or file.startswith("<frozen importlib"):
            return None
        if not source.is_library(file) and file != "<string>":
            return frame
        frame = frame.f_back
    return None
