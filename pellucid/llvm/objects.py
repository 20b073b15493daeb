"""Native code that works on Python objects: CPython's C API, the slots of classes, and a writer of
LLVM IR.
"""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

from . import jit
from .loader import forever

__all__ = ["OF_PYTHON", "WORD", "Writer", "module", "named", "places_of", "works"]

WORD = ctypes.sizeof(ctypes.c_void_p)
OF_PYTHON = {
    "PyThreadState_Get": "ptr ()",
    "PyType_GenericNew": "ptr (ptr, ptr, ptr)",
    "PyObject_GetAttr": "ptr (ptr, ptr)",
    "PyObject_SetAttr": "i32 (ptr, ptr, ptr)",
    "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
    "PyTuple_New": "ptr (i64)",
    "PyTuple_Size": "i64 (ptr)",
    "PyTuple_GetItem": "ptr (ptr, i64)",
    "PyTuple_SetItem": "i32 (ptr, i64, ptr)",
    "PyList_New": "ptr (i64)",
    "PyList_Size": "i64 (ptr)",
    "PyList_Append": "i32 (ptr, ptr)",
    "PyList_GetItem": "ptr (ptr, i64)",
    "PyList_SetItem": "i32 (ptr, i64, ptr)",
    "PyLong_AsLongLong": "i64 (ptr)",
    "PyLong_FromLongLong": "ptr (i64)",
    "PyDict_GetItem": "ptr (ptr, ptr)",
    "PyIter_Next": "ptr (ptr)",
    "PyWeakref_GetObject": "ptr (ptr)",
    "PyWeakref_NewRef": "ptr (ptr, ptr)",
    "Py_IncRef": "void (ptr)",
    "Py_DecRef": "void (ptr)",
}
_kept: dict[str, list[Any]] = forever({})  # objects whose addresses are compiled into native code


def works() -> bool:
    """Return whether native code that works on Python objects is available."""
    return jit.fastcall_works() and all(hasattr(ctypes.pythonapi, name) for name in OF_PYTHON)


def named(name: str) -> str:
    """Return the operand that stands for an object in the IR that is passed to `module`."""
    return f"@object.{name}"


def module(name: str, text: str, objects: dict[str, Any]) -> str:
    """Complete the IR of a module that refers to objects as `@object.NAME` and calls functions of
    CPython.

    It declares the objects and functions, and gives the objects a prefix unique to this module.
    """
    # Loaded code is bound to the addresses that its symbols had at load time, so each module gets
    # names of its own.
    kept = _kept.setdefault(name, [])
    prefix = f"pellucid.{name}.{len(kept)}"
    kept.append(objects)
    for own, value in objects.items():
        jit.define(f"{prefix}.{own}", id(value))
        text += f"@object.{own} = external global i8\n"
    for function, kind in OF_PYTHON.items():
        jit.define_of_python(function)
        text += f"declare {kind.replace(' ', f' @{function}', 1)}\n"
    return text.replace("@object.", f"@{prefix}.")


