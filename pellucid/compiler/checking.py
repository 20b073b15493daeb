"""The quick check before a call: one generated function that compares everything a version depends on.

Attributes of modules change only through `Module.__setattr__` and its like, which count in `state.structure`: while that number stands
still they need no look. Everything else (closures, globals, optimizers, the memory of parameters) is compared at each call.
"""

from __future__ import annotations

from collections.abc import Callable
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

    Only for functions whose arguments are all tensors (`plain`). The first `count` of the tensors are arguments, the others stand at
    `places` (with the description of what is there); `numbers` are places of numbers, `pinned` arguments that must be the same objects.
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
        if t._node is None and t._rg:
            lines.append(f"    if t{k}._node is not None: return None")
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
