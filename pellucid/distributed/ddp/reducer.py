"""Collect gradients in buckets, and reduce each bucket over the ranks as soon as its last
gradient is ready.

All ranks send the buckets in the same order: that of the parameters from last to first, which is
about the order in which backward reaches them. Source: Li et al., "PyTorch Distributed:
experiences on accelerating data parallel training", VLDB 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...arrays.sparse.array import package
from ...core import reverse, tracing
from ...core.tensor import Tensor, count_write, make_tensor, node_of, version_of
from ...errors import GraphError, OperationError
from ...futures import Future
from .. import calls, collectives
from ..groups import ProcessGroup
from ..job import world
from ..transport.reductions import RedOpType, ReduceOp, reduction_of
from ..transport.shared import STRIP, Reduce

ALIGNED = 128  # bytes
FIRST_BUCKET = 1 << 20  # bytes: small, so that the first reduction begins early


class Bucket:
    """Parameters whose gradients lie one after the other in `flat`."""

    def __init__(
        self, number: int, places: list[int], parameters: list[Tensor], flat: np.ndarray
    ) -> None:
        self.number, self.places, self.parameters, self.flat = number, places, parameters, flat
        self.ends = np.cumsum([0, *[p._array.size for p in parameters]]).tolist()
        self.parts = [
            self.flat[a:b].reshape(p._array.shape)
            for (a, b), p in zip(pairwise(self.ends), parameters, strict=True)
        ]
        self.whole: Tensor = make_tensor(flat)
        self.facts = "AVG", calls.shape_of(self.whole)
        self.steps: Reduce | None = None
        self.apart = False
        self.gradients: list[np.ndarray] = []  # while the reduction works in them
        self.waiting = 0
        self.future: Any = None

    def cuts(self) -> list[int]:
        """Where large parameters, whose gradients need not be copied, begin and end."""
        least = STRIP // self.flat.itemsize
        return [end for a, b in pairwise(self.ends) if b - a >= least for end in (a, b)]

    def reduced_by(self, steps: Reduce) -> None:
        """Reduce `flat` by these steps, in memory that all ranks see."""
        self.steps = steps
        sizes = [b - a for a, b in pairwise(self.ends)]
        least = STRIP // self.flat.itemsize
        self._kept: list[tuple[int, slice] | None] = []
        copied, at = [], 0
        for strip in steps.strips:
            k, part = self._places(strip.start, strip.stop)[0]
            self._kept.append((k, part) if sizes[k] >= least else None)
            if sizes[k] >= least:
                copied.append((at, strip.start))
                at = strip.stop
        self.apart = bool(copied)  # whether some are not copied
        copied.append((at, self.flat.size))
        self._sent = [
            (k, at, self.flat[self.ends[k] + at.start : self.ends[k] + at.stop])
            for a, b in copied
            for k, at in self._places(a, b)
        ]

    def _places(self, start: int, stop: int) -> list[tuple[int, slice]]:
        """The parameters, by their numbers, and of each the values, that lie in a part of `flat`."""
        found = [
            (k, slice(max(start - a, 0), min(stop, b) - a))
            for k, (a, b) in enumerate(pairwise(self.ends))
        ]
        return [(k, at) for k, at in found if at.start < at.stop]

    def share(self) -> bool:
        """Copy gradients into `flat` but for the large ones of this rank's share, which the reduction
        reads, and writes, where they are; False if they do not lie there as in `flat`.
        """
        assert self.steps is not None
        arrays = [p._grad._array for p in self.parameters if p._grad is not None]
        if len(arrays) < len(self.parameters):
            return False
        kind = self.flat.dtype
        for array in arrays:
            if not array.flags.carray or array.dtype != kind:
                return False
        self.gradients = arrays
        flats = [array.reshape(-1) for array in arrays]
        for k, at, part in self._sent:
            part[...] = flats[k][at]
        self.steps.own = [
            None if place is None else flats[place[0]][place[1]] for place in self._kept
        ]
        return True

    def collect(self, unused: set[int]) -> None:
        """Copy the gradients into `flat`, as zeros those that are missing or not used."""
        for place, parameter, part in zip(self.places, self.parameters, self.parts, strict=True):
            grad = parameter._grad
            if grad is None or place in unused:
                part[...] = 0
            elif grad._array is not part:
                part[...] = grad._array

    def fetch(self) -> None:
        """Copy the means from `flat` to the gradients which the reduction has not written."""
        assert self.steps is not None
        for k, at, part in self._sent:
            self.gradients[k].reshape(-1)[at] = part
        for parameter, array in zip(self.parameters, self.gradients, strict=True):
            grad = parameter._grad
            if grad is None:
                parameter._grad = make_tensor(array)
            else:
                if grad._array is not array:  # somebody has replaced it since
                    grad._array[...] = array
                count_write(version_of(grad))
        self.release()

    def release(self) -> None:
        """Reduce all of `flat` from now on."""
        self.gradients = []
        if self.steps is not None:
            self.steps.own = None


class GradBucket:
    """A bucket of gradients, as a communication hook gets it (`DistributedDataParallel.register_comm_hook`).

    The hook returns a future of the tensor that replaces the bucket's buffer:

        def average(state, bucket):
            work = dist.all_reduce(bucket.buffer().div_(dist.get_world_size()), async_op=True)
            return work.get_future().then(lambda future: future.value()[0])
    """

    def __init__(self, bucket: Bucket, last: bool) -> None:
        self._bucket, self._last = bucket, last
        self._buffer: Tensor = make_tensor(bucket.flat)

    def index(self) -> int:
        """The bucket's number, in the order in which buckets are reduced."""
        return self._bucket.number

    def buffer(self) -> Tensor:
        """All gradients in one dimension."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Take another tensor for the buffer."""
        self._buffer = buffer

    def gradients(self) -> list[Tensor]:
        """The gradients, which are parts of the buffer."""
        return [make_tensor(part) for part in self._bucket.parts]

    def parameters(self) -> list[Tensor]:
        """Whose gradients these are."""
        return list(self._bucket.parameters)

    def is_last(self) -> bool:
        """Whether this bucket is reduced last."""
        return self._last


