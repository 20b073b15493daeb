"""The recorder turns what a program calls into events and passes them to the rules.

Calls of PyTorch's API come through a function mode, so a composite such as `cross_entropy` is one
event on either engine. Modules, optimizers and loaders come through `hooks`.
"""

from __future__ import annotations

import copy
import itertools
import os
import sys
import threading
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np

from ..events import (
    Accumulation,
    Backward,
    Cleared,
    Failure,
    ModuleCall,
    Op,
    Read,
    Site,
    Update,
    Value,
    ancestors,
    updated_leaf,
)
from ..rule import CheckError
from .names import Names
from .rest import Rest
from .signatures import PROPERTIES, READS, SILENT, Binder, canonical
from .sites import Sites
from .values import PLAIN, Values, size

# whose frames stand between the program and the engine
_BETWEEN = ("recorder.py", "hooks.py", "calls.py", "instrument.py", "rest.py")
# operations older than so many rounds of steps (one step of each optimizer) forget their inputs
KEPT_STEPS = 2
LONGEST_ROUND = 64  # steps; an optimizer that steps less often does not count for a round
KEPT_OPS = 50_000  # and so do all but the last so many
MOST_PARTS = 512  # rows of a tensor that is gone over, with more of them none is followed


class Hooked:
    """A hook of the user's on the gradient of a tensor: `factor` is what it has last multiplied the
    gradient's size by.
    """

    __slots__ = ("factor", "hook", "leaf", "site")

    def __init__(self, hook: Any, site: Site | None, leaf: bool) -> None:
        self.hook = getattr(hook, "__code__", None)
        self.site = site
        self.leaf = leaf
        self.factor: float | None = None


class StopRun(BaseException):
    """Ends the watched program after as many optimizer steps as were asked for."""


class _Quiet:
    __slots__ = ("raw", "recorder")

    def __init__(self, recorder: Recorder, raw: bool) -> None:
        self.recorder = recorder
        self.raw = recorder.engine.raw() if raw else None

    def __enter__(self) -> None:
        self.recorder.paused += 1
        if self.raw is not None:
            self.raw.__enter__()

    def __exit__(self, *exc: object) -> None:
        if self.raw is not None:
            self.raw.__exit__(None, None, None)
        self.recorder.paused -= 1


