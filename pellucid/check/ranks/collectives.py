"""Record calls of `torch.distributed`: each collective with its number, line and times, on Pellucid
and on PyTorch.

On Pellucid the engine reports them, so the reductions of DistributedDataParallel are included.
PyTorch makes those in C++, where they cannot be seen.
"""

from __future__ import annotations

import functools
import inspect
import sys
import time
from typing import Any

from ..events import Op, Read, Site

# name: which arguments say what is communicated, for the comparison between ranks
PUBLIC = {
    "all_reduce": ("op", "tensor"),
    "broadcast": ("src", "group_src", "tensor"),
    "reduce": ("dst", "group_dst", "op", "tensor"),
    "all_gather": ("tensor",),
    "all_gather_into_tensor": ("input_tensor",),
    "gather": ("dst", "group_dst", "tensor"),
    "scatter": ("src", "group_src", "tensor"),
    "reduce_scatter": ("op", "output"),
    "reduce_scatter_tensor": ("op", "output"),
    "all_to_all": (),
    "all_to_all_single": (),
    "barrier": (),
    "monitored_barrier": (),
    "all_gather_object": (),
    "broadcast_object_list": ("src", "group_src"),
    "gather_object": ("dst", "group_dst"),
    "scatter_object_list": ("src", "group_src"),
}
MESSAGES = ("isend", "irecv", "send", "recv")
_WRITTEN = ("tensor", "tensor_list", "output_tensor", "gather_list", "output", "output_tensor_list")
_HIDDEN = ("the world",)  # of joining and of making groups