def dealt(parameters: Sequence[Tensor], cap: int, first: int = FIRST_BUCKET) -> list[list[int]]:
    """Places of the parameters bucket by bucket: of one dtype each, from last to first, at most so
    many bytes unless one is larger.
    """
    result: list[list[int]] = []
    open_: dict[Any, tuple[list[int], int]] = {}
    limit = first
    for place in range(len(parameters))[::-1]:
        array = parameters[place]._array
        held, size = open_.get(array.dtype, ([], 0))
        held.append(place)
        size += array.nbytes
        if size >= limit:
            result.append(held)
            open_.pop(array.dtype, None)
            limit = cap
        else:
            open_[array.dtype] = (held, size)
    return result + [held for held, _ in open_.values()]


def memory_of(parts: Sequence[Sequence[Tensor]], group: ProcessGroup) -> list[np.ndarray]:
    """An array of zeros for the gradients of each list of parameters: where all ranks see it, if
    they are on one machine.
    """
    if not parts:
        return []
    kinds = [part[0]._array.dtype for part in parts]
    sizes = [sum(int(p._array.size) for p in part) for part in parts]
    starts = np.cumsum(
        [
            0,
            *[
                -(-n * kind.itemsize // ALIGNED) * ALIGNED
                for n, kind in zip(sizes, kinds, strict=True)
            ],
        ]
    )
    entered = world.current()
    assert entered is not None
    region = entered.region(group.channel, int(starts[-1]))
    if region is None:
        return [np.zeros(n, kind) for n, kind in zip(sizes, kinds, strict=True)]
    found = [
        region[a : a + n * kind.itemsize].view(kind)
        for a, n, kind in zip(starts, sizes, kinds, strict=False)
    ]
    for flat in found:
        flat[...] = 0
    return found


def reached(values: Any) -> set[int]:
    """The ids of the leaves that tensors, in whatever structure, depend on."""
    leaves: set[int] = set()
    seen: set[int] = set()
    stack: list[Any] = []
    for tensor in tensors_in(values):
        stack.append(tensor._node if tensor._node is not None else tensor)
    while stack:
        edge = stack.pop()
        if isinstance(edge, Tensor):
            leaves.add(id(edge))
            continue
        node = node_of(edge)
        if id(node) not in seen:
            seen.add(id(node))
            stack += [e for e in node.inputs if e is not None]
    return leaves


def tensors_in(values: Any) -> list[Tensor]:
    """The tensors that require a gradient in a structure of lists, dictionaries and objects with
    fields.
    """
    found, stack, seen = [], [values], set()
    while stack:
        value = stack.pop()
        if isinstance(value, Tensor):
            if value._rg:
                found.append(value)
        elif isinstance(value, dict):
            stack += value.values()
        elif isinstance(value, (list, tuple, set, frozenset)):
            stack += value
        elif hasattr(value, "__dict__") and not isinstance(value, type) and id(value) not in seen:
            seen.add(id(value))
            stack += vars(value).values()
    return found


_NOT_FINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your module has "
    "parameters that were not used in producing loss. You can enable unused parameter detection by passing the keyword argument "
    "`find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by \nmaking sure all `forward` function outputs "
    "participate in calculating loss. \nIf you already have done the above, then the distributed data parallel module wasn't able to "
    "locate the output tensors in the return value of your module's `forward` function. Please include the loss function and the "
    "structure of the return value of `forward` of your module when reporting this issue (e.g. list, dict, iterable).\nParameter indices "
    "which did not receive grad for rank {rank}: {places}\n In addition, you can set the environment variable TORCH_DISTRIBUTED_DEBUG to "
    "either INFO or DETAIL to print out information about which particular parameters did not receive gradient on this rank as part of "
    "this error"
)


