"""The collectives in which each rank receives a part of its own: `reduce_scatter` and `all_to_all`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..errors import OperationError
from .calls import (
    Target,
    _not_member,
    array_of,
    check_tensor,
    check_tensors,
    flat,
    raw,
    repeated,
    same_dtype,
    shape_of,
    start,
)
from .collectives import _into_list
from .groups import ProcessGroup, group_of, is_member
from .transport.engine import Steps
from .transport.reductions import ReduceOp, Reduction, kind
from .transport.work import Work


def _scattered_sum(
    name: str,
    chosen: ProcessGroup,
    output: Tensor,
    parts: Callable[[], np.ndarray],
    counts: list[int],
    op: Any,
) -> Steps:
    """Steps of a reduction of which each rank receives one part."""
    reduction = Reduction(
        chosen.channel.engine.mpi, name, op, array_of(output).dtype, chosen.size()
    )

    def steps() -> Steps:
        if sum(counts) == 0:
            return
        values = reduction.carried(parts())
        received = np.empty(counts[chosen.rank()], reduction.carrier)
        yield chosen.channel.comm.Ireduce_scatter(
            [values, reduction.mpi_type], [received, reduction.mpi_type], counts, reduction.mpi_op
        )
        Target(output).put(reduction.result(received))

    return steps()


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Sum the ranks' lists tensor by tensor, and give rank k the sum at position k.

    Args:
        output: overwritten by this rank's sum.
        input_list: a tensor for each rank of the group.
        op: a `ReduceOp`. Default: SUM.
        group: the process group. Default: all processes.
        async_op: return a `Work` at once; otherwise wait, and return None. Default: False.
    """
    check_tensor(output, "output")
    check_tensors(input_list, "input_list")
    same_dtype(output, input_list)
    if not is_member(group):
        return _not_member("reduce_scatter")
    chosen = group_of(group)
    if len(input_list) != chosen.size():
        raise OperationError(
            f"ProcessGroupGloo::reduce_scatter: input list of {len(input_list)} tensors for {chosen.size()} ranks"
        )
    if input_list[chosen.rank()]._array.size != output._array.size:
        raise OperationError(
            f"ProcessGroupGloo::reduce_scatter: output {list(output.shape)} for a sum of {list(input_list[chosen.rank()].shape)}"
        )
    counts = [t._array.size for t in input_list]
    steps = _scattered_sum(
        "reduce_scatter",
        chosen,
        output,
        lambda: np.concatenate([flat(t) for t in input_list]),
        counts,
        op,
    )
    facts = (
        kind(op).name,
        str(output.dtype).replace("torch.", ""),
        *(str(list(t.shape)) for t in input_list),
    )
    return start("reduce_scatter", chosen, facts, lambda: steps, [output], async_op)


@repeated("output")
def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Add up the ranks' tensors, and give each rank one of n equal parts of the sum.

    Args:
        output: overwritten by this rank's part, (k, ...).
        input: (n * k, ...) or (n, k, ...) for n ranks.
        op: a `ReduceOp`. Default: SUM.
        group: the process group. Default: all processes.
        async_op: return a `Work` at once; otherwise wait, and return None. Default: False.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.zeros(2)
    >>> dist.reduce_scatter_tensor(x, torch.tensor([1.0, 2.0]))
    >>> x
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    same_dtype(output, input)
    if not is_member(group):
        return _not_member("reduce_scatter_tensor")
    chosen = group_of(group)
    n = output._array.size
    if input._array.size != n * chosen.size():
        raise OperationError(
            "input tensor must be the same size as output size times world size",
            hint=f"{list(input.shape)} for {chosen.size()} parts {list(output.shape)}",
        )
    steps = _scattered_sum(
        "reduce_scatter_tensor", chosen, output, lambda: flat(input), [n] * chosen.size(), op
    )
    return start(
        "reduce_scatter_tensor",
        chosen,
        (kind(op).name, shape_of(output)),
        lambda: steps,
        [output],
        async_op,
    )