def places_of(kind: type, names: tuple[str, ...]) -> dict[str, int] | None:
    """Return the offsets of slots in the memory of an instance; None if they cannot be determined."""
    probe: Any = object.__new__(kind)
    found: dict[str, int] = {}
    for name in names:
        mark = object()
        vars(kind)[name].__set__(probe, mark)
        at = [
            k
            for k in range(2, kind.__basicsize__ // WORD)
            if ctypes.c_void_p.from_address(id(probe) + k * WORD).value == id(mark)
        ]
        if len(at) != 1:
            return None
        found[name] = at[0] * WORD
    return found


class Writer:
    """Writes the LLVM IR of a function that works on Python objects: its values are pointers and
    flags, its blocks have labels.
    """

    def __init__(self, places: dict[str, int]) -> None:
        self.lines: list[str] = []
        self.places = places
        self.names = itertools.count()

    def fresh(self) -> str:
        """Return a name that has not been used."""
        return f"v{next(self.names)}"

    def line(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}")

    def emit(self, text: str) -> str:
        """Append an instruction and return the name of its result."""
        name = "%" + self.fresh()
        self.line(f"{name} = {text}")
        return name

    def variable(self, kind: str = "ptr") -> str:
        """Allocate a variable in the stack frame and return its address."""
        return self.emit(f"alloca {kind}")

    def get(self, variable: str, kind: str = "ptr") -> str:
        """Emit a load of a variable's value."""
        return self.emit(f"load {kind}, ptr {variable}")

    def set(self, variable: str, value: str, kind: str = "ptr") -> None:
        """Emit a store to a variable."""
        self.line(f"store {kind} {value}, ptr {variable}")

    def call(self, name: str, *given: str) -> str:
        """Emit a call of a CPython function and return the name of its result ("" if it is void)."""
        returns, _, kinds = OF_PYTHON[name].partition(" ")
        both = zip(kinds.strip("()").split(", "), given, strict=True)
        text = f"call {returns} @{name}({', '.join(map(' '.join, both))})"
        if returns != "void":
            return self.emit(text)
        self.line(text)
        return ""

    # ---- control ----
    def goto(self, label: str) -> None:
        """Emit a jump to a label."""
        self.line(f"br label %{label}")

    def start(self, label: str) -> None:
        """Start the block with this label."""
        self.lines.append(f"{label}:")

    def branch(self, test: str, yes: str, no: str) -> None:
        """Emit a conditional jump to one of two labels."""
        self.line(f"br i1 {test}, label %{yes}, label %{no}")

    def need(self, test: str, otherwise: str = "python") -> None:
        """Continue if the test holds, else jump to `otherwise`."""
        label = self.fresh()
        self.branch(test, label, otherwise)
        self.start(label)

    def refuse(self, test: str, otherwise: str = "python") -> None:
        """Continue if the test does not hold, else jump to `otherwise`."""
        label = self.fresh()
        self.branch(test, otherwise, label)
        self.start(label)

    # ---- objects ----
    def same(self, thing: str, other: str) -> str:
        """Emit a test of whether two pointers are equal."""
        return self.emit(f"icmp eq ptr {thing}, {other}")

    def either(self, first: str, *others: str) -> str:
        """Emit a test of whether any of several tests holds."""
        for other in others:
            first = self.emit(f"or i1 {first}, {other}")
        return first

    def at(self, thing: str, offset: int) -> str:
        """Emit the address `offset` bytes behind `thing`."""
        return self.emit(f"getelementptr i8, ptr {thing}, i64 {offset}")

    def slot(self, thing: str, name: str) -> str:
        """Emit a load of a slot, as a borrowed reference; null if the slot is empty."""
        return self.get(self.at(thing, self.places[name]))

    def type(self, thing: str) -> str:
        """Emit a load of an object's class."""
        return self.get(self.at(thing, WORD))

    def made(self, name: str, *given: str, otherwise: str = "failed") -> str:
        """Emit a call that returns a new reference, and jump to `otherwise` if it returns null."""
        value = self.call(name, *given)
        self.refuse(self.same(value, "null"), otherwise)
        return value

    def looked_up(self, thing: str, name: str, otherwise: str = "failed") -> str:
        """Emit a look-up of an attribute, as a borrowed reference: something else must keep the
        value alive.
        """
        value = self.made("PyObject_GetAttr", thing, named(f"word.{name}"), otherwise=otherwise)
        self.call("Py_DecRef", value)
        return value

    def own(self, thing: str) -> str:
        """Emit an increment of the reference count, and return the same object."""
        self.call("Py_IncRef", thing)
        return thing

    def fill(self, thing: str, name: str, value: str) -> None:
        """Emit a store of a new reference to a slot, which releases the previous one."""
        where = self.at(thing, self.places[name])
        old = self.get(where)
        self.set(where, value)
        full, done = f"full{self.fresh()}", f"done{self.fresh()}"
        self.branch(self.same(old, "null"), done, full)
        self.start(full)
        self.call("Py_DecRef", old)
        self.goto(done)
        self.start(done)