class Reducer(tracing.Fixed):
    """Averages the gradients of parameters over the ranks during backward.

    While a step is compiled, the program gets copies of gradients into the buckets, calls of
    `all_reduce_start` where a bucket's last gradient is there, and calls of `all_reduce_wait` and
    copies back where backward ends.

    Args:
        named: (name, parameter) of those that require a gradient, the same on all ranks.
        group: the ranks.
        cap, first: bytes of a bucket, and of the first one.
        find_unused: look in each forward which parameters the result does not depend on.
        static_graph: what is used, and how often, is the same in each iteration; the first one
            finds it out.
        as_view: gradients are parts of the buckets, without a copy.
        sparse: names of the parameters whose gradients are sparse. They are reduced after backward.
    """

    def __init__(
        self,
        named: Sequence[tuple[str, Tensor]],
        group: ProcessGroup,
        cap: int,
        find_unused: bool,
        static_graph: bool,
        as_view: bool,
        first: int = FIRST_BUCKET,
        sparse: Sequence[str] = (),
    ) -> None:
        self.names = [name for name, _ in named]
        self.parameters = [p for _, p in named]
        self.group, self.find_unused, self.static, self.as_view = (
            group,
            find_unused,
            static_graph,
            as_view,
        )
        self.sparse = [k for k, name in enumerate(self.names) if name in sparse]
        dense = [p for k, p in enumerate(self.parameters) if k not in self.sparse]
        parts = [[dense[k] for k in places] for places in dealt(dense, cap, first)]
        places = {id(p): k for k, p in enumerate(self.parameters)}
        self.buckets = [
            Bucket(i, [places[id(p)] for p in part], part, flat)
            for i, (part, flat) in enumerate(zip(parts, memory_of(parts, group), strict=True))
        ]
        board = group.channel.board
        for bucket in self.buckets:
            # sums of two-byte numbers could overflow
            if board is not None and bucket.flat.itemsize >= 4:
                mpi, kind = group.channel.engine.mpi, bucket.flat.dtype
                mean = reduction_of(mpi, "all_reduce", RedOpType.AVG, kind, group.size())
                steps = Reduce(board, bucket.flat, mean.ufunc, mean.divide, bucket.cuts())
                if steps.in_place:
                    bucket.reduced_by(steps)
        self.home = {k: bucket for bucket in self.buckets for k in bucket.places}
        self.hook: Callable[[Any, GradBucket], Future[Any]] | None = None
        self.hook_state: Any = None
        self.divisor = group.size()
        self.joined = False  # ranks without data take part with zeros
        self.expecting = False  # the backward to come reduces
        self.queued = False
        self.next = self.handed = 0  # buckets that were sent, and whose averages were taken
        self.ready: set[int] = set()
        self.unused: set[int] = set()
        self.times: list[int] | None = None  # static graph: how often each gradient is added to
        self.counts = [0] * len(named)
        self.unfinished: list[tuple[int, str]] = []
        self.outputs: Any = None
        self.handles = [
            p.register_post_accumulate_grad_hook(self._hook(k))
            for k, p in enumerate(self.parameters)
        ]

    def _hook(self, place: int) -> Callable[[Tensor], None]:
        return lambda parameter: tracing.aside(self._arrived, place)

    # ---- an iteration ------------------------------------------------------------------------
    def check_finished(self) -> None:
        """Raise PyTorch's error if the backward before this forward left parameters without a
        gradient.
        """
        if not self.unfinished:
            return
        left, self.unfinished = self.unfinished, []
        places = " ".join(str(k) for k, _ in left)
        raise OperationError(
            _NOT_FINISHED.format(rank=self.group.rank(), places=places),
            notes=[f"{self.names[k]} {list(self.parameters[k].shape)}: {why}" for k, why in left],
        )

    def prepare(self, outputs: Any) -> None:
        """A forward that is followed by a reducing backward has ended with these outputs."""
        if self.find_unused or self.static:
            tracing.setting("asks all ranks which parameters they used")
        if self.hook is not None:
            tracing.setting("calls a communication hook")
        if self.sparse:
            tracing.setting("reduces sparse gradients")
        tracing.communication(expect_gradients, self)
        tracing.aside(self._expect, outputs)

    def pause(self) -> None:
        """A forward has ended whose backward does not reduce."""
        tracing.communication(expect_no_gradients, self)

    def _expect(self, outputs: Any) -> None:
        self.expecting, self.queued, self.next, self.handed = True, False, 0, 0
        self.ready, self.unfinished = set(), []
        if self.times is None:  # what a static graph leaves out, its first iteration has found out
            self.unused = set()
        self.counts = [0] * len(self.parameters)
        self.outputs = outputs if not self.find_unused else None
        for bucket in self.buckets:
            bucket.waiting, bucket.future = len(bucket.places), None
            bucket.release()
        if self.static and self.times is None:
            # counts whole backwards: those of checkpoints inside end earlier
            for t in tensors_in(outputs):
                t.register_hook(lambda _: self._queue())
        elif self.find_unused and not self.static:
            used = reached(outputs)
            self.unused = {k for k, p in enumerate(self.parameters) if id(p) not in used}

    def _arrived(self, place: int) -> None:
        """The gradient of a parameter has been accumulated."""
        if not self.expecting:
            return
        if self.static and self.times is None:
            self.counts[place] += 1
            return
        if not self.queued:
            self._queue()
            for k in sorted(self.unused - self.ready):
                self._mark(k)
        if self.times is not None:
            self.counts[place] += 1
            if self.counts[place] < self.times[place]:
                return
        self._mark(place)

    def _queue(self) -> None:
        if not self.queued:
            self.queued = True
            reverse.queue_callback(self._finish)

    def _mark(self, place: int) -> None:
        if place in self.ready:
            name = self.names[place]
            raise GraphError(
                "Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a module "
                "parameter outside the `forward` function. Please make sure model parameters are not shared across multiple concurrent "
                "forward-backward passes. or try to use _set_static_graph() as a workaround if this module graph does not change during "
                "training loop.2) Reused parameters in multiple reentrant backward passes. For example, if you use multiple `checkpoint` "
                "functions to wrap the same part of your model, it would result in the same set of parameters been used by different "
                "reentrant backward passes multiple times, and hence marking a variable ready multiple times. DDP does not support such use "
                "cases in default. You can try to use _set_static_graph() as a workaround if your module graph does not change over "
                f"iterations.\nParameter at index {place} with name {name} has been marked as ready twice. This means that multiple "
                "autograd engine  hooks have fired for this particular parameter during this iteration."
            )
        self.ready.add(place)
        bucket = self.home.get(place)
        if bucket is None:  # its gradient is sparse
            return
        bucket.waiting -= 1
        while self.next < len(self.buckets) and not self.buckets[self.next].waiting:
            self._send(self.buckets[self.next])
            self.next += 1

    def _send(self, bucket: Bucket) -> None:
        tracer = tracing.tracer()
        if tracer and self.hook is None:
            tracer.shared_memory(bucket.flat, f"bucket {bucket.number}")
            for parameter, part in zip(bucket.parameters, bucket.parts, strict=True):
                if parameter._grad is None:
                    part[...] = 0
                elif np.may_share_memory(parameter._grad._array, part):
                    tracing.setting("adds to gradients that are parts of the buckets")
                else:
                    tracer.moved(part, parameter._grad._array)
            tracing.communication(
                all_reduce_start, self, bucket.number, bucket.flat, writes=(bucket.flat,)
            )
        else:
            plain = not (self.as_view or self.joined or self.unused or self.hook is not None)
            if not (plain and bucket.apart and bucket.share()):
                bucket.collect(self.unused)
            self._start(bucket)

    def _start(self, bucket: Bucket) -> None:
        """Begin with the reduction of a bucket."""
        if self.hook is not None:
            bucket.future = self.hook(
                self.hook_state, GradBucket(bucket, bucket.number == len(self.buckets) - 1)
            )
            if not isinstance(bucket.future, Future):
                raise OperationError(
                    "Output of the communication hook must be a torch.futures.Future object."
                )
            return
        steps = bucket.steps
        if steps is not None and not self.joined:
            # `all_reduce`, of which everything but the meeting has been prepared
            bucket.future = calls.start(
                "all_reduce", self.group, bucket.facts, steps.__iter__, None, True, soon=True
            )
            return
        op = ReduceOp.AVG
        if self.joined or bucket.flat.itemsize < 4:
            op = ReduceOp.SUM
            if self.divisor != 1:
                np.divide(bucket.flat, self.divisor, out=bucket.flat)
        bucket.future = collectives.all_reduced(bucket.whole, op, self.group, True, soon=True)

    def _finish(self) -> None:
        """Backward, or that of a checkpoint inside, is over: wait for the buckets that were sent,
        and hand their gradients out.
        """
        self.queued = False
        if self.static and self.times is None:
            self.times = list(self.counts)
            self.unused = {k for k, count in enumerate(self.counts) if not count}
            for k in range(len(self.parameters)):
                self._mark(k)
        elif self.static:
            for k in self.unused - self.ready:
                self._mark(k)
        if tracing.tracer() and self.next < len(self.buckets):
            tracing.setting("leaves parameters without a gradient")
        missing = [k for k in range(len(self.parameters)) if k not in self.ready]
        self.unfinished = self._reasons(missing)
        somewhere = None
        if self.find_unused or self.static:
            if missing:
                return
            somewhere = self._used_somewhere()
        for bucket in self.buckets[self.handed : self.next]:
            self._hand_out(bucket, somewhere)
        self.handed = self.next
        if missing:
            return
        self.expecting, self.outputs = False, None
        for place in self.sparse:
            if somewhere is None or somewhere[place]:
                mean = self._sparse_mean(place, place not in self.unused)
                self.parameters[place]._grad = mean

    def _reasons(self, missing: list[int]) -> list[tuple[int, str]]:
        """Why parameters have no gradient."""
        if not missing:
            return []
        used = reached(self.outputs)
        dead = "forward's result does not depend on it (its module was not called, or what it computed was detached)"
        apart = "forward's result depends on it, but the loss does not use that part of the result"
        return [(k, apart if id(self.parameters[k]) in used else dead) for k in missing]

    def _sparse_mean(self, place: int, used: bool) -> Tensor:
        """The average of the rows of an embedding's gradient; a rank that has none adds nothing."""
        parameter = self.parameters[place]
        grad: Any = parameter._grad if used else None
        if grad is None:
            nothing = parameter._array[:0]
            grad = package().sparse_coo_tensor(
                make_tensor(np.empty((1, 0), np.int64)), make_tensor(nothing), parameter.shape
            )
        mean: Tensor = grad / self.divisor
        collectives.all_reduce(mean, ReduceOp.SUM, self.group)
        return mean

    def _used_somewhere(self) -> np.ndarray:
        """Which parameters some rank has used."""
        used = np.array([k not in self.unused for k in range(len(self.parameters))], np.int32)
        collectives.all_reduce(make_tensor(used), ReduceOp.SUM, self.group)
        return used

    def _hand_out(self, bucket: Bucket, somewhere: np.ndarray | None) -> None:
        tracer = tracing.tracer() if self.hook is None else None
        result = tracing.communication(
            all_reduce_wait, self, bucket.number, bucket.flat, writes=(bucket.flat,)
        )
        if bucket.gradients:
            bucket.fetch()
            return
        if self.hook is not None:
            value = result[0] if isinstance(result, (list, tuple)) else result
            if value._array is not bucket.flat:
                np.copyto(bucket.flat, value._array.reshape(-1), casting="unsafe")
        for place, parameter, part in zip(
            bucket.places, bucket.parameters, bucket.parts, strict=True
        ):
            if somewhere is not None and not somewhere[place]:
                continue
            grad = parameter._grad
            if tracer and grad is not None:  # compiled steps leave gradients in memory of their own
                if not np.may_share_memory(grad._array, part):
                    tracer.moved(grad._array, part)
                    count_write(version_of(grad))
            elif self.as_view:
                if grad is None or not np.may_share_memory(grad._array, part):
                    parameter._grad = make_tensor(part)
            elif grad is None:
                parameter._grad = make_tensor(part.copy())
            else:
                grad._array[...] = part
                count_write(version_of(grad))

    def shadow(self, divisor: int) -> None:
        """Take part in a backward of the others with zeros: this rank has no data left."""
        works: list[Any] = []
        for bucket in self.buckets:
            bucket.flat[...] = 0
            if self.hook is not None:
                works.append(
                    self.hook(
                        self.hook_state, GradBucket(bucket, bucket.number == len(self.buckets) - 1)
                    )
                )
            else:
                works.append(
                    collectives.all_reduce(
                        make_tensor(bucket.flat), ReduceOp.SUM, self.group, async_op=True
                    )
                )
        for work in works:
            work.wait()
        for place in self.sparse:
            self._sparse_mean(place, False)
        if self.find_unused or self.static:
            collectives.all_reduce(
                make_tensor(np.zeros(len(self.parameters), np.int32)), ReduceOp.SUM, self.group
            )


