"""What a step changes in Python: numbers, tensors and objects that it stores, lists that it appends
to, schedules that it steps.

A program computes, but it stores nothing in Python. So each change that a traced call makes at a
place which code can reach is recorded as an effect: the place, the new value (an output of the
program, a number computed from others, a constant, an existing object), and when it happens. Each
call of the version repeats the effects after its program, in order. Two kinds come before it:
options that the step sets before its optimizer reads them, and schedules that are stepped before
their optimizer. Nothing is guessed: a change that does not fit ends the recording with a reason,
and a call that fails is undone and made eagerly, so that it fails as eager code does.

A place whose tensor or number the step replaces becomes an input of the next version, because it
holds another one at each call.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from operator import itemgetter
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any

from ...core.modes import state
from ...core.streams.generator import Generator
from ...core.tensor import Tensor
from ...devices import Size
from ...ir import Instruction
from ...nn.modules.module import Module
from ..trace.numbers import is_read
from ..trace.refusal import Refusal
from .guards import SCALARS, Guard
from .structure import Record, TensorSlot, is_record, rebuild

_SETTERS = {kind.__setitem__ for kind in (dict, OrderedDict, list, deque)}


class Again(Refusal):
    """Raised when the next call can be compiled with the contents of some places as inputs."""

    def __init__(self, places: list[Any]) -> None:
        names = ", ".join(str(p.path) for p in places[:3]) + (", ..." if len(places) > 3 else "")
        super().__init__(f"{names}: another one at each call")
        self.places = places


class KnownObject(TensorSlot):
    """In the structure of an effect's value: an object that existed before the call."""

    def __init__(self, value: Any) -> None:
        super().__init__(-1)
        self.value = value


class SideEffect:
    """A place gets a value, or a list gets more items. `stage` is the number of late calls before
    it; -1 means before the program.
    """

    def __init__(self, place: Guard, value: Any, form: Any, stage: int) -> None:
        self.place = place
        self.value = value
        self.form = form
        self.stage = stage
        self.put = place.extend if isinstance(place, Growing) else setter(place)
        self.make: Callable[[list[Any]], Any] = lambda made: made  # replaced by `bind`

    def bind(self) -> None:
        """Prepare the effect, now that its tensors and numbers have indices among the results."""
        self.value = None
        self.make = maker(self.form)

    def __call__(self, made: list[Any]) -> None:
        self.put(self.make(made))

    def __str__(self) -> str:
        what = "appends to" if isinstance(self.place, Growing) else "sets"
        when = "before the program" if self.stage < 0 else "after the program"
        return f"{what} {self.place.path} {when}"


class Growing(Guard):
    """A list or deque that the step appends to without reading it."""

    __slots__ = ()

    def __init__(self, holder: Any, path: str) -> None:
        super().__init__("log", holder, None, holder, path, True)

    def now(self) -> Any:
        """The list itself."""
        return self.holder

    def extend(self, values: Any) -> None:
        """Append the items that a call adds."""
        self.holder.extend(values)


class Replaced(Guard):
    """An attribute of `owner` that the step sets to a new object before it reads it."""

    __slots__ = ("owner",)

    def __init__(self, place: Guard, owner: Any) -> None:
        super().__init__(place.kind, place.holder, place.key, place.now(), place.path, True)
        self.owner = owner

    def renewed(self) -> Guard:
        """The same place with its present value."""
        return Replaced(self, self.owner)


def setter(place: Guard) -> Callable[[Any], None]:
    """A function that stores a value at a place."""
    holder, key = place.holder, place.key
    if place.kind == "cell":
        return lambda value: setattr(holder, "cell_contents", value)
    if place.kind == "attr" and isinstance(holder, Module):
        table = holder.__dict__

        def put(value: Any) -> None:
            state.structure += 1
            table[key] = value

        return put
    if place.kind == "attr" and isinstance(holder, threading.local):
        return lambda value: setattr(holder, key, value)
    if place.kind == "attr" and not isinstance(holder, ModuleType):
        return lambda value: object.__setattr__(holder, key, value)
    table = holder.__dict__ if place.kind == "attr" else holder

    def store(value: Any) -> None:
        table[key] = value

    return store


def counts(place: Guard) -> bool:
    """Whether storing at this place increments `state.structure`."""
    return place.kind == "attr" and isinstance(place.holder, Module)


def writable(place: Guard) -> bool:
    """Whether storing at a place runs no user code."""
    if place.kind == "item":
        return getattr(type(place.holder), "__setitem__", None) in _SETTERS
    return place.kind in ("cell", "attr")


