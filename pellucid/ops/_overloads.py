"""PyTorch's overloads of functions, and its deprecated signatures, in which a number comes before
the tensor that it multiplies.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from .._names import MISSING, Calls
from ..core.inplace import inplace_form
from ..core.public import with_out
from ..core.source import is_library
from ..core.tensor import Tensor
from ..errors import ArgumentTypeError, admit, forwarding, retried, shortened, warn_once

_NUMBERS = (int, float, complex)


def checked(function: Callable[..., Any], path: str) -> Callable[..., Any]:
    """Return a wrapper of `function` that accepts arguments under all names that PyTorch knows, and
    refuses other calls with PyTorch's messages.
    """

    calls = Calls(path)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        calls.left = calls.left - 1 or shortened(wrapper, function, calls)
        if (kwargs or len(args) > calls.first) and calls.known.get(
            key := (*map(type, args), *kwargs, *map(type, kwargs.values()))
            if kwargs
            else (*map(type, args),),
            True,
        ):
            admit(calls, key, args, kwargs)
        try:
            return function(*args, **kwargs)
        except Exception as error:
            return retried(function, calls, error, args, kwargs)

    return wrapper


def native(path: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that checks arguments against the signatures at `path`. It is for
    functions that PyTorch implements in C++ and its Python functions call.
    """
    return functools.partial(checked, path=path)


def inner(function: Callable[..., Any], name: str) -> Any:
    """Return the code of the function `name` that is defined within `function`."""
    return next(
        code for code in function.__code__.co_consts if getattr(code, "co_name", "") == name
    )


WITH_OUT, CHECKED, IN_PLACE = (
    inner(with_out, "wrapper"),
    inner(checked, "wrapper"),
    inner(inplace_form, "method"),
)
forwarding.add(IN_PLACE)
# code of the wrappers around public functions; their variables are `function`, `args` and `kwargs`
WRAPPERS = (WITH_OUT, CHECKED)
# code of short entries (`api.entries`), each with its `Calls` and its function
SHORT: dict[CodeType, tuple[Calls, Any]] = {}
# code of the functions to which short entries pass the calls that they cannot handle; the variables
# are those of the wrapper in `checked`, but the function is called `run`
LONG: list[CodeType] = []


class Called(NamedTuple):
    """A call of a public function that has a wrapper or a short entry."""

    path: str
    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def called(frame: FrameType) -> Called | None:
    """Return the call that `frame` runs if the frame belongs to a wrapper or to a short entry, else
    None. Also None for a short entry that has passed the call on to the wrapper.
    """
    if frame.f_code in WRAPPERS:
        found = frame.f_locals
        return Called(found["calls"].path, found["function"], found["args"], found["kwargs"])
    if frame.f_code in LONG and "kwargs" in frame.f_locals:
        found = frame.f_locals
        return Called(found["calls"].path, found["run"], found["args"], found["kwargs"])
    if frame.f_code in SHORT and "long__" not in frame.f_locals:
        calls, function = SHORT[frame.f_code]
        return Called(calls.path, function, *given(frame))
    return None


