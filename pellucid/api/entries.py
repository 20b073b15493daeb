"""Short entries of public functions: generated code that holds the arguments of everyday calls
against PyTorch's signatures itself.

A checked function starts with a wrapper that looks every call up (`ops._overloads.checked`,
`core.public.with_out`). Once it has been called a few hundred times, it gets other code, made from
the signatures: parameters, tests of their classes, and the call. What the tests do not know goes the
long way, through the wrapper, so both refuse the same calls in the same words.
"""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Callable
from functools import cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from .._names import MISSING, Calls
from ..core.callers import compiled
from ..core.tensor import Parameter
from ..devices import Size, device, layout, memory_format
from ..dtypes import dtype
from ..errors import retried
from ..ops._overloads import LONG, SHORT, WRAPPERS, by_place, given, inner, overloads
from .exchange import twin
from .messages.signatures import OF_NUMBERS, Slot, slots

_STAR = inspect.Parameter.VAR_POSITIONAL
_FEW = 5
_LISTS = (list, tuple, Size)
# what is in constants of the generated code, by the text that stands for it there
_CLASSES: dict[str, Any] = {
    "a list": _LISTS,
    "a parameter": (Parameter,),
    "a dtype": (dtype,),
    "a layout": (layout,),
    "a memory format": (memory_format,),
    "a device": (str, device),
}
_INTS = "type({0}) in 'a list' and {0} and type({0}[0]) is int"
_NUMBER = "type({0}) is float or type({0}) is int"
# Tests of a parameter, by what PyTorch calls its type. Of lists the first item counts, as in PyTorch.
_TESTS = {
    "Tensor": "type({0}) is Tensor or type({0}) in 'a parameter'",
    "Number": _NUMBER,
    "Scalar": _NUMBER,
    "float": _NUMBER,
    "int": "type({0}) is int",
    "bool": "type({0}) is bool",
    "str": "type({0}) is str",
    "tuple of ints": _INTS,
    "tuple of Tensors": "type({0}) in 'a list' and {0} and type({0}[0]) is Tensor",
    "torch.dtype": "type({0}) in 'a dtype'",
    "torch.layout": "type({0}) in 'a layout'",
    "torch.memory_format": "type({0}) in 'a memory format'",
    "torch.device": "type({0}) in 'a device'",
    "Any": "{0} is not missing__",
    "object": "{0} is not missing__",
}
_SEEN = "({0},) not in 'classes seen'"
_SEEN_ALL = (
    "({0},) not in 'classes seen' if not more__ else "
    "({0}, *map(type, more__.values()), *more__) not in 'classes seen'"
)
_CALL = """
def outer():
    {free}, *_ = range(9)  # what the wrapper has from outside
    def short({parameters}):
        if 0: {free}
        missing__ = 'not given'
        if more__:
            left__ = len(more__){named}{by_name}
        if {unknown}:
            long__ = 'the long way'
            return long__(({names}), rest__, more__)
        try:
            run__ = 'the function'
            return {run}
        except Exception as error__:
            failed__ = 'a call that failed'
            return failed__(error__)
    return short
"""
_NAMED = """
            if left__ and {0!r} in more__:
                if {0} is not missing__:
                    long__ = 'the long way'
                    return long__(({names}), rest__, more__, {0!r})
                {0} = more__[{0!r}]
                left__ -= 1"""

_LONG = """
                long__ = 'the long way'
                return long__(({names}), rest__, more__)"""
# Of what is given by name and has no place: nothing is known, each is looked at, or their classes
# were seen.
_NONE_BY_NAME = "\n            if left__:" + _LONG
_BY_NAME = """
            kept__ = {{}}
            if left__:{tests}
                if left__:
                    long__ = 'the long way'
                    return long__(({names}), rest__, more__)"""
_KEYWORD = """
                if left__ and {0!r} in more__:
                    value__ = kept__[{0!r}] = more__[{0!r}]
                    if {test}:
                        left__ -= 1"""
_SEEN_BY_NAME = """
            if left__ < len(more__):{long}
            kept__ = more__"""


class _Seen(set[Any]):
    """Classes of arguments that were taken; a constant of code, which compares by identity."""

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__


