"""The quick check before a call: one generated function that compares everything a version depends on.

Attributes of modules change only through `Module.__setattr__` and its like, which count in `state.structure`: while that number stands
still they need no look. Everything else (closures, globals, optimizers, the memory of parameters) is compared at each call.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container
from itertools import compress
from typing import Any

from numpy import ndarray

from ..api.settings import SETTINGS
from ..core.modes import local, state
from ..core.tensor import Tensor
from ..dtypes import get_default_dtype
from ..nn.modules._hooks import global_hooks
from ..nn.modules._tables import Hooks, Members
from ..nn.modules.module import Module
from .guards import Guard, TensorHooks
from .numbers import NUMBERS


def split(guards: list[Guard], modules: list[Module]) -> tuple[list[Guard], list[Guard]]:
    """The guards that `state.structure` covers, and the others."""
    counted = {id(m) for m in modules} | {id(m.__dict__) for m in modules} | {id(global_hooks.__dict__)}
    covered = [isinstance(g.holder, (Members, Hooks)) or isinstance(g, TensorHooks) or id(g.holder) in counted for g in guards]
    return list(compress(guards, covered)), [g for g, c in zip(guards, covered, strict=True) if not c]


def _finds(structure: Any, source: str, lines: list[str]) -> bool:
    """Write down how tensors are found in what stands at a place, as `flatten` describes it; False where that is not simple."""
    if structure[0] == "tensor":
        lines.append(f"    t{structure[1]} = {source}")
    elif structure[0] == "again":
        lines.append(f"    if {source} is not t{structure[1]}: return None")
    elif structure[0] is type(None):
        lines.append(f"    if {source} is not None: return None")
    elif structure[0] is tuple:
        lines.append(f"    if type({source}) is not tuple or len({source}) != {len(structure) - 1}: return None")
        return all(_finds(s, f"{source}[{k}]", lines) for k, s in enumerate(structure[1:]))
    else:
        return False
    return True


def unpacker(structure: Any, lift: Container[int]) -> Callable[[tuple[Any, ...]], Any] | None:
    """A function from positional arguments, described as `flatten` does it, to their tensors and those of their numbers that may be others
    at each call; it gives None for arguments of another form. None where that takes more than a few comparisons.
    """
    scope: dict[str, Any] = {}
    lines = [f"    if len(args) != {len(structure) - 1}: return None"]
    numbers = itertools.count()
    given: list[str] = []

    def name(value: Any) -> str:
        scope[f"c{len(scope)}"] = value
        return f"c{len(scope) - 1}"

    def find(s: Any, source: str) -> bool:
        kind = s[0]
        if kind in ("tensor", "again"):
            return _finds(s, source, lines)
        if kind == "object":
            lines.append(f"    if {source} is not {name(s[1].value)}: return None")
        elif kind == "list" or isinstance(kind, type) and issubclass(kind, tuple):
            made = name(list if kind == "list" else kind)
            lines.append(f"    if type({source}) is not {made} or len({source}) != {len(s) - 1}: return None")
            return all(find(inner, f"{source}[{k}]") for k, inner in enumerate(s[1:]))
        elif kind is dict:
            lines.append(
                f"    if type({source}) is not dict or tuple({source}) != {name(tuple([k for k, _ in s[1:]]))}: return None"
            )
            return all(find(inner, f"{source}[{name(k)}]") for k, inner in s[1:])
        elif kind in NUMBERS:
            lines.append(f"    if type({source}) is not {name(kind)}: return None")
            if next(numbers) in lift:
                given.append(source)
            else:
                shown = f"{source}.__repr__()" if kind is float else source
                lines.append(f"    if {shown} != {name(s[1])}: return None")
        elif kind in (bool, str, type(None)):
            lines.append(f"    if type({source}) is not {name(kind)} or {source} != {name(s[1])}: return None")
        else:
            return False
        return True

    if not all(find(s, f"args[{k}]") for k, s in enumerate(structure[1:])):
        return None
    count = sum(line.startswith("    t") for line in lines)
    tensors = ", ".join(f"t{k}" for k in range(count)) + "," * (count == 1)
    exec("\n".join(["def unpack(args):", *lines, f"    return ({tensors}), ({', '.join(given)}{',' * bool(given)})"]), scope)
    return scope["unpack"]  # type: ignore[no-any-return]


def checker(
    tensors: list[Tensor],
    plain: bool,
    others: list[Guard],
    covered: list[Guard],
    held: list[tuple[Tensor, ndarray]],
    rg: list[tuple[Tensor, bool]],
    grads: list[tuple[Tensor, Tensor | None]],
    count: int,
    places: tuple[list[Guard], Any],
    numbers: list[Guard],
    pinned: list[tuple[int, Tensor]],
) -> Callable[[tuple[Any, ...]], Any] | None:
    """A function from positional arguments to their arrays, None where this version may not serve the call (ask `why_not`).

    Only where no argument may have hooks (`plain`). The arguments are tensors, or what `unpacker` finds; the first `count` of the tensors are
    arguments, the others stand at `places` (with the description of what is there); `numbers` are places of
    numbers, `pinned` arguments that must be the same objects.
    """
    if not plain:
        return None
    found: list[str] = []
    if not all(_finds(s, f"x{k}", found) for k, s in enumerate(places[1][1:])):
        return None
    scope: dict[str, Any] = {
        "state": state,
        "SETTINGS": SETTINGS,
        "settings": dict(SETTINGS),
        "local": local,
        "device": local.device,
        "policy": local.autocast and local.autocast.key,
        "default_dtype": get_default_dtype,
        "kind": get_default_dtype(),
        "covered": covered,
        "now": [state.structure],
        "all": all,
        "type": type,
        "map": map,
        "id": id,
        "tuple": tuple,
        "len": len,
    }
    lines = ["def check(args):", f"    if len(args) != {count}: return None"]
    lines += [f"    t{k} = args[{k}]" for k in range(count)]
    for k, p in enumerate(places[0]):
        scope[f"xh{k}"], scope[f"xk{k}"] = p.holder, p.key
        lines.append(f"    x{k} = {p.source(f'xh{k}', f'xk{k}')}")
    lines += found
    for k, t in pinned:
        scope[f"w{k}"] = t
        lines.append(f"    if t{k} is not w{k}: return None")
    for k, p in enumerate(numbers):
        scope[f"nh{k}"], scope[f"nk{k}"], scope[f"nt{k}"] = p.holder, p.key, type(p.expected)
        lines.append(f"    if type({p.source(f'nh{k}', f'nk{k}')}) is not nt{k}: return None")
    for k, t in enumerate(tensors):
        scope[f"T{k}"], scope[f"S{k}"], scope[f"D{k}"], scope[f"R{k}"] = type(t), t._array.shape, t._array.dtype, t._array.strides
        lines += [
            f"    if type(t{k}) is not T{k}: return None",
            f"    a{k} = t{k}._array",
            f"    if a{k}.shape != S{k} or a{k}.dtype is not D{k} or a{k}.strides != R{k} or t{k}._rg is not {t._rg}: return None",
        ]
        if t._rg:
            lines.append(f"    if t{k}._x is not None or (t{k}._node is None) is not {t._node is None}: return None")
    cast = "local.autocast is not None" if local.autocast is None else "local.autocast is None or local.autocast.key != policy"
    lines.append(
        f"    if local.grad is not {local.grad} or local.inference is not {local.inference} or {cast} "
        "or local.saved_hooks or local.anomaly or local.function_modes or local.device is not device "
        "or default_dtype() is not kind: return None"
    )
    lines += [
        "    if state.structure != now[0]:",
        "        if SETTINGS != settings or not all([g.holds() for g in covered]): return None",
        "        now[0] = state.structure",
    ]
    tests = []
    tests = [g.difference(k, scope) for k, g in enumerate(others)]
    for k, (t, a) in enumerate(held):
        scope[f"p{k}"], scope[f"m{k}"] = t, a
        tests.append(f"p{k}._array is not m{k}")
    for k, (t, flag) in enumerate(rg):
        scope[f"q{k}"] = t
        tests.append(f"q{k}._rg is not {flag}")
    for k, (t, g) in enumerate(grads):
        scope[f"l{k}"] = t
        if g is None:
            tests.append(f"l{k}._grad is not None")
        else:
            scope[f"s{k}"], scope[f"z{k}"] = g._array.shape, g._array.strides
            lines.append(f"    g = l{k}._grad")
            lines.append(f"    if g is None or g._array.shape != s{k} or g._array.strides != z{k}: return None")
    for start in range(0, len(tests), 8):
        lines.append(f"    if {' or '.join(tests[start : start + 8])}: return None")
    result = ", ".join(f"a{k}" for k in range(len(tensors)))
    lines.append(f"    return [{result}]")
    body = "\n".join(lines)
    guarded = body.replace("def check(args):", "def check(args):\n  try:").replace("\n    ", "\n      ")
    guarded += "\n  except (KeyError, IndexError, AttributeError, ValueError): return None"
    exec(guarded, scope)
    scope["check"].seen = scope["now"]
    return scope["check"]
