"""The collectives: check the arguments (`calls`), then hand tasks to the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..errors import ArgumentValueError, OperationError
from .calls import (
    Target,
    _not_member,
    array_of,
    check_tensor,
    check_tensors,
    flat,
    rank_in,
    raw,
    repeated,
    same_dtype,
    shape_of,
    start,
)
from .groups import ProcessGroup, group_of, is_member
from .sparse import all_reduce_sparse
from .transport.engine import Staged, Steps
from .transport.reductions import ReduceOp, Reduction, kind, reduction_of
from .transport.shared import Board, Reduce
from .transport.work import Work


@repeated("tensor")
def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy the tensor of one rank to all others.

    Args:
        tensor: read on rank `src`, overwritten on the others; same shape and dtype everywhere.
        src, group_src: the sender's rank in the world, or in the group. Default: 0.
        group: the process group. Default: all processes.
        async_op: return a `Work` at once; otherwise wait, and return None. Default: False.

    Raises:
        ValueError: both ranks are given, or `src` is not in the group. RuntimeError: no such rank.
        torch.distributed.DistBackendError: the ranks' calls differ, or a rank is gone.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.tensor([1.0, 2.0])
    >>> dist.broadcast(x, src=0)
    >>> x
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """
    check_tensor(tensor, "tensor")
    if not is_member(group):
        return _not_member("broadcast")
    chosen = group_of(group)
    root = rank_in(chosen, src, group_src, "broadcast", 0)

    def steps() -> Steps:
        target = Target(tensor)
        if chosen.rank() == root:
            target.flat = flat(tensor)
        if target.flat.size:
            yield chosen.channel.comm.Ibcast(
                [raw(target.flat), chosen.channel.engine.mpi.BYTE], root
            )
        if chosen.rank() != root:
            target.done()

    return start("broadcast", chosen, (f"src={root}", shape_of(tensor)), steps, [tensor], async_op)


def _reduced(
    name: str,
    chosen: ProcessGroup,
    tensor: Tensor,
    op: Any,
    begin: Callable[[Any, Any, Reduction], Any],
    keep: bool,
) -> Steps:
    """Steps of a reduction in place of a tensor; `begin` gives the request for (values, reduction)."""
    reduction = Reduction(
        chosen.channel.engine.mpi, name, op, array_of(tensor).dtype, chosen.size()
    )
    target = Target(tensor)

    def steps() -> Steps:
        if target.flat.size == 0:
            return
        if not target.direct:
            target.flat = flat(tensor)
        values = reduction.carried(target.flat)
        yield begin(chosen.channel.comm, values, reduction)
        if keep:
            values = reduction.result(values)
            if (
                values.base is target.flat
                and target.direct
                or values is target.flat
                and target.direct
            ):
                target.done()
            else:
                target.put(values)

    return steps()


class _Through(Staged):
    """Steps of an all-reduce through memory that all ranks see."""

    def __init__(self, board: Board, tensor: Tensor, reduction: Reduction) -> None:
        self.board, self.tensor, self.reduction = board, tensor, reduction

    def fill(self) -> None:
        target, reduction = Target(self.tensor), self.reduction
        if not target.direct:
            target.flat = flat(self.tensor)
            # which may not be written to
            if np.may_share_memory(target.flat, array_of(self.tensor)):
                target.flat = target.flat.copy()
        self.target = target
        self.values = reduction.carried(target.flat)
        self.inner = Reduce(
            self.board,
            self.values,
            reduction.ufunc,
            reduction.divide if reduction.dividing else None,
        )
        self.inner.fill()

    def __iter__(self) -> Any:
        yield from self.inner
        values = self.reduction.result(self.values, self.reduction.dividing)
        if self.target.direct and np.may_share_memory(values, self.target.flat):
            self.target.done()
        else:
            self.target.put(values)


