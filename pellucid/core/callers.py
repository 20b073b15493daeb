"""Code generated for one operation: callers and recorders without loops and dictionaries. They are
the hot path of eager programs.

Operations differ in the number of their arguments, the names of their parameters, what they promote
and what their gradient rules save. A template that is filled in with these is compiled when an
operation is first called, or first recorded.
"""

from __future__ import annotations

import functools
import itertools
import linecache
import os
import sys
from collections.abc import Callable
from types import CodeType, NoneType
from typing import Any

import numpy as np
from numpy import ndarray

from .. import config
from ..arrays import numpy_cpu
from ..arrays.formulas import LARGEST, quick_of
from ..arrays.layout import laid
from ..arrays.native import Planned
from ..arrays.numpy_cpu import as_array
from ..arrays.sparse.array import SparseArray
from ..errors import pass_on
from ..kernels import nodes
from . import source
from .modes import local, state
from .primitive import Primitive
from .tape import Node, node_type, numbers
from .tensor import OutputSlot, Parameter, Tensor, VersionCounter, version_of

asarray = np.asarray
_new = object.__new__

_RECORDER = """
def record({args}, r, p, aux=None):
{versions}
    t = callers.record(kind, op, p, plan, ({edges}), ({saved}), {names}, {total}, {array}, {version})
{borrowed}{results}
    return t
"""
_RESULTS = """
    n = t
    n.shape = [a.shape for a in r]
    n.dtype = kinds = [a.dtype for a in r]
    made = []
    k = 0
    for a in r:
        t = new(Tensor)
        made.append(t)
        t._array = a
        t._grad = t._ver = t._view = t._x = None
        if kinds[k].kind in "biu":
            t._node = None
            t._rg = False
            if state.born is not None:
                state.born(t)
        else:
            t._node = s = new(OutputSlot)
            s.node = n
            s.index = k
            t._rg = True
        k += 1
{versions}
    t = tuple(made)
"""


def make_recorder(op: Primitive, needs: tuple[Any, ...]) -> Callable[..., Any]:
    """Generate a function that makes the node and the tensors of a call, for one pattern of
    arguments.

    `needs` has one entry per argument: whether it needs a gradient, or None if it is not a tensor
    (left out, or a number). The function contains no loops, since every recorded operation runs it.
    """
    names = [f"x{i}" for i in range(len(needs))]
    plan = op.plan(needs)
    edges, versions, saved = [], [], []
    guards: dict[str, None] = {}
    for name, need in zip(names, needs, strict=True):
        edges.append(f"{name}._node or {name}" if need else "None")
    several = op.outputs != 1
    for kind, i in plan.entries:
        if kind == "aux":
            saved.append("aux")
        elif kind in ("in", "shape", "dtype") and needs[i] is None:
            saved.append({"in": names[i], "shape": "()", "dtype": "None"}[kind])
        elif kind == "in":
            saved.append(f"{names[i]}._array")
            versions.append(
                f"    v{i} = {names[i]}._ver\n    if v{i} is None:\n        v{i} = {names[i]}._ver = VersionCounter()"
            )
            guards[f"v{i}"] = None
        elif kind in ("ins", "shapes"):
            rest = range(i, len(names))
            values = [f"{names[k]}._array" + (".shape" if kind == "shapes" else "") for k in rest]
            saved.append(f"[{', '.join(values)}]")
            for k in rest if kind == "ins" else ():
                versions.append(f"    v{k} = version_of({names[k]})")
                guards[f"v{k}"] = None
        elif kind in ("out", "outs"):
            places = range(op.outputs) if kind == "outs" else (i,)
            saved.append("tuple(r)" if kind == "outs" else f"r[{i}]" if several else "r")
            for k in places:
                if f"vo{k}" not in guards:
                    versions.append(f"    vo{k} = VersionCounter()")
                    guards[f"vo{k}"] = None
        elif kind in ("shape", "dtype"):
            saved.append(f"{names[i]}._array.{kind}")
        else:
            saved.append(("r[0]." if several else "r.") + kind.removeprefix("out_"))
    if several:
        results = _RESULTS.format(
            versions="\n".join(f"    made[{g[2:]}]._ver = {g}" for g in guards if g[1] == "o")
        )
    else:
        results = ""
    node = "t" if several else "t._node"
    borrowed = [f"    {node}.borrow(v{i})\n" for _, i in [plan.entries[k] for k in plan.borrowed]]
    code = _RECORDER.format(
        args=", ".join(names),
        edges="".join(e + ", " for e in edges),
        versions="\n".join(versions),
        saved="".join(s + ", " for s in saved),
        names=next(iter(guards))
        if len(guards) == 1
        else "(" + "".join(g + ", " for g in guards) + ")",
        total=" + ".join(f"{g}.count" for g in guards) or "0",
        array="None" if several else "r",
        version="vo0" if "vo0" in guards and not several else "None",
        borrowed="".join(borrowed),
        results=results,
    )
    scope: dict[str, Any] = {
        "new": _new,
        "state": state,
        "kind": node_type(op),
        "op": op,
        "plan": plan,
        "VersionCounter": VersionCounter,
        "Tensor": Tensor,
        "OutputSlot": OutputSlot,
        "version_of": version_of,
        "callers": sys.modules[__name__],
    }
    exec(compiled(code), scope)
    return scope["record"]


