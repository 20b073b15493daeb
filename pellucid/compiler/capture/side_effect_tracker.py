"""Track what a traced call changes in Python, and decide when it has ended whether a program can
repeat that.
"""

from __future__ import annotations

import dis
import gc
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from ...core.tensor import Tensor
from ..trace.numbers import is_read
from ..trace.refusal import Refusal
from .guards import MISSING, SCALARS, Guard
from .side_effects import Again, Growing, RepeatedCall, Replaced, SideEffect, form_of, writable
from .structure import Record, TensorSlot, is_record, rebuild

# Methods that change their object. The function of a learning-rate schedule must not call any of
# them.
_MUTATORS = frozenset(
    "append appendleft add update pop popleft popitem clear extend insert remove discard setdefault setattr delattr "
    "__setattr__ __setitem__ send next __next__ write".split()
)
_DYNAMIC = frozenset({"globals", "locals", "vars", "eval", "exec", "__dict__", "getattr"})


def _stores(code: CodeType) -> bool:
    """Whether code may change anything besides its own variables."""
    for i in dis.get_instructions(code):
        if i.opname.startswith(("STORE_", "DELETE_", "IMPORT_")) and i.opname not in (
            "STORE_FAST",
            "DELETE_FAST",
        ):
            return True
    names = {*code.co_names}
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return not names.isdisjoint(_MUTATORS | _DYNAMIC) or any(_stores(c) for c in inner)


# ---- lists that grow --------------------------------------------------------------------------------
def _log(kind: type) -> type:
    """Make a subclass of a list type that notes every use other than appending."""

    def init(self: Any, held: Any) -> None:
        kind.__init__(self, held, *([held.maxlen] if kind is deque else []))  # type: ignore[misc]
        self.added = []
        self.looked = False
        self.thread = threading.get_ident()

    def append(self: Any, value: Any) -> None:
        # another thread than the traced one appends
        self.looked |= self.thread != threading.get_ident()
        self.added.append(value)
        kind.append(self, value)  # type: ignore[attr-defined]

    def extend(self: Any, values: Any) -> None:
        for v in list(values):
            append(self, v)

    def iadd(self: Any, values: Any) -> Any:
        extend(self, values)
        return self

    def looking(name: str) -> Any:
        plain = getattr(kind, name)

        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            self.looked = True
            return plain(self, *args, **kwargs)

        return method

    free = (
        "__new__",
        "__init__",
        "__init_subclass__",
        "__subclasshook__",
        "__class__",
        "__getattribute__",
        "__setattr__",
        "__doc__",
        "__hash__",
        "__class_getitem__",
        "__delattr__",
    )
    body = {
        name: looking(name)
        for name in dir(kind)
        if name not in free and callable(getattr(kind, name))
    }

    def reduce(self: Any, protocol: Any = None) -> Any:
        """A plain one in a pickle."""
        self.looked = True
        held = [*kind_iter(self)]
        return kind, ((held, self.maxlen) if kind is deque else (held,))

    methods = {
        "__init__": init,
        "__class__": property(lambda self: kind),
        "__reduce_ex__": reduce,
        "__reduce__": reduce,
        "append": append,
        "extend": extend,
        "__iadd__": iadd,
    }
    return type(kind.__name__, (kind,), body | methods)


LOGS: dict[type, Any] = {list: _log(list), deque: _log(deque)}


class WatchedList:
    """A list that replaces another one while a call is traced, at all places that hold it."""

    def __init__(self, place: Growing, places: list[Guard]) -> None:
        self.place = place
        self.places = places
        self.proxy = LOGS[type(place.holder)](place.holder)

    def put(self) -> None:
        """Put the watched list in all places of the original."""
        for p in self.places:
            p.set(self.proxy)

    def take(self) -> None:
        """Restore the original list, with the appended items."""
        proxy, real = self.proxy, self.place.holder
        # C functions such as `heapq.heappush` bypass the methods of a list
        wanted = [*map(id, real), *map(id, proxy.added)]
        if getattr(real, "maxlen", None) is not None:
            wanted = wanted[max(len(wanted) - real.maxlen, 0) :]
        proxy.looked |= [*map(id, kind_iter(proxy))] != wanted
        for p in self.places:
            if p.now() is proxy:
                p.set(real)
            else:
                proxy.looked = True
        if proxy.looked:
            items = list(kind_iter(proxy))
            real.clear()
            list.extend(real, items) if type(real) is list else real.extend(items)
        else:
            real.extend(proxy.added)
        if sys.getrefcount(proxy) > 3:  # the references here, in the attribute, and as the argument
            replace(gc.get_referrers(proxy), proxy, real, [self.__dict__])


