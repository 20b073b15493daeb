"""Creates the tensor of a view in one native call. Python takes half a microsecond to create the
three objects and link them; Python's C functions take a third of that.

It does the same as `core.bind.view_result` in the usual case: plain tensors and known kinds of
views. Every other call is passed to that function before anything has changed.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ..llvm import jit
from ..llvm.objects import WORD, Writer, module, named, places_of, works

__all__ = ["view_maker"]


def view_maker(
    python: Callable[..., Any],
    tidy: Callable[[list[Any]], Any],
    modes: Any,
    classes: dict[str, type],
    longest: int,
) -> Callable[..., Any] | None:
    """Return a function that does the same as `python`; None if native code is not available.

    Args:
        python: takes (op, x, array, params) or these and the place among several views.
        tidy: takes dead references out of a base's list of views.
        modes: has the attributes `grad` and `inference`.
        classes: `Tensor`, `Parameter`, `Counter` and `View`.
        longest: the views of views that are one chain at most.
    """
    if not works():
        return None
    places: dict[str, int] = {}
    for kind, names in (
        ("Tensor", ("_array", "_node", "_grad", "_x", "_rg", "_ver", "_view")),
        ("View", ("base", "chain", "kind")),
    ):
        found = places_of(classes[kind], names)
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
    text = module("views", _text(places, longest), objects)
    made = jit.compile_ir(text, {"view_result": None}, "views")
    return None if made is None else jit.method("view_result", made["view_result"])


_WORDS = ("grad", "inference", "no_grad", "multi", "views", "vjp", "recorder")


def _need_tensor(w: Writer, thing: str) -> None:
    kind = w.type(thing)
    w.need(w.either(w.same(kind, named("Tensor")), w.same(kind, named("Parameter"))))


def _text(places: dict[str, int], longest: int) -> str:
    w = Writer(places)
    at_base, at_chain, at_kind, at_recorder, at_made, at_place, at_views = (
        w.variable() for _ in range(7)
    )
    at_steps, at_step = w.variable("i64"), w.variable("i64")
    none = named("None")

    # Read everything, and decide which calls are passed to Python: nothing changes before the last
    # of these decisions.
    single, several = (w.emit(f"icmp eq i64 %count, {n}") for n in (4, 5))
    w.need(w.either(single, several))
    op, x, array, params = (w.get(w.at("%args", k * WORD)) for k in range(4))
    _need_tensor(w, x)
    w.need(w.same(w.slot(x, "_x"), none))
    grad = w.looked_up(named("modes"), "grad")
    on = w.same(grad, named("True"))
    w.need(w.either(on, w.same(grad, named("False"))))
    w.need(w.either(on, w.same(w.looked_up(named("modes"), "inference"), named("False"))))
    # From here on, until references to what is read are taken, no Python code runs.
    wants, parent, version = (w.slot(x, name) for name in ("_rg", "_view", "_ver"))
    wanted, unwanted = w.same(wants, named("True")), w.same(wants, named("False"))
    recorded = w.emit(f"and i1 {on}, {wanted}")
    w.need(w.either(recorded, unwanted))
    # nodes with several results are left to Python
    w.refuse(w.emit(f"and i1 {recorded}, {several}"))
    w.refuse(w.either(w.same(parent, "null"), w.same(version, "null")))
    new = w.emit(f"select i1 {several}, ptr {named('word.multi')}, ptr {named('word.grad')}")
    new = w.emit(f"select i1 {on}, ptr {new}, ptr {named('word.no_grad')}")
    w.set(at_base, x)
    w.set(at_chain, none)
    w.set(at_kind, new)
    w.set(at_steps, "0", "i64")
    w.branch(w.same(parent, none), "decided", "child")
    w.start("child")
    w.need(w.same(w.type(parent), named("View")))
    base, chain, kind = (w.slot(parent, name) for name in ("base", "chain", "kind"))
    w.refuse(w.either(*(w.same(thing, "null") for thing in (base, chain, kind))))
    _need_tensor(w, base)
    w.need(w.same(w.type(chain), named("tuple")))
    steps = w.call("PyTuple_Size", chain)
    w.need(w.emit(f"icmp slt i64 {steps}, {longest}"))
    usual = w.same(kind, named("word.grad"))
    w.need(w.either(usual, w.same(kind, named("word.no_grad")), w.same(kind, named("word.multi"))))
    kind = w.emit(f"select i1 {usual}, ptr {new}, ptr {kind}")
    # views whose writes are refused are recorded if the base requires a gradient
    free = w.same(w.slot(base, "_rg"), named("False"))
    w.need(w.either(free, w.same(kind, named("word.grad"))))
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
    recorder = w.looked_up(op, "recorder")  # the operation keeps it alive
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
        "PyObject_Vectorcall", recorder, w.at("%args", WORD), "3", "null", otherwise="done"
    )
    w.set(at_made, made)
    w.need(w.same(w.type(made), named("Tensor")), "done")
    w.goto("marked")
    w.start("plain")
    made = w.made("PyType_GenericNew", named("Tensor"), "null", "null", otherwise="done")
    w.set(at_made, made)
    w.fill(made, "_array", w.own(array))
    for name in ("_node", "_grad", "_x"):
        w.fill(made, name, w.own(none))
    w.fill(made, "_rg", w.own(named("False")))
    w.goto("marked")

    # The write counter that it shares, created now if it was not needed before.
    w.start("marked")
    made = w.get(at_made)
    w.branch(w.same(w.slot(x, "_ver"), none), "uncounted", "counted")
    w.start("uncounted")
    first = w.made("PyType_GenericNew", named("Counter"), "null", "null", otherwise="drop")
    w.fill(x, "_ver", first)
    w.goto("counted")
    w.start("counted")
    version = w.own(w.slot(x, "_ver"))
    w.fill(made, "_ver", version)

    # Its chain from the base: the previous steps, and this one.
    view = w.made("PyType_GenericNew", named("View"), "null", "null", otherwise="drop")
    w.fill(made, "_view", view)
    w.fill(view, "base", w.own(base))
    w.fill(view, "kind", w.own(kind))
    step = w.made("PyTuple_New", "3", otherwise="drop")
    w.call("PyTuple_SetItem", step, "0", w.own(op))
    w.call("PyTuple_SetItem", step, "1", w.own(params))
    w.set(at_place, none)
    w.branch(several, "numbered", "told")
    w.start("numbered")
    w.set(at_place, w.get(w.at("%args", 4 * WORD)))
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

    # Add it to the base's list of views.
    w.start("walked")
    w.branch(on, "listed", "done")
    w.start("listed")
    views = w.made("PyObject_GetAttr", version, named("word.views"), otherwise="drop")
    w.set(at_views, views)
    w.branch(w.same(views, none), "unlisted", "kept")
    w.start("unlisted")
    w.call("Py_DecRef", views)
    w.set(at_views, "null")
    views = w.made("PyList_New", "0", otherwise="drop")
    w.set(at_views, views)
    status = w.call("PyObject_SetAttr", version, named("word.views"), views)
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
    w.branch(w.same(w.type(newest), named("reference")), "ask", "grown")
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
    tidied = w.call("PyObject_Vectorcall", named("tidy"), at_views, "1", "null")
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
    w.line(f"ret ptr {w.call('PyObject_Vectorcall', named('python'), '%args', '%count', 'null')}")

    return "\n".join(
        ["define ptr @view_result(ptr %self, ptr %args, i64 %count) {", *w.lines, "}\n"]
    )
