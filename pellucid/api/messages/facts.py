"""The facts that an error note shows: the tensors of the failed call, the module that was running,
and the likely fix.

An error is raised deep inside the library, where the caller's tensors are out of reach. So when the
error is created, the frames up to the user's line are read: the public function that failed, and
its arguments by name.
"""

from __future__ import annotations

import ast
import linecache
import sys
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from ... import errors
from ...core import explain, source
from ...core.primitive import Primitive
from ...core.public import FUNCTIONS, METHODS
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, Kind, Operand
from ...ops._overloads import called

_TENSORS = 8  # tensors of one call that are shown
# what stands between functions and what they do, and knows its arguments by place alone
_BETWEEN = (explain.__file__, str(Path(__file__).parents[1] / "overriding.py"))
_FRAMES = 6  # how many of the user's frames are searched for the names of tensors


# public functions by their code; None for code that several of them share
_codes: dict[CodeType, str | None] = {}


def _public_name(frame: FrameType) -> str | None:
    """The name under which the user calls the function that a frame runs; None for a function of
    the library's own.
    """
    if not _codes:
        for names in (METHODS, *FUNCTIONS.values()):
            for public, function in names.items():
                while function is not None:
                    code = getattr(function, "__code__", None)
                    if code is not None:
                        _codes[code] = public if _codes.get(code, public) == public else None
                    function = getattr(function, "__wrapped__", None)
    run = called(frame)
    if run is not None:
        return str(run.function.__name__)
    name: str | None = _codes.get(frame.f_code)
    # made by another function: see its variables
    if name is None and frame.f_code in _codes or frame.f_code.co_flags & 0x10:
        made = frame.f_locals.get("name")
        name = (
            made
            if isinstance(made, str)
            and (made in METHODS or any(made in table for table in FUNCTIONS.values()))
            else name
        )
    return name


def _arguments(frame: FrameType) -> dict[str, Any]:
    code = frame.f_code
    run = called(frame)
    if run is not None:
        inner = getattr(run.function, "__code__", code)
        return (
            dict(zip(inner.co_varnames[: inner.co_argcount], run.args, strict=False)) | run.kwargs
        )
    count = code.co_argcount + code.co_kwonlyargcount
    values = {
        name: frame.f_locals[name] for name in code.co_varnames[:count] if name in frame.f_locals
    }
    if code.co_flags & 0x04 and len(code.co_varnames) > count:  # *args
        rest = frame.f_locals.get(code.co_varnames[count], ())
        for k, value in enumerate(rest):
            values["other" if len(rest) == 1 else f"{code.co_varnames[count]}[{k}]"] = value
    return values


def _tensors(values: dict[str, Any]) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for name, value in values.items():
        if isinstance(value, Tensor):
            found["input" if name == "self" else name] = value
        elif (
            isinstance(value, (list, tuple)) and value and all(isinstance(v, Tensor) for v in value)
        ):
            found.update({f"{name}[{k}]": v for k, v in enumerate(value)})
    return {name: found[name] for name in list(found)[:_TENSORS]}


_INDEXING = ("__getitem__", "__setitem__")  # these say more than what they call


def _call(frame: FrameType | None) -> tuple[str, dict[str, Tensor], dict[str, Any]] | None:
    """The innermost public function of the library that was given tensors: its name, the tensors,
    all arguments.
    """
    inner = public = called_as = None
    while frame is not None and source.is_library(frame.f_code.co_filename):
        name, values = frame.f_code.co_name, frame.f_locals
        op = values.get("op")
        if frame.f_code.co_filename in _BETWEEN:
            pass
        elif name in ("general", "execute") and isinstance(op, Primitive):
            # the innermost knows the operands as they were promoted
            args = values.get("tensors", values.get("args", ()))
            fixed = len(op.args) - op.variadic
            names = [
                op.args[k] if k < fixed else f"{op.args[-1]}[{k - fixed}]" for k in range(len(args))
            ]
            inner = inner or _tensors_of(
                op.name, dict(zip(names, args, strict=False)) | dict(values.get("params", {}))
            )
        else:
            given = _arguments(frame)
            if name == "forward":
                known: str | None = type(given.get("self")).__name__
            elif name == "__new__":
                known = getattr(given.get("cls"), "__name__", None)
            else:
                known = _public_name(frame)
            found = _tensors_of(known or name, given)
            called_as = called_as or known
            if known is not None and (public is None or known in _INDEXING):
                public = found or public
            elif not name.startswith("_"):
                inner = inner or found
        frame = frame.f_back
    if public is None and inner is not None and called_as is not None:
        return called_as, *inner[1:]  # called without tensors: those are the library's own
    return public or inner


def _tensors_of(
    name: str, given: dict[str, Any]
) -> tuple[str, dict[str, Tensor], dict[str, Any]] | None:
    tensors = _tensors(given)
    return (name, tensors, given) if tensors else None


def _module(frame: FrameType | None) -> Any:
    """The innermost module whose forward is running."""
    while frame is not None:
        candidate = frame.f_locals.get("self") if frame.f_code.co_name == "forward" else None
        if isinstance(getattr(candidate, "_modules", None), dict):
            return candidate
        frame = frame.f_back
    return None


