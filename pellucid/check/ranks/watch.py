"""Watch one rank: its replicas, batches, files and numbers go into its journal.

Nothing is compared or sent here. The journals are compared after the ranks have ended (`job`).
"""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..events import VIEWS, Backward, Failure, ModuleCall, Op, Read, Site, Step, ancestors, lineage
from ..numbers import number_of
from ..recording.signatures import RANDOM
from .collectives import Collectives
from .journal import FOLDER, Journal, digest
from .metrics import Metrics

_SMALL = 8 << 20  # bytes of replicas that are digested at each of the first steps
_OFTEN = 64  # of these
_DRAWS = 8  # kept of a line
_WRAPPER = "DistributedDataParallel"
_NORMS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d")
_LOOK = 0.005  # seconds between looks at the line that runs


class Wrapped:
    """What is known of a DistributedDataParallel of this process."""

    def __init__(self, number: int, module: Any) -> None:
        self.number = number
        self.names = {
            number_of(p): name for name, p in module.module.named_parameters() if p.requires_grad
        }
        self.synced = False  # a forward whose backward reduces has run
        self.direct: Site | None = None  # a call past the wrapper
        self.local: dict[str, Any] | None = None  # gradients of this rank alone
        self.reductions = 0  # since the last step
        self.said: set[tuple[str, ...]] = set()


