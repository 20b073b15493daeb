"""The numbers that `item()` returns while a step is traced.

They look like the float or int that they hold, and notice every use: no C code can take their value
without asking. The results of arithmetic on them are again such numbers, and may be returned. A
comparison, or the use of an int as an index, becomes a decision of the program: it must turn out
the same whenever the program runs. Any other use ends the recording.
"""

from __future__ import annotations

import gc
import math
import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import CellType
from typing import TYPE_CHECKING, Any, ClassVar

from numpy import float64

from ...core import tracing

# types of numbers that may differ at a later call; NumPy's functions return float64
NUMBERS = (float, int, float64)


class Read:
    """A number that depends on tensors. `compute` computes it from the values of `terms`, each of
    which comes with the last instruction that stored it.
    """

    __slots__ = ("__weakref__", "compute", "plain", "settled", "site", "terms", "tracer")

    if TYPE_CHECKING:  # set below the class
        __float__: ClassVar[Callable[..., float]]
        __pow__: ClassVar[Callable[..., Any]]
        __rpow__: ClassVar[Callable[..., Any]]
        __rdivmod__: ClassVar[Callable[..., Any]]

    def __new__(cls, plain: Any, *parts: Any) -> Any:
        if parts:
            return object.__new__(cls)
        # called as `type(x)(other)`, as the module statistics does
        tracer = tracing.tracer()
        if tracer is not None:
            tracer.refuse("the step makes numbers of the type of one that it reads from a tensor")
        return float(plain)

    def __init__(
        self,
        plain: Any,
        terms: tuple[Any, ...],
        compute: Callable[[list[Any]], Any],
        tracer: Any,
        site: Any,
    ) -> None:
        self.plain = plain
        self.terms = terms
        self.compute = compute
        self.tracer = tracer
        self.site = site
        self.settled = False  # True: the program only runs if the number is the same again
        tracer.give(self)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self.plain)

    def observe(self) -> Any:
        """The plain number, for a use that cannot be followed. An int must then be the same
        whenever the program runs; a float ends the recording.
        """
        if tracing.tracer() is not self.tracer:
            return self.plain  # kept from an earlier call, for example in a cache
        if isinstance(self.plain, int) or self.given:
            plain, self.settled = self.plain, True
            # compared as text, so that -0.0 differs from 0.0, and NaN equals NaN
            self.decide(lambda v: v is plain or repr(v) == repr(plain))
        else:
            self.tracer.refuse(
                "the step uses a tensor's value as a number in Python",
                self.tracer.site() or self.site,
            )
        return self.plain

    @property
    def given(self) -> bool:
        """Whether it only depends on the call's arguments, so that it is known before the program
        runs.
        """
        return all(place.buffer in self.tracer.given for place, _ in self.terms)

    def decide(self, holds: Callable[[Any], bool]) -> None:
        """Record a decision based on this number, of which `holds` is true."""
        compute = self.compute
        self.tracer.decide(self.terms, lambda values: holds(compute(values)))

    def __getattr__(self, name: str) -> Any:
        # probing for a protocol, which does not reveal the value
        if not hasattr(self.plain, name):
            raise AttributeError(f"'{type(self.plain).__name__}' object has no attribute '{name}'")
        if name == "item":  # a NumPy number converted to Python's, which is this one
            return lambda: _single(float)(self)
        return getattr(self.observe(), name)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy as np

        return np.array(self.observe(), dtype)

    def __reduce_ex__(self, protocol: Any) -> Any:
        plain = self.observe()
        return type(plain), (plain,)


def read(value: Any, tracer: Any, place: Any) -> Any:
    """A watched number for the value at a place of the program; None for types of numbers that
    cannot be watched.
    """
    if type(value) not in NUMBERS:
        return None
    return _watched(value, (place,), lambda values: values[0], tracer)


def is_read(value: Any) -> bool:
    """Whether a number was made by `read`, or computed from such a number."""
    return type(value) in _CLASSES


# Error messages show these class names.
_FLOAT, _INT = (type(name, (Read,), {"__slots__": ()}) for name in ("float", "int"))
_CLASSES = (_FLOAT, _INT)