def given(frame: FrameType) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the positional and keyword arguments of a call that a short entry runs, as the caller
    gave them.
    """
    found, names = frame.f_locals, frame.f_code.co_varnames[: frame.f_code.co_argcount]
    # avoids a reference cycle: the frame keeps this dict, and the error keeps the frame
    if type(found) is dict:
        found.pop("error__", None)
    return by_place([found[name] for name in names], names, found["rest__"], found["more__"])


def by_place(
    values: Sequence[Any], names: Sequence[str], rest: tuple[Any, ...], more: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """As `given`, from the variables of the short entry."""
    count = 0
    for value in values:
        if value is MISSING or more and not rest and names[count] in more:
            break
        count += 1
    return (*values[:count], *rest), more


_TEXT = Path(__file__).with_suffix(".txt")


@cache
def _text() -> str:
    return _TEXT.read_text(encoding="utf-8")


def listed() -> set[str]:
    """The paths that `overloads` knows; quick, since it is asked for at every start."""
    return {
        line.partition(" ")[0] for line in _text().split("\n") if line[:1] not in ("", " ", "#")
    }


class Overloads(NamedTuple):
    """PyTorch's signatures of a function.

    Attributes:
        shown: the name that its errors show.
        signatures: those that its errors show, in PyTorch's order; `[2]` and `?` after a type say
            what is taken and are not shown: see `plain`.
        every: all of them, in the order in which they are tried.
        bare: of a function that takes no arguments, and says so in Python's words, the space it is in.
        inner: the path of a function in Python that hands its arguments on to what is `shown`;
            else None.
        written: what Python calls such a function in PyTorch.
    """

    shown: str
    signatures: list[str]
    every: list[str]
    bare: str
    inner: str | None
    written: str


@cache
def overloads(path: str) -> Overloads | None:
    """The signatures of "torch.eq" or "Tensor.eq", as PyTorch 2.13 lists them in its errors; None
    of a function that has none.
    """
    if not path:
        return None
    text = _text()
    start = text.find(f"\n{path}") + 1
    while start and text[start + len(path)] not in " \n":
        start = text.find(f"\n{path}", start) + 1
    if not start:
        return None
    line, *rest = text[start : start + 4000].split("\n")
    head, bracket, only = line.partition(" (")
    head, _, called = head.partition(" to ")
    name, _, shown = head.partition(" as ")
    space, _, own = name.rpartition(".")
    every = [bracket[1:] + only] if bracket else []
    for more in rest:
        if not more.startswith(" "):
            break
        every.append(more.strip())
    return Overloads(
        called or shown or (f"{space}_{own}" if space in PREFIXED else own),
        [s for s in every if s[0] != "!"],
        [s.removeprefix("!") for s in every],
        space if every == ["()"] else "",
        path if called else None,
        shown or own,
    )


def plain(signature: str) -> str:
    """A signature as PyTorch shows it.

    Example:
        >>> plain("(Tensor input, tuple of ints[1]? dim)")
        '(Tensor input, tuple of ints dim)'
    """
    return _MARKS.sub("", signature)


_MARKS = re.compile(r"\[\d+\]|\?")
# namespaces whose functions PyTorch calls linalg_det, fft_rfft ...
PREFIXED = ("linalg", "fft", "special")


def former(
    function: Callable[..., Tensor], *args: Any, numbers: tuple[str, ...], **kwargs: Any
) -> Tensor:
    """A call with the numbers before the tensors they multiply, as PyTorch once wanted it and still
    takes: warns, and computes.

    Args:
        function: what computes, with the numbers as keywords.
        args: all positional arguments. Where `numbers` is one name, the number comes second:
            `add(input, alpha, other)`. Where it is two, the first of them comes first or second and
            the other is optional: `addmm(beta, input, alpha, mat1, mat2)`,
            `input.addmm(beta, mat1, mat2)`.
        kwargs: further ones. Those that are named in `numbers` and differ from 1 make the call
            wrong.

    Raises:
        TypeError: numbers and tensors come in another order.
    """
    name = function.__name__
    kinds = "".join(
        "n" if isinstance(a, _NUMBERS) else "t" if isinstance(a, Tensor) else "?" for a in args
    )
    # look at the wrapped function: wrappers have other code
    tensors = getattr(function, "__wrapped__", function).__code__.co_argcount
    if len(numbers) == 1:
        second = args[1]
        # a 0-d tensor without gradient counts as a number
        if kinds[:2] == "tt" and tensors == 2 and not second.ndim and not second.requires_grad:
            args, kinds = (args[0], second.item(), *args[2:]), f"tn{kinds[2:].replace('n', 't')}"
        fits = kinds[1] == "n" and len(args) == tensors + 1 and (tensors == 2 or kinds == "tntt")
    else:
        fits = kinds in ("nttt", "ntntt", "tntt", "tnntt")
    if not fits or any(kwargs.get(number, 1) != 1 for number in numbers):
        raise ArgumentTypeError(
            f"{name}() takes {tensors} positional arguments but {len(args)} were given"
        )
    if len(numbers) == 1:
        values, given = [args[1]], [args[0], *args[2:]]
    else:
        values, given = (
            [a for a in args if isinstance(a, _NUMBERS)],
            [a for a in args if isinstance(a, Tensor)],
        )
    warn_once(_advice(name, numbers[: len(values)]), kind="a deprecated overload")
    return function(*given, **kwargs | dict(zip(numbers, values, strict=False)))


def _advice(name: str, numbers: tuple[str, ...]) -> str:
    """Return PyTorch's warning for the library call that is running."""
    frame: FrameType | None = sys._getframe(2)
    space = "Tensor"
    while frame is not None and is_library(frame.f_code.co_filename):
        if frame.f_code is IN_PLACE:
            name = frame.f_locals["name"]
        elif (run := called(frame)) is not None:
            space, _, name = run.path.rpartition(".")
        frame = frame.f_back
    return _deprecated(space, name, numbers)


@cache
def _deprecated(space: str, name: str, numbers: tuple[str, ...]) -> str:
    """Return PyTorch's message that names the deprecated form and the forms to use instead."""
    known = overloads(f"{space}.{name}")
    assert known is not None
    signatures = [plain(s) for s in known.signatures]
    tensors = [
        part
        for part in signatures[0][1:-1].partition(", *")[0].split(", ")
        if part.startswith("Tensor ")
    ]
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
