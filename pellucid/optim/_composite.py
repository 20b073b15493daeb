"""Schedules that combine others, and the one that watches a metric."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import inf
from typing import Any

from ..core import tracing
from ..errors import ArgumentTypeError, ArgumentValueError, OperationError, warn
from ._schedule import EPOCH_DEPRECATION_WARNING, LRScheduler, check_optimizer, set_value, values


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the learning rate by `factor` when a metric has not improved for more than
    `patience` steps.

    Call `step(metric)` after each validation.

    Args:
        optimizer: the optimizer whose learning rates it sets.
        mode: what improvement means: "min" for less, "max" for more. Default: "min".
        factor: the factor, below 1. Default: 0.1.
        patience: how many steps without improvement are tolerated. Default: 10.
        threshold: how much counts as an improvement. Default: 1e-4.
        threshold_mode: whether that is relative to the best value, "rel", or absolute, "abs".
            Default: "rel".
        cooldown: steps after a reduction that are not counted. Default: 0.
        min_lr: lower bound, one or one for each group. Default: 0.
        eps: smaller changes of the rate are not made. Default: 1e-8.

    Raises:
        ValueError: a factor that is not below 1, an unknown mode, or a list of bounds of the wrong
            length.

    Example:
        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
        >>> for loss in (0.9, 0.8, 0.8, 0.8):
        ...     scheduler.step(loss)
        >>> scheduler.get_last_lr()
        [0.1]
    """

    def __init__(
        self,
        optimizer: Any,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ArgumentValueError("Factor should be < 1.0.")
        check_optimizer(optimizer)
        self.factor = factor
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != groups:
                raise ArgumentValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
            self.default_min_lr = None
            self.min_lrs = list(min_lr)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * groups
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = values(optimizer, "lr")
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _init_is_better(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in ("min", "max"):
            raise ArgumentValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ArgumentValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse = inf if mode == "min" else -inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def _is_better(self, a: float, best: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        bar = (
            best * (1.0 + sign * self.threshold)
            if self.threshold_mode == "rel"
            else best + sign * self.threshold
        )
        return a < bar if self.mode == "min" else a > bar

    def is_better(self, a: float, best: float) -> bool:
        """Whether `a` improves on `best`."""
        return self._is_better(a, best)

    @property
    def in_cooldown(self) -> bool:
        """Whether steps are not counted, after a reduction."""
        return self.cooldown_counter > 0

    @tracing.replayed
    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Look at the metric's new value."""
        current = float(metrics)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warn(EPOCH_DEPRECATION_WARNING, UserWarning)
        self.last_epoch = epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(epoch)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = values(self.optimizer, "lr")

    def _reduce_lr(self, epoch: int) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise OperationError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when `ReduceLROnPlateau` was initialized "
                    f"({len(self.min_lrs)}), usually due to a new param group being added to the optimizer. Please modify the `min_lrs` "
                    "field to match the length of the `optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_value(group, "lr", new)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)
        self._init_is_better(self.mode, self.threshold, self.threshold_mode)


def _check_parts(name: str, schedulers: Any, optimizer: Any) -> None:
    for i, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise ArgumentTypeError(
                f"{name} at index {i} should have `optimizer` as its attribute."
            )
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ArgumentValueError(
                f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be specified when calling "
                f"`step`, but got one at index {i} in the given schedulers sequence."
            )
        if optimizer != scheduler.optimizer:
            raise ArgumentValueError(
                f"{name} expects all schedulers to belong to the same optimizer, but got scheduler {type(scheduler).__name__} at index {i} "
                f"has {scheduler.optimizer}, which is different from {type(optimizer).__name__}."
            )


class _Composite(LRScheduler):
    _schedulers: Any

    def state_dict(self) -> dict[str, Any]:
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_schedulers")}
        state["_schedulers"] = [s.state_dict() for s in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        own = dict(state_dict)
        parts = own.pop("_schedulers")
        self.__dict__.update(own)
        for scheduler, part in zip(self._schedulers, parts):
            scheduler.load_state_dict(part)


class SequentialLR(_Composite):
    """Runs one schedule after another; the next one takes over at each milestone.

    Call `step()` after `optimizer.step()`, once per epoch or once per batch, depending on what
    the schedule counts.

    Args:
        optimizer: the optimizer whose learning rates it sets.
        schedulers: the schedules, all of this optimizer.
        milestones: the step at which each of them but the first begins.
        last_epoch: the last step, to continue after loading; -1 starts from scratch. Default: -1.

    Raises:
        ValueError: no schedule, ReduceLROnPlateau among them, another optimizer, or not one
            milestone less than schedules.

    Example:
        >>> import pellucid as torch
        >>> from pellucid.optim.lr_scheduler import ConstantLR, SequentialLR, StepLR
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        >>> scheduler = SequentialLR(optimizer, [ConstantLR(optimizer, 0.5), StepLR(optimizer, 1)], [2])
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [0.5, 0.5, 1.0, 0.1]
    """

    def __init__(
        self, optimizer: Any, schedulers: list[Any], milestones: list[int], last_epoch: int = -1
    ) -> None:
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ArgumentValueError(
                f"{name} expects at least one scheduler, but got no scheduler."
            )
        _check_parts(name, schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ArgumentValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone points, but got "
                f"number of schedulers {len(schedulers)} and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # The parts have each made their first step: start over with the first of them.
        for group in optimizer.param_groups:
            set_value(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take back the first step of all parts."""
        which = self if sched is None else sched
        if hasattr(which, "_schedulers"):
            for part in which._schedulers:
                self.recursive_undo(part)
        elif hasattr(which, "last_epoch"):
            which.last_epoch -= 1

    @tracing.replayed
    def step(self) -> None:  # type: ignore[override]
        self.last_epoch += 1
        k = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[k]
        if k > 0 and self._milestones[k - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Composite):
    """Applies several schedules in a chain, each to the rate that the previous one set.

    Args:
        schedulers: the schedules, all of one optimizer.
        optimizer: their optimizer; None: that of the first one.

    Raises:
        ValueError: no schedule, ReduceLROnPlateau among them, or different optimizers.

    Example:
        >>> import pellucid as torch
        >>> from pellucid.optim.lr_scheduler import ChainedScheduler, ConstantLR, ExponentialLR
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        >>> scheduler = ChainedScheduler([ConstantLR(optimizer, factor=0.5), ExponentialLR(optimizer, gamma=0.5)])
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.25]
    """

    def __init__(self, schedulers: Sequence[Any], optimizer: Any = None) -> None:
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ArgumentValueError(
                f"{name} expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        _check_parts(name, schedulers, optimizer)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = values(schedulers[-1].optimizer, "lr")

    @tracing.replayed
    def step(self) -> None:  # type: ignore[override]
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = values(self._schedulers[-1].optimizer, "lr")