class _Entry(NamedTuple):
    """What the generated code of a function is made of.

    Attributes:
        names: its parameters by place.
        defaults: of those that the function has; MISSING where there is none.
        unknown: which calls the tests do not know, as an expression.
        rest: are further arguments handed on?
        keywords: tests of those that are given by name only.
        seen: does `unknown` look at all that is given by name?
    """

    names: tuple[str, ...]
    defaults: tuple[Any, ...]
    unknown: str
    rest: bool
    keywords: dict[str, str] = {}
    seen: bool = False


def shorten(public: FunctionType, wrapper: FunctionType, function: Any, calls: Calls) -> None:
    """Give a checked function that is called often a short entry.

    Args:
        public: the function that programs have, which keeps being that object.
        wrapper: the same, or what it does where functions ask other classes.
        function: what it calls.
        calls: its calls so far.
    """
    if wrapper.__code__ not in WRAPPERS:
        return
    entry = _entry(function, calls.path)
    if entry is None:
        return
    names, defaults, unknown, rest, keywords, seen_by_name = entry
    listed = "".join(f"{name}, " for name in names)
    taken = function if seen_by_name else getattr(function, "positional", function)
    call, run = _handed_to(taken, names)
    arguments = [
        name if value is MISSING else f"'default {name}' if {name} is missing__ else {name}"
        for name, value in zip(names, defaults, strict=True)
    ]
    handed = [*arguments, *["*rest__"] * rest]
    # calls with few further arguments are spared what gathers them
    alone = ""
    for count in range(_FEW) if rest else ():
        few = ", ".join([*arguments, *[f"rest__[{k}]" for k in range(count)]])
        alone += f"run__{call}({few}) if {'size__' if count else '(size__ := len(rest__))'} == {count} else "
    if seen_by_name:
        by_name = _SEEN_BY_NAME.format(long=_LONG.format(names=listed))
    elif keywords:
        tests = "".join(_KEYWORD.format(n, test=test) for n, test in keywords.items())
        by_name = _BY_NAME.format(tests=tests, names=listed)
    else:
        by_name = _NONE_BY_NAME.format(names=listed)
    whole = f"{alone}run__{call}({', '.join(handed)})"
    more = f"run__{call}({', '.join([*handed, '**kept__'])})"
    if keywords or seen_by_name:
        whole = f"({whole}) if not more__ else {more}"
    text = _CALL.format(
        free=", ".join(wrapper.__code__.co_freevars),
        parameters=f"{listed}{'/, ' if names else ''}*rest__, **more__",
        names=listed,
        named="".join(_NAMED.format(name, names=listed) for name in (*names[1:], *names[:1])),
        by_name=by_name,
        unknown=unknown,
        run=whole,
    )
    long, seen = twin(wrapper), _Seen()
    constants = _CLASSES | {
        "classes seen": seen,
        "not given": MISSING,
        "the function": run,
        "the long way": _long(long, function, calls, seen, entry),
        "a call that failed": _failed(long, calls),
        **{f"default {name}": value for name, value in zip(names, defaults, strict=True)},
    }
    code = _template(text)
    put = tuple(constants.get(v, v) if isinstance(v, str) else v for v in code.co_consts)
    code = code.replace(co_consts=put, co_name=wrapper.__name__)
    SHORT[code] = calls, function
    public.__defaults__ = wrapper.__defaults__ = (MISSING,) * len(names)
    wrapper.__code__ = code


@cache
def _template(text: str) -> CodeType:
    scope: dict[str, Any] = {}
    exec(compiled(text), scope)
    made: CodeType = scope["outer"]().__code__
    return made


