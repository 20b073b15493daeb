"""The tensor of a view as one native call: Python takes half a microsecond to make the three objects
and put them into each other, C's functions of Python a third of that.

What is done is `core.bind.view_result` for the usual case: plain tensors, known kinds of views. Every
other call is handed on to that function, before anything has changed.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import weakref
from collections.abc import Callable
from typing import Any

from ..llvm import jit

__all__ = ["view_maker"]

_WORD = ctypes.sizeof(ctypes.c_void_p)
_OF_PYTHON = {
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
    "PyWeakref_GetObject": "ptr (ptr)",
    "PyWeakref_NewRef": "ptr (ptr, ptr)",
    "Py_IncRef": "void (ptr)",
    "Py_DecRef": "void (ptr)",
}


def view_maker(
    python: Callable[..., Any],
    tidy: Callable[[list[Any]], Any],
    modes: Any,
    classes: dict[str, type],
    longest: int,
) -> Callable[..., Any] | None:
    """A function that does what `python` does; None where there is no native code.

    Args:
        python: takes (op, x, array, params) or these and the place among several views.
        tidy: takes dead references out of a base's list of views.
        modes: has the attributes `grad` and `inference`.
        classes: `Tensor`, `Parameter`, `Counter` and `View`.
        longest: the views of views that are one chain at most.
    """
    if not jit.fastcall_works() or not all(hasattr(ctypes.pythonapi, n) for n in _OF_PYTHON):
        return None
    places: dict[str, int] = {}
    for kind, names in (
        ("Tensor", ("_array", "_node", "_grad", "_x", "_rg", "_ver", "_view")),
        ("View", ("base", "chain", "kind")),
    ):
        found = _places(classes[kind], names)
        if found is None:
            return None
        places |= found
    objects = {
        **classes,
        "tuple": tuple,
        "reference": weakref.ref,
        "True": True,
        "False": False,
        "None": None,
        "python": python,
        "tidy": tidy,
        "modes": modes,
        **{f"word.{word}": word for word in _WORDS},
    }
    # Native code is bound to the objects whose addresses its names had when it was loaded.
    prefix = f"pellucid.views.{len(_kept)}"
    for name, value in objects.items():
        jit.define(f"{prefix}.{name}", id(value))
    for name in _OF_PYTHON:
        jit.define_of_python(name)
    _kept.append(objects)
    text = _text(places, longest).replace("@pellucid.views.", f"@{prefix}.")
    made = jit.compile_ir(text, {"view_result": None}, "views")
    return None if made is None else jit.method("view_result", made["view_result"])


_WORDS = ("grad", "inference", "no_grad", "multi", "views", "vjp", "recorder")
_kept: list[Any] = []  # what native code has the addresses of


def _places(kind: type, names: tuple[str, ...]) -> dict[str, int] | None:
    """Where in the memory of an instance its slots are; None where they are not found."""
    probe: Any = object.__new__(kind)
    found: dict[str, int] = {}
    for name in names:
        mark = object()
        vars(kind)[name].__set__(probe, mark)
        at = [
            k
            for k in range(2, kind.__basicsize__ // _WORD)
            if ctypes.c_void_p.from_address(id(probe) + k * _WORD).value == id(mark)
        ]
        if len(at) != 1:
            return None
        found[name] = at[0] * _WORD
    return found


class _Writer:
    """LLVM IR of a function that works on Python's objects: pointers alone, and labels."""

    def __init__(self, places: dict[str, int]) -> None:
        self.lines: list[str] = []
        self.places = places
        self.names = itertools.count()

    def fresh(self) -> str:
        return f"v{next(self.names)}"

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def emit(self, text: str) -> str:
        name = "%" + self.fresh()
        self.line(f"{name} = {text}")
        return name

    def variable(self, kind: str = "ptr") -> str:
        return self.emit(f"alloca {kind}")

    def get(self, variable: str, kind: str = "ptr") -> str:
        return self.emit(f"load {kind}, ptr {variable}")

    def set(self, variable: str, value: str, kind: str = "ptr") -> None:
        self.line(f"store {kind} {value}, ptr {variable}")

    def call(self, name: str, *given: str) -> str:
        returns, _, kinds = _OF_PYTHON[name].partition(" ")
        both = zip(kinds.strip("()").split(", "), given, strict=True)
        text = f"call {returns} @{name}({', '.join(map(' '.join, both))})"
        if returns != "void":
            return self.emit(text)
        self.line(text)
        return ""

    # ---- control ----
    def goto(self, label: str) -> None:
        self.line(f"br label %{label}")

    def start(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def branch(self, test: str, yes: str, no: str) -> None:
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
        return self.emit(f"icmp eq ptr {thing}, {other}")

    def either(self, first: str, *others: str) -> str:
        for other in others:
            first = self.emit(f"or i1 {first}, {other}")
        return first

    def at(self, thing: str, offset: int) -> str:
        return self.emit(f"getelementptr i8, ptr {thing}, i64 {offset}")

    def slot(self, thing: str, name: str) -> str:
        """What lies in a slot, which keeps it; null where nothing does."""
        return self.get(self.at(thing, self.places[name]))

    def type(self, thing: str) -> str:
        return self.get(self.at(thing, _WORD))

    def need_tensor(self, thing: str) -> None:
        kind = self.type(thing)
        self.need(self.either(self.same(kind, _of("Tensor")), self.same(kind, _of("Parameter"))))

    def made(self, name: str, *given: str, otherwise: str = "failed") -> str:
        """The new object that a function of Python's returns."""
        value = self.call(name, *given)
        self.refuse(self.same(value, "null"), otherwise)
        return value

    def looked_up(self, thing: str, name: str, otherwise: str = "failed") -> str:
        """The value of an attribute, which somebody else keeps."""
        value = self.made("PyObject_GetAttr", thing, _of(f"word.{name}"), otherwise=otherwise)
        self.call("Py_DecRef", value)
        return value

    def own(self, thing: str) -> str:
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


def _of(name: str) -> str:
    return f"@pellucid.views.{name}"


def _text(places: dict[str, int], longest: int) -> str:
    w = _Writer(places)
    at_base, at_chain, at_kind, at_recorder, at_made, at_place, at_views = (
        w.variable() for _ in range(7)
    )
    at_steps, at_step = w.variable("i64"), w.variable("i64")
    none = _of("None")

    # What is read, and which calls are Python's: nothing has changed before the last of these.
    single, several = (w.emit(f"icmp eq i64 %count, {n}") for n in (4, 5))
    w.need(w.either(single, several))
    op, x, array, params = (w.get(w.at("%args", k * _WORD)) for k in range(4))
    w.need_tensor(x)
    w.need(w.same(w.slot(x, "_x"), none))
    grad = w.looked_up(_of("modes"), "grad")
    on = w.same(grad, _of("True"))
    w.need(w.either(on, w.same(grad, _of("False"))))
    w.need(w.either(on, w.same(w.looked_up(_of("modes"), "inference"), _of("False"))))
    # From here on until what is read is kept, no code of Python's runs.
    wants, parent, version = (w.slot(x, name) for name in ("_rg", "_view", "_ver"))
    wanted, unwanted = w.same(wants, _of("True")), w.same(wants, _of("False"))
    recorded = w.emit(f"and i1 {on}, {wanted}")
    w.need(w.either(recorded, unwanted))
    w.refuse(w.emit(f"and i1 {recorded}, {several}"))  # whose node has several results
    w.refuse(w.either(w.same(parent, "null"), w.same(version, "null")))
    new = w.emit(f"select i1 {several}, ptr {_of('word.multi')}, ptr {_of('word.grad')}")
    new = w.emit(f"select i1 {on}, ptr {new}, ptr {_of('word.no_grad')}")
    w.set(at_base, x)
    w.set(at_chain, none)
    w.set(at_kind, new)
    w.set(at_steps, "0", "i64")
    w.branch(w.same(parent, none), "decided", "child")
    w.start("child")
    w.need(w.same(w.type(parent), _of("View")))
    base, chain, kind = (w.slot(parent, name) for name in ("base", "chain", "kind"))
    w.refuse(w.either(*(w.same(thing, "null") for thing in (base, chain, kind))))
    w.need_tensor(base)
    w.need(w.same(w.type(chain), _of("tuple")))
    steps = w.call("PyTuple_Size", chain)
    w.need(w.emit(f"icmp slt i64 {steps}, {longest}"))
    usual = w.same(kind, _of("word.grad"))
    w.need(w.either(usual, w.same(kind, _of("word.no_grad")), w.same(kind, _of("word.multi"))))
    kind = w.emit(f"select i1 {usual}, ptr {new}, ptr {kind}")
    # a view whose writes are refused is remembered where its base wants a gradient
    free = w.same(w.slot(base, "_rg"), _of("False"))
    w.need(w.either(free, w.same(kind, _of("word.grad"))))
    w.set(at_base, base)
    w.set(at_chain, chain)
    w.set(at_kind, kind)
    w.set(at_steps, steps, "i64")
    w.goto("decided")
    w.start("decided")
    w.set(at_recorder, none)
    w.branch(recorded, "ruled", "keep")
    w.start("ruled")
    w.branch(w.same(w.looked_up(op, "vjp"), none), "keep", "recorder")
    w.start("recorder")
    recorder = w.looked_up(op, "recorder")  # the operation keeps it
    w.refuse(w.same(recorder, none))
    w.set(at_recorder, recorder)
    w.goto("keep")
    w.start("keep")
    base, chain, kind, recorder = (
        w.own(w.get(v)) for v in (at_base, at_chain, at_kind, at_recorder)
    )
    w.set(at_made, "null")
    w.set(at_views, "null")

    # The tensor.
    w.branch(w.same(recorder, none), "plain", "record")
    w.start("record")
    made = w.made(
        "PyObject_Vectorcall", recorder, w.at("%args", _WORD), "3", "null", otherwise="done"
    )
    w.set(at_made, made)
    w.need(w.same(w.type(made), _of("Tensor")), "done")
    w.goto("marked")
    w.start("plain")
    made = w.made("PyType_GenericNew", _of("Tensor"), "null", "null", otherwise="done")
    w.set(at_made, made)
    w.fill(made, "_array", w.own(array))
    for name in ("_node", "_grad", "_x"):
        w.fill(made, name, w.own(none))
    w.fill(made, "_rg", w.own(_of("False")))
    w.goto("marked")

    # The counter that it shares, made now if nobody needed it yet.
    w.start("marked")
    made = w.get(at_made)
    w.branch(w.same(w.slot(x, "_ver"), none), "uncounted", "counted")
    w.start("uncounted")
    first = w.made("PyType_GenericNew", _of("Counter"), "null", "null", otherwise="drop")
    w.fill(x, "_ver", first)
    w.goto("counted")
    w.start("counted")
    version = w.own(w.slot(x, "_ver"))
    w.fill(made, "_ver", version)

    # Its way from the base: the steps so far, and this one.
    view = w.made("PyType_GenericNew", _of("View"), "null", "null", otherwise="drop")
    w.fill(made, "_view", view)
    w.fill(view, "base", w.own(base))
    w.fill(view, "kind", w.own(kind))
    step = w.made("PyTuple_New", "3", otherwise="drop")
    w.call("PyTuple_SetItem", step, "0", w.own(op))
    w.call("PyTuple_SetItem", step, "1", w.own(params))
    w.set(at_place, none)
    w.branch(several, "numbered", "told")
    w.start("numbered")
    w.set(at_place, w.get(w.at("%args", 4 * _WORD)))
    w.goto("told")
    w.start("told")
    w.call("PyTuple_SetItem", step, "2", w.own(w.get(at_place)))
    steps = w.get(at_steps, "i64")
    path = w.call("PyTuple_New", w.emit(f"add i64 {steps}, 1"))
    w.branch(w.same(path, "null"), "lost", "led")
    w.start("lost")
    w.call("Py_DecRef", step)
    w.goto("drop")
    w.start("led")
    w.call("PyTuple_SetItem", path, steps, step)
    w.fill(view, "chain", path)
    w.set(at_step, "0", "i64")
    w.goto("steps")
    w.start("steps")
    k = w.get(at_step, "i64")
    w.branch(w.emit(f"icmp slt i64 {k}, {steps}"), "step", "walked")
    w.start("step")
    w.call("PyTuple_SetItem", path, k, w.own(w.call("PyTuple_GetItem", chain, k)))
    w.set(at_step, w.emit(f"add i64 {k}, 1"), "i64")
    w.goto("steps")

    # Its place in the base's list.
    w.start("walked")
    w.branch(on, "listed", "done")
    w.start("listed")
    views = w.made("PyObject_GetAttr", version, _of("word.views"), otherwise="drop")
    w.set(at_views, views)
    w.branch(w.same(views, none), "unlisted", "kept")
    w.start("unlisted")
    w.call("Py_DecRef", views)
    w.set(at_views, "null")
    views = w.made("PyList_New", "0", otherwise="drop")
    w.set(at_views, views)
    status = w.call("PyObject_SetAttr", version, _of("word.views"), views)
    w.refuse(w.emit(f"icmp slt i32 {status}, 0"), "drop")
    w.goto("kept")
    w.start("kept")
    views = w.get(at_views)
    reference = w.made("PyWeakref_NewRef", made, "null", otherwise="drop")
    size = w.call("PyList_Size", views)
    last = w.emit(f"sub i64 {size}, 1")
    w.branch(w.emit(f"icmp sgt i64 {size}, 0"), "look", "append")
    w.start("look")
    newest = w.call("PyList_GetItem", views, last)
    w.branch(w.same(w.type(newest), _of("reference")), "ask", "grown")
    w.start("ask")
    w.branch(w.same(w.call("PyWeakref_GetObject", newest), none), "replace", "grown")
    w.start("replace")
    w.call("PyList_SetItem", views, last, reference)
    w.goto("done")
    w.start("grown")
    common = w.emit(f"and i64 {size}, {last}")
    doubled, many = w.emit(f"icmp eq i64 {common}, 0"), w.emit(f"icmp sgt i64 {size}, 32")
    w.branch(w.emit(f"and i1 {doubled}, {many}"), "tidy", "append")
    w.start("tidy")
    tidied = w.call("PyObject_Vectorcall", _of("tidy"), at_views, "1", "null")
    w.branch(w.same(tidied, "null"), "unadded", "tidied")
    w.start("tidied")
    w.call("Py_DecRef", tidied)
    w.goto("append")
    w.start("append")
    status = w.call("PyList_Append", views, reference)
    w.call("Py_DecRef", reference)
    w.refuse(w.emit(f"icmp slt i32 {status}, 0"), "drop")
    w.goto("done")

    w.start("unadded")
    w.call("Py_DecRef", reference)
    w.goto("drop")
    w.start("drop")
    w.call("Py_DecRef", w.get(at_made))
    w.set(at_made, "null")
    w.goto("done")
    w.start("done")
    for thing in (base, chain, kind, recorder):
        w.call("Py_DecRef", thing)
    views = w.get(at_views)
    w.branch(w.same(views, "null"), "end", "release")
    w.start("release")
    w.call("Py_DecRef", views)
    w.goto("end")
    w.start("end")
    w.line(f"ret ptr {w.get(at_made)}")
    w.start("failed")
    w.line("ret ptr null")
    w.start("python")
    w.line(f"ret ptr {w.call('PyObject_Vectorcall', _of('python'), '%args', '%count', 'null')}")

    text = "\n".join(["define ptr @view_result(ptr %self, ptr %args, i64 %count) {", *w.lines, "}"])
    names = sorted(set(re.findall(r"@(pellucid\.views\.[\w.]+)", text)))
    text += "".join(f"\n@{name} = external global i8" for name in names)
    for name, kind in _OF_PYTHON.items():
        text += f"\ndeclare {kind.replace(' ', f' @{name}', 1)}"
    return text + "\n"