def observed(value: Any) -> Any:
    """Replace watched numbers by plain ones, also in tuples, lists and dictionaries. Containers
    without any are returned as the same objects.
    """
    if is_read(value):
        return value.observe()
    if type(value) in (tuple, list):
        made = [observed(v) for v in value]
        return value if all(a is b for a, b in zip(made, value, strict=True)) else type(value)(made)
    if type(value) is dict:
        named = {k: observed(v) for k, v in value.items()}
        return value if all(named[k] is v for k, v in value.items()) else named
    return value


def observe_in(held: Any) -> None:
    """As `observed`, but modifies the lists and dictionaries in place."""
    if type(held) in (list, dict):
        for key, value in [*(held.items() if type(held) is dict else enumerate(held))]:
            if type(value) in (list, dict):
                observe_in(value)
            elif is_read(value) or type(value) is tuple:
                held[key] = observed(value)


@contextmanager
def unwatched(tables: list[dict[Any, Any]]) -> Iterator[None]:
    """Inside the block, dictionaries hold plain numbers in place of watched ones."""
    held = [
        (table, key, value) for table in tables for key, value in table.items() if is_read(value)
    ]
    for table, key, value in held:
        table[key] = value.plain
    try:
        yield
    finally:
        for table, key, value in held:
            table[key] = value


def _watched(
    plain: Any, terms: tuple[Any, ...], compute: Callable[[list[Any]], Any], tracer: Any
) -> Read:
    return (_FLOAT if isinstance(plain, float) else _INT)(
        plain, terms, compute, tracer, tracer.site()
    )


# ---- what Read's operators do -----------------------------------------------------------------------
def _known(x: Any) -> bool:
    return type(x) in (*NUMBERS, bool)


def _pair(a: Any, b: Any) -> tuple[tuple[Any, ...], Callable[[list[Any]], tuple[Any, Any]], Any]:
    """For two numbers, at least one of them watched: all terms, and a function from their values to
    both numbers.
    """
    tracer = (a if is_read(a) else b).tracer
    (one, first), (other, second) = (
        (x.terms, x.compute) if is_read(x) else ((), _always(x)) for x in (a, b)
    )
    cut = len(one)

    def both(values: list[Any]) -> tuple[Any, Any]:
        return first(values[:cut]), second(values[cut:])

    return one + other, both, tracer


def _always(x: Any) -> Callable[[list[Any]], Any]:
    return lambda values: x


def _plain(x: Any) -> Any:
    return x.plain if is_read(x) else x


def _computed(op: Callable[..., Any], a: Any, b: Any) -> Any:
    terms, both, tracer = _pair(a, b)
    return _watched(op(_plain(a), _plain(b)), terms, lambda values: op(*both(values)), tracer)


def _arithmetic(
    op: Callable[..., Any], swapped: bool, total: bool, known: bool = True
) -> Callable[..., Any]:
    """A method for a binary operator.

    `total` operators are defined for all numbers, so the program can repeat them at the end of a
    call. Others need a known divisor (if `known`, which then makes them total) or numbers that are
    known before the call.
    """

    def method(self: Read, other: Any) -> Any:
        if not is_read(other) and not _known(other):
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        if known and is_read(b) and b.given and b.plain != 0 and not (is_read(a) and a.given):
            # such as a mean over a count; the program does not serve calls where it is 0
            compute = b.compute
            self.tracer.may_fail(b, lambda values: 1 / compute(values))
            return _computed(op, a, b)
        if total or known and _known(b) and b != 0 or all(x.given for x in (a, b) if is_read(x)):
            try:
                made = _computed(op, a, b)
            except ArithmeticError:
                pass
            else:
                if not total and not (known and _known(b)):
                    made.tracer.may_fail(made)
                return made
        a, b = (x.observe() if is_read(x) else x for x in (a, b))
        return op(a, b)

    return method


def _comparison(op: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Read, other: Any) -> Any:
        if not is_read(other) and not _known(other):
            return NotImplemented
        terms, both, tracer = _pair(self, other)
        outcome = op(self.plain, _plain(other))
        tracer.decide(terms, lambda values: op(*both(values)) is outcome)
        return outcome

    return method


def _single(op: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Read) -> Any:
        compute = self.compute
        return _watched(op(self.plain), self.terms, lambda values: op(compute(values)), self.tracer)

    return method


def _whole(op: Callable[..., Any]) -> Callable[..., Any]:
    """A method that returns a bool or int, which must be the same whenever the program runs."""

    def method(self: Read, *args: Any) -> Any:
        outcome = op(self.plain, *args)
        if type(outcome) not in (bool, int):
            return op(self.observe(), *args)
        self.decide(lambda v: op(v, *args) == outcome)
        return outcome

    return method