class Collectives:
    """Notes calls, their ends and the waits for them."""

    def __init__(self, watch: Any) -> None:
        self.watch = watch
        self.depth = 0
        self.counts: dict[str, int] = {}
        # by `Value.id`: (name, site, id of the work)
        self.pending: dict[int, tuple[str, Any, int]] = {}
        self.works: dict[
            int, Any
            # by id of a task of the engine: its number; by -id of a work: (work, number, size of
            # the group)
        ] = {}
        self._signatures: dict[str, Any] = {}

    def install(self, hooks: Any) -> None:
        """Be told of calls."""
        torch = self.watch.recorder.torch
        dist = torch.distributed
        for name in (*PUBLIC, *MESSAGES):
            if name in vars(dist):
                hooks.replace(dist, name, functools.partial(self._public, name=name))
        for method in ("wait", "get_future"):
            try:
                hooks.replace(dist.Work, method, self._waited)
            except TypeError:  # a class that cannot be changed
                break
        if self.watch.engine.name == "pellucid":
            engine = sys.modules[f"{dist.__name__}.transport.engine"].Engine
            hooks.replace(engine, "collective", self._begun)
            hooks.replace(engine, "message", self._begun)
            hooks.replace(engine, "wait", self._engine_waits)

    # ---- the engine of Pellucid --------------------------------------------------------------
    def _begun(self, old: Any) -> Any:
        watch = self.watch

        def begun(engine: Any, channel: Any, call: Any, *args: Any, **kwargs: Any) -> Any:
            if watch.journal is None or channel.title in _HIDDEN:
                return old(engine, channel, call, *args, **kwargs)
            message = old.__name__ == "message"
            number = None if message else channel.count + 1
            key = self._told(
                call.name,
                channel.title,
                channel.ranks,
                number,
                call.words(),
                Site(*call.site) if call.site else None,
            )
            task = old(engine, channel, call, *args, **kwargs)
            self.works[id(task)] = key

            def done() -> None:
                self._done(key, task.error, len(channel.ranks))

            if task.done:
                done()
            else:
                task.finished.append(done)
            return task

        return begun

    def _engine_waits(self, old: Any) -> Any:
        watch = self.watch

        def wait(engine: Any, task: Any, *args: Any, **kwargs: Any) -> Any:
            known = self.works.pop(id(task), None)
            if watch.journal is None or known is None or task.done:
                return old(engine, task, *args, **kwargs)
            began = time.monotonic()
            try:
                return old(engine, task, *args, **kwargs)
            finally:
                watch.say("wait", c=known, b=round(began, 6), s=watch.site(watch.recorder.site(2)))

        return wait

    # ---- calls of either engine --------------------------------------------------------------
    def _told(
        self, name: str, group: str, ranks: Any, number: int | None, words: str, site: Site | None
    ) -> int:
        """A collective begins; returns its number in the journal."""
        watch = self.watch
        self.counts[""] = key = self.counts.get("", 0) + 1
        chain = watch.journal.chain(watch.callers())
        watch.say(
            "call",
            c=key,
            name=name,
            group=group,
            ranks=list(ranks),
            n=number,
            words=words,
            s=watch.site(site),
            chain=chain,
            why=watch.purpose(),
        )
        return key

    def _done(self, key: int, error: Any, size: int) -> None:
        watch = self.watch
        if size == watch.size and error is None:
            watch.clock += 1
        watch.say("done", c=key, error=None if error is None else str(error).splitlines()[0][:400])

    def _public(self, old: Any, name: str) -> Any:
        watch, foreign = self.watch, self.watch.engine.name != "pellucid"

        def called(*args: Any, **kwargs: Any) -> Any:
            if watch.journal is None or self.depth or watch.inside or watch.recorder.idle:
                return old(*args, **kwargs)
            site = watch.recorder.site(2)
            bound = self._bound(name, old, args, kwargs)
            if name in (
                "all_reduce",
                "all_gather",
                "gather",
                "reduce",
                "all_gather_into_tensor",
                "all_gather_object",
                "gather_object",
            ):
                watch.metrics.reduced = True
            tensors = self._tensors(bound)
            if name in ("all_reduce", "reduce", "reduce_scatter"):
                watch.recorder.guarded(watch.reduces, tensors)
            key = None
            if foreign and name in PUBLIC:
                key = watch.recorder.guarded(self._foreign, name, bound, site)
            self.depth += 1
            began, error = time.monotonic(), None
            try:
                result = old(*args, **kwargs)
            except BaseException as raised:
                error = raised
                raise
            finally:
                self.depth -= 1
                later = bound.get("async_op")
                if key is not None and (not later or error is not None):
                    watch.say("wait", c=key, b=round(began, 6), s=watch.site(site))
                    self._done(key, error, self._size(bound))
            direct = not watch.recorder.is_library(sys._getframe(1).f_code.co_filename)
            if direct and (bound.get("async_op") or name == "irecv") and result is not None:
                watch.recorder.guarded(
                    self._pends, name, site, result, tensors, key, self._size(bound)
                )
            return result

        return called

    def _bound(self, name: str, function: Any, args: Any, kwargs: Any) -> dict[str, Any]:
        signature = self._signatures.get(name)
        if signature is None:
            signature = self._signatures[name] = inspect.signature(function)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return dict(kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    def _tensors(self, bound: dict[str, Any]) -> list[Any]:
        kind, found = self.watch.engine.Tensor, []
        for name in _WRITTEN:
            value = bound.get(name)
            found += [
                t
                for t in (value if isinstance(value, (list, tuple)) else [value])
                if isinstance(t, kind)
            ]
        return found

    def _size(self, bound: dict[str, Any]) -> int:
        group = bound.get("group")
        return (
            self.watch.size
            if group is None
            else int(self.watch.recorder.torch.distributed.get_world_size(group))
        )

    def _foreign(self, name: str, bound: dict[str, Any], site: Site | None) -> int:
        """A collective of PyTorch's."""
        group = bound.get("group")
        if group is None:
            title, ranks = "the default group", list(range(self.watch.size))
        else:
            ranks = self.watch.recorder.torch.distributed.get_process_group_ranks(group)
            title = (
                f"group {group.group_name} (ranks {', '.join(map(str, ranks))})"
                if len(ranks) < self.watch.size
                else "the default group"
            )
        self.counts[title] = number = self.counts.get(title, 0) + 1
        facts = []
        for key in PUBLIC[name]:
            value = bound.get(key)
            if isinstance(value, self.watch.engine.Tensor):
                facts.append(f"{value.dtype}{list(value.shape)}".replace("torch.", ""))
            elif key == "op":
                facts.append(str(value).rpartition(".")[2].rstrip("0123456789:>) "))
            elif value is not None:
                facts.append(f"{key.removeprefix('group_')}={value}")
        return self._told(name, title, ranks, number, f"{name}({', '.join(facts)})", site)

    # ---- asynchronous work -------------------------------------------------------------------
    def _pends(
        self,
        name: str,
        site: Site | None,
        work: Any,
        tensors: list[Any],
        key: int | None,
        size: int,
    ) -> None:
        for t in tensors:
            value = self.watch.recorder.value(t)
            self.pending[value.id] = (name, site, id(work))
        self.works[-id(work)] = (work, key, size)

    def _waited(self, old: Any) -> Any:
        watch = self.watch

        def wait(work: Any, *args: Any, **kwargs: Any) -> Any:
            began = time.monotonic()
            result = old(work, *args, **kwargs)
            known = self.works.pop(-id(work), None)
            if known is not None:
                for value in [v for v, held in self.pending.items() if held[2] == id(work)]:
                    del self.pending[value]
                if known[1] is not None:
                    watch.say(
                        "wait", c=known[1], b=round(began, 6), s=watch.site(watch.recorder.site(2))
                    )
                    self._done(known[1], None, known[2])
            return result

        return wait

    def _unwaited(self, held: Any, at: Site | None, reads: str) -> None:
        name, site, _ = held
        self.watch.say(
            "unwaited", s=self.watch.site(site), at=self.watch.site(at), name=name, reads=reads
        )

    def seen(self, op: Op) -> None:
        """An operation reads tensors: of a collective that nobody has waited for?"""
        if not self.pending or self.depth:
            return
        for v in op.inputs:
            held = self.pending.pop(v.id, None)
            if held is not None:
                self._unwaited(held, op.site, op.name)

    def read(self, read: Read) -> None:
        """A value is taken out of a tensor."""
        held = self.pending.pop(read.value.id, None) if self.pending and not self.depth else None
        if held is not None:
            self._unwaited(held, read.site, read.how)

    def finish(self) -> None:
        """The program has ended: what was never waited for."""
        for held in self.pending.values():
            self._unwaited(held, None, "")
