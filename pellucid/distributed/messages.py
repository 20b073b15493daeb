"""Point-to-point messages: send, recv, and batches of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import source, tracing
from ..core.tensor import Tensor
from ..errors import ArgumentValueError, OperationError
from .calls import Target, check_tensor, flat, rank_in, raw, shape_of
from .groups import ProcessGroup, group_of, is_member
from .transport.engine import CollectiveCall, Steps
from .transport.work import Work


def _begin(
    name: str, group: ProcessGroup, facts: tuple[Any, ...], steps: Steps, result: Any
) -> Work:
    tracing.setting("communicates with other processes")
    engine = group.channel.engine
    task = engine.message(
        group.channel,
        CollectiveCall(name, facts, source.capture(3)),
        steps,
        group.timeout.total_seconds(),
    )
    if not task.done:
        engine.in_background()
    return Work(engine, task, result)


def _not_self(group: ProcessGroup, rank: int, what: str) -> None:
    if group.rank() == rank:
        raise ArgumentValueError(
            f"Invalid {what} rank: {what} rank should not be the same as the rank of the current process."
        )


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Start sending a tensor to rank `dst`, and return at once. Do not change the tensor before `wait()`.

        if dist.get_rank() == 0:
            dist.isend(torch.ones(2), dst=1).wait()
        else:
            x = torch.empty(2)
            dist.irecv(x, src=0).wait()  # x is now tensor([1., 1.])

    Args:
        tensor: the values to send.
        dst, group_dst: the receiver's rank in the world, or in the group; give one of them.
        group: the process group. Default: all processes.
        tag: a number that `recv` must give, too. Default: 0.

    Returns:
        A `Work`; None if this process is not in the group.

    Raises:
        ValueError: `dst` is this rank, or not in the group.
    """
    check_tensor(tensor, "tensor")
    if not is_member(group):
        return None
    chosen = group_of(group)
    to = rank_in(chosen, dst, group_dst)
    _not_self(chosen, to, "destination")

    def steps() -> Steps:
        values = flat(tensor)
        yield chosen.channel.comm.Isend([raw(values), chosen.channel.engine.mpi.BYTE], to, tag)

    return _begin(
        "send",
        chosen,
        (f"dst={to}", f"tag={tag}" if tag else None, shape_of(tensor)),
        steps(),
        [tensor],
    )


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Start receiving a tensor from rank `src`, or from any rank if `src` is None. `isend` has an example.

    Args:
        tensor: overwritten; same shape and dtype as the sender's.
        src, group_src: the sender's rank in the world, or in the group. Default: any.
        group: the process group. Default: all processes.
        tag: the number that the sender gave. Default: 0.

    Returns:
        A `Work`; None if this process is not in the group.

    Raises:
        ValueError: `src` is this rank, or not in the group. RuntimeError: the sizes differ.
    """
    check_tensor(tensor, "tensor")
    if not is_member(group):
        return None
    chosen = group_of(group)
    origin = None if src is None and group_src is None else rank_in(chosen, src, group_src)
    if origin is not None:
        _not_self(chosen, origin, "source")
    mpi = chosen.channel.engine.mpi

    def steps() -> Steps:
        status, target = mpi.Status(), Target(tensor)
        while True:
            message = chosen.channel.comm.Improbe(
                mpi.ANY_SOURCE if origin is None else origin, tag, status
            )
            if message is not None:
                break
            yield True
        found, sender = status.Get_count(mpi.BYTE), status.Get_source()
        wanted = target.flat.nbytes
        if found != wanted:
            buffer = bytearray(found)
            yield message.Irecv([buffer, mpi.BYTE])
            raise OperationError(
                f"recv of {shape_of(tensor)} ({wanted} bytes) from rank {chosen.ranks[sender]}, which sent {found} bytes (tag {tag})"
            )
        yield message.Irecv([raw(target.flat), mpi.BYTE])
        target.done()
        return chosen.ranks[sender]

    facts = (
        None if origin is None else f"src={origin}",
        f"tag={tag}" if tag else None,
        shape_of(tensor),
    )
    return _begin("recv", chosen, facts, steps(), [tensor])


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to rank `dst`. After the call, the tensor may be changed.

    Args:
        tensor: the values to send.
        dst, group_dst: the receiver's rank in the world, or in the group; give one of them.
        group: the process group. Default: all processes.
        tag: a number that `recv` must give, too. Default: 0.

    Raises:
        ValueError: `dst` is this rank, or not in the group.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.send(torch.ones(2), dst=0)
    Traceback (most recent call last):
        ...
    ValueError: Invalid destination rank: destination rank should not be the...
    >>> dist.destroy_process_group()
    """
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive a tensor from rank `src`, or from any rank if `src` is None, and wait until it is there.

        if dist.get_rank() == 0:
            dist.send(torch.ones(2), dst=1)
        else:
            x = torch.empty(2)
            sender = dist.recv(x)  # 0

    Args:
        tensor: overwritten; same shape and dtype as the sender's.
        src, group_src: the sender's rank in the world, or in the group. Default: any.
        group: the process group. Default: all processes.
        tag: the number that the sender gave. Default: 0.

    Returns:
        The sender's rank; -1 if this process is not in the group.
    """
    work = irecv(tensor, src, group, tag, group_src)
    return -1 if work is None else work.source_rank()


class P2POp:
    """A message for `batch_isend_irecv`, which has an example.

    Args:
        op: `isend` or `irecv`.
        tensor: the tensor to send, or to receive into.
        peer, group_peer: the other rank in the world, or in the group.
        group: the process group. Default: all processes.
        tag: a number that both sides must give. Default: 0.

    Raises:
        ValueError: `op` is another function.
    """

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ArgumentValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``."
            )
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        chosen = group_of(group)
        self.group_peer = rank_in(chosen, peer, group_peer)
        self.peer = chosen.ranks[self.group_peer]
        self._where = chosen.group_name, chosen.rank()

    def __repr__(self) -> str:
        name, mine = self._where
        ends = (mine, self.group_peer) if self.op is isend else (self.group_peer, mine)
        return (
            f"P2POp({self.op.__name__} pg={name}, group_src={ends[0]}, group_dst={ends[1]},  "
            f"{self.tensor.shape}, {self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Start several sends and receives together, and return their `Work` objects.

    Each rank sends to the next one and receives from the previous one:

        rank, size = dist.get_rank(), dist.get_world_size()
        mine, theirs = torch.full((2,), float(rank)), torch.empty(2)
        messages = [
            dist.P2POp(dist.isend, mine, (rank + 1) % size),
            dist.P2POp(dist.irecv, theirs, (rank - 1) % size),
        ]
        for work in dist.batch_isend_irecv(messages):
            work.wait()

    Args:
        p2p_op_list: the messages, all in the same group.

    Raises:
        ValueError: an item is not a `P2POp`, or the groups differ.
    """
    if not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ArgumentValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``."
        )
    group = p2p_op_list[0].group
    if any(op.group is not group for op in p2p_op_list):
        raise ArgumentValueError("All ops need to use the same group.")
    made = []
    for op in p2p_op_list:
        peer = {"group_dst" if op.op is isend else "group_src": op.group_peer}
        made.append(op.op(op.tensor, group=group, tag=op.tag, **peer))
    return made
