"""Learning-rate schedules (`torch.optim.lr_scheduler`)."""

from __future__ import annotations

import math
import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import ArgumentTypeError, ArgumentValueError
from ._composite import ChainedScheduler as ChainedScheduler
from ._composite import ReduceLROnPlateau as ReduceLROnPlateau
from ._composite import SequentialLR as SequentialLR
from ._cyclic import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from ._cyclic import CyclicLR as CyclicLR
from ._cyclic import OneCycleLR as OneCycleLR
from ._schedule import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from ._schedule import LRScheduler as LRScheduler
from ._schedule import _LRScheduler as _LRScheduler

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]


class _Lambdas(LRScheduler):
    """A function for each group."""

    lr_lambdas: list[Any]
    _looks_at_functions = False  # or the first call says that there is none

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        if not isinstance(lr_lambda, (list, tuple)):
            self.lr_lambdas = [lr_lambda] * groups
        else:
            if len(lr_lambda) != groups:
                raise ArgumentValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
            self.lr_lambdas = list(lr_lambda)
        for function in self.lr_lambdas:
            if self._looks_at_functions and not callable(function):
                raise ArgumentTypeError(
                    f"lr_lambda should be a function, but got {type(function).__name__}"
                )
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; of the functions, only the attributes of callable objects."""
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "lr_lambdas")}
        state["lr_lambdas"] = [
            None if isinstance(f, types.FunctionType) else f.__dict__.copy()
            for f in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        own = dict(state_dict)
        for function, saved in zip(self.lr_lambdas, own.pop("lr_lambdas")):
            if saved is not None:
                function.__dict__.update(saved)
        self.__dict__.update(own)


class LambdaLR(_Lambdas):
    """Sets the learning rate to the initial one times a function: `initial_lr * lr_lambda(epoch)`.

    Call `step()` after `optimizer.step()`, once per epoch or once per batch, depending on what
    the schedule counts.

    Args:
        optimizer: the optimizer whose learning rates it sets.
        lr_lambda: a function of the step's number, or a list of one for each group.
        last_epoch: the last step, to continue after loading; -1 starts from scratch. Default: -1.

    Raises:
        ValueError: a list of another length than the groups.
        TypeError: something that cannot be called.

    Example:
        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        return [
            lr * function(self.last_epoch)
            for function, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]


class MultiplicativeLR(_Lambdas):
    """Multiplies the learning rate by a function's value at each step:
    `lr = lr * lr_lambda(epoch)`.

    Call `step()` after `optimizer.step()`, once per epoch or once per batch, depending on what
    the schedule counts.

    Args:
        optimizer: the optimizer whose learning rates it sets.
        lr_lambda: a function of the step's number, or a list of one for each group.
        last_epoch: the last step, to continue after loading; -1 starts from scratch. Default: -1.

    Raises:
        ValueError: a list of another length than the groups.
        TypeError: something that cannot be called.

    Example:
        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.5, 0.25, 0.125]
    """

    _looks_at_functions = True

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial:
            return self._now()
        groups = self.optimizer.param_groups
        return [
            group["lr"] * function(self.last_epoch)
            for function, group in zip(self.lr_lambdas, groups, strict=True)
        ]


