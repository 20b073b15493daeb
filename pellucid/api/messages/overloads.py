"""What PyTorch says when no overload of a function takes the arguments of a call: all of its
signatures, and why each did not match.

A call is described from the user's line: which arguments it names, and whether it is a method's.
All of this is read when such an error is made, never before.
"""

from __future__ import annotations

import ast
import inspect
import re
from functools import lru_cache
from types import FrameType, FunctionType, ModuleType
from typing import Any

from ...core.public import FUNCTIONS, METHODS
from ...core.tensor import Tensor
from ...errors import type_name
from ...ops._overloads import PREFIXED, Called, overloads
from ...ops._overloads import called as called_by
from ..exchange import exchanged
from .first import refused as first_refused
from .signatures import Slot, chosen, failure, fits, handed, in_python, refused
from .written import call_at

_SPACES = ("Tensor", *FUNCTIONS)
_SPECIFIC = re.compile(r"(?:([\w.]+)\(\): )?argument '(\w+)'( \(position \d+\))? (must be (\w+).*)")


def known(frame: FrameType) -> bool:
    """Whether a frame runs a public function."""
    return called_by(frame) is not None or frame.f_code in _public()


def told(frame: FrameType, user: FrameType, sentence: str) -> str | Exception:
    """PyTorch's words for a call that failed with a `TypeError` of ours; its error, where that has
    another class.

    Args:
        frame: the library's function that was called.
        user: the frame of the user's program that called it.
        sentence: our words.
    """
    node = call_at(user)
    # `f(x)`: not the method of an object that the line shows
    plain = node is not None and isinstance(node.func, ast.Name)
    run = called_by(frame)
    called = _called(frame, run, _written(node, user), sentence.partition("()")[0], plain)
    if called is None:
        return sentence
    space, name, function = called
    args, kwargs = _arguments(frame, run, node, function, space)
    if space == "Tensor" and not name.startswith("__"):
        owner = (
            run.args[:1] if run is not None else [frame.f_locals.get(frame.f_code.co_varnames[0])]
        )
        if owner and not isinstance(owner[0], Tensor):
            kind = type(owner[0]).__name__
            return f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a '{kind}' object"
    known = overloads(chosen(f"{space}.{name}", args, kwargs))
    first = next(iter(inspect.signature(function, follow_wrapped=False).parameters), "")
    if run is None and frame.f_code.co_argcount:  # not those of what it has been exchanged for
        first = frame.f_code.co_varnames[0]
    given = (
        (args[0] if args else kwargs.get(first)) if run is not None else frame.f_locals.get(first)
    )
    if run is None and "args__" in frame.f_locals:  # a function that does something else by now
        first = next(iter(inspect.signature(function).parameters), "")
        given = (*frame.f_locals["args__"], frame.f_locals["kwargs__"].get(first))[0]
    there = given is not None or sentence.endswith("must be Tensor, not NoneType")
    named = "an invalid combination of arguments" in sentence  # said by what it hands them on to
    if known is None and there and not isinstance(given, Tensor) and not named:
        error = first_refused(f"{space}.{name}", first, given, type_name(given))
        if error is not None:
            return error
    written = (
        None
        if node is None or any(isinstance(a, ast.Starred) for a in node.args)
        else len(node.args)
    )
    if written is not None and run is None and len(args) != written:
        return sentence  # the function has changed its variables since
    match = _SPECIFIC.fullmatch(sentence)
    # variables may have changed since
    unsure = node is None and run is None and match is not None
    if known is not None and known.inner is not None and not unsure:
        early = handed(known.inner, known.every[0], args, kwargs)
        if isinstance(early, Exception):
            return early
        if space == "Tensor":
            return sentence
        return _renamed(sentence, function, known.written, args, kwargs)
    if known is not None and not unsure:
        text = refused(known, args, kwargs) or sentence
        if (
            known.bare
            and node is not None
            and isinstance(node.func, ast.Attribute)
            and not any(isinstance(a, ast.Starred) for a in node.args)
            and not any(k.arg is None for k in node.keywords)
        ):  # what the class has, not a method that was taken from the object before
            text = text.replace("Tensor.", "TensorBase.", 1)
        return text
    if space == "nn.functional" or f"{space}.{name}" in ("torch.unique", "torch.lu"):
        # functions in Python, which pass the arguments on
        return _renamed(sentence, function, name, args, kwargs)
    shown = f"{space}_{name}" if space in PREFIXED else name
    if not unsure and not named and (match is None or match[1] is None):
        signature = _derived(function, space == "Tensor")
        found = None if signature is None else failure(shown, signature, args, kwargs)
        if found is not None:
            return found
    if match is None or match[1] is not None and match[1].rpartition(".")[2] != name:
        return sentence
    names = list(inspect.signature(function, follow_wrapped=False).parameters)
    argument = match[2]
    if argument not in names:  # PyTorch's transpose has dim0 and dim1
        slot = Slot(match[5], argument, False, False, False, 0)
        wrong = [
            n for n in names if n.rstrip("01") == argument and not fits(frame.f_locals.get(n), slot)
        ]
        argument = wrong[0] if wrong else argument
    place = "" if argument in names else match[3] or ""
    if argument in names and argument not in kwargs:
        place = f" (position {names.index(argument) + (space != 'Tensor')})"
    return f"{shown}(): argument '{argument}'{place} {match[4]}"