record: Callable[..., Any] = nodes.recording(
    Node,
    Tensor,
    config,
    numbers,
    source._library,
    lambda depth: source.user_frame(depth),
    lambda made: globals().update(record=made),
)


def wrap(r: Any) -> Tensor:
    """A tensor without history on a result of the forward rule."""
    t = _new(Tensor)
    t._array = r
    t._node = t._grad = t._ver = t._view = t._x = None
    t._rg = False
    return t if state.born is None else state.born(t)


def tensor_of(value: Any) -> Tensor:
    """As `wrap`, for the result of a gradient rule, which may be any kind of array or a NumPy
    scalar.
    """
    return value.tensor() if type(value) is SparseArray else wrap(as_array(value))


# ---- callers ---------------------------------------------------------------------------------
_CALLER = """
def call({signature}):
    while not _state.slow:
{arguments}
        try:
{quick}_r = _forward({forward}){order}
        except Exception as _error:
            _pass_on(_error)
            break
{results}
    return _general(_op, ({xs}), {params})
"""
_ARGUMENT = """
        _t = type({x})
        if _t is _Tensor or _t is _Parameter:
            a{k} = {x}._array
            g{k} = {x}._rg
            if type(a{k}) is not _ndarray{aside}:
                break{promoted}{absent}{number}
        else:
            break"""
_ABSENT = """
        elif {x} is None:
            a{k} = g{k} = None"""
# A Python number after the tensors, which have one dtype. All other mixtures go to `general`.
_NUMBER = """
        elif _t is float and _kind is not None and _kind.char in "fd":
            a{k} = _asarray({x}, _kind)
            g{k} = None"""
_PROMOTED = """
            if _kind is None:
                _kind = a{k}.dtype
            elif a{k}.dtype is not _kind:
                break"""
# For operations with small-array functions (`native.Quick`), which avoid NumPy's fixed cost.
_QUICK = """            _run = _quick.get(a0.dtype.char, _quick)
            if _run is _quick:
                _run = a0.size <= _most and _quick.asked(a0.dtype.char)
            _r = _run({arguments}) if _run and _config.kernels else None
            if _r is None:
                """
# The same for functions that are prepared per shape and parameters (`native.Planned`).
_PLANNED = """            _made = _plans.get(a0.dtype)
            _run = _made.get((a0.shape, {parameters})) if _made is not None else False
            if _run is None:
                _run = _made.of((a0.shape, {parameters}))
            _r = _run(a0) if _run and a0.flags.carray and _config.kernels else None
            if _r is None:
                """
_RECORDED = """
        if ({any}) and _local.grad{floating}:
            _record = _recorders.get(({all}))
            if _record is None:
                _record = _recorders[({all})] = _make_recorder(_op, ({all}))
            return _record({xs}_r, {params}{extra})"""
_WRAPPED = """
        _t = _new(_Tensor)
        _t._array = _r
        _t._node = _t._grad = _t._ver = _t._view = _t._x = None
        _t._rg = False
        return _t if _state.born is None else _state.born(_t)"""


def fixed_names(op: Primitive) -> tuple[str, ...] | None:
    """The names of the forward rule's parameters; None if the rule accepts any names."""
    code = getattr(op.forward, "__code__", None)
    # CO_VARARGS and CO_VARKEYWORDS
    if (
        code is None
        or code.co_flags & 0x0C != 4 * op.variadic
        or getattr(op.forward, "__defaults__", None)
    ):
        return getattr(op.forward, "numbers", None)  # a rule made of a formula has them
    return code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]


def make_caller(
    op: Primitive, general: Callable[..., Any], count: int, names: tuple[str, ...]
) -> Callable[..., Any]:
    """Generate a function that runs an operation on `count` plain tensors while no interpreters or
    observers are active. It leaves every other case, failures included, to `general`.
    """
    words = (
        op.args
        if len(op.args) == count and not op.variadic
        else tuple([f"x{k}" for k in range(count)])
    )
    quick = quick_of(op.name, op.forward, op.numpy_forward)
    looks: tuple[Any, ...] = (
        words,
        names,
        "" if isinstance(op.forward, str) else "_xp, ",
        op.promote,
        op.aside,
        op.outputs,
        op.aux,
        op.vjp is not None,
        type(quick),
        op.lies,
    )
    # The underscores keep these names apart from parameter names.
    scope: dict[str, Any] = {
        "__name__": __name__,
        "_op": op,
        "_general": general,
        "_config": config,
        "_quick": quick,
        "_plans": getattr(quick, "plans", None),
        "_most": LARGEST,
        "_forward": op.numpy_forward if isinstance(op.forward, str) else op.forward,
        "_xp": numpy_cpu,
        "_state": state,
        "_local": local,
        "_Tensor": Tensor,
        "_Parameter": Parameter,
        "_ndarray": ndarray,
        "_float32": np.dtype(np.float32),
        "_float64": np.dtype(np.float64),
        "_asarray": asarray,
        "_new": _new,
        "_wrap": wrap,
        "_recorders": {},
        "_make_recorder": make_recorder,
        "_pass_on": pass_on,
        "_laid": laid,
    }
    exec(_caller_code(*looks), scope)
    call: Any = scope["call"]
    call.__name__ = op.name
    call.__kwdefaults__ = getattr(op.forward, "__kwdefaults__", None)
    return call