class StepLR(LRScheduler):
    """Multiplies the learning rate by gamma every `step_size` steps:
    `initial_lr * gamma^floor(epoch / step_size)`.

    Call `step()` after `optimizer.step()`, once per epoch or once per batch, depending on what
    the schedule counts.

    Args:
        optimizer: the optimizer whose learning rates it sets.
        step_size: how many steps lie between two changes.
        gamma: the factor. Default: 0.1.
        last_epoch: the last step, to continue after loading; -1 starts from scratch. Default: -1.

    Example:
        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 1.0, 0.5, 0.5]
    """

    def __init__(
        self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._now()
        return self._times(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [lr * self.gamma ** (self.last_epoch // self.step_size) for lr in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiplies the learning rate by gamma at each milestone.

    Call `step()` after `optimizer.step()`, once per epoch or once per batch, depending on what
    the schedule counts.

    Args:
        optimizer: the optimizer whose learning rates it sets.
        milestones: numbers of steps; one that stands twice multiplies twice.
        gamma: the factor. Default: 0.1.
        last_epoch: the last step, to continue after loading; -1 starts from scratch. Default: -1.

    Example:
        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.5, 0.5, 0.25]
    """

    def __init__(
        self, optimizer: Any, milestones: Any, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch not in self.milestones:
            return self._now()
        return self._times(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [lr * self.gamma**passed for lr in self.base_lrs]


class ConstantLR(LRScheduler):
    """Multiplies the learning rate by `factor` for the first `total_iters` steps.

    Call `step()` after `optimizer.step()`, once per epoch or once per batch, depending on what
    the schedule counts.

    Args:
        optimizer: the optimizer whose learning rates it sets.
        factor: the factor, between 0 and 1. Default: 1/3.
        total_iters: after how many steps the initial rate is back. Default: 5.
        last_epoch: the last step, to continue after loading; -1 starts from scratch. Default: -1.

    Raises:
        ValueError: a factor outside [0, 1].

    Example:
        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [0.5, 0.5, 1.0, 1.0]
    """

    def __init__(
        self, optimizer: Any, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ArgumentValueError(
                "Constant multiplicative factor expected to be between 0 and 1."
            )
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._times(self.factor)
        if self.last_epoch != self.total_iters:
            return self._now()
        return self._times(1.0 / self.factor)

    def _get_closed_form_lr(self) -> list[Any]:
        return [
            lr * (self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor))
            for lr in self.base_lrs
        ]


class LinearLR(LRScheduler):
    """Multiplies the learning rate by a factor that changes linearly; a warmup with the defaults.

    Call `step()` after `optimizer.step()`, once per epoch or once per batch, depending on what
    the schedule counts.

    Args:
        optimizer: the optimizer whose learning rates it sets.
        start_factor: the first factor, in (0, 1]. Default: 1/3.
        end_factor: the last one, in [0, 1]. Default: 1.
        total_iters: in how many steps the factor gets from one to the other. Default: 5.
        last_epoch: the last step, to continue after loading; -1 starts from scratch. Default: -1.

    Raises:
        ValueError: a factor out of its range.

    Example:
        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.25, total_iters=3)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [0.25, 0.5, 0.75, 1.0]
    """

    def __init__(
        self,
        optimizer: Any,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ArgumentValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal to 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ArgumentValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._times(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._now()
        rise = self.end_factor - self.start_factor
        return self._times(
            1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)
        )

    def _get_closed_form_lr(self) -> list[Any]:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return [
            lr * (self.start_factor + (self.end_factor - self.start_factor) * done)
            for lr in self.base_lrs
        ]


class ExponentialLR(LRScheduler):
    """Multiplies the learning rate by gamma at each step: `initial_lr * gamma^epoch`.

    Call `step()` after `optimizer.step()`, once per epoch or once per batch, depending on what
    the schedule counts.

    Args:
        optimizer: the optimizer whose learning rates it sets.
        gamma: the factor.
        last_epoch: the last step, to continue after loading; -1 starts from scratch. Default: -1.

    Example:
        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        return self._now() if self._is_initial else self._times(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [lr * self.gamma**self.last_epoch for lr in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Lets the learning rate fall to 0 as a power: `initial_lr * (1 - epoch / total_iters)^power`,
    then 0.

    Call `step()` after `optimizer.step()`, once per epoch or once per batch, depending on what
    the schedule counts.

    Args:
        optimizer: the optimizer whose learning rates it sets.
        total_iters: after how many steps the rate is 0. Default: 5.
        power: the power; 1 is a straight line. Default: 1.
        last_epoch: the last step, to continue after loading; -1 starts from scratch. Default: -1.

    Example:
        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.75, 0.5, 0.25]
    """

    def __init__(
        self, optimizer: Any, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._now()
        left = 1.0 - self.last_epoch / self.total_iters
        return self._times((left / (1.0 - (self.last_epoch - 1) / self.total_iters)) ** self.power)

    def _get_closed_form_lr(self) -> list[Any]:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return [lr * (1.0 - done) ** self.power for lr in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Anneals the learning rate along a cosine, from the initial rate to `eta_min` in `T_max`
    steps.

    `lr = eta_min + (initial_lr - eta_min) * (1 + cos(pi * epoch / T_max)) / 2`

    Call `step()` after `optimizer.step()`, once per epoch or once per batch, depending on what
    the schedule counts.

    Args:
        optimizer: the optimizer whose learning rates it sets.
        T_max: number of steps of the half wave; after it the rate rises again.
        eta_min: the smallest rate. Default: 0.
        last_epoch: the last step, to continue after loading; -1 starts from scratch. Default: -1.

    Source: Loshchilov, Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017.

    Example:
        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.8536, 0.5, 0.1464]
    """

    def __init__(
        self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial:
            return self._now()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        # at the bottom the ratio below is 0 / 0
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                group["lr"] + (lr - self.eta_min) * rise
                for lr, group in zip(self.base_lrs, self.optimizer.param_groups, strict=True)
            ]
        ratio = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / (
            1 + math.cos(math.pi * (self.last_epoch - 1) / self.T_max)
        )
        return [
            ratio * (group["lr"] - self.eta_min) + self.eta_min
            for group in self.optimizer.param_groups
        ]

    def _get_closed_form_lr(self) -> list[Any]:
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (lr - self.eta_min) * share for lr in self.base_lrs]


@contextmanager
def _enable_get_lr_call(o: LRScheduler) -> Iterator[LRScheduler]:
    """A block in which `get_lr` may be called."""
    with o._within_step():
        yield o
