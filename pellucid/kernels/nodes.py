"""Creates the graph node of a recorded operation, and its result's tensor, in one native call.
Python takes a microsecond to create them, fill their slots and find the program's line; Python's C
functions take a third of that.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from ..llvm import frames, jit
from ..llvm.objects import WORD, Writer, module, named, places_of, works

__all__ = ["recording"]

MANY = 512  # number of nodes after which native code creates them, if native code is in use
_GIVEN = ("op", "params", "plan", "inputs", "saved", "guard", "total")
_new = object.__new__


def recording(
    node: type,
    tensor: type,
    config: ModuleType,
    numbers: Iterator[int],
    known: dict[str, bool],
    user_frame: Callable[[int], Any],
    put: Callable[[Callable[..., Any]], Any],
) -> Callable[..., Any]:
    """Return a function that creates the node of an operation. It must be called by a function that
    the operation's caller calls.

    Its arguments are the node's kind, the values of `_GIVEN`, the result's array, and the array's
    write counter or None. It returns the tensor of the array. If the operation has several results,
    the array is None; then the node alone is returned, without shape and dtype.

    Args:
        node, tensor: the classes.
        config: the settings; its `sources` says whether to look for the program's line.
        numbers: yields a number for each node.
        known: maps file names to whether their frames are skipped.
        user_frame: finds the program's frame, starting that many frames above its caller's.
        put: receives the function to call from now on, once it is replaced by a native one.
    """

    def record(
        kind: type,
        op: Any,
        params: Any,
        plan: Any,
        inputs: Any,
        saved: Any,
        guard: Any,
        total: Any,
        r: Any,
        version: Any,
    ) -> Any:
        n: Any = _new(kind)
        n.op = op
        n.params = params
        n.plan = plan
        n.inputs = inputs
        n.saved = saved
        n.guard = guard
        n.total = total
        n.seq = next(numbers)
        n.ext = None
        f = user_frame(3) if config.sources else None
        if f is None:
            n.code = None
            n.lasti = 0
        else:
            n.code = f.f_code
            n.lasti = f.f_lasti
        if r is None:
            return n
        n.shape = r.shape
        n.dtype = r.dtype
        t: Any = _new(tensor)
        t._array = r
        t._node = n
        t._rg = True
        t._grad = t._view = t._x = None
        t._ver = version
        return t

    def first(*given: Any) -> Any:
        if next(calls) >= MANY and jit.statistics["loaded"] + jit.statistics["compiled"] > 0:
            put(_native(record, node, tensor, config, numbers, known) or record)
        return record(*given)

    calls = itertools.count()
    return first


def _native(
    python: Callable[..., Any],
    node: type,
    tensor: type,
    config: ModuleType,
    numbers: Iterator[int],
    known: dict[str, bool],
) -> Callable[..., Any] | None:
    search = frames.searcher(known) if works() else None
    own = ("shape", "dtype", "seq", "ext", "code", "lasti")
    of_node = places_of(node, (*_GIVEN, *own))
    of_tensor = places_of(tensor, ("_array", "_node", "_grad", "_x", "_rg", "_ver", "_view"))
    if search is None or of_node is None or of_tensor is None:
        return None
    objects = {
        **search.objects,
        "Tensor": tensor,
        "settings": vars(config),
        "numbers": numbers,
        "python": python,
        **{f"word.{word}": word for word in ("shape", "dtype", "sources")},
    }
    text = module("nodes", _text(of_node | of_tensor) + search.text, objects)
    made = jit.compile_ir(text, {"record": None}, "nodes")
    return None if made is None else jit.method("record", made["record"])


def _text(places: dict[str, int]) -> str:
    w = Writer(places)
    at_code, at_instruction = w.variable(), w.variable("i64")
    at_node = w.variable()
    none = named("None")
    count = len(_GIVEN) + 3

    # Find the program's line first: nothing has been created that would have to be freed when the
    # call is passed to Python.
    w.need(w.emit(f"icmp eq i64 %count, {count}"))
    kind, *given, r, version = (w.get(w.at("%args", k * WORD)) for k in range(count))
    w.set(at_code, none)
    w.set(at_instruction, "0", "i64")
    sources = w.call("PyDict_GetItem", named("settings"), named("word.sources"))
    w.branch(w.same(sources, named("True")), "search", "make")
    w.start("search")
    depth = w.emit(f"call i64 @search(i64 2, ptr {at_code}, ptr {at_instruction})")
    w.need(w.emit(f"icmp sge i64 {depth}, 0"))
    w.goto("make")

    w.start("make")
    n = w.made("PyType_GenericNew", kind, "null", "null")
    w.set(at_node, n)
    for name, value in zip(_GIVEN, given, strict=True):
        w.fill(n, name, w.own(value))
    w.fill(n, "ext", w.own(none))
    w.fill(n, "code", w.own(w.get(at_code)))
    place = w.made("PyLong_FromLongLong", w.get(at_instruction, "i64"), otherwise="drop")
    w.fill(n, "lasti", place)
    w.fill(n, "seq", w.made("PyIter_Next", named("numbers"), otherwise="drop"))
    w.branch(w.same(r, none), "several", "alone")
    w.start("several")
    w.line(f"ret ptr {n}")

    w.start("alone")
    for name in ("shape", "dtype"):
        value = w.made("PyObject_GetAttr", r, named(f"word.{name}"), otherwise="drop")
        w.fill(n, name, value)
    t = w.made("PyType_GenericNew", named("Tensor"), "null", "null", otherwise="drop")
    w.fill(t, "_array", w.own(r))
    w.fill(t, "_node", n)
    w.fill(t, "_rg", w.own(named("True")))
    for name in ("_grad", "_view", "_x"):
        w.fill(t, name, w.own(none))
    w.fill(t, "_ver", w.own(version))
    w.line(f"ret ptr {t}")

    w.start("drop")
    w.call("Py_DecRef", w.get(at_node))
    w.goto("failed")
    w.start("failed")
    w.line("ret ptr null")
    w.start("python")
    w.line(f"ret ptr {w.call('PyObject_Vectorcall', named('python'), '%args', '%count', 'null')}")
    return "\n".join(["define ptr @record(ptr %self, ptr %args, i64 %count) {", *w.lines, "}\n"])