def _entry(function: Any, path: str) -> _Entry | None:
    known = overloads(path)
    if known is None:
        return None
    theirs = inspect.signature(function).parameters.values()
    places = [p for p in theirs if p.kind < _STAR]
    star = any(p.kind is _STAR for p in theirs)
    first = int(path.startswith("Tensor."))
    further: list[str] = []
    names = [p.name for p in places]
    defaults: list[Any] = [MISSING if p.default is p.empty else p.default for p in places]
    signatures = [slots(s) for s in known.signatures]
    alone = [p.name for p in theirs if p.kind is inspect.Parameter.KEYWORD_ONLY]
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in theirs):
        alone += [s.own for s in signatures[0] if s.keyword]
    keywords = {} if known.inner else _keywords(signatures, alone)
    if star and len(names) >= first:
        by_place = [[s for s in parts if not s.keyword] for parts in signatures]
        if len(names) == first and ["tuple of ints"] in [[s.kind for s in p] for p in by_place]:
            tests = f"type(rest__[0]) is int or len(rest__) == 1 and {_INTS.format('rest__[0]')}"
            unknown = f"not (rest__ and ({tests}))"
            return _Entry(tuple(names), tuple(defaults), unknown, True, keywords)
        more = [s.own for s in by_place[0] if not s.optional][len(names) - first :]
        if not any(hasattr(builtins, n) for n in more):
            further = _further(by_place, more) if not names else []
            names, defaults = names + more, defaults + [MISSING] * len(more)
    named = {s.own for parts in signatures for s in parts}
    if not known.inner and not named.issuperset(names[first:]):
        return _Entry((), (), _SEEN_ALL.format("*map(type, rest__)"), True, seen=True)
    ways: dict[str, None] = {}
    for signature in signatures:
        way = _way(signature, names, defaults, first, bool(known.inner))
        if way is not None:
            ways[" and ".join(way) or "True"] = None
    if names[1:] and known.shown.rstrip("_") in OF_NUMBERS:  # these stand for tensors
        number = f"({_NUMBER.format(names[1])} or "
        ways |= {way.replace("(", number, 1): None for way in list(ways)}
    if not ways or star and len(names) == first and not known.bare:
        own = ", ".join(f"type({name})" for name in names)
        classes = ", ".join([*[own] * bool(own), *["*map(type, rest__)"] * star])
        unknown = _SEEN_ALL.format(classes)
        if star and own:
            unknown = f"({own},) not in 'classes seen' if not (rest__ or more__) else {unknown}"
        if not star:
            unknown = f"rest__ or ({unknown})"
        return _Entry(tuple(names), tuple(defaults), unknown, star, seen=True)
    classes = "".join(f"type({name}), " for name in names)
    alone_or_none = "(not more__ or len(kept__) == len(more__))" if keywords else "not more__"
    seen = f"{alone_or_none} and ({classes}) in 'classes seen'"
    unknown = "rest__" if "True" in ways else f"rest__ or not ({' or '.join([*ways, seen])})"
    if further:
        unknown = f"({unknown}) and not ({' or '.join(further)})"
    return _Entry(tuple(names), tuple(defaults), unknown, bool(further), keywords)


def _further(signatures: list[list[Slot]], names: list[str]) -> list[str]:
    """Tests of calls by place that a signature takes which has more places than there are names: of
    `f(low, high, size)`, where `f(high, size)` has them.
    """
    found = []
    for places in signatures:
        rest = len(places) - len(names)
        tests = [_TESTS.get(s.kind) for s in places]
        if rest > 0 and all(tests) and not any(s.nullable or s.optional for s in places):
            given = [*names, *[f"rest__[{k}]" for k in range(rest)]]
            of_each = [f"({t.format(p)})" for t, p in zip(tests, given, strict=True) if t]
            found.append(" and ".join([f"len(rest__) == {rest}", *of_each]))
    return found


def _keywords(signatures: list[tuple[Slot, ...]], names: list[str]) -> dict[str, str]:
    """Tests of parameters that the function takes by name only, of those that every signature has
    alike.
    """
    found = {}
    for name in names:
        alike = {s[:1] + s[3:] for p in signatures for s in p if s.own == name == s.name}
        everywhere = all(any(s.own == name and s.optional for s in p) for p in signatures)
        if everywhere and len({kind for kind, *_ in alike}) == 1 and name != "out":
            kind, keyword, nullable, *_ = min(alike, key=lambda slot: slot[2])
            if keyword and kind in _TESTS and not kind.startswith("tuple"):
                test = _TESTS[kind].format("value__")
                found[name] = f"value__ is None or {test}" if nullable else test
    return found


