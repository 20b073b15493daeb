"""Collectives of Python objects, which travel pickled between the ranks of one job."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np

from ..core.tensor import Tensor, make_tensor
from ..errors import ArgumentValueError, OperationError
from . import calls, collectives, messages
from .groups import ProcessGroup, group_of, is_member


def _packed(value: Any) -> Tensor:
    file = io.BytesIO()
    pickle.Pickler(file, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return make_tensor(np.frombuffer(file.getvalue(), np.uint8).copy())


def _unpacked(array: np.ndarray) -> Any:
    return pickle.loads(array.tobytes())


def _sizes(group: ProcessGroup, mine: int) -> list[int]:
    """How many bytes each rank has."""
    counts = make_tensor(np.zeros(group.size(), np.int64))
    collectives.all_gather_into_tensor(counts, make_tensor(np.array([mine], np.int64)), group)
    return counts._array.tolist()


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Gather Python objects of all ranks into a list, on all ranks.

    Args:
        object_list: overwritten; as long as the group has ranks.
        obj: this rank's; it must be picklable.
        group: the process group. Default: all processes.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> found = [None]
    >>> dist.all_gather_object(found, {"rank": dist.get_rank()})
    >>> found
    [{'rank': 0}]
    >>> dist.destroy_process_group()
    """
    if not is_member(group):
        return
    chosen = group_of(group)
    mine = _packed(obj)
    sizes = _sizes(chosen, mine._array.size)
    parts = [make_tensor(np.empty(size, np.uint8)) for size in sizes]
    collectives.all_gather(parts, mine, chosen)
    for i, part in enumerate(parts):
        object_list[i] = _unpacked(part._array)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Gather Python objects of all ranks into a list on rank `dst`.

    Args:
        obj: this rank's; it must be picklable.
        object_gather_list: on rank `dst`: overwritten, as long as the group has ranks; None on the
            others.
        dst, group_dst: the receiver's rank in the world, or in the group. Default: 0.
        group: the process group. Default: all processes.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> found = [None]
    >>> dist.gather_object("hello", found)
    >>> found
    ['hello']
    >>> dist.destroy_process_group()
    """
    if not is_member(group):
        return
    chosen = group_of(group)
    root = calls.rank_in(chosen, dst, group_dst, "gather", 0)
    there = chosen.rank() == root
    collectives._list_on(there, object_gather_list, "gather_list", "destination")
    mine = _packed(obj)
    sizes = _sizes(chosen, mine._array.size)
    padded = np.zeros(max(sizes), np.uint8)
    padded[: mine._array.size] = mine._array
    parts = [make_tensor(np.empty(max(sizes), np.uint8)) for _ in sizes] if there else None
    collectives.gather(make_tensor(padded), parts, group=chosen, group_dst=root)
    if there and object_gather_list is not None and parts is not None:
        for i, (part, size) in enumerate(zip(parts, sizes, strict=True)):
            object_gather_list[i] = _unpacked(part._array[:size])


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Overwrite the list on all ranks by the objects of rank `src`; the lists have one length.

    Args:
        object_list: read on rank `src`, overwritten on the others; picklable objects.
        src, group_src: the sender's rank in the world, or in the group. Default: 0.
        group: the process group. Default: all processes.
        device: without an effect on processors.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> settings = [{"lr": 0.1}, "sgd"]
    >>> dist.broadcast_object_list(settings, src=0)
    >>> settings
    [{'lr': 0.1}, 'sgd']
    >>> dist.destroy_process_group()
    """
    if not is_member(group):
        return
    chosen = group_of(group)
    root = calls.rank_in(chosen, src, group_src, "broadcast", 0)
    there = chosen.rank() == root
    packed = [_packed(obj)._array for obj in object_list] if there else []
    sizes = make_tensor(
        np.array([p.size for p in packed] if there else [0] * len(object_list), np.int64)
    )
    collectives.broadcast(sizes, group=chosen, group_src=root)
    whole = make_tensor(
        np.concatenate(packed) if packed else np.empty(int(sizes._array.sum()), np.uint8)
    )
    collectives.broadcast(whole, group=chosen, group_src=root)
    if not there:
        at = 0
        for i, size in enumerate(sizes._array.tolist()):
            object_list[i] = _unpacked(whole._array[at : at + size])
            at += size


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Give each rank, in place 0 of its output list, one object of the list of rank `src`.

    Args:
        scatter_object_output_list: place 0 is overwritten.
        scatter_object_input_list: on rank `src` an object for each rank of the group.
        src, group_src: the sender's rank in the world, or in the group. Default: 0.
        group: the process group. Default: all processes.

    Raises:
        ValueError: the output list is empty, or there is no input list on `src`.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> mine = [None]
    >>> dist.scatter_object_list(mine, ["first"], src=0)
    >>> mine
    ['first']
    >>> dist.destroy_process_group()
    """
    if not is_member(group):
        return
    if not isinstance(scatter_object_output_list, list) or len(scatter_object_output_list) < 1:
        raise ArgumentValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    chosen = group_of(group)
    root = calls.rank_in(chosen, src, group_src, "broadcast", 0)
    there = chosen.rank() == root
    parts, sizes = None, make_tensor(np.zeros(chosen.size(), np.int64))
    if there:
        if scatter_object_input_list is None or len(scatter_object_input_list) != chosen.size():
            raise ArgumentValueError("source rank must provide non-None scatter_object_input_list")
        packed = [_packed(obj)._array for obj in scatter_object_input_list]
        sizes = make_tensor(np.array([p.size for p in packed], np.int64))
        longest = max(p.size for p in packed)
        parts = [
            make_tensor(np.concatenate([p, np.zeros(longest - p.size, np.uint8)])) for p in packed
        ]
    collectives.broadcast(sizes, group=chosen, group_src=root)
    mine = make_tensor(np.empty(int(sizes._array.max()), np.uint8))
    collectives.scatter(mine, parts, group=chosen, group_src=root)
    scatter_object_output_list[0] = _unpacked(mine._array[: sizes._array[chosen.rank()]])


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send a list of Python objects to rank `dst`, pickled.

    if dist.get_rank() == 0:
        dist.send_object_list([{"lr": 0.1}, "ready"], dst=1)
    else:
        received = [None, None]
        dist.recv_object_list(received, src=0)
    """
    if not is_member(group):
        return
    packed = [_packed(obj)._array for obj in object_list]
    messages.send(
        make_tensor(np.array([p.size for p in packed], np.int64)), dst, group, group_dst=group_dst
    )
    messages.send(make_tensor(np.concatenate(packed)), dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive Python objects from another rank into a list, as many as it has items; `send_object_list` has an example.

    Only receive objects from ranks that you trust, because unpickling can run code.

    Returns:
        The sender's rank; -1 if this process is not in the group.
    """
    if not is_member(group):
        return -1
    sizes = make_tensor(np.zeros(len(object_list), np.int64))
    sender = messages.recv(sizes, src, group, group_src=group_src)
    whole = make_tensor(np.empty(int(sizes._array.sum()), np.uint8))
    again = messages.recv(whole, sender, group)
    if again != sender:
        raise OperationError("Mismatch in return ranks for object sizes and objects.")
    at = 0
    for i, size in enumerate(sizes._array.tolist()):
        object_list[i] = _unpacked(whole._array[at : at + size])
        at += size
    return sender