class RankWatch:
    """Turns a session's events into the journal of a rank; it begins with `init_process_group`.

    Args:
        session: the check of this process.
    """

    def __init__(self, session: Any) -> None:
        self.session = session
        self.recorder, self.engine = session.recorder, session.engine
        self.journal: Journal | None = None
        self.rank, self.size = -1, 0
        self.collectives = Collectives(self)
        self.metrics = Metrics(self)
        self.clock = 0  # points that all ranks have passed together
        self.inside: list[str] = []  # "gradients", "wrapper": what collectives are for
        self.wrapped: dict[int, Wrapped] = {}  # by number of the wrapper
        self.inner: dict[int, Wrapped] = {}  # by number of a module inside
        # by id: parameters whose gradients the program reduces itself
        self.by_hand: dict[int, str] = {}
        self.averaged: set[int] = set()  # of these the ones reduced since the last backward
        self._weights_at = -1
        self._norms: dict[int, int] = {}
        self._draws: dict[Any, int] = {}
        self._batch: tuple[int, int] | None = None  # (loader, pass) of the last batch
        self._begins: dict[str, float] = {}
        self._data: dict[int, Any] = {}
        self._hooks: Any = None

    # ---- beginning and end -------------------------------------------------------------------
    def install(self, hooks: Any) -> None:
        """Replace what tells of ranks; `hooks` puts it back."""
        torch = self.recorder.torch
        hooks.replace(torch.distributed, "init_process_group", self._joining)
        hooks.replace(torch.distributed, "destroy_process_group", self._leaving)
        self.collectives.install(hooks)
        self.metrics.install(hooks)
        parallel = torch.nn.parallel.DistributedDataParallel
        hooks.replace(parallel, "__init__", self._wrapping)
        hooks.replace(parallel, "join", self._joined)
        hooks.replace(self.engine.iterator_class, "__next__", self._ended_pass)
        for owner in (torch.nn.utils, sys.modules.get(f"{torch.__name__}.nn.utils.clip_grad")):
            if owner is not None and "clip_grad_norm_" in vars(owner):
                hooks.replace(owner, "clip_grad_norm_", self._clipped)
        self._hooks = hooks

    def _joining(self, old: Any) -> Any:
        def init_process_group(*args: Any, **kwargs: Any) -> Any:
            result = old(*args, **kwargs)
            if os.environ.get(FOLDER) and self.journal is None:
                self.recorder.guarded(self._begin)
            return result

        return init_process_group

    def _leaving(self, old: Any) -> Any:
        def destroy_process_group(*args: Any, **kwargs: Any) -> Any:
            # Said here, since it may be over before the next look: others may wait for this rank
            # until their time is up.
            if self.journal is not None and not self.recorder.idle:
                self.say("at", s=self.site(self.recorder.site()))
            return old(*args, **kwargs)

        return destroy_process_group

    def _begin(self) -> None:
        dist = self.recorder.torch.distributed
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.journal = journal = Journal(os.environ[FOLDER])
        site = journal.site(self.recorder.site())
        journal.say(
            "init",
            rank=self.rank,
            size=self.size,
            pid=os.getpid(),
            engine=self.engine.name,
            s=site,
            wall=time.time(),
        )
        handlers, ops = self.recorder.handlers, self.recorder.op_handlers
        for event in (
            "on_module_enter",
            "on_module_exit",
            "on_backward_begin",
            "on_backward",
            "on_step_begin",
            "on_step",
            "on_pass",
            "on_batch",
            "on_read",
            "on_exception",
        ):
            handlers.setdefault(event, []).append(self._guarded(getattr(self, f"_{event}")))
        for name in RANDOM - {n for n in RANDOM if "dropout" in n} - {"randperm", "multinomial"}:
            ops.setdefault(name, []).append(self._guarded(self._drawn))
        ops.setdefault("", []).append(self._guarded(self.collectives.seen))
        for name, how in (("save", "w"), ("load", "r")):
            getattr(self.recorder.torch, name)  # what loads on first use is loaded now
            self._hooks.replace(
                self.recorder.torch, name, lambda old, how=how: self._filed(old, how)
            )
        threading.Thread(target=self._look, name="check of ranks", daemon=True).start()

    def _guarded(self, handler: Any) -> Any:
        return lambda record: self.recorder.guarded(handler, record)

    def _look(self) -> None:
        """Note the user's line that the main thread is at, whenever it is another one."""
        journal, main = self.journal, self.recorder.thread
        assert journal is not None
        last: Any = None
        while self.journal is journal:
            frame: Any = sys._current_frames().get(main)
            while frame is not None and self.recorder.is_library(frame.f_code.co_filename):
                # Above it is who started the check, not the program.
                frame = None if frame.f_code.co_name == "check_script" else frame.f_back
            if frame is not None:
                here = (frame.f_code, frame.f_lineno or frame.f_code.co_firstlineno)
                if here != last:
                    last = here
                    journal.say("at", s=journal.site(here))
            del frame
            time.sleep(_LOOK)

    def finish(self, failure: BaseException | None) -> None:
        """The program has ended."""
        if self.journal is None:
            return
        if failure is None:
            self.recorder.guarded(self._weights, "end")
            self.recorder.guarded(self.collectives.finish)
        self.journal.say("end", always=True, failed=failure is not None)
        journal, self.journal = self.journal, None
        journal.close()

    def site(self, site: Site | None) -> int | None:
        """A place's number in the journal."""
        assert self.journal is not None
        return self.journal.site(site)

    def say(self, kind: str, /, **facts: Any) -> None:
        """Write an event, where this process is a rank."""
        if self.journal is not None:
            self.journal.say(kind, **facts)

    # ---- replicas ----------------------------------------------------------------------------
    def _wrapping(self, old: Any) -> Any:
        def __init__(wrapper: Any, module: Any, *args: Any, **kwargs: Any) -> None:
            self.inside.append("wrapper")
            try:
                old(wrapper, module, *args, **kwargs)
            finally:
                self.inside.pop()
            if self.journal is not None and not self.recorder.idle:
                self.recorder.guarded(self._wrap, wrapper, self.recorder.site(2))

        return __init__

    def _wrap(self, wrapper: Any, site: Site | None) -> None:
        with self.recorder.reading():
            known = self.wrapped[number_of(wrapper)] = Wrapped(len(self.wrapped), wrapper)
            for m in wrapper.module.modules():
                self.inner[number_of(m)] = known
            self._data[known.number] = wrapper
            ranks = getattr(wrapper.process_group, "ranks", None)
            norms = [
                path for path, m in wrapper.module.named_modules() if type(m).__name__ in _NORMS
            ]
            self.say(
                "ddp",
                n=known.number,
                s=self.site(site),
                names=list(known.names.values()),
                ranks=ranks,
                norms=norms,
                unused=bool(wrapper.find_unused_parameters),
                static=bool(getattr(wrapper, "static_graph", False)),
                made={
                    name: self.site(made)
                    for name, m in wrapper.module.named_modules()
                    if (made := self.recorder.names.site_of(m)) is not None
                },
            )

    def _joined(self, old: Any) -> Any:
        @contextmanager
        def join(wrapper: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
            self.say("join")
            with old(wrapper, *args, **kwargs) as given:
                yield given
            self.say("joined", step=self.recorder.step)

        return join

    def _on_module_enter(self, call: ModuleCall) -> None:
        module = call.module
        if call.parent is None or number_of(module) not in self.inner:
            self._begins.setdefault(f"forward {call.number}", time.monotonic())
        known = self.wrapped.get(number_of(module))
        if known is not None:
            if call.grad_enabled:
                if module.require_backward_grad_sync:
                    known.synced = True
                crc = digest([a for v in call.inputs if (a := v.numpy()) is not None])
                rows = next((v.shape[0] for v in call.inputs if v.shape), None)
                self.say(
                    "forward",
                    ddp=known.number,
                    crc=crc,
                    rows=rows,
                    s=self.site(call.site),
                    batch=self._batch,
                    step=self.recorder.step,
                    training=call.training,
                )
        elif number_of(module) in self.inner and call.grad_enabled:
            parent: Any = call.parent
            while parent is not None and number_of(parent.module) not in self.wrapped:
                parent = parent.parent
            if parent is None:
                known = self.inner[number_of(module)]
                known.direct = known.direct or self._outside() or call.site
        if (
            type(module).__name__ in _NORMS
            and module.training
            and call.inputs
            and call.inputs[0].shape
            and number_of(module) in self.inner
        ):
            rows = call.inputs[0].shape[0]
            if rows < self._norms.get(number_of(module), 1 << 60):
                self._norms[number_of(module)] = rows
                self.say(
                    "norm",
                    path=call.path,
                    rows=rows,
                    shape=list(call.inputs[0].shape),
                    ddp=self.inner[number_of(module)].number,
                )
        if not call.grad_enabled and not module.training and call.parent is None:
            self.metrics.evaluates(call)

    def _outside(self) -> Site | None:
        """The innermost place of the user's outside of the wrapped models: not the method
        (`model.module.loss(x)`) that calls the model, but what calls the method.
        """
        frame: Any = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            own = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
            if number_of(own) not in self.inner and not self.recorder.is_library(code.co_filename):
                return Site(code, frame.f_lasti)
            frame = frame.f_back
        return None

    def _on_module_exit(self, call: ModuleCall) -> None:
        began = self._begins.pop(f"forward {call.number}", None)
        if began is not None and call.parent is None:
            self.say("span", k="forward", b=round(began, 6), s=self.site(call.site))

    def _on_backward_begin(self, b: Backward) -> None:
        self.inside.append("gradients")
        self._begins["backward"] = time.monotonic()
        self.averaged.clear()

    def _on_backward(self, b: Backward) -> None:
        if self.inside:
            self.inside.pop()
        self.say(
            "span",
            k="backward",
            b=round(self._begins.pop("backward", time.monotonic()), 6),
            s=self.site(b.site),
        )
        by: dict[int, list[Any]] = {}
        for each in b.accumulated:
            tensor = each.value.tensor
            for known in self.wrapped.values():
                if tensor is not None and number_of(tensor) in known.names:
                    by.setdefault(known.number, []).append(
                        (known.names[number_of(tensor)], each.onto)
                    )
        for known in self.wrapped.values():
            got = by.get(known.number)
            if got is None:
                continue
            wrapper = self._data[known.number]
            if known.synced:
                known.reductions += 1
                known.local = None
                self.clock += 1
                if not wrapper.require_backward_grad_sync:
                    self.say("late_no_sync", ddp=known.number, s=self.site(b.site))
                names = {name for name, _ in got}
                missing = tuple(name for name in known.names.values() if name not in names)
                self.say(
                    "reduced",
                    ddp=known.number,
                    s=self.site(b.site),
                    n=known.reductions,
                    onto=any(onto for _, onto in got),
                    step=self.recorder.step,
                )
                if missing and missing not in known.said:
                    known.said.add(missing)
                    called = {
                        number_of(c.module)
                        for c in self.recorder.calls
                        if c.step == self.recorder.step
                    }
                    homes = dict(wrapper.module.named_modules())
                    told = {
                        name: number_of(homes.get(name.rpartition(".")[0])) in called
                        for name in missing
                    }
                    self.say(
                        "unused",
                        ddp=known.number,
                        names=told,
                        s=self.site(b.site),
                        step=self.recorder.step,
                    )
            else:
                known.local = {
                    "s": self.site(known.direct or b.site),
                    "past": known.direct is not None,
                    "at": self.site(b.site),
                }
            known.synced, known.direct = False, None

    def _on_step_begin(self, s: Step) -> None:
        self._begins["optimizer"] = time.monotonic()
        ids = {number_of(v.tensor) for v in s.optimizer.params()}
        for known in self.wrapped.values():
            if (
                known.local is not None
                and not known.reductions
                and ids & set(known.names)
                and not ids & self.averaged
            ):
                self.say("unreduced", ddp=known.number, **known.local, step=s.number)
        if self._often():
            self._weights("before")

    def _on_step(self, s: Step) -> None:
        lrs = [g["lr"] for g in s.optimizer.groups if isinstance(g.get("lr"), (int, float))]
        self.say(
            "span",
            k="optimizer",
            b=round(self._begins.pop("optimizer", time.monotonic()), 6),
            s=self.site(s.site),
        )
        self.say(
            "step",
            n=s.number,
            s=self.site(s.site),
            lrs=lrs,
            made=self.site(s.optimizer.site),
            opt=s.optimizer.number,
            queued=_queued(),
        )
        for known in self.wrapped.values():
            known.reductions, known.local = 0, None
        self.averaged.clear()
        if self._often():
            self._weights("after")

    def _often(self) -> bool:
        n = self.recorder.step
        return n & (n - 1) == 0 or n < _OFTEN and self._bytes() <= _SMALL

    def _replicas(self) -> list[tuple[str, Any]]:
        found = [
            (name, p)
            for wrapper in self._data.values()
            for name, p in wrapper.module.named_parameters()
        ]
        if not found and self.by_hand:
            alive = {
                number_of(t): t for ref in self.recorder.leaves.values() if (t := ref()) is not None
            }
            found = [(name, alive[key]) for key, name in self.by_hand.items() if key in alive]
        return found

    def _bytes(self) -> int:
        return sum(p.numel() * p.element_size() for _, p in self._replicas())

    def _weights(self, when: str) -> None:
        """Digests of the replicas, and before a step of their gradients."""
        replicas = self._replicas()
        if not replicas or when == "end" and self._weights_at == self.recorder.step:
            return
        with self.recorder.reading():
            engine = self.engine
            crc = {name: digest([engine.array(p)]) for name, p in replicas}
            facts: dict[str, Any] = {"crc": crc}
            if when == "before":
                facts["grads"] = {
                    name: digest([engine.array(g)])
                    for name, p in replicas
                    if (g := engine.grad(p)) is not None
                }
                written = {
                    name: self.site(op.site)
                    for name, p in replicas
                    if (op := self.recorder.filled.get(self.recorder.value(p).id)) is not None
                    and op.step == self.recorder.step
                }
                facts["written"] = written
            self._weights_at = self.recorder.step + (when == "after")
            self.say(
                "weights",
                when=when,
                step=self._weights_at if when != "before" else self.recorder.step,
                **facts,
            )

    def reduces(self, tensors: list[Any]) -> None:
        """The program reduces these tensors itself: are they gradients?"""
        with self.recorder.reading():
            for tensor in tensors:
                value = self.recorder.value(tensor)
                for op in (*lineage(value, VIEWS), *ancestors([value], limit=500)):
                    if op.name == "grad":
                        for v in op.inputs:
                            leaf = v.tensor
                            if leaf is not None:
                                self.averaged.add(number_of(leaf))
                                if number_of(leaf) not in self.by_hand:
                                    self.by_hand[number_of(leaf)] = (
                                        v.name or f"parameter {len(self.by_hand)}"
                                    )

    # ---- data --------------------------------------------------------------------------------
    def _on_pass(self, loader: Any) -> None:
        held = loader.loader
        sampler = getattr(getattr(held, "batch_sampler", None), "sampler", None) or held.sampler
        dataset = loader.dataset
        facts: dict[str, Any] = {}
        if type(sampler).__name__ == "DistributedSampler":
            facts = {
                "epoch": sampler.epoch,
                "shuffled": bool(sampler.shuffle),
                "replicas": sampler.num_replicas,
                "of": sampler.rank,
            }
        try:
            batches: int | None = len(held)
        except TypeError:
            batches = None
        whole, offsets = dataset, None
        while type(whole).__name__ == "Subset":
            offsets = len(whole.indices)
            whole = whole.dataset
        arrays = [
            a for t in getattr(whole, "tensors", ())[:2] if (a := self.engine.array(t)) is not None
        ]
        size = len(whole) if hasattr(whole, "__len__") else None
        self.say(
            "pass",
            loader=loader.number,
            p=loader.passes,
            s=self.site(loader.site),
            at=self.site(self.recorder.site()),
            batches=batches,
            sampler=type(sampler).__name__,
            samples=size,
            part=offsets,
            data=digest(arrays) if arrays else None,
            step=self.recorder.step,
            **facts,
        )

    def _on_batch(self, batch: Any) -> None:
        self._batch = (batch.loader.number, batch.epoch)
        whole, indices = batch.loader.dataset, batch.indices
        while indices is not None and type(whole).__name__ == "Subset":
            indices = [whole.indices[i] for i in indices]
            whole = whole.dataset
        crc = digest([a for v in batch.values if (a := v.numpy()) is not None])
        taken = [int(i) for i in indices] if indices is not None and len(indices) <= 1024 else None
        self.say(
            "batch",
            loader=batch.loader.number,
            p=batch.epoch,
            i=batch.position,
            crc=crc,
            taken=taken,
            step=self.recorder.step,
        )

    def _ended_pass(self, old: Any) -> Any:
        def __next__(iterator: Any) -> Any:
            began = time.monotonic()
            try:
                return old(iterator)
            except StopIteration:
                if self._batch is not None and not self.recorder.idle:
                    self.say("passend", loader=self._batch[0], p=self._batch[1])
                raise
            finally:
                if (
                    self.journal is not None
                    and not self.recorder.idle
                    and time.monotonic() - began > 0.0002
                ):
                    self.say("span", k="data", b=round(began, 6), s=self.site(self.recorder.site()))

        return __next__

    def _drawn(self, op: Op) -> None:
        """A random number drawn by the program itself while it trains."""
        if (
            not op.direct
            or not op.grad_enabled
            or not self.recorder.step
            or op.output is None
            or op.output.numel < 8
        ):
            return
        if any(n in op.args and op.args[n] is not None for n in ("generator",)):
            return
        count = self._draws.get(op.site, 0)
        self._draws[op.site] = count + 1
        array = op.output.numpy()
        if count < _DRAWS and array is not None:
            self.say(
                "draw",
                s=self.site(op.site),
                crc=digest([array]),
                i=count,
                name=op.name,
                shape=list(op.output.shape),
            )

    # ---- files, gradients, errors ------------------------------------------------------------
    def _filed(self, old: Any, how: str) -> Any:
        def filed(*args: Any, **kwargs: Any) -> Any:
            target = (
                args[1]
                if how == "w" and len(args) > 1
                else args[0]
                if how == "r" and args
                else kwargs.get("f")
            )
            if (
                self.journal is not None
                and not self.recorder.idle
                and isinstance(target, (str, os.PathLike))
            ):
                site = self.recorder.site(2)
                chain = self.journal.chain(self.callers())
                self.say(
                    "file",
                    k=how,
                    path=os.path.abspath(target),
                    s=self.site(site),
                    clock=self.clock,
                    chain=chain,
                )
            return old(*args, **kwargs)

        return filed

    def _clipped(self, old: Any) -> Any:
        def clip_grad_norm_(parameters: Any, *args: Any, **kwargs: Any) -> Any:
            if self.journal is not None and not self.recorder.idle:
                if not isinstance(parameters, self.engine.Tensor):
                    parameters = list(parameters)
                self.recorder.guarded(self._clips, parameters, self.recorder.site(2))
            return old(parameters, *args, **kwargs)

        return clip_grad_norm_

    def _clips(self, parameters: Any, site: Site | None) -> None:
        ids = {number_of(p) for p in (parameters if isinstance(parameters, list) else [parameters])}
        for known in self.wrapped.values():
            if ids & set(known.names) and known.local is not None and not ids & self.averaged:
                self.say(
                    "clip", s=self.site(site), local=known.local["at"], step=self.recorder.step
                )
        if not self.wrapped:
            self.say(
                "clip",
                s=self.site(site),
                by_hand=bool(ids & set(self.by_hand)),
                averaged=bool(ids & self.averaged),
                local=None,
                step=self.recorder.step,
            )

    def _on_read(self, read: Read) -> None:
        self.collectives.read(read)
        self.metrics.read(read)

    def _on_exception(self, failure: Failure) -> None:
        error = failure.exception
        lines = str(error).strip().splitlines() or [""]
        assert self.journal is not None
        self.journal.say(
            "error",
            always=True,
            kind=type(error).__name__,
            text=lines[0][:600],
            whole="\n".join(lines)[:4000],
            s=self.site(failure.site),
            notes=list(getattr(error, "__notes__", ())),
            trace="".join(traceback.format_exception(error))[-4000:],
        )

    def purpose(self) -> str:
        """What a collective that begins now is for."""
        if self.inside:
            return self.inside[-1]
        return (
            "wrapper"
            if any(number_of(call.module) in self.wrapped for call in self.recorder.stack)
            else "program"
        )

    def callers(self) -> list[Site]:
        """The user's places that led here, the innermost first."""
        return self.recorder.callers()[:8]


def _queued() -> float:
    """Seconds that this thread has waited for a processor so far, because others had it."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
