"""PyTorch's overloads of functions, and its calls of old: numbers that came before the tensors which they multiply."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from ..core.inplace import inplace_form
from ..core.public import with_out
from ..core.source import is_library
from ..core.tensor import Tensor
from ..errors import ArgumentTypeError, warn_once

_NUMBERS = (int, float, complex)


def _inner(function: Callable[..., Any], name: str) -> Any:
    """The code of the function `name` that a function makes."""
    return next(code for code in function.__code__.co_consts if getattr(code, "co_name", "") == name)


WITH_OUT, IN_PLACE = _inner(with_out, "wrapper"), _inner(inplace_form, "method")


@cache
def overloads() -> dict[str, tuple[str, list[str]]]:
    """{"torch.eq" or "Tensor.eq": (the name that PyTorch shows, signatures)}, as PyTorch 2.13 lists them in its errors."""
    found: dict[str, tuple[str, list[str]]] = {}
    signatures: list[str] = []
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()[1:]:
        if line.startswith(" "):
            signatures.append(line.strip())
        else:
            name, _, shown = line.partition(" as ")
            signatures = []
            found[name] = shown or name.rpartition(".")[2], signatures
    return found


def former(function: Callable[..., Tensor], *args: Any, numbers: tuple[str, ...], **kwargs: Any) -> Tensor:
    """A call with the numbers before the tensors they multiply, as PyTorch once wanted it and still takes: warns, and computes.

    Args:
        function: what computes, with the numbers as keywords.
        args: all positional arguments. Where `numbers` is one name, the number comes second: `add(input, alpha, other)`. Where it is
            two, the first of them comes first or second and the other is optional: `addmm(beta, input, alpha, mat1, mat2)`,
            `input.addmm(beta, mat1, mat2)`.
        kwargs: further ones. Those that are named in `numbers` and differ from 1 make the call wrong.

    Raises:
        TypeError: numbers and tensors come in another order.
    """
    name = function.__name__
    kinds = "".join("n" if isinstance(a, _NUMBERS) else "t" if isinstance(a, Tensor) else "?" for a in args)
    tensors = function.__code__.co_argcount
    if len(numbers) == 1:
        fits = kinds[1] == "n" and len(args) == tensors + 1 and (tensors == 2 or kinds == "tntt")
    else:
        fits = kinds in ("nttt", "ntntt", "tntt", "tnntt")
    if not fits or any(kwargs.get(number, 1) != 1 for number in numbers):
        raise ArgumentTypeError(f"{name}() takes {tensors} positional arguments but {len(args)} were given")
    if len(numbers) == 1:
        values, given = [args[1]], [args[0], *args[2:]]
    else:
        values, given = [a for a in args if isinstance(a, _NUMBERS)], [a for a in args if isinstance(a, Tensor)]
    warn_once(_advice(name, numbers[: len(values)]), UserWarning)
    return function(*given, **kwargs | dict(zip(numbers, values, strict=False)))


def _advice(name: str, numbers: tuple[str, ...]) -> str:
    """PyTorch's warning for the call that the library is in."""
    frame: FrameType | None = sys._getframe(2)
    space = "Tensor"
    while frame is not None and is_library(frame.f_code.co_filename):
        if frame.f_code is IN_PLACE:
            name = frame.f_locals["name"]
        elif frame.f_code is WITH_OUT:
            space = "torch"
        frame = frame.f_back
    return _deprecated(space, name, numbers)


@cache
def _deprecated(space: str, name: str, numbers: tuple[str, ...]) -> str:
    """The form that was used, and those to use."""
    signatures = overloads()[f"{space}.{name}"][1]
    tensors = [part for part in signatures[0][1:-1].partition(", *")[0].split(", ") if part.startswith("Tensor ")]
    places = [f"Number {number}" for number in numbers]
    if space == "Tensor":
        parts = [*places, *tensors]
    elif numbers[0] == "beta":
        parts = [places[0], tensors[0], *places[1:], *tensors[1:]]
    else:
        parts = [tensors[0], *places, *tensors[1:]]
    out = ", *, Tensor out = None" if space == "torch" else ""
    wanted = "".join(f"\n\t{name}{signature}" for signature in signatures)
    return (
        f"This overload of {name} is deprecated:\n\t{name}({', '.join(parts)}{out})\n"
        f"Consider using one of the following signatures instead:{wanted}"
    )
