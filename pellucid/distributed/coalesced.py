"""Several collectives as one: started one after the other, waited for together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core.tensor import Tensor
from ..errors import ArgumentTypeError, ArgumentValueError, OperationError
from ..futures import Future
from . import calls, collectives
from .groups import default_group, group_of, is_member
from .transport.reductions import ReduceOp
from .transport.work import Work


class Several:
    """The works of several collectives."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None) -> None:
        """Add one."""
        if work is not None:
            self.works.append(work)

    def wait(self) -> None:
        """Wait for all."""
        for work in self.works:
            work.wait()


@contextmanager
def _coalescing_manager(
    group: Any = None, device: Any = None, async_ops: bool = False
) -> Iterator[Several]:
    """Inside the block collectives of a group, all of one kind, are begun; at its end, or by
    `wait()` with `async_ops`, they are waited for.

    Raises:
        ValueError: one is open for the group already. RuntimeError: collectives of several kinds.
    """
    chosen = default_group() if group is None else group_of(group)
    if chosen.coalescing:
        raise ArgumentValueError("ProcessGroup has non-empty op list at the start of coalescing")
    several = Several()
    kinds: list[str] = []

    def begun(name: str, work: Work) -> None:
        several.append(work)
        kinds.append(name)

    chosen.coalescing.append(begun)
    try:
        yield several
    finally:
        chosen.coalescing.clear()
    if len(set(kinds)) > 1:
        several.wait()
        raise OperationError(
            f"Coalescing manager requires all collectives to be the same type, but got mixed types: {set(kinds)}"
        )
    if not async_ops:
        several.wait()


def _listed(value: Any, name: str) -> list[Tensor]:
    made = [value] if isinstance(value, Tensor) else value
    calls.check_tensors(list(made) if isinstance(made, tuple) else made, name)
    return list(made)


def _future(several: Several, result: Any) -> Future[Any]:
    def waited(last: Any) -> Any:
        several.wait()
        return result

    return several.works[-1].get_future().then(waited)


def all_reduce_coalesced(
    tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Future[Any] | None:
    """`all_reduce` of several tensors of one dtype; a future with `async_op`.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> tensors = [torch.tensor([1.0]), torch.tensor([2.0])]
    >>> dist.all_reduce_coalesced(tensors)
    >>> tensors
    [tensor([1.]), tensor([2.])]
    >>> dist.destroy_process_group()
    """
    given = _listed(tensors, "tensor")
    calls.same_dtype(*given)
    if not is_member(group):
        return None
    several = Several()
    for t in given:
        several.append(collectives.all_reduce(t, op, group, True))
    if async_op:
        return _future(several, given)
    several.wait()
    return None


def all_gather_coalesced(
    output_tensor_lists: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Future[Any] | None:
    """Gather several tensors from all ranks at once: list k of the outputs receives the tensors of rank k.

    Args:
        output_tensor_lists: for each rank, a list of tensors with the shapes of that rank's tensors.
        input_tensor_list: this rank's tensors, of one dtype.
        group: the process group. Default: all processes.
        async_op: return a future at once; otherwise wait, and return None. Default: False.

    Raises:
        RuntimeError: the number of lists differs from the number of ranks.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> outputs = [[torch.zeros(2), torch.zeros(1)]]
    >>> _ = dist.all_gather_coalesced(outputs, [torch.ones(2), torch.tensor([5.0])])
    >>> outputs
    [[tensor([1., 1.]), tensor([5.])]]
    >>> dist.destroy_process_group()
    """
    given = _listed(input_tensor_list, "input_tensor_list")
    calls.same_dtype(*given)
    if not isinstance(output_tensor_lists, list):
        raise ArgumentTypeError("Invalid function argument: output_tensor_lists should be a list")
    if not is_member(group):
        return None
    size = group_of(group).size()
    if len(output_tensor_lists) != size or any(len(o) != len(given) for o in output_tensor_lists):
        raise OperationError(
            f"all_gather_coalesced: {len(output_tensor_lists)} lists for {size} ranks that have {len(given)} tensors each"
        )
    several = Several()
    for k, t in enumerate(given):
        several.append(collectives.all_gather([o[k] for o in output_tensor_lists], t, group, True))
    if async_op:
        return _future(several, output_tensor_lists)
    several.wait()
    return None


def split_group(parent_pg: Any = None, split_ranks: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Not supported on CPUs, as in PyTorch: use `new_group`.

    Raises:
        ValueError: no ranks. RuntimeError: otherwise.

    >>> import pellucid.distributed as dist
    >>> dist.split_group(split_ranks=[[0]])
    Traceback (most recent call last):
        ...
    RuntimeError: ...
    """
    if not split_ranks:
        raise ArgumentValueError("split_ranks cannot be None or empty")
    raise OperationError(
        "No device associated with the default pg, not safe to split any process groups",
        hint="make the groups with new_group",
    )
