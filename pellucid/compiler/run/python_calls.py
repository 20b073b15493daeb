"""Instructions that run in Python on the memory of a call: array functions of operations, gradient
rules, library code and decisions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from ...arrays.numpy_cpu import address, writable
from ...core.primitive import RAW
from ...ir import Instruction, Value
from ...ir.program import ITEMSIZE, row_major
from ...llvm.outputs import offering
from .memory import Memory
from .raising import placed, raised


class Diverged(Exception):
    """A decision turned out differently than in the traced call. The argument is the line."""


def plain(array: ndarray) -> Any:
    """The Python number in an array of one element, as by `item()`."""
    number = array.item()
    return number if isinstance(number, (bool, int, float, complex)) else float(number)


def in_python(i: Instruction, memory: Memory) -> Callable[[list[Any]], None]:
    """A function that runs an instruction in Python, on the memory of a call."""
    return _KINDS[i.kind](i, memory)


def _operation(i: Instruction, m: Memory) -> Callable[[list[Any]], None]:
    forward = i.record.numpy_forward
    inputs = [m.getter(v) for v in i.inputs]
    params = m.tree(i.params)
    own = {v.buffer for v in i.outputs}
    outputs = [m.getter(v) for v in i.outputs if v not in i.extras]
    handed = [m.getter(v) if v.buffer in own else None for v in i.extras]
    extras, hands_on, several = m.storage.extras, i.hands_on, i.record.outputs != 1
    offers = _offers(i, m)

    def run(env: list[Any]) -> None:
        given, named = [get(env) for get in inputs], params(env)
        try:
            with offering([get(env) for get in offers]):
                made = forward(*given, **named)
        except Exception as error:
            raise raised(error, i, given, named) from None
        if hands_on:
            made, extra = made
            extras[i] = extra
            if handed:
                for get, a in zip(handed, _flat(extra), strict=True):
                    if get is not None:
                        _store(get(env), a)
        for get, a in zip(outputs, made if several else (made,), strict=True):
            _put(get(env), a)

    return run


def _offers(i: Instruction, m: Memory) -> list[Callable[[list[Any]], Any]]:
    """The memory of an instruction's results, in the form in which its kernels allocate arrays."""
    found = {}
    for v in i.outputs:
        known = m.storage.roots.get(v.buffer)
        if (
            known is not None
            and str(known[1]) in ITEMSIZE
            and v.buffer.size == known[1].itemsize * int(np.prod(known[0]))
            and v.buffer.size >= 256
        ):
            found[v.buffer] = m.getter(
                Value(v.buffer, str(known[1]), known[0], row_major(known[0], known[1].itemsize))
            )
    return list(found.values())


def _copying(i: Instruction, m: Memory) -> Callable[[list[Any]], None]:
    target, origin = m.getter(i.made()[0]), m.getter(i.inputs[0])
    return lambda env: np.copyto(writable(target(env)), origin(env), casting="unsafe")


def _calling(i: Instruction, m: Memory) -> Callable[[list[Any]], None]:
    function, returned = i.record
    params = m.tree(i.params)
    results = [m.getter(v) for v in returned]

    def run(env: list[Any]) -> None:
        given = params(env)
        try:
            made = function(*given["args"], **given["kwargs"])
        except Exception as error:
            raise placed(error, i) from None
        for get, a in zip(results, _flat(made, True), strict=True):
            place = get(env)
            if place is not a:
                _store(place, a)

    return run


def _deciding(i: Instruction, m: Memory) -> Callable[[list[Any]], None]:
    holds, site = i.record, i.site
    values = [m.getter(v) for v in i.inputs]

    def run(env: list[Any]) -> None:
        if not holds([plain(get(env)) for get in values]):
            raise Diverged(site)

    return run


def _gradient_rule(i: Instruction, m: Memory) -> Callable[[list[Any]], None]:
    rule, places, _ = i.record
    params = m.tree(i.params)
    outputs = [None if v is None or v not in i.outputs else m.getter(v) for v in places]
    backward = rule.backward
    offers = _offers(i, m)

    def run(env: list[Any]) -> None:
        given = params(env)
        with offering([get(env) for get in offers]):
            try:
                made = backward(RAW, given["g"], given["s"], given["params"])
            except Exception as error:
                raise placed(error, i) from None
        for get, a in zip(outputs, made, strict=True):
            if get is not None:
                _put(get(env), a)

    return run


_KINDS: dict[str, Callable[[Instruction, Memory], Callable[[list[Any]], None]]] = {
    "op": _operation,
    "copy": _copying,
    "constant": _copying,
    "call": _calling,
    "decide": _deciding,
    "rule": _gradient_rule,
}


def _put(place: ndarray, a: Any) -> None:
    """Store a result, unless the kernel has already stored it there."""
    if (
        type(a) is ndarray
        and a.strides == place.strides
        and a.shape == place.shape
        and address(a) == address(place)
    ):
        return
    _store(place, a)


def _store(place: ndarray, a: Any) -> None:
    """Copy a result without broadcasting. A shape other than in the traced call means that it
    depends on values, which is an error.
    """
    if np.shape(a) != place.shape:
        raise RuntimeError(
            f"a compiled step has a result of shape {np.shape(a)} where it was traced with {place.shape}"
        )
    np.copyto(writable(place), a, casting="unsafe")


def _flat(value: Any, numbers: bool = False) -> list[Any]:
    if type(value) is ndarray:
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [a for v in value for a in _flat(v)]
    return [value] if numbers and isinstance(value, np.generic) else []
