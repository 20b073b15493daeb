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


def checker(
    tensors: list[Tensor],
    plain: bool,
    others: list[Guard],
    covered: list[Guard],
    held: list[tuple[Tensor, ndarray]],
    rg: list[tuple[Tensor, bool]],
    grads: list[tuple[Tensor, Tensor | None]],
) -> Callable[[tuple[Any, ...]], Any] | None:
    """A function from positional arguments to their arrays, None where this version may not serve the call (ask `why_not`).

    Only for functions whose arguments are all tensors (`plain`).
    """
    if not plain:
        return None
    scope: dict[str, Any] = {
        "state": state,
        "SETTINGS": SETTINGS,
        "settings": dict(SETTINGS),
        "local": local,
        "device": local.device,
        "default_dtype": get_default_dtype,
        "kind": get_default_dtype(),
        "covered": covered,
        "now": [state.structure],
        "all": all,
        "type": type,
        "map": map,
        "id": id,
    }
    lines = ["def check(args):", f"    if len(args) != {len(tensors)}: return None"]
    for k, t in enumerate(tensors):
        scope[f"T{k}"], scope[f"S{k}"], scope[f"D{k}"], scope[f"R{k}"] = type(t), t._array.shape, t._array.dtype, t._array.strides
        lines += [
            f"    t{k} = args[{k}]",
            f"    if type(t{k}) is not T{k}: return None",
            f"    a{k} = t{k}._array",
            f"    if a{k}.shape != S{k} or a{k}.dtype is not D{k} or a{k}.strides != R{k} or t{k}._rg is not {t._rg}: return None",
        ]
        if t._node is None and t._rg:
            lines.append(f"    if t{k}._node is not None: return None")
    lines.append(
        f"    if local.grad is not {local.grad} or local.inference is not {local.inference} or local.autocast is not None "
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
    return scope["check"]