def _observed(op: Callable[..., Any], swapped: bool = False) -> Callable[..., Any]:
    def method(self: Read, *args: Any) -> Any:
        plain = self.observe()
        args = tuple(x.observe() if is_read(x) else x for x in args)
        return op(*args, plain) if swapped else op(plain, *args)

    return method


for _name, _total in (
    ("add", True),
    ("sub", True),
    ("mul", True),
    ("truediv", False),
    ("floordiv", False),
    ("mod", False),
):
    setattr(Read, f"__{_name}__", _arithmetic(getattr(operator, _name), False, _total))
    setattr(Read, f"__r{_name}__", _arithmetic(getattr(operator, _name), True, _total))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Read, f"__{_name}__", _comparison(getattr(operator, _name)))
for _name in ("neg", "pos", "abs"):
    setattr(Read, f"__{_name}__", _single(getattr(operator, _name)))
_op: Callable[..., Any]
for _name, _op in (("bool", bool), ("int", int), ("round", round), ("trunc", int)):
    setattr(Read, f"__{_name}__", _whole(_op))


def _float(self: Read) -> float:
    """The conversion for C code. It is harmless in functions such as `math.isnan`, whose answer is
    a bool.
    """
    question = self.tracer.witness.calling  # read before any other call
    if question not in _QUESTIONS:
        return float(self.observe())
    outcome = question(self.plain)
    self.decide(lambda v: question(v) is outcome)
    return float(self.plain)


_QUESTIONS = (math.isnan, math.isinf, math.isfinite)
Read.__float__ = _float
for _name, _op in (
    ("complex", complex),
    ("index", operator.index),
    ("hash", hash),
    ("str", str),
    ("repr", repr),
    ("format", format),
    ("invert", operator.invert),
    ("divmod", divmod),
    ("dir", dir),
):
    setattr(Read, f"__{_name}__", _observed(_op))
Read.__pow__ = _arithmetic(pow, False, False, False)
Read.__rpow__ = _arithmetic(pow, True, False, False)
for _name in ("and", "or", "xor", "lshift", "rshift"):
    _op = getattr(operator, f"{_name}_" if _name in ("and", "or") else _name)
    setattr(Read, f"__{_name}__", _observed(_op))
    setattr(Read, f"__r{_name}__", _observed(_op, True))
Read.__rdivmod__ = _observed(divmod, True)


# ---- numbers that stayed ------------------------------------------------------------------------------
def settle(numbers: Iterable[Read]) -> None:
    """Replace watched numbers that were stored by plain ones: in lists, dictionaries, attributes
    and closures, also inside tuples.
    """
    old: dict[int, Any] = {id(n): n for n in numbers}
    new: dict[int, Any] = {key: n.plain for key, n in old.items()}
    while old:
        # itself a referrer: from Python 3.13 on, the collector gets a copy and reports this tuple
        asked = tuple(old.values())
        tuples = {
            id(h): h
            for h in gc.get_referrers(*asked)
            if h is not asked and h is not old and not _settled(h, old, new)
        }
        new = {key: tuple([new.get(id(x), x) for x in h]) for key, h in tuples.items()}
        old = tuples


def _settled(holder: Any, old: dict[int, Any], new: dict[int, Any]) -> bool:
    """Replace `old` objects by `new` ones in a holder. False for a tuple, which must itself be
    replaced.
    """
    if type(holder) is tuple:
        return False
    if isinstance(holder, (list, deque)):
        for k, x in enumerate(holder):
            if id(x) in old:
                holder[k] = new[id(x)]
    elif isinstance(holder, dict):
        for key in [key for key, x in holder.items() if id(x) in old]:
            holder[key] = new[id(holder[key])]
    elif isinstance(holder, CellType):
        holder.cell_contents = new[id(holder.cell_contents)]
    elif not is_read(holder):
        names = [
            *getattr(holder, "__dict__", ()),
            *(s for c in type(holder).__mro__ for s in getattr(c, "__slots__", ())),
        ]
        for name in names:
            if id(getattr(holder, name, None)) in old:
                put = setattr if isinstance(holder, type) else object.__setattr__
                # bypasses a user's `__setattr__`, and works for frozen objects
                put(holder, name, new[id(getattr(holder, name))])
    return True