def form_of(value: Any, known: Any, leaves: list[Any]) -> Any:
    """The structure of a value, with TensorSlots for numbers and tensors of the call. Raises
    Refusal if a call could not construct the value again.
    """
    if is_read(value) or isinstance(value, Tensor):
        leaves.append(value)
        made = TensorSlot(-1)
        made.leaf = value
        return made
    if isinstance(value, SCALARS):
        return value
    if isinstance(value, Size) and not any(map(is_read, value)):
        return value
    if known(value):
        return KnownObject(value)
    if isinstance(value, tuple) and (type(value) is tuple or hasattr(value, "_fields")):
        parts = [form_of(v, known, leaves) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if type(value) is list:
        return [form_of(v, known, leaves) for v in value]
    if type(value) in (dict, OrderedDict):
        return type(value)([(k, form_of(v, known, leaves)) for k, v in value.items()])
    if is_record(value):
        return Record(
            type(value), {name: form_of(v, known, leaves) for name, v in vars(value).items()}
        )
    raise Refusal(f"of class {type(value).__name__}")


def maker(form: Any) -> Callable[[list[Any]], Any]:
    """A function that constructs a value of a given form from the outputs of a call.

    >>> maker({"step": 1, "seen": (TensorSlot(0), "a")})(["loss"])
    {'step': 1, 'seen': ('loss', 'a')}
    """
    if type(form) is KnownObject:
        return lambda made, value=form.value: value  # type: ignore[misc]
    if type(form) is TensorSlot:
        return itemgetter(form.place)
    if type(form) is Record:
        if form.kind is SimpleNamespace:
            fill = _filler(form.held)
            return lambda made: SimpleNamespace(**fill({}, made))
        fill, kind = _filler(form.held), form.kind

        def record(made: list[Any]) -> Any:
            one: Any = object.__new__(kind)
            fill(one.__dict__, made)
            return one

        return record
    if type(form) is list:
        parts = [maker(v) for v in form]
        return lambda made: [part(made) for part in parts]
    if type(form) in (dict, OrderedDict):
        fill, kind = _filler(form), type(form)
        return lambda made: fill(kind(), made)
    if isinstance(form, tuple) and not isinstance(form, Size):
        parts = [maker(v) for v in form]
        whole = type(form)
        if hasattr(whole, "_fields"):
            return lambda made: whole(*[part(made) for part in parts])
        return lambda made: tuple([part(made) for part in parts])
    return lambda made: form  # immutable


def _filler(held: Any) -> Callable[[Any, list[Any]], Any]:
    """A function that fills a dictionary with the values of a dictionary of forms, in the same
    order.
    """
    fixed = {k: v for k, v in held.items() if isinstance(v, (*SCALARS, Size))}
    table = {k: fixed.get(k) for k in held}
    rest = [(k, maker(v)) for k, v in held.items() if k not in fixed]

    def fill(into: Any, made: list[Any]) -> Any:
        into.update(table)
        for k, make in rest:
            into[k] = make(made)
        return into

    return fill


# ---- calls that are made again ------------------------------------------------------------------------
class RepeatedCall:
    """A call of library code that changes only its own state, such as a schedule's step."""

    def __init__(self, function: Any, owner: Any, args: Any, kwargs: Any) -> None:
        self.function = function
        self.owner = owner
        self.args: Any = (args, kwargs)
        self.form: Any = None
        self.late = False  # whether it comes after the program
        self.optimizers, self.tables = _tables(owner)
        self.before: dict[Any, Any] = {}  # changes of the step before this call: place -> value
        self.paths: dict[Any, str] = {}
        self.grown: dict[int, int] = {}  # number of items appended to lists before this call
        # numbers that are read again after this call
        self.reads: list[tuple[int, Guard, type]] = []
        self.codes: list[CodeType] = []  # user code that ran inside the call
        # whether it reads tensors other than its arguments, or computes with them
        self.touched = False
        self.free: list[int] = []  # ids of its arguments

    def __call__(self, made: list[Any]) -> None:
        args, kwargs = rebuild(
            self.form, lambda s: s.value if type(s) is KnownObject else made[s.place]
        )
        self.function(self.owner, *args, **kwargs)

    def __str__(self) -> str:
        return f"calls {type(self.owner).__name__}.{self.function.__name__} {'after' if self.late else 'before'} the program"


def _tables(owner: Any) -> tuple[list[Any], list[dict[Any, Any]]]:
    """A schedule's optimizers, and the dictionaries that its step changes: its own, those of its
    nested schedules, and parameter groups.
    """
    optimizers: list[Any] = []
    tables: list[dict[Any, Any]] = []
    queue = [owner]
    while queue:
        one = queue.pop()
        tables.append(one.__dict__)
        if all(o is not one.optimizer for o in optimizers):
            optimizers.append(one.optimizer)
            tables.append(one.optimizer.__dict__)
            tables += one.optimizer.param_groups
        queue += getattr(one, "_schedulers", ())
    return optimizers, tables


def saved(tables: list[dict[Any, Any]]) -> list[tuple[dict[Any, Any], dict[Any, Any]]]:
    """Copies of dictionaries, for `restore`."""
    return [(t, dict(t)) for t in tables]


def restore(held: Iterable[tuple[dict[Any, Any], dict[Any, Any]]]) -> None:
    """Restore the former contents of dictionaries."""
    for table, before in held:
        table.clear()
        table.update(before)


# ---- undoing --------------------------------------------------------------------------------------
def written_by(
    instructions: list[Instruction],
) -> tuple[list[Generator], set[Any], list[dict[Any, Any]]]:
    """State that instructions change and that outlives the step: random streams, buffers, optimizer
    states.
    """
    streams: dict[int, Generator] = {}
    buffers = {v.buffer for i in instructions for v in i.writes if v.buffer.kind != "temp"}
    states: list[dict[Any, Any]] = []
    for i in instructions:
        if i.kind == "call":
            streams.update((id(g), g) for g in i.params["args"] if isinstance(g, Generator))
            states += [
                s for a in i.params["args"] if isinstance(a, list) for s in a if isinstance(s, dict)
            ]
    return list(streams.values()), buffers, states
