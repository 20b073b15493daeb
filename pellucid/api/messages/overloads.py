"""What PyTorch says when no overload of a function takes the arguments of a call: all of its signatures, and why each did not match.

A call is described from the user's line: which arguments it names, and whether it is a method's.
All of this is read when such an error is made, never before.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from functools import cache
from types import FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ...core.public import FUNCTIONS, METHODS
from ...core.tensor import Parameter, Tensor
from ...ops._overloads import WITH_OUT, overloads
from .written import call_at

_SPACES = ("Tensor", *FUNCTIONS)
_PREFIXED = ("linalg", "fft", "special")  # spaces whose functions PyTorch calls linalg_det, fft_rfft ...
_SPECIFIC = re.compile(r"(?:([\w.]+)\(\): )?argument '(\w+)'( \(position \d+\))? (must be (\w+).*)")


def known(frame: FrameType) -> bool:
    """Whether a frame runs a public function."""
    return frame.f_code is WITH_OUT or frame.f_code in _public()


def told(frame: FrameType, user: FrameType, sentence: str) -> str:
    """PyTorch's words for a call that failed with a `TypeError` of ours.

    Args:
        frame: the library's function that was called.
        user: the frame of the user's program that called it.
        sentence: our words.
    """
    node = call_at(user)
    called = _called(frame, _written(node, user), sentence.partition("()")[0])
    if called is None or called[0] == "nn.functional":  # functions in Python, which pass the arguments on
        return sentence
    space, name, function = called
    args, kwargs = _arguments(frame, node, function, space)
    if node is not None and not any(isinstance(a, ast.Starred) for a in node.args) and len(args) != len(node.args):
        return sentence  # the function has changed its variables since
    shown, signatures = overloads().get(f"{space}.{name}", (name, []))
    if space in _PREFIXED and not shown.startswith(f"{space}_"):
        shown = f"{space}_{shown}"
    given = len(args) + len(kwargs)
    match = _SPECIFIC.fullmatch(sentence)
    unsure = node is None and frame.f_code is not WITH_OUT and match is not None  # variables may have changed since
    if signatures and not unsure and sum(_least(s) <= given <= len(_parameters(s)) for s in signatures) != 1:
        return refusal(shown, signatures, args, kwargs)
    if match is None or match[1] is not None and match[1].rpartition(".")[2] != name:
        return sentence
    names = list(inspect.signature(function, follow_wrapped=False).parameters)
    argument = match[2]
    if argument not in names:  # PyTorch's transpose has dim0 and dim1
        wrong = [n for n in names if n.rstrip("01") == argument and not _fits(frame.f_locals.get(n), match[5])]
        argument = wrong[0] if wrong else argument
    place = "" if argument in names else match[3] or ""
    if argument in names and argument not in kwargs:
        place = f" (position {names.index(argument) + (space != 'Tensor')})"
    return f"{shown}(): argument '{argument}'{place} {match[4]}"


def refusal(shown: str, signatures: list[str], args: list[Any], kwargs: dict[str, Any]) -> str:
    """The message of a call that fits none of the signatures.

    Example:
        >>> print(refusal("f", ["(Tensor input)", "(Tensor input, int dim)"], ["a"], {}), end="")
        f() received an invalid combination of arguments - got (str), but expected one of:
         * (Tensor input)
              didn't match because some of the arguments have invalid types: (!str!)
         * (Tensor input, int dim)
    """
    named = [f"{name}={_type(value)}" for name, value in reversed(kwargs.items())]
    got = ", ".join([*map(_type, args), *named]) + (", " if named and not args else "")
    start = f"{shown}() received an invalid combination of arguments - got ({got}), but expected "
    if len(signatures) == 1:
        return start + signatures[0]
    lines = []
    for signature in signatures:
        lines.append(f" * {signature}\n")
        if len(signature[1:-1].split(", ")) == len(args) + len(kwargs):  # PyTorch counts the star, too
            lines.append(f"      didn't match because some of the {_why(signature, args, kwargs)}\n")
    return f"{start}one of:\n{''.join(lines)}"


def _why(signature: str, args: list[Any], kwargs: dict[str, Any]) -> str:
    parameters = _parameters(signature)
    known = {name: kind for kind, name, _ in parameters}
    wrong = [name for name in reversed(kwargs) if name not in known]
    if wrong:
        return f"keywords were incorrect: {', '.join(wrong)}"
    kinds = [kind for kind, _, _ in parameters]
    shown = [_marked(value, kind) for value, kind in itertools.zip_longest(args, kinds[: len(args)])]
    shown += [f"{name}={_marked(value, known[name])}" for name, value in reversed(kwargs.items())]
    return f"arguments have invalid types: ({', '.join(shown)})"


@cache
def _parameters(signature: str) -> list[tuple[str, str, bool]]:
    """[(type, name, whether it has a default)]."""
    found = []
    for part in signature[1:-1].split(", "):
        if part and part != "*":
            kind, name = part.partition(" = ")[0].rsplit(" ", 1)
            found.append((kind, name, " = " in part))
    return found


def _least(signature: str) -> int:
    return sum(not optional for _, _, optional in _parameters(signature))


def _type(value: Any) -> str:
    """The name of a type as PyTorch shows it."""
    kind = type(value)
    if isinstance(value, Tensor):
        return "Parameter" if isinstance(value, Parameter) else kind.__name__
    if kind.__module__.partition(".")[0] == "pellucid":
        return f"torch.{kind.__name__}"
    return f"{kind.__module__}.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def _marked(value: Any, kind: str | None) -> str:
    """A type, within exclamation marks where it does not fit; of lists, the types of their items."""
    shown = _type(value)
    if type(value) in (list, tuple):
        brackets = "[]" if type(value) is list else "()"
        shown += f" of {brackets[0]}{', '.join(map(_type, value))}{brackets[1]}"
    return shown if kind is not None and _fits(value, kind) else f"!{shown}!"


def _fits(value: Any, kind: str) -> bool:
    if kind.startswith("tuple of "):
        inner = kind.removeprefix("tuple of ").removesuffix("s")
        return isinstance(value, (tuple, list)) and all(_fits(v, inner) for v in value)
    number = isinstance(value, (int, float, complex, np.number)) and not isinstance(value, bool)
    if kind == "Tensor":
        return isinstance(value, Tensor)
    if kind in ("Number", "Scalar"):
        return number or isinstance(value, bool)
    if kind == "int":
        return number and isinstance(value, (int, np.integer))
    if kind == "float":
        return number and not isinstance(value, (complex, np.complexfloating))
    if kind in ("bool", "str"):
        return type(value).__name__ == kind
    return kind == "object" or _type(value) == kind


# ---- what the user called, and with what -------------------------------------------------------
@cache
def _public() -> dict[Any, list[tuple[str, str, Any]]]:
    """{code: [(space, name, function)]} of the public functions; those with `out=` by the function within."""
    found: dict[Any, list[tuple[str, str, Any]]] = {}
    for space, table in (*FUNCTIONS.items(), ("Tensor", METHODS)):
        for name, function in table.items():
            inner = getattr(function, "__wrapped__", function)
            if isinstance(inner, FunctionType):
                found.setdefault(inner.__code__, []).append((space, name, inner))
    return found


def _called(frame: FrameType, call: tuple[str, str], said: str) -> tuple[str, str, Any] | None:
    """(space, name, function) of what a frame runs for the user, who wrote `call` (a name and its space); None for what is not public.

    Where a function has several names and the source is not at hand, it is the one that was `said`.
    """
    code = frame.f_code
    if code is WITH_OUT:
        code = getattr(frame.f_locals["function"], "__code__", code)
    entries = _public().get(code, [])
    attribute, home = call
    written = [e for e in entries if e[1] == attribute and (e[0] == home if home in _SPACES else e[0] != "Tensor")]
    if written:
        entries = written
    elif frame.f_code is WITH_OUT:
        entries = [e for e in entries if e[0] != "Tensor"]
    elif any(e[0] == "Tensor" for e in entries):
        method = isinstance(frame.f_locals.get(frame.f_code.co_varnames[0]), Tensor)
        entries = [e for e in entries if (e[0] == "Tensor") is method]
    if len({e[1] for e in entries}) > 1:
        entries = [e for e in entries if e[1] == said]
    return entries[0] if entries else None


def _written(node: ast.Call | None, frame: FrameType) -> tuple[str, str]:
    """(the name called, the space it is called in: "Tensor" for a method), where a frame's call says so."""
    if node is None or not isinstance(node.func, ast.Attribute):
        return "", ""
    owner, path = node.func.value, []
    while isinstance(owner, ast.Attribute):
        path.append(owner.attr)
        owner = owner.value
    found = (frame.f_locals | frame.f_globals).get(owner.id) if isinstance(owner, ast.Name) else None
    for name in reversed(path):
        found = vars(found).get(name) if isinstance(found, ModuleType) else None
    home = found.__name__.partition(".")[2] or "torch" if isinstance(found, ModuleType) else "Tensor"
    return node.func.attr, home


def _arguments(frame: FrameType, node: ast.Call | None, function: Any, space: str) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments of the call, without a method's `self`."""
    if frame.f_code is WITH_OUT:
        return list(frame.f_locals["args"]), dict(frame.f_locals["kwargs"])
    named = None if node is None or any(k.arg is None for k in node.keywords) else [k.arg for k in node.keywords]
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
        elif value is not parameter.default and (parameter.kind is not parameter.KEYWORD_ONLY) and not kwargs:
            args.append(value)
        elif value is not parameter.default:
            kwargs[name] = value
    if named is not None:  # in the order in which they are written
        kwargs = {name: kwargs[name] for name in [*[n for n in named if n in kwargs], *[n for n in kwargs if n not in named]]}
    return args[space == "Tensor" :], kwargs
