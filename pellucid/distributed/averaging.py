"""Models that train apart and are averaged now and then (local SGD).

Source: PyTorch's `torch.distributed.algorithms.model_averaging` and `post_localSGD_hook`, whose names
these are; Lin et al., "Don't use large mini-batches, use local SGD", 2020.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..core.tensor import Tensor, count_write, make_tensor, version_of
from ..errors import ArgumentValueError, warn
from ..futures import Future
from . import calls, collectives
from .ddp.hooks import allreduce_hook, average
from .ddp.reducer import GradBucket
from .groups import ProcessGroup, group_of, is_member, new_subgroups


def average_parameters(params: Iterable[Tensor], process_group: Any) -> None:
    """Replace parameters by their mean over the ranks of a group, all of a dtype in one message."""
    if not is_member(process_group):
        return
    group = group_of(process_group)
    by_type: dict[Any, list[Tensor]] = {}
    for p in params:
        by_type.setdefault(calls.array_of(p).dtype, []).append(p)
    for chosen in by_type.values():
        flat = np.concatenate([p._array.reshape(-1) for p in chosen]) / group.size()
        flat = flat.astype(chosen[0]._array.dtype, copy=False)
        collectives.all_reduce(make_tensor(flat), group=group)
        at = 0
        for p in chosen:
            n = int(p._array.size)
            p._array[...] = flat[at : at + n].reshape(p._array.shape)
            count_write(version_of(p))
            at += n


def get_params_to_average(params: Any) -> list[Tensor]:
    """Of parameters, or groups of an optimizer, those that have a gradient.

    Raises:
        TypeError: something else.
    """
    found: list[Tensor] = []
    for entry in params:
        if isinstance(entry, Tensor):
            found += [entry] if entry._grad is not None else []
        elif isinstance(entry, dict):
            found += [p for p in entry["params"] if p._grad is not None]
        else:
            raise TypeError(f"Parameter input of type {type(entry)} is not supported")
    return found


def average_parameters_or_parameter_groups(params: Any, process_group: Any) -> None:
    """As `average_parameters`, of those parameters that have a gradient."""
    average_parameters(get_params_to_average(params), process_group)


class ModelAverager(ABC):
    """Averages a model's parameters over the ranks of a group; counts the calls in `step`."""

    def __init__(self, process_group: Any = None) -> None:
        self.process_group = group_of(process_group)
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Any) -> None:
        """Called after each step of the optimizer."""


class PeriodicModelAverager(ModelAverager):
    """Averages in every `period`-th step after `warmup_steps`.

    Args:
        period: 1 averages in each step.
        warmup_steps: steps before the first average.
        process_group: the ranks. Default: all.

    Raises:
        ValueError: a period that is not positive, or a negative number of steps.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> from pellucid.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> averager = PeriodicModelAverager(period=4, warmup_steps=100)
    >>> model = torch.nn.Linear(2, 1)
    >>> averager.average_parameters(model.parameters())
    >>> averager.step
    1
    >>> dist.destroy_process_group()
    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ArgumentValueError("Arg ``warmup_steps`` must be a non-negative number.")
        self.warmup_steps = warmup_steps
        if period < 1:
            raise ArgumentValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warn(
                "When period is 1, no need to use model averaging because the communication cost "
                "of all-reducing parameters will be no less than the cost of all-reducing gradients "
                "by DistributedDataParallel in the backward pass. Therefore, only "
                "DistributedDataParallel should be used for this case."
            )
        self.period = period

    def average_parameters(self, params: Any) -> None:
        """Average, if it is time, and count the step."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1


class HierarchicalModelAverager(ModelAverager):
    """Averages in small groups often, and in large ones more rarely.

    Args:
        period_group_size_dict: for each period, in increasing order, how many neighboring ranks are
            averaged; the last group is all ranks.
        warmup_steps: steps before the first average.
        process_group: the ranks. Default: all.

    Raises:
        ValueError: periods or sizes that do not increase, or a last size that is not all ranks.
    """

    def __init__(
        self,
        period_group_size_dict: OrderedDict[int, int] | None = None,
        warmup_steps: int = 0,
        process_group: Any = None,
    ) -> None:
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ArgumentValueError("Arg ``period_group_size_dict`` must not be empty.")
        self._periods = list(period_group_size_dict)
        sizes = list(period_group_size_dict.values())
        if self._periods[0] <= 0:
            raise ArgumentValueError(
                "The minimum period in arg ``period_group_size_dict`` must be a positive value."
            )
        if sizes[-1] != self.process_group.size():
            raise ArgumentValueError(
                f"The last value in arg ``period_process_group_dict`` {sizes[-1]} "
                f"must be equal to the size of arg ``process_group`` {self.process_group.size()}."
            )
        for kind, values in (("period", self._periods), ("process group size", sizes)):
            if any(a >= b for a, b in zip(values, values[1:], strict=False)):
                raise ArgumentValueError(
                    f"hierarchical averaging: each {kind} must exceed the last"
                )
        self.period_process_group_dict: OrderedDict[int, ProcessGroup] = OrderedDict(
            (period, self.process_group if k == len(sizes) - 1 else new_subgroups(size)[0])
            for k, (period, size) in enumerate(period_group_size_dict.items())
        )
        if warmup_steps < 0:
            raise ArgumentValueError("Arg ``warmup_steps`` must be a non-negative number.")
        self.warmup_steps = warmup_steps

    def average_parameters(self, params: Any) -> None:
        """Average in the largest group whose period has come, if any, and count the step."""
        if self.step >= self.warmup_steps:
            due = [p for p in self._periods if self.step % p == 0]
            if due:
                average_parameters_or_parameter_groups(
                    params, self.period_process_group_dict[due[-1]]
                )
        self.step += 1


class PostLocalSGDState:
    """What `post_localSGD_hook` needs to know.

    Args:
        process_group: the ranks that average gradients before `start_localSGD_iter`.
        subgroup: the ranks that average them afterwards.
        start_localSGD_iter: the iteration from which on only the subgroup averages.
        post_local_gradient_allreduce: False: afterwards nobody averages gradients.
    """

    def __init__(
        self,
        process_group: Any,
        subgroup: Any,
        start_localSGD_iter: int,  # noqa: N803 (PyTorch's name)
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future[Any]:  # noqa: N802
    """A communication hook that averages gradients over all ranks at first, and within a subgroup
    from an iteration on. Use it with `PostLocalSGDOptimizer`.
    """
    everybody, now = state.process_group, state.iter
    if bucket.is_last():
        state.iter += 1
    if now < state.start_localSGD_iter:
        return allreduce_hook(everybody, bucket)
    if not state.post_local_gradient_allreduce:
        future: Future[Any] = Future()
        future.set_result(bucket.buffer())
        return future
    subgroup = state.subgroup
    if subgroup is None:
        subgroup, _ = new_subgroups()
        state.subgroup = subgroup
    return average(subgroup, bucket.buffer()).then(lambda done: done.value()[0])