def _exchanged(
    chosen: ProcessGroup,
    sent: np.ndarray,
    out: list[int],
    into: list[int],
    dtype: np.dtype[Any],
    receive: Any,
) -> Steps:
    """Steps that send `out[k]` values to rank k and receive `into[k]` from it, after the ranks have
    told each other how many come.
    """
    mpi, comm, size = chosen.channel.engine.mpi, chosen.channel.comm, dtype.itemsize
    announced = np.empty(chosen.size(), np.int64)
    yield comm.Ialltoall([np.array(out, np.int64), mpi.INT64_T], [announced, mpi.INT64_T])
    wrong = [k for k in range(chosen.size()) if announced[k] != into[k]]
    refused = np.array([len(wrong)], np.int64)
    yield comm.Iallreduce(mpi.IN_PLACE, [refused, mpi.INT64_T], mpi.SUM)
    if wrong:
        said = ", ".join(
            f"rank {chosen.ranks[k]} sends {announced[k]} elements, expected {into[k]}"
            for k in wrong
        )
        raise OperationError(f"Detected mismatch between collectives on ranks: all_to_all: {said}")
    if refused[0]:
        raise OperationError(
            "Detected mismatch between collectives on ranks: all_to_all: other ranks expect other sizes"
        )
    buffer = np.empty(sum(into), dtype)
    yield comm.Ialltoallv(
        [raw(sent), [k * size for k in out], mpi.BYTE],
        [raw(buffer), [k * size for k in into], mpi.BYTE],
    )
    receive(buffer)


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send tensor k of the input list to rank k, and receive tensor k of the output list from it.

    Args:
        output_tensor_list: a tensor for each rank of the group, overwritten.
        input_tensor_list: a tensor for each rank of the group.
        group: the process group. Default: all processes.
        async_op: return a `Work` at once; otherwise wait, and return None. Default: False.
    """
    if not is_member(group):
        return _not_member("all_to_all")
    check_tensors(output_tensor_list, "output_tensor_list")
    check_tensors(input_tensor_list, "input_tensor_list")
    same_dtype(output_tensor_list, input_tensor_list)
    chosen = group_of(group)
    for tensors, name in ((output_tensor_list, "output"), (input_tensor_list, "input")):
        if len(tensors) != chosen.size():
            raise OperationError(
                f"all_to_all: {len(tensors)} {name} tensors for {chosen.size()} ranks"
            )

    def steps() -> Steps:
        sent = np.concatenate([flat(t) for t in input_tensor_list])
        out, into = ([t._array.size for t in ts] for ts in (input_tensor_list, output_tensor_list))
        yield from _exchanged(
            chosen,
            sent,
            out,
            into,
            sent.dtype,
            lambda buffer: _into_list(output_tensor_list, buffer),
        )

    facts = (str(input_tensor_list[0].dtype).replace("torch.", ""),)
    return start("all_to_all", chosen, facts, steps, [output_tensor_list], async_op)


def _splits(given: Any, length: int, n: int) -> list[int]:
    if not given:
        if length % n:
            raise OperationError("Tensor's dim 0 does not divide equally across group size")
        return [length // n] * n
    if len(given) != n:
        raise OperationError("Number of tensor splits not equal to group size")
    if sum(given) != length:
        raise OperationError("Split sizes doesn't match total dim 0 size")
    return [int(k) for k in given]


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """As `all_to_all` with the parts of one tensor along its first dimension; the parts are equal
    unless sizes are given.

    Args:
        output: overwritten by the received parts, in the order of the ranks.
        input: the parts to send, in the order of the ranks.
        output_split_sizes, input_split_sizes: rows to receive from, or send to, each rank. Default:
            equal parts.
        group: the process group. Default: all processes.
        async_op: return a `Work` at once; otherwise wait, and return None. Default: False.

    Raises:
        RuntimeError: the first dimension is not a multiple of the number of ranks, or the sizes do
            not add up to it.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> received = torch.zeros(2)
    >>> dist.all_to_all_single(received, torch.tensor([1.0, 2.0]))
    >>> received
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """
    if not is_member(group):
        return _not_member("all_to_all_single")
    check_tensor(output, "output")
    check_tensor(input, "input")
    same_dtype(output, input)
    chosen = group_of(group)
    n = chosen.size()
    out = _splits(input_split_sizes, len(input._array) if input.ndim else 1, n)
    into = _splits(output_split_sizes, len(output._array) if output.ndim else 1, n)
    row, row_out = (int(np.prod(t.shape[1:], dtype=np.int64)) for t in (input, output))

    def steps() -> Steps:
        sent = flat(input)
        yield from _exchanged(
            chosen,
            sent,
            [k * row for k in out],
            [k * row_out for k in into],
            sent.dtype,
            lambda buffer: Target(output).put(buffer),
        )

    facts = (str(input.dtype).replace("torch.", ""),)
    return start("all_to_all_single", chosen, facts, steps, [output], async_op)