# ---- what a compiled step calls again --------------------------------------------------------------
def expect_gradients(reducer: Reducer) -> None:
    """A forward begins whose backward reduces."""
    reducer.check_finished()
    reducer._expect(None)


def expect_no_gradients(reducer: Reducer) -> None:
    """A forward begins whose backward does not reduce."""
    reducer.expecting = False


def all_reduce_start(reducer: Reducer, number: int, flat: np.ndarray) -> None:
    """Begin with the reduction of a bucket, whose last gradient is there."""
    reducer._start(reducer.buckets[number])


def all_reduce_wait(reducer: Reducer, number: int, flat: np.ndarray) -> Any:
    """Wait until a bucket holds the averages."""
    bucket = reducer.buckets[number]
    if number == len(reducer.buckets) - 1:
        reducer.expecting = False
    future, bucket.future = bucket.future, None
    return future.wait()


def broadcast_coalesced(tensors: Sequence[Tensor], group: ProcessGroup, root: int = 0) -> None:
    """Overwrite tensors by those of one rank, all of a dtype in one message."""
    arrays = [calls.array_of(t) for t in tensors]
    tracing.communication(broadcast_all, arrays, group, root, writes=tuple(arrays))
    if group.rank() != root:
        for t in tensors:
            count_write(version_of(t))


def broadcast_all(arrays: Sequence[np.ndarray], group: ProcessGroup, root: int) -> None:
    """Overwrite arrays by those of one rank."""
    by_type: dict[Any, list[np.ndarray]] = {}
    for array in arrays:
        by_type.setdefault(array.dtype, []).append(array)
    for chosen in by_type.values():
        whole = np.concatenate([a.reshape(-1) for a in chosen])
        collectives.broadcast(make_tensor(whole), group=group, group_src=root)
        if group.rank() != root:
            at = 0
            for a in chosen:
                a[...] = whole[at : at + a.size].reshape(a.shape)
                at += a.size