@repeated("tensor")
def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Replace the tensor on all ranks by the sum (or what `op` says) of all their tensors.

    The result is the same bit for bit on all ranks. bfloat16 and float16 are added in float32 and
    rounded once.

    Args:
        tensor: this rank's values, overwritten by the result; same shape and dtype on all ranks.
        op: a `ReduceOp`: SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR or BXOR. Default: SUM.
        group: the process group. Default: all processes.
        async_op: return a `Work` at once; otherwise wait, and return None. Default: False.

    Raises:
        ValueError: `op` is not defined for complex numbers. RuntimeError: bits of floating-point
            numbers.
        torch.distributed.DistBackendError: the ranks' tensors or calls differ, or a rank is gone.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.tensor([1.0, 2.0])
    >>> dist.all_reduce(x)  # with n ranks that have these values: n times as much
    >>> x
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """
    return all_reduced(tensor, op, group, async_op)


def all_reduced(
    tensor: Tensor, op: Any, group: Any, async_op: bool, soon: bool = False
) -> Work | None:
    """`all_reduce`, of which `start` is told that it is waited for soon."""
    check_tensor(tensor, "tensor")
    if not is_member(group):
        return _not_member("all_reduce")
    chosen = group_of(group)
    if tensor.is_sparse:
        return all_reduce_sparse(tensor, op, chosen, async_op, soon)
    if chosen.channel.board is not None:
        through = _Through(
            chosen.channel.board,
            tensor,
            reduction_of(
                chosen.channel.engine.mpi,
                "all_reduce",
                kind(op),
                array_of(tensor).dtype,
                chosen.size(),
            ),
        )
        return start(
            "all_reduce",
            chosen,
            (kind(op).name, shape_of(tensor)),
            lambda: through,
            [tensor],
            async_op,
            soon=soon,
        )
    steps = _reduced(
        "all_reduce",
        chosen,
        tensor,
        op,
        lambda comm, values, r: comm.Iallreduce(
            comm_in_place(chosen), [values, r.mpi_type], r.mpi_op
        ),
        True,
    )
    return start(
        "all_reduce",
        chosen,
        (kind(op).name, shape_of(tensor)),
        lambda: steps,
        [tensor],
        async_op,
        soon=soon,
    )


def comm_in_place(group: ProcessGroup) -> Any:
    """MPI's word for "the result replaces the argument"."""
    return group.channel.engine.mpi.IN_PLACE


