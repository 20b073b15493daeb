"""Collectives as methods of a `ProcessGroup`, which take lists and options and always return a `Work`,
and the options. `torch.distributed`'s functions call them in PyTorch; here it is the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from ..core.tensor import Tensor
from .barriers import barrier, monitored_barrier
from .collectives import (
    all_gather,
    all_gather_into_tensor,
    all_reduce,
    broadcast,
    gather,
    reduce,
    scatter,
)
from .exchanges import all_to_all, all_to_all_single, reduce_scatter, reduce_scatter_tensor
from .groups import ProcessGroup
from .messages import irecv, isend
from .transport.reductions import ReduceOp
from .transport.work import Work

_UNSET = timedelta(milliseconds=-1)


@dataclass
class AllreduceOptions:
    """What `ProcessGroup.allreduce` is told.

    >>> from pellucid.distributed import AllreduceOptions
    >>> options = AllreduceOptions()
    >>> options.asyncOp
    True
    """

    reduceOp: Any = ReduceOp.SUM  # noqa: N815 (PyTorch's names)
    timeout: timedelta = _UNSET
    asyncOp: bool = True  # noqa: N815
    sparseIndices: Any = None  # noqa: N815


@dataclass
class AllreduceCoalescedOptions(AllreduceOptions):
    """What `ProcessGroup.allreduce_coalesced` is told.

    >>> from pellucid.distributed import AllreduceCoalescedOptions
    >>> AllreduceCoalescedOptions().asyncOp
    True
    """


@dataclass
class AllgatherOptions:
    """What `ProcessGroup.allgather` is told.

    >>> from pellucid.distributed.distributed_c10d import AllgatherOptions
    >>> AllgatherOptions().asyncOp
    True
    """

    timeout: timedelta = _UNSET
    asyncOp: bool = True  # noqa: N815


@dataclass
class AllToAllOptions(AllgatherOptions):
    """What `ProcessGroup.alltoall` is told.

    >>> from pellucid.distributed import AllToAllOptions
    >>> AllToAllOptions().asyncOp
    True
    """


@dataclass
class BarrierOptions(AllgatherOptions):
    """What `ProcessGroup.barrier` is told.

    >>> from pellucid.distributed import BarrierOptions
    >>> BarrierOptions().device_ids
    []
    """

    device_ids: list[int] = field(default_factory=list)
    device: Any = None


@dataclass
class BroadcastOptions(AllgatherOptions):
    """What `ProcessGroup.broadcast` is told; `rootRank` is a rank of the group.

    >>> from pellucid.distributed import BroadcastOptions
    >>> BroadcastOptions().rootRank
    0
    """

    rootRank: int = 0  # noqa: N815
    rootTensor: int = 0  # noqa: N815


@dataclass
class GatherOptions(AllgatherOptions):
    """What `ProcessGroup.gather` is told; `rootRank` is a rank of the group.

    >>> from pellucid.distributed import GatherOptions
    >>> GatherOptions().rootRank
    0
    """

    rootRank: int = 0  # noqa: N815


@dataclass
class ScatterOptions(GatherOptions):
    """What `ProcessGroup.scatter` is told; `rootRank` is a rank of the group.

    >>> from pellucid.distributed import ScatterOptions
    >>> ScatterOptions().rootRank
    0
    """


@dataclass
class ReduceOptions(AllreduceOptions):
    """What `ProcessGroup.reduce` is told; `rootRank` is a rank of the group.

    >>> from pellucid.distributed import ReduceOptions
    >>> ReduceOptions().rootRank
    0
    """

    rootRank: int = 0  # noqa: N815
    rootTensor: int = 0  # noqa: N815


@dataclass
class ReduceScatterOptions(AllreduceOptions):
    """What `ProcessGroup.reduce_scatter` is told.

    >>> from pellucid.distributed import ReduceScatterOptions
    >>> ReduceScatterOptions().asyncOp
    True
    """


def _one(given: Any) -> Any:
    """A tensor, which may stand in a list of its own; so may a list of tensors."""
    return given[0] if isinstance(given, (list, tuple)) and len(given) == 1 else given


def _list(given: Any) -> Any:
    """The tensors of all ranks, a list that may stand in a list of its own."""
    return given[0] if given and isinstance(given[0], (list, tuple)) else given


def _op(opts: Any) -> Any:
    return opts.reduceOp if isinstance(opts, AllreduceOptions) else opts


def _root(opts: Any) -> int:
    return int(opts if isinstance(opts, int) else opts.rootRank)


class Methods:
    """What a `ProcessGroup` is given below. `opts` are options, or what the options hold: the
    operation or the root.
    """

    def allreduce(self, tensors: Any, opts: Any = ReduceOp.SUM, timeout: Any = None) -> Work:
        """`all_reduce` of a tensor."""
        return _begun(all_reduce(_one(tensors), _op(opts), self, True))

    def allreduce_coalesced(self, tensors: list[Tensor], opts: Any = ReduceOp.SUM) -> Work:
        """`all_reduce` of several tensors, one after the other; the work of the last."""
        return _last([self.allreduce(t, opts) for t in tensors])

    def reduce(
        self, tensors: Any, opts: Any = 0, op: Any = ReduceOp.SUM, timeout: Any = None
    ) -> Work:
        """`reduce` of a tensor."""
        op = opts.reduceOp if isinstance(opts, ReduceOptions) else op
        return _begun(
            reduce(_one(tensors), op=op, group=self, async_op=True, group_dst=_root(opts))
        )

    def broadcast(self, tensors: Any, opts: Any = 0, timeout: Any = None) -> Work:
        """`broadcast` of a tensor."""
        return _begun(broadcast(_one(tensors), group=self, async_op=True, group_src=_root(opts)))

    def allgather(
        self, output_tensors: Any, input_tensors: Any, opts: Any = None, timeout: Any = None
    ) -> Work:
        """`all_gather`: a list for each input, of which there is one."""
        return _begun(all_gather(list(_list(output_tensors)), _one(input_tensors), self, True))

    def _allgather_base(self, output: Any, input: Any, opts: Any = None) -> Work:
        return _begun(all_gather_into_tensor(output, input, self, True))

    all_gather_single = _allgather_base

    def allgather_into_tensor_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """`all_gather_into_tensor` of several tensors; the work of the last."""
        pairs = zip(outputs, inputs, strict=True)
        return _last([self._allgather_base(o, i) for o, i in pairs])

    all_gather_single_coalesced = allgather_into_tensor_coalesced

    def gather(
        self, output_tensors: Any, input_tensors: Any, opts: Any = 0, timeout: Any = None
    ) -> Work:
        """`gather` of a tensor; the output is an empty list on all ranks but the root."""
        return _begun(
            gather(
                _one(input_tensors),
                _list(output_tensors) or None,
                group=self,
                async_op=True,
                group_dst=_root(opts),
            )
        )

    def scatter(
        self, output_tensors: Any, input_tensors: Any, opts: Any = 0, timeout: Any = None
    ) -> Work:
        """`scatter` into a tensor; the input is an empty list on all ranks but the root."""
        return _begun(
            scatter(
                _one(output_tensors),
                _list(input_tensors) or None,
                group=self,
                async_op=True,
                group_src=_root(opts),
            )
        )

    def reduce_scatter(
        self, output_tensors: Any, input_tensors: Any, opts: Any = ReduceOp.SUM, timeout: Any = None
    ) -> Work:
        """`reduce_scatter` of a list."""
        return _begun(
            reduce_scatter(_one(output_tensors), list(_list(input_tensors)), _op(opts), self, True)
        )

    def _reduce_scatter_base(self, output: Any, input: Any, opts: Any = ReduceOp.SUM) -> Work:
        return _begun(reduce_scatter_tensor(output, input, _op(opts), self, True))

    reduce_scatter_single = _reduce_scatter_base

    def reduce_scatter_tensor_coalesced(
        self, outputs: Any, inputs: Any, opts: Any = ReduceOp.SUM
    ) -> Work:
        """`reduce_scatter_tensor` of several tensors; the work of the last."""
        pairs = zip(outputs, inputs, strict=True)
        return _last([self._reduce_scatter_base(o, i, opts) for o, i in pairs])

    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced

    def alltoall(self, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Work:
        """`all_to_all` of lists."""
        return _begun(all_to_all(list(output_tensors), list(input_tensors), self, True))

    def alltoall_base(
        self,
        output: Any,
        input: Any,
        output_split_sizes: Any = None,
        input_split_sizes: Any = None,
        opts: Any = None,
    ) -> Work:
        """`all_to_all_single` of two tensors."""
        sizes = output_split_sizes or None, input_split_sizes or None
        return _begun(all_to_all_single(output, input, *sizes, self, True))

    all_to_all_single = alltoall_base

    def send(self, tensors: Any, dstRank: int, tag: int = 0) -> Work:  # noqa: N803
        """`isend` to a rank of the group."""
        return _begun(isend(_one(tensors), group=self, tag=tag, group_dst=dstRank))

    def recv(self, tensors: Any, srcRank: int, tag: int = 0) -> Work:  # noqa: N803
        """`irecv` from a rank of the group."""
        return _begun(irecv(_one(tensors), group=self, tag=tag, group_src=srcRank))

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Work:
        """`irecv` from whoever sends."""
        return _begun(irecv(_one(tensors), group=self, tag=tag))

    def barrier(self, opts: Any = None, timeout: Any = None) -> Work:
        """`barrier`."""
        return _begun(barrier(self, True))

    def monitored_barrier(
        self, timeout: timedelta | None = None, wait_all_ranks: bool = False
    ) -> None:
        """`monitored_barrier`."""
        monitored_barrier(self, timeout, wait_all_ranks)


def _last(works: list[Work]) -> Work:
    """The last of several, when the others are over."""
    for work in works[:-1]:
        work.wait()
    return works[-1]


def _begun(work: Work | None) -> Work:
    assert work is not None  # asynchronous, on a member of the group
    return work


# Functions of this package take groups; that groups have them, too, comes last.
for _name, _method in vars(Methods).items():
    if not _name.startswith("__"):
        setattr(ProcessGroup, _name, _method)