def kind_iter(proxy: Any) -> Iterator[Any]:
    """The items of a watched list, read without notice."""
    return type(proxy).__mro__[1].__iter__(proxy)  # type: ignore[attr-defined]


def replace(holders: list[Any], old: Any, new: Any, but: list[Any]) -> None:
    """Replace `old` by `new` in lists and dictionaries."""
    for holder in holders:
        if any(holder is b for b in but):
            continue
        if type(holder) is dict:
            for key in [k for k, v in holder.items() if v is old]:
                holder[key] = new
        elif type(holder) is list:
            for k, v in enumerate(holder):
                if v is old:
                    holder[k] = new


# ---- what a traced call changes -----------------------------------------------------------------------
class SideEffectTracker:
    """Tracks the changes made by a call that is being traced."""

    def __init__(self, environment: Any, tracer: Any, watched: Any, places: list[Guard]) -> None:
        self.environment = environment
        self.tracer = tracer
        self.places = places  # places whose tensors may differ at each call
        self.at_start = [p.now() for p in places]
        self.held = [_contents(v) for v in self.at_start]
        self.calls: list[RepeatedCall] = []
        self.effects: list[SideEffect] = []
        # For numbers that may differ at each call: key -> (place, the number, its stand-in).
        self.numbers: dict[Any, tuple[Guard, Any, Any]] = {}
        self.logs: list[WatchedList] = []
        self.watched = watched
        self.inputs = {(id(g.holder), g.key) for g in [*watched, *places]}
        self.moved: list[Guard] = []
        self.first: dict[Any, int] = {}  # ids of the stand-ins at the start

    @contextmanager
    def following(self) -> Iterator[None]:
        """Inside the block, numbers and lists are replaced by stand-ins that record their use."""
        for g in self.watched:
            if isinstance(g, Growing):
                found = self.environment.holding.get(id(g.holder))
                if found is not None and all(_movable(p) for p in found):
                    self.logs.append(WatchedList(g, found))
            else:
                plain = g.now()
                self.numbers[id(g.holder), g.key] = g, plain, self.tracer.number_given(plain)
        for g, _, number in self.numbers.values():
            g.set(number)
        self.first = {key: id(number) for key, (_, _, number) in self.numbers.items()}
        for log in self.logs:
            log.put()
        g = number = None
        try:
            yield
        finally:
            for g, plain, number in self.numbers.values():
                if g.now() is number:
                    g.set(plain)
                else:
                    self.moved.append(g)
            self.numbers = {key: (g, plain, None) for key, (g, plain, _) in self.numbers.items()}
            for log in self.logs:
                log.take()
            g = number = None

    # ---- calls that are made again ------------------------------------------------------------------
    def _so_far(self) -> dict[Any, tuple[Guard, Any]]:
        """The places whose value differs from that at the start, with their values."""
        proxies = {id(log.proxy): log.place.holder for log in self.logs}
        lists = {id(log.place.holder) for log in self.logs}
        found: dict[Any, tuple[Guard, Any]] = {}
        for g in self.environment.guards():
            key = (id(g.holder), g.key)
            if (
                g.kind in ("item", "attr", "cell")
                and key not in self.inputs
                and id(g.holder) not in lists
            ):
                now = g.now()
                if (
                    proxies.get(id(now), MISSING) is not g.expected
                    and now is not g.expected
                    and not g.holds()
                ):
                    found[key] = g, now
        for key, (g, _, number) in self.numbers.items():
            if g.now() is not number:
                found[key] = g, g.now()
        for g, start in zip(self.places, self.at_start, strict=True):
            if g.now() is not start:
                found[id(g.holder), g.key] = g, g.now()
        return found

    def again(self, function: Any, owner: Any, args: Any, kwargs: Any) -> Any:
        """Call the step of a learning-rate schedule, which every call of the version will repeat."""
        tracer = self.tracer
        call = RepeatedCall(function, owner, args, kwargs)
        leaves: list[Any] = []
        try:
            call.form = form_of((list(args), dict(kwargs)), lambda v: False, leaves)
        except Refusal as refusal:
            tracer.refuse(f"the step of a schedule gets an object {refusal.reason}")
        mine = {id(t) for t in call.tables}
        call.late = (
            any(id(o) in tracer.stepped for o in call.optimizers)
            or any(not (is_read(v) and v.given) for v in leaves)
            or any(c.late and not mine.isdisjoint(map(id, c.tables)) for c in self.calls)
        )
        so_far = self._so_far()
        call.before = {key: value for key, (_, value) in so_far.items()}
        call.paths = {key: g.path for key, (g, _) in so_far.items()}
        call.grown = {id(log.place.holder): len(log.proxy.added) for log in self.logs}
        plain = lambda v: v if isinstance(v, Tensor) else v.plain
        watched = [
            (g, number, number.plain) for g, _, number in self.numbers.values() if g.now() is number
        ]
        watched += [(g, value, value.plain) for g, value in so_far.values() if is_read(value)]
        for g, _, x in watched:
            g.set(x)
        given_args, given_kwargs = rebuild((list(args), dict(kwargs)), plain)
        tracer.inside = call
        call.free = [id(v) for v in leaves]
        try:
            with tracer.paused(), tracer.witness.inside(call.codes):
                result = function(owner, *given_args, **given_kwargs)
        finally:
            tracer.inside = None
            for g, number, x in watched:
                if g.now() is x and id(g.holder) not in mine:
                    g.set(number)
        self.calls.append(call)
        self._judge(call, mine, watched)
        del watched, so_far
        return result

    def _judge(self, call: RepeatedCall, mine: set[int], watched: list[Any]) -> None:
        tracer = self.tracer
        for key, path in call.paths.items():
            if key[0] in mine:
                tracer.refuse(f"a schedule changes {path}, which the step changes, too")
        if call.touched:
            tracer.refuse("a schedule computes with tensors")
        if any(_stores(code) for code in call.codes):
            tracer.refuse("the function of a schedule may change something")
        for g, _, x in watched:
            key = (id(g.holder), g.key)
            # it has been replaced by another number, possibly an equal one
            if id(g.holder) in mine:
                now = g.now()
                if type(now) is not type(x) or key not in self.numbers or key in call.before:
                    tracer.refuse(f"a schedule changes {g.path}, which the step changes, too")
                    continue
                call.reads.append((tracer.count, g, type(now)))
                made = tracer.number_later(now) if call.late else tracer.number_given(now)
                self.numbers[key] = g, now, made
                g.set(made)
        for key, (g, value) in self._so_far().items():
            if id(g.holder) not in mine and call.before.get(key, MISSING) is not value:
                tracer.refuse(f"a schedule changes {g.path}")

    # ---- what there is to do again ------------------------------------------------------------------
    def finish(
        self, guards: list[Guard], result: Any, witness: Any, may_watch: bool
    ) -> list[Guard]:
        """Determine the side effects, and return the guards that remain. Raises Refusal if a change
        cannot be repeated.
        """
        found: list[Any] = []
        tables = {id(t) for c in self.calls for t in c.tables}
        lists = {id(log.place.holder): log for log in self.logs}
        changed: dict[Any, tuple[Guard, Any]] = {
            (id(g.holder), g.key): (g, g.now()) for g in self.moved
        }
        for p, start, held in zip(self.places, self.at_start, self.held, strict=True):
            if p.now() is not start:
                changed[id(p.holder), p.key] = p, p.now()
            elif [*map(id, _contents(start))] != [*map(id, held)]:
                self._refuse(p, witness)
        remaining = []
        for g in guards:
            key = (id(g.holder), g.key)
            if (
                id(g.holder) in lists
                or g.kind in ("item", "attr", "cell", "rate")
                and key in self.inputs
            ):
                continue
            if id(g.holder) in tables and g.kind in ("item", "attr", "rate"):
                if g.of_a_number:
                    found.append(g)
                elif not g.holds():
                    raise Refusal(
                        f"the step uses {g.path}, which a schedule changes",
                        witness.line_of(g),
                        path=g.path,
                    )
                else:
                    remaining.append(g)
                continue
            remaining.append(g)
            if g.holds():
                continue
            if g.kind == "len" and type(g.holder) in LOGS and isinstance(g.holder, (list, deque)):
                if key in self.inputs:
                    continue
                if self.environment.compares_types():  # which would notice a watched list
                    self._refuse(g, witness, "in code that compares types")
                found.append(Growing(g.holder, g.path))
                continue
            now = g.now()
            if g.kind not in ("item", "attr", "cell") or now is MISSING:
                self._refuse(g, witness)
            changed[key] = g, now
        self._check_logs(lists, witness)
        for key, (g, now) in changed.items():
            if key not in self.inputs and self._varies(g, now):
                found.append(g)
        for g in self.environment.stored:  # the former value does not matter
            key, now = (id(g.holder), g.key), g.now()
            if key in self.inputs:
                continue
            if g.holds():
                remaining.append(g)
            elif g.kind not in ("item", "attr") or now is MISSING:
                self._refuse(g, witness)
            else:
                changed[key] = g, now
        if found:
            if not may_watch:
                self._refuse(found[0], witness)
            raise Again(found)
        for g, now in changed.values():
            self._add(g, now, witness, may_watch)
        for log in self.logs:
            self._add_log(log, witness)
        self._check_containers(result, witness)
        self._check_calls(witness)
        self.tracer.stepped.clear()  # releases numbers that nothing else keeps
        for c in self.calls:
            c.before = {}
        return remaining

    def _refuse(self, g: Guard, witness: Any, why: str = "which a program would not do") -> None:
        refusal = Refusal(f"the step changes {g.path}, {why}", witness.line_of(g), path=g.path)
        refusal.transient = True
        raise refusal

    @staticmethod
    def _varies(g: Guard, now: Any) -> bool:
        """Whether a place will probably hold another tensor or number at the next call."""
        if isinstance(now, (bool, *SCALARS)) and not is_read(now):
            return g.of_a_number
        return is_read(now) or g.of_tensors or isinstance(now, Tensor)

    def _check_logs(self, lists: dict[int, WatchedList], witness: Any) -> None:
        for place in self.watched:
            if isinstance(place, Growing) and (
                id(place.holder) not in lists or lists[id(place.holder)].proxy.looked
            ):
                self._refuse(
                    place, witness, "and looks at it, or keeps it where it cannot be followed"
                )

    def known(self, value: Any) -> bool:
        """Whether an object existed before the call, so that code can reach it."""
        environment, key = self.environment, id(value)
        there = environment.seen.get(key) is value or environment.guarded.get(key) is value
        return there and key not in environment.containers

    def _stage(self, key: Any, value: Any) -> int:
        """The number of late calls that come before a change; -2 if the place changed before and
        after one.
        """
        late = [c for c in self.calls if c.late]
        for k, c in enumerate(late):
            if key in c.before:
                if c.before[key] is not value:
                    return -2
                return k
        return len(late)

    def _add(self, g: Guard, now: Any, witness: Any, may_watch: bool) -> None:
        key = (id(g.holder), g.key)
        leaves: list[Any] = []
        if not writable(g):
            self._refuse(g, witness)
        try:
            form = form_of(now, self.known, leaves)
        except Refusal as refusal:
            self._refuse(g, witness, f"an object {refusal.reason} each time")
        if key not in self.inputs and g not in self.environment.stored and _is_new(form):
            owner = self.environment.owner_of(g)
            if owner is not None and may_watch and key not in witness.replaced:
                raise Again([Replaced(g, owner)])
            self._refuse(g, witness, "an object that it also reads, another one at each call")
        if isinstance(form, (str, bytes, complex, range)) or any(
            type(t) is not Tensor and not self.known(t) for t in leaves if isinstance(t, Tensor)
        ):
            self._refuse(g, witness)
        if any(id(g.holder) == id(t) for c in self.calls if not c.late for t in c.tables):
            self._refuse(g, witness, "which a schedule changes, too")
        stage = self._stage(key, now)
        if stage == -2:
            self._refuse(g, witness, "twice, before and after a schedule's step")
        owner = self.environment.groups.get(id(g.holder))
        if owner is not None:
            then = self.tracer.stepped.get(id(owner), [])
            there = {
                id(table.get(g.key, MISSING))
                for held in then
                for k, table in held
                if k == id(g.holder)
            }
            if there == {id(now)}:
                if any(not (is_read(v) and v.given) for v in leaves):
                    self._refuse(g, witness, "by what it computes")
                stage = -1
            elif id(now) in there or len(there) > 1:
                self._refuse(g, witness, "between two steps of its optimizer")
            elif there and there != {self.first.get(key, id(g.expected))}:
                self._refuse(g, witness, "before a step of its optimizer and after it")
        self.effects.append(SideEffect(g, now, form, stage))

    def _add_log(self, log: WatchedList, witness: Any) -> None:
        late = [c for c in self.calls if c.late]
        cuts = [0, *[c.grown[id(log.place.holder)] for c in late], len(log.proxy.added)]
        for stage, (a, b) in enumerate(zip(cuts, cuts[1:], strict=False)):
            if a < b:
                values = log.proxy.added[a:b]
                try:
                    form = form_of(values, self.known, [])
                except Refusal as refusal:
                    self._refuse(log.place, witness, f"with an object {refusal.reason}")
                self.effects.append(SideEffect(log.place, values, form, stage))

    def _check_containers(self, result: Any, witness: Any) -> None:
        """Raise Refusal if a container created by effects would have to be identical to another
        one, or to one of the caller's.
        """
        known: list[int] = []
        containers_in(result, known)
        taken = {*known, *self.environment.containers}
        for e in self.effects:
            made: list[int] = []
            parts = e.value if isinstance(e.place, Growing) else [e.value]
            for part in parts:
                if not self.known(part):
                    containers_in(part, made, self.known)
            if len(made) != len(set(made)) or not taken.isdisjoint(made):
                self._refuse(e.place, witness, "with a container that is used elsewhere")
            taken.update(made)

    def _check_calls(self, witness: Any) -> None:
        keys = {e.place.key for e in self.effects} | {
            w for e in self.effects for w in e.place.path.split(".")
        }
        for c in self.calls:
            if c.late:  # changes made before it will be repeated before it
                continue
            names = {
                n
                for code in c.codes
                for n in (
                    *code.co_names,
                    *code.co_freevars,
                    *[x for x in code.co_consts if type(x) is str],
                )
            }
            if names & keys:
                raise Refusal(
                    "the function of a schedule uses what the step changes", witness.entry
                )

    # ---- the call's own end ---------------------------------------------------------------------------
    def leaves(self) -> list[Any]:
        """The numbers and tensors that effects and repeated calls need."""
        found: list[Any] = []
        for form in [*[e.form for e in self.effects], *[c.form for c in self.calls]]:
            _slots(form, found)
        return [s.leaf for s in found]

    def bind(self, places: dict[int, int]) -> None:
        """Tell the effects the indices of their values among the results."""
        found: list[Any] = []
        for form in [*[e.form for e in self.effects], *[c.form for c in self.calls]]:
            _slots(form, found)
        for s in found:
            s.place = places[id(s.leaf)]
            del s.leaf
        for e in self.effects:
            e.bind()
        for c in self.calls:
            c.args = None


