"""Barriers: ranks wait for each other. A monitored barrier names the ranks that are missing."""

from __future__ import annotations

import pdb  # noqa: T100 (what it is for)
import sys
import traceback
from datetime import timedelta
from typing import Any

from ..errors import ArgumentTypeError, OperationError
from .calls import _not_member, repeated, start
from .groups import get_rank, group_of, is_member
from .job.stores import DistStoreError
from .transport.engine import Steps
from .transport.work import Work


def _nothing() -> Steps:
    """A collective without data: that the ranks compare their calls is all."""
    return
    yield


@repeated()
def barrier(
    group: Any = None,
    async_op: bool = False,
    device_ids: Any = None,
    timeout: timedelta | None = None,
) -> Work | None:
    """Wait until all ranks of the group have called this.

    Args:
        group: the process group. Default: all processes.
        async_op: return a `Work` at once; otherwise wait, and return None. Default: False.
        device_ids: accepted, without effect on CPUs.
        timeout: how long to wait. Default: the group's timeout.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.barrier()
    >>> dist.destroy_process_group()
    """
    if not is_member(group):
        return _not_member("barrier")
    if device_ids is not None and not isinstance(device_ids, list):
        raise ArgumentTypeError("Invalid function argument: device_ids type should be List[int]")
    chosen = group_of(group)
    return start(
        "barrier",
        chosen,
        (),
        _nothing,
        [],
        async_op,
        None if timeout is None else timeout.total_seconds(),
    )


_passed: dict[
    str, int
] = {}  # how often `breakpoint(skip=...)` was passed, by the lines that led to it


def breakpoint(rank: int = 0, skip: int = 0, timeout_s: float | None = 3600) -> None:
    """Stop all ranks, one of them in the debugger `pdb`; the others wait until it goes on.

    Args:
        rank: which one.
        skip: how often to pass this line without stopping. Default: 0.
        timeout_s: how many seconds the others wait; None: the group's timeout. Default: 3600.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.breakpoint(skip=1)  # the first time it is passed
    >>> dist.destroy_process_group()
    """
    if skip > 0:
        lines = "".join(traceback.format_stack())
        _passed[lines] = _passed.get(lines, 0) + 1
        if _passed[lines] <= skip:
            return
    if get_rank() == rank:
        debugger = pdb.Pdb()
        debugger.message(f"rank {rank} is stopped by torch.distributed.breakpoint()")
        frame = sys._getframe(1)
        debugger.set_trace(frame)
    barrier(timeout=None if timeout_s is None else timedelta(seconds=timeout_s))


_barriers: dict[str, int] = {}


def monitored_barrier(
    group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """Wait until all ranks have called this. If some do not come in time, rank 0 raises an error that names the first of them, or with
    `wait_all_ranks` all of them.

    Raises:
        RuntimeError: on rank 0, with the missing ranks; on the others, if rank 0 failed.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.monitored_barrier()
    >>> dist.destroy_process_group()
    """
    if not is_member(group):
        return _not_member("monitored_barrier")
    chosen = group_of(group)
    limit = chosen.timeout if timeout is None else timeout
    store = chosen.store
    assert store is not None
    number = _barriers[chosen.group_name] = _barriers.get(chosen.group_name, 0) + 1
    key = f"monitored_barrier/{chosen.group_name}/{number}"
    if chosen.rank() != 0:
        store.set(f"{key}/{chosen.rank()}", "")
        try:
            verdict = store._get(f"{key}/verdict", limit.total_seconds() + 5)
        except DistStoreError:
            verdict = b"rank 0 did not come"
        if verdict:
            raise OperationError(
                f"Rank {chosen.rank()} successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. "
                f"Please check rank 0 logs for faulty rank.\n  {verdict.decode()}"
            )
        return None
    import time

    end, missing = time.monotonic() + limit.total_seconds(), []
    for rank in range(1, chosen.size()):
        try:
            store._wait([f"{key}/{rank}"], max(0.0, end - time.monotonic()))
        except DistStoreError:
            missing.append(rank)
            if not wait_all_ranks:
                break
    milliseconds = round(limit.total_seconds() * 1000)
    names = f"Rank{'s' if len(missing) > 1 else ''} {', '.join(map(str, missing))}"
    text = (
        f"[Rank 0]: {names} failed to pass monitoredBarrier in {milliseconds} ms" if missing else ""
    )
    store.set(f"{key}/verdict", text)
    if missing:
        places = chosen.channel.engine.watch.ask_where([chosen.ranks[r] for r in missing])
        raise OperationError(
            text, notes=[f"rank {rank} is {place}" for rank, place in places.items()]
        )
    return None
