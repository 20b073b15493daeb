"""Events from modules, optimizers, schedulers, loaders and seeds. Methods of the engine's classes
are replaced while a program is watched, and restored afterwards.
"""

from __future__ import annotations

import functools
import importlib.machinery
import itertools
import random
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..events import (
    Batch,
    Cleared,
    LoaderInfo,
    ModuleCall,
    Op,
    OptimizerInfo,
    SchedulerStep,
    Seeded,
    Step,
    Switched,
    whole_of,
)
from ..numbers import number_of
from . import instrument, states
from .calls import Calls
from .recorder import Recorder
from .signatures import canonical

# Modules that compute in one piece: what happens inside differs between engines, so one operation
# stands for it.
WHOLE = {
    "RNN": "rnn",
    "LSTM": "lstm",
    "GRU": "gru",
    "RNNCell": "rnn_cell",
    "LSTMCell": "lstm_cell",
    "GRUCell": "gru_cell",
}
TRACERS = {
    "jit": ("trace", "trace_module", "script"),
    "export": ("export",),
    "onnx": ("export",),
    "fx": ("symbolic_trace",),
}
"""Functions that turn a program into a graph, by module."""

LIBRARY = ("torch", __name__.partition(".")[0])


class Hooks:
    """All replaced methods of one run."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.engine = recorder.engine
        self.torch = recorder.torch
        self._undo: list[tuple[Any, str, Any, bool]] = []
        self._optimizers: dict[int, OptimizerInfo] = {}
        self._loaders: dict[int, LoaderInfo] = {}
        # Their numbers count what was made: a new one may lie where one that is gone lay, and takes
        # its place in the table.
        self._optimizer_numbers, self._loader_numbers = itertools.count(), itertools.count()
        self._inside = 0  # calls of train() on submodules
        self._stepping = 0
        self._step: Step | None = None  # that runs now
        self._schedulers: Any = weakref.WeakKeyDictionary()  # where each was made
        self._schedules = 0  # inside a scheduler's constructor or step
        self._passes: Any = weakref.WeakKeyDictionary()
        self._untried: set[Any] = set()  # functions that have not been applied to leaves yet

    # ---- replacing ---------------------------------------------------------------------------------------------------
    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Put `make(old)` in the place of an attribute that `owner` itself, or a base of it,
        defines.

        What a module loads when it is first asked for is not loaded for this: `old` is None then.
        """
        own = name in vars(owner)
        old = (
            vars(owner)[name] if own else getattr(owner, name) if isinstance(owner, type) else None
        )
        new = make(old)
        if callable(old):
            functools.update_wrapper(new, old)
        self._undo.append((owner, name, old, own))
        setattr(owner, name, new)

    def install(self) -> None:
        """Put all in place."""
        torch = self.torch
        Module = torch.nn.Module
        self._whole = {getattr(torch.nn, name): op for name, op in WHOLE.items()}
        self.replace(Module, "__init__", self._module_made)
        self.replace(Module, "__call__", self._module_called)
        self.replace(Module, "train", self._switched)
        self.replace(Module, "zero_grad", lambda old: self._cleared(old, "module"))
        self.replace(torch.nn.Parameter, "__deepcopy__", self._deep_copied)
        self.replace(self.engine.Tensor, "register_hook", self._hooked)
        states.install(self)
        Optimizer = torch.optim.Optimizer
        self.replace(Optimizer, "__init__", self._optimizer_made)
        self.replace(Optimizer, "load_state_dict", self._optimizer_loaded)
        self.replace(Optimizer, "zero_grad", lambda old: self._cleared(old, "optimizer"))
        self._watch_steps(Optimizer)
        schedulers = torch.optim.lr_scheduler
        for kind in _subclasses(schedulers.LRScheduler):
            if "step" in vars(kind):
                self.replace(kind, "step", self._scheduled)
            if "__init__" in vars(kind):
                self.replace(kind, "__init__", self._silent)
        data = torch.utils.data
        self.replace(data.DataLoader, "__init__", self._loader_made)
        for kind in (data.Subset, data.distributed.DistributedSampler):
            self.replace(kind, "__init__", self._part_made)
        self.replace(data.DataLoader, "__iter__", self._pass_begun)
        self.replace(self.engine.iterator_class, "__next__", self._next)
        for owner in (torch, torch.random):
            self.replace(owner, "manual_seed", lambda old: self._seeded(old, "torch"))
            self.replace(owner, "set_rng_state", lambda old: self._seeded(old, "torch"))
        self.replace(np.random, "seed", lambda old: self._seeded(old, "numpy"))
        self.replace(random, "seed", lambda old: self._seeded(old, "random"))
        self.replace(torch.autograd.Function, "apply", self._custom)
        self.replace(torch, "compile", _uncompiled)
        self.replace(
            importlib.machinery.SourceFileLoader,
            "get_code",
            instrument.loading(self.recorder.is_library),
        )
        self._undo.append((instrument, "listener", instrument.listener, True))
        calls = Calls(self.recorder)
        instrument.listener = calls.converted
        self._undo.append((instrument, "results", instrument.results, True))
        instrument.results = calls.array_computed
        self._undo.append((instrument, "blocks", instrument.blocks, True))
        instrument.blocks = self.recorder.rest.news
        self._undo.append((instrument, "writes", instrument.writes, True))
        instrument.writes = calls.array_written
        self.replace(Module, "compile", lambda old: lambda self, *args, **kwargs: None)
        for space, names in TRACERS.items():
            module = sys.modules.get(f"{torch.__name__}.{space}")
            for name in names:
                if module is not None and name in vars(module):
                    self.replace(module, name, self._unwatched)
        for name in ("backward", "grad"):
            self.replace(torch.autograd, name, functools.partial(self._backward, how=name))
        if self.engine.name == "torch":  # there the function mode does not see it
            self.replace(torch, "from_numpy", self._composite)

    def remove(self) -> None:
        """Put everything back."""
        while self._undo:
            owner, name, old, own = self._undo.pop()
            if own:
                setattr(owner, name, old)
            else:
                delattr(owner, name)

    def _composite(self, old: Any) -> Any:
        recorder = self.recorder

        def watched(*args: Any, **kwargs: Any) -> Any:
            return (
                old(*args, **kwargs)
                if recorder.idle
                else recorder.composite(old.__name__, old, args, kwargs)
            )

        return watched

    def _unwatched(self, old: Any) -> Any:
        """Tracers look at frames and at modes themselves; nothing is between them and the program."""
        recorder = self.recorder

        def trace(*args: Any, **kwargs: Any) -> Any:
            if recorder.idle:
                return old(*args, **kwargs)
            with recorder.quiet(), recorder.away():
                return old(*args, **kwargs)

        return trace

    def _custom(self, old: Any) -> Any:
        """`Function.apply`: one operation with the class's name."""
        recorder, function, hooks = self.recorder, old.__func__, self

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            if recorder.idle:
                return function(cls, *args, **kwargs)
            title = cls.__name__
            name = canonical(title)[0]
            first = recorder.custom.get(name) is not cls
            users = first and states.of_program(recorder, cls)
            if first:
                recorder.custom[name] = cls
                recorder.unchanging.discard(name)
            if users:
                hooks.replace(cls, "backward", functools.partial(hooks._passing, name=name))
            result = recorder.composite(title, functools.partial(function, cls), args, kwargs)
            if first:
                hooks._passes_on(name, args, result)
            if users or cls in hooks._untried:
                states.tell_applied(hooks._untried, recorder, cls, args)
            return result

        return classmethod(functools.update_wrapper(apply, function))

    def _passes_on(self, name: str, args: tuple[Any, ...], result: Any) -> None:
        """Note a function of the program's whose forward gives back what it gets: only its backward
        does something.
        """
        given = next((a for a in args if isinstance(a, self.engine.Tensor)), None)
        if (
            given is None
            or not isinstance(result, self.engine.Tensor)
            or result.shape != given.shape
        ):
            return
        with self.recorder.reading():
            before, after = self.engine.array(given), self.engine.array(result)
        if before is not None and after is not None and np.array_equal(before, after):
            self.recorder.unchanging.add(name)

    def _hooked(self, old: Any) -> Any:
        recorder = self.recorder

        def register_hook(self: Any, hook: Any) -> Any:
            # PyTorch's own calls itself again
            if recorder.idle or recorder.site(2) is None or hasattr(hook, "watched_by"):
                return old(self, hook)
            with recorder.reading():
                watched = recorder.hooking(self, hook)
            handle = old(self, watched)
            states.tell_hook(recorder, self, hook, handle)
            return handle

        return register_hook

    def _passing(self, old: Any, name: str) -> Any:
        """`Function.backward`: what it makes of the size of a gradient is noted."""
        recorder, function = self.recorder, getattr(old, "__func__", old)

        @functools.wraps(function)
        def backward(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            first = result[0] if isinstance(result, (tuple, list)) and result else result
            given = next((a for a in args[1:] if isinstance(a, self.engine.Tensor)), None)
            if (
                given is not None
                and isinstance(first, self.engine.Tensor)
                and first.shape == given.shape
            ):
                with recorder.reading():
                    factor = recorder.ratio(first, given)
                if factor is not None:
                    recorder.passed[name] = factor
            return result

        return backward

    def _deep_copied(self, old: Any) -> Any:
        recorder = self.recorder

        def __deepcopy__(self: Any, memo: Any) -> Any:
            result = old(self, memo)
            if not recorder.elsewhere:
                recorder.copies[id(result)] = weakref.ref(result), recorder.site(2)
                if recorder.stack:
                    recorder.copies_within.add(number_of(result))
            return result

        return __deepcopy__

    # ---- modules -----------------------------------------------------------------------------------------------------
    def _module_made(self, old: Any) -> Any:
        recorder = self.recorder

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            old(self, *args, **kwargs)
            if not recorder.elsewhere:
                recorder.names.made(self, *recorder.site_and_caller(2))
                if recorder.stack:
                    recorder.names.within.add(number_of(self))

        return __init__

    def _module_called(self, old: Any) -> Any:
        recorder, hooks = self.recorder, self

        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
            if recorder.idle:
                return old(self, *args, **kwargs)
            return hooks._run_module(old, self, args, kwargs)

        return __call__

    def _run_module(
        self, old: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        recorder = self.recorder
        stack = recorder.stack
        parent = stack[-1] if stack else None
        site = recorder.site(3)
        with recorder.reading():
            if id(module) not in recorder.names.modules:
                recorder.names.made(module, None)  # made before the watch, copied, or loaded
            path = _path(recorder, module, parent, site)
            call = ModuleCall(module, path, site, parent)
            call.inputs = tuple(recorder.values_in((args, kwargs)))
            if type(module).__module__.partition(".")[0] in LIBRARY:
                call.made = recorder.names.site_of(module)
        call.number, call.step = recorder.number(), recorder.step
        call.grad_enabled = self.engine.grad_enabled()
        recorder.entered(call)
        recorder.tell("on_module_enter", call)
        whole = self._whole.get(type(module))
        stack.append(call)
        try:
            if whole is None:
                result = old(module, *args, **kwargs)
            else:
                with recorder.quiet():
                    result = old(module, *args, **kwargs)
                self._as_operation(whole, module, call, result)
        except Exception as error:
            call.tags["error"] = error
            raise
        finally:
            del stack[stack.index(call) :]
        with recorder.reading():
            call.outputs = tuple(recorder.values_in(result))
        recorder.tell("on_module_exit", call)
        return result

    def _as_operation(self, name: str, module: Any, call: ModuleCall, result: Any) -> None:
        """One operation for a module that computes in one piece: `lstm` with the module's settings
        as arguments.
        """
        recorder = self.recorder
        with recorder.reading():
            op = Op(name, call.site)
            op.step, op.module, op.grad_enabled, op.direct, op.number = (
                recorder.step,
                call,
                call.grad_enabled,
                False,
                recorder.number(),
            )
            weights = [recorder.value(p) for p in module.parameters()]
            op.inputs = (*call.inputs, *weights)
            op.args = {
                "input": call.inputs[0] if call.inputs else None,
                "hx": list(call.inputs[1:]),
                "params": weights,
            }
            for key in ("num_layers", "dropout", "bidirectional", "batch_first", "training"):
                op.args[key] = getattr(module, key, None)
            recorder._finish(op, (), _flat(self.engine.Tensor, result))

    def _switched(self, old: Any) -> Any:
        recorder, hooks = self.recorder, self

        def train(self: Any, mode: bool = True) -> Any:
            hooks._inside += 1
            try:
                result = old(self, mode)
            finally:
                hooks._inside -= 1
            told = not hooks._inside and not recorder.elsewhere and recorder.wants("on_switch")
            if told and recorder.rest.switched(self, bool(mode)):
                with recorder.reading():
                    path = recorder.names.module_path(self, self)
                recorder.tell(
                    "on_switch", Switched(self, path, bool(mode), recorder.site(2), recorder.step)
                )
            return result

        return train

    # ---- gradients ---------------------------------------------------------------------------------------------------
    def _cleared(self, old: Any, how: str) -> Any:
        recorder, hooks = self.recorder, self

        def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
            if recorder.idle:
                recorder.rest.touched = True
                if hooks._step is not None and threading.get_ident() == recorder.thread:
                    hooks._step.zeroed = True
                    hooks._clears_own(hooks._step, recorder.site(2))
                return old(self, *args, **kwargs)
            with recorder.quiet():
                result = old(self, *args, **kwargs)
            if not recorder.wants("on_clear"):
                return result
            with recorder.reading():
                if how == "optimizer":
                    info: Any = hooks.info(self)
                    values = info.params()
                else:
                    info = None
                    values = [recorder.value(p) for p in self.parameters()]
            recorder.tell("on_clear", Cleared(values, recorder.site(2), how, info, recorder.step))
            return result

        return zero_grad

    def _clears_own(self, step: Step, site: Any) -> None:
        """Gradients are cleared while an optimizer steps: wrong when it has not moved anything by
        then. It is told by comparing with what the parameters were, so only in steps for which
        these are kept."""
        if (
            step.cleared is not None
            or not step.before
            or site is None
            or not any(step.optimizer.lrs())
        ):
            return
        with self.recorder.reading():
            values = [v for v in step.optimizer.params() if v.id in step.before]
            gradients = [g for v in values if (g := v.grad()) is not None]
            if any(np.any(g) for g in gradients) and all(
                np.array_equal(v.numpy(), step.before[v.id]) for v in values
            ):
                step.cleared = site

    def _backward(self, old: Any, how: str) -> Any:
        recorder = self.recorder

        def watched(*args: Any, **kwargs: Any) -> Any:
            if recorder.idle:
                return old(*args, **kwargs)

            def run(*args: Any, **kwargs: Any) -> Any:
                with recorder.quiet():
                    return old(*args, **kwargs)

            return recorder.backward(how, run, args, kwargs)

        return watched

    # ---- optimizers --------------------------------------------------------------------------------------------------
    def info(self, optimizer: Any) -> OptimizerInfo:
        """What is known of an optimizer."""
        held = self._optimizers.get(id(optimizer))
        if held is None or held.optimizer is not optimizer:
            held = OptimizerInfo(
                self.engine, optimizer, self.recorder.site(2), next(self._optimizer_numbers)
            )
            self._optimizers[id(optimizer)] = held
            self.recorder.expect(held.number)
        return held

    def _optimizer_made(self, old: Any) -> Any:
        recorder, hooks = self.recorder, self

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            with recorder.quiet():
                old(self, *args, **kwargs)
            if not recorder.elsewhere:
                hooks._watch_steps(type(self))
                info = hooks.info(self)
                recorder.rest.made(info.site)
                recorder.tell("on_optimizer", info)

        return __init__

    def _optimizer_loaded(self, old: Any) -> Any:
        recorder, hooks = self.recorder, self

        def load_state_dict(self: Any, *args: Any, **kwargs: Any) -> Any:
            if recorder.elsewhere:
                return old(self, *args, **kwargs)
            info = hooks.info(self)
            before = info.lrs()
            with recorder.quiet():
                result = old(self, *args, **kwargs)
            if info.lrs() != before:
                info.loaded = recorder.site(2)
            return result

        return load_state_dict

    def _watch_steps(self, kind: type) -> None:
        """Replace `step` of a class of optimizers and of what is derived from it."""
        for cls in _subclasses(kind):
            if "step" in vars(cls) and not hasattr(vars(cls)["step"], "watched_by"):
                self.replace(cls, "step", self._stepped)
                vars(cls)["step"].watched_by = self

    def _stepped(self, old: Any) -> Any:
        recorder, hooks = self.recorder, self

        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            if recorder.elsewhere or hooks._stepping:
                return old(self, *args, **kwargs)
            if recorder.resting:
                return hooks._rest_step(old, self, args, kwargs)
            return hooks._run_step(old, self, args, kwargs)

        return step

    def _rest_step(
        self, old: Any, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A step in a rest, which is only counted."""
        self._stepping += 1
        try:
            result = old(optimizer, *args, **kwargs)
        finally:
            self._stepping -= 1
        info = self.info(optimizer)
        info.steps += 1
        self.recorder.step_done(info.number)
        return result

    def _run_step(
        self, old: Any, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        recorder = self.recorder
        info = self.info(optimizer)
        if info.name is None:
            info.name = recorder.names.variable(optimizer)
        closure: Any = args[0] if args else kwargs.get("closure")
        step = Step(
            info,
            recorder.site(3),
            recorder.step,
            closure is not None,
            getattr(closure, "__code__", None),
        )
        if recorder.keeps_updates(info.steps):
            with recorder.reading():
                step.before = {
                    v.id: a.copy() for v in info.params() if (a := v.numpy()) is not None
                }
        recorder.tell("on_step_begin", step)

        def watched() -> Any:
            recorder.paused -= 1
            try:
                return closure()
            finally:
                recorder.paused += 1

        if closure is not None:
            args, kwargs = (
                ((watched, *args[1:]), kwargs) if args else (args, {**kwargs, "closure": watched})
            )
        self._stepping += 1
        self._step = step if closure is None else None
        try:
            with recorder.quiet():
                result = old(optimizer, *args, **kwargs)
            with recorder.reading():
                recorder.renew(optimizer)
        finally:
            self._stepping -= 1
            self._step = None
        recorder.tell("on_step", step)
        step.before = {}
        info.steps += 1
        recorder.step_done(info.number)
        return result

    # ---- schedulers --------------------------------------------------------------------------------------------------
    def _silent(self, old: Any) -> Any:
        recorder, hooks = self.recorder, self

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            hooks._schedules += 1
            try:
                old(self, *args, **kwargs)
            finally:
                hooks._schedules -= 1
            if not hooks._schedules and not recorder.elsewhere:
                hooks._schedulers[self] = recorder.site(2)

        return __init__

    def _scheduled(self, old: Any) -> Any:
        recorder, hooks = self.recorder, self

        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            if recorder.elsewhere or hooks._schedules:
                return old(self, *args, **kwargs)
            optimizer = getattr(self, "optimizer", None)
            info = hooks.info(optimizer) if optimizer is not None else None
            before = info.lrs() if info is not None else []
            hooks._schedules += 1
            try:
                with recorder.quiet():
                    result = old(self, *args, **kwargs)
            finally:
                hooks._schedules -= 1
            after = info.lrs() if info is not None else []
            made, ref = hooks._schedulers.get(self), weakref.ref(self)
            given = args[0] if args else kwargs.get("metrics")
            event = SchedulerStep(
                type(self).__name__,
                info,
                recorder.site(2),
                before,
                after,
                recorder.step,
                made,
                ref,
                given if isinstance(given, (int, float)) else None,
            )
            recorder.tell("on_scheduler_step", event)
            return result

        return step

    # ---- loaders -----------------------------------------------------------------------------------------------------
    def _loader(self, loader: Any) -> LoaderInfo:
        held = self._loaders.get(id(loader))
        if held is None or held.loader is not loader:
            shuffled = "Random" in type(getattr(loader, "sampler", None)).__name__
            held = LoaderInfo(loader, self.recorder.site(2), next(self._loader_numbers), shuffled)
            self._loaders[id(loader)] = held
        return held

    def _loader_made(self, old: Any) -> Any:
        recorder, hooks = self.recorder, self

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            with recorder.quiet():
                old(self, *args, **kwargs)
            if not recorder.elsewhere:
                recorder.tell("on_loader", hooks._loader(self))

        return __init__

    def _part_made(self, old: Any) -> Any:
        recorder = self.recorder

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            old(self, *args, **kwargs)
            if not recorder.elsewhere:
                recorder.parts[self] = recorder.site(2)

        return __init__

    def _pass_begun(self, old: Any) -> Any:
        recorder, hooks = self.recorder, self

        def __iter__(self: Any) -> Any:
            if recorder.elsewhere:
                return old(self)
            info = hooks._loader(self)
            recorder.rest.passing(info.site)
            info.name = info.name or recorder.names.variable(self)
            with recorder.quiet():
                iterator = old(self)
            recorder.tell("on_pass", info)
            follow = _Follow(getattr(iterator, "_sampler_iter", None))
            if not info.workers:  # with workers, indices are handed out ahead
                iterator._sampler_iter = follow
            hooks._passes[iterator] = [info, info.passes, 0, follow]
            info.passes += 1
            return iterator

        return __iter__

    def _next(self, old: Any) -> Any:
        recorder, hooks = self.recorder, self

        def __next__(self: Any) -> Any:
            known = hooks._passes.get(self)
            if recorder.elsewhere or known is None:
                return old(self)
            info, epoch, position, follow = known
            if recorder.resting:
                try:
                    data = old(self)
                except StopIteration:
                    recorder.rest.passing(info.site)
                    raise
                known[2] += 1
                recorder.rest.batch(info, data)
                if recorder.resting:
                    follow.taken.clear()
                    return data
                return hooks._batch(info, epoch, position, follow, data)
            if _of_library(info.dataset):
                with recorder.quiet():
                    data = old(self)
            else:
                recorder.fetching = info
                try:
                    data = old(self)
                finally:
                    recorder.fetching = None
            known[2] += 1
            recorder.rest.batch(info, data)
            return hooks._batch(info, epoch, position, follow, data)

        return __next__

    def _batch(
        self, info: LoaderInfo, epoch: int, position: int, follow: _Follow, data: Any
    ) -> Any:
        """Tell of a batch."""
        recorder = self.recorder
        if recorder.wants("on_batch"):
            indices = follow.taken.pop(0) if follow.taken else None
            with recorder.reading():
                values = tuple(recorder.values_in(data))
            recorder.tell(
                "on_batch",
                Batch(info, epoch, position, values, indices, recorder.site(3), recorder.step),
            )
        else:
            follow.taken.clear()
        return data

    # ---- seeds -------------------------------------------------------------------------------------------------------
    def _seeded(self, old: Any, library: str) -> Any:
        recorder = self.recorder

        def seed(*args: Any, **kwargs: Any) -> Any:
            result = old(*args, **kwargs)
            if not recorder.elsewhere:
                given = args[0] if args else next(iter(kwargs.values()), None)
                given = given if isinstance(given, (int, float, str)) else None
                recorder.tell("on_seed", Seeded(library, given, recorder.site(2), recorder.step))
            return result

        return seed


class _Follow:
    """An iterator over a sampler's indices that notes what it gave."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.taken: list[Any] = []

    def __iter__(self) -> _Follow:
        return self

    def __next__(self) -> Any:
        indices = next(self.inner)
        self.taken.append(list(indices) if isinstance(indices, (list, tuple)) else [indices])
        return indices


def _uncompiled(old: Any) -> Any:
    """`torch.compile` that changes nothing: what is compiled computes the same, and cannot be
    watched.
    """

    def compile(model: Any = None, **options: Any) -> Any:
        return (lambda model: model) if model is None else model

    return compile


def _subclasses(kind: type) -> list[type]:
    """A class and everything derived from it."""
    found, waiting = [], [kind]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.append(current)
            waiting.extend(current.__subclasses__())
    return found


def _of_library(dataset: Any) -> bool:
    """Whether samples are made by the library's own code alone, which is not worth watching."""
    dataset = whole_of(dataset)
    if type(dataset).__name__ == "ConcatDataset":
        return all(_of_library(d) for d in dataset.datasets)
    return type(dataset).__module__.partition(".")[0] in LIBRARY


def _flat(kind: Any, result: Any) -> tuple[Any, ...]:
    if isinstance(result, kind):
        return (result,)
    if isinstance(result, (tuple, list)):
        return tuple([t for part in result for t in _flat(kind, part)])
    return ()


def _path(recorder: Recorder, module: Any, parent: ModuleCall | None, site: Any) -> str:
    """The path of a module that is called: its root's name and its place in the root."""
    if parent is None:
        return recorder.names.root_name(module, site)
    path = recorder.names.inner_path(parent.root.module, module)
    return recorder.names.root_name(module, site) if path is None else f"{parent.root.path}.{path}"