def _way(
    signature: tuple[Slot, ...], names: list[str], defaults: list[Any], first: int, inner: bool
) -> list[str] | None:
    """Tests of a call that a signature takes, by the function's own parameters; None where these are
    others.

    Args:
        first: how many parameters there are before those of the signature.
        inner: is the signature of what a function in Python hands its arguments on to?
    """
    by_place = [s.own for s in signature if not s.keyword]
    if not inner and by_place != [n for n in names[first:] if n in by_place]:
        return None
    found = []
    for name, default in list(zip(names, defaults, strict=True))[first:]:
        slot = next((s for s in signature if s.own == name and (inner or not s.keyword)), None)
        if slot is None:
            if not inner:
                found.append(f"{name} is missing__")
            elif default is MISSING:
                found.append(f"{name} is not missing__")
            continue
        test = _TESTS.get(slot.kind)
        if test is None:
            return None
        test = test.format(name)
        if slot.size and slot.kind == "tuple of ints":
            test = f"type({name}) is int or {test}"
        if slot.nullable:
            test = f"{name} is None or {test}"
        needed = default is MISSING or not slot.optional and not inner
        found.append(f"({test})" if needed else f"({name} is missing__ or {test})")
    return found


def _handed_to(function: Any, names: tuple[str, ...]) -> tuple[str, Any]:
    """What a function calls that only hands its arguments on: how, and the object it is found at; else
    the function itself.
    """
    code = getattr(function, "__code__", None)
    ways: tuple[tuple[str, tuple[str, ...]], ...] = (
        (".call", getattr(code, "co_names", ())[:1]),
        ("", getattr(code, "co_freevars", ())),
    )
    for call, found in ways:
        if len(found) != 1:
            continue
        listed, outer = ", ".join(names), "" if call else found[0]
        text = f"    def alike({listed}):\n        return {found[0]}{call}({listed})"
        scope: dict[str, Any] = {}
        exec(compiled(f"def outer({outer}):\n{text}\n    return alike"), scope)
        alike = scope["outer"](*[None] * (not call)).__code__
        if all(getattr(alike, part) == getattr(code, part) for part in _PARTS):
            return call, function.__globals__[found[0]] if call else function.__closure__[
                0
            ].cell_contents
    return "", function


_PARTS = ("co_code", "co_names", "co_varnames", "co_freevars")


# ---- other calls --------------------------------------------------------------------------------
def _long(
    long: FunctionType, run: Any, calls: Calls, seen: _Seen, entry: _Entry
) -> Callable[..., Any]:
    """What does the calls that the tests do not know: the long way, until such classes were seen."""
    names, defaults = entry.names, entry.defaults

    def way(
        values: tuple[Any, ...], rest: tuple[Any, ...], more: dict[str, Any], twice: str = ""
    ) -> Any:
        if twice:  # by place and by name
            return long(
                *[
                    value
                    for name, value in zip(names, values, strict=True)
                    if value is not MISSING
                    and (name == twice or value is not more.get(name, MISSING))
                ],
                *rest,
                **more,
            )
        args, kwargs = by_place(values, names, rest, more)
        classes = [
            kind if (kind := type(v)) not in _LISTS else (kind, type(v[0]) if v else None)
            for v in (*values, *rest, *more.values())
        ]
        key = (*classes, *more)
        if key in seen:
            try:
                return run(*args, **kwargs)
            except Exception as error:
                return retried(long, calls, error, args, kwargs)
        result = long(*args, **kwargs)
        call = (
            (*map(type, args), *kwargs, *map(type, kwargs.values()))
            if kwargs
            else (*map(type, args),)
        )
        whole = not any(v is d is MISSING for v, d in zip(values, defaults, strict=True))
        taken = call in calls.known or not kwargs and len(args) <= calls.first
        if whole and taken and calls.own(kwargs) and len(seen) < 256:
            seen.add(key)
            if kwargs and kwargs.keys() <= entry.keywords.keys():  # which all signatures have
                seen.add((*classes[: len(values)],))
        return result

    return way


LONG.append(inner(_long, "way"))


def _failed(long: FunctionType, calls: Calls) -> Callable[[Exception], Any]:
    def failed(error: Exception) -> Any:
        try:
            return retried(long, calls, error, *given(sys._getframe(1)))
        finally:
            del error  # its traceback has this frame

    return failed