class Recorder(Sites, Values):
    """Watches one run on one engine. `handlers` maps events ("on_op", ...) to the rules' methods."""

    def __init__(self, engine: Any) -> None:
        Sites.__init__(self, engine.root)
        Values.__init__(self, engine)
        engine.recorder = self
        self.torch = engine.torch
        self._machinery = engine.machinery | {
            os.path.join(os.path.dirname(__file__), name) for name in _BETWEEN
        }
        self.names = Names(self.is_library)
        self.paused = 0
        self.resting = False  # steps that only repeat others are not recorded
        self.rest = Rest(self)
        self.thread = threading.get_ident()
        self.notes: list[str] = []
        self.max_steps: int | None = None
        self.updates_wanted = False
        self.timed: Callable[[Op, float], None] | None = None
        # not 0 while rules are told of something, another number each time
        self.telling = 0
        self._told = 0
        # what becomes of an exception of a handler: it is raised again, unless somebody cares
        self.broken: Callable[[Callable[[Any], None], Exception], bool] = lambda _, __: False
        self.handlers: dict[str, list[Callable[[Any], None]]] = {}
        # by name of the operation; "" for all
        self.op_handlers: dict[str, list[Callable[[Any], None]]] = {}
        self.stack: list[ModuleCall] = []
        # by `Value.id` of a leaf that wants a gradient: what has written it last, updates left out
        self.filled: dict[int, Op] = {}
        # by the same, where the data that they depend on were handed in
        self.fillers: dict[int, Site] = {}
        # by name of the operation: the `autograd.Function` that it was
        self.custom: dict[str, Any] = {}
        self.unchanging: set[str] = set()  # of these the ones whose forward changes nothing
        # by the same: what its backward has last multiplied the size of a gradient by
        self.passed: dict[str, float] = {}
        self.hooked: dict[
            int, Hooked
            # by number of the operation (of a leaf its `Value.id`): the hook on the gradient of its
            # result
        ] = {}
        # by id of a parameter that is a deep copy: where it was made
        self.copies: dict[int, tuple[Any, Site | None]] = {}
        self.copies_within: set[int] = set()  # of these the ones made while a module was called
        # where each Subset and WeightedRandomSampler was made
        self.parts: weakref.WeakKeyDictionary[Any, Site | None] = weakref.WeakKeyDictionary()
        self.fetching: Any = None  # the DataLoader (its LoaderInfo) that makes a batch now
        self.last_site: Site | None = None
        # by optimizer: number of its last step, steps since the one before
        self._rounds: dict[int, tuple[int, int]] = {}
        self._fresh = False  # a backward has run: manual updates are looked for
        self._backwards = 0
        self._counted = 0  # backward calls up to the last step that was counted
        self.calls: deque[ModuleCall] = deque()
        self.count_of_calls = 0
        self._ops: deque[Op] = deque()
        self._binder = Binder()
        self._properties: dict[int, str] = {}
        self._mode: Any = None

    def copied(self, tensor: Any) -> Site | None:
        """Where a parameter was made by `copy.deepcopy`, or None."""
        held = self.copies.get(id(tensor))
        return held[1] if held is not None and held[0]() is tensor else None

    @property
    def idle(self) -> bool:
        """Whether nothing is recorded now: a pause, a rest, or another thread."""
        return self.resting or self.paused > 0 or threading.get_ident() != self.thread

    @property
    def elsewhere(self) -> bool:
        """Whether this is another thread, or a pause; what happens seldom is told in a rest, too."""
        return self.paused > 0 or threading.get_ident() != self.thread

    # ---- telling -----------------------------------------------------------------------------------------------------
    def tell(self, event: str, record: Any) -> None:
        """Hand an event to the rules that want it."""
        handlers = self.handlers.get(event)
        if handlers and not self.rest.untold(event):
            with self.reading():
                self._hand(handlers, record)

    def _hand(self, handlers: list[Callable[[Any], None]], record: Any) -> None:
        before = self.telling
        self._told = self.telling = self._told + 1
        try:
            for handler in handlers:
                try:
                    handler(record)
                except Exception as error:
                    if not self.broken(handler, error):
                        raise
        finally:
            self.telling = before

    def wants(self, event: str) -> bool:
        """Whether a rule wants an event."""
        return bool(self.handlers.get(event))

    def quiet(self) -> _Quiet:
        """Nothing is recorded inside this block; the user's own function modes and tensor types
        still work.
        """
        return _Quiet(self, False)

    def reading(self) -> _Quiet:
        """Nothing is recorded inside this block, which only reads tensors; faster than `quiet`."""
        return _Quiet(self, True)

    def keeps_updates(self, steps: int) -> bool:
        """Whether parameters are kept before this step of an optimizer: rules asked, and it is an
        early one or a power of two.
        """
        return self.updates_wanted and (steps < 3 or steps & (steps - 1) == 0)

    # ---- the function mode -------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Begin to watch this thread."""
        recorder = self
        self.thread = threading.get_ident()

        class Mode(self.torch.overrides.TorchFunctionMode):  # type: ignore[name-defined]
            _as_written = True

            def __torch_function__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                if recorder.paused:
                    return func(*args, **kwargs) if kwargs else func(*args)
                return recorder.called(func, args, kwargs or {})

        self._mode = Mode()
        self._mode.__enter__()
        self.engine.started()
        _running.add(self)

    def stop(self) -> None:
        """End watching."""
        if self._mode is not None:
            if self.resting:
                self.rest.over()
                self.resting = False
            else:
                self._mode.__exit__(None, None, None)
            self._mode = None
            _running.discard(self)

    def asleep(self, resting: bool) -> None:
        """Begin or end a rest: without the function mode a program runs at its own speed."""
        if resting:
            self._mode.__exit__(None, None, None)
            self.resting = True
            return
        self.resting = False
        self._mode.__enter__()
        self.engine.started()

    @contextmanager
    def away(self) -> Iterator[None]:
        """The function mode is taken out inside this block."""
        mode = self._mode
        if mode is None:
            yield
            return
        mode.__exit__(None, None, None)
        try:
            yield
        finally:
            mode.__enter__()
            self.engine.started()

    def _property(self, func: Any) -> str:
        owner = func.__self__
        # From Python 3.13 on a property has a name, too, which is that of its getter.
        name = None if isinstance(owner, property) else getattr(owner, "__name__", None)
        if name is None:
            name = self._properties.get(id(owner))
            if name is None:
                self._properties = {
                    id(v): k for k, v in vars(self.engine.Tensor).items() if isinstance(v, property)
                }
                name = self._properties.get(id(owner), "")
        return name

    def called(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of PyTorch's interface."""
        spelling = getattr(func, "__name__", "")
        if spelling in SILENT or spelling.startswith("_record_function"):
            return func(*args, **kwargs)
        if spelling == "__get__":
            spelling = self._property(func)
            if spelling == "grad":
                return self._gradient(func(*args, **kwargs), args[0])
            if spelling not in PROPERTIES:
                return func(*args, **kwargs)
        elif spelling in ("__set__", "__delete__"):
            return self._assigned(self._property(func), func, args, kwargs)
        elif spelling in READS:
            return self._read(spelling, func, args, kwargs)
        elif spelling == "backward":
            return self.backward("backward", func, args, kwargs)
        return self._operation(spelling, func, args, kwargs)

    def hooking(self, tensor: Any, hook: Any) -> Any:
        """A hook on a gradient is registered: the one in its place, which notes what it makes of
        the gradient's size.
        """
        value = self.value(tensor)
        made = value.producer
        key = value.id if value.is_leaf or made is None else made.number
        if len(self.hooked) > 1000:
            self.hooked.clear()
        note = self.hooked[key] = Hooked(hook, self.site(3), value.is_leaf)

        def watched(gradient: Any) -> Any:
            result = hook(gradient)
            if isinstance(result, self.engine.Tensor):
                with self.reading():
                    note.factor = self.ratio(result, gradient)
            return result

        watched.watched_by = self  # type: ignore[attr-defined]
        return watched

    def ratio(self, after: Any, before: Any) -> float | None:
        """The size of one tensor over that of another; None where there is nothing to divide by."""
        arrays = [self.engine.array(t) for t in (after, before)]
        sizes = [size(a) if a is not None and a.size else 0.0 for a in arrays]
        return sizes[0] / sizes[1] if sizes[1] > 0 and np.isfinite(sizes[0]) else None

    def _operation(
        self, spelling: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        op = self.guarded(self._begin, spelling, func, args, kwargs)
        if op is None:
            return func(*args, **kwargs)
        began = perf_counter() if self.timed is not None else 0.0
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            self.tell("on_error", Failure(error, op, op.site, self.step))
            raise
        seconds = perf_counter() - began if self.timed is not None else 0.0
        self.guarded(self._finish, op, args, result)
        if self.timed is not None:
            self.timed(op, seconds)
        return result

    def composite(
        self, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call that the function mode does not see, told as one operation."""

        def run(*args: Any, **kwargs: Any) -> Any:
            with self.quiet():
                return function(*args, **kwargs)

        return self._operation(name, run, args, kwargs)

    def guarded(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a part of the recording; a mistake in it must not end the user's program, and is
        noted.
        """
        try:
            return function(*args)
        except CheckError:
            raise
        except Exception as error:
            self.failed(error)
            return None

    def failed(self, error: Exception) -> None:
        """Note a mistake of the recording's own, once per kind."""
        if os.environ.get("PELLUCID_CHECK_RAISE"):
            raise error
        last = traceback.extract_tb(error.__traceback__)[-1]
        note = f"part of the run was not recorded: {type(error).__name__}: {error} ({os.path.basename(last.filename)}, line {last.lineno})"
        if note not in self.notes and len(self.notes) < 5:
            self.notes.append(note)

    def _begin(self, spelling: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Op:
        """What is known of an operation before it runs."""
        name, inplace, reflected = canonical(spelling)
        op = Op(name, self.site(5))
        op.spelling = spelling
        op.step = self.step
        op.module = self.stack[-1] if self.stack else None
        op.grad_enabled = self.engine.grad_enabled()
        op.direct = self._direct(func)
        op.method = getattr(self.engine.Tensor, spelling, None) == func
        inputs: list[Value] = []
        ordered = (args[1], args[0]) if reflected and len(args) == 2 else args
        bound = self._binder.bind(func, name, spelling, op.method, ordered, kwargs)
        op.args = {k: self._argument(v, inputs) for k, v in bound.items()}
        op.inplace = inplace or kwargs.get("out") is not None or op.args.get("inplace") is True
        op.inputs = tuple(inputs)
        op.number = self.number()
        return op

    def _direct(self, func: Any) -> bool:
        """Whether the call stands in the user's code, not in a module's or function's of the
        library.
        """
        frame: Any = sys._getframe(2)
        code, machinery = getattr(func, "__code__", None), self._machinery
        while frame.f_code.co_filename in machinery or frame.f_code is code:
            frame = frame.f_back
        return not self.is_library(frame.f_code.co_filename)

    def _finish(self, op: Op, args: tuple[Any, ...], result: Any) -> None:
        """Note results, and tell the rules."""
        Tensor = self.engine.Tensor
        if isinstance(result, Tensor):
            results: Any = (result,)
        elif isinstance(result, (tuple, list)):
            results = tuple([r for r in result if isinstance(r, Tensor)])
            if not results:
                op.result = result
        elif op.spelling == "__iter__":
            # what is gone over, seen without going over it
            parts = itertools.islice(copy.copy(result), MOST_PARTS + 1)
            results = tuple(r for r in parts if isinstance(r, Tensor))
            results = results if len(results) <= MOST_PARTS else ()
        else:
            results = ()
            op.result = result
        written = (
            args[0]
            if op.inplace and args and isinstance(args[0], Tensor) and "out" not in op.args
            else None
        )
        if (
            written is not None
            and not any(r is written for r in results)
            and op.spelling == "__setitem__"
        ):
            results = (written,)
        outputs = []
        for k, r in enumerate(results):
            if any(r is x for x in args) and r is not written:
                outputs.append(self.value(r))  # the argument came back as it was
            else:
                outputs.append(self._made(r, op, k))
        if written is not None:
            base = self.engine.base(written)
            if base is not None and base is not written:
                joined = self._joined(op, base)
                self._made(base, joined, 0)
                self._fills(joined)
        op.outputs = tuple(outputs)
        self.keep(op)

    def _joined(self, op: Op, base: Any) -> Op:
        """A write through a view, as the write to the base that it is."""
        held = self.values.get(id(base))
        if held is None or held._ref() is not base:
            return op
        joined = Op(op.name, op.site)
        joined.inplace, joined.step, joined.number, joined.module = (
            True,
            op.step,
            self.number(),
            op.module,
        )
        joined.inputs = (held, *op.inputs[1:])
        joined.args = op.args
        joined.grad_enabled = op.grad_enabled
        return joined

    def ops_of_step(self) -> list[Op]:
        """The operations since the last optimizer step, in their order."""
        found = []
        for op in reversed(self._ops):
            if op.step != self.step:
                break
            found.append(op)
        return found[::-1]

    def entered(self, call: ModuleCall) -> None:
        """Add a call of a module that begins."""
        self.calls.append(call)
        self.count_of_calls += 1

    def keep(self, op: Op) -> None:
        """Add a finished operation, and tell the rules."""
        self._ops.append(op)
        if len(self._ops) > KEPT_OPS:
            self._forget(self._ops.popleft())
        self.last_site = op.site or self.last_site
        if op.inplace and not (self._fresh and self._by_hand(op)):
            self._fills(op)
        handlers = self.op_handlers.get(op.name)
        every = self.op_handlers.get("")
        if handlers or every:
            self.paused += 1
            try:
                self._hand([*(handlers or ()), *(every or ())], op)
            finally:
                self.paused -= 1

    def _fills(self, op: Op) -> None:
        """A leaf gets new values: drawn, loaded, scaled."""
        leaf = (
            updated_leaf(op)
            if op.inputs
            and op.name not in ("requires_grad", "add", "sub", "addcdiv", "addcmul", "lerp")
            else None
        )
        if leaf is not None:
            if len(self.filled) > KEPT_OPS:
                self.filled.clear()
            self.filled[leaf.id] = op
            if op.site is not None and op.site.code.co_argcount and _of_data(op):
                self.fillers[leaf.id] = (self.callers()[1:] or [op.site])[0]
            else:
                self.fillers.pop(leaf.id, None)

    def _by_hand(self, op: Op) -> bool:
        """`w -= lr * w.grad`: a manual update. The first one after a backward counts as a step."""
        leaf = updated_leaf(op)
        if leaf is None or not any(
            made.name == "grad" for made in ancestors(op.inputs[1:], limit=200)
        ):
            return False
        self.tell("on_update", Update(leaf, op, op.site, self.step))
        if self._counted != self._backwards:
            self._counted = self._backwards
            self.step_done()
        return True

    def expect(self, optimizer: int) -> None:
        """An optimizer was made, and will step."""
        self._rounds.setdefault(optimizer, (self.step - 1, 1))

    def step_done(self, optimizer: int = -1) -> None:
        """One more step, of the optimizer of that number (-1: by hand)."""
        last, _ = self._rounds.get(optimizer, (self.step - 1, 1))
        self._rounds[optimizer] = (self.step, min(self.step - last, LONGEST_ROUND))
        self.step += 1
        if not self.resting:
            self.forget_old()
        self.rest.stepped(optimizer)
        if self.max_steps is not None and self.step >= self.max_steps:
            raise StopRun

    def steps_of_round(self) -> int:
        """In how many steps each optimizer steps once."""
        waits = [max(gap, self.step - last) for last, gap in self._rounds.values()]
        return max((wait for wait in waits if wait <= LONGEST_ROUND), default=1)

    def forget_old(self) -> None:
        """Let operations from before the last rounds of steps forget their inputs."""
        steps = self.steps_of_round()
        ops, calls, first = self._ops, self.calls, self.step - KEPT_STEPS * steps
        while ops and ops[0].step < first:
            self._forget(ops.popleft())
        while calls and calls[0].step < first:
            calls.popleft().inputs = ()

    def _forget(self, op: Op) -> None:
        """Let go of what an operation was made of; its name, place and numbers stay."""
        op.inputs = ()
        op.args = {k: v for k, v in op.args.items() if type(v) in PLAIN}
        calls = self.calls
        while calls and calls[0].number < op.number - 4 * KEPT_OPS:
            calls.popleft().inputs = ()

    # ---- special calls -----------------------------------------------------------------------------------------------
    def _read(self, spelling: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = func(*args, **kwargs)
        how = READS[spelling]
        if self.wants("on_read") and args and isinstance(args[0], self.engine.Tensor):
            shown = result if isinstance(result, (int, float, bool, complex)) else None
            site = self.site(3)
            array = weakref.ref(result) if type(result) is np.ndarray else None
            value = self.value(args[0])
            self.tell(
                "on_read",
                Read(
                    value,
                    how,
                    shown,
                    site,
                    self.engine.grad_enabled(),
                    self.step,
                    self.number(),
                    array,
                ),
            )
        return result

    def _gradient(self, gradient: Any, leaf: Any) -> Any:
        """`.grad` was read: from here on it is known where that tensor comes from."""
        if gradient is not None and self.value(gradient).producer is None:
            self._from_gradient([leaf], [gradient])
        return gradient

    def _from_gradient(self, leaves: Any, gradients: Any) -> None:
        op = Op("grad", self.site(4))
        op.step, op.number, op.grad_enabled = self.step, self.number(), self.engine.grad_enabled()
        op.module = self.stack[-1] if self.stack else None
        op.inputs = tuple(self.values_in(list(leaves)))
        op.args = {"input": op.inputs[0] if op.inputs else None}
        op.outputs = tuple(
            [
                self._made(g, op, k)
                for k, g in enumerate(gradients)
                if isinstance(g, self.engine.Tensor)
            ]
        )
        self.keep(op)

    def _assigned(self, name: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = func(*args, **kwargs)
        tensor = args[0]
        if name == "grad":
            if (len(args) < 2 or args[1] is None) and self.wants("on_clear"):
                self.tell(
                    "on_clear",
                    Cleared([self.value(tensor)], self.site(3), "assigned", None, self.step),
                )
        elif name in ("data", "requires_grad"):
            op = Op(name, self.site(3))
            op.spelling, op.step, op.inplace, op.number = name, self.step, True, self.number()
            op.grad_enabled = self.engine.grad_enabled()
            op.module = self.stack[-1] if self.stack else None
            inputs = [self.value(tensor)]
            op.args = {
                "input": inputs[0],
                "value": self._argument(args[1], inputs) if len(args) > 1 else None,
            }
            op.inputs = tuple(inputs)
            op.outputs = (self._made(tensor, op if name == "data" else inputs[0].producer, 0),)
            self.keep(op)
        return result

    def backward(self, how: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A backward call: which leaves got a gradient is read off them before and after, their
        hooks are left alone.
        """
        with self.reading():
            roots = tuple(
                self.values_in(
                    args[0] if args else kwargs.get("tensors", kwargs.get("outputs", ()))
                )
            )
            first = 2 if how == "backward" else 3  # place of retain_graph, before create_graph
            keep, create = (
                args[k] if len(args) > k else kwargs.get(name)
                for k, name in ((first, "retain_graph"), (first + 1, "create_graph"))
            )
            keep = create if keep is None else keep
            record = Backward(
                roots, self.site(3), how, bool(keep), bool(create), self.number(), self.step
            )
            engine, before = self.engine, {}
            if how == "backward":
                for ref in tuple(self.leaves.values()):
                    leaf = ref()
                    if leaf is not None:
                        gradient = engine.grad(leaf)
                        # The gradient itself is kept meanwhile: were it freed, another one could
                        # get its id.
                        before[id(leaf)] = (
                            leaf,
                            gradient,
                            None if gradient is None else engine.version(gradient),
                        )
        self.tell("on_backward_begin", record)
        try:
            with self.quiet():
                result = func(*args, **kwargs)
        except Exception as error:
            op = Op("backward", record.site)
            op.inputs = roots
            self.tell("on_error", Failure(error, op, record.site, self.step))
            raise
        with self.reading():
            for leaf, gradient, version in before.values():
                now = engine.grad(leaf)
                if now is not None and (now is not gradient or engine.version(now) != version):
                    record.accumulated.append(Accumulation(self.value(leaf), gradient is not None))
            record.finished = True
        before.clear()
        if how == "grad":
            inputs = args[1] if len(args) > 1 else kwargs.get("inputs", ())
            self.guarded(
                self._from_gradient,
                inputs if isinstance(inputs, (tuple, list)) else (inputs,),
                result if isinstance(result, (tuple, list)) else (result,),
            )
        self._fresh = True
        self._backwards += 1
        if how == "backward" and len(roots) == 1 and roots[0].numel == 1:
            loss = roots[0].numpy()
            if loss is not None:
                self.rest.seen(float(loss.reshape(-1)[0].real))
        self.tell("on_backward", record)
        return result


def _of_data(op: Op) -> bool:
    """Whether what is written comes from data that the function in which it is written has not made
    itself.
    """
    code = op.site.code if op.site is not None else None
    for made in (op, *ancestors(op.inputs[1:], limit=50)):
        for v in made.inputs[1:] if made is op else made.inputs:
            source = v.producer
            if (
                not v.requires_grad
                and (source is None or source.site is not None and source.site.code is not code)
                and v.ndim > 1
            ):
                return True
    return False


_running: weakref.WeakSet[Recorder] = weakref.WeakSet()


def _in_child() -> None:
    for recorder in _running:
        recorder.paused += 1_000_000  # what happens in a forked worker would stay there


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