def _is_new(form: Any) -> bool:
    """Whether a program creates the object anew, so that the next call would not find the same one."""
    return (
        type(form) is Record
        or isinstance(form, (list, dict))
        or isinstance(form, tuple)
        and any(map(_is_new, form))
    )


def _contents(value: Any) -> list[Any]:
    """All keys and values in a dictionary, including nested ones."""
    return (
        [x for k, v in value.items() for x in (k, v, *_contents(v))] if type(value) is dict else []
    )


def _movable(p: Guard) -> bool:
    return p.kind in ("item", "cell", "attr") and writable(p) and not isinstance(p.holder, tuple)


def _slots(form: Any, found: list[Any]) -> None:
    if type(form) is TensorSlot:
        found.append(form)
    elif type(form) is Record:
        _slots(form.held, found)
    elif isinstance(form, (tuple, list)):
        for v in form:
            _slots(v, found)
    elif isinstance(form, dict):
        for v in form.values():
            _slots(v, found)


def containers_in(
    value: Any, found: list[int], known: Callable[[Any], bool] = lambda v: False
) -> None:
    """Collect the ids of the mutable parts of a value, except objects that existed before."""
    if known(value):
        return
    record = is_record(value)
    if record and id(value) in found:  # it occurs twice, or contains itself
        found.append(id(value))
        return
    if record or isinstance(value, (list, dict)):
        found.append(id(value))
    if record or isinstance(value, (tuple, list, dict)):
        for v in (
            vars(value).values() if record else value.values() if isinstance(value, dict) else value
        ):
            containers_in(v, found, known)