@functools.cache
def _caller_code(
    words: tuple[str, ...],
    names: tuple[str, ...],
    xp: str,
    promote: str | None,
    aside: str,
    outputs: int,
    aux: bool,
    graph: bool,
    quick: type,
    lies: tuple[int, ...] | None,
) -> CodeType:
    """The code of a caller. Operations that agree in all these properties share it."""
    count, xs = len(words), "".join(f"{word}, " for word in words)
    params = "{" + ", ".join(f"{name!r}: {name}" for name in names) + "}"
    arguments = ["        _kind = None"] if promote == "common" else []
    for k in range(count):
        # A rule that only reads shapes would accept an array without data, so the type is checked.
        # float32 and float64, which are never put aside, are compared by identity because that is
        # faster.
        refused = (
            f" or (k{k} := a{k}.dtype) is not _float32 and k{k} is not _float64 and k{k}.char in {aside!r}"
            if aside
            else ""
        )
        common = _PROMOTED.format(k=k) if promote == "common" else ""
        arguments.append(
            _ARGUMENT.format(
                k=k,
                x=words[k],
                aside=refused,
                promoted=common,
                absent=_ABSENT.format(k=k, x=words[k]) if k else "",
                number=_NUMBER.format(k=k, x=words[k]) if common and k > 1 and not aside else "",
            )
        )
    results = ["        _r, _extra = _r"] if aux else []
    results.append(
        "        if type(_r) is not _ndarray:\n            _r = _asarray(_r)"
        if outputs == 1
        else f"        _r = ({''.join(f'_asarray(_r[{k}]), ' for k in range(outputs))})"
    )
    # If these are C-contiguous, NumPy's result has PyTorch's strides,
    looked = [f"a{k}" for k in (lies or ())[: max(count - 1, 1)]] or ["_r"]
    # except that a broadcast first operand leaves the decision to the last one.
    last = (
        f"a{lies[0]}.size != _r.size and type(a{lies[-1]}) is _ndarray and not a{lies[-1]}.flags.c_contiguous"
        if lies
        else ""
    )
    mixed = " or ".join(
        [f"{a} is not None and not {a}.flags.c_contiguous" for a in looked]
        + [last] * (len(lies or ()) > 1)
    )
    indent, every = " " * (12 if quick is NoneType else 16), "".join(f"a{k}, " for k in lies or ())
    order = f"\n{indent}if {mixed}:\n{indent}    _r = _laid(_r, ({every}))"
    if promote == "float":
        results.append("        if _r.dtype is not k0:\n            break")
    if graph and count:
        wanted = [f"g{k}" for k in range(count)]
        floating = ' and _r.dtype.kind not in "biu"' if outputs == 1 else ""
        results.append(
            _RECORDED.format(
                any=" or ".join(wanted),
                all=", ".join(wanted) + ",",
                floating=floating,
                xs=xs,
                params=params,
                extra=", _extra" if aux else "",
            )
        )
    results.append(
        _WRAPPED
        if outputs == 1
        else f"        return ({''.join(f'_wrap(_r[{k}]), ' for k in range(outputs))})"
    )
    text = _CALLER.format(
        signature=", ".join([*words, *(["*"] if names else []), *names]),
        arguments="\n".join(arguments),
        forward=xp
        + "".join(f"a{k}, " for k in range(count))
        + ", ".join(f"{n}={n}" for n in names),
        quick=" " * 12
        if quick is NoneType
        else _PLANNED.format(parameters="".join(f"{name}, " for name in names))
        if quick is Planned
        else _QUICK.format(arguments=", ".join([*[f"a{k}" for k in range(count)], *names])),
        order=order if lies is not None else "",
        results="\n".join(results),
        xs=xs,
        params=params,
    )
    return compiled(text)


def compiled(text: str) -> CodeType:
    """Compile generated source text. The file name lies inside the package, so its lines are never
    taken for the user's, and `inspect.getsource` finds the text.
    """
    name = os.path.join(os.path.dirname(__file__), f"<generated {_number()}>")
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    return compile(text, name, "exec")


_number = itertools.count(1).__next__
