"""The guard check before a call: one generated function that compares everything a traced version
depends on.

Attributes of modules change only through `Module.__setattr__` and similar methods, which increment
`state.structure`. While that number is unchanged, these guards need no check. Closures, globals,
optimizers and the memory of parameters are compared at each call.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Container
from itertools import compress
from types import CodeType
from typing import TYPE_CHECKING, Any

from numpy import ndarray

from ...api.settings import SETTINGS
from ...core.interpret import thread
from ...core.modes import local, state
from ...core.tensor import Tensor
from ...dtypes import get_default_dtype
from ...errors import pass_on
from ...nn.modules._hooks import global_hooks
from ...nn.modules._tables import Hooks
from ...nn.modules.module import Module
from ..trace.numbers import NUMBERS
from .guards import Guard, TensorHooks

if TYPE_CHECKING:
    from ..run.admission import Admission


@functools.lru_cache(256)
def _code(text: str) -> CodeType:
    """Compile the text of a function. It is cached, because versions for other sizes have the same
    text.
    """
    return compile(text, "<string>", "exec")


def split(guards: list[Guard], modules: list[Module]) -> tuple[list[Guard], list[Guard]]:
    """Split guards into those that `state.structure` covers, and the others."""
    counted = (
        {id(m) for m in modules} | {id(m.__dict__) for m in modules} | {id(global_hooks.__dict__)}
    )
    covered = [
        isinstance(g.holder, Hooks) or isinstance(g, TensorHooks) or id(g.holder) in counted
        for g in guards
    ]
    return list(compress(guards, covered)), [
        g for g, c in zip(guards, covered, strict=True) if not c
    ]


class _Finder:
    """Generates lines that locate the tensors in a structure described by `flatten`, and the
    numbers beside them that may differ at each call (their positions are in `lift`).
    """

    def __init__(self, scope: dict[str, Any], lift: Container[int] = ()) -> None:
        self.scope = scope
        self.lift = lift
        self.lines: list[str] = []
        self.given: list[str] = []  # the expressions for these numbers
        self._numbers = itertools.count()

    def _name(self, value: Any) -> str:
        name = f"c{len(self.scope)}"
        self.scope[name] = value
        return name

    def find(self, s: Any, source: str) -> bool:
        """Add lines for the value at `source`. Returns False if it would take more than a few
        comparisons.
        """
        kind, name = s[0], self._name
        differs = ""
        if kind == "tensor":
            self.lines.append(f"    t{s[1]} = {source}")
        elif kind == "again":
            differs = f"{source} is not t{s[1]}"
        elif kind == "device":
            differs = f"type({source}) is not {name(type(s[1]))} or {source} != {name(s[1])}"
        elif kind == "object":
            differs = f"{source} is not {name(s[1].value)}"
        elif kind == "list" or isinstance(kind, type) and issubclass(kind, tuple):
            self._unless(
                f"type({source}) is not {name(list if kind == 'list' else kind)} or len({source}) != {len(s) - 1}"
            )
            return all(self.find(inner, f"{source}[{k}]") for k, inner in enumerate(s[1:]))
        elif kind is dict:
            self._unless(
                f"type({source}) is not dict or tuple({source}) != {name(tuple([k for k, _ in s[1:]]))}"
            )
            return all(self.find(inner, f"{source}[{name(k)}]") for k, inner in s[1:])
        elif kind in NUMBERS and next(self._numbers) in self.lift:
            self.given.append(source)
            differs = f"type({source}) is not {name(kind)}"
        elif kind in NUMBERS or kind in (bool, str, type(None)):
            shown = f"{source}.__repr__()" if kind is float else source
            differs = f"type({source}) is not {name(kind)} or {shown} != {name(s[1])}"
        else:
            return False
        if differs:
            self._unless(differs)
        return True

    def _unless(self, differs: str) -> None:
        self.lines.append(f"    if {differs}: return None")


def unpacker(structure: Any, lift: Container[int]) -> Callable[[tuple[Any, ...]], Any] | None:
    """Generate a function that extracts from positional arguments the tensors and the numbers that
    may differ at each call. It returns None for arguments of another structure.

    Returns None if that takes more than a few comparisons.
    """
    finder = _Finder({}, lift)
    if not all(finder.find(s, f"args[{k}]") for k, s in enumerate(structure[1:])):
        return None
    count = sum(line.startswith("    t") for line in finder.lines)
    found = [
        "(" + "".join(f"{v}, " for v in group) + ")"
        for group in ([f"t{k}" for k in range(count)], finder.given)
    ]
    begin = ["def unpack(args):", f"    if len(args) != {len(structure) - 1}: return None"]
    text = "\n".join([*begin, *finder.lines, f"    return {', '.join(found)}"])
    exec(_code(text), finder.scope)
    return finder.scope["unpack"]


def checker(admission: Admission, tensors: list[Tensor]) -> Callable[[tuple[Any, ...]], Any] | None:
    """Generate a function that checks all guards. It maps the tensors among the arguments to the
    arrays of all tensors, including those found at guarded places, and returns None if the version
    may not serve the call (`why_not` tells the reason).

    Returns None if an argument has hooks or was made in inference mode. `tensors` are those of the
    traced call.
    """
    if any(t._x is not None for t in tensors):
        return None
    return _Check(admission, tensors).function()


class _Check:
    """The text of such a function: `lines` that run one by one, and `tests` none of which may be
    true.
    """

    def __init__(self, admission: Admission, tensors: list[Tensor]) -> None:
        self.admission, self.tensors = admission, tensors
        self.lines = ["def check(args):", f"    if len(args) != {admission.count}: return None"]
        self.lines += [f"    t{k} = args[{k}]" for k in range(admission.count)]
        self.tests: list[str] = []
        self.scope: dict[str, Any] = {
            "state": state,
            "pass_on": pass_on,
            "SETTINGS": SETTINGS,
            "settings": dict(SETTINGS),
            "local": local,
            "device": local.device,
            "thread": thread,
            "policy": thread.stack.key,
            "default_dtype": get_default_dtype,
            "kind": get_default_dtype(),
            "covered": admission.seldom,
            # The traced call may itself have changed something that these guards cover.
            "now": [state.structure if all(g.holds() for g in admission.seldom) else -1],
            "all": all,
            "type": type,
            "map": map,
            "id": id,
            "ndarray": ndarray,
            "tuple": tuple,
            "len": len,
        }

    def function(self) -> Callable[[tuple[Any, ...]], Any] | None:
        """The generated function, or None if a place holds something that takes more than a few
        comparisons.
        """
        if not self._places():
            return None
        for k, t in enumerate(self.tensors):
            self._tensor(k, t)
        self._modes()
        self._guards()
        self._state()
        self._gradients()
        lines = self.lines
        for start in range(0, len(self.tests), 8):
            lines.append(f"    if {' or '.join(self.tests[start : start + 8])}: return None")
        lines.append(f"    return [{', '.join(f'a{k}' for k in range(len(self.tensors)))}]")
        body = "\n".join(lines)
        guarded = body.replace("def check(args):", "def check(args):\n  try:").replace(
            "\n    ", "\n      "
        )
        # an object has disappeared; `why_not` will tell which
        guarded += "\n  except Exception as error:\n    pass_on(error)\n    return None"
        exec(_code(guarded), self.scope)
        check = self.scope["check"]
        check.seen = self.scope["now"]
        check.covered = {(id(g.holder), g.key) for g in self.admission.seldom}
        return check

    def _places(self) -> bool:
        """Lines for tensors and numbers that differ at each call, and for arguments that must be
        the same objects. Returns False if a place is too complicated.
        """
        scope, lines = self.scope, self.lines
        for k, p in enumerate(self.admission.places):
            scope[f"xh{k}"], scope[f"xk{k}"] = p.holder, p.key
            lines.append(f"    x{k} = {p.source(f'xh{k}', f'xk{k}')}")
        finder = _Finder(scope)
        if not all(finder.find(s, f"x{k}") for k, s in enumerate(self.admission.places_key[1:])):
            return False
        lines += finder.lines
        for k, t in self.admission.pinned:
            scope[f"w{k}"] = t
            lines.append(f"    if t{k} is not w{k}: return None")
        for k, p in enumerate(self.admission.watched):
            scope[f"nh{k}"], scope[f"nk{k}"], scope[f"nt{k}"] = p.holder, p.key, type(p.expected)
            lines.append(f"    if type({p.source(f'nh{k}', f'nk{k}')}) is not nt{k}: return None")
        return True

    def _tensor(self, k: int, t: Tensor) -> None:
        """Lines that check one tensor of the call."""
        scope, lines, marks = self.scope, self.lines, self.admission.marks
        scope[f"T{k}"], scope[f"S{k}"], scope[f"D{k}"], scope[f"R{k}"] = (
            type(t),
            t._array.shape,
            t._array.dtype,
            t._array.strides,
        )
        lines += [
            f"    if type(t{k}) is not T{k}: return None",
            f"    a{k} = t{k}._array",
            f"    if type(a{k}) is not ndarray or a{k}.shape != S{k} or a{k}.dtype is not D{k} or a{k}.strides != R{k}: return None",
            f"    if t{k}._rg is not {t._rg}: return None",
        ]
        if k in self.admission.overwritten:
            lines.append(f"    if not a{k}.flags.writeable: return None")
        if marks:
            scope["marks"] = marks
            lines.append(
                f"    if t{k}.__dict__ and not marks.isdisjoint(t{k}.__dict__): return None"
            )
        node = f" or (t{k}._node is None) is not {t._node is None}" if t._rg else ""
        lines.append(f"    if t{k}._x is not None{node}: return None")

    def _modes(self) -> None:
        stack = "thread.stack.key != policy" if thread.stack.key else "thread.stack.all"
        self.lines.append(
            f"    if local.grad is not {local.grad} or local.inference is not {local.inference} or {stack} "
            "or local.function_modes or local.transforms or local.device is not device "
            "or default_dtype() is not kind: return None"
        )

    def _guards(self) -> None:
        """Checks for the guards that `state.structure` covers, only if it has changed, and for all
        others.
        """
        self.lines += [
            "    if state.structure != now[0]:",
            "        if SETTINGS != settings or not all([g.holds() for g in covered]): return None",
            "        now[0] = state.structure",
        ]
        self.tests += [g.difference(k, self.scope) for k, g in enumerate(self.admission.always)]

    def _state(self) -> None:
        """Checks that tensors have kept their memory and their `requires_grad`."""
        for k, (t, a) in enumerate(self.admission.state):
            self.scope[f"p{k}"], self.scope[f"m{k}"] = t, a
            self.tests.append(f"p{k}._array is not m{k}")
        for k, (t, form) in enumerate(self.admission.forms):
            # names that do not occur in the guards' tests
            self.scope[f"of{k}"], self.scope[f"form{k}"] = t, form
            a = f"of{k}._array"
            self.tests.append(
                f"type({a}) is not ndarray or ({a}.shape, {a}.dtype, {a}.strides) != form{k}"
            )
        for k, (t, flag) in enumerate(self.admission.requires_grad):
            self.scope[f"q{k}"] = t
            self.tests.append(f"q{k}._rg is not {flag}")

    def _gradients(self) -> None:
        """Checks that gradients exist in a given form, or do not exist. Existing gradients of
        arguments are left to `why_not`.
        """
        scope, written = (
            self.scope,
            {id(who) for who in self.admission.grads_overwritten if isinstance(who, Tensor)},
        )
        grads = [(t, g) for t, g in self.admission.grads if isinstance(t, Tensor)]
        self.tests += [
            f"t{who}._grad is not None"
            for who, g in self.admission.grads
            if isinstance(who, int) and g is None
        ]
        for k, (t, g) in enumerate(grads):
            scope[f"l{k}"] = t
            if g is None:
                self.tests.append(f"l{k}._grad is not None")
                continue
            scope[f"s{k}"], scope[f"z{k}"] = g._array.shape, g._array.strides
            fixed = " or not g._array.flags.writeable" if id(t) in written else ""
            self.lines.append(f"    g = l{k}._grad")
            self.lines.append(
                f"    if g is None or g._array.shape != s{k} or g._array.strides != z{k}{fixed}: return None"
            )
