"""Native code that works on Python's objects: CPython's functions, the slots of classes, and LLVM IR
line by line.
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
_kept: dict[str, list[Any]] = forever({})  # what native code has the addresses of


def works() -> bool:
    """Whether there is native code for objects."""
    return jit.fastcall_works() and all(hasattr(ctypes.pythonapi, name) for name in OF_PYTHON)


def named(name: str) -> str:
    """An object in LLVM IR."""
    return f"@object.{name}"


def module(name: str, text: str, objects: dict[str, Any]) -> str:
    """A module of LLVM IR that names objects `@object.NAME` and calls functions of CPython."""
    # Native code is bound to the objects whose addresses its names had when it was loaded.
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
    """Where in the memory of an instance its slots are; None where they are not found."""
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
    """LLVM IR of a function that works on Python's objects: pointers alone, and labels."""

    def __init__(self, places: dict[str, int]) -> None:
        self.lines: list[str] = []
        self.places = places
        self.names = itertools.count()

    def fresh(self) -> str:
        """A name that is not taken."""
        return f"v{next(self.names)}"

    def line(self, text: str) -> None:
        """Add an instruction without a value."""
        self.lines.append(f"  {text}")

    def emit(self, text: str) -> str:
        """Add an instruction; the name of its value."""
        name = "%" + self.fresh()
        self.line(f"{name} = {text}")
        return name

    def variable(self, kind: str = "ptr") -> str:
        """The address of a variable in the stack frame."""
        return self.emit(f"alloca {kind}")

    def get(self, variable: str, kind: str = "ptr") -> str:
        """A variable's value."""
        return self.emit(f"load {kind}, ptr {variable}")

    def set(self, variable: str, value: str, kind: str = "ptr") -> None:
        """Give a variable its value."""
        self.line(f"store {kind} {value}, ptr {variable}")

    def call(self, name: str, *given: str) -> str:
        """Call a function of CPython's; the name of its value."""
        returns, _, kinds = OF_PYTHON[name].partition(" ")
        both = zip(kinds.strip("()").split(", "), given, strict=True)
        text = f"call {returns} @{name}({', '.join(map(' '.join, both))})"
        if returns != "void":
            return self.emit(text)
        self.line(text)
        return ""

    # ---- control ----
    def goto(self, label: str) -> None:
        """Go to a label."""
        self.line(f"br label %{label}")

    def start(self, label: str) -> None:
        """Begin the block of a label."""
        self.lines.append(f"{label}:")

    def branch(self, test: str, yes: str, no: str) -> None:
        """Go to one of two labels."""
        self.line(f"br i1 {test}, label %{yes}, label %{no}")

    def need(self, test: str, otherwise: str = "python") -> None:
        """Go on where the test holds."""
        label = self.fresh()
        self.branch(test, label, otherwise)
        self.start(label)

    def refuse(self, test: str, otherwise: str = "python") -> None:
        """Go on where the test does not hold."""
        label = self.fresh()
        self.branch(test, otherwise, label)
        self.start(label)

    # ---- objects ----
    def same(self, thing: str, other: str) -> str:
        """Whether two pointers are one object."""
        return self.emit(f"icmp eq ptr {thing}, {other}")

    def either(self, first: str, *others: str) -> str:
        """Whether one of several tests holds."""
        for other in others:
            first = self.emit(f"or i1 {first}, {other}")
        return first

    def at(self, thing: str, offset: int) -> str:
        """The address so many bytes after a thing."""
        return self.emit(f"getelementptr i8, ptr {thing}, i64 {offset}")

    def slot(self, thing: str, name: str) -> str:
        """What lies in a slot, which keeps it; null where nothing does."""
        return self.get(self.at(thing, self.places[name]))

    def type(self, thing: str) -> str:
        """The class of an object."""
        return self.get(self.at(thing, WORD))

    def made(self, name: str, *given: str, otherwise: str = "failed") -> str:
        """The new object that a function of Python's returns."""
        value = self.call(name, *given)
        self.refuse(self.same(value, "null"), otherwise)
        return value

    def looked_up(self, thing: str, name: str, otherwise: str = "failed") -> str:
        """The value of an attribute, which somebody else keeps."""
        value = self.made("PyObject_GetAttr", thing, named(f"word.{name}"), otherwise=otherwise)
        self.call("Py_DecRef", value)
        return value

    def own(self, thing: str) -> str:
        """The same object, with a reference more."""
        self.call("Py_IncRef", thing)
        return thing

    def fill(self, thing: str, name: str, value: str) -> None:
        """Put a reference into a slot, and drop what was there."""
        where = self.at(thing, self.places[name])
        old = self.get(where)
        self.set(where, value)
        full, done = f"full{self.fresh()}", f"done{self.fresh()}"
        self.branch(self.same(old, "null"), done, full)
        self.start(full)
        self.call("Py_DecRef", old)
        self.goto(done)
        self.start(done)
