"""Blocks in which ranks may run out of data at different times (`torch.distributed.algorithms.join`).

A rank that has run out follows the collectives of the others, until all have.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from ..core.tensor import make_tensor
from ..errors import ArgumentValueError, ContractError, OperationError, warn
from . import collectives
from .groups import ProcessGroup, group_of
from .transport.work import Work

_SKEW = 1000  # iterations that a rank follows before it warns


class JoinHook:
    """What a rank without data does in place of a `Joinable`.

    >>> from pellucid.distributed.algorithms.join import JoinHook
    >>> JoinHook().main_hook()
    """

    def main_hook(self) -> None:
        """Called once for each iteration of the ranks that still have data: the same collectives as
        theirs.
        """

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called when no rank has data any more; `is_last_joiner`: this rank had data to the end."""


class _Config(NamedTuple):
    """What a `Joinable` must know of the block that it is in."""

    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class Joinable(ABC):
    """Something that takes part in a `Join` block: a subclass calls `Join.notify_join_context(self)`
    before the collectives of each iteration, and `join_hook` repeats them.

    Subclasses define `join_hook`, `join_device` and `join_process_group`, and call
    `Joinable.__init__`.

    >>> from pellucid.distributed.algorithms.join import Joinable
    >>> Joinable()
    Traceback (most recent call last):
        ...
    TypeError: Can't instantiate abstract class Joinable...
    """

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _Config()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """A hook for one block, to which `kwargs` of `Join` are passed."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of its tensors."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The ranks that it communicates with."""


class Join:
    """A block in which ranks may run out of data at different times.

    Args:
        joinables: what communicates in each iteration, in the order of their collectives: models
            in `DistributedDataParallel`, optimizers in `ZeroRedundancyOptimizer`, your own
            `Joinable`.
        enable: False: an ordinary block.
        throw_on_early_termination: raise on all ranks when the first one runs out.
        kwargs: passed to each `join_hook`.

    Raises:
        ValueError: no joinables, or joinables with several process groups.
        RuntimeError: with `throw_on_early_termination`, a rank has run out of data.

    >>> from pellucid.distributed.algorithms.join import Join
    >>> Join([])
    Traceback (most recent call last):
        ...
    ValueError: The join context manager requires at least one joinable...
    """

    def __init__(
        self,
        joinables: Sequence[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if len(joinables) == 0:
            raise ArgumentValueError("The join context manager requires at least one joinable")
        self._joinables = list(joinables)
        self._enable, self._throw = enable, throw_on_early_termination
        groups: list[ProcessGroup] = []
        for joinable in self._joinables:
            _check(joinable)
            group = group_of(joinable.join_process_group)
            if groups and group is not groups[0]:
                raise ArgumentValueError("Using join context manager with multiple process groups")
            groups.append(group)
        self._group = groups[0]
        for k, joinable in enumerate(self._joinables):
            joinable._join_config = _Config(enable, throw_on_early_termination, k == 0)
        self._join_hooks = [joinable.join_hook(**kwargs) for joinable in self._joinables]

    def __enter__(self) -> None:
        """Nothing happens here."""

    def __exit__(
        self,
        type: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if self._enable and type is None:
                self._follow()
        finally:
            for joinable in self._joinables:
                joinable._join_config = _Config()

    def _follow(self) -> None:
        """Repeat the others' collectives until nobody has data."""
        last, skew = True, 0
        while _total(self._group, 0):
            if self._throw:
                _total(self._group, 1)
                raise OperationError(f"Rank {self._group.rank()} exhausted all inputs.")
            last = False
            for hook in self._join_hooks:
                hook.main_hook()
            skew += 1
            if skew == _SKEW:
                warn(
                    f"Detected uneven input skew of greater than {skew}. This means that rank "
                    f"{self._group.rank()} has at least {skew} fewer inputs than other currently-active ranks. "
                    "This level of skew could lead to performance degradation during training."
                )
        for hook in self._join_hooks:
            hook.post_hook(last)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Tell the ranks without data that this one begins an iteration. Call it before its first
        collective.

        Returns:
            the work of that message; None outside of a block, and for all joinables but the first.

        Raises:
            RuntimeError: with `throw_on_early_termination`, a rank has run out of data.
        """
        _check(joinable)
        config = joinable._join_config
        if not (config.enable and config.is_first_joinable):
            return None
        group = group_of(joinable.join_process_group)
        work = collectives.all_reduce(make_tensor(np.ones(1)), group=group, async_op=True)
        if config.throw_on_early_termination and _total(group, 0):
            raise OperationError(
                "Detected at least one rank that exhausted inputs. Throwing across all ranks."
            )
        return work


def _check(joinable: Any) -> None:
    if not hasattr(joinable, "_join_config"):
        raise ContractError(
            f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor"
        )


def _total(group: ProcessGroup, mine: int) -> int:
    """The sum of the ranks' numbers."""
    number = make_tensor(np.full(1, float(mine)))
    collectives.all_reduce(number, group=group)
    return int(number._array[0])