def _renamed(
    sentence: str, function: Any, name: str, args: list[Any], kwargs: dict[str, Any]
) -> str:
    """Python's words for what a function does not take, under the name that it has in PyTorch."""
    own = function.__qualname__
    if not sentence.startswith(f"{own}() "):
        return sentence
    parameters = inspect.signature(function).parameters
    return in_python(name, parameters, args, kwargs) + sentence.removeprefix(own)


_KINDS = {"Tensor": "Tensor", "int": "int", "float": "float", "bool": "bool", "str": "str"}


def _derived(function: Any, method: bool) -> str | None:
    """A signature in PyTorch's form of a function that has one; parameters of other types than the
    plainest take anything.

    None for a function that takes any number of arguments.
    """
    parts, star = [], False
    for number, parameter in enumerate(inspect.signature(function).parameters.values()):
        if method and not number:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            return None
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        kind = _KINDS.get(str(parameter.annotation), "Any")
        parts.append(
            f"{kind} {parameter.name}"
            + (" = None" if parameter.default is not parameter.empty else "")
        )
    return f"({', '.join(parts)})"


def _tables() -> list[tuple[str, dict[str, Any]]]:
    return [*FUNCTIONS.items(), ("Tensor", METHODS)]


# ---- what the user called, and with what -------------------------------------------------------
def _public() -> dict[Any, list[tuple[str, str, Any]]]:
    """{code: [(space, name, function)]} of the public functions; those with `out=` by the function
    within.
    """
    return _public_after(len(exchanged))


@lru_cache(maxsize=1)
def _public_after(exchanges: int) -> dict[Any, list[tuple[str, str, Any]]]:
    found: dict[Any, list[tuple[str, str, Any]]] = {}
    for space, table in _tables():
        for name, function in table.items():
            inner = function
            while hasattr(inner, "__wrapped__"):
                inner = inner.__wrapped__
            if isinstance(inner, FunctionType):
                found.setdefault(inner.__code__, []).append((space, name, inner))
    return found


def _called(
    frame: FrameType, run: Called | None, call: tuple[str, str], said: str, plain: bool
) -> tuple[str, str, Any] | None:
    """(space, name, function) of what a frame runs for the user, who wrote `call` (a name and its
    space); None for what is not public.

    Where a function has several names and the source is not at hand, it is the one that was `said`.
    """
    if run is not None:
        space, _, name = run.path.rpartition(".")
        entries = [(space, name, run.function)] if name else []
    else:
        entries = _public().get(frame.f_code, [])
    attribute, home = call
    written = [
        e
        for e in entries
        if e[1] == attribute and (e[0] == home if home in _SPACES else e[0] != "Tensor")
    ]
    if written:
        entries = written
    elif run is None and any(e[0] == "Tensor" for e in entries):
        method = not plain and isinstance(frame.f_locals.get(frame.f_code.co_varnames[0]), Tensor)
        entries = [e for e in entries if (e[0] == "Tensor") is method]
    if len({e[1] for e in entries}) > 1:
        entries = [e for e in entries if e[1] == said]
    return entries[0] if entries else None


def _written(node: ast.Call | None, frame: FrameType) -> tuple[str, str]:
    """(the name called, the space it is called in: "Tensor" for a method), where a frame's call
    says so.
    """
    if node is None or not isinstance(node.func, ast.Attribute):
        return "", ""
    owner, path = node.func.value, []
    while isinstance(owner, ast.Attribute):
        path.append(owner.attr)
        owner = owner.value
    found = (
        (frame.f_locals | frame.f_globals).get(owner.id) if isinstance(owner, ast.Name) else None
    )
    for name in reversed(path):
        found = vars(found).get(name) if isinstance(found, ModuleType) else None
    home = (
        found.__name__.partition(".")[2] or "torch" if isinstance(found, ModuleType) else "Tensor"
    )
    return node.func.attr, home


def _arguments(
    frame: FrameType, run: Called | None, node: ast.Call | None, function: Any, space: str
) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments of the call, without a method's `self`."""
    if run is not None:
        return list(run.args)[space == "Tensor" :], dict(run.kwargs)
    named = (
        None
        if node is None or any(k.arg is None for k in node.keywords)
        else [k.arg for k in node.keywords]
    )
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for name, parameter in inspect.signature(function, follow_wrapped=False).parameters.items():
        if name not in frame.f_locals:
            continue
        value = frame.f_locals[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            args += value
        elif parameter.kind is parameter.VAR_KEYWORD:
            kwargs |= value
        elif named is not None and name in named:
            kwargs[name] = value
        elif (
            value is not parameter.default
            and (parameter.kind is not parameter.KEYWORD_ONLY)
            and not kwargs
        ):
            args.append(value)
        elif value is not parameter.default:
            kwargs[name] = value
    if named is not None:  # in the order in which they are written
        kwargs = {
            name: kwargs[name]
            for name in [*[n for n in named if n in kwargs], *[n for n in kwargs if n not in named]]
        }
    return args[space == "Tensor" :], kwargs