def call_in_progress() -> errors.Noted | None:
    """The library function that the user's code has called, with its tensors, for an error that is
    raised later.
    """
    try:
        frame = sys._getframe(1)
        call = _call(frame)
        if call is None:
            return None
        return errors.Noted(
            call[0], [_operand(name, t, {}) for name, t in call[1].items()], (), (), None
        )
    except Exception:  # as in `gather`
        return None


def gather(kind: Kind, sentence: str) -> errors.Noted | None:
    """The failing call's tensors, the module and the repair, for the notes of an error."""
    try:
        return _gather(kind, sentence)
    except Exception:
        # objects in the frames may do anything when looked at, and must not replace the error
        # itself
        return None


def _gather(kind: Kind, sentence: str) -> errors.Noted | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename == errors.__file__:
        frame = frame.f_back
    if frame is None or not source.is_library(frame.f_code.co_filename):
        return None  # made by the user
    call = _call(frame)
    about_types = kind is ArgumentTypeError
    if call is None:
        if not about_types:
            return None
        call = "", {}, {}
    from .hints import Case, advise  # read when the first error is made

    name, tensors, values = call
    case = Case(tensors, _module(frame), sentence, name, values)
    hint = advise(case)
    path = errors.module_path()
    words = _words(frame, sentence) if about_types else None
    known = {} if about_types else _variables(frame)
    operands = [] if about_types else [_operand(n, t, known) for n, t in tensors.items()]
    return errors.Noted(
        name or None,
        operands,
        case.dims,
        (f"in module {path}",) if path else (),
        hint,
        None if words is None else str(words),
        type(words),
    )


def _words(frame: FrameType, sentence: str) -> str | Exception:
    """PyTorch's sentence for arguments that the function which the user called does not take."""
    from .overloads import known, told

    called, at = frame, frame
    while at.f_back is not None and source.is_library(at.f_code.co_filename):
        called = at if known(at) else called
        at = at.f_back
    return told(called, at, sentence)


def _variables(frame: FrameType) -> dict[int, tuple[str, source.Line | None]]:
    """The tensors among the variables of the user's frames, by id: the innermost name, and the line
    that assigned it last.
    """
    at: FrameType | None = frame
    found: dict[int, tuple[str, source.Line | None]] = {}
    for _ in range(_FRAMES):
        while at is not None and source.is_library(at.f_code.co_filename):
            at = at.f_back
        if at is None:
            break
        code, assigned = at.f_code, None
        for name, value in at.f_locals.items():
            if isinstance(value, Tensor) and not name.startswith("_"):
                assigned = _assigned(at) if assigned is None else assigned
                known, line = found.get(id(value), (name, None))
                last = max((k for k in assigned.get(name, ()) if k < at.f_lineno), default=None)
                if line is None and last is not None:
                    text = linecache.getline(code.co_filename, last).strip()
                    line = source.Line(code.co_filename, last, code.co_qualname, text)
                found[id(value)] = known, line
        at = at.f_back
    return found


@lru_cache(maxsize=32)
def _assignments(text: str) -> list[tuple[str, int, int, dict[str, list[int]]]]:
    """The file itself and its functions, from its text: the name, the first and the last line, and
    the lines that assign each variable.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    found: list[tuple[str, int, int, dict[str, list[int]]]] = [("<module>", 0, sys.maxsize, {})]
    waiting: list[tuple[ast.AST, dict[str, list[int]]]] = [(tree, found[0][3])]
    while waiting:
        node, lines = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = {}
            found.append((node.name, node.lineno, node.end_lineno or node.lineno, lines))
        elif isinstance(node, ast.Lambda):
            lines = {}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            lines.setdefault(node.id, []).append(node.lineno)
        waiting.extend((child, lines) for child in ast.iter_child_nodes(node))
    return found


def _assigned(frame: FrameType) -> dict[str, list[int]]:
    """The lines that assign each variable, in the text of the function that a frame runs."""
    code, here = frame.f_code, frame.f_lineno
    found: dict[str, list[int]] = {}
    innermost = -1
    for name, first, last, lines in _assignments("".join(linecache.getlines(code.co_filename))):
        if name == code.co_name and first <= here <= last and first > innermost:
            innermost, found = first, lines
    return found


def _operand(name: str, t: Tensor, known: dict[int, tuple[str, source.Line | None]]) -> Operand:
    """A tensor as the error shows it: with the user's name for it, and what made it where, by the
    graph or else by the source.
    """
    node = t.grad_fn
    written, line = known.get(id(t), (None, None))
    label = name if written is None or written == name else f"{name} ({written})"
    if node is not None:
        return Operand(label, tuple(t._array.shape), t.dtype, node.name(), node.line)
    return Operand(label, tuple(t._array.shape), t.dtype, None, line)


def _fit(path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> errors.Given | None:
    from .signatures import fitted  # read when first needed

    return fitted(path, args, kwargs)


def _refuse(path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str | None, bool]:
    from .signatures import refused_call

    return refused_call(path, args, kwargs)


def _leading(path: str) -> int:
    from .signatures import leading

    return leading(path)


errors.gather, errors.refuse = gather, _refuse
errors.leading, errors.fit = _leading, _fit