@repeated("tensor")
def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Like `all_reduce`, but only rank `dst` gets the result; the other ranks keep their tensors.

    Args:
        tensor: this rank's values; overwritten by the result on rank `dst`.
        dst, group_dst: the receiver's rank in the world, or in the group. Default: 0.
        op: a `ReduceOp`. Default: SUM.
        group: the process group. Default: all processes.
        async_op: return a `Work` at once; otherwise wait, and return None. Default: False.
    """
    check_tensor(tensor, "tensor")
    if not is_member(group):
        return _not_member("reduce")
    chosen = group_of(group)
    root = rank_in(chosen, dst, group_dst, "reduce")
    mine = chosen.rank() == root

    def begin(comm: Any, values: Any, r: Reduction) -> Any:
        if mine:
            return comm.Ireduce(comm_in_place(chosen), [values, r.mpi_type], r.mpi_op, root)
        return comm.Ireduce([values, r.mpi_type], None, r.mpi_op, root)

    steps = _reduced("reduce", chosen, tensor, op, begin, mine)
    return start(
        "reduce",
        chosen,
        (kind(op).name, f"dst={root}", shape_of(tensor)),
        lambda: steps,
        [tensor],
        async_op,
    )


def _into_list(outputs: Sequence[Tensor], buffer: np.ndarray) -> None:
    """Deal a buffer out to tensors, in order."""
    at = 0
    for t in outputs:
        size = t._array.size
        Target(t).put(buffer[at : at + size])
        at += size


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Gather the tensors of all ranks into a list, on all ranks.

    Args:
        tensor_list: a tensor for each rank of the group, overwritten; the shapes may differ from
            rank to rank, as the ranks' tensors do.
        tensor: this rank's.
        group: the process group. Default: all processes.
        async_op: return a `Work` at once; otherwise wait, and return None. Default: False.

    Raises:
        RuntimeError: the list does not fit the ranks or their tensors.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> parts = [torch.zeros(2) for _ in range(dist.get_world_size())]
    >>> dist.all_gather(parts, torch.tensor([1.0, 2.0]))
    >>> parts
    [tensor([1., 2.])]
    >>> dist.destroy_process_group()
    """
    check_tensors(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    same_dtype(tensor_list, tensor)
    if not is_member(group):
        return _not_member("all_gather")
    chosen = group_of(group)
    n = chosen.size()
    if len(tensor_list) != n:
        raise OperationError(
            f"ProcessGroupGloo::allgather: invalid output tensor list at index 0 (expected length {n}, got {len(tensor_list)})"
        )
    if tensor_list[chosen.rank()]._array.size != tensor._array.size:
        wanted = ", ".join(map(str, tensor.shape))
        found = ", ".join(map(str, tensor_list[chosen.rank()].shape))
        raise OperationError(
            f"ProcessGroupGloo::allgather: invalid tensor size at index 0 (expected ({wanted}), got ({found}))"
        )
    sizes = [t._array.size for t in tensor_list]

    def steps() -> Steps:
        mine = flat(tensor)
        buffer = np.empty(sum(sizes), mine.dtype)
        counts = [size * mine.itemsize for size in sizes]
        if buffer.size:
            byte = chosen.channel.engine.mpi.BYTE
            yield chosen.channel.comm.Iallgatherv([raw(mine), byte], [raw(buffer), counts, byte])
        _into_list(tensor_list, buffer)

    facts = (str(tensor.dtype).replace("torch.", ""), *(str(list(t.shape)) for t in tensor_list))
    return start("all_gather", chosen, facts, steps, [tensor_list], async_op)


@repeated("output_tensor")
def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Gather the tensors of all ranks into one tensor, concatenated or stacked.

    Args:
        output_tensor: (n * k, ...) or (n, k, ...) for n ranks with tensors (k, ...); overwritten.
        input_tensor: this rank's, (k, ...).
        group: the process group. Default: all processes.
        async_op: return a `Work` at once; otherwise wait, and return None. Default: False.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> whole = torch.zeros(2 * dist.get_world_size())
    >>> dist.all_gather_into_tensor(whole, torch.tensor([1.0, 2.0]))
    >>> whole
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """
    check_tensor(input_tensor, "input_tensor")
    check_tensor(output_tensor, "output_tensor")
    same_dtype(output_tensor, input_tensor)
    if not is_member(group):
        return _not_member("all_gather_into_tensor")
    chosen = group_of(group)
    if output_tensor._array.size != input_tensor._array.size * chosen.size():
        parts = output_tensor.chunk(chosen.size())
        raise OperationError(
            _unfit("allgather", parts, input_tensor, chosen.size()),
            hint=f"{list(output_tensor.shape)} for {chosen.size()} tensors {list(input_tensor.shape)}",
        )

    def steps() -> Steps:
        mine, target = flat(input_tensor), Target(output_tensor)
        if np.may_share_memory(mine, target.flat):
            mine = mine.copy()
        if mine.size:
            byte = chosen.channel.engine.mpi.BYTE
            yield chosen.channel.comm.Iallgather([raw(mine), byte], [raw(target.flat), byte])
        target.done()

    return start(
        "all_gather_into_tensor",
        chosen,
        (shape_of(input_tensor),),
        steps,
        [output_tensor],
        async_op,
    )


def _list_on(there: bool, value: Any, name: str, place: str) -> list[Tensor]:
    """A list that is given on one rank and on no other."""
    if there:
        if not value:
            raise ArgumentValueError(f"Argument ``{name}`` must be specified on {place} rank.")
        return value
    if value:
        raise ArgumentValueError(f"Argument ``{name}`` must NOT be specified on non-{place} ranks.")
    return []


def _check_list(name: str, tensors: list[Tensor], tensor: Tensor, size: int) -> None:
    if len(tensors) != size:
        kind = "output" if name == "gather" else "input"
        raise OperationError(
            f"ProcessGroupGloo::{name}: Incorrect {kind} list size {len(tensors)}. {kind.capitalize()} list size should be "
            f"{size}, same as size of the process group."
        )
    if any(t.shape != tensor.shape for t in tensors):
        raise OperationError(_unfit(name, tensors, tensor, size))


def _unfit(name: str, tensors: Sequence[Tensor], tensor: Tensor, size: int) -> str:
    """What is wrong with a list of tensors that should have the shape of `tensor`."""
    for i, t in enumerate(tensors):
        if t.shape != tensor.shape:
            wanted, found = (", ".join(map(str, s)) for s in (tensor.shape, t.shape))
            return f"ProcessGroupGloo::{name}: invalid tensor size at index {i} (expected ({wanted}), got ({found}))"
    return f"ProcessGroupGloo::{name}: invalid output tensor list at index 0 (expected length {size}, got {len(tensors)})"


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Gather the tensors of all ranks into a list on rank `dst`.

    Args:
        tensor: this rank's.
        gather_list: on rank `dst` a tensor for each rank of the group, overwritten; None on the
            others.
        dst, group_dst: the receiver's rank in the world, or in the group. Default: 0.
        group: the process group. Default: all processes.
        async_op: return a `Work` at once; otherwise wait, and return None. Default: False.

    Raises:
        ValueError: the list is missing on rank `dst`, or given on another.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> parts = [torch.zeros(2)]
    >>> dist.gather(torch.tensor([1.0, 2.0]), parts, dst=0)
    >>> parts
    [tensor([1., 2.])]
    >>> dist.destroy_process_group()
    """
    check_tensor(tensor, "tensor")
    if gather_list:
        check_tensors(gather_list, "gather_list")
    else:
        gather_list = []
    same_dtype(tensor, gather_list)
    if not is_member(group):
        return _not_member("gather")
    chosen = group_of(group)
    root = rank_in(chosen, dst, group_dst, "gather", 0)
    there = chosen.rank() == root
    outputs = _list_on(there, gather_list, "gather_list", "destination")
    if there:
        _check_list("gather", outputs, tensor, chosen.size())

    def steps() -> Steps:
        mine = flat(tensor)
        buffer = np.empty(mine.size * chosen.size(), mine.dtype) if there else None
        if mine.size:
            byte = chosen.channel.engine.mpi.BYTE
            yield chosen.channel.comm.Igather(
                [raw(mine), byte], None if buffer is None else [raw(buffer), byte], root
            )
        if buffer is not None:
            _into_list(outputs, buffer)

    return start("gather", chosen, (f"dst={root}", shape_of(tensor)), steps, [outputs], async_op)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give each rank one tensor of rank `src`'s list.

    Args:
        tensor: overwritten by this rank's part.
        scatter_list: on rank `src` a tensor for each rank of the group; None on the others.
        src, group_src: the sender's rank in the world, or in the group. Default: 0.
        group: the process group. Default: all processes.
        async_op: return a `Work` at once; otherwise wait, and return None. Default: False.

    Raises:
        ValueError: the list is missing on rank `src`, or given on another.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.zeros(2)
    >>> dist.scatter(x, [torch.tensor([1.0, 2.0])], src=0)
    >>> x
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """
    check_tensor(tensor, "tensor")
    if scatter_list:
        check_tensors(scatter_list, "scatter_list")
    else:
        scatter_list = []
    same_dtype(tensor, scatter_list)
    if not is_member(group):
        return _not_member("scatter")
    chosen = group_of(group)
    root = rank_in(chosen, src, group_src, "scatter", 0)
    there = chosen.rank() == root
    inputs = _list_on(there, scatter_list, "scatter_list", "source")
    if there:
        _check_list("scatter", inputs, tensor, chosen.size())

    def steps() -> Steps:
        target = Target(tensor)
        if target.flat.size:
            byte = chosen.channel.engine.mpi.BYTE
            parts = [raw(np.concatenate([flat(t) for t in inputs])), byte] if there else None
            yield chosen.channel.comm.Iscatter(parts, [raw(target.flat), byte], root)
        target.done()

    return start("scatter", chosen, (f"src={root}", shape_of(tensor)), steps, [tensor], async_op)
